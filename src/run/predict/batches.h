/* run/predict/batches.h: what a network answers to the batches of a test, for metrics that are no sums. */
#ifndef MICA_RUN_PREDICT_BATCHES_H
#define MICA_RUN_PREDICT_BATCHES_H

#include "base/error.h"

#include <mica/run.h>

/* Takes a batch with its answers, and the head's output: `width` numbers of each sample. */
typedef mica_status mica__tested_fn(mica_run *run, const mica_batch *batch, const float *outputs, void *user);
/* Predicts each batch of a source from its start, without the answers. */
mica_status mica__test_batches(mica_run *run, const mica_batch_source *source, int64_t width, mica__tested_fn *fn,
                               void *user);

/* The data that a source of the run shows, in parts or whole. */
const mica_dataset *mica__source_data(const mica_run *run, const mica_batch_source *source);

/* The head's output of a batch, `width` numbers of each sample; *outputs, NULL before, is the caller's to free, after a
 * failure too. */
mica_status mica__batch_infer(mica_run *run, const mica_batch *batch, int64_t width, float **outputs);
/* A column of the batch; NULL: it has none of the name. */
const mica_tensor *mica__batch_find(const mica_batch *batch, const char *name);
/* Downloads a column of that many bytes; does nothing if the batch has none. */
mica_status mica__batch_read(const mica_run *run, const mica_batch *batch, const char *name, void *to, size_t bytes);

#endif
