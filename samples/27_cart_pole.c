/* labels: device single
 *
 * Lesson 27: learn by trial. A cart carries a pole that falls over unless the cart is pushed left or right in time.
 * Nobody says which push was right; a trial yields one point per step that the pole stands, 200 at most. Two methods
 * learn it with training loops of their own:
 *
 * - policy gradient (Williams 1992): a network gives the probabilities of both pushes. Pushes after which a trial
 *   lasted longer than usual become more probable.
 * - Q-learning (Mnih et al. 2015, with the double estimate of van Hasselt et al. 2016): a network estimates the points
 *   to come for either push. It learns from remembered steps, beside a copy of itself that is renewed now and then.
 *
 *   build/bin/samples/27_cart_pole
 *
 * Exit status 0 when both reach 195 points on average over 100 trials, 1 when not, 77 without a device. */
#include <math.h>
#include <mica/mica.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SIZE 4    /* of a state: place and speed of the cart, angle and angular speed of the pole */
#define LIMIT 200 /* steps of a trial */
#define TRIALS 100
#define SOLVED 195
#define DISCOUNT 0.99f

static float uniform(void) {
  static uint64_t state = 27;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (float)(state >> 40) / (float)(1 << 24);
}

/* --- the cart --- */

typedef struct {
  float state[SIZE];
  int steps;
} cart;

static void start(cart *c) {
  for (int i = 0; i < SIZE; i++) c->state[i] = 0.1f * uniform() - 0.05f;
  c->steps = 0;
}

/* Pushes the cart for 0.02 s (Barto, Sutton and Anderson 1983). Returns false if the pole fell or the cart left. */
static bool push(cart *c, bool right) {
  const float gravity = 9.8f, mass = 1.1f, pole_mass = 0.1f, length = 0.5f, time = 0.02f, force = right ? 10 : -10;
  float *s = c->state, sine = sinf(s[2]), cosine = cosf(s[2]);
  float pull = (force + pole_mass * length * s[3] * s[3] * sine) / mass;
  float swing = (gravity * sine - cosine * pull) / (length * (4.0f / 3 - pole_mass * cosine * cosine / mass));
  float speed = pull - pole_mass * length * swing * cosine / mass;
  s[0] += time * s[1], s[1] += time * speed;
  s[2] += time * s[3], s[3] += time * swing;
  c->steps++;
  return fabsf(s[0]) <= 2.4f && fabsf(s[2]) <= 0.2095f;
}

/* --- networks --- */

/* A network in a graph of its own, and the memory of its inputs. */
typedef struct {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *x;
} net;

static mica_value two_layers(mica_nn *nn, mica_value x) {
  mica_value h = mica_tanh(mica_nn_dense(nn, "fc1", x, 64, NULL));
  return mica_nn_dense(nn, "fc2", h, 2, NULL);
}

static void destroy(net *n) {
  mica_tensor_destroy(n->x);
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

/* A network that answers for `rows` states; with the weights of `owner`, or with its own if that is NULL. */
static mica_status make_player(mica_engine *engine, int64_t rows, mica_session *owner, net *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, NULL, &n->nn);
  if (!status) {
    mica_value y = two_layers(n->nn, mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(rows, SIZE)));
    status = mica_session_create(engine, n->graph, &y, 1, NULL, &n->session);
  }
  if (!status) status = owner ? mica_nn_share(n->nn, n->session, owner) : mica_nn_initialise(n->nn, n->session);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(rows, SIZE), &n->x);
  return status;
}

/* y = the network's two numbers for each state. */
static mica_status answer(mica_queue *queue, net *n, const float *states, int64_t rows, float *y) {
  mica_status status = mica_tensor_upload(queue, n->x, states, (size_t)rows * SIZE * sizeof *states);
  if (!status) status = mica_session_run(n->session, queue, &(mica_feed){"x", n->x}, 1);
  if (!status)
    status = mica_tensor_download(queue, mica_session_output(n->session, 0), y, (size_t)rows * 2 * sizeof *y);
  return status;
}

