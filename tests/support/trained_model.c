#include "support/trained_model.h"

#include "nn/init.h"
#include "support/engine.h"
#include "support/interpret.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_output(trained_model *m, const char *name, mica_value value) {
  if (mica_value_is_null(value) || m->output_count == TRAINED_OUTPUTS) return;
  snprintf(m->names[m->output_count], sizeof m->names[0], "%s", name);
  m->outputs[m->output_count++] = value;
}

static void add_gradients(trained_model *m) {
  size_t count = mica_nn_parameter_count(m->nn);
  for (size_t i = 0; i < count; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(m->nn, i);
    char name[64];
    mica_value gradient = {0};
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    snprintf(name, sizeof name, "d %s", info->name);
    ck_ok(mica_gradients(m->built.loss, &info->value, 1, &gradient));
    add_output(m, name, gradient);
  }
}

trained_model trained_model_of(const random_network *n, bool training, int64_t batch) {
  trained_model m = {.batch = batch, .averages = !training && n->averages};
  mica_nn_config config = {.training = training, .dtype = n->dtype, .seed = n->seed};
  ck_ok(mica_graph_create(&m.graph));
  ck_ok(mica_nn_create(m.graph, &config, &m.nn));
  m.built = random_network_build(n, m.nn, batch);
  add_output(&m, training ? "y" : "prediction", m.built.y);
  if (training) {
    mica_optimizer_values values = {0};
    add_output(&m, "loss", m.built.loss);
    if (n->gradients) add_gradients(&m);
    mica_optimize(m.nn, m.built.loss, &n->how, &values);
    add_output(&m, "norm", values.gradient_norm);
  }
  ck_assert_msg(mica_graph_status(m.graph) == MICA_OK, "seed %u: %s", n->seed, mica_graph_message(m.graph));
  return m;
}

void trained_model_free(trained_model *m) {
  mica_session_destroy(m->session);
  mica_nn_destroy(m->nn);
  mica_graph_destroy(m->graph);
}

/* --- what is noted --- */

void trained_note(trained *run, int32_t step, const char *name, mica_dtype dtype, double *values, int64_t count) {
  trained_tensor *grown = realloc(run->tensors, (run->count + 1) * sizeof *grown);
  ck_assert_ptr_nonnull(grown);
  run->tensors = grown;
  trained_tensor *t = &grown[run->count++];
  *t = (trained_tensor){.values = values, .count = count, .dtype = dtype};
  snprintf(t->name, sizeof t->name, "%d %s", (int)step, name);
}

const trained_tensor *trained_find(const trained *run, const char *name) {
  for (size_t i = 0; i < run->count; i++)
    if (!strcmp(run->tensors[i].name, name)) return &run->tensors[i];
  return NULL;
}

void trained_free(trained *run) {
  for (size_t i = 0; i < run->count; i++) free(run->tensors[i].values);
  free(run->tensors);
  *run = (trained){0};
}

double *trained_copy(const double *values, int64_t count) {
  double *copy = malloc(((size_t)count + 1) * sizeof *copy);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, values, (size_t)count * sizeof *copy);
  return copy;
}

/* --- data --- */

/* The elements that an input is fed, as floats have them. */
double *trained_feed(const random_network *n, const random_feed *feed, uint32_t data, int32_t step, int64_t count) {
  uint64_t state = ((uint64_t)n->seed << 32) + data * 1000u + (uint64_t)step * 10u + (uint64_t)feed->name[0];
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < count; i++) {
    uint32_t drawn = random_next(&state);
    values[i] = feed->below ? (double)(drawn % (uint64_t)feed->below) : (float)((double)drawn * 0x1p-31 - 1);
  }
  if (!strncmp(feed->name, RANDOM_FACTOR, strlen(RANDOM_FACTOR))) values[0] = step == n->fault ? (double)INFINITY : 1;
  return values;
}

double trained_rate(int32_t step) { return (float)(0.05 / (1 + step)); }

trained_model *trained_model_for(const random_network *n, trained_model *models, size_t *count, int64_t batch) {
  for (size_t i = 0; i < *count; i++)
    if (models[i].batch == batch) return &models[i];
  models[*count] = trained_model_of(n, true, batch);
  return &models[(*count)++];
}

/* As mica_nn_initialise has them, but that biases of 0 and scales of 1 would hide what they are multiplied with. */
static double *initial(const mica_nn_parameter_info *info, uint64_t seed) {
  const mica_shape shape = mica_value_shape(info->value);
  const size_t count = (size_t)test_count(shape);
  float *floats = calloc(count + 1, sizeof *floats);
  double *values = calloc(count + 1, sizeof *values);
  ck_assert(floats && values);
  if (mica_value_dtype(info->value) == MICA_F32) ck_ok(mica__init_fill(&info->init, shape, seed, floats, count));
  for (size_t i = 0; i < count; i++) {
    bool shaken = info->role == MICA_NN_ROLE_WEIGHT && shape.rank < 2;
    values[i] = mica_value_dtype(info->value) == MICA_F32 ? floats[i] : info->init.value;
    if (shaken) values[i] = (float)(values[i] + 0.2 * (random_next(&seed) * 0x1p-31 - 1));
  }
  free(floats);
  return values;
}

void trained_begin(trained *run, const trained_model *m) {
  run->kinks = m->built.kinks;
  for (size_t i = 0; i < mica_nn_parameter_count(m->nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(m->nn, i);
    trained_note(run, 0, info->name, mica_value_dtype(info->value), initial(info, i),
                 test_count(mica_value_shape(info->value)));
  }
}

int64_t trained_predicted(const random_network *n, int32_t step) { return step % 2 ? n->batch[step - 1] : 3; }
