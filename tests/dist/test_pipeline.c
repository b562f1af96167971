/* labels: device
 *
 * Stages of a pipeline, as threads, against one process: order, memory, gradients, files. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/members.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 9, WIDTH = 24, CLASSES = 5, ROWS = 6, MICRO = 16, STEPS = 3 };

/* Dense layers with a norm over the batch and dropout between them. */
static mica_value layer_of(void *user, mica_nn *nn, int32_t layer, mica_value x) {
  char name[16];
  (void)user;
  snprintf(name, sizeof name, "l%d", (int)layer);
  switch (layer % 4) {
  case 0: return mica_relu(mica_nn_dense(nn, name, x, layer == LAYERS - 1 ? CLASSES : WIDTH, NULL));
  case 1: return mica_nn_batch_norm(nn, name, x, NULL);
  case 2: return mica_nn_dense(nn, name, x, WIDTH + 8, NULL);
  default: return mica_nn_dropout(nn, x, 0.25);
  }
}

static mica_value loss_of(void *user, mica_nn *nn, mica_value y, mica_value target) {
  (void)user;
  (void)nn;
  return mica_mean(mica_cross_entropy(y, target, NULL), MICA_ALL_AXES, false);
}

static const mica_chain chain = {.layers = LAYERS, .layer = layer_of, .loss = loss_of};

static float inputs[MICRO][ROWS][WIDTH];
static int32_t targets[MICRO][ROWS];

static void setup(void) {
  srand(7);
  for (int m = 0; m < MICRO; m++)
    for (int r = 0; r < ROWS; r++) {
      targets[m][r] = rand() % CLASSES;
      for (int i = 0; i < WIDTH; i++)
        inputs[m][r][i] = (float)(rand() % 2001 - 1000) / 1000 + (i == targets[m][r] ? 1 : 0);
    }
}

static mica_pipeline_config config_of(mica_communicator *communicator, mica_pipeline_schedule schedule) {
  return (mica_pipeline_config){.communicator = communicator,
                                .chain = chain,
                                .input_dtype = MICA_F32,
                                .input = MICA_SHAPE(ROWS, WIDTH),
                                .target_dtype = MICA_I32,
                                .target = MICA_SHAPE(ROWS),
                                .micro_batches = MICRO,
                                .schedule = schedule,
                                .seed = 3,
                                .optimizer = {.optimizer = MICA_OPTIMIZER_ADAM}};
}

/* --- one process --- */

static double whole_losses[STEPS];
static char whole_path[512];

/* The chain in one graph, its gradients accumulated over the micro-batches. */
static void train_whole(void) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *target = NULL, *rate = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 3}, &nn));
  mica_value y = mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, WIDTH));
  for (int32_t i = 0; i < LAYERS; i++) y = layer_of(NULL, nn, i, y);
  mica_value loss = loss_of(NULL, nn, y, mica_input(graph, "target", MICA_I32, MICA_SHAPE(ROWS)));
  mica_optimize(nn, loss, &(mica_optimizer_config){.optimizer = MICA_OPTIMIZER_ADAM, .accumulate = MICRO}, NULL);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  const float r = 1e-2f;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(ROWS, WIDTH), &x));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(ROWS), &target));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &r, &rate));
  for (int s = 0; s < STEPS; s++) {
    whole_losses[s] = 0;
    for (int m = 0; m < MICRO; m++) {
      float value = 0;
      ck_ok(mica_tensor_upload(test_queue(), x, inputs[m], sizeof inputs[m]));
      ck_ok(mica_tensor_upload(test_queue(), target, targets[m], sizeof targets[m]));
      ck_ok(mica_session_run(session, test_queue(),
                             (mica_feed[]){{"x", x}, {"target", target}, {MICA_LEARNING_RATE, rate}}, 3));
      ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &value, sizeof value));
      whole_losses[s] += (double)value / MICRO;
    }
  }
  snprintf(whole_path, sizeof whole_path, "%s", files_path("whole.safetensors"));
  ck_ok(mica_nn_save(nn, session, whole_path, NULL, 0));
  mica_tensor_destroy(x);
  mica_tensor_destroy(target);
  mica_tensor_destroy(rate);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

/* --- stages --- */

static mica_pipeline_schedule schedule;
static char parts_path[512];
static mica_pipeline_stats stats[8];
static int32_t layers[8][2];