/* Plays TRIALS trials at once. The push is drawn with the probabilities softmax(y), or is the larger of y if `greedy`.
 * With `states`: notes state and push of every step, LIMIT per trial. */
static mica_status play(mica_queue *queue, net *player, bool greedy, cart *carts, float (*states)[SIZE],
                        int32_t *pushes) {
  static float x[TRIALS][SIZE], y[TRIALS][2];
  bool stands[TRIALS], any = true;
  for (int i = 0; i < TRIALS; i++) start(&carts[i]), stands[i] = true;
  for (int t = 0; any && t < LIMIT; t++) {
    for (int i = 0; i < TRIALS; i++) memcpy(x[i], carts[i].state, sizeof x[i]);
    const mica_status status = answer(queue, player, x[0], TRIALS, y[0]);
    if (status) return status;
    any = false;
    for (int i = 0; i < TRIALS; i++) {
      if (!stands[i]) continue;
      const float right = 1 / (1 + expf(y[i][0] - y[i][1]));
      const bool push_right = greedy ? right > 0.5f : uniform() < right;
      if (states) {
        memcpy(states[i * LIMIT + t], x[i], sizeof x[i]);
        pushes[i * LIMIT + t] = push_right;
      }
      stands[i] = push(&carts[i], push_right);
      any |= stands[i];
    }
  }
  return MICA_OK;
}

static float mean_steps(const cart *carts) {
  float sum = 0;
  for (int i = 0; i < TRIALS; i++) sum += (float)carts[i].steps;
  return sum / TRIALS;
}

/* --- policy gradient --- */

#define ROWS (TRIALS * LIMIT)

/* Weights of the pushes: the discounted points after each, less their mean, in units of their deviation; 0 for rows
 * after the end of a trial. */
static void weigh(const cart *carts, float *weights) {
  double sum = 0, squares = 0, count = 0;
  memset(weights, 0, ROWS * sizeof *weights);
  for (int i = 0; i < TRIALS; i++) {
    float points = 0;
    for (int t = carts[i].steps - 1; t >= 0; t--) {
      weights[i * LIMIT + t] = points = 1 + DISCOUNT * points;
      sum += (double)points, squares += (double)points * (double)points, count++;
    }
  }
  const double mean = sum / count, deviation = sqrt(squares / count - mean * mean) + 1e-6;
  for (int i = 0; i < TRIALS; i++)
    for (int t = 0; t < carts[i].steps; t++)
      weights[i * LIMIT + t] = (float)((weights[i * LIMIT + t] - mean) / deviation);
}

/* The loss: cross entropy of the pushes that were made, each by its weight. */
static mica_status make_policy(mica_engine *engine, net *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, &(mica_nn_config){.training = true, .seed = 1}, &n->nn);
  if (!status) {
    mica_value y = two_layers(n->nn, mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(ROWS, SIZE)));
    mica_value made = mica_input(n->graph, "pushes", MICA_I32, MICA_SHAPE(ROWS));
    mica_value weights = mica_input(n->graph, "weights", MICA_F32, MICA_SHAPE(ROWS));
    mica_value each = mica_cross_entropy(y, made, &(mica_cross_entropy_config){.reduction = MICA_LOSS_REDUCTION_NONE});
    mica_value loss = mica_mean(mica_mul(each, weights), MICA_ALL_AXES, false);
    const mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
    mica_optimize(n->nn, loss, &how, NULL);
    status = mica_session_create(engine, n->graph, &loss, 1, NULL, &n->session);
  }
  if (!status) status = mica_nn_initialise(n->nn, n->session);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(ROWS, SIZE), &n->x);
  return status;
}

