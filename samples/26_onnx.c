/* labels: device
 *
 * Lesson 26: a model in ONNX. The program prints what a model takes and gives, runs it on zeros and shows the first
 * elements of each output. Without a model it writes one of its own, a perceptron with weights drawn by a seed.
 *
 *   build/bin/samples/26_onnx [MODEL.onnx]
 *
 * Exit status 0 if the model ran, 1 if not, 77 without a device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_INPUTS 16

/* A model for those who have none at hand. */
static mica_status write_model(mica_engine *engine, const char *path) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_status status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.seed = 1}, &nn);
  if (!status) {
    mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 4));
    mica_value h = mica_relu(mica_nn_dense(nn, "fc1", x, 8, NULL));
    mica_value y = mica_softmax(mica_nn_dense(nn, "fc2", h, 3, NULL), 1);
    const char *const names[] = {"probabilities"};
    status = mica_session_create(engine, graph, &y, 1, NULL, &session);
    if (!status) status = mica_nn_initialise(nn, session);
    if (!status)
      status = mica_onnx_write(path, &y, 1, &(mica_onnx_write_config){.session = session, .output_names = names});
  }
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

static void print_port(const char *what, const mica_onnx_port *port) {
  char shape[MICA_SHAPE_TEXT];
  printf("%-6s  %s: %s %s\n", what, port->name, port->type,
         port->has_shape ? mica_shape_format(port->shape, shape) : "of any shape");
}

/* Zeros for an input; dimensions that the file leaves open are 1. */
static mica_status make_feed(const mica_onnx_port *port, mica_onnx_feed *feed) {
  int64_t count = 0;
  *feed = (mica_onnx_feed){.name = port->name, .dtype = port->dtype, .shape = port->shape};
  for (int i = 0; i < feed->shape.rank; i++)
    if (feed->shape.dim[i] == MICA_DYNAMIC) feed->shape.dim[i] = 1;
  const mica_status status = mica_shape_count(feed->shape, &count);
  if (!status) feed->data = calloc((size_t)count + 1, mica_dtype_size(port->dtype));
  return status || feed->data ? status : MICA_E_NOMEM;
}

static mica_status print_output(mica_queue *queue, const char *name, const mica_tensor *tensor) {
  const size_t bytes = mica_tensor_bytes(tensor), shown = bytes / sizeof(float) < 8 ? bytes / sizeof(float) : 8;
  float *data = mica_tensor_dtype(tensor) == MICA_F32 ? malloc(bytes + 1) : NULL;
  const mica_status status = data ? mica_tensor_download(queue, tensor, data, bytes) : MICA_OK;
  printf("%s =", name);
  for (size_t i = 0; data && !status && i < shown; i++) printf(" %.4f", (double)data[i]);
  printf(data ? "\n" : " (not f32)\n");
  free(data);
  return status;
}

static mica_status run(mica_engine *engine, mica_onnx *model) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_onnx_runner *runner = NULL;
  mica_onnx_feed feeds[MOST_INPUTS] = {{0}};
  const size_t inputs = mica_onnx_input_count(model), outputs = mica_onnx_output_count(model);
  if (inputs > MOST_INPUTS) return MICA_E_UNSUPPORTED;
  mica_status status = mica_onnx_runner_create(engine, model, NULL, &runner);
  for (size_t i = 0; !status && i < inputs; i++) {
    const mica_onnx_port port = mica_onnx_input(model, i);
    print_port("input", &port);
    status = make_feed(&port, &feeds[i]);
  }
  if (!status) status = mica_onnx_run(runner, queue, feeds, inputs);
  for (size_t i = 0; !status && i < outputs; i++) {
    const mica_onnx_port port = mica_onnx_output_port(model, i);
    print_port("output", &port);
    status = print_output(queue, port.name, mica_onnx_output(runner, i));
  }
  for (size_t i = 0; i < inputs; i++) free((void *)feeds[i].data);
  mica_onnx_runner_destroy(runner);
  return status;
}

int main(int count, char **words) {
  const char *path = count > 1 ? words[1] : "26_onnx.onnx";
  mica_engine *engine = NULL;
  mica_onnx *model = NULL;
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status && count < 2) status = write_model(engine, path);
  if (!status) status = mica_onnx_open(path, &model);
  if (!status) status = run(engine, model);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status != MICA_OK;
}
