/* labels: device single
 *
 * Sessions on devices whose largest buffer is smaller than what a session needs: memory of several buffers, with the
 * results of one, and a sentence that names the value where a single one is too large. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"

#include <mica/mica.h>
#include <mica/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB ((uint64_t)1 << 30)

static mica_engine *begin(const char *limits) {
  mica_engine *engine = NULL;
  ck_assert(limited_install(limits));
  ck_ok(mica_engine_create(NULL, &engine));
  return engine;
}

static void end(mica_engine *engine) {
  ck_assert_uint_eq(mica_engine_stats(engine).bytes_in_use, 0);
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

typedef struct training {
  mica_graph *graph;
  mica_nn *nn;
  mica_value loss;
} training;

/* A step of training pictures x, whose classes are one-hot in y. */
static training build(const char *name, int64_t batch, int64_t side, int64_t classes) {
  training t;
  ck_ok(mica_graph_create(&t.graph));
  ck_ok(mica_nn_create(t.graph, &(mica_nn_config){.training = true, .seed = 5}, &t.nn));
  mica_value x = mica_input(t.graph, "x", MICA_F32, MICA_SHAPE(batch, 3, side, side));
  mica_value y = mica_input(t.graph, "y", MICA_F32, MICA_SHAPE(batch, classes));
  const mica_model_config config = {.name = name, .input = {3, {3, side, side}}, .classes = (int32_t)classes};
  mica_value z = mica_model_build(t.nn, x, &config);
  mica_value of_class = mica_sum(mica_mul(z, y), MICA_AXES(1), false);
  t.loss = mica_mean(mica_sub(mica_logsumexp(z, MICA_AXES(1), false), of_class), MICA_ALL_AXES, false);
  mica_optimize(t.nn, t.loss, &(mica_optimizer_config){.momentum = 0.9}, NULL);
  ck_assert_msg(mica_graph_status(t.graph) == MICA_OK, "%s", mica_graph_message(t.graph));
  return t;
}

static void destroy(training *t) {
  mica_nn_destroy(t->nn);
  mica_graph_destroy(t->graph);
}

static const struct {
  const char *limits;
  uint64_t largest;
} cards[] = {
    {"null class=gpu vendor=NVIDIA memory=12884901888 buffer=3221225472", 3 * GIB},
    {"null class=gpu vendor=NVIDIA memory=12884901888 buffer=1073741824", GIB},
    {"null class=gpu vendor=AMD memory=12884901888 buffer=268435456", GIB / 4},
};

START_TEST(resnet50_is_planned) {
  mica_engine *engine = begin(cards[_i].limits);
  training t = build("resnet50", 32, 224, 1000);
  mica_session *session = NULL;
  mica_session_report report;
  ck_assert_uint_eq(mica_engine_device(engine)->max_buffer_bytes, cards[_i].largest);
  ck_ok(mica_session_create(engine, t.graph, &t.loss, 1, NULL, &session));
  ck_ok(mica_session_describe(session, &report));
  printf("largest buffer %.2f GiB: arena %.2f GiB, workspace %.2f GiB, peak %.2f GiB\n",
         (double)cards[_i].largest / (double)GIB, (double)report.planned_bytes / (double)GIB,
         (double)report.workspace_bytes / (double)GIB, (double)mica_engine_stats(engine).bytes_peak / (double)GIB);
  ck_assert_uint_gt(report.planned_bytes, 2 * GIB);
  ck_assert_uint_lt(mica_engine_stats(engine).bytes_peak, 12 * GIB);
  mica_session_destroy(session);
  destroy(&t);
  end(engine);
}
END_TEST

enum { BATCH = 40, SIDE = 32, CLASSES = 10, STEPS = 4 };

/* The losses of a few steps, and the bytes of the arena and of parameters. */
static void train(mica_engine *engine, const char *name, float losses[STEPS], mica_session_report *report) {
  enum { PIXELS = BATCH * 3 * SIDE * SIDE };
  training t = build(name, BATCH, SIDE, CLASSES);
  mica_queue *queue = mica_engine_queue(engine);
  mica_session *session = NULL;
  mica_tensor *tx = NULL, *ty = NULL, *tr = NULL;
  float *x = malloc(PIXELS * sizeof *x), y[BATCH * CLASSES] = {0}, rate = 0.05f;
  ck_assert_ptr_nonnull(x);
  for (int i = 0; i < PIXELS; i++) x[i] = (float)((i * 7919 + 13) % 1009) / 504.5f - 1;
  for (int i = 0; i < BATCH; i++) y[i * CLASSES + i % CLASSES] = 1;
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(BATCH, 3, SIDE, SIDE), x, &tx));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(BATCH, CLASSES), y, &ty));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &tr));
  ck_ok(mica_session_create(engine, t.graph, &t.loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(t.nn, session));
  const mica_feed feeds[] = {{"x", tx}, {"y", ty}, {MICA_LEARNING_RATE, tr}};
  for (int s = 0; s < STEPS; s++) {
    ck_ok(mica_session_run(session, queue, feeds, 3));
    ck_ok(mica_tensor_download(queue, mica_session_output(session, 0), &losses[s], sizeof *losses));
  }
  ck_ok(mica_session_describe(session, report));
  mica_session_destroy(session);
  mica_tensor *all[] = {tx, ty, tr};
  for (int i = 0; i < 3; i++) mica_tensor_destroy(all[i]);
  free(x);
  destroy(&t);
}

