/* losses [cnn|mlp [BATCH]]: the first ten losses of the quickstart's network, or of the perceptron, of batches of 32, a
 * line each; equal on every device but for rounding. The pictures are the first of Fashion-MNIST, or made up where
 * Debian's package of it is not installed. MICA_TEST_LIMITS makes another device of the one there is (see
 * support/limited_api.h): PoCL as a GPU, say. Exit status 77 where there is no device, 2 for a batch that is none. */
#include "ops/select/choice.h"
#include "support/limited_api.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BATCH 32
#define SIDE 28
#define CLASSES 10
#define STEPS 10

/* The next pictures of the dataset, as they lie in it: bytes as numbers from 0 to 1. */
static mica_status read_batch(const mica_dataset *data, int step, int batch, float *pictures, int32_t *labels) {
  uint8_t bytes[SIDE * SIDE];
  if (mica_dataset_dtype(data) != MICA_U8 || mica_dataset_input_bytes(data) != sizeof bytes) return MICA_E_SHAPE;
  for (int n = 0; n < batch; n++) {
    const uint64_t at = (uint64_t)(step * batch + n);
    const mica_status status = mica_dataset_input(data, at, bytes, sizeof bytes);
    if (status) return status;
    labels[n] = mica_dataset_label(data, at);
    for (int i = 0; i < SIDE * SIDE; i++) pictures[n * SIDE * SIDE + i] = (float)bytes[i] / 255;
  }
  return MICA_OK;
}

/* Noise from a counter, and a bright row where the class says. */
static void make_batch(int step, int batch, float *pictures, int32_t *labels) {
  uint32_t state = 12345u + (uint32_t)step;
  for (int n = 0; n < batch; n++) {
    labels[n] = (n * 7 + step) % CLASSES;
    for (int i = 0; i < SIDE * SIDE; i++) {
      state = state * 1664525u + 1013904223u;
      float noise = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
      pictures[n * SIDE * SIDE + i] = noise + (i / SIDE / 2 == labels[n] ? 1.0f : 0.0f);
    }
  }
}

static mica_status make_session(const char *name, int batch, mica_engine *engine, mica_graph *graph, mica_nn *nn,
                                mica_session **session) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(batch, 1, SIDE, SIDE));
  mica_value labels = mica_input(graph, "labels", MICA_I32, MICA_SHAPE(batch));
  mica_model_config network = {.name = name, .classes = CLASSES};
  mica_value loss = mica_cross_entropy(mica_model_build(nn, x, &network), labels, NULL);
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  mica_optimize(nn, loss, &how, NULL);
  mica_status status = mica_session_create(engine, graph, &loss, 1, NULL, session);
  return status ? status : mica_nn_initialise(nn, *session);
}

/* data: NULL for made up pictures. */
static mica_status train(mica_engine *engine, mica_session *session, const mica_dataset *data, int batch) {
  static float pictures[MAX_BATCH * SIDE * SIDE];
  int32_t labels[MAX_BATCH] = {0};
  const size_t bytes = (size_t)(batch * SIDE * SIDE) * sizeof *pictures;
  float rate = 1e-3f, loss = 0;
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(batch, 1, SIDE, SIDE), pictures, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(batch), labels, &y);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"labels", y}, {MICA_LEARNING_RATE, r}};
  for (int step = 0; !status && step < STEPS; step++) {
    if (data)
      status = read_batch(data, step, batch, pictures, labels);
    else
      make_batch(step, batch, pictures, labels);
    if (!status) status = mica_tensor_upload(queue, x, pictures, bytes);
    if (!status) status = mica_tensor_upload(queue, y, labels, (size_t)batch * sizeof *labels);
    if (!status) status = mica_session_run(session, queue, feeds, 3);
    if (!status) status = mica_tensor_download(queue, mica_session_output(session, 0), &loss, sizeof loss);
    if (!status) printf("%.9g\n", (double)loss);
  }
  mica_tensor_destroy(r);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  return status;
}

/* Where pictures are black the convolution is 0, and ReLU has no gradient. What Winograd's transforms leave there of
 * their neighbours is rounding, above 0 or below: on rusticl, which has no fused multiply-add, the gradient of
 * conv2.bias is 0.009 off, and the losses are 1.2e-3 apart instead of 2.2e-7. */
static const char *const transforms[] = {"winograd_fused", "winograd_wgrad", "winograd_staged",
                                         "winograd_staged_wgrad"};

int main(int argc, char **argv) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_dataset *data = NULL;
  const char *name = argc > 1 ? argv[1] : "cnn";
  const int batch = argc > 2 ? (int)strtol(argv[2], NULL, 10) : MAX_BATCH;
  if (batch < 1 || batch > MAX_BATCH) {
    fprintf(stderr, "losses: a batch is 1 to %d, not %s\n", MAX_BATCH, argv[2]);
    return 2;
  }
  /* A simulator takes minutes a step: each loss is in the file as soon as it is known. */
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *limits = getenv("MICA_TEST_LIMITS");
  if (limits && !limited_install(limits)) return 2;
  for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++)
    if (!mica__choice_leave_out(transforms[i])) return 2;
  mica_status status = mica_engine_create(NULL, &engine);
  if (mica_dataset_open("fashion-mnist", NULL, &data)) data = NULL;
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) status = make_session(name, batch, engine, graph, nn, &session);
  if (!status) status = train(engine, session, data, batch);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status != MICA_OK;
}
