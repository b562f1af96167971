/* run/head.h: what a task learns, tests and shows of a network's answers. A head does not depend on the input. A
 * pointer to a function may be NULL, unless its comment says otherwise; nothing is then done. */
#ifndef MICA_RUN_HEAD_H
#define MICA_RUN_HEAD_H

#include "run/sample.h"

typedef struct mica__head {
  const char *name;
  const mica_column *(*label)(const mica_dataset *data); /* the column of answers; NULL: mica__run_find_label */
  bool (*suits)(const mica_column *label);               /* never NULL */
  bool numbers;                                          /* answers are numbers: mica_dataset_config.regression */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  mica_status (*prepare)(mica_run *run, const mica_column *label); /* classes, scales, weights */
  mica_status (*fits)(const mica_run *run, const mica_dataset *data, const mica_column *label);
  const char *output;                      /* the name of the output that `step` makes for each sample */
  int64_t (*outputs)(const mica_run *run); /* the numbers per sample of that output and of the network; never NULL */
  void (*configures)(const mica_run *run, mica_trainer_config *config);
  /* z: the network's answers; a null value if the head builds the network. Makes the outputs and then, if the batch has
   * the answer, the loss and metrics; the order decides which random numbers each gets. Never NULL. */
  void (*step)(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out);
  /* The outputs of an exported model. NULL: the task's row exports it. */
  void (*exports)(const mica_run *run, mica_value z, mica_objective *out);
  mica_status (*evaluate)(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
  struct {
    /* Adds the answer for a sample to a section that has begun. Never NULL without `predict`. */
    mica_status (*section)(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                           const mica_run_input *given);
    /* Predicts samples together instead of in a section each, to compare or translate them. */
    mica_status (*predict)(mica_run *run, const mica_run_input *given, mica_report *prediction);
    mica_status (*report)(mica_run *run, mica_report *report);
  } shows;
} mica__head;

#endif
