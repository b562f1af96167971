/* labels: device single
 *
 * Lesson 7: weights in a file. A network learns a sine, its weights go into a safetensors file, which any tool of that
 * format reads, and come out of it into another network, which then computes the same numbers.
 *
 *   build/bin/samples/07_save_and_load [FILE.safetensors]
 *
 * Exit status 0 when both agree, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

#define POINTS 64
#define STEPS 500

typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} network;

static mica_value curve(mica_nn *nn, mica_value x) {
  return mica_nn_dense(nn, "out", mica_tanh(mica_nn_dense(nn, "hidden", x, 32, NULL)), 1, NULL);
}

static mica_status make(mica_engine *engine, bool training, network *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, &(mica_nn_config){.training = training, .seed = 3}, &n->nn);
  if (status) return status;
  mica_value out = curve(n->nn, mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(POINTS, 1)));
  if (training) {
    mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
    out = mica_mse(out, mica_input(n->graph, "y", MICA_F32, MICA_SHAPE(POINTS, 1)), MICA_LOSS_REDUCTION_MEAN);
    mica_optimize(n->nn, out, &how, NULL);
  }
  return mica_session_create(engine, n->graph, &out, 1, NULL, &n->session);
}

static void destroy(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

static mica_status train_and_save(mica_engine *engine, mica_tensor *x, mica_tensor *y, const char *path) {
  float rate = 0.02f, loss = 0;
  network n = {0};
  mica_tensor *r = NULL;
  mica_queue *queue = mica_engine_queue(engine);
  mica_status status = make(engine, true, &n);
  if (!status) status = mica_nn_initialise(n.nn, n.session);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"y", y}, {MICA_LEARNING_RATE, r}};
  for (int step = 0; !status && step < STEPS; step++) status = mica_session_run(n.session, queue, feeds, 3);
  if (!status) status = mica_tensor_download(queue, mica_session_output(n.session, 0), &loss, sizeof loss);
  if (!status) printf("after %d steps the mean squared error is %.6f\n", STEPS, (double)loss);
  /* The file is written whole or not at all. It may hold texts of the program's own. */
  const mica_safetensors_pair note = {"learned", "sin(3 x)"};
  if (!status) status = mica_nn_save(n.nn, n.session, path, &note, 1);
  mica_tensor_destroy(r);
  destroy(&n);
  return status;
}

static mica_status load_and_use(mica_engine *engine, mica_tensor *x, const char *path, float *y) {
  network n = {0};
  mica_queue *queue = mica_engine_queue(engine);
  mica_status status = make(engine, false, &n);
  if (!status) status = mica_nn_load(n.nn, n.session, path, NULL);
  if (!status) status = mica_session_run(n.session, queue, &(mica_feed){"x", x}, 1);
  if (!status) status = mica_tensor_download(queue, mica_session_output(n.session, 0), y, POINTS * sizeof *y);
  destroy(&n);
  return status;
}

/* Lists a file, which needs no device. */
static mica_status list(const char *path) {
  mica_safetensors *file = NULL;
  mica_status status = mica_safetensors_open(path, &file);
  for (size_t i = 0; !status && i < mica_safetensors_count(file); i++) {
    char shape[MICA_SHAPE_TEXT];
    const mica_safetensors_entry *entry = mica_safetensors_at(file, i);
    printf("  %-16s %s %s\n", entry->name, entry->type, mica_shape_format(entry->shape, shape));
  }
  if (!status) printf("  learned: %s\n", mica_safetensors_metadata(file, "learned"));
  mica_safetensors_close(file);
  return status;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "sine.safetensors";
  float x_data[POINTS], y_data[POINTS], got[POINTS], worst = 0;
  mica_engine *engine = NULL;
  mica_tensor *x = NULL, *y = NULL;
  for (int i = 0; i < POINTS; i++) {
    x_data[i] = 2 * (float)i / (POINTS - 1) - 1;
    y_data[i] = sinf(3 * x_data[i]);
  }
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(POINTS, 1), x_data, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(POINTS, 1), y_data, &y);
  if (!status) status = train_and_save(engine, x, y, path);
  if (!status) status = list(path);
  if (!status) status = load_and_use(engine, x, path, got);
  for (int i = 0; !status && i < POINTS; i++) worst = fmaxf(worst, fabsf(got[i] - y_data[i]));
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("loaded again, it is at most %.3f off the sine\n", (double)worst);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || !(worst < 0.1f);
}
