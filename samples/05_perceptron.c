/* labels: device
 *
 * Lesson 5: a perceptron, trained. Two spirals lie in each other; a network of three layers learns which of them a
 * point belongs to. A step of training is one run of a session: forward, backward and Adam, recorded once.
 *
 *   build/bin/samples/05_perceptron
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>

#define POINTS 400
#define STEPS 1500
#define COLUMNS 61
#define ROWS 31

/* Layers are functions of the network, which keeps their parameters, of a name, and of a value. */
static mica_value perceptron(mica_nn *nn, mica_value x) {
  mica_value h = mica_tanh(mica_nn_dense(nn, "fc1", x, 64, NULL));
  h = mica_tanh(mica_nn_dense(nn, "fc2", h, 64, NULL));
  return mica_nn_dense(nn, "fc3", h, 2, NULL);
}

/* Makes the points, half of them on each spiral, from the middle outwards. */
static void make_spirals(float *points, int32_t *labels) {
  for (int i = 0; i < POINTS; i++) {
    double radius = 1 + 8.0 * (i / 2) / (POINTS / 2), angle = radius + (i % 2) * 3.14159265;
    points[2 * i] = (float)(radius / 10 * cos(angle));
    points[2 * i + 1] = (float)(radius / 10 * sin(angle));
    labels[i] = i % 2;
  }
}

/* A graph of its own for training: the loss, its gradients, and what Adam assigns to the weights. */
static mica_status make_training(mica_engine *engine, mica_graph *graph, mica_nn *nn, mica_session **session) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(POINTS, 2));
  mica_value labels = mica_input(graph, "labels", MICA_I32, MICA_SHAPE(POINTS));
  mica_value loss = mica_cross_entropy(perceptron(nn, x), labels, NULL);
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  mica_optimize(nn, loss, &how, NULL);
  mica_status status = mica_session_create(engine, graph, &loss, 1, NULL, session);
  return status ? status : mica_nn_initialise(nn, *session);
}

static mica_status train(mica_engine *engine, mica_session *session) {
  float points[2 * POINTS], rate = 0.01f, loss = 0;
  int32_t labels[POINTS];
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  make_spirals(points, labels);
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(POINTS, 2), points, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(POINTS), labels, &y);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"labels", y}, {MICA_LEARNING_RATE, r}};
  for (int step = 1; !status && step <= STEPS; step++) {
    status = mica_session_run(session, queue, feeds, 3);
    /* The host waits for the device only to read the loss. */
    if (status || step % 300) continue;
    status = mica_tensor_download(queue, mica_session_output(session, 0), &loss, sizeof loss);
    if (!status) printf("step %4d  loss %.4f\n", step, (double)loss);
  }
  mica_tensor_destroy(r);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  return status;
}

/* A second graph, for using the network on the same weights: the class that it gives each point of the plane. */
static mica_status show(mica_engine *engine, mica_session *owner, float *share_right) {
  static float points[ROWS * COLUMNS * 2 + 2 * POINTS], logits[ROWS * COLUMNS * 2 + 2 * POINTS];
  int32_t labels[POINTS];
  int64_t count = ROWS * COLUMNS + POINTS;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    points[2 * i] = (float)(i % COLUMNS - COLUMNS / 2) / (COLUMNS / 2);
    points[2 * i + 1] = (float)(i / COLUMNS - ROWS / 2) / (ROWS / 2);
  }
  make_spirals(points + 2 * ROWS * COLUMNS, labels);
  mica_status status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, NULL, &nn);
  if (!status) {
    mica_value out = perceptron(nn, mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 2)));
    status = mica_session_create(engine, graph, &out, 1, NULL, &session);
  }
  if (!status) status = mica_nn_share(nn, session, owner);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(count, 2), points, &x);
  if (!status) status = mica_session_run(session, mica_engine_queue(engine), &(mica_feed){"x", x}, 1);
  if (!status)
    status = mica_tensor_download(mica_engine_queue(engine), mica_session_output(session, 0), logits,
                                  (size_t)count * 2 * sizeof *logits);
  for (int i = 0; !status && i < ROWS * COLUMNS; i++) {
    putchar(logits[2 * i] > logits[2 * i + 1] ? '#' : '.');
    if (i % COLUMNS == COLUMNS - 1) putchar('\n');
  }
  *share_right = 0;
  for (int64_t i = 0; i < POINTS; i++) {
    const float *l = logits + 2 * (ROWS * COLUMNS + i);
    *share_right += (l[1] > l[0]) == labels[i] ? 1.0f / POINTS : 0;
  }
  mica_tensor_destroy(x);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

int main(void) {
  float right = 0;
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) status = make_training(engine, graph, nn, &session);
  if (!status) status = train(engine, session);
  if (!status) status = show(engine, session, &right);
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("%.1f %% of the points are on the right spiral\n", 100 * (double)right);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || right < 0.98f;
}
