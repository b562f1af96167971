/* run/verbs/imported.h: a network that comes from a model in ONNX. */
#ifndef MICA_RUN_VERBS_IMPORTED_H
#define MICA_RUN_VERBS_IMPORTED_H

#include "base/error.h"

#include <mica/onnx.h>
#include <mica/run.h>

#define MICA__NETWORK_FILE "network.onnx"
/* The network of the setting "init", where that is a model in ONNX (a file called so), or of the folder, where it was
 * one when the run began. MICA_E_NOT_FOUND: stop-at names no value. */
mica_status mica__imported_open(mica_run *run);
bool mica__is_model_file(const char *path);
/* Facts and settings of the run that a model was exported from, where its metadata have such. */
mica_status mica__imported_facts(mica_run *run, const char *path, const struct mica_onnx *model);
/* Builds the model into a step's graph: (N, outputs). */
mica_value mica__imported_build(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);
/* Its weights into the trainer's session; and the file into the folder of a run that begins. */
mica_status mica__imported_load(mica_run *run);
/* What a model answers to x, its parameters added to nn. */
mica_value mica__imported_answer(const struct mica_onnx *model, const char *stop_at, mica_nn *nn, mica_value x);

/* Where a model answers as the network of a run does, whose loss has the rest: logits before a softmax or a sigmoid,
 * `numbers` in deviations of the run that it was exported from, whose facts `origin` has where they are known. */
typedef struct mica__ending {
  const char *stop_at; /* NULL: at its first output */
  bool plain;          /* numbers are in the target's own units */
} mica__ending;

mica__ending mica__imported_ending(const struct mica_onnx *model, const mica_run *origin, bool numbers);
/* Fills the parameters of such a network from the model. */
mica_status mica__imported_fill(const struct mica_onnx *model, mica_engine *engine, const mica_nn *nn,
                                mica_session *session);
mica_status mica__imported_keep(const mica_run *run);
/* The file of a run that was opened into the folder of another one. */
mica_status mica__imported_copy(const mica_run *from, const mica_run *to);

#endif
