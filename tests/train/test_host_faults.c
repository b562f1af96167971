/* labels: null single
 *
 * Networks and their training on the null device with memory, files and threads failing: every layer, optimiser, model
 * and loss. Each ends in a status and leaks nothing. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_libc.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 6, INPUTS = 4, CLASSES = 3 };

static mica_status null_engine(mica_engine **engine) {
  return mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, engine);
}

/* --- layers and optimisers --- */

static mica_value halve(mica_nn *nn, mica_value x, const void *config) {
  (void)nn, (void)config;
  return mica_mul(x, mica_scalar(x.graph, MICA_F32, 0.5));
}

/* Every layer there is. Group norm, transposed convolution and dropout in this order once made groups of launches that
 * waited for each other. */
static mica_value layers(mica_nn *nn, mica_value x) {
  mica_value indices = mica_cast(mica_greater(x, mica_full_like(x, 0)), MICA_I32);
  mica_value h = mica_nn_embedding(nn, "table", indices, 2, 6, NULL);
  h = mica_nn_layer_norm(nn, "layer_norm", h, NULL);
  h = mica_nn_rms_norm(nn, "rms_norm", h, NULL);
  h = mica_reshape(h, MICA_SHAPE(MICA_DYNAMIC, 1, INPUTS, 6));
  h = mica_nn_conv(nn, "conv", h, 4, 3, &(mica_nn_conv_config){.how = {.pad = {1, 1}}});
  h = mica_nn_batch_norm(nn, "batch_norm", h, NULL);
  h = mica_nn_group_norm(nn, "group_norm", h, 2, NULL);
  h = mica_nn_conv_transpose(nn, "up", h, 2, 2, &(mica_nn_conv_config){.how = {.stride = {2, 2}}});
  h = mica_nn_apply(nn, "apply", h, halve, NULL);
  h = mica_nn_residual(nn, "residual", h, halve, NULL);
  h = mica_nn_sequential(nn, "row", h, (mica_nn_stage[]){{halve, NULL}, {halve, NULL}}, 2);
  h = mica_nn_dropout(nn, mica_flatten(h, 1), 0.25);
  return mica_nn_dense(nn, "dense", h, CLASSES, NULL);
}

/* Builds, initialises, saves and loads a network, with an optimiser of the kind. */
static mica_status network(void *user) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  char *summary = NULL;
  size_t frozen = 0;
  const mica_optimizer kind = *(const mica_optimizer *)user;
  const char *path = files_path("weights.safetensors");
  mica_optimizer_config how = mica_optimizer_config_default(kind);
  how.momentum = 0.9, how.weight_decay = 0.01, how.clip_norm = 1, how.clip_value = 5, how.accumulate = 2, how.ema = 0.9,
  how.loss_scale = 16;
  mica_status status = null_engine(&engine);
  if (status == MICA_OK) status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn);
  if (status == MICA_OK) {
    mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(SAMPLES, INPUTS));
    mica_value loss = mica_mean(layers(nn, x), MICA_ALL_AXES, false);
    status = mica_nn_freeze(nn, "table*", true, &frozen);
    if (status == MICA_OK) mica_optimize(nn, loss, &how, NULL);
    if (status == MICA_OK) status = mica_graph_status(graph);
    if (status == MICA_OK) status = mica_nn_summary(nn, &summary);
    if (status == MICA_OK) status = mica_session_create(engine, graph, &loss, 1, NULL, &session);
  }
  if (status == MICA_OK) status = mica_nn_initialise(nn, session);
  if (status == MICA_OK) status = mica_nn_save(nn, session, path, NULL, 0);
  if (status == MICA_OK) status = mica_nn_load(nn, session, path, NULL);
  mica_free(summary);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  return status;
}

START_TEST(memory_of_networks) {
  for (int kind = MICA_OPTIMIZER_SGD; kind <= MICA_OPTIMIZER_LION; kind++)
    fault_libc_some(FAULT_MEMORY, 1 + (unsigned)kind * 29, 151, network, &kind);
}
END_TEST

START_TEST(files_of_networks) {
  mica_optimizer kind = MICA_OPTIMIZER_ADAM;
  fault_libc_each(FAULT_FILES, network, &kind, 5);
}
END_TEST

/* --- models --- */

static mica_status model(void *user) {
  mica_engine *engine = NULL;
  mica_model *made = NULL;
  const size_t which = *(const size_t *)user;
  mica_model_config small = {.stem = MICA_STEM_SMALL, .width = 8, .sequence = {.layers = 1, .heads = 2, .context = 16}};
  if (mica_model_family_of(which) != MICA_MODEL_FAMILY_TOKENS) small.input = MICA_SHAPE(3, 32, 32);
  mica_status status = null_engine(&engine);
  if (status == MICA_OK) status = mica_model_create(engine, mica_model_name(which), &small, &made);
  mica_model_destroy(made);
  mica_engine_destroy(engine);
  return status;
}

START_TEST(memory_of_models) {
  for (size_t i = 0; mica_model_name(i); i++) fault_libc_some(FAULT_MEMORY, 1 + (unsigned)i * 41, 499, model, &i);
}
END_TEST

