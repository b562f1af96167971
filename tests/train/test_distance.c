/* labels: device single
 *
 * How far answers are from a teacher's: each kind against its formula in double, written out here, with and without
 * weights and counts, and its gradient against differences of that formula; a teacher that agrees is at no distance. */
#include "support/check_main.h"
#include "support/engine.h"
#include "train/distance.h"

#include <math.h>
#include <mica/mica.h>
#include <string.h>

#define MOST 64

/* --- the formulas --- */

typedef struct sample {
  mica_answer_kind kind;
  mica_shape shape, weighed; /* of values, and of weights */
  double temperature;
  bool weights, count;
  double q[MOST], p[MOST], weight[MOST], divisor;
} sample;

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* sum softmax(p / T) (log softmax(p / T) - log softmax(q / T)) over `classes` elements at a stride. */
static double of_classes(const double *q, const double *p, int64_t classes, int64_t stride, double t) {
  double own = 0, taught = 0, sum = 0;
  for (int64_t c = 0; c < classes; c++) own += exp(q[c * stride] / t), taught += exp(p[c * stride] / t);
  for (int64_t c = 0; c < classes; c++) {
    const double share = exp(p[c * stride] / t) / taught;
    sum += share * (log(share) - log(exp(q[c * stride] / t) / own));
  }
  return t * t * sum;
}

static double of_labels(double q, double p, double t, bool rare) {
  const double a = 1 / (1 + exp(-q / t)), b = 1 / (1 + exp(-p / t));
  const double kl = b * log(b / a) + (1 - b) * log((1 - b) / (1 - a));
  return t * t * kl * (rare ? (a - b) * (a - b) : 1);
}

static double area(const double *b) { return (b[2] - b[0]) * (b[3] - b[1]); }

static double of_boxes(const double *q, const double *p) {
  const double w = fmin(q[2], p[2]) - fmax(q[0], p[0]), h = fmin(q[3], p[3]) - fmax(q[1], p[1]);
  const double common = w > 0 && h > 0 ? w * h : 0, both = area(q) + area(p) - common;
  const double hull = (fmax(q[2], p[2]) - fmin(q[0], p[0])) * (fmax(q[3], p[3]) - fmin(q[1], p[1]));
  return 1 - (common / both - (hull - both) / hull);
}

/* The distance of element i of those that a weight stands for. */
static double each(const sample *s, int64_t i) {
  const int64_t inner = s->shape.rank == 3 ? s->shape.dim[2] : 1, classes = s->shape.dim[1];
  const int64_t first = i / inner * classes * inner + i % inner;
  switch (s->kind) {
  case MICA_ANSWER_KIND_CLASSES: return of_classes(s->q + first, s->p + first, classes, inner, s->temperature);
  case MICA_ANSWER_KIND_BOXES: return of_boxes(s->q + 4 * i, s->p + 4 * i);
  case MICA_ANSWER_KIND_NUMBERS: return pow(s->q[i] - s->p[i], 2);
  default: return of_labels(s->q[i], s->p[i], s->temperature, s->kind == MICA_ANSWER_KIND_RARE_LABELS);
  }
}

static double formula(const sample *s) {
  const int64_t count = count_of(s->weighed);
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < count; i++) {
    const double weight = s->weights ? s->weight[i] : 1;
    sum += weight * each(s, i);
    weights += weight;
  }
  return sum / (s->count ? s->divisor : weights);
}

/* --- the graph --- */

static mica_tensor *upload(mica_shape shape, const double *numbers) {
  mica_tensor *tensor = NULL;
  float copy[MOST];
  for (int64_t i = 0; i < count_of(shape); i++) copy[i] = (float)numbers[i];
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, copy, &tensor));
  return tensor;
}

/* The distance, and its gradient by q; the student's weight is another one than the teacher's, which counts. */
static double run(const sample *s, float *gradient) {
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_value outputs[2];
  float distance = 0;
  ck_ok(mica_graph_create(&graph));
  mica_value q = mica_input(graph, "q", MICA_F32, s->shape);
  mica_answer student = {.kind = s->kind, .value = q};
  mica_answer teacher = {.kind = s->kind, .value = mica_input(graph, "p", MICA_F32, s->shape)};
  if (s->weights) {
    teacher.weight = mica_input(graph, "weight", MICA_F32, s->weighed);
    student.weight = mica_full(graph, MICA_F32, s->weighed, 3);
  }
  if (s->count) student.count = mica_full(graph, MICA_F32, MICA_SCALAR, s->divisor);
  outputs[0] = mica__answer_distance(&student, &teacher, s->temperature);
  ck_ok(mica_gradients(outputs[0], &q, 1, &outputs[1]));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
  const mica_feed feeds[] = {
      {"q", upload(s->shape, s->q)}, {"p", upload(s->shape, s->p)}, {"weight", upload(s->weighed, s->weight)}};
  ck_ok(mica_session_run(session, test_queue(), feeds, s->weights ? 3 : 2));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &distance, sizeof distance));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 1), gradient,
                             (size_t)count_of(s->shape) * sizeof *gradient));
  mica_session_destroy(session);
  for (int i = 0; i < 3; i++) mica_tensor_destroy((mica_tensor *)feeds[i].tensor);
  mica_graph_destroy(graph);
  return (double)distance;
}

