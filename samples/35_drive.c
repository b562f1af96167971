/* labels: device single
 *
 * Lesson 35: learn to drive by imitation (behaviour cloning, Pomerleau 1989). An expert, a formula that knows the road,
 * steers a simulated car. Its states and its steering are recorded. A network learns the steering from the states
 * alone. Then it drives on roads that were not recorded.
 *
 * A network that has only seen a car in the middle of its lane cannot correct its own small errors, which grow. So the
 * expert's hand is shaken while it drives: the car often leaves the middle, and the recording shows how to come back
 * (noise injection, Laskey et al. 2017).
 *
 *   build/bin/samples/35_drive
 *
 * Exit status 0 if the cars of the expert and of the network stay in their lanes for 1,000 steps and cars without a
 * driver do not; 1 if not; 77 without a device. */
#include <math.h>
#include <mica/mica.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { VIEWS = 4, STATES = 3 + VIEWS }; /* a state: offset, heading, speed, curvature of the road at VIEWS distances */
enum { RECORDED_CARS = 60, RECORDED_STEPS = 300, ROWS = RECORDED_CARS * RECORDED_STEPS };
enum { BATCH = 256, TRAINING_STEPS = 2000, CARS = 20, DRIVEN_STEPS = 1000 };

#define LANE 3.5f       /* width of the lane, metres */
#define CAR_WIDTH 1.8f  /* of the car */
#define WHEELBASE 2.7f  /* distance of its axles */
#define MOST_STEER 0.5f /* radians */
#define TIME 0.05f      /* seconds per step */

static float uniform(float low, float high) {
  static uint64_t state = 35;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * (float)(state >> 40) / (float)(1 << 24);
}

/* --- the car and its road --- */

/* A road bends as the sum of three waves. The car's position is the distance along the middle of the lane, its offset
 * to the left of it, and its heading relative to it. */
typedef struct car {
  float bend[3], length[3], phase[3];
  float along, offset, heading, speed;
} car;

static void start(car *c) {
  const float lengths[] = {60, 130, 310}, bends[] = {0.006f, 0.008f, 0.008f};
  for (int k = 0; k < 3; k++) {
    c->bend[k] = bends[k] * uniform(0.3f, 1);
    c->length[k] = lengths[k] * uniform(0.8f, 1.2f);
    c->phase[k] = uniform(0, 6.2832f);
  }
  c->along = 0;
  c->offset = uniform(-0.5f, 0.5f);
  c->heading = uniform(-0.05f, 0.05f);
  c->speed = uniform(8, 20);
}

/* Curvature of the lane's middle, 1 / metres. */
static float curvature(const car *c, float along) {
  float sum = 0;
  for (int k = 0; k < 3; k++) sum += c->bend[k] * sinf(6.2832f * along / c->length[k] + c->phase[k]);
  return sum;
}

/* Moves the car by a step (kinematic bicycle model in coordinates of the lane). Returns false if it has left its
 * lane. */
static bool move(car *c, float steer) {
  const float bend = curvature(c, c->along), most = fminf(fmaxf(steer, -MOST_STEER), MOST_STEER);
  const float forward = c->speed * cosf(c->heading) / (1 - bend * c->offset);
  c->along += TIME * forward;
  c->offset += TIME * c->speed * sinf(c->heading);
  c->heading += TIME * (c->speed * tanf(most) / WHEELBASE - bend * forward);
  return fabsf(c->offset) < (LANE - CAR_WIDTH) / 2;
}

/* What the driver sees, all of it about 1 in size. */
static void look(const car *c, float state[STATES]) {
  state[0] = 2 * c->offset;
  state[1] = 10 * c->heading;
  state[2] = (c->speed - 14) / 6;
  for (int k = 0; k < VIEWS; k++) state[3 + k] = 60 * curvature(c, c->along + 0.15f * (float)k * c->speed);
}

/* The expert follows the bend a little ahead and steers against heading and offset (as Stanley did, Hoffmann et al.
 * 2007). */
static float expert(const car *c) {
  return atanf(WHEELBASE * curvature(c, c->along + 0.1f * c->speed)) - 0.8f * c->heading -
         atanf(0.8f * c->offset / c->speed);
}

/* The expert's cars: states, and what the expert would do there. The hand that steers is shaken. */
static void record(float (*states)[STATES], float *steers) {
  for (int i = 0, row = 0; i < RECORDED_CARS; i++) {
    car c;
    float shake = 0;
    start(&c);
    for (int t = 0; t < RECORDED_STEPS; t++, row++) {
      look(&c, states[row]);
      steers[row] = expert(&c);
      shake = 0.9f * shake + uniform(-0.015f, 0.015f);
      if (!move(&c, steers[row] + shake)) start(&c);
    }
  }
}

/* --- the network --- */

/* Steering in units of a tenth of a radian. */
static mica_value network(mica_nn *nn, mica_value x) {
  mica_value h = mica_tanh(mica_nn_dense(nn, "fc1", x, 32, NULL));
  h = mica_tanh(mica_nn_dense(nn, "fc2", h, 32, NULL));
  return mica_nn_dense(nn, "fc3", h, 1, NULL);
}

typedef struct net {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *x;
} net;

