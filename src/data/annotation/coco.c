/* COCO: one file of JSON with pictures, categories and annotations. Boxes are x, y, width, height. */
#include "base/name_table.h"
#include "base/text.h"
#include "data/annotation/boxed.h"
#include "data/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a file. The annotations of COCO's 118,287 training pictures have 448 MB, for which cJSON needs
 * several GB. */
#define MOST_BYTES ((size_t)1 << 29)

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

/* A picture or a category with its position in the file. */
typedef struct entry {
  double id;
  size_t index; /* of a category: its class */
  const cJSON *item;
} entry;

/* An annotation with its picture. */
typedef struct annotation {
  size_t picture, index;
  const cJSON *item;
} annotation;

typedef struct reading {
  const char *name, *folder;
  entry *pictures, *categories;
  annotation *annotations;
  size_t picture_count, category_count, annotation_count;
} reading;

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

static int compare_annotations(const void *a, const void *b) {
  const annotation *x = a, *y = b;
  if (x->picture != y->picture) return x->picture < y->picture ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static const cJSON *list_of(const cJSON *root, const char *key) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key);
  return cJSON_IsArray(list) ? list : NULL;
}

/* A member that is a finite number; NaN otherwise. */
static double number(const cJSON *item, const char *key) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, key);
  return cJSON_IsNumber(value) && isfinite(value->valuedouble) ? value->valuedouble : (double)NAN;
}

static const char *text(const cJSON *item, const char *key) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, key);
  return cJSON_IsString(value) ? value->valuestring : NULL;
}

/* Takes an id; NaN if there is none. Refuses ids of magnitude 2^53 or more, because doubles cannot hold all whole
 * numbers there. */
static mica_status take_id(const reading *r, const cJSON *item, const char *key, double *id) {
  *id = number(item, key);
  if (!(fabs(*id) >= 0x1p53)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: \"%s\" is about %.17g, but ids must be between -2^53 and 2^53, where JSON numbers are exact",
                    r->name, key, *id);
}

/* Lists the members of a JSON list, sorted by id. The caller frees *out, also on failure. MICA_E_FORMAT: a member has
 * no id, or two have the same one. */
static mica_status sort(const reading *r, const cJSON *list, const char *what, entry **out, size_t *count) {
  const cJSON *item;
  const size_t capacity = (size_t)cJSON_GetArraySize(list);
  entry *entries = calloc(capacity + 1, sizeof *entries);
  *out = entries;
  if (!entries) return mica__fail_nomem("boxes");
  cJSON_ArrayForEach(item, list) {
    double id;
    MICA_TRY(take_id(r, item, "id", &id));
    if (isnan(id))
      return mica__fail(MICA_E_FORMAT, "%s: element %zu of \"%s\" has no id that is a number", r->name, *count, what);
    entries[*count] = (entry){id, *count, item};
    ++*count;
  }
  qsort(entries, *count, sizeof *entries, compare_entries);
  for (size_t i = 1; i < *count; i++)
    if (entries[i].id == entries[i - 1].id)
      return mica__fail(MICA_E_FORMAT, "%s: two elements of \"%s\" have the id %.15g", r->name, what, entries[i].id);
  return MICA_OK;
}

/* The entry with this id; NULL: none. */
static const entry *find(const entry *entries, size_t count, double id) {
  const entry key = {.id = id};
  return isnan(id) ? NULL : bsearch(&key, entries, count, sizeof *entries, compare_entries);
}

/* Numbers the classes in the order of their ids. Categories with the same name share one class; the summary mentions
 * them. */
static mica_status take_categories(reading *r, mica__boxed *b) {
  int32_t classes = 0;
  for (size_t i = 0; i < r->category_count; i++) {
    const char *name = text(r->categories[i].item, "name");
    int32_t class_index = 0;
    if (!name || !*name)
      return mica__fail(MICA_E_FORMAT,
                        "%s: the category with the id %.15g must have a \"name\" of at least one character", r->name,
                        r->categories[i].id);
    MICA_TRY(mica__boxed_class(b, name, &class_index));
    r->categories[i].index = (size_t)class_index;
    if (class_index == classes)
      classes++;
    else
      mica__boxed_count_merged(b);
  }
  return MICA_OK;
}

