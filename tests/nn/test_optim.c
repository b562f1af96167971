/* labels: device single
 *
 * Every optimiser against its formula in double over some steps; clipping, accumulation, moving averages, loss scaling;
 * schedules. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

#define N 37
#define STEPS 12

/* The loss is the sum of pull_i (p_i - goal_i)^2 / 2 over two weights: a matrix of N and a vector of N elements. */
typedef struct problem {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate, *gain;
  mica_optimizer_values values;
} problem;

typedef struct reference {
  double p[2][N], a[2][N], b[2][N];
} reference;

static double pull(int w, int i) { return 0.2 + 0.05 * ((i * 7 + w) % 11); }
static double goal(int w, int i) { return 0.1 * ((i * 5 + 3 * w) % 13) - 0.6; }

static mica_value constant(mica_graph *graph, mica_shape shape, int w, double (*of)(int, int)) {
  float data[N];
  for (int i = 0; i < N; i++) data[i] = (float)of(w, i);
  return mica_constant(graph, MICA_F32, shape, data);
}

static void make(problem *q, const mica_optimizer_config *config) {
  static const mica_init_config init = {.kind = MICA_INIT_CONSTANT, .value = 0.25};
  mica_shape shapes[2] = {MICA_SHAPE(1, N), MICA_SHAPE(N)};
  *q = (problem){0};
  ck_ok(mica_graph_create(&q->graph));
  ck_ok(mica_nn_create(q->graph, &(mica_nn_config){.training = true}, &q->nn));
  mica_value gain = mica_input(q->graph, "gain", MICA_F32, MICA_SCALAR), loss = {0};
  for (int w = 0; w < 2; w++) {
    mica_value p = mica_nn_parameter(q->nn, w ? "vector" : "matrix", shapes[w], &init);
    mica_value d = mica_square(mica_sub(p, constant(q->graph, shapes[w], w, goal)));
    mica_value own =
        mica_affine(mica_sum(mica_mul(d, constant(q->graph, shapes[w], w, pull)), MICA_ALL_AXES, false), 0.5, 0);
    loss = w ? mica_add(loss, own) : own;
  }
  loss = mica_mul(loss, gain);
  mica_optimize(q->nn, loss, config, &q->values);
  ck_assert_msg(mica_graph_status(q->graph) == MICA_OK, "%s", mica_graph_message(q->graph));
  mica_value outputs[3] = {loss, q->values.gradient_norm, q->values.loss_scale};
  size_t count = 1;
  if (!mica_value_is_null(outputs[2])) outputs[count++] = outputs[2];
  ck_ok(mica_session_create(test_engine(), q->graph, outputs, count, NULL, &q->session));
  ck_ok(mica_nn_initialise(q->nn, q->session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SCALAR, &q->rate));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SCALAR, &q->gain));
}

static void unmake(problem *q) {
  mica_tensor_destroy(q->rate);
  mica_tensor_destroy(q->gain);
  mica_session_destroy(q->session);
  mica_nn_destroy(q->nn);
  mica_graph_destroy(q->graph);
}

static void step(problem *q, double rate, double gain) {
  float r = (float)rate, g = (float)gain;
  ck_ok(mica_tensor_upload(test_queue(), q->rate, &r, sizeof r));
  ck_ok(mica_tensor_upload(test_queue(), q->gain, &g, sizeof g));
  mica_feed feeds[] = {{MICA_LEARNING_RATE, q->rate}, {"gain", q->gain}};
  ck_ok(mica_session_run(q->session, test_queue(), feeds, 2));
}

static void read_values(problem *q, const char *name, float out[N]) {
  mica_tensor *tensor = mica_session_parameter(q->session, name);
  ck_assert_msg(tensor != NULL, "no parameter %s", name);
  ck_ok(mica_tensor_download(test_queue(), tensor, out, N * sizeof *out));
}

static void begin(reference *r) {
  *r = (reference){0};
  for (int w = 0; w < 2; w++)
    for (int i = 0; i < N; i++) r->p[w][i] = 0.25;
}

static double gradient(const reference *r, int w, int i) { return pull(w, i) * (r->p[w][i] - goal(w, i)); }

