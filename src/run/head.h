/* run/head.h: the part of a task that concerns its answers: which column holds them, the loss and metrics, and how
 * predictions are shown. A head does not depend on the input. Unless its comment says otherwise, a pointer to a
 * function may be NULL; then nothing is done. */
#ifndef MICA_RUN_HEAD_H
#define MICA_RUN_HEAD_H

#include "run/sample.h"

typedef struct mica__head {
  const char *name;
  const mica_column *(*label)(const mica_dataset *data); /* finds the answers; NULL for mica__run_find_label */
  bool (*suits)(const mica_column *label);               /* never NULL */
  bool numbers;                                          /* answers are numbers: mica_dataset_config.regression */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  mica_status (*prepare)(mica_run *run, const mica_column *label); /* finds classes, scales, weights */
  mica_status (*fits)(const mica_run *run, const mica_dataset *data, const mica_column *label);
  const char *output;                      /* the name of the output that `step` makes for each sample */
  int64_t (*outputs)(const mica_run *run); /* numbers per sample in that output and from the network; never NULL */
  void (*configures)(const mica_run *run, mica_trainer_config *config);
  /* Makes the outputs and then, if the batch has the answer, the loss and metrics. The order must stay, because it
   * decides which random numbers each layer draws. z holds the network's answers, or is null if the head builds the
   * network. Never NULL. */
  void (*step)(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out);
  /* Makes the outputs of an exported model. If NULL, mica__task_row.exports makes them. */
  void (*exports)(const mica_run *run, mica_value z, mica_objective *out);
  mica_status (*evaluate)(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
  struct {
    /* Adds the answer for a sample to a section that has begun. NULL only if `predict` is set. */
    mica_status (*section)(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                           const mica_run_input *given);
    /* Predicts samples together instead of in a section each, to compare or translate them. */
    mica_status (*predict)(mica_run *run, const mica_run_input *given, mica_report *prediction);
    mica_status (*report)(mica_run *run, mica_report *report);
  } shows;
} mica__head;

#endif
