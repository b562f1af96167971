/* labels: device slow
 *
 * Networks written as models in ONNX, read again and run: as before. With MICA_WRITE_FOLDER the models stay there, with
 * inputs and outputs as .npy for other programs to compare (write_oracle.py). MICA_WRITE_ALL=1 takes all networks in
 * place of one of each kind, MICA_WRITE_ALL=NAME that one; MICA_WRITE_FULL=1 takes them at the sizes that were
 * published. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/io.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[512];
static bool all, full;

/* channels of pictures, 0: tokens; sides of these, lengths of those. */
static const struct network {
  const char *name;
  bool usual;
  int64_t channels, small, full;
  mica_model_config config;
} networks[] = {
    {"mlp", false, 1, 28, 28, {.classes = 10}},
    {"lenet", true, 1, 28, 28, {.classes = 10}},
    {"vgg11", false, 3, 32, 224, {.classes = 10}},
    {"resnet18", true, 3, 32, 224, {.classes = 10}},
    {"resnet50", false, 3, 32, 224, {.classes = 10}},
    {"mobilenetv2", false, 3, 32, 224, {.classes = 10}},
    {"unet", false, 3, 32, 224, {.classes = 3, .width = 8, .norm = MICA_MODEL_NORM_GROUP}},
    {"densenet121", false, 3, 32, 224, {.classes = 10}},
    {"efficientnetb0", false, 3, 32, 224, {.classes = 10}},
    {"detector", false, 3, 64, 320, {.classes = 4, .width = 16}},
    {"tagger", true, 0, 12, 40, {.classes = 5, .width = 16, .sequence = {.vocabulary = 30, .layers = 2}}},
    {"tcn", false, 0, 12, 40, {.classes = 5, .width = 16, .sequence = {.vocabulary = 30, .layers = 2}}},
    {"cnn_gru", false, 0, 12, 40, {.classes = 5, .width = 16, .sequence = {.vocabulary = 30, .layers = 2}}},
    {"encoder", false, 0, 12, 40, {.classes = 5, .width = 16, .sequence = {.vocabulary = 30, .layers = 2, .heads = 2}}},
    {"gpt", true, 0, 12, 40, {.width = 16, .sequence = {.vocabulary = 30, .layers = 2, .heads = 4, .context = 48}}},
};
#define NETWORKS ((int)(sizeof networks / sizeof *networks))

static float uniform(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) * 0x1p-24f;
}

/* Norms and biases get numbers that are not 0 and 1, which would hide mistakes. */
static void stir(const mica_nn *nn, mica_session *session) {
  uint32_t state = 5;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    if (!tensor || mica_value_shape(info->value).rank != 1) continue;
    const size_t n = mica_tensor_bytes(tensor) / sizeof(float);
    const bool around_one = strstr(info->name, "weight") || strstr(info->name, "var");
    float *numbers = malloc((n + 1) * sizeof *numbers);
    for (size_t k = 0; k < n; k++) numbers[k] = (around_one ? 0.75f : -0.25f) + 0.5f * uniform(&state);
    ck_ok(mica_tensor_upload(test_queue(), tensor, numbers, n * sizeof *numbers));
    free(numbers);
  }
}

static void *random_input(const struct network *n, mica_shape shape, uint32_t seed) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  float *numbers = malloc((size_t)count * sizeof *numbers + 1);
  for (int64_t i = 0; i < count; i++) {
    numbers[i] = 2 * uniform(&seed) - 1;
    if (!n->channels) ((int32_t *)(void *)numbers)[i] = (int32_t)(14.9f * (numbers[i] + 1));
  }
  return numbers;
}

static void keep(const char *kind, const char *name, int64_t batch, mica_dtype dtype, mica_shape shape,
                 const void *data) {
  char path[700];
  if (!getenv("MICA_WRITE_FOLDER")) return;
  snprintf(path, sizeof path, "%s/%s.%s.%d.npy", folder, name, kind, (int)batch);
  ck_ok(mica_npy_write(path, dtype, shape, data));
}