/* Each of the outputs has a buffer, all of them no memory. */
START_TEST(values_beyond_the_memory_together_are_refused) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_value outputs[5];
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  ck_ok(mica_graph_create(&graph));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1));
  for (int i = 0; i < 5; i++)
    outputs[i] = mica_expand(mica_add(x, mica_scalar(graph, MICA_F32, i)), MICA_SHAPE(GIB * 15 / 4));
  ck_ok(mica_session_create(engine, graph, outputs, 5, NULL, &session));
  const float one = 1;
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(1), &one, &tensor));
  const uint64_t before = mica_engine_stats(engine).bytes_peak;
  const mica_feed feed = {"x", tensor};
  ck_assert_int_eq(mica_session_run(session, mica_engine_queue(engine), &feed, 1), MICA_E_DEVICE_MEMORY);
  ck_assert_msg(
      strstr(mica_error_message(),
             "80530636800 bytes for its values, more than the 68719476736 bytes of memory of null; the largest, "
             "the result of") != NULL,
      "%s", mica_error_message());
  ck_assert_uint_eq(mica_engine_stats(engine).bytes_peak, before);
  mica_tensor_destroy(tensor);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
}
END_TEST

/* Outputs in memory that the engine did not make do not count. */
START_TEST(outputs_of_the_callers_take_no_memory) {
  enum { N = 10000 };
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *y[2] = {NULL};
  mica_value outputs[2];
  const float three = 3;
  float back[N] = {0};
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = "", .memory_bytes = 65536}, &engine));
  ck_ok(mica_graph_create(&graph));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1));
  for (int i = 0; i < 2; i++) outputs[i] = mica_expand(mica_add(in, mica_scalar(graph, MICA_F32, i)), MICA_SHAPE(N));
  ck_ok(mica_session_create(engine, graph, outputs, 2, NULL, &session));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(1), &three, &x));
  const mica_feed feed = {"x", x};
  ck_assert_int_eq(mica_session_run(session, mica_engine_queue(engine), &feed, 1), MICA_E_DEVICE_MEMORY);
  ck_assert_msg(strstr(mica_error_message(), "bytes for its values, more than the 65536 bytes of memory of") != NULL,
                "%s", mica_error_message());
  for (int i = 0; i < 2; i++) {
    mica_buffer *buffer = NULL;
    cl_int error = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(mica_engine_opencl_context(engine), CL_MEM_READ_WRITE, sizeof back, NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    ck_ok(mica_buffer_wrap_opencl(engine, memory, &buffer));
    ck_ok(mica_tensor_wrap(buffer, 0, MICA_F32, MICA_SHAPE(N), &y[i]));
    ck_ok(mica_session_bind_output(session, (size_t)i, y[i]));
    mica_buffer_destroy(buffer);
    clReleaseMemObject(memory);
  }
  ck_ok(mica_session_run(session, mica_engine_queue(engine), &feed, 1));
  ck_ok(mica_tensor_download(mica_engine_queue(engine), y[1], back, sizeof back));
  ck_assert_float_eq(back[0], 4);
  ck_assert_float_eq(back[N - 1], 4);
  test_count_launches(mica_engine_stats(engine).launches);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(x);
  for (int i = 0; i < 2; i++) mica_tensor_destroy(y[i]);
  mica_engine_destroy(engine);
}
END_TEST

/* The arena in several buffers, and parameters in the first run, on a CPU and with kernels for GPUs. */
static const struct {
  const char *name, *whole, *cut;
  uint64_t largest;
} runs[] = {
    {"resnet18", "class=cpu", "class=cpu buffer=62914560", 62914560},
    {"cnn", "class=cpu", "class=cpu buffer=6291456", 6291456},
    {"cnn", "class=gpu", "class=gpu buffer=6291456", 6291456},
};

