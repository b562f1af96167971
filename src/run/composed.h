/* run/composed.h: tasks that are an input (run/input.h) and a head (run/head.h).
 *
 *   MICA__TASK_FIELDS(text, TEXT_SETTINGS, TEXT_FACTS, 0);
 *   const mica__task_row mica__task_text = {
 *       .name = "text", MICA__TASK_LISTS(text), MICA__COMPOSED(tokens, classes), ...}; */
#ifndef MICA_RUN_COMPOSED_H
#define MICA_RUN_COMPOSED_H

#include "run/fact_fields.h"
#include "run/head.h"
#include "run/input.h"
#include "run/setting_fields.h"
#include "run/task.h"

/* The lists of a task's settings and stored values (run/facts.h). `rank` is the number of dimensions of a sample's
 * input, or 0 for any number. */
#define MICA__TASK_FIELDS(label, settings_list, facts_list, rank)                                                      \
  MICA__SETTINGS_STRUCT(label, settings_list);                                                                         \
  static MICA__SETTINGS_TABLE(label, settings_list);                                                                   \
  MICA__FACTS_STRUCT(label, facts_list);                                                                               \
  static MICA__FACTS_TABLE(label, facts_list, rank)
/* The members of a task's row that hold the lists of MICA__TASK_FIELDS. */
#define MICA__TASK_LISTS(label) .facts = &mica__##label##_fact_list, .settings = &mica__##label##_setting_list

/* The members of a row for an input and a head. MICA__COMPOSED_PREPARED leaves out `prepare`, for a row with a
 * `prepare` of its own, which calls mica__composed_prepare. */
#define MICA__COMPOSED_PREPARED(input_, head_)                                                                         \
  .input = &mica__input_##input_, .head = &mica__head_##head_, .opens = mica__composed_opens,                          \
  .fits = mica__composed_fits, .configures = mica__composed_configures, .step = mica__composed_step,                   \
  .evaluate = mica__composed_evaluate, .predict = mica__composed_predict, .report = mica__composed_report
#define MICA__COMPOSED(input_, head_) MICA__COMPOSED_PREPARED(input_, head_), .prepare = mica__composed_prepare

/* Returns how well the data suit a task, a larger number for a better fit; 0 if they do not suit it. */
int32_t mica__task_suits(const mica__task_row *task, const mica_dataset *data);
/* True if the task has a metric of that name that is not minor (mica_task_metric.minor). */
bool mica__task_measures(const mica_run *run, const char *metric);
/* Adds the picture of a sample with a caption. Does nothing unless samples are pictures with 1 or 3 channels. */
mica_status mica__sample_add_picture(const mica_run *run, mica_report *report, const mica__sample *sample,
                                     const char *name, const char *caption);

/* Replaces the value of the batch's column of that name, if there is one, for example by mixed samples. */
void mica__batch_replace(const mica_batch_values *batch, const char *name, mica_value value);

void mica__composed_opens(const mica_run *run, mica_dataset_config *config);
mica_status mica__composed_prepare(mica_run *run);
mica_status mica__composed_fits(const mica_run *run, const mica_dataset *data);
void mica__composed_configures(const mica_run *run, mica_trainer_config *config);
mica_step_fn mica__composed_step, mica__composed_exports;
mica_status mica__composed_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__composed_predict(mica_run *run, const mica_run_input *given, mica_report *prediction);
mica_status mica__composed_report(mica_run *run, mica_report *report);

#endif