static mica_status take_annotations(reading *r, const cJSON *list) {
  const cJSON *item;
  r->annotations = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *r->annotations);
  if (!r->annotations) return mica__fail_nomem("boxes");
  cJSON_ArrayForEach(item, list) {
    double id;
    MICA_TRY(take_id(r, item, "image_id", &id));
    if (isnan(id))
      return mica__fail(MICA_E_FORMAT, "%s: annotation %zu has no \"image_id\" that is a number", r->name,
                        r->annotation_count);
    const entry *picture = find(r->pictures, r->picture_count, id);
    if (!picture)
      return mica__fail(MICA_E_FORMAT,
                        "%s: annotation %zu names the picture with the id %.15g, but the file has no such picture",
                        r->name, r->annotation_count, id);
    r->annotations[r->annotation_count] = (annotation){(size_t)(picture - r->pictures), r->annotation_count, item};
    r->annotation_count++;
  }
  qsort(r->annotations, r->annotation_count, sizeof *r->annotations, compare_annotations);
  return MICA_OK;
}

/* A box is a crowd if "iscrowd" is true or a number other than 0, as in pycocotools. */
static mica_status take_crowd(const cJSON *item, const char *where, mica__box_state *state) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "iscrowd");
  if (value && !cJSON_IsNumber(value) && !cJSON_IsBool(value) && !cJSON_IsNull(value))
    return mica__fail(MICA_E_FORMAT, "%s: \"iscrowd\" must be a number, true or false", where);
  const bool is = cJSON_IsTrue(value) || (cJSON_IsNumber(value) && value->valuedouble != 0);
  *state = is ? MICA__BOX_CROWD : MICA__BOX_PLAIN;
  return MICA_OK;
}

static mica_status take_box(const reading *r, const annotation *a, mica__boxed *b) {
  const cJSON *list = list_of(a->item, "bbox"), *side;
  double sides[4], category;
  MICA_TRY(take_id(r, a->item, "category_id", &category));
  const entry *of = find(r->categories, r->category_count, category);
  int count = 0;
  char where[600];
  snprintf(where, sizeof where, "%.500s: annotation %zu", r->name, a->index);
  if (isnan(category)) return mica__fail(MICA_E_FORMAT, "%s has no \"category_id\" that is a number", where);
  if (!of)
    return mica__fail(MICA_E_FORMAT, "%s is of the category %.15g, but the file has no category of this id", where,
                      category);
  cJSON_ArrayForEach(side, list) {
    if (count == 4 || !cJSON_IsNumber(side)) count = 5;
    if (count < 4) sides[count++] = side->valuedouble;
  }
  if (count != 4) return mica__fail(MICA_E_FORMAT, "%s has no \"bbox\" of four numbers", where);
  /* Skips boxes without width or height. COCO's own train2017 has two boxes of height 0: numbers 918 and 2206849
   * (cocoapi's issue 355). */
  if (sides[2] == 0 || sides[3] == 0) {
    mica__boxed_count_flat(b);
    return MICA_OK;
  }
  mica__box_state state = MICA__BOX_PLAIN;
  MICA_TRY(take_crowd(a->item, where, &state));
  const mica__boxed_box box = {sides[0],           sides[1], sides[0] + sides[2],    sides[1] + sides[3],
                               (int32_t)of->index, state,    number(a->item, "area")};
  return mica__boxed_add(b, &box, where);
}

/* True if a file name stays within the folder of pictures. */
static bool is_inside(const char *name) {
  if (*name == '/' || !*name) return false;
  for (const char *at = name; at; at = strchr(at, '/')) {
    at += *at == '/';
    if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2])) return false;
  }
  return true;
}

/* Refuses a file that is listed twice: its picture would count twice, and could be both in the training and in the
 * validation data. */
static mica_status note_file(const reading *r, mica__name_table *files, const char *name, size_t i) {
  const int32_t first = mica__name_table_find(files, name);
  if (first < 0) return mica__name_table_add(files, name, (int32_t)i);
  return mica__fail(MICA_E_FORMAT, "%s: the pictures of the ids %.16g and %.16g have the same file, %s", r->name,
                    r->pictures[first].id, r->pictures[i].id, name);
}

