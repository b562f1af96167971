/* labels: device single
 *
 * Lesson 31: classes of nodes in a graph. In a karate club of 34 members, the teacher and the president fell out, and
 * the club split (Zachary 1977). A graph convolutional network (Kipf and Welling 2017) knows who is friends with whom,
 * and the side of these two alone. It predicts the side of everyone else. The command `mica train --task graph` does
 * this with graphs of yours.
 *
 *   build/bin/samples/31_graph
 *
 * Exit status 0 if it has learned, 1 if not, 77 without a device. */
#include <math.h>
#include <mica/mica.h>
#include <stdbool.h>
#include <stdio.h>

enum { MEMBERS = 34, FRIENDSHIPS = 78, ENTRIES = MEMBERS + 2 * FRIENDSHIPS, WIDTH = 16, STEPS = 200 };
enum { TEACHER = 0, PRESIDENT = MEMBERS - 1 };

/* Member, then the friends of a higher number; -1 ends a list. */
static const int friends[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  10, 11, 12, 13, 17, 19, 21, 31, -1, 1,  2,  3,  7,
                              13, 17, 19, 21, 30, -1, 2,  3,  7,  8,  9,  13, 27, 28, 32, -1, 3,  7,  12, 13, -1, 4,
                              6,  10, -1, 5,  6,  10, 16, -1, 6,  16, -1, 8,  30, 32, 33, -1, 9,  33, -1, 13, 33, -1,
                              14, 32, 33, -1, 15, 32, 33, -1, 18, 32, 33, -1, 19, 33, -1, 20, 32, 33, -1, 22, 32, 33,
                              -1, 23, 25, 27, 29, 32, 33, -1, 24, 25, 27, 31, -1, 25, 31, -1, 26, 29, 33, -1, 27, 33,
                              -1, 28, 31, 33, -1, 29, 32, 33, -1, 30, 32, 33, -1, 31, 32, 33, -1, 32, 33, -1};
/* Sides after the split: 0 went with the teacher. */
static const int32_t sides[MEMBERS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0,
                                       0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* The friendships as a sparse matrix (mica_pattern). It is symmetric: columns hold the same numbers as rows. */
typedef struct club {
  int32_t ranges[MEMBERS][2], entries[ENTRIES][2], order[ENTRIES];
  float weights[ENTRIES]; /* 1 / sqrt(d_i d_j), d the entries of a row */
} club;

static void make_club(club *c) {
  bool knows[MEMBERS][MEMBERS] = {{false}};
  int32_t at[MEMBERS][MEMBERS], count = 0;
  for (size_t k = 0, first = 0; k < sizeof friends / sizeof *friends; k++)
    if (friends[k] < 0)
      first = k + 1;
    else
      knows[friends[first]][friends[k]] = knows[friends[k]][friends[first]] = true;
  for (int32_t i = 0; i < MEMBERS; i++) {
    knows[i][i] = true; /* a member keeps a share of its own vector */
    c->ranges[i][0] = count;
    for (int32_t j = 0; j < MEMBERS; j++) {
      if (!knows[i][j]) continue;
      c->entries[count][0] = i, c->entries[count][1] = j;
      at[i][j] = count++;
    }
    c->ranges[i][1] = count;
  }
  for (int32_t k = 0; k < count; k++) {
    const int32_t i = c->entries[k][0], j = c->entries[k][1];
    c->order[k] = at[j][i];
    c->weights[k] = (float)(1 / sqrt((c->ranges[i][1] - c->ranges[i][0]) * (c->ranges[j][1] - c->ranges[j][0])));
  }
}

/* Logits (MEMBERS, 2). Members have no features: each has a learned vector, which a layer mixes with its friends'. */
static mica_value predict(mica_graph *g, mica_nn *nn, const club *c) {
  mica_value ranges = mica_constant(g, MICA_I32, MICA_SHAPE(1, MEMBERS, 2), c->ranges);
  const mica_pattern pattern = {.rows = ranges,
                                .entries = mica_constant(g, MICA_I32, MICA_SHAPE(1, ENTRIES, 2), c->entries),
                                .columns = ranges,
                                .order = mica_constant(g, MICA_I32, MICA_SHAPE(1, ENTRIES), c->order)};
  mica_value weights = mica_constant(g, MICA_F32, MICA_SHAPE(1, ENTRIES, 1), c->weights);
  const mica_init_config init = {.kind = MICA_INIT_NORMAL, .value = 0.1};
  mica_value h = mica_nn_parameter(nn, "members", MICA_SHAPE(1, MEMBERS, WIDTH), &init);
  h = mica_relu(mica_sparse_sum(h, weights, &pattern));
  h = mica_sparse_sum(mica_nn_dense(nn, "sides", h, 2, NULL), weights, &pattern);
  return mica_reshape(h, MICA_SHAPE(MEMBERS, 2));
}

/* The loss counts two members; its gradient reaches everyone through the friendships. */
static mica_status build(mica_graph *g, mica_nn *nn, const club *c, mica_value outputs[2]) {
  const int32_t known[2] = {TEACHER, PRESIDENT}, side[2] = {0, 1};
  const mica_optimizer_config adam = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  mica_value logits = predict(g, nn, c);
  mica_value chosen = mica_gather(logits, mica_constant(g, MICA_I32, MICA_SHAPE(2), known), 0);
  outputs[0] = mica_cross_entropy(chosen, mica_constant(g, MICA_I32, MICA_SHAPE(2), side), NULL);
  outputs[1] = logits;
  mica_optimize(nn, outputs[0], &adam, NULL);
  return mica_graph_status(g);
}

static mica_status train(mica_engine *engine, mica_session *session, float logits[MEMBERS][2]) {
  mica_queue *queue = mica_engine_queue(engine);
  const float rate = 0.02f;
  mica_tensor *r = NULL;
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  for (int step = 1; !status && step <= STEPS; step++) {
    float loss = 0;
    status = mica_session_run(session, queue, &(mica_feed){MICA_LEARNING_RATE, r}, 1);
    if (status || step % 50) continue;
    status = mica_tensor_download(queue, mica_session_output(session, 0), &loss, sizeof loss);
    if (!status) printf("step %3d  loss %.4f\n", step, (double)loss);
  }
  if (!status) status = mica_tensor_download(queue, mica_session_output(session, 1), logits, MEMBERS * sizeof *logits);
  mica_tensor_destroy(r);
  return status;
}

/* Returns how many members went to the predicted side. */
static int show(float logits[MEMBERS][2]) {
  int right = 0;
  for (int i = 0; i < MEMBERS; i++) {
    const int side = logits[i][1] > logits[i][0];
    right += side == sides[i];
    if (side != sides[i]) printf("member %d went with the %s\n", i + 1, side ? "teacher" : "president");
  }
  printf("%d of %d members are on the predicted side\n", right, MEMBERS);
  return right;
}

int main(void) {
  static club c;
  float logits[MEMBERS][2] = {{0}};
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value outputs[2];
  int right = 0;
  make_club(&c);
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) status = build(graph, nn, &c, outputs);
  if (!status) status = mica_session_create(engine, graph, outputs, 2, NULL, &session);
  if (!status) status = mica_nn_initialise(nn, session);
  if (!status) status = train(engine, session, logits);
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    right = show(logits);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || right < MEMBERS - 3;
}