static void destroy(net *n) {
  mica_tensor_destroy(n->x);
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

/* The network that learns: its output is the loss. */
static mica_status make_learner(mica_engine *engine, net *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, &(mica_nn_config){.training = true, .seed = 1}, &n->nn);
  if (!status) {
    mica_value y = network(n->nn, mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(BATCH, STATES)));
    mica_value steers = mica_input(n->graph, "steers", MICA_F32, MICA_SHAPE(BATCH, 1));
    mica_value loss = mica_mse(y, steers, MICA_LOSS_REDUCTION_MEAN);
    const mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
    mica_optimize(n->nn, loss, &how, NULL);
    status = mica_session_create(engine, n->graph, &loss, 1, NULL, &n->session);
  }
  if (!status) status = mica_nn_initialise(n->nn, n->session);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(BATCH, STATES), &n->x);
  return status;
}

/* The network that steers all cars, with the learner's weights. */
static mica_status make_driver(mica_engine *engine, net *learner, net *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (!status) status = mica_nn_create(n->graph, NULL, &n->nn);
  if (!status) {
    mica_value y = network(n->nn, mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(CARS, STATES)));
    status = mica_session_create(engine, n->graph, &y, 1, NULL, &n->session);
  }
  if (!status) status = mica_nn_share(n->nn, n->session, learner->session);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(CARS, STATES), &n->x);
  return status;
}

/* The learning rate falls in a line to 0. */
static mica_status train(mica_engine *engine, net *n, float (*states)[STATES], const float *steers) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *y = NULL, *rate = NULL;
  float x[BATCH][STATES], wanted[BATCH], loss = 0;
  mica_status status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(BATCH, 1), &y);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SCALAR, &rate);
  const mica_feed feeds[] = {{"x", n->x}, {"steers", y}, {MICA_LEARNING_RATE, rate}};
  for (int step = 0; !status && step < TRAINING_STEPS; step++) {
    const float lr = 0.003f * (1 - (float)step / TRAINING_STEPS);
    for (int i = 0; i < BATCH; i++) {
      const int row = (int)uniform(0, ROWS) % ROWS;
      for (int k = 0; k < STATES; k++) x[i][k] = states[row][k];
      wanted[i] = 10 * steers[row];
    }
    status = mica_tensor_upload(queue, n->x, x, sizeof x);
    if (!status) status = mica_tensor_upload(queue, y, wanted, sizeof wanted);
    if (!status) status = mica_tensor_upload(queue, rate, &lr, sizeof lr);
    if (!status) status = mica_session_run(n->session, queue, feeds, 3);
    if (status || (step + 1) % 500) continue;
    status = mica_tensor_download(queue, mica_session_output(n->session, 0), &loss, sizeof loss);
    printf("step %4d: the network steers %.2f degrees off\n", step + 1, (double)(sqrtf(loss) / 10 * 57.2958f));
  }
  mica_tensor_destroy(rate);
  mica_tensor_destroy(y);
  return status;
}

/* --- driving --- */

typedef enum driver { EXPERT, NETWORK, NOBODY } driver;

/* Lets a driver steer the cars on roads of their own. *fewest: steps until the first car left its lane. */
static mica_status drive(mica_queue *queue, net *n, driver who, int *fewest) {
  static const char *const names[] = {"the expert", "the network", "nobody"};
  car cars[CARS];
  float states[CARS][STATES], steers[CARS] = {0}, farthest = 0;
  int kept = 0;
  bool in_lane[CARS];
  mica_status status = MICA_OK;
  *fewest = DRIVEN_STEPS;
  for (int i = 0; i < CARS; i++) start(&cars[i]), in_lane[i] = true;
  for (int t = 0; !status && t < DRIVEN_STEPS; t++) {
    for (int i = 0; i < CARS; i++) look(&cars[i], states[i]);
    if (who == NETWORK) status = mica_tensor_upload(queue, n->x, states, sizeof states);
    if (who == NETWORK && !status) status = mica_session_run(n->session, queue, &(mica_feed){"x", n->x}, 1);
    if (who == NETWORK && !status)
      status = mica_tensor_download(queue, mica_session_output(n->session, 0), steers, sizeof steers);
    for (int i = 0; i < CARS; i++) {
      if (!in_lane[i]) continue;
      in_lane[i] = move(&cars[i], who == EXPERT ? expert(&cars[i]) : steers[i] / 10);
      farthest = fmaxf(farthest, fabsf(cars[i].offset));
      if (!in_lane[i] && t + 1 < *fewest) *fewest = t + 1;
    }
  }
  for (int i = 0; i < CARS; i++) kept += in_lane[i];
  if (!status)
    printf("steered by %s, %d of %d cars stay in their lanes for %d steps; farthest from the middle: %.2f m\n",
           names[who], kept, CARS, DRIVEN_STEPS, (double)farthest);
  return status;
}

int main(void) {
  static float states[ROWS][STATES], steers[ROWS];
  int by_expert = 0, by_network = 0, by_nobody = 0;
  net learner = {0}, player = {0};
  mica_engine *engine = NULL;
  mica_status status = mica_engine_create(NULL, &engine);
  mica_queue *queue = status ? NULL : mica_engine_queue(engine);
  record(states, steers);
  if (!status) status = make_learner(engine, &learner);
  if (!status) status = train(engine, &learner, states, steers);
  if (!status) status = make_driver(engine, &learner, &player);
  if (!status) status = drive(queue, NULL, NOBODY, &by_nobody);
  if (!status) status = drive(queue, NULL, EXPERT, &by_expert);
  if (!status) status = drive(queue, &player, NETWORK, &by_network);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  destroy(&player);
  destroy(&learner);
  mica_engine_destroy(engine);
  if (status == MICA_E_NO_DEVICE) return 77;
  return status || by_expert < DRIVEN_STEPS || by_network < DRIVEN_STEPS || by_nobody == DRIVEN_STEPS;
}