static void train_stage(mica_communicator *communicator) {
  mica_engine *engine = NULL;
  mica_pipeline *pipeline = NULL;
  member_ok(mica_engine_create(NULL, &engine));
  mica_pipeline_config config = config_of(communicator, schedule);
  member_ok(mica_pipeline_create(engine, &config, &pipeline));
  const bool first = communicator->rank == 0, last = communicator->rank == communicator->ranks - 1;
  for (int s = 0; s < STEPS; s++) {
    double loss = 0;
    member_ok(mica_pipeline_step(pipeline, first ? inputs : NULL, last ? targets : NULL, 1e-2, &loss));
    member_check(fabs(loss - whole_losses[s]) < 1e-5 * whole_losses[s], "step %d: %.9g, one process %.9g", s, loss,
                 whole_losses[s]);
  }
  member_ok(mica_pipeline_save(pipeline, parts_path));
  stats[communicator->rank] = mica_pipeline_stats_of(pipeline);
  mica_pipeline_layers(pipeline, &layers[communicator->rank][0], &layers[communicator->rank][1]);
  mica_pipeline_destroy(pipeline);
  mica_engine_destroy(engine);
}

/* The files hold the same tensors, within what another order of sums changes in a few steps. */
static void compare_files(const char *a, const char *b) {
  mica_safetensors *one = NULL, *other = NULL;
  ck_ok(mica_safetensors_open(a, &one));
  ck_ok(mica_safetensors_open(b, &other));
  ck_assert_uint_eq(mica_safetensors_count(one), mica_safetensors_count(other));
  for (size_t i = 0; i < mica_safetensors_count(one); i++) {
    const mica_safetensors_entry *x = mica_safetensors_at(one, i), *y = mica_safetensors_find(other, x->name);
    ck_assert_msg(y && y->bytes == x->bytes && x->dtype == MICA_F32, "%s", x->name);
    for (size_t k = 0; k < x->bytes / sizeof(float); k++) {
      const double p = (double)((const float *)x->data)[k], q = (double)((const float *)y->data)[k];
      ck_assert_msg(fabs(p - q) <= 1e-4 + 1e-4 * fabs(p), "%s[%zu]: %.9g, %.9g", x->name, k, p, q);
    }
  }
  mica_safetensors_close(one);
  mica_safetensors_close(other);
}

static void run_stages(int32_t stages, mica_pipeline_schedule how) {
  schedule = how;
  snprintf(parts_path, sizeof parts_path, "%s", files_path("parts.safetensors"));
  test_members(stages, NULL, train_stage);
  compare_files(whole_path, parts_path);
  for (int32_t k = 0; k < stages; k++) {
    const int32_t ahead = how == MICA_PIPELINE_SCHEDULE_GPIPE ? MICRO : stages - k;
    ck_assert_int_eq(stats[k].forwards, STEPS * MICRO);
    ck_assert_int_eq(stats[k].backwards, STEPS * MICRO);
    ck_assert_int_eq(stats[k].most_kept, ahead);
    ck_assert_int_eq(layers[k][0], k ? layers[k - 1][1] : 0);
    ck_assert_int_gt(layers[k][1], layers[k][0]);
  }
  ck_assert_int_eq(layers[stages - 1][1], LAYERS);
}

START_TEST(stages_train_as_one_process) {
  train_whole();
  run_stages(2, MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B);
  run_stages(4, MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B);
  run_stages(4, MICA_PIPELINE_SCHEDULE_GPIPE);
  run_stages(1, MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B);
}
END_TEST

/* --- a file of other stages --- */

static void load_stage(mica_communicator *communicator) {
  mica_engine *engine = NULL;
  mica_pipeline *pipeline = NULL;
  member_ok(mica_engine_create(NULL, &engine));
  mica_pipeline_config config = config_of(communicator, MICA_PIPELINE_SCHEDULE_GPIPE);
  static const int32_t cuts[] = {0, 2, 6, LAYERS};
  config.cuts = cuts;
  config.seed = 99;
  member_ok(mica_pipeline_create(engine, &config, &pipeline));
  member_ok(mica_pipeline_load(pipeline, whole_path));
  member_ok(mica_pipeline_save(pipeline, parts_path));
  mica_pipeline_destroy(pipeline);
  mica_engine_destroy(engine);
}

START_TEST(files_are_of_any_number_of_stages) {
  train_whole();
  snprintf(parts_path, sizeof parts_path, "%s", files_path("again.safetensors"));
  test_members(3, NULL, load_stage);
  compare_files(whole_path, parts_path);
}
END_TEST