/* --- cases --- */

static double uniform(uint32_t *state, double low, double high) {
  *state = *state * 1664525u + 1013904223u;
  return low + (high - low) * (double)(*state >> 8) * 0x1p-24;
}

/* Numbers that f32 holds, so that the formula has the graph's operands. */
static double drawn(uint32_t *state, double low, double high) { return (double)(float)uniform(state, low, high); }

static void fill(sample *s, uint32_t seed) {
  const int64_t count = count_of(s->shape);
  uint32_t state = seed;
  for (int64_t i = 0; i < count; i++) {
    const bool corner = s->kind == MICA_ANSWER_KIND_BOXES && i % 4 > 1;
    s->q[i] = corner ? (double)(float)(s->q[i - 2] + uniform(&state, 2, 6)) : drawn(&state, -4, 4);
    s->p[i] = corner ? (double)(float)(s->p[i - 2] + uniform(&state, 2, 6)) : drawn(&state, -4, 4);
  }
  for (int64_t i = 0; i < count_of(s->weighed); i++) s->weight[i] = i % 3 == 1 ? 0 : drawn(&state, 0, 2);
  s->divisor = 7;
}

#define NEAR 2e-5 /* of f32 sums of 30 terms, times 16 of T^2 */

static void check(sample *s) {
  float gradient[MOST], none[MOST];
  const double is = run(s, gradient), want = formula(s), step = 1e-5;
  ck_assert_msg(fabs(is - want) <= NEAR * fmax(1, fabs(want)), "kind %d: %.9g, not %.9g", (int)s->kind, is, want);
  for (int64_t i = 0; i < count_of(s->shape); i++) {
    const double q = s->q[i];
    s->q[i] = q + step;
    const double above = formula(s);
    s->q[i] = q - step;
    const double slope = (above - formula(s)) / (2 * step);
    s->q[i] = q;
    ck_assert_msg(fabs((double)gradient[i] - slope) <= NEAR * fmax(1, fabs(slope)),
                  "kind %d, element %d: %.9g, not %.9g", (int)s->kind, (int)i, (double)gradient[i], slope);
  }
  memcpy(s->p, s->q, sizeof s->p);
  ck_assert_msg(fabs(run(s, none)) <= NEAR, "kind %d: not 0 where both agree", (int)s->kind);
}

static const struct {
  mica_answer_kind kind;
  mica_shape shape, weighed;
} kinds[] = {
    {MICA_ANSWER_KIND_CLASSES, {2, {6, 7}}, {1, {6}}},
    {MICA_ANSWER_KIND_CLASSES, {3, {3, 4, 5}}, {2, {3, 5}}},
    {MICA_ANSWER_KIND_LABELS, {2, {5, 6}}, {2, {5, 6}}},
    {MICA_ANSWER_KIND_RARE_LABELS, {3, {2, 3, 5}}, {3, {2, 3, 5}}},
    {MICA_ANSWER_KIND_NUMBERS, {3, {2, 4, 3}}, {3, {2, 4, 3}}},
    {MICA_ANSWER_KIND_BOXES, {3, {2, 5, 4}}, {2, {2, 5}}},
};

START_TEST(formulas) {
  const size_t i = (size_t)_i / 8;
  static const double temperatures[] = {1, 4};
  sample s = {.kind = kinds[i].kind,
              .shape = kinds[i].shape,
              .weighed = kinds[i].weighed,
              .temperature = temperatures[_i & 1],
              .weights = _i >> 1 & 1,
              .count = _i >> 2 & 1};
  fill(&s, 17u + (uint32_t)i);
  check(&s);
}
END_TEST

/* Nothing counts: no distance and no gradient, not 0 / 0. */
START_TEST(no_weight_is_no_distance) {
  float gradient[MOST];
  sample s = {
      .kind = MICA_ANSWER_KIND_CLASSES, .shape = {2, {6, 7}}, .weighed = {1, {6}}, .temperature = 2, .weights = true};
  fill(&s, 3);
  memset(s.weight, 0, sizeof s.weight);
  ck_assert(run(&s, gradient) == 0);
  for (int i = 0; i < 42; i++) ck_assert(gradient[i] == 0);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(formulas, 0, (int)(sizeof kinds / sizeof *kinds) * 8), no_weight_is_no_distance)
