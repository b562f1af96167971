/* foundation/merge.h: adds an adapter's product to matrices. */
#ifndef MICA_FOUNDATION_MERGE_H
#define MICA_FOUNDATION_MERGE_H

#include "foundation/adapter_file.h"

typedef struct mica__merging {
  const mica_adapter *adapter;
  mica__adapter_source source; /* for the names in the written file */
  size_t merged;               /* number of the adapter's layers that were added */
} mica__merging;

/* Begins a merge. gguf: the names are GGUF's, else a folder's. MICA_E_STATE: the adapter has no layers, or one of them
 * has no values. */
mica_status mica__merge_begin(const mica_foundation *model, const mica_adapter *adapter, const char *path, bool gguf,
                              mica__merging *merge);
/* MICA_E_NOT_FOUND if a layer of the adapter was not added to any matrix. */
mica_status mica__merge_check(const mica__merging *merge);
void mica__merge_end(mica__merging *merge);

/* What an adapter adds to one matrix. If `layer` is NULL, it adds nothing. */
typedef struct mica__addition {
  const mica_adapter_layer *layer;
  float *b; /* (rows, rank), in the row order of the written file */
} mica__addition;

/* Finds the addition for a matrix. merge may be NULL. The caller frees addition->b. */
mica_status mica__merge_find(mica__merging *merge, const char *name, mica__addition *addition);
/* row += scale B[r] A. Does nothing if addition->layer is NULL. */
void mica__merge_add(const mica__addition *addition, int64_t r, float *row);

/* Writes the model's folder with the adapter merged into it. MICA_E_UNSUPPORTED: the model is a GGUF file. */
mica_status mica__merge_folder(const mica_foundation *model, const mica_adapter *adapter, const char *path,
                               mica_foundation_written *written);

#endif