/* One element by the formulas of mica/optim.h. */
static void advance(const mica_optimizer_config *c, double rate, int t, double g, double decay, double *p, double *a,
                    double *b) {
  bool decoupled = c->optimizer == MICA_OPTIMIZER_ADAMW || c->optimizer == MICA_OPTIMIZER_LION;
  double before = *p;
  if (!decoupled) g += decay * before;
  switch (c->optimizer) {
  case MICA_OPTIMIZER_SGD:
    *a = c->momentum * *a + g;
    *p -= rate * (c->nesterov ? g + c->momentum * *a : *a);
    break;
  case MICA_OPTIMIZER_ADAM:
  case MICA_OPTIMIZER_ADAMW:
    *a = c->beta1 * *a + (1 - c->beta1) * g;
    *b = c->beta2 * *b + (1 - c->beta2) * g * g;
    *p -= rate * (*a / (1 - pow(c->beta1, t))) / (sqrt(*b / (1 - pow(c->beta2, t))) + c->epsilon);
    break;
  case MICA_OPTIMIZER_RMSPROP:
    *b = c->beta2 * *b + (1 - c->beta2) * g * g;
    *a = c->momentum * *a + g / (sqrt(*b) + c->epsilon);
    *p -= rate * *a;
    break;
  case MICA_OPTIMIZER_ADAGRAD:
    *b += g * g;
    *p -= rate * g / (sqrt(*b) + c->epsilon);
    break;
  case MICA_OPTIMIZER_LION: {
    double towards = c->beta1 * *a + (1 - c->beta1) * g;
    *p -= rate * ((towards > 0) - (towards < 0));
    *a = c->beta2 * *a + (1 - c->beta2) * g;
    break;
  }
  }
  if (decoupled) *p -= rate * decay * before;
}

static void expect(problem *q, const char *prefix, double p[2][N], double tolerance) {
  for (int w = 0; w < 2; w++) {
    float got[N];
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, w ? "vector" : "matrix");
    read_values(q, name, got);
    for (int i = 0; i < N; i++)
      ck_assert_msg(fabs((double)got[i] - p[w][i]) <= tolerance, "%s[%d] is %.9g, not %.9g", name, i, (double)got[i],
                    p[w][i]);
  }
}

/* p is of the order of 1 and takes a few roundings a step; Adam's quotients lose a little more. */
#define TOLERANCE (STEPS * 0x1p-21)

static void against_reference(const mica_optimizer_config *c) {
  problem q;
  reference r;
  make(&q, c);
  begin(&r);
  for (int t = 1; t <= STEPS; t++) {
    double rate = 0.05 / t;
    step(&q, rate, 1);
    for (int w = 0; w < 2; w++)
      for (int i = 0; i < N; i++)
        advance(c, rate, t, gradient(&r, w, i), w && !c->decay_all ? 0 : c->weight_decay, &r.p[w][i], &r.a[w][i],
                &r.b[w][i]);
  }
  expect(&q, "", r.p, TOLERANCE);
  unmake(&q);
}

START_TEST(every_optimizer) {
  for (int k = 0; k <= MICA_OPTIMIZER_LION; k++)
    for (int variant = 0; variant < 4; variant++) {
      mica_optimizer_config c = mica_optimizer_config_default((mica_optimizer)k);
      c.weight_decay = variant & 1 ? 0.1 : 0;
      c.decay_all = variant == 3;
      c.momentum = variant >= 2 ? 0.9 : 0;
      c.nesterov = variant == 3;
      against_reference(&c);
    }
}
END_TEST

START_TEST(clipping) {
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_SGD);
  problem q;
  reference r;
  c.clip_norm = 0.3;
  c.clip_value = 0.05;
  make(&q, &c);
  begin(&r);
  for (int t = 1; t <= STEPS; t++) {
    double square = 0;
    step(&q, 0.5, 1);
    for (int k = 0; k < 2 * N; k++) square += pow(gradient(&r, k / N, k % N), 2);
    double share = fmin(1, c.clip_norm / (sqrt(square) + 1e-6));
    for (int k = 0; k < 2 * N; k++) {
      double g = fmax(-c.clip_value, fmin(c.clip_value, share * gradient(&r, k / N, k % N)));
      r.p[k / N][k % N] -= 0.5 * g;
    }
  }
  expect(&q, "", r.p, TOLERANCE);
  unmake(&q);
}
END_TEST

