/* Tasks that consist of an input (run/input.h) and a head (run/head.h): their functions call those of the two. */
#include "run/composed.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/predict/take.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "train/train.h"

#include <string.h>

/* --- which task --- */

static const mica_column *label_of(const mica__task_row *task, const mica_dataset *data) {
  return task->head->label ? task->head->label(data) : mica__run_find_label(data);
}

int32_t mica__task_suits(const mica__task_row *task, const mica_dataset *data) {
  if (task->suits) return task->suits(data);
  const mica_column *label = label_of(task, data);
  return label && task->head->suits(label) ? task->input->suits(data) : 0;
}

bool mica__task_measures(const mica_run *run, const char *metric) {
  for (const mica_task_metric *m = run->task->metrics; m->name && !m->minor; m++)
    if (!strcmp(m->name, metric)) return true;
  return false;
}

/* --- data --- */

void mica__composed_opens(const mica_run *run, mica_dataset_config *config) {
  if (run->task->input->opens) run->task->input->opens(run, config);
  if (run->task->head->numbers) config->regression = true;
  if (run->task->head->opens) run->task->head->opens(run, config);
}

mica_status mica__composed_prepare(mica_run *run) {
  const mica__input *input = run->task->input;
  const mica__head *head = run->task->head;
  if (input->prepare) MICA_TRY(input->prepare(run));
  if (!run->parts->whole) return MICA_OK;
  const mica_column *label = label_of(run->task, run->parts->whole);
  if (!label)
    return mica__fail(MICA_E_FORMAT, "%s has no answers, but the task %s needs an answer for each sample", run->data,
                      run->task->name);
  if (!run->task->answer_columns) MICA_TRY(mica__run_note_text(run, "label_column", label->name));
  if (head->prepare) MICA_TRY(head->prepare(run, label));
  return input->complete ? input->complete(run, label) : MICA_OK;
}

mica_status mica__composed_fits(const mica_run *run, const mica_dataset *data) {
  const char *label = mica__common_facts_of(run).label_column;
  /* Tables with rows of numbers are opened whether they have answers or not, so the column may be missing. */
  if (run->task->input->traits.rows && !mica_dataset_column(data, mica_dataset_column_index(data, label)))
    return mica__fail(MICA_E_FORMAT, "%s has no column \"%s\" of answers", mica_dataset_name(data),
                      mica__common_facts_of(run).label_name);
  if (run->task->input->fits) MICA_TRY(run->task->input->fits(run, data));
  return run->task->head->fits ? run->task->head->fits(run, data, label_of(run->task, data)) : MICA_OK;
}

/* --- the network --- */

void mica__composed_configures(const mica_run *run, mica_trainer_config *config) {
  if (run->task->head->configures) run->task->head->configures(run, config);
}

void mica__batch_replace(const mica_batch_values *batch, const char *name, mica_value value) {
  for (size_t i = 0; i < batch->count; i++)
    if (!strcmp(batch->columns[i].name, name)) batch->columns[i].value = value;
}

void mica__composed_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const mica__head *head = run->task->head;
  const mica__input *input = run->task->input;
  mica_value z = input->network ? input->network(nn, run, batch, head->outputs(run)) : (mica_value){0};
  head->step(nn, run, z, batch, out);
  if (!input->samples.picture || mica_nn_is_training(nn)) return;
  size_t count = 0;
  while (count < MICA_OBJECTIVE_OUTPUTS && out->outputs[count].graph) count++;
  if (count == MICA_OBJECTIVE_OUTPUTS) return;
  out->outputs[count] = input->samples.picture(run, batch);
  out->output_names[count] = MICA__PICTURE_OUTPUT;
}

void mica__composed_exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const mica__head *head = run->task->head;
  const mica__input *input = run->task->input;
  head->exports(run, (input->onnx.network ? input->onnx.network : input->network)(nn, run, batch, head->outputs(run)),
                out);
}

mica_status mica__composed_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics) {
  return run->task->head->evaluate ? run->task->head->evaluate(run, source, metrics) : MICA_OK;
}

/* --- predictions and reports --- */

typedef struct showing {
  mica_report *report;
  const mica_run_input *given;
} showing;

static mica_status add_sample(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  const showing *s = user;
  MICA_TRY(mica_report_begin(s->report, sample->name));
  MICA_TRY(run->task->head->shows.section(run, s->report, sample, outputs, s->given));
  /* A video may have many frames, so each section is passed on at once. */
  return s->given->tracker ? mica__run_take(s->given, s->report) : MICA_OK;
}

mica_status mica__sample_add_picture(const mica_run *run, mica_report *report, const mica__sample *sample,
                                     const char *name, const char *caption) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  if (!sample->pixels || input.count != 3 || (input.list[0] != 1 && input.list[0] != 3)) return MICA_OK;
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE,
                          .name = name,
                          .text = caption,
                          .planes = sample->pixels,
                          .shape = MICA_SHAPE((int64_t)input.list[0], (int64_t)input.list[1], (int64_t)input.list[2])};
  return mica_report_add(report, &item);
}

mica_status mica__composed_predict(mica_run *run, const mica_run_input *given, mica_report *prediction) {
  showing s = {prediction, given};
  if (run->task->head->shows.predict) return run->task->head->shows.predict(run, given, prediction);
  return run->task->input->samples.visit(run, given, add_sample, &s);
}

mica_status mica__composed_report(mica_run *run, mica_report *report) {
  return run->task->head->shows.report ? run->task->head->shows.report(run, report) : MICA_OK;
}