static mica_status learn_policy(mica_engine *engine, float *mean) {
  static cart carts[TRIALS];
  static float states[ROWS][SIZE], weights[ROWS];
  static int32_t pushes[ROWS];
  const float rate = 0.01f;
  mica_queue *queue = mica_engine_queue(engine);
  net policy = {0}, player = {0};
  mica_tensor *made = NULL, *w = NULL, *r = NULL;
  mica_status status = make_policy(engine, &policy);
  if (!status) status = make_player(engine, TRIALS, policy.session, &player);
  if (!status) status = mica_tensor_create(engine, MICA_I32, MICA_SHAPE(ROWS), &made);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(ROWS), &w);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", policy.x}, {"pushes", made}, {"weights", w}, {MICA_LEARNING_RATE, r}};
  for (int round = 0; !status && *mean < SOLVED && round < 200; round++) {
    status = play(queue, &player, false, carts, states, pushes);
    *mean = mean_steps(carts);
    if (round % 10 == 0) printf("policy gradient: %5d trials, %5.1f steps on average\n", round * TRIALS, (double)*mean);
    weigh(carts, weights);
    if (!status) status = mica_tensor_upload(queue, policy.x, states, sizeof states);
    if (!status) status = mica_tensor_upload(queue, made, pushes, sizeof pushes);
    if (!status) status = mica_tensor_upload(queue, w, weights, sizeof weights);
    if (!status) status = mica_session_run(policy.session, queue, feeds, 4);
  }
  if (!status) printf("policy gradient: %.1f steps on average of the last %d trials\n", (double)*mean, TRIALS);
  mica_tensor_destroy(r);
  mica_tensor_destroy(w);
  mica_tensor_destroy(made);
  destroy(&player);
  destroy(&policy);
  return status;
}

/* --- Q-learning --- */

#define BATCH 64
#define MEMORY 20000

typedef struct {
  float before[SIZE], after[SIZE];
  int32_t push;
  bool fell;
} memory;

/* The loss: Huber's, of the estimate for the push that was made against its target. */
static mica_status make_estimator(mica_engine *engine, net *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, &(mica_nn_config){.training = true, .seed = 2}, &n->nn);
  if (!status) {
    mica_value y = two_layers(n->nn, mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(BATCH, SIZE)));
    mica_value made = mica_input(n->graph, "made", MICA_F32, MICA_SHAPE(BATCH, 2)); /* 1 0 or 0 1 */
    mica_value target = mica_input(n->graph, "target", MICA_F32, MICA_SHAPE(BATCH));
    mica_value estimate = mica_sum(mica_mul(y, made), MICA_AXES(1), false);
    mica_value loss = mica_huber(estimate, target, 1, MICA_LOSS_REDUCTION_MEAN);
    const mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
    mica_optimize(n->nn, loss, &how, NULL);
    status = mica_session_create(engine, n->graph, &loss, 1, NULL, &n->session);
  }
  if (!status) status = mica_nn_initialise(n->nn, n->session);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(BATCH, SIZE), &n->x);
  return status;
}

/* Copies all weights of one network to another, on the device. */
static mica_status copy_weights(mica_queue *queue, const net *from, net *to) {
  mica_status status = MICA_OK;
  for (size_t i = 0; !status && i < mica_nn_parameter_count(to->nn); i++) {
    const char *name = mica_nn_parameter_at(to->nn, i)->name;
    status =
        mica_op_copy(queue, mica_session_parameter(from->session, name), mica_session_parameter(to->session, name));
  }
  return status;
}

typedef struct {
  net learner, chooser, older, player, one; /* the last four answer; all but `older` share the learner's weights */
  mica_tensor *made, *target, *rate;
  memory *memory;
  int64_t count;
} agent;

static mica_status make_agent(mica_engine *engine, agent *a) {
  const float rate = 0.001f;
  mica_status status = make_estimator(engine, &a->learner);
  if (!status) status = make_player(engine, BATCH, a->learner.session, &a->chooser);
  if (!status) status = make_player(engine, BATCH, NULL, &a->older);
  if (!status) status = make_player(engine, TRIALS, a->learner.session, &a->player);
  if (!status) status = make_player(engine, 1, a->learner.session, &a->one);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(BATCH, 2), &a->made);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(BATCH), &a->target);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &a->rate);
  return status;
}

