/* Folders of recordings: one folder per class, or names LABEL_SPEAKER_N. */
#include "base/text.h"
#include "data/class_folders.h"
#include "data/sound/sound.h"
#include "data/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The test set of the Free Spoken Digit Dataset: recordings 0 to 4 of each speaker and word. */
#define TESTS 5
#define MOST_FIELDS 8
/* How many entries of a folder are inspected to find out what it is. */
#define LOOKED_AT 64
/* How many unreadable files are named. */
#define MOST_NAMED 10

/* Names, numbered in the order of their first occurrence. */
typedef struct naming {
  char **names;
  size_t count, room;
} naming;

typedef struct recordings {
  char **files;
  int32_t *labels, *speakers;
  int64_t *lengths;
  size_t count, room;
  int32_t rate;
  naming classes, voices;
  bool spoken;     /* speakers are known */
  mica__text note; /* sentences about the folders of classes (mica__class_files_note) */
  /* bad: how many files are unreadable; why, first: the status and the message of the first one; bad_names: the first
   * MOST_NAMED of them. */
  size_t bad;
  mica_status why;
  char *first;
  mica__text bad_names;
} recordings;

static void free_names(naming *n) {
  for (size_t i = 0; i < n->count; i++) free(n->names[i]);
  free(n->names);
}

static void release(void *object) {
  recordings *r = object;
  for (size_t i = 0; i < r->count; i++) free(r->files[i]);
  free(r->files);
  free(r->labels);
  free(r->speakers);
  free(r->lengths);
  free_names(&r->classes);
  free_names(&r->voices);
  mica__text_free(&r->note);
  mica__text_free(&r->bad_names);
  free(r->first);
  free(r);
}

/* The number of a name; a new one if it has not occurred before. */
static mica_status number_of(naming *n, const char *name, int32_t *number) {
  for (size_t i = 0; i < n->count; i++)
    if (!strcmp(n->names[i], name)) {
      *number = (int32_t)i;
      return MICA_OK;
    }
  if (n->count == n->room) {
    const size_t room = n->room ? 2 * n->room : 16;
    char **more = realloc(n->names, room * sizeof *more);
    if (!more) return mica__fail_nomem("names of classes");
    n->names = more;
    n->room = room;
  }
  if (!(n->names[n->count] = mica__strdup(name))) return mica__fail_nomem("names of classes");
  *number = (int32_t)n->count++;
  return MICA_OK;
}

static mica_status grow(recordings *r) {
  const size_t room = r->room ? 2 * r->room : 256;
  char **files = realloc(r->files, room * sizeof *files);
  if (files) r->files = files;
  int32_t *labels = files ? realloc(r->labels, room * sizeof *labels) : NULL;
  if (labels) r->labels = labels;
  int32_t *speakers = labels ? realloc(r->speakers, room * sizeof *speakers) : NULL;
  if (speakers) r->speakers = speakers;
  int64_t *lengths = speakers ? realloc(r->lengths, room * sizeof *lengths) : NULL;
  if (!lengths) return mica__fail_nomem("the names of recordings");
  r->lengths = lengths;
  r->room = room;
  return MICA_OK;
}

/* Adds a file; if no rate was asked for, the first file's rate is used for all. */
static mica_status add_file(recordings *r, const char *folder, const char *name, int32_t label, int32_t speaker) {
  mica__sound sound = {0};
  char *path = NULL;
  if (r->count == r->room) MICA_TRY(grow(r));
  if (!folder && !(path = mica__strdup(name))) return mica__fail_nomem(name);
  if (folder) MICA_TRY(mica__path_join(folder, name, &path));
  mica_status status = mica__sound_examine(path, r->rate, &sound);
  if (status != MICA_OK) {
    free(path);
    return status;
  }
  if (r->rate == 0) r->rate = sound.rate;
  r->files[r->count] = path;
  r->labels[r->count] = label;
  r->speakers[r->count] = speaker;
  r->lengths[r->count++] = sound.length;
  return MICA_OK;
}

/* Adds a file of a folder. An unreadable one is recorded; fail_bad names all of them at once. */
static mica_status take_file(recordings *r, const char *folder, const char *name, int32_t label, int32_t speaker) {
  const mica_status status = add_file(r, folder, name, label, speaker);
  if (status != MICA_E_FORMAT && status != MICA_E_IO && status != MICA_E_NOT_FOUND) return status;
  if (!r->bad++) {
    r->why = status;
    r->first = mica__strdup(mica_error_message());
  }
  if (r->bad <= MOST_NAMED)
    mica__text_addf(&r->bad_names, folder ? "%s%s/%s" : "%s%s%s", r->bad > 1 ? ", " : "", folder ? folder : "", name);
  return r->first ? MICA_OK : mica__fail_nomem("the names of recordings");
}

