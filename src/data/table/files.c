/* Tables that name files: a column of paths becomes pictures or recordings if there is no other input, or if the
 * configuration asks for all such columns. */
#include "base/text.h"
#include "data/picture/image.h"
#include "data/sound/sound.h"
#include "data/source.h"
#include "data/table/table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* True for endings of picture or sound files that Mica cannot read. */
static bool has_foreign_ending(const char *name, bool picture) {
  static const char *const pictures[] = {".bmp", ".gif", ".tif", ".tiff", ".webp", NULL}, *const sounds[] = {
                                                                                              ".aac", ".aif", ".aiff",
                                                                                              ".m4a", ".mp3", ".opus",
                                                                                              ".wma", NULL};
  const char *ending = strrchr(name, '.');
  bool has = false;
  for (const char *const *e = picture ? pictures : sounds; ending && *e; e++) has = has || !strcasecmp(ending, *e);
  return has;
}

const char *mica__file_holds(const char *name) {
  if (mica__image_is_named(name) || has_foreign_ending(name, true)) return "picture";
  if (mica__sound_is_named(name) || has_foreign_ending(name, false)) return "recording";
  return mica__table_is_named(name) ? "table" : NULL;
}

bool mica__field_names_files(const mica__field *field, bool any) {
  static const char *const names[] = {"file",  "filename", "file_name", "path",      "image", "picture",
                                      "photo", "img",      "sound",     "recording", "audio", "wav"};
  bool named = any || field->found;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) named = named || !strcasecmp(field->name, names[i]);
  return named && !field->label && field->holds && (any || strcmp(field->holds, "table") != 0);
}

bool mica__table_is_named(const char *name) { return mica__name_ends(name, ".csv") || mica__name_ends(name, ".tsv"); }

/* True for a column of texts that is an input. */
static bool is_text(const mica__field *field) {
  return !field->label && !field->unread && field->at != SIZE_MAX && field->kind == MICA_COLUMN_KIND_TEXT;
}

/* The only input, if it is a column of texts; NULL: there are other inputs. */
static const mica__field *find_only(const mica__schema *schema) {
  const mica__field *files = NULL;
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->label || field->unread || field->at == SIZE_MAX) continue;
    if (files || !is_text(field)) return NULL;
    files = field;
  }
  return files;
}

/* A cell's text, freed by the caller. */
static mica_status read_cell(const mica_dataset *all, size_t column, uint64_t sample, char **cell) {
  int64_t length = 0;
  MICA_TRY(mica_dataset_length(all, column, sample, &length));
  char *text = calloc(1, (size_t)length + 1);
  mica_status status = text ? MICA_OK : mica__fail_nomem(all->store->name);
  if (status == MICA_OK && length) status = mica_dataset_read(all, column, sample, text, (size_t)length);
  if (status == MICA_OK)
    *cell = text;
  else
    free(text);
  return status;
}

/* Appends the path of a file that a cell names, relative to the folder of the table. */
static void add_path(const char *table, const char *cell, mica__text *text) {
  const char *slash = strrchr(table, '/');
  if (*cell != '/' && slash) mica__text_add_bytes(text, table, (size_t)(slash + 1 - table));
  mica__text_add(text, cell);
}

bool mica__table_finds(const char *table, const char *cell) {
  mica__text text = {0};
  add_path(table, cell, &text);
  const bool there = mica__text_status(&text) == MICA_OK && access(text.data, F_OK) == 0;
  mica__text_free(&text);
  return there;
}

/* Checks that a cell is not empty and does not name a picture or recording of a type that Mica cannot read. */
static mica_status check_cell(const char *name, const mica__field *field, const char *cell, uint64_t line) {
  const unsigned long long at = line;
  if (!*cell)
    return mica__fail(MICA_E_FORMAT, "%s line %llu: the name of the file in column \"%s\" is empty", name, at,
                      field->name);
  if (has_foreign_ending(cell, true))
    return mica__fail(MICA_E_FORMAT, "%s line %llu: column \"%s\" names %s; pictures must be PNG or JPEG files", name,
                      at, field->name, cell);
  if (has_foreign_ending(cell, false))
    return mica__fail(MICA_E_FORMAT, "%s line %llu: column \"%s\" names %s; recordings must be WAV, FLAC or OGG files",
                      name, at, field->name, cell);
  return MICA_OK;
}

