#include "compile/without.h"
#include "support/engine.h"
#include "support/interpret.h"
#include "support/plan_run.h"
#include "support/trained_model.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run on the host that goes on. */
typedef struct training {
  const random_network *network;
  uint32_t data;
  bool rounds;
  uint64_t rounding;      /* as test_interpret_values has it */
  const trained_way *way; /* of a plan; NULL: the graph as it was built */
  trained state, run;     /* state: parameters, as of step 0 */
} training;

/* What the parameter of the model is. */
static trained_tensor *state_of(training *t, const trained_model *m, const char *name) {
  char full[80];
  const trained_tensor *found = NULL;
  snprintf(full, sizeof full, "0 ema.%s", name);
  if (m->averages) found = trained_find(&t->state, full);
  snprintf(full, sizeof full, "0 %s", name);
  if (!found) found = trained_find(&t->state, full);
  ck_assert_msg(found, "no parameter %s", name);
  return (trained_tensor *)(uintptr_t)found;
}

/* The shapes of the inputs of a graph for one batch size. */
static mica_shape for_batch(mica_shape shape, int64_t batch) {
  if (shape.rank && shape.dim[0] == MICA_DYNAMIC) shape.dim[0] = batch;
  return shape;
}

static double *fed(const training *t, const trained_model *m, const mica__node *node, int32_t step) {
  int64_t count = mica__node_count(node);
  for (int32_t i = 0; i < m->built.feed_count; i++)
    if (!strcmp(m->built.feeds[i].name, node->name))
      return trained_feed(t->network, &m->built.feeds[i], t->data, step, count);
  return trained_copy(&(double){trained_rate(step)}, 1);
}

/* Copies of what inputs and parameters hold, by id - 1. */
static double **memory_of(training *t, const trained_model *m, const mica_graph *graph, int32_t step) {
  double **memory = calloc((size_t)graph->count + 1, sizeof *memory);
  ck_assert_ptr_nonnull(memory);
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->op == &mica__op_input) memory[id - 1] = fed(t, m, node, step);
    if (node->op != &mica__op_parameter) continue;
    const trained_tensor *value = state_of(t, m, node->name);
    memory[id - 1] = trained_copy(value->values, value->count);
  }
  return memory;
}

static void set_state(training *t, const trained_model *m, const mica__node *parameter, const double *values) {
  trained_tensor *to = state_of(t, m, parameter->name);
  memcpy(to->values, values, (size_t)to->count * sizeof *to->values);
}

static void release_memory(double **memory, int32_t count) {
  for (int32_t i = 0; i < count; i++) free(memory[i]);
  free((void *)memory);
}

/* --- the graph as it was built --- */

static void run_as_built(training *t, const trained_model *m, int32_t step, int64_t batch) {
  mica__template whole = {0}, one = {0};
  ck_ok(mica__template_clone(m->graph, m->outputs, m->output_count, false, &whole));
  mica_shape *shapes = calloc((size_t)whole.graph->count + 1, sizeof *shapes);
  ck_assert_ptr_nonnull(shapes);
  for (int32_t id = 1; id <= whole.graph->count; id++)
    shapes[id - 1] = for_batch(mica__graph_node(whole.graph, id)->type.shape, batch);
  ck_ok(mica__template_specialise(&whole, shapes, false, &one));
  bool *kept = calloc((size_t)one.graph->count + 1, sizeof *kept);
  ck_assert_ptr_nonnull(kept);
  for (int32_t i = 0; i < one.output_count; i++) kept[one.outputs[i] - 1] = true;
  for (int32_t i = 0; i < one.assignment_count; i++) kept[one.assignments[i].value - 1] = true;
  double **memory = memory_of(t, m, one.graph, step);
  test_values values = test_interpret_values(one.graph, memory, t->rounds ? &t->rounding : NULL, kept);
  for (int32_t i = 0; i < one.output_count; i++) {
    const mica__node *node = mica__graph_node(one.graph, one.outputs[i]);
    const int64_t count = mica__node_count(node);
    trained_note(&t->run, step, m->names[i], node->type.dtype, trained_copy(values.value[one.outputs[i] - 1], count),
                 count);
  }
  for (int32_t i = 0; i < one.assignment_count; i++)
    set_state(t, m, mica__graph_node(one.graph, one.assignments[i].parameter),
              values.value[one.assignments[i].value - 1]);
  release_memory(memory, one.graph->count);
  test_values_free(&values);
  free(kept);
  free(shapes);
  mica__template_free(&one);
  mica__template_free(&whole);
}