START_TEST(slabs_compute_what_one_buffer_does) {
  float whole[STEPS], cut[STEPS];
  mica_session_report one, several;
  mica_engine *engine = begin(runs[_i].whole);
  train(engine, runs[_i].name, whole, &one);
  end(engine);
  engine = begin(runs[_i].cut);
  train(engine, runs[_i].name, cut, &several);
  end(engine);
  printf("%s: arena %llu, parameters %llu; in buffers of %llu: arena %llu, losses %g to %g\n", runs[_i].name,
         (unsigned long long)one.planned_bytes, (unsigned long long)one.parameter_bytes,
         (unsigned long long)runs[_i].largest, (unsigned long long)several.planned_bytes, (double)whole[0],
         (double)whole[STEPS - 1]);
  ck_assert_uint_gt(several.planned_bytes, runs[_i].largest);
  ck_assert(whole[STEPS - 1] < whole[0]);
  for (int s = 0; s < STEPS; s++) ck_assert_float_eq(whole[s], cut[s]);
}
END_TEST

/* Constants and outputs of which two do not fit into one buffer. */
START_TEST(constants_and_outputs_lie_in_slabs) {
  enum { COUNT = 3 << 16 }; /* floats; 768 KiB */
  mica_engine *engine = begin("buffer=1048576");
  mica_queue *queue = mica_engine_queue(engine);
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *tx = NULL;
  float *data = malloc(COUNT * sizeof *data), *got = malloc(COUNT * sizeof *got);
  ck_assert(data && got);
  for (int i = 0; i < COUNT; i++) data[i] = (float)i;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(COUNT), data, &tx));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(COUNT)), outputs[3];
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < COUNT; i++) data[i] = (float)(i % 1000 + k);
    outputs[k] = mica_mul(x, mica_constant(graph, MICA_F32, MICA_SHAPE(COUNT), data));
  }
  ck_ok(mica_session_create(engine, graph, outputs, 3, NULL, &session));
  ck_ok(mica_session_run(session, queue, &(mica_feed){"x", tx}, 1));
  for (int k = 0; k < 3; k++) {
    ck_ok(mica_tensor_download(queue, mica_session_output(session, (size_t)k), got, COUNT * sizeof *got));
    for (int i = 0; i < COUNT; i++) ck_assert_float_eq(got[i], (float)i * (float)(i % 1000 + k));
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(tx);
  free(data);
  free(got);
  end(engine);
}
END_TEST

static void refuses(mica_engine *engine, mica_graph *graph, mica_value output, const char *const *parts) {
  mica_session *session = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_assert_int_eq(mica_session_create(engine, graph, &output, 1, NULL, &session), MICA_E_DEVICE_MEMORY);
  for (int i = 0; parts[i]; i++)
    ck_assert_msg(strstr(mica_error_message(), parts[i]) != NULL, "\"%s\" is not in \"%s\"", parts[i],
                  mica_error_message());
  mica_graph_destroy(graph);
}

START_TEST(a_value_above_the_largest_buffer_is_named) {
  mica_engine *engine = begin("null class=gpu buffer=1048576");
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1024));
  mica_value all =
      mica_named(mica_matmul(mica_reshape(x, MICA_SHAPE(1024, 1)), mica_reshape(x, MICA_SHAPE(1, 1024))), "every pair");
  refuses(engine, graph, mica_sum(mica_softmax(all, 1), MICA_ALL_AXES, false),
          (const char *[]){"matmul", "'every pair'", "(1024, 1024)", "4194304 bytes", "1048576", NULL});
  ck_ok(mica_graph_create(&graph));
  mica_value table = mica_parameter(graph, "table", MICA_F32, MICA_SHAPE(1024, 1024));
  refuses(engine, graph, mica_sum(table, MICA_ALL_AXES, false),
          (const char *[]){"parameter 'table'", "4194304 bytes", "1048576", NULL});
  end(engine);
}
END_TEST

static bool has_device(void) {
  mica_device_info info;
  return mica_device_find(NULL, &info) == MICA_OK;
}

TESTS(ANYWHERE, NULL, NULL, LOOP(resnet50_is_planned, 0, sizeof cards / sizeof *cards),
      a_value_above_the_largest_buffer_is_named, values_beyond_the_memory_together_are_refused,
      WHERE(has_device(), LOOP(slabs_compute_what_one_buffer_does, 0, sizeof runs / sizeof *runs)),
      WHERE(has_device(), constants_and_outputs_lie_in_slabs),
      WHERE(has_device(), outputs_of_the_callers_take_no_memory))
