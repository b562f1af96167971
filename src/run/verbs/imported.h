/* run/verbs/imported.h: a network that is an ONNX model. */
#ifndef MICA_RUN_VERBS_IMPORTED_H
#define MICA_RUN_VERBS_IMPORTED_H

#include "base/error.h"

#include <mica/onnx.h>
#include <mica/run.h>

#define MICA__NETWORK_FILE "network.onnx"
/* Opens the network of the setting "init" if it names an ONNX model, or the one in the folder of a run that began with
 * one. MICA_E_NOT_FOUND if the model has no value with the name in the setting "stop-at". */
mica_status mica__imported_open(mica_run *run);
bool mica__is_model_file(const char *path);
/* Takes the stored values (run/facts.h) and settings of the run that a model was exported from out of the model's
 * metadata, if they are there. */
mica_status mica__imported_facts(mica_run *run, const char *path, const struct mica_onnx *model);
/* Builds the model into the graph of a step and returns the answers (N, outputs). */
mica_value mica__imported_build(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);
/* Loads the model's weights into the trainer's session. */
mica_status mica__imported_load(mica_run *run);
/* Builds the model with input x into the graph of nn, up to the value `stop_at` (NULL for the first output), and
 * returns that value as f32. The model's parameters are added to nn. */
mica_value mica__imported_answer(const struct mica_onnx *model, const char *stop_at, mica_nn *nn, mica_value x);

/* Where to stop in a model to get what a run's network returns:
 *
 *   `numbers` is false   at the logits before a final softmax or sigmoid, because the loss computes that itself
 *   `numbers` is true    at the standardised answer, if the model ends by scaling that with mean and deviation of
 *                        `origin`, the run that the model was exported from; otherwise at the model's first output */
typedef struct mica__ending {
  const char *stop_at; /* NULL for the model's first output */
  bool plain;          /* `numbers` is true and the value is in the target's own units, not standardised */
} mica__ending;

mica__ending mica__imported_ending(const struct mica_onnx *model, const mica_run *origin, bool numbers);
/* Loads the parameters of a network that mica__imported_answer has built from the model. */
mica_status mica__imported_fill(const struct mica_onnx *model, mica_engine *engine, const mica_nn *nn,
                                mica_session *session);
mica_status mica__imported_keep(const mica_run *run);
/* Copies the ONNX file of an opened run to the folder of another run. */
mica_status mica__imported_copy(const mica_run *from, const mica_run *to);

#endif
