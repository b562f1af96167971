/* foundation/model.h: an open model, and the files of its folder. */
#ifndef MICA_FOUNDATION_MODEL_H
#define MICA_FOUNDATION_MODEL_H

#include "foundation/family.h"

/* A name map made from names.def: says for each parameter of a model's networks which tensors of the files hold it. */
#define MICA__MOST_NAME_ROWS 256
typedef struct mica__name_rows {
  mica_name_row rows[MICA__MOST_NAME_ROWS];
  char *sources[MICA__MOST_NAME_ROWS], *scales[MICA__MOST_NAME_ROWS]; /* strings that the rows point to */
  size_t count;
} mica__name_rows;

struct mica_foundation {
  mica_weights *weights; /* NULL if only config.json was opened */
  const mica__family *family;
  char *path;
  mica_foundation_info info;
  mica__info_arrays arrays;
  struct cJSON *config; /* owns texts of info */
  bool *seen;
  char *name, *licence;
  int64_t context;
  mica__name_rows rows; /* maps the network's parameters to tensors of the model's own files */
};

/* Makes the map from a model's parameters to tensors of GGUF files (if `gguf` is true) or of folders. The caller frees
 * it with mica__name_rows_free. After a failure nothing stays allocated. */
mica_status mica__names_rows(const mica_foundation *model, bool gguf, mica__name_rows *rows);
void mica__name_rows_free(mica__name_rows *rows);

/* Finds how rotary positions are scaled to model->context. *factors receives rotated / 2 numbers that divide the
 * frequencies; the caller frees them, and NULL means that all are 1. *scale multiplies cosine and sine. MICA_E_FORMAT:
 * a value that the kind of scaling needs is missing or invalid in the files. */
mica_status mica__rotary_scale(const mica_foundation *model, const mica_foundation_rotary *rotary, double **factors,
                               double *scale);

/* Reads the source of a folder's chat template, which the caller frees; NULL: it has none. */
mica_status mica__template_text(const mica_foundation *model, char **text);

/* The largest JSON file of a folder, and its deepest nesting. */
#define MICA__FOLDER_MAX_BYTES ((size_t)16 << 20)
#define MICA__FOLDER_MAX_DEPTH 64

/* Parses a folder's JSON file, which must be an object within both limits. path is for messages; the caller deletes
 * *root, also after a failure. */
mica_status mica__folder_parse(const char *path, const char *text, size_t bytes, struct cJSON **root);
/* Reads config.json from memory, and the end tokens from generation_config.json (may be NULL). path: of config.json,
 * for messages. MICA_E_UNSUPPORTED in a build without cJSON. */
mica_status mica__foundation_folder_read(mica_foundation *model, const char *path, const char *config,
                                         size_t config_bytes, const char *generation, size_t generation_bytes);
/* Reads the folder's config.json as text, which the caller frees. */
mica_status mica__foundation_config_text(const mica_foundation *model, char **text);
/* Opens a copy of config.json: a model that can be described and whose network can be built, but without weights. */
mica_status mica__foundation_open_config(const char *path, mica_foundation **model);
/* Works like mica_foundation_load, for a network that also has parameters of its own. *missing receives the number of
 * parameters that the files do not have. */
mica_status mica__foundation_load_part(const mica_foundation *model, const mica_nn *nn, mica_session *session,
                                       size_t *missing);
/* Opens a folder's config.json, and generation_config.json if it exists. */
mica_status mica__foundation_folder_open(mica_foundation *model, const char *folder);
/* True if the folder's config.json has the key model_type and not the key "mica", which marks the file of a training
 * run. Also true if memory is too short to read the file: opening the model then reports that. Always false in a build
 * without cJSON. */
bool mica__foundation_folder_is(const char *folder);
void mica__foundation_folder_free(mica_foundation *model);

#endif