/* The largest difference, relative to the largest number. */
static double distance(const float *a, const float *b, size_t n) {
  double most = 0, largest = 1e-30;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, fabs((double)a[i] - (double)b[i]));
    largest = fmax(largest, fabs((double)b[i]));
  }
  return isfinite(most) ? most / largest : INFINITY;
}

static void compare(const struct network *n, mica_session *session, mica_onnx_runner *runner, int64_t batch) {
  const int64_t side = full ? n->full : n->small;
  const mica_shape shape = n->channels ? MICA_SHAPE(batch, n->channels, side, side) : MICA_SHAPE(batch, side);
  const mica_dtype dtype = n->channels ? MICA_F32 : MICA_I32;
  void *input = random_input(n, shape, (uint32_t)batch);
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, input, &tensor));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", tensor}, 1));
  const mica_tensor *output = mica_session_output(session, 0);
  const size_t bytes = mica_tensor_bytes(output);
  float *want = malloc(bytes + 1), *got = malloc(bytes + 1);
  ck_ok(mica_tensor_download(test_queue(), output, want, bytes));
  ck_ok(mica_onnx_run(runner, test_queue(), &(mica_onnx_feed){.name = "x", .tensor = tensor}, 1));
  const mica_tensor *again = mica_onnx_output(runner, 0);
  ck_assert(mica_shape_equal(mica_tensor_shape(again), mica_tensor_shape(output)));
  ck_ok(mica_tensor_download(test_queue(), again, got, bytes));
  const double off = distance(got, want, bytes / sizeof(float));
  ck_assert_msg(off < 1e-4, "%s, batch %d: off by %g", n->name, (int)batch, off);
  keep("input", n->name, batch, dtype, shape, input);
  keep("output", n->name, batch, MICA_F32, mica_tensor_shape(output), want);
  mica_tensor_destroy(tensor);
  free(input);
  free(want);
  free(got);
}

START_TEST(network_is_written_and_read) {
  const struct network *n = &networks[_i];
  const int64_t side = full ? n->full : n->small;
  const mica_shape shape =
      n->channels ? MICA_SHAPE(MICA_DYNAMIC, n->channels, side, side) : MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC);
  mica_model_config config = n->config;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  char path[600];
  const char *only = getenv("MICA_WRITE_ALL");
  if (!all && only ? strcmp(only, n->name) != 0 : !all && !n->usual) return;
  if (full) config.width = 0;
  config.name = n->name;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.seed = 1}, &nn));
  mica_value y = mica_model_build(nn, mica_input(graph, "x", n->channels ? MICA_F32 : MICA_I32, shape), &config);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  stir(nn, session);
  snprintf(path, sizeof path, "%s/%s.onnx", folder, n->name);
  ck_ok(mica_onnx_write(path, &y, 1, &(mica_onnx_write_config){.session = session, .name = n->name}));
  ck_ok(mica_onnx_open(path, &model));
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  compare(n, session, runner, 1);
  compare(n, session, runner, 3);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  if (!getenv("MICA_WRITE_FOLDER")) remove(path);
}
END_TEST

static const char *lacks_folder(void) {
  const char *given = getenv("MICA_WRITE_FOLDER"), *how = getenv("MICA_WRITE_ALL"), *tmp = getenv("TMPDIR");
  full = getenv("MICA_WRITE_FULL") != NULL;
  all = how && !strcmp(how, "1");
  if (given)
    snprintf(folder, sizeof folder, "%s", given);
  else
    snprintf(folder, sizeof folder, "%s/mica-write-XXXXXX", tmp ? tmp : "/tmp");
  return given || mkdtemp(folder) ? NULL : "no folder for files";
}

TESTS(BOTH(NEEDS(ONNX), BOTH(DEVICE, lacks_folder())), NULL, NULL, LOOP(network_is_written_and_read, 0, NETWORKS))
