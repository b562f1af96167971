/* Folders of files with a folder of masks beside them, one mask per file. */
#include "data/annotation/pairs.h"

#include "base/text.h"
#include "data/dataset.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const picture_folders[] = {"image",   "images",   "img",      "imgs",
                                              "picture", "pictures", "imagestr", NULL};
static const char *const mask_folders[] = {"mask",         "masks",         "label",    "labels",
                                           "segmentation", "segmentations", "labelstr", NULL};
static const char *const mask_endings[] = {"_mask", "-mask", "_label",        "-label",        "_gt", "-gt",
                                           "_seg",  "-seg",  "_segmentation", "-segmentation", NULL};
static const mica__pair_kind usual = {NULL, "mask", "mask", NULL, picture_folders, mask_folders, mask_endings};

static const mica__pair_kind *kind_of(const mica__pairing *pairing) { return pairing->with ? pairing->with : &usual; }

/* True for a file name that the picture of a pair can have or, with `other`, its mask or depth map. */
static bool can_be(const mica__pairing *pairing, bool other, const char *name) {
  return other && pairing->with ? pairing->with->is_named(name) : pairing->is_named(name);
}

/* --- folders of pictures and of masks --- */

static bool is_named(const char *name, const char *const *list) {
  for (; *list; list++)
    if (!strcasecmp(name, *list)) return true;
  return false;
}

/* The folder in path that has one of these names, freed by the caller; NULL: none. */
static mica_status find_folder(const char *path, const mica__names *names, const char *const *list, char **found) {
  for (size_t i = 0; i < names->count && !*found; i++) {
    if (!is_named(names->names[i], list)) continue;
    MICA_TRY(mica__path_join(path, names->names[i], found));
    if (mica__is_folder(*found)) continue;
    free(*found);
    *found = NULL;
  }
  return MICA_OK;
}

/* The length of a name without .png, .nii or .nii.gz. */
static size_t stem_length(const char *name) {
  size_t length = strlen(name);
  if (length > 3 && !strcasecmp(name + length - 3, ".gz")) length -= 3;
  for (size_t i = length; i-- > 0;)
    if (name[i] == '.') return i;
  return length;
}

/* The length of a mask's stem without the ending that marks it as a mask. */
static size_t cut_length(const char *name, const char *const *endings) {
  const size_t n = stem_length(name);
  for (; *endings; endings++) {
    const size_t m = strlen(*endings);
    if (n > m && !strncmp(name + n - m, *endings, m)) return n - m;
  }
  return n;
}

bool mica__pairs_is_mask(bool (*is_kind)(const char *name), const char *name, char *const *names, size_t count) {
  const size_t length = cut_length(name, mask_endings);
  if (length == stem_length(name)) return false;
  for (size_t i = 0; i < count; i++)
    if (!strncmp(names[i], name, length) && stem_length(names[i]) == length && is_kind(names[i])) return true;
  return false;
}

/* True if a folder may hold files together with their masks (pairing->together), and one of the names is the mask of
 * another. */
static bool are_together(const mica__pairing *pairing, const mica__names *names) {
  bool some = false;
  for (size_t i = 0; pairing->together && i < names->count && !some; i++)
    some = pairing->is_named(names->names[i]) &&
           mica__pairs_is_mask(pairing->is_named, names->names[i], names->names, names->count);
  return some;
}

/* True if pictures or, if `other`, masks are among the names. */
static bool has_files(const mica__pairing *pairing, bool other, const mica__names *names) {
  for (size_t i = 0; i < names->count; i++)
    if (can_be(pairing, other, names->names[i])) return true;
  return false;
}

static mica_status folder_has_files(const char *folder, const mica__pairing *pairing, bool other, bool *found) {
  mica__names names;
  *found = false;
  MICA_TRY(mica__names_look(folder, &names));
  *found = has_files(pairing, other, &names);
  mica__names_free(&names);
  return MICA_OK;
}

/* Finds the folder of pictures (folders[0]) and the folder of masks (folders[1]) in a folder. If one of them is missing
 * and the folder itself holds pictures with their masks, both are this folder. *found tells whether both exist and
 * there are masks. The caller frees the paths. */
static mica_status find_folders(const char *path, const mica__pairing *pairing, char *folders[2], bool *found) {
  const mica__pair_kind *kind = kind_of(pairing);
  mica__names names;
  folders[0] = folders[1] = NULL;
  *found = false;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = find_folder(path, &names, kind->picture_folders, &folders[0]);
  if (status == MICA_OK) status = find_folder(path, &names, kind->folders, &folders[1]);
  const bool together = status == MICA_OK && (!folders[0] || !folders[1]) && are_together(pairing, &names);
  mica__names_free(&names);
  for (int i = 0; together && i < 2; i++) {
    free(folders[i]);
    if (!(folders[i] = mica__strdup(path))) return mica__fail_nomem("the names of pictures");
  }
  return status == MICA_OK && folders[0] && folders[1] ? folder_has_files(folders[1], pairing, true, found) : status;
}