/* The path of a sample's file, relative to the folder of the table; freed by the caller. */
static mica_status read_path(const char *name, const mica_dataset *all, const mica__field *field, size_t column,
                             uint64_t sample, char **path) {
  const uint64_t line = mica_dataset_line(all, sample);
  mica__text text = {0};
  char *cell = NULL;
  MICA_TRY(read_cell(all, column, sample, &cell));
  mica_status status = check_cell(name, field, cell, line);
  if (status == MICA_OK) add_path(name, cell, &text);
  free(cell);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK && access(text.data, F_OK) != 0)
    status = mica__fail(MICA_E_NOT_FOUND,
                        "%s line %llu: column \"%s\" names %s: there is no such file, or it cannot be read", name,
                        (unsigned long long)line, field->name, text.data);
  if (status == MICA_OK)
    *path = text.data;
  else
    mica__text_free(&text);
  return status;
}

static mica_status read_paths(const char *name, const mica_dataset *all, const mica__field *field, size_t column,
                              char **paths) {
  for (uint64_t i = 0; i < all->count; i++) MICA_TRY(read_path(name, all, field, column, i, &paths[i]));
  return MICA_OK;
}

/* The files' contents become a column "image" or "sound". If the column of paths is itself called "image" or "sound",
 * renames it to "files" or, if a column "files" exists, to "other files". */
static mica_status rename_paths(mica__store *store, size_t column) {
  mica__column *paths = &store->columns[column];
  if (strcmp(paths->about.name, "image") != 0 && strcmp(paths->about.name, "sound") != 0) return MICA_OK;
  char *name = mica__strdup(mica__store_find(store, "files") ? "other files" : "files");
  if (!name) return mica__fail_nomem(store->name);
  free((char *)(uintptr_t)paths->about.name);
  paths->about.name = name;
  return MICA_OK;
}

/* Adds the files that a column of texts names, if it names any. */
static mica_status add_files(const char *name, mica__store *store, const mica__field *field,
                             const mica_dataset_config *config) {
  mica_dataset all = {.store = store, .count = store->count};
  const size_t column = mica_dataset_column_index(&all, field->name);
  if (!mica__field_names_files(field, config->files)) return MICA_OK;
  const bool pictures = !strcmp(field->holds, "picture");
  store->columns[column].paths = config->files;
  if (!strcmp(field->holds, "table")) return MICA_OK;
  const mica__column *other = mica__store_find(store, pictures ? "image" : "sound");
  if (other && other->files)
    return mica__fail(MICA_E_FORMAT, "%s: a second column, \"%s\", names %s; leave it out with --ignore", store->name,
                      field->name, pictures ? "pictures" : "recordings");
  char **paths = calloc((size_t)all.count + 1, sizeof *paths);
  mica_status status = paths ? read_paths(name, &all, field, column, paths) : mica__fail_nomem(store->name);
  if (status == MICA_OK) status = rename_paths(store, column);
  /* Both functions take over the paths. */
  if (status == MICA_OK)
    return pictures ? mica__pictures_add(store, paths, config) : mica__recordings_add(store, paths, config);
  for (uint64_t i = 0; paths && i < all.count; i++) free(paths[i]);
  free(paths);
  return status;
}

mica_status mica__table_add_files(const char *name, mica__store *store, const mica_dataset_config *config) {
  const mica__schema *schema = store->schema;
  const mica__field *only = find_only(schema);
  if (!store->count) return MICA_OK;
  if (!config->files) return only ? add_files(name, store, only, config) : MICA_OK;
  for (size_t i = 0; i < schema->count; i++)
    if (is_text(&schema->fields[i])) MICA_TRY(add_files(name, store, &schema->fields[i], config));
  return MICA_OK;
}