static mica_status fail_bad(const recordings *r) {
  if (!r->bad) return MICA_OK;
  MICA_TRY(mica__text_status(&r->bad_names));
  if (r->bad == 1) return mica__fail(r->why, "%s", r->first);
  return mica__fail(r->why, "%s; of %zu recordings %zu cannot be read: %s%s", r->first, r->count + r->bad, r->bad,
                    r->bad_names.data, r->bad > MOST_NAMED ? ", ..." : "");
}

/* The class of a name: the next number, or its number in config->like. */
static mica_status class_of(recordings *r, const mica_dataset_config *config, const char *path, const char *name,
                            int32_t *label) {
  if (!config->like) return number_of(&r->classes, name, label);
  *label = mica__config_class_of(config, name);
  if (*label >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the folder %s holds a class \"%s\", which the training part does not have", path,
                    name);
}

/* --- names that say what is spoken --- */

/* A name without its ending, split into fields at each _. */
typedef struct fields {
  char text[256];
  char *at[MOST_FIELDS];
  int count;
} fields;

static bool part(const char *name, fields *f) {
  const char *dot = strrchr(name, '.');
  const size_t n = dot ? (size_t)(dot - name) : strlen(name);
  if (n >= sizeof f->text) return false;
  memcpy(f->text, name, n);
  f->text[n] = '\0';
  f->count = 0;
  for (char *at = f->text; at && f->count < MOST_FIELDS;) {
    f->at[f->count++] = at;
    at = strchr(at, '_');
    if (at) *at++ = '\0';
  }
  return true;
}

static bool is_number(const char *text) {
  return *text && strlen(text) < 9 && strspn(text, "0123456789") == strlen(text);
}

/* The pattern of a folder's names. fields: the number of fields in each; numbered: the last field is always a number;
 * parted: each word and each speaker occurs both with numbers below TESTS, which are the test part, and with higher
 * ones, which are the training part. */
typedef struct pattern {
  int fields;
  bool numbered, parted;
} pattern;

/* The words (field 0) and speakers (field 1) of all names, of names with a number below TESTS, and of the others. */
typedef struct sides {
  naming all[2], below[2], above[2];
} sides;

static mica_status add_sides(sides *s, const fields *f) {
  int32_t number = 0;
  const bool below = atol(f->at[f->count - 1]) < TESTS;
  for (int k = 0; k < 2; k++) {
    MICA_TRY(number_of(&s->all[k], f->at[k], &number));
    MICA_TRY(number_of(below ? &s->below[k] : &s->above[k], f->at[k], &number));
  }
  return MICA_OK;
}

static bool on_both_sides(const sides *s) {
  for (int k = 0; k < 2; k++)
    if (s->below[k].count != s->all[k].count || s->above[k].count != s->all[k].count) return false;
  return s->all[0].count > 0;
}

static void free_sides(sides *s) {
  for (int k = 0; k < 2; k++) {
    free_names(&s->all[k]);
    free_names(&s->below[k]);
    free_names(&s->above[k]);
  }
}

static mica_status scan_names(const char *folder, const mica__names *names, pattern *p, sides *s) {
  const char *first = NULL;
  fields f;
  *p = (pattern){.numbered = true};
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->names[i];
    if (!mica__sound_is_named(name)) continue;
    if (!part(name, &f) || f.count < 2 || !*f.at[0] || (first && f.count != p->fields))
      return mica__fail(
          MICA_E_FORMAT,
          "%s/%s: the name must have the form LABEL_SPEAKER_N%s%s, or the recordings must lie in one folder per class",
          folder, name, first ? ", like " : "", first ? first : "");
    first = name;
    p->fields = f.count;
    p->numbered = p->numbered && is_number(f.at[f.count - 1]);
    if (p->numbered && f.count > 2) MICA_TRY(add_sides(s, &f));
  }
  p->parted = p->numbered && p->fields > 2 && on_both_sides(s);
  return MICA_OK;
}

static mica_status find_pattern(const char *folder, const mica__names *names, pattern *p) {
  sides s = {0};
  const mica_status status = scan_names(folder, names, p, &s);
  free_sides(&s);
  return status;
}

