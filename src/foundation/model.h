/* foundation/model.h: a model that is open, and its folder's files. */
#ifndef MICA_FOUNDATION_MODEL_H
#define MICA_FOUNDATION_MODEL_H

#include "foundation/family.h"

/* Rows of names.def as a map of names. */
#define MICA__MOST_NAME_ROWS 256
typedef struct mica__name_rows {
  mica_name_row rows[MICA__MOST_NAME_ROWS];
  char *sources[MICA__MOST_NAME_ROWS], *scales[MICA__MOST_NAME_ROWS]; /* texts of the rows */
  size_t count;
} mica__name_rows;

struct mica_foundation {
  mica_weights *weights; /* NULL in a test of config.json alone */
  const mica__family *family;
  char *path;
  mica_foundation_info info;
  mica__info_arrays arrays;
  struct cJSON *config; /* owns texts of info */
  bool *seen;
  char *name, *licence;
  int64_t context;
  mica__name_rows rows; /* of its layout */
};

/* The map of a model's names to names of GGUF, or of a folder; nothing stays allocated if it fails. */
mica_status mica__names_rows(const mica_foundation *model, bool gguf, mica__name_rows *rows);
void mica__name_rows_free(mica__name_rows *rows);

/* What scales rotary positions to model->context: *factors (rotated / 2 numbers, the caller's to free; NULL: ones)
 * divide frequencies, *scale multiplies cosine and sine. MICA_E_FORMAT if the files lack what the scaling needs. */
mica_status mica__rotary_scale(const mica_foundation *model, const mica_foundation_rotary *rotary, double **factors,
                               double *scale);

/* The source of a folder's chat template, which the caller frees; NULL: it has none. */
mica_status mica__template_text(const mica_foundation *model, char **text);

/* The longest JSON file of a folder, and how deep it may be nested. */
#define MICA__FOLDER_MAX_BYTES ((size_t)16 << 20)
#define MICA__FOLDER_MAX_DEPTH 64

/* Parses a folder's JSON file, an object within both limits. path is for sentences; the caller deletes
 * *root. */
mica_status mica__folder_parse(const char *path, const char *text, size_t bytes, struct cJSON **root);
/* Reads config.json, in memory, and from generation_config.json (may be NULL) the tokens that end a text. path:
 * of the first, for sentences. MICA_E_UNSUPPORTED in a build without cJSON. */
mica_status mica__foundation_folder_read(mica_foundation *model, const char *path, const char *config,
                                         size_t config_bytes, const char *generation, size_t generation_bytes);
/* The folder's config.json as a text, which the caller frees. */
mica_status mica__foundation_config_text(const mica_foundation *model, char **text);
/* Opens a copy of config.json: a model that describes itself and builds its network, but has no weights. */
mica_status mica__foundation_open_config(const char *path, mica_foundation **model);
/* mica_foundation_load of a network that has other parameters too; *missing counts those that the files lack. */
mica_status mica__foundation_load_part(const mica_foundation *model, const mica_nn *nn, mica_session *session,
                                       size_t *missing);
/* Opens config.json in a folder, and the other file if it is there. */
mica_status mica__foundation_folder_open(mica_foundation *model, const char *folder);
/* True if the folder's config.json names a model_type and not a version of Mica, as a run's does. */
bool mica__foundation_folder_is(const char *folder);
void mica__foundation_folder_free(mica_foundation *model);

#endif
