/* losses [cnn|mlp]: the first ten losses of the quickstart's network, or of the perceptron, a line each; equal on every
 * device but for rounding. The pictures are the first of Fashion-MNIST, or made up where Debian's package of it is not
 * installed. Exit status 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>

#define BATCH 32
#define SIDE 28
#define CLASSES 10
#define STEPS 10

/* The next pictures of the dataset, as they lie in it: bytes as numbers from 0 to 1. */
static mica_status read_batch(const mica_dataset *data, int step, float *pictures, int32_t *labels) {
  uint8_t bytes[SIDE * SIDE];
  if (mica_dataset_dtype(data) != MICA_U8 || mica_dataset_input_bytes(data) != sizeof bytes) return MICA_E_SHAPE;
  for (int n = 0; n < BATCH; n++) {
    const uint64_t at = (uint64_t)(step * BATCH + n);
    const mica_status status = mica_dataset_input(data, at, bytes, sizeof bytes);
    if (status) return status;
    labels[n] = mica_dataset_label(data, at);
    for (int i = 0; i < SIDE * SIDE; i++) pictures[n * SIDE * SIDE + i] = (float)bytes[i] / 255;
  }
  return MICA_OK;
}

/* Noise from a counter, and a bright row where the class says. */
static void make_batch(int step, float *pictures, int32_t *labels) {
  uint32_t state = 12345u + (uint32_t)step;
  for (int n = 0; n < BATCH; n++) {
    labels[n] = (n * 7 + step) % CLASSES;
    for (int i = 0; i < SIDE * SIDE; i++) {
      state = state * 1664525u + 1013904223u;
      float noise = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
      pictures[n * SIDE * SIDE + i] = noise + (i / SIDE / 2 == labels[n] ? 1.0f : 0.0f);
    }
  }
}

static mica_status make_session(const char *name, mica_engine *engine, mica_graph *graph, mica_nn *nn,
                                mica_session **session) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE));
  mica_value labels = mica_input(graph, "labels", MICA_I32, MICA_SHAPE(BATCH));
  mica_model_config network = {.name = name, .classes = CLASSES};
  mica_value loss = mica_cross_entropy(mica_model_build(nn, x, &network), labels, NULL);
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  mica_optimize(nn, loss, &how, NULL);
  mica_status status = mica_session_create(engine, graph, &loss, 1, NULL, session);
  return status ? status : mica_nn_initialise(nn, *session);
}

/* data: NULL for made up pictures. */
static mica_status train(mica_engine *engine, mica_session *session, const mica_dataset *data) {
  static float pictures[BATCH * SIDE * SIDE];
  int32_t labels[BATCH] = {0};
  float rate = 1e-3f, loss = 0;
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE), pictures, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(BATCH), labels, &y);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"labels", y}, {MICA_LEARNING_RATE, r}};
  for (int step = 0; !status && step < STEPS; step++) {
    if (data)
      status = read_batch(data, step, pictures, labels);
    else
      make_batch(step, pictures, labels);
    if (!status) status = mica_tensor_upload(queue, x, pictures, sizeof pictures);
    if (!status) status = mica_tensor_upload(queue, y, labels, sizeof labels);
    if (!status) status = mica_session_run(session, queue, feeds, 3);
    if (!status) status = mica_tensor_download(queue, mica_session_output(session, 0), &loss, sizeof loss);
    if (!status) printf("%.9g\n", (double)loss);
  }
  mica_tensor_destroy(r);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  return status;
}

int main(int argc, char **argv) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_dataset *data = NULL;
  const char *name = argc > 1 ? argv[1] : "cnn";
  mica_status status = mica_engine_create(NULL, &engine);
  if (mica_dataset_open("fashion-mnist", NULL, &data)) data = NULL;
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) status = make_session(name, engine, graph, nn, &session);
  if (!status) status = train(engine, session, data);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status != MICA_OK;
}