/* --- training --- */

typedef struct task {
  bool classes, checkpoints;
} task;

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const task *t = config;
  mica_value z = mica_nn_dense(nn, "fc", mica_batch_value(batch, "x"), CLASSES, NULL), y = mica_batch_value(batch, "y");
  out->outputs[0] = z, out->output_names[0] = "z";
  if (t->classes) {
    out->loss = mica_cross_entropy(z, y, &(mica_cross_entropy_config){.label_smoothing = 0.1});
    out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
    out->metrics[1] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
  } else {
    out->loss = mica_mse(z, y, MICA_LOSS_REDUCTION_MEAN);
  }
}

/* One batch, given twice an epoch, in tensors that the scenario made. */
typedef struct batches {
  mica_batch batch;
  mica_feed tensors[2];
  mica_tensor *x, *y;
  uint64_t at;
} batches;

static mica_status next(void *user, mica_queue *queue, mica_batch *batch) {
  batches *b = user;
  (void)queue;
  *batch = b->at == 2 ? (mica_batch){0} : b->batch;
  b->at = b->at == 2 ? 0 : b->at + 1;
  return MICA_OK;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  (void)epoch;
  ((batches *)user)->at = batch;
  return MICA_OK;
}

static mica_status make_batch(mica_engine *engine, bool classes, batches *b) {
  static const float x[SAMPLES][INPUTS], y[SAMPLES][CLASSES];
  static const int32_t labels[SAMPLES];
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(SAMPLES, INPUTS), x, &b->x);
  if (status != MICA_OK) return status;
  status = classes ? mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(SAMPLES), labels, &b->y)
                   : mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(SAMPLES, CLASSES), y, &b->y);
  b->tensors[0] = (mica_feed){"x", b->x};
  b->tensors[1] = (mica_feed){"y", b->y};
  b->batch = (mica_batch){.count = SAMPLES, .tensors = b->tensors, .tensor_count = 2};
  return status;
}

static mica_status steps(mica_trainer *trainer, batches *b) {
  mica_metrics metrics;
  for (int i = 0; i < 3; i++) {
    mica_status status = mica_trainer_step(trainer, &b->batch);
    if (status != MICA_OK) return status;
  }
  return mica_trainer_take_metrics(trainer, &metrics);
}

/* Steps, a test, and where asked a checkpoint that another trainer goes on from. */
static mica_status train(void *user) {
  const task *t = user;
  mica_engine *engine = NULL;
  mica_trainer *trainer = NULL, *second = NULL;
  batches b = {.at = 0};
  const mica_batch_source source = {.user = &b, .batches = 2, .samples = 2 * SAMPLES, .next = next, .seek = seek};
  mica_metrics metrics;
  const mica_batch_column columns[] = {
      {"x", MICA_F32, {2, {MICA_DYNAMIC, INPUTS}}},
      {"y", t->classes ? MICA_I32 : MICA_F32, {t->classes ? 1 : 2, {MICA_DYNAMIC, CLASSES}}}};
  mica_trainer_config config = {.step = step,
                                .step_config = t,
                                .columns = columns,
                                .column_count = 2,
                                .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                .schedule = {.rate = 0.01}};
  const char *path = files_path("last.safetensors");
  mica_status status = null_engine(&engine);
  if (status == MICA_OK) status = make_batch(engine, t->classes, &b);
  if (status == MICA_OK) status = mica_trainer_create(engine, &config, &trainer);
  if (status == MICA_OK) status = steps(trainer, &b);
  if (status == MICA_OK) status = mica_trainer_test(trainer, &source, &metrics);
  if (status == MICA_OK) status = mica_trainer_predict(trainer, &b.batch);
  if (status == MICA_OK && t->checkpoints) {
    status = mica_trainer_save(trainer, path);
    if (status == MICA_OK) status = mica_trainer_create(engine, &config, &second);
    if (status == MICA_OK) status = mica_trainer_load(second, path);
    if (status == MICA_OK) status = steps(second, &b);
  }
  mica_trainer_destroy(second);
  mica_trainer_destroy(trainer);
  mica_tensor_destroy(b.x);
  mica_tensor_destroy(b.y);
  mica_engine_destroy(engine);
  return status;
}

START_TEST(memory_of_trainers) {
  for (int classes = 0; classes < 2; classes++) {
    task t = {classes, false};
    fault_libc_some(FAULT_MEMORY, 1 + (unsigned)classes * 3, 13, train, &t);
  }
}
END_TEST

START_TEST(checkpoints) {
  task t = {true, true};
  fault_libc_some(FAULT_MEMORY, 2, 11, train, &t);
  fault_libc_each(FAULT_FILES, train, &t, 5);
  fault_libc_each(FAULT_THREADS, train, &t, 0);
}
END_TEST

static void setup(void) { files_write_text("here", ""); }

TEST_GROUPS(ANYWHERE, ONCE(setup, files_remove, memory_of_models, memory_of_trainers, IF(CJSON, memory_of_networks),
                           IF(CJSON, files_of_networks), IF(CJSON, checkpoints)))