static mica_status take_pictures(const reading *r, mica__name_table *files, mica__boxed *b) {
  size_t next = 0;
  for (size_t i = 0; i < r->picture_count; i++) {
    const entry *picture = &r->pictures[i];
    const char *name = text(picture->item, "file_name");
    const double width = number(picture->item, "width"), height = number(picture->item, "height");
    mica__text path = {0};
    if (!name || !*name)
      return mica__fail(MICA_E_FORMAT, "%s: the picture with the id %.15g has no \"file_name\"", r->name, picture->id);
    if (!is_inside(name))
      return mica__fail(MICA_E_FORMAT,
                        "%s: the \"file_name\" of the picture with the id %.15g leads out of the folder: %s", r->name,
                        picture->id, name);
    if (isnan(width) || isnan(height))
      return mica__fail(MICA_E_FORMAT, "%s: the picture with the id %.15g needs a width and a height that are numbers",
                        r->name, picture->id);
    MICA_TRY(note_file(r, files, name, i));
    mica__text_addf(&path, "%s%s", r->folder, name);
    MICA_TRY(mica__text_status(&path));
    MICA_TRY(mica__boxed_picture(b, path.data, floor(width), floor(height)));
    for (; next < r->annotation_count && r->annotations[next].picture == i; next++)
      MICA_TRY(take_box(r, &r->annotations[next], b));
  }
  return MICA_OK;
}

static mica_status take_root(reading *r, const cJSON *root, mica__boxed *b) {
  const char *const keys[] = {"images", "categories", "annotations"};
  const cJSON *lists[3];
  for (int i = 0; i < 3; i++)
    if (!(lists[i] = list_of(root, keys[i])))
      return mica__fail(MICA_E_FORMAT, "%s has no list \"%s\", so it is not a COCO file", r->name, keys[i]);
  MICA_TRY(sort(r, lists[0], keys[0], &r->pictures, &r->picture_count));
  MICA_TRY(sort(r, lists[1], keys[1], &r->categories, &r->category_count));
  MICA_TRY(take_categories(r, b));
  MICA_TRY(take_annotations(r, lists[2]));
  mica__name_table files = {0};
  mica_status status = take_pictures(r, &files, b);
  mica__name_table_free(&files);
  return status;
}

static long line_of(const char *content, const char *at) {
  long line = 1;
  for (const char *c = content; at && c < at; c++) line += *c == '\n';
  return line;
}

mica_status mica__coco_parse(const char *name, const char *folder, char *content, size_t size, mica__boxed *b) {
  reading r = {.name = name, .folder = folder};
  const char *end = NULL;
  if (size > MOST_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes, but annotations may have at most %zu", name, size, MOST_BYTES);
  cJSON *root = cJSON_ParseWithLengthOpts(content, size + 1, &end, true);
  if (!root)
    return mica__fail(MICA_E_FORMAT, "%s, line %ld: the text is not JSON, or is nested too deeply", name,
                      line_of(content, end));
  mica_status status = take_root(&r, root, b);
  free(r.pictures);
  free(r.categories);
  free(r.annotations);
  cJSON_Delete(root);
  return status;
}

#else

mica_status mica__coco_parse(const char *name, const char *folder, char *content, size_t size, mica__boxed *b) {
  (void)folder, (void)content, (void)size, (void)b;
  return mica__fail_lacks(name, "cJSON");
}

#endif

/* --- files and folders --- */

#define BESIDE "_annotations.coco.json"

/* Finds the JSON file of a part of the data (training, validation or test) in FOLDER/annotations, such as
 * instances_train2017.json or train.json. The caller frees the path; NULL if there is none. */
static mica_status find_annotations(const char *folder, mica_part part, char **found) {
  char *inner = NULL;
  mica__names names = {0};
  *found = NULL;
  mica_status status = mica__path_join_two(folder, "annotations", NULL, &inner);
  if (status == MICA_OK) status = mica__names_look(inner, &names);
  for (size_t i = 0; status == MICA_OK && !*found && i < names.count; i++) {
    const char *name = names.names[i];
    if (!strncmp(name, "instances_", 10)) name += 10;
    if (mica__name_ends(name, ".json") && mica__part_rest(part, name))
      status = mica__path_join_two(inner, names.names[i], NULL, found);
  }
  mica__names_free(&names);
  free(inner);
  return status;
}

/* Finds PART/_annotations.coco.json in the folder, PART being any name of the part, such as train or training. */
static mica_status find_beside(const char *folder, mica_part part, char **found) {
  mica__names names;
  *found = NULL;
  MICA_TRY(mica__names_look(folder, &names));
  mica_status status = MICA_OK;
  const char *name = NULL;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *file = NULL;
    if (!mica__part_is_named(part, names.names[i])) continue;
    status = mica__path_join_two(folder, names.names[i], BESIDE, &file);
    const bool is = status == MICA_OK && mica__is_file(file);
    if (is && *found) status = mica__part_refuse_two(folder, part, name, names.names[i]);
    if (status == MICA_OK && is) {
      name = names.names[i];
      *found = file;
    } else {
      free(file);
    }
  }
  if (status != MICA_OK) {
    free(*found);
    *found = NULL;
  }
  mica__names_free(&names);
  return status;
}