/* --- order --- */

static void check_order(mica_pipeline_schedule how, int32_t stages, int32_t stage, int32_t micro, const int32_t *want) {
  int32_t order[32];
  ck_ok(mica_pipeline_order(how, stages, stage, micro, order));
  for (int32_t i = 0; i < 2 * micro; i++) ck_assert_int_eq(order[i], want[i]);
}

START_TEST(passes_are_in_the_order_of_the_papers) {
  check_order(MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B, 4, 0, 5, (int32_t[]){1, 2, 3, 4, -1, 5, -2, -3, -4, -5});
  check_order(MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B, 4, 2, 4, (int32_t[]){1, 2, -1, 3, -2, 4, -3, -4});
  check_order(MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B, 4, 3, 3, (int32_t[]){1, -1, 2, -2, 3, -3});
  check_order(MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B, 4, 0, 2, (int32_t[]){1, 2, -1, -2});
  check_order(MICA_PIPELINE_SCHEDULE_GPIPE, 4, 1, 3, (int32_t[]){1, 2, 3, -1, -2, -3});
  int32_t order[2];
  ck_assert_int_eq(mica_pipeline_order(MICA_PIPELINE_SCHEDULE_GPIPE, 2, 2, 1, order), MICA_E_INVALID);
  ck_assert_int_eq(mica_pipeline_order(MICA_PIPELINE_SCHEDULE_GPIPE, 2, 0, 0, order), MICA_E_INVALID);
  ck_assert_str_eq(mica_pipeline_schedule_name(MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B), "1f1b");
}
END_TEST

/* --- what is wrong --- */

static void refused(const mica_pipeline_config *config, mica_status status, const char *sentence) {
  mica_pipeline *pipeline = NULL;
  member_check(mica_pipeline_create(test_engine(), config, &pipeline) == status, "%s", sentence);
  member_check(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());
  member_check(!pipeline, "a pipeline is there");
}

static void refuse_all(mica_communicator *communicator) {
  if (communicator->rank) return;
  mica_pipeline_config config = config_of(communicator, MICA_PIPELINE_SCHEDULE_GPIPE);
  config.chain.layers = 1;
  refused(&config, MICA_E_INVALID, "a pipeline of 2 stages needs a layer for each stage, but the chain has 1");
  config.chain = chain;
  config.micro_batches = 0;
  refused(&config, MICA_E_INVALID, "0 micro-batches");
  config.micro_batches = 2;
  config.cuts = (const int32_t[]){0, 9, 9};
  refused(&config, MICA_E_INVALID, "cuts must rise from 0 to its 9 layers");
  config.cuts = NULL;
  config.optimizer.clip_norm = 1;
  refused(&config, MICA_E_UNSUPPORTED, "clip_norm");
  config.optimizer.clip_norm = 0;
  config.input = MICA_SHAPE(ROWS, WIDTH, MICA_DYNAMIC);
  refused(&config, MICA_E_SHAPE, "dimension of unknown size");
  config.communicator = NULL;
  refused(&config, MICA_E_INVALID, "communicator, layer or loss is NULL");
}

START_TEST(what_is_wrong_is_said) { test_members(2, NULL, refuse_all); }
END_TEST

/* A stage that fails ends the others. */
static void fail_stage(mica_communicator *communicator) {
  mica_engine *engine = NULL;
  mica_pipeline *pipeline = NULL;
  double loss = 0;
  member_ok(mica_engine_create(NULL, &engine));
  mica_pipeline_config config = config_of(communicator, MICA_PIPELINE_SCHEDULE_ONE_F_ONE_B);
  member_ok(mica_pipeline_create(engine, &config, &pipeline));
  if (communicator->rank == 1) {
    mica_communicator_abort(communicator, "the test gives up");
  } else {
    member_check(mica_pipeline_step(pipeline, inputs, targets, 1e-2, &loss) != MICA_OK, "no failure");
    member_check(strstr(mica_error_message(), "rank 1: the test gives up") != NULL, "%s", mica_error_message());
  }
  mica_pipeline_destroy(pipeline);
  mica_engine_destroy(engine);
}

START_TEST(a_lost_stage_ends_all) { test_members(3, NULL, fail_stage); }
END_TEST

TESTS(DEVICE, setup, NULL, stages_train_as_one_process, files_are_of_any_number_of_stages,
      passes_are_in_the_order_of_the_papers, what_is_wrong_is_said, a_lost_stage_ends_all)
