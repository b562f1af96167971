/* foundation/model.h: an open model, and the files of its folder. */
#ifndef MICA_FOUNDATION_MODEL_H
#define MICA_FOUNDATION_MODEL_H

#include "foundation/family.h"

/* Rows of names.def as a name map. */
#define MICA__MOST_NAME_ROWS 256
typedef struct mica__name_rows {
  mica_name_row rows[MICA__MOST_NAME_ROWS];
  char *sources[MICA__MOST_NAME_ROWS], *scales[MICA__MOST_NAME_ROWS]; /* texts of rows */
  size_t count;
} mica__name_rows;

struct mica_foundation {
  mica_weights *weights; /* NULL if only config.json is tested */
  const mica__family *family;
  char *path;
  mica_foundation_info info;
  mica__info_arrays arrays;
  struct cJSON *config; /* owns texts of info */
  bool *seen;
  char *name, *licence;
  int64_t context;
  mica__name_rows rows; /* rows of its layout */
};

/* Maps a model's names to GGUF's, or to a folder's; nothing stays allocated after a failure. */
mica_status mica__names_rows(const mica_foundation *model, bool gguf, mica__name_rows *rows);
void mica__name_rows_free(mica__name_rows *rows);

/* Finds how rotary positions are scaled to model->context: *factors (rotated / 2 numbers, freed by the caller; NULL:
 * ones) divide the frequencies, *scale multiplies cosine and sine. MICA_E_FORMAT: the files lack values for it. */
mica_status mica__rotary_scale(const mica_foundation *model, const mica_foundation_rotary *rotary, double **factors,
                               double *scale);

/* Reads the source of a folder's chat template, which the caller frees; NULL: it has none. */
mica_status mica__template_text(const mica_foundation *model, char **text);

/* The largest JSON file of a folder, and its deepest nesting. */
#define MICA__FOLDER_MAX_BYTES ((size_t)16 << 20)
#define MICA__FOLDER_MAX_DEPTH 64

/* Parses a folder's JSON file, which must be an object within both limits. path is for messages; the caller deletes
 * *root. */
mica_status mica__folder_parse(const char *path, const char *text, size_t bytes, struct cJSON **root);
/* Reads config.json from memory, and the end tokens from generation_config.json (may be NULL). path: of config.json,
 * for messages. MICA_E_UNSUPPORTED in a build without cJSON. */
mica_status mica__foundation_folder_read(mica_foundation *model, const char *path, const char *config,
                                         size_t config_bytes, const char *generation, size_t generation_bytes);
/* Reads the folder's config.json as text, which the caller frees. */
mica_status mica__foundation_config_text(const mica_foundation *model, char **text);
/* Opens a copy of config.json: a model that can be described and whose network can be built, but without weights. */
mica_status mica__foundation_open_config(const char *path, mica_foundation **model);
/* mica_foundation_load for a network that also has other parameters; *missing: the number of those that the files
 * lack. */
mica_status mica__foundation_load_part(const mica_foundation *model, const mica_nn *nn, mica_session *session,
                                       size_t *missing);
/* Opens a folder's config.json, and generation_config.json if it exists. */
mica_status mica__foundation_folder_open(mica_foundation *model, const char *folder);
/* True if the folder's config.json has a model_type and no version of Mica, which a run's file has. */
bool mica__foundation_folder_is(const char *folder);
void mica__foundation_folder_free(mica_foundation *model);

#endif