/* The only *.json in a folder, freed by the caller; NULL if there are none or several. */
static mica_status only_json(const char *folder, char **found) {
  mica__names names;
  size_t count = 0, at = 0;
  *found = NULL;
  MICA_TRY(mica__names_look(folder, &names));
  for (size_t i = 0; i < names.count; i++)
    if (mica__name_ends(names.names[i], ".json")) count++, at = i;
  mica_status status = count == 1 ? mica__path_join_two(folder, names.names[at], NULL, found) : MICA_OK;
  mica__names_free(&names);
  return status;
}

/* Sets *is to whether the file looks like annotations; false for a file that cannot be read or has more than
 * MOST_BYTES. Fails only if memory is short. */
static mica_status holds_annotations(const char *path, bool *is) {
  uint8_t *content = NULL, byte[1];
  size_t size = 0;
  uint64_t all = 0;
  *is = false;
  mica__attempt_begin();
  mica_status status = mica__file_begin(path, byte, 1, &all);
  if (status == MICA_OK && all <= MOST_BYTES) status = mica__content_read(path, &content, &size);
  mica__attempt_end();
  *is = content && strstr((char *)content, "\"images\"") && strstr((char *)content, "\"annotations\"");
  free(content);
  return status == MICA_E_NOMEM ? mica__fail_nomem(path) : MICA_OK;
}

/* The file of a dataset that is not split: the only JSON in FOLDER/annotations or else beside FOLDER/images, if it
 * looks like annotations or is called annotations.json. The caller frees it; NULL: none. */
static mica_status find_only(const char *folder, char **found) {
  char *inner = NULL, *images = NULL;
  bool is = false;
  *found = NULL;
  mica_status status = mica__path_join_two(folder, "annotations", NULL, &inner);
  if (status == MICA_OK) status = mica__path_join_two(folder, "images", NULL, &images);
  if (status == MICA_OK) status = only_json(inner, found);
  if (status == MICA_OK && !*found && mica__is_folder(images)) status = only_json(folder, found);
  free(inner);
  free(images);
  /* A file annotations.json is taken even if it is damaged, so that reading it reports the fault. */
  is = *found && mica__name_ends(*found, "/annotations.json");
  if (status == MICA_OK && *found && !is) status = holds_annotations(*found, &is);
  if (is) return MICA_OK;
  free(*found);
  *found = NULL;
  return status;
}

static mica_status is_parted(const char *path, bool *is) {
  char *file = NULL;
  for (int part = 0; part < 3 && !file; part++) MICA_TRY(find_annotations(path, (mica_part)part, &file));
  if (!file) MICA_TRY(find_beside(path, MICA_PART_TRAIN, &file));
  *is = file != NULL;
  free(file);
  return MICA_OK;
}

static mica_status is_folder(const char *path, bool *is) {
  char *only = NULL;
  MICA_TRY(is_parted(path, is));
  if (*is) return MICA_OK;
  MICA_TRY(find_only(path, &only));
  *is = only != NULL;
  free(only);
  return MICA_OK;
}

static bool is_file(const char *path, const uint8_t *begin, size_t size) {
  size_t at = 0;
  while (at < size && (begin[at] == ' ' || begin[at] == '\n' || begin[at] == '\r' || begin[at] == '\t')) at++;
  return mica__name_ends(path, ".json") && at < size && begin[at] == '{';
}

/* Finds the folder of the pictures: one that contains a file named `first`. Looks in the JSON file's folder and then in
 * the folder above it; in each, first in the folder itself, then in its subfolders named after the JSON file, "images"
 * and "JPEGImages". If none fits, *found is the JSON file's folder. The path ends with a slash; the caller frees it. */