static mica_status read_named(recordings *r, const char *folder, const mica_dataset_config *config) {
  mica__names names;
  pattern p;
  fields f;
  MICA_TRY(mica__names_read(folder, &names));
  mica_status status = find_pattern(folder, &names, &p);
  if (status == MICA_OK && (p.parted ? config->part == MICA_PART_VALIDATION : config->part != MICA_PART_TRAIN))
    status = mica__fail(MICA_E_NOT_FOUND, "%s has no %s part%s", folder, mica_part_name(config->part),
                        p.parted ? ": names LABEL_SPEAKER_N with N below 5 are the test part" : "");
  if (status == MICA_OK) r->spoken = p.fields > 2;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    int32_t label = 0, speaker = 0;
    if (!mica__sound_is_named(names.names[i]) || !part(names.names[i], &f)) continue;
    if (p.parted && (atol(f.at[f.count - 1]) < TESTS) != (config->part == MICA_PART_TEST)) continue;
    status = class_of(r, config, folder, f.at[0], &label);
    if (status == MICA_OK && r->spoken) status = number_of(&r->voices, f.at[1], &speaker);
    if (status == MICA_OK) status = take_file(r, folder, names.names[i], label, speaker);
  }
  mica__names_free(&names);
  return status;
}

/* --- one folder per class --- */

static const mica__class_kind kind = {mica__sound_is_named, "recordings",
                                      "holds no recordings: no file ends in .wav, .flac or .ogg", "WAV, FLAC or OGG"};

static mica_status add_files(recordings *r, const mica_dataset_config *config, mica__class_files *f) {
  for (size_t i = 0; i < f->count; i++) MICA_TRY(take_file(r, NULL, f->files[i], f->labels[i], 0));
  if (config->like) return MICA_OK;
  r->classes = (naming){.names = f->names, .count = (size_t)f->classes};
  f->names = NULL;
  f->classes = 0;
  return MICA_OK;
}

static mica_status read_classes(recordings *r, const char *root, const mica_dataset_config *config) {
  mica__class_files f = {0};
  mica_status status = mica__class_files_read(root, config, &kind, &f);
  mica__class_files_note(&f, &kind, &r->note);
  if (status == MICA_OK) status = mica__text_status(&r->note);
  if (status == MICA_OK) status = add_files(r, config, &f);
  mica__class_files_free(&f);
  return status;
}

/* --- what a folder is --- */

/* Sets *found to whether a recording is among the first entries of a folder. */
static mica_status holds_sounds(const char *path, bool *found) {
  *found = false;
  if (!mica__is_folder(path) || access(path, R_OK | X_OK) != 0) return MICA_OK;
  DIR *directory = opendir(path);
  if (!directory && errno == ENOMEM) return mica__fail_nomem(path);
  if (!directory) return mica__fail(MICA_E_IO, "cannot read the folder %s: %s", path, strerror(errno));
  const struct dirent *entry;
  for (int i = 0; i < LOOKED_AT && !*found && (entry = readdir(directory)); i++)
    *found = !mica__is_litter(entry->d_name) && mica__sound_is_named(entry->d_name);
  closedir(directory);
  return MICA_OK;
}

/* Counts the folders with recordings among the first LOOKED_AT entries of a folder. *only (unless `only` is NULL)
 * receives the path of the last of them, which the caller frees. */
static mica_status folders_of_sounds(const char *path, int *count, char **only) {
  mica__names names;
  *count = 0;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count && i < LOOKED_AT; i++) {
    char *folder = NULL;
    bool holds = false;
    status = mica__path_join(path, names.names[i], &folder);
    if (status == MICA_OK) status = holds_sounds(folder, &holds);
    *count += status == MICA_OK && holds;
    if (status != MICA_OK || !holds || !only) {
      free(folder);
      continue;
    }
    free(*only);
    *only = folder;
  }
  mica__names_free(&names);
  return status;
}

/* Sets *depth to the number of further levels of folders to search for recordings: 1, or 0 if a table, a text or a JSON
 * file lies in the folder, because the recordings may belong to it. */
static mica_status find_depth(const char *path, int *depth) {
  static const char *const tables[] = {".csv", ".tsv", ".txt", ".json"};
  mica__names names;
  MICA_TRY(mica__names_look(path, &names));
  *depth = 1;
  for (size_t i = 0; i < names.count; i++)
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
      if (mica__name_ends(names.names[i], tables[k])) *depth = 0;
  mica__names_free(&names);
  return MICA_OK;
}

/* Sets *is to whether recordings are among the first entries of a folder, of the folders within it, or of folders up to
 * `depth` levels deeper. */