START_TEST(accumulation) {
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  problem q;
  reference r;
  c.accumulate = 3;
  make(&q, &c);
  begin(&r);
  for (int t = 1; t <= 4; t++) {
    for (int run = 0; run < 3; run++) step(&q, 0.05, run + 1);
    for (int w = 0; w < 2; w++)
      for (int i = 0; i < N; i++) advance(&c, 0.05, t, 2 * gradient(&r, w, i), 0, &r.p[w][i], &r.a[w][i], &r.b[w][i]);
    expect(&q, "", r.p, TOLERANCE);
  }
  step(&q, 0.05, 1);
  expect(&q, "", r.p, TOLERANCE);
  unmake(&q);
}
END_TEST

START_TEST(moving_averages) {
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_SGD);
  problem q;
  reference r, mean;
  c.ema = 0.8;
  make(&q, &c);
  begin(&r);
  begin(&mean);
  for (int t = 1; t <= STEPS; t++) {
    step(&q, 0.3, 1);
    for (int k = 0; k < 2 * N; k++) {
      double *p = &r.p[k / N][k % N], *a = &mean.p[k / N][k % N];
      *p -= 0.3 * gradient(&r, k / N, k % N);
      *a = 0.8 * *a + (1 - 0.8) * *p;
    }
  }
  expect(&q, "", r.p, TOLERANCE);
  expect(&q, "ema.", mean.p, TOLERANCE);
  unmake(&q);
}
END_TEST

static double loss_scale(problem *q) {
  float value = 0;
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(q->session, 1), &value, sizeof value));
  return (double)value;
}

/* A run whose gradients overflow changes nothing but the scale, and does not count as a step. */
START_TEST(loss_scaling) {
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  problem q;
  reference r;
  c.loss_scale = 1024;
  make(&q, &c);
  begin(&r);
  for (int run = 0, t = 0; run < STEPS; run++) {
    bool bad = run == 1 || run == 5;
    step(&q, 0.05, bad ? INFINITY : 1);
    ck_assert_double_eq(loss_scale(&q), 1024 / (run > 5 ? 4.0 : run > 1 ? 2.0 : 1.0));
    t += !bad;
    for (int w = 0; w < 2 && !bad; w++)
      for (int i = 0; i < N; i++) advance(&c, 0.05, t, gradient(&r, w, i), 0, &r.p[w][i], &r.a[w][i], &r.b[w][i]);
    expect(&q, "", r.p, TOLERANCE);
  }
  unmake(&q);
}
END_TEST

START_TEST(frozen_weights_stay) {
  problem q = {0};
  ck_ok(mica_graph_create(&q.graph));
  ck_ok(mica_nn_create(q.graph, NULL, &q.nn));
  mica_value x = mica_input(q.graph, "x", MICA_F32, MICA_SHAPE(2, 3));
  mica_value loss =
      mica_mean(mica_nn_dense(q.nn, "b", mica_nn_dense(q.nn, "a", x, 4, NULL), 1, NULL), MICA_ALL_AXES, false);
  size_t count = 0;
  ck_ok(mica_nn_freeze(q.nn, "a.*", true, &count));
  ck_assert_uint_eq(count, 2);
  ck_assert_int_eq(mica_nn_element_count(q.nn, false), 4 * 3 + 4 + 4 + 1);
  ck_assert_int_eq(mica_nn_element_count(q.nn, true), 4 + 1);
  mica_optimize(q.nn, loss, NULL, NULL);
  ck_ok(mica_session_create(test_engine(), q.graph, &loss, 1, NULL, &q.session));
  ck_ok(mica_nn_initialise(q.nn, q.session));
  float rate = 1, data[6] = {1, 2, 3, 4, 5, 6}, before[12], after[12], first[4], second[4];
  mica_tensor *x_tensor, *frozen = mica_session_parameter(q.session, "a.weight");
  mica_tensor *trained = mica_session_parameter(q.session, "b.weight");
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &rate, &q.rate));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 3), data, &x_tensor));
  ck_ok(mica_tensor_download(test_queue(), frozen, before, sizeof before));
  ck_ok(mica_tensor_download(test_queue(), trained, first, sizeof first));
  ck_ok(mica_session_run(q.session, test_queue(), (mica_feed[]){{"x", x_tensor}, {MICA_LEARNING_RATE, q.rate}}, 2));
  ck_ok(mica_tensor_download(test_queue(), frozen, after, sizeof after));
  ck_ok(mica_tensor_download(test_queue(), trained, second, sizeof second));
  ck_assert_mem_eq(before, after, sizeof before);
  ck_assert_mem_ne(first, second, sizeof first);
  mica_tensor_destroy(x_tensor);
  unmake(&q);
}
END_TEST

