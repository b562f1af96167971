/* run/verbs/imported.h: a network that is an ONNX model. */
#ifndef MICA_RUN_VERBS_IMPORTED_H
#define MICA_RUN_VERBS_IMPORTED_H

#include "base/error.h"

#include <mica/onnx.h>
#include <mica/run.h>

#define MICA__NETWORK_FILE "network.onnx"
/* Opens the network of the setting "init" if it names an ONNX model, or the one in the folder of a run that began
 * with one. MICA_E_NOT_FOUND: the model has no value with the name in the setting "stop-at". */
mica_status mica__imported_open(mica_run *run);
bool mica__is_model_file(const char *path);
/* Facts and settings of the run that a model was exported from, if its metadata have them. */
mica_status mica__imported_facts(mica_run *run, const char *path, const struct mica_onnx *model);
/* Builds the model into the graph of a step: (N, outputs). */
mica_value mica__imported_build(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);
/* Loads the model's weights into the trainer's session. */
mica_status mica__imported_load(mica_run *run);
/* The model's answer to x; its parameters are added to nn. */
mica_value mica__imported_answer(const struct mica_onnx *model, const char *stop_at, mica_nn *nn, mica_value x);

/* Where to stop in a model to get what a run's network returns. Without `numbers`: the logits, before a final
 * softmax or sigmoid, which the loss computes itself. With `numbers`: the standardised answer, if the model ends by
 * scaling it with mean and deviation of `origin`, the run that it was exported from; otherwise the model's first
 * output. */
typedef struct mica__ending {
  const char *stop_at; /* NULL: at its first output */
  bool plain;          /* numbers are in the target's own units */
} mica__ending;

mica__ending mica__imported_ending(const struct mica_onnx *model, const mica_run *origin, bool numbers);
/* Loads the parameters of a network that mica__imported_answer has built from the model. */
mica_status mica__imported_fill(const struct mica_onnx *model, mica_engine *engine, const mica_nn *nn,
                                mica_session *session);
mica_status mica__imported_keep(const mica_run *run);
/* Copies the ONNX file of an opened run to the folder of another run. */
mica_status mica__imported_copy(const mica_run *from, const mica_run *to);

#endif