/* --- a plan --- */

static void run_plan(training *t, const trained_model *m, const mica__plan *plan, int32_t step) {
  const mica__template *template = &plan->template;
  double *outputs[TRAINED_OUTPUTS] = {NULL}, **memory = memory_of(t, m, template->graph, step);
  for (int32_t i = 0; i < template->output_count; i++) {
    const mica__node *node = mica__graph_node(template->graph, template->outputs[i]);
    outputs[i] = calloc((size_t)mica__node_count(node) + 1, sizeof *outputs[i]);
    ck_assert_ptr_nonnull(outputs[i]);
  }
  plan_run(plan, memory, outputs);
  for (int32_t i = 0; i < template->output_count; i++) {
    const mica__node *node = mica__graph_node(template->graph, template->outputs[i]);
    trained_note(&t->run, step, m->names[i], node->type.dtype, outputs[i], mica__node_count(node));
  }
  for (int32_t id = 1; id <= template->graph->count; id++)
    if (mica__graph_node(template->graph, id)->op == &mica__op_parameter)
      set_state(t, m, mica__graph_node(template->graph, id), memory[id - 1]);
  release_memory(memory, template->graph->count);
}

static void run_as_planned(training *t, trained_model *m, int32_t step, int64_t batch) {
  const mica_session_config config = {.no_fusion = t->way->no_fusion, .no_simplify = t->way->no_simplify};
  mica__plan *plan = NULL;
  if (!m->session)
    ck_ok(mica_session_create(test_engine(), m->graph, m->outputs, m->output_count, &config, &m->session));
  mica_session *session = m->session;
  for (int32_t i = 0; i < session->input_count; i++)
    session->shapes[i] = for_batch(session->inputs[i].type.shape, batch);
  ck_ok(mica__plan_create(session, session->shapes, &plan));
  run_plan(t, m, plan, step);
  mica__plan_destroy(session, plan);
}

/* --- both --- */

static void run(training *t, trained_model *m, int32_t step, int64_t batch) {
  t->way ? run_as_planned(t, m, step, batch) : run_as_built(t, m, step, batch);
}

static trained train(training *t) {
  const random_network *n = t->network;
  trained_model models[RANDOM_STEPS], predicting = trained_model_of(n, false, MICA_DYNAMIC);
  size_t count = 0;
  /* Launches that do what pointwise users do have no reference on the host. */
  mica__compile_without(t->way ? t->way->without | MICA__WITHOUT_EPILOGUES : 0);
  for (int32_t step = 1; step <= n->steps; step++) {
    const int64_t batch = n->batch[step - 1];
    /* What dropout draws depends on the graph, and that on its batch being open. */
    trained_model *m = trained_model_for(n, models, &count, n->open ? MICA_DYNAMIC : batch);
    if (step == 1) trained_begin(&t->state, m), trained_begin(&t->run, m);
    t->run.kinks = m->built.kinks;
    run(t, m, step, batch);
    for (size_t i = 0; i < t->state.count; i++) {
      const trained_tensor *value = &t->state.tensors[i];
      trained_note(&t->run, step, value->name + 2, value->dtype, trained_copy(value->values, value->count),
                   value->count);
    }
    run(t, &predicting, step, trained_predicted(n, step));
  }
  mica__compile_without(0);
  trained_free(&t->state);
  while (count > 0) trained_model_free(&models[--count]);
  trained_model_free(&predicting);
  return t->run;
}

trained trained_on_host(const random_network *network, uint32_t data, uint32_t rounding) {
  return train(
      &(training){.network = network, .data = data, .rounds = rounding > 0, .rounding = rounding > 1 ? rounding : 0});
}

trained trained_by_plan(const random_network *network, uint32_t data, const trained_way *way) {
  return train(&(training){.network = network, .data = data, .way = way});
}