static mica_status find_pictures(const char *file, const char *first, char **found) {
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  mica__text here = {0}, above = {0}, own = {0};
  *found = NULL;
  mica__text_add_bytes(&here, slash ? file : ".", slash ? (size_t)(slash - file) : 1);
  mica__text_addf(&above, "%s/..", here.data ? here.data : ".");
  if (!strncmp(name, "instances_", 10)) name += 10;
  mica__text_add_bytes(&own, name, strcspn(name, "."));
  mica_status status = here.failed || above.failed || own.failed ? mica__fail_nomem("boxes") : MICA_OK;
  for (int i = 0; status == MICA_OK && first && i < 8 && !*found; i++) {
    const char *inner = (const char *[]){"", own.data ? own.data : "", "images", "JPEGImages"}[i % 4];
    mica__text folder = {0}, path = {0};
    mica__text_addf(&folder, "%s/%s%s", i < 4 ? here.data : above.data, inner, *inner ? "/" : "");
    mica__text_addf(&path, "%s%s", folder.data ? folder.data : "", first);
    if (folder.failed || path.failed) status = mica__fail_nomem("boxes");
    if (status == MICA_OK && mica__is_file(path.data))
      *found = folder.data;
    else
      mica__text_free(&folder);
    mica__text_free(&path);
  }
  if (status == MICA_OK && !*found) status = mica__path_join_two(here.data ? here.data : ".", "", NULL, found);
  mica__text_free(&here);
  mica__text_free(&above);
  mica__text_free(&own);
  return status;
}

/* Finds the value of the first "file_name" in a text; the caller frees it. NULL: the text has no "file_name", or its
 * value is empty or has escapes. */
static mica_status first_picture(const char *content, char **name) {
  const char *at = strstr(content, "\"file_name\"");
  at = at ? strchr(at + strlen("\"file_name\""), '"') : NULL;
  const size_t n = at ? strcspn(at + 1, "\"\\") : 0;
  *name = NULL;
  if (!n || at[1 + n] != '"') return MICA_OK;
  *name = malloc(n + 1);
  if (!*name) return mica__fail_nomem("boxes");
  memcpy(*name, at + 1, n);
  (*name)[n] = '\0';
  return MICA_OK;
}

static mica_status open_file(const char *file, const mica_dataset_config *config, mica__store *store) {
  uint8_t *content = NULL;
  size_t size = 0;
  uint64_t all = 0;
  uint8_t byte[1];
  mica__boxed *b = NULL;
  MICA_TRY(mica__file_begin(file, byte, 1, &all));
  if (all > MOST_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s has %llu bytes, but annotations may have at most %zu", file,
                      (unsigned long long)all, MOST_BYTES);
  MICA_TRY(mica__boxed_create(store, &b));
  MICA_TRY(mica__content_read(file, &content, &size));
  char *first = NULL, *folder = NULL;
  mica_status status = first_picture((const char *)content, &first);
  if (status == MICA_OK) status = find_pictures(file, first, &folder);
  if (status == MICA_OK) status = mica__coco_parse(file, folder, (char *)content, size, b);
  free(first);
  free(folder);
  free(content);
  return status == MICA_OK ? mica__boxed_finish(b, config, store) : status;
}

static bool is_part(mica_part part, const char *name, const char *rest) {
  (void)part, (void)name, (void)rest;
  return false;
}

static mica_status open_path(const char *const *paths, size_t count, const mica_dataset_config *config,
                             mica__store *store) {
  (void)count;
  if (!mica__is_folder(paths[0])) return open_file(paths[0], config, store);
  char *file = NULL;
  bool parted = false;
  MICA_TRY(find_annotations(paths[0], config->part, &file));
  if (!file) MICA_TRY(find_beside(paths[0], config->part, &file));
  if (!file) MICA_TRY(is_parted(paths[0], &parted));
  if (!file && config->part == MICA_PART_TRAIN && !parted) MICA_TRY(find_only(paths[0], &file));
  if (!file)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part among its annotations", paths[0],
                      mica_part_name(config->part));
  mica_status status = open_file(file, config, store);
  free(file);
  return status;
}

const mica__source mica__source_coco = {
    .is_part = is_part, .is_file = is_file, .is_folder = is_folder, .parts_itself = true, .open = open_path};
