/* run/predict/batches.h: a network's answers to the batches of a test, for metrics that cannot be computed as sums. */
#ifndef MICA_RUN_PREDICT_BATCHES_H
#define MICA_RUN_PREDICT_BATCHES_H

#include "base/error.h"

#include <mica/run.h>

/* Receives a batch with its correct answers, and the head's output: `width` numbers per sample. */
typedef mica_status mica__tested_fn(mica_run *run, const mica_batch *batch, const float *outputs, void *user);
/* Predicts each batch of a source from the start, without giving the network the correct answers. */
mica_status mica__test_batches(mica_run *run, const mica_batch_source *source, int64_t width, mica__tested_fn *fn,
                               void *user);

/* The dataset that a source of batches reads: if the source is the loader of a part, that part, otherwise the data of
 * the last evaluation. */
const mica_dataset *mica__source_data(const mica_run *run, const mica_batch_source *source);

/* The head's output for a batch, `width` numbers per sample. *outputs must be NULL before. The caller frees it, also
 * after a failure. */
mica_status mica__batch_infer(mica_run *run, const mica_batch *batch, int64_t width, float **outputs);
/* The column of this name in the batch, or NULL. */
const mica_tensor *mica__batch_find(const mica_batch *batch, const char *name);
/* Downloads a column of this many bytes; does nothing if the batch does not have it. */
mica_status mica__batch_read(const mica_run *run, const mica_batch *batch, const char *name, void *to, size_t bytes);

#endif