static mica_status has_sounds(const char *path, int depth, bool *is) {
  mica__names names;
  int count = 0;
  MICA_TRY(holds_sounds(path, is));
  if (!*is) MICA_TRY(folders_of_sounds(path, &count, NULL));
  *is = *is || count > 0;
  if (*is || !depth) return MICA_OK;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && !*is && i < names.count && i < LOOKED_AT; i++) {
    char *folder = NULL;
    status = mica__path_join(path, names.names[i], &folder);
    if (status == MICA_OK && mica__is_folder(folder)) status = has_sounds(folder, depth - 1, is);
    free(folder);
  }
  mica__names_free(&names);
  return status;
}

/* The folder of a part of the data (training, validation or test) with recordings or folders of them. The caller frees
 * *folder; NULL: none. */
static mica_status part_of(const char *path, int part_index, char **folder) {
  mica__names names;
  int depth = 0;
  *folder = NULL;
  MICA_TRY(find_depth(path, &depth));
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *inner = NULL;
    bool has = false;
    if (!mica__part_is_named((mica_part)part_index, names.names[i])) continue;
    status = mica__path_join(path, names.names[i], &inner);
    if (status == MICA_OK) status = has_sounds(inner, depth, &has);
    if (status == MICA_OK && has && *folder)
      status = mica__part_refuse_two(path, (mica_part)part_index, *folder, names.names[i]);
    if (status == MICA_OK && has)
      *folder = inner;
    else
      free(inner);
  }
  if (status != MICA_OK) {
    free(*folder);
    *folder = NULL;
  }
  mica__names_free(&names);
  return status;
}

static mica_status is_folder(const char *path, bool *is) {
  int depth = 0;
  MICA_TRY(find_depth(path, &depth));
  MICA_TRY(has_sounds(path, depth, is));
  for (int i = 0; i < 3 && !*is; i++) {
    char *folder = NULL;
    MICA_TRY(part_of(path, i, &folder));
    *is = folder != NULL;
    free(folder);
  }
  return MICA_OK;
}

/* Sets *named to whether all recordings of a folder are named LABEL_SPEAKER_N or LABEL_N. */
static mica_status is_named(const char *folder, bool *named) {
  mica__names names;
  pattern p;
  MICA_TRY(mica__names_look(folder, &names));
  mica__attempt_begin();
  *named = find_pattern(folder, &names, &p) == MICA_OK && p.numbered;
  mica__attempt_end();
  mica__names_free(&names);
  return MICA_OK;
}

/* Reads a folder that is not divided into parts. The names of the recordings give the classes in two cases:
 * - The recordings are in the folder itself.
 * - They are in its only subfolder with recordings, is_named holds for that subfolder, and config->like, if set, has
 *   speakers.
 *
 * In all other cases, there is one folder per class. */
static mica_status read_root(recordings *r, const char *root, const mica_dataset_config *config) {
  char *only = NULL;
  bool holds = false, named = false;
  int count = 0;
  MICA_TRY(holds_sounds(root, &holds));
  if (holds) return read_named(r, root, config);
  mica_status status = folders_of_sounds(root, &count, &only);
  if (status == MICA_OK && count == 1 &&
      (!config->like || mica_dataset_column_index(config->like, "speaker") < mica_dataset_column_count(config->like)))
    status = is_named(only, &named);
  if (status == MICA_OK && named) status = read_named(r, only, config);
  free(only);
  if (status != MICA_OK || named) return status;
  if (config->part != MICA_PART_TRAIN)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part, because it is not divided into parts", root,
                      mica_part_name(config->part));
  return read_classes(r, root, config);
}

/* --- columns --- */

static mica_status read_sound(void *user, uint64_t sample, void *data, size_t bytes) {
  const recordings *r = user;
  (void)bytes;
  return mica__sound_read(r->files[sample], r->rate, data, r->lengths[sample]);
}

static mica_status length_of(void *user, uint64_t sample, int64_t *length) {
  *length = ((const recordings *)user)->lengths[sample];
  return MICA_OK;
}

static mica_status add_sounds(mica__store *store, recordings *r) {
  mica__column *column = NULL;
  const mica_shape open = {1, {MICA_DYNAMIC}};
  MICA_TRY(mica__store_add(
      store, &(mica_column){.name = "sound", .kind = MICA_COLUMN_KIND_SOUND, .dtype = MICA_F32, .shape = open},
      &column));
  column->user = r;
  column->read = read_sound;
  column->length = length_of;
  column->files = (const char *const *)r->files;
  store->rate = r->rate;
  return MICA_OK;
}

