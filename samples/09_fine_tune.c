/* labels: device single
 *
 * Lesson 9: fine-tuning. A network learns which quarter of the plane a point is in. Its body, saved and loaded into a
 * second network and frozen, then serves another question that it was never asked: whether the point's coordinates
 * have the same sign. Only the new head is trained, on 40 points.
 *
 *   build/bin/samples/09_fine_tune [FILE.safetensors]
 *
 * Exit status 0 when it has learned and the body is as it was, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 32
#define FEW 40
#define MANY 1000

typedef struct task {
  const char *head;
  int64_t classes;
  int64_t points;
  int steps;
  bool frozen; /* the body */
} task;

typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} network;

/* Names of layers in a scope begin with its name: "body.fc1.weight". */
static mica_value body(mica_nn *nn, mica_value x, const void *config) {
  (void)config;
  x = mica_relu(mica_nn_dense(nn, "fc1", x, WIDTH, NULL));
  return mica_relu(mica_nn_dense(nn, "fc2", x, WIDTH, NULL));
}

static mica_status make(mica_engine *engine, const task *t, network *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, &(mica_nn_config){.training = true, .seed = 5}, &n->nn);
  if (status) return status;
  mica_value x = mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(t->points, 2));
  mica_value labels = mica_input(n->graph, "labels", MICA_I32, MICA_SHAPE(t->points));
  mica_value logits = mica_nn_dense(n->nn, t->head, mica_nn_apply(n->nn, "body", x, body, NULL), t->classes, NULL);
  mica_value outputs[] = {mica_cross_entropy(logits, labels, NULL), logits};
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  if (t->frozen) status = mica_nn_freeze(n->nn, "body.*", true, NULL);
  mica_optimize(n->nn, outputs[0], &how, NULL);
  if (!status) status = mica_session_create(engine, n->graph, outputs, 2, NULL, &n->session);
  return status ? status : mica_nn_initialise(n->nn, n->session);
}

static void destroy(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

static int32_t quarter(const float *p) { return 2 * (p[0] > 0) + (p[1] > 0); }
static int32_t same_sign(const float *p) { return (p[0] > 0) == (p[1] > 0); }

/* Trains on the task's points; *right gets the share of them that are classified right. */
static mica_status learn(mica_engine *engine, network *n, const task *t, float *right) {
  static float points[2 * MANY], logits[4 * MANY];
  static int32_t labels[MANY];
  float rate = 0.01f;
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  srand(1);
  for (int64_t i = 0; i < t->points; i++) {
    for (int k = 0; k < 2; k++) points[2 * i + k] = 2 * (float)rand() / (float)RAND_MAX - 1;
    labels[i] = t->classes == 4 ? quarter(points + 2 * i) : same_sign(points + 2 * i);
  }
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(t->points, 2), points, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(t->points), labels, &y);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"labels", y}, {MICA_LEARNING_RATE, r}};
  for (int step = 0; !status && step < t->steps; step++) status = mica_session_run(n->session, queue, feeds, 3);
  if (!status)
    status = mica_tensor_download(queue, mica_session_output(n->session, 1), logits,
                                  (size_t)(t->points * t->classes) * sizeof *logits);
  *right = 0;
  for (int64_t i = 0; !status && i < t->points; i++) {
    int32_t best = 0;
    for (int32_t k = 1; k < t->classes; k++)
      if (logits[i * t->classes + k] > logits[i * t->classes + best]) best = k;
    *right += (best == labels[i]) / (float)t->points;
  }
  mica_tensor_destroy(r);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  return status;
}

static mica_status read_body(mica_engine *engine, const network *n, float weight[WIDTH * WIDTH]) {
  return mica_tensor_download(mica_engine_queue(engine), mica_session_parameter(n->session, "body.fc2.weight"), weight,
                              WIDTH * WIDTH * sizeof *weight);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "quarters.safetensors";
  const task quarters = {"quarters", 4, MANY, 300, false}, signs = {"signs", 2, FEW, 200, true};
  static float before[WIDTH * WIDTH], after[WIDTH * WIDTH];
  float first = 0, second = 0;
  size_t missing = 0;
  mica_engine *engine = NULL;
  network teacher = {0}, pupil = {0};

  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = make(engine, &quarters, &teacher);
  if (!status) status = learn(engine, &teacher, &quarters, &first);
  if (!status) status = mica_nn_save(teacher.nn, teacher.session, path, NULL, 0);
  if (!status) status = make(engine, &signs, &pupil);
  /* The file lacks the head, which keeps its initial values. */
  if (!status) status = mica_nn_load(pupil.nn, pupil.session, path, &missing);
  if (!status) status = read_body(engine, &pupil, before);
  if (!status) status = learn(engine, &pupil, &signs, &second);
  if (!status) status = read_body(engine, &pupil, after);

  bool same = memcmp(before, after, sizeof before) == 0;
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf(
        "quarters: %.1f %% right; the body loaded, %zu parameters of the head new; signs: %.1f %% right; the body %s\n",
        100 * (double)first, missing, 100 * (double)second, same ? "is as it was" : "HAS CHANGED");
  destroy(&pupil);
  destroy(&teacher);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || first < 0.95f || second < 0.9f || !same;
}
