/* labels: device
 *
 * Lesson 21: two devices train one network. Each has a thread, an engine, and half of every batch; their gradients are
 * added up by a communicator while the backward pass goes on, and both take the same step. Here the devices are two
 * halves of one, where it can be cut; any two will do.
 *
 *   build/bin/samples/21_two_devices [DEVICE DEVICE]
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there are no two devices. */
#include <math.h>
#include <mica/mica.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RANKS 2
#define POINTS 400
#define OWN (POINTS / RANKS)
#define STEPS 800

typedef struct member {
  mica_communicator *communicator;
  const char *device;
  float loss;         /* of its own points, at last */
  float weights[128]; /* of the first layer, at last */
  mica_status status;
  char sentence[256];
  pthread_t thread;
} member;

/* Every other point of two spirals is the first rank's. */
static void make_spirals(int32_t rank, float *points, int32_t *labels) {
  for (int i = 0; i < OWN; i++) {
    const int k = RANKS * i + rank;
    double radius = 1 + 8.0 * (k / 4) / (POINTS / 4), angle = radius + (k / 2 % 2) * 3.14159265;
    points[2 * i] = (float)(radius / 10 * cos(angle));
    points[2 * i + 1] = (float)(radius / 10 * sin(angle));
    labels[i] = k / 2 % 2;
  }
}

/* Every rank builds the same graph by the same seed, so that they begin with the same weights. */
static mica_status build(mica_graph *graph, mica_nn *nn, mica_communicator *communicator, mica_value *loss) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(OWN, 2));
  mica_value h = mica_tanh(mica_nn_dense(nn, "fc1", x, 64, NULL));
  h = mica_tanh(mica_nn_dense(nn, "fc2", h, 64, NULL));
  mica_value z = mica_nn_dense(nn, "fc3", h, 2, NULL);
  *loss = mica_cross_entropy(z, mica_input(graph, "labels", MICA_I32, MICA_SHAPE(OWN)), NULL);
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  how.communicator = communicator; /* all that is said of it */
  mica_optimize(nn, *loss, &how, NULL);
  return mica_graph_status(graph);
}

static mica_status train(member *m, mica_engine *engine, mica_session *session) {
  float points[2 * OWN], rate = 0.01f;
  int32_t labels[OWN];
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  make_spirals(m->communicator->rank, points, labels);
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(OWN, 2), points, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(OWN), labels, &y);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"labels", y}, {MICA_LEARNING_RATE, r}};
  for (int step = 0; !status && step < STEPS; step++) status = mica_session_run(session, queue, feeds, 3);
  if (!status) status = mica_tensor_download(queue, mica_session_output(session, 0), &m->loss, sizeof m->loss);
  if (!status)
    status = mica_tensor_download(queue, mica_session_parameter(session, "fc1.weight"), m->weights, sizeof m->weights);
  mica_tensor_destroy(r);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  return status;
}

static void *run(void *user) {
  member *m = user;
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value loss = {0};
  mica_status status = mica_engine_create(&(mica_engine_config){.device = m->device}, &engine);
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) status = build(graph, nn, m->communicator, &loss);
  if (!status) status = mica_session_create(engine, graph, &loss, 1, NULL, &session);
  if (!status) status = mica_nn_initialise(nn, session);
  if (!status) status = train(m, engine, session);
  if (status) {
    snprintf(m->sentence, sizeof m->sentence, "%s", mica_error_message());
    mica_communicator_abort(m->communicator, m->sentence); /* or the other one would wait */
  }
  m->status = status;
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  return NULL;
}

int main(int argc, char **argv) {
  static member members[RANKS];
  char halves[RANKS][64];
  mica_device_info whole, info;
  mica_communicator *list[RANKS];
  mica_device_prepare_drivers();
  if (mica_device_find(NULL, &whole)) return 77;
  for (int k = 0; k < RANKS; k++) {
    snprintf(halves[k], sizeof halves[k], "%s/%d:%d", whole.id, RANKS, k);
    members[k].device = argc > RANKS ? argv[1 + k] : halves[k];
    if (mica_device_find(members[k].device, &info)) {
      printf("%s\n", mica_error_message());
      return 77;
    }
    printf("rank %d  %s, %s, %u units\n", k, info.id, info.name, info.compute_units);
  }
  if (mica_communicator_local(RANKS, NULL, list)) return 1;
  for (int k = 0; k < RANKS; k++) {
    members[k].communicator = list[k];
    if (pthread_create(&members[k].thread, NULL, run, &members[k])) return 1;
  }
  for (int k = 0; k < RANKS; k++) pthread_join(members[k].thread, NULL);
  int failed = 0;
  for (int k = 0; k < RANKS; k++) {
    const mica_communicator_stats stats = mica_communicator_stats_of(list[k]);
    if (members[k].status) printf("rank %d: %s\n", k, members[k].sentence);
    printf("rank %d  loss %.4f, %.1f MB sent in %llu sums, waited %.2f s\n", k, (double)members[k].loss,
           (double)stats.bytes_sent / 1e6, (unsigned long long)stats.collectives, stats.waited);
    failed |= members[k].status != MICA_OK || !(members[k].loss < 0.1f);
    mica_communicator_destroy(list[k]);
  }
  const int same = !memcmp(members[0].weights, members[1].weights, sizeof members[0].weights);
  printf("the weights are %s\n", same ? "the same, bit by bit" : "different");
  return failed || !same;
}