START_TEST(schedules) {
  mica_schedule_config s = {.kind = MICA_SCHEDULE_COSINE, .rate = 2, .steps = 110, .warmup = 10, .last = 0.1};
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 0), 0.2, 1e-12);
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 9), 2, 1e-12);
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 10), 2, 1e-12);
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 60), 1.1, 1e-12);
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 110), 0.2, 1e-12);
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 999), 0.2, 1e-12);
  s = (mica_schedule_config){.kind = MICA_SCHEDULE_STEP, .rate = 1, .every = 30, .gamma = 0.5};
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 29), 1, 1e-12);
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 60), 0.25, 1e-12);
  s = (mica_schedule_config){.kind = MICA_SCHEDULE_EXPONENTIAL, .rate = 1, .every = 2, .gamma = 0.25};
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 3), 0.125, 1e-12);
  s = (mica_schedule_config){.kind = MICA_SCHEDULE_LINEAR, .rate = 4, .steps = 8};
  ck_assert_double_eq_tol(mica_schedule_rate(&s, 2), 3, 1e-12);
  /* PyTorch's OneCycleLR(max_lr=1, total_steps=10) */
  static const double cycle[] = {
      0.04, 0.52, 1, 0.9504846321, 0.8117456539, 0.6112620219, 0.3887419781, 0.1882583461, 0.0495193679, 4e-6};
  s = (mica_schedule_config){.kind = MICA_SCHEDULE_ONE_CYCLE, .rate = 1, .steps = 10};
  for (int i = 0; i < 10; i++) ck_assert_double_eq_tol(mica_schedule_rate(&s, i), cycle[i], 1e-5);
}
END_TEST

START_TEST(plateau) {
  mica_plateau p = {.patience = 2, .factor = 0.5};
  ck_assert_double_eq(mica_plateau_note(&p, 1), 1);
  ck_assert_double_eq(mica_plateau_note(&p, 0.5), 1);
  ck_assert_double_eq(mica_plateau_note(&p, 0.5), 1);
  ck_assert_double_eq(mica_plateau_note(&p, 0.6), 1);
  ck_assert_double_eq(mica_plateau_note(&p, 0.7), 0.5);
  ck_assert_double_eq(mica_plateau_note(&p, 0.1), 0.5);
}
END_TEST

/* As ReduceLROnPlateau of PyTorch: NaN and the worst infinity are no improvements, the next number is one. */
START_TEST(plateau_after_no_number) {
  for (int rising = 0; rising < 2; rising++)
    for (int first = 0; first < 2; first++) {
      const double sign = rising ? -1 : 1;
      mica_plateau p = {.patience = 2, .factor = 0.5, .rising = rising};
      ck_assert_double_eq(mica_plateau_note(&p, first ? sign * INFINITY : NAN), 1);
      for (int i = 9; i > 0; i--) ck_assert_double_eq(mica_plateau_note(&p, sign * i), 1);
      ck_assert_double_eq(mica_plateau_note(&p, NAN), 1);
      ck_assert_double_eq(mica_plateau_note(&p, NAN), 1);
      ck_assert_double_eq(mica_plateau_note(&p, NAN), 0.5);
      ck_assert_double_eq(p.best, sign);
    }
  /* A checkpoint of before may hold a best of NaN. */
  mica_plateau kept = {.patience = 2, .factor = 0.5, .best = NAN, .share = 1, .noted = 5};
  for (int i = 9; i > 0; i--) ck_assert_double_eq(mica_plateau_note(&kept, i), 1);
}
END_TEST

START_TEST(names) {
  mica_optimizer found;
  mica_schedule kind;
  ck_ok(mica_optimizer_find("lion", &found));
  ck_assert_int_eq(found, MICA_OPTIMIZER_LION);
  ck_assert_str_eq(mica_optimizer_name(found), "lion");
  ck_assert_int_eq(mica_optimizer_find("sdg", &found), MICA_E_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "'sdg', only sgd, adam"));
  ck_ok(mica_schedule_find("one_cycle", &kind));
  ck_assert_str_eq(mica_schedule_name(kind), "one_cycle");
}
END_TEST

TESTS(DEVICE, NULL, NULL, every_optimizer, clipping, accumulation, moving_averages, loss_scaling, frozen_weights_stay,
      schedules, plateau, plateau_after_no_number, names)
