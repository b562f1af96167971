/* run/composed.h: tasks that are an input and a head. The input says what data must have and builds a network on it;
 * the head says what is learned, tested and shown of the network's answers, and never asks which input it is.
 *
 *   const mica__task_row mica__task_text = {.name = "text", MICA__COMPOSED(tokens, classes), ...};
 *
 * A pointer to a function may be NULL unless its comment says otherwise: there is nothing to do. */
#ifndef MICA_RUN_COMPOSED_H
#define MICA_RUN_COMPOSED_H

#include "run/task.h"

/* A sample that is shown. */
typedef struct mica__sample {
  const char *name;
  const double *truths;  /* mica__truth_count of them, see run/predict/truths.h */
  const uint8_t *pixels; /* of a picture; NULL: another kind of sample */
} mica__sample;

/* Takes a sample and the head's outputs of it. */
typedef mica_status mica__sample_fn(mica_run *run, const mica__sample *sample, const float *outputs, void *user);

typedef struct mica__input {
  const char *name;
  int32_t (*suits)(const mica_dataset *data); /* like a row's; never NULL */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* Notes what is known without the answers: columns, sizes. Of an opened run the facts are there, and no data. */
  mica_status (*prepare)(mica_run *run);
  /* The rest, after the head has taken the column of answers: what costs time. */
  mica_status (*complete)(mica_run *run, const mica_column *label);
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  /* (N, outputs) f32 of a batch; a null value after a failure. Never NULL. */
  mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
  /* The network of exported models, of the row's export_columns. NULL: the same. */
  mica_value (*exported)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
  /* Visits the samples that are given to predict, in their order. Never NULL. */
  mica_status (*visit)(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
  /* Visits the first samples of data that fit: those that a report looks at. Never NULL. */
  mica_status (*look)(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
  /* Adds a sample of the data to a report, under a caption. NULL: samples cannot be shown. */
  mica_status (*show)(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                      const char *caption);
} mica__input;

typedef struct mica__head {
  const char *name;
  bool (*suits)(const mica_column *label); /* never NULL */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  mica_status (*prepare)(mica_run *run, const mica_column *label); /* classes, scales, weights */
  mica_status (*fits)(const mica_run *run, const mica_dataset *data, const mica_column *label);
  const char *output;                      /* the name of what `step` gives of each sample */
  int64_t (*outputs)(const mica_run *run); /* how many numbers it is, and the network's answer; never NULL */
  void (*configures)(const mica_run *run, mica_trainer_config *config);
  /* Outputs, then the loss and metrics if the batch has the answer: random numbers depend on the order. Never NULL. */
  void (*step)(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out);
  /* The outputs of an exported model; never NULL if an input has a network of its own for that. */
  mica_value (*answer)(const mica_run *run, mica_value z);
  mica_status (*evaluate)(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
  /* Adds what a begun section says of a sample. Never NULL. */
  mica_status (*section)(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                         const mica_run_input *given);
  mica_status (*report)(mica_run *run, mica_report *report);
} mica__head;

/* Members of a row; the first of both leaves `prepare` to the row, which calls mica__composed_prepare in it. */
#define MICA__COMPOSED_PREPARED(input_, head_)                                                                         \
  .input = &mica__input_##input_, .head = &mica__head_##head_, .opens = mica__composed_opens,                          \
  .fits = mica__composed_fits, .configures = mica__composed_configures, .step = mica__composed_step,                   \
  .evaluate = mica__composed_evaluate, .predict = mica__composed_predict, .report = mica__composed_report
#define MICA__COMPOSED(input_, head_) MICA__COMPOSED_PREPARED(input_, head_), .prepare = mica__composed_prepare

/* How well data suit a task, by its row; 0: not at all. */
int32_t mica__task_suits(const mica__task_row *task, const mica_dataset *data);
/* True if the task reports a metric of that name. */
bool mica__task_measures(const mica_run *run, const char *metric);
/* Adds the picture that a sample is, with a caption; nothing of other samples. */
mica_status mica__sample_add_picture(const mica_run *run, mica_report *report, const mica__sample *sample,
                                     const char *name, const char *caption);

void mica__composed_opens(const mica_run *run, mica_dataset_config *config);
mica_status mica__composed_prepare(mica_run *run);
mica_status mica__composed_fits(const mica_run *run, const mica_dataset *data);
void mica__composed_configures(const mica_run *run, mica_trainer_config *config);
mica_step_fn mica__composed_step, mica__composed_exports;
mica_status mica__composed_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__composed_predict(mica_run *run, const mica_run_input *given, mica_report *prediction);
mica_status mica__composed_report(mica_run *run, mica_report *report);

#endif