mica_status mica__recordings_add(mica__store *store, char **paths, const mica_dataset_config *config) {
  recordings *r = calloc(1, sizeof *r);
  mica_status status = r ? MICA_OK : mica__fail_nomem("the names of recordings");
  if (r) r->rate = config->rate ? config->rate : config->like ? mica_dataset_rate(config->like) : 0;
  for (uint64_t i = 0; status == MICA_OK && i < store->count; i++) {
    status = add_file(r, NULL, paths[i], 0, 0);
    if (status != MICA_OK && store->columns[0].lines)
      status = mica__fail(status, "%s line %lu: %s", store->name, (unsigned long)store->columns[0].lines[i],
                          mica_error_message());
  }
  for (uint64_t i = 0; i < store->count; i++) free(paths[i]);
  free(paths);
  if (!r) return status;
  const mica_status owned = mica__store_own(store, r, release);
  if (status == MICA_OK) status = owned;
  return status == MICA_OK ? add_sounds(store, r) : status;
}

static mica_status fill_store(mica__store *store, recordings *r, const mica_dataset_config *config) {
  mica__column *column = NULL;
  mica__text summary = {0};
  MICA_TRY(mica__store_set_count(store, r->count));
  MICA_TRY(add_sounds(store, r));
  int32_t *labels = r->labels;
  r->labels = NULL;
  const int32_t known = mica__config_classes(config);
  MICA_TRY(mica__store_add_labels(store, labels, known ? known : (int32_t)r->classes.count));
  if (!config->like)
    MICA_TRY(mica__column_name_classes(mica__store_find(store, "label"), (const char *const *)r->classes.names,
                                       (int32_t)r->classes.count));
  if (r->spoken) {
    MICA_TRY(mica__store_add(store,
                             &(mica_column){.name = "speaker",
                                            .kind = MICA_COLUMN_KIND_CLASS,
                                            .dtype = MICA_I32,
                                            .shape = MICA_SCALAR,
                                            .classes = (int32_t)r->voices.count},
                             &column));
    column->data = (const uint8_t *)r->speakers;
    MICA_TRY(mica__column_name_classes(column, (const char *const *)r->voices.names, (int32_t)r->voices.count));
  }
  mica__text_addf(&summary, "%zu recordings at %d Hz", r->count, (int)r->rate);
  if (r->note.length) mica__text_addf(&summary, "; %s", r->note.data);
  MICA_TRY(mica__text_status(&summary));
  store->summary = summary.data;
  return MICA_OK;
}

/* Reports that there is no such part. If a folder is named like the part, the message names it. */
static mica_status refuse_part(const char *path, mica_part missing) {
  mica__names names;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++)
    if (mica__part_is_named(missing, names.names[i]))
      status = mica__fail(MICA_E_NOT_FOUND, "%s has no %s part: no recordings were found in %s/%s", path,
                          mica_part_name(missing), path, names.names[i]);
  mica__names_free(&names);
  return status == MICA_OK ? mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(missing)) : status;
}

static mica_status open_folder(const char *const *paths, size_t count, const mica_dataset_config *config,
                               mica__store *store) {
  mica_dataset_config own = *config;
  char *folders[3] = {NULL, NULL, NULL};
  recordings *r = calloc(1, sizeof *r);
  (void)count;
  if (!r) return mica__fail_nomem("the names of recordings");
  MICA_TRY(mica__store_own(store, r, release));
  r->rate = config->rate ? config->rate : config->like ? mica_dataset_rate(config->like) : 0;
  mica_status status = MICA_OK;
  for (int i = 0; i < 3; i++)
    if (status == MICA_OK) status = part_of(paths[0], i, &folders[i]);
  const bool parted = folders[0] || folders[1] || folders[2];
  if (parted) own.part = MICA_PART_TRAIN;
  if (status == MICA_OK && parted && !folders[config->part])
    status = refuse_part(paths[0], config->part);
  else if (status == MICA_OK)
    status = read_root(r, parted ? folders[config->part] : paths[0], &own);
  if (status == MICA_OK) status = fail_bad(r);
  if (status == MICA_OK && r->count == 0) status = mica__fail(MICA_E_FORMAT, "%s holds no recordings", paths[0]);
  if (status == MICA_OK) status = fill_store(store, r, config);
  if (status == MICA_OK && parted) status = mica__parts_note_unused(store, paths[0], folders);
  for (int i = 0; i < 3; i++) free(folders[i]);
  return status;
}

static bool is_part(mica_part part_, const char *name, const char *rest) {
  (void)part_, (void)name, (void)rest;
  return false;
}

const mica__source mica__source_recordings = {
    .is_part = is_part, .is_folder = is_folder, .parts_itself = true, .open = open_folder};
