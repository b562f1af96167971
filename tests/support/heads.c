#include "support/heads.h"

#include "run/composed.h"
#include "run/facts.h"
#include "run/settings.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/interpret.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>

mica_run *heads_run;
static mica_graph *graph;
static mica_nn *nn;

void heads_make(void) {
  heads_run = mica__run_new();
  ck_assert_ptr_nonnull(heads_run);
}

void heads_drop(void) { mica_run_destroy(heads_run); }

void heads_take(const char *name) {
  heads_run->task = mica__task_find(name);
  ck_assert_ptr_nonnull(heads_run->task);
  mica__run_take_rows(heads_run);
  ck_ok(mica__run_note_text(heads_run, "label_column", "label"));
}

static double value_of(const test_values *values, mica_value v, double otherwise) {
  return v.graph ? values->value[v.id - 1][0] : otherwise;
}

heads_results heads_step(const heads_answers *a, bool training) {
  heads_results r = {0};
  mica_objective out = {0};
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = training}, &nn));
  mica_value z = mica_input(graph, "z", MICA_F32, a->z_shape);
  const char *const names[] = {a->y_name ? a->y_name : "label", a->other_name};
  char inputs[2][32];
  for (int i = 0; i < 2; i++) snprintf(inputs[i], sizeof inputs[i], "batch.%s", names[i] ? names[i] : "");
  mica__batch_input columns[] = {
      {.name = (char *)(uintptr_t)names[0], .input = inputs[0], .dtype = a->y_type, .shape = a->y_shape},
      {.name = (char *)(uintptr_t)names[1], .input = inputs[1], .dtype = a->other_type, .shape = a->other_shape}};
  mica_batch_values batch = {.graph = graph, .columns = columns, .count = a->other_name ? 2 : 1};
  heads_run->task->head->step(nn, heads_run, z, &batch, &out);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  double *feeds[4096] = {0};
  ck_assert(z.id <= 4096 && columns[0].value.id <= 4096);
  feeds[z.id - 1] = (double *)(uintptr_t)a->z;
  feeds[columns[0].value.id - 1] = (double *)(uintptr_t)a->y;
  if (a->other_name) feeds[columns[1].value.id - 1] = (double *)(uintptr_t)a->other;
  test_values values = test_interpret(graph, feeds);
  r.loss = value_of(&values, out.loss, NAN);
  r.weight = value_of(&values, out.weight, NAN);
  for (size_t i = 0; i < MICA_OBJECTIVE_METRICS && out.metrics[i].name; i++) {
    r.metrics[i][0] = value_of(&values, out.metrics[i].sum, NAN);
    r.metrics[i][1] = value_of(&values, out.metrics[i].weight, NAN);
  }
  if (out.outputs[0].graph) {
    r.outputs = (size_t)test_count(mica_value_shape(out.outputs[0]));
    for (size_t i = 0; i < r.outputs && i < 64; i++) r.output[i] = values.value[out.outputs[0].id - 1][i];
  }
  test_values_free(&values);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return r;
}

double heads_mean(const heads_results *r, size_t metric) {
  const double weight = r->metrics[metric][1];
  return isnan(weight) ? r->metrics[metric][0] : r->metrics[metric][0] / weight;
}

mica_report *heads_section(const mica__sample *sample, const float *outputs, const mica_run_input *given) {
  mica_report *report = NULL;
  ck_ok(mica_report_create(&report));
  ck_ok(mica_report_begin(report, "a sample"));
  ck_ok(heads_run->task->head->shows.section(heads_run, report, sample, outputs, given));
  return report;
}