mica_status mica__pairs_are_in(const char *path, const mica__pairing *pairing, bool *is) {
  char *folders[2];
  mica_status status = find_folders(path, pairing, folders, is);
  free(folders[0]);
  free(folders[1]);
  return status;
}

/* Sets *has to whether `path` has a folder of this name with pictures in it or, if `other`, with masks. */
static mica_status holds(const char *path, const char *name, const mica__pairing *pairing, bool other, bool *has) {
  char *whole = NULL;
  MICA_TRY(mica__path_join(path, name, &whole));
  mica_status status = folder_has_files(whole, pairing, other, has);
  free(whole);
  return status;
}

mica_status mica__pairs_is_folder(const char *path, const char *name, const mica__pairing *pairing, bool *is) {
  const mica__pair_kind *kind = kind_of(pairing);
  mica__names names;
  bool masks = false;
  *is = false;
  if (!is_named(name, kind->folders)) return MICA_OK;
  MICA_TRY(holds(path, name, pairing, true, &masks));
  if (!masks) return MICA_OK;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count && !*is; i++)
    if (is_named(names.names[i], kind->picture_folders)) status = holds(path, names.names[i], pairing, false, is);
  mica__names_free(&names);
  return status;
}

static mica_status check_folder(const char *folder, const mica__pairing *pairing) {
  const mica__pair_kind *kind = kind_of(pairing);
  mica__names names;
  MICA_TRY(mica__names_look(folder, &names));
  mica_status status = MICA_OK;
  if (!has_files(pairing, true, &names))
    status = mica__fail(MICA_E_FORMAT, "the folder %s holds no %ss: their names must end in %s%s%s", folder, kind->what,
                        kind->types ? kind->types : pairing->endings, names.count ? ", unlike " : "",
                        names.count ? names.names[0] : "");
  mica__names_free(&names);
  return status;
}

/* The folder that holds the folder of a file, freed by the caller; NULL: there is not enough memory. */
static char *find_above(const char *file) {
  char *above = mica__strdup(file);
  for (int i = 0; above && i < 2; i++) {
    char *slash = strrchr(above, '/');
    if (slash)
      *slash = '\0';
    else
      strcpy(above, ".");
  }
  return above;
}

mica_status mica__pairs_check_types(const char *picture, const mica__pairing *pairing) {
  char *above = find_above(picture), *folder = NULL;
  mica__names names = {0};
  mica_status status = above ? mica__names_look(above, &names) : mica__fail_nomem("the names of pictures");
  if (status == MICA_OK) status = find_folder(above, &names, kind_of(pairing)->folders, &folder);
  if (status == MICA_OK && folder) status = check_folder(folder, pairing);
  mica__names_free(&names);
  free(folder);
  free(above);
  return status;
}

/* --- pairs --- */

/* A file and the part of its name that pairs it with another. */
typedef struct named {
  char *stem;
  const char *file;
} named;

static int by_stem(const void *a, const void *b) { return strcmp(((const named *)a)->stem, ((const named *)b)->stem); }

static void free_named(named *list, size_t count) {
  for (size_t i = 0; i < count; i++) free(list[i].stem);
  free(list);
}

/* The length of the part of a mask's stem that names its picture. It is the whole stem if a picture has this stem, else
 * the stem without the ending that marks masks. `pictures` is in strcmp's order, so names that begin with the stem and
 * a point are adjacent. */
static size_t pair_length(const char *name, const mica__pairing *pairing, const mica__names *pictures) {
  const size_t n = stem_length(name);
  size_t low = 0, high = pictures->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strncmp(pictures->names[middle], name, n + 1) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < pictures->count && !strncmp(pictures->names[low], name, n + 1); low++)
    if (pairing->is_named(pictures->names[low]) && stem_length(pictures->names[low]) == n) return n;
  return cut_length(name, kind_of(pairing)->endings);
}

/* Lists the pictures among the names, each with its stem. If `pictures` is not NULL, lists the masks instead, each with
 * the stem of its picture among `pictures`. The list is sorted by stem; the caller frees it with free_named. If
 * `together`, pictures and masks are in one folder, and `names` are all its files. */