static void destroy_agent(agent *a) {
  mica_tensor_destroy(a->rate);
  mica_tensor_destroy(a->target);
  mica_tensor_destroy(a->made);
  destroy(&a->one);
  destroy(&a->player);
  destroy(&a->older);
  destroy(&a->chooser);
  destroy(&a->learner);
}

/* One step of training on remembered steps: the target is the point of the step and, if the pole still stood, the
 * older network's estimate for the push that the newer one prefers. */
static mica_status remember(mica_queue *queue, agent *a) {
  float before[BATCH][SIZE], after[BATCH][SIZE], made[BATCH][2] = {{0}}, target[BATCH], newer[BATCH][2],
                                                 older[BATCH][2];
  const int64_t known = a->count < MEMORY ? a->count : MEMORY;
  const memory *drawn[BATCH];
  for (int i = 0; i < BATCH; i++) {
    drawn[i] = &a->memory[(int64_t)(uniform() * (float)known) % known];
    memcpy(before[i], drawn[i]->before, sizeof before[i]);
    memcpy(after[i], drawn[i]->after, sizeof after[i]);
    made[i][drawn[i]->push] = 1;
  }
  mica_status status = answer(queue, &a->chooser, after[0], BATCH, newer[0]);
  if (!status) status = answer(queue, &a->older, after[0], BATCH, older[0]);
  for (int i = 0; !status && i < BATCH; i++)
    target[i] = 1 + (drawn[i]->fell ? 0 : DISCOUNT * older[i][newer[i][1] > newer[i][0]]);
  if (!status) status = mica_tensor_upload(queue, a->learner.x, before, sizeof before);
  if (!status) status = mica_tensor_upload(queue, a->made, made, sizeof made);
  if (!status) status = mica_tensor_upload(queue, a->target, target, sizeof target);
  const mica_feed feeds[] = {
      {"x", a->learner.x}, {"made", a->made}, {"target", a->target}, {MICA_LEARNING_RATE, a->rate}};
  return status ? status : mica_session_run(a->learner.session, queue, feeds, 4);
}

/* One push of the cart that the agent learns with; every tenth push at least is drawn by lot. */
static mica_status act(mica_queue *queue, agent *a, cart *c) {
  memory *now = &a->memory[a->count % MEMORY];
  const float lot = fmaxf(0.1f, 1 - (float)a->count / 3000);
  float y[2] = {0};
  memcpy(now->before, c->state, sizeof now->before);
  const mica_status status = answer(queue, &a->one, c->state, 1, y);
  if (status) return status;
  now->push = uniform() < lot ? uniform() < 0.5f : y[1] > y[0];
  now->fell = !push(c, now->push);
  memcpy(now->after, c->state, sizeof now->after);
  if (now->fell || c->steps == LIMIT) start(c);
  a->count++;
  return MICA_OK;
}

static mica_status learn_values(mica_engine *engine, float *mean) {
  static cart carts[TRIALS];
  static memory steps[MEMORY];
  mica_queue *queue = mica_engine_queue(engine);
  agent a = {.memory = steps};
  cart c;
  start(&c);
  mica_status status = make_agent(engine, &a);
  while (!status && *mean < SOLVED && a.count < 60000) {
    if (a.count % 250 == 0) status = copy_weights(queue, &a.learner, &a.older);
    if (!status) status = act(queue, &a, &c);
    if (!status && a.count >= 1000) status = remember(queue, &a);
    if (status || a.count % 1000) continue;
    status = play(queue, &a.player, true, carts, NULL, NULL);
    *mean = mean_steps(carts);
    if (a.count % 5000 == 0) printf("Q-learning: %5d steps, %5.1f on average\n", (int)a.count, (double)*mean);
  }
  if (!status)
    printf("Q-learning: %.1f steps on average of %d trials, after %d steps\n", (double)*mean, TRIALS, (int)a.count);
  destroy_agent(&a);
  return status;
}

int main(void) {
  float policy = 0, values = 0;
  mica_engine *engine = NULL;
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = learn_policy(engine, &policy);
  if (!status) status = learn_values(engine, &values);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || policy < SOLVED || values < SOLVED;
}