static mica_status list_named(const char *folder, const mica__pairing *pairing, const mica__names *names,
                              const mica__names *pictures, bool together, named **list, size_t *count) {
  const bool mask = pictures != NULL;
  named *made = calloc(names->count + 1, sizeof *made);
  mica_status status = made ? MICA_OK : mica__fail_nomem("the names of pictures");
  size_t n = 0;
  for (size_t i = 0; status == MICA_OK && i < names->count; i++) {
    const char *name = names->names[i];
    if (!can_be(pairing, mask, name)) continue;
    if (together && mica__pairs_is_mask(pairing->is_named, name, names->names, names->count) != mask) continue;
    made[n].file = name;
    made[n].stem = mica__strdup(name);
    if (!made[n].stem) status = mica__fail_nomem("the names of pictures");
    if (status == MICA_OK)
      made[n++].stem[!mask      ? stem_length(name)
                     : together ? cut_length(name, mask_endings)
                                : pair_length(name, pairing, pictures)] = '\0';
  }
  if (status == MICA_OK && n == 0)
    status = mica__fail(MICA_E_FORMAT, "the folder %s holds no %s%s", folder,
                        mask && pairing->with ? pairing->with->what : pairing->what, mask && pairing->with ? "s" : "");
  if (status == MICA_OK) qsort(made, n, sizeof *made, by_stem);
  for (size_t i = 1; status == MICA_OK && i < n; i++)
    if (!strcmp(made[i - 1].stem, made[i].stem))
      status = mica__fail(MICA_E_FORMAT, "%s/%s and %s have the same name apart from the ending", folder,
                          made[i - 1].file, made[i].file);
  *list = made;
  *count = n;
  if (status == MICA_OK) return MICA_OK;
  free_named(made, n);
  *list = NULL;
  *count = 0;
  return status;
}

/* Refuses a picture or volume without a mask or depth map, named by its stem. */
static mica_status fail_alone(const mica__pairing *pairing, char *const folders[2], const named *picture) {
  const mica__pair_kind *kind = kind_of(pairing);
  if (!strcmp(folders[0], folders[1]))
    return mica__fail(MICA_E_FORMAT, "%s/%s has no %s: there is no %s_%s.%s in the folder", folders[0], picture->file,
                      kind->what, picture->stem, kind->mark, pairing->ending);
  return mica__fail(MICA_E_FORMAT, "%s/%s has no %s: there is no %s.%s, nor %s_%s.%s, in %s", folders[0], picture->file,
                    kind->what, picture->stem, pairing->ending, picture->stem, kind->mark, pairing->ending, folders[1]);
}

static mica_status join(mica__pairs *p, const mica__pairing *pairing, char *const folders[2], const named *pictures,
                        size_t picture_count, const named *masks, size_t mask_count) {
  const mica__pair_kind *kind = kind_of(pairing);
  p->pictures = calloc(picture_count + 1, sizeof *p->pictures);
  p->masks = calloc(picture_count + 1, sizeof *p->masks);
  if (!p->pictures || !p->masks) return mica__fail_nomem("the names of pictures");
  for (size_t i = 0, k = 0; i < picture_count || k < mask_count; i++, k++) {
    const int order = i == picture_count ? 1 : k == mask_count ? -1 : strcmp(pictures[i].stem, masks[k].stem);
    if (order < 0) return fail_alone(pairing, folders, &pictures[i]);
    if (order > 0)
      return mica__fail(MICA_E_FORMAT, "%s/%s is a %s that belongs to none of the %s: there is no %s%s in %s",
                        folders[1], masks[k].file, kind->what, pairing->what, masks[k].stem, pairing->endings,
                        folders[0]);
    p->count = i + 1;
    MICA_TRY(mica__path_join(folders[0], pictures[i].file, &p->pictures[i]));
    MICA_TRY(mica__path_join(folders[1], masks[k].file, &p->masks[i]));
  }
  return MICA_OK;
}

static mica_status find_pairs(mica__pairs *p, const mica__pairing *pairing, char *const folders[2]) {
  mica__names names[2] = {{0}};
  named *lists[2] = {NULL, NULL};
  size_t counts[2] = {0, 0};
  const bool together = !strcmp(folders[0], folders[1]);
  mica_status status = MICA_OK;
  for (int k = 0; status == MICA_OK && k < 2; k++) {
    status = mica__names_read(folders[k], &names[k]);
    if (status == MICA_OK)
      status = list_named(folders[k], pairing, &names[k], k ? &names[0] : NULL, together, &lists[k], &counts[k]);
  }
  if (status == MICA_OK) status = join(p, pairing, folders, lists[0], counts[0], lists[1], counts[1]);
  for (int k = 0; k < 2; k++) {
    free_named(lists[k], counts[k]);
    mica__names_free(&names[k]);
  }
  return status;
}

mica_status mica__pairs_find(const char *path, const mica__pairing *pairing, mica__pairs *p) {
  char *folders[2];
  bool found = false;
  mica_status status = find_folders(path, pairing, folders, &found);
  if (status == MICA_OK && !found)
    status =
        mica__fail(MICA_E_FORMAT, "the folder %s holds no %s with %ss", path, pairing->what, kind_of(pairing)->what);
  if (status == MICA_OK) status = find_pairs(p, pairing, folders);
  free(folders[0]);
  free(folders[1]);
  return status;
}

void mica__pairs_free(mica__pairs *p) {
  for (size_t i = 0; i < p->count; i++) {
    free(p->pictures[i]);
    free(p->masks[i]);
  }
  free(p->pictures);
  free(p->masks);
  *p = (mica__pairs){0};
}
