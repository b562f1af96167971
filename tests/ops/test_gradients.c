/* labels: null single
 *
 * Every op's gradient against finite differences in a random direction, and the gradient of that gradient likewise, all
 * in double on the host. Ops that are differentiable once say so in an error; those with a formula written out have its
 * value and gradient. */
#include "ops/common/build.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/interpret.h"
#include "support/op_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(2026)

/* A case, and sums that make a number of it: `loss` of the result with fixed random factors, `slope` of the gradients
 * in a fixed random direction. */
typedef struct problem {
  test_instance instance;
  mica_value loss, slope;
  mica_value written_loss, written_slope; /* of the formula written out; null without one */
  double *direction[TEST_MAX_OPERANDS];   /* NULL for what is no floating operand */
  double **feeds;
} problem;

static bool is_float(mica_value value) { return mica_dtype_kind_of(mica_value_dtype(value)) == MICA_DTYPE_KIND_FLOAT; }

static double *random_values(mica_value value, uint64_t *state) {
  int64_t count = test_count(mica_value_shape(value));
  double *values = calloc((size_t)count + 1, sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < count; i++) values[i] = test_random(state, -1, 1);
  return values;
}

static mica_value dot_constant(mica_value value, const double *factors) {
  mica_value constant = mica_constant(value.graph, MICA_F64, mica_value_shape(value), factors);
  return mica_sum(mica_mul(value, constant), MICA_ALL_AXES, false);
}

/* Differentiates `loss` and sums the gradients along the direction. */
static mica_status try_slope(problem *p, mica_value loss, mica_value *slope) {
  mica_value wrt[TEST_MAX_OPERANDS] = {{0}}, grads[TEST_MAX_OPERANDS], sum = {0};
  size_t count = 0, which[TEST_MAX_OPERANDS];
  for (size_t k = 0; k < p->instance.operand_count; k++)
    if (p->direction[k]) {
      which[count] = k;
      wrt[count++] = p->instance.operands[k];
    }
  mica_status status = mica_gradients(loss, wrt, count, grads);
  if (status != MICA_OK) return status;
  for (size_t i = 0; i < count; i++) {
    ck_assert(mica_shape_equal(mica_value_shape(grads[i]), mica_value_shape(wrt[i])));
    mica_value part = dot_constant(grads[i], p->direction[which[i]]);
    sum = i ? mica_add(sum, part) : part;
  }
  *slope = sum;
  return MICA_OK;
}

static mica_value slope_of(problem *p, mica_value loss) {
  mica_value slope = {0};
  mica_status status = try_slope(p, loss, &slope);
  ck_assert_msg(status == MICA_OK, "gradient: %s", mica_error_message());
  return slope;
}

static problem problem_make(const test_case *c) {
  problem p = {.instance = test_instance_make(c, MICA_F64, SEED)};
  uint64_t state = SEED + 1;
  for (size_t k = 0; k < p.instance.operand_count; k++)
    if (is_float(p.instance.operands[k])) p.direction[k] = random_values(p.instance.operands[k], &state);
  double *factors = random_values(p.instance.y, &state);
  p.loss = dot_constant(mica_cast(p.instance.y, MICA_F64), factors);
  p.slope = slope_of(&p, p.loss);
  if (c->written_out) {
    p.written_loss = dot_constant(mica_cast(p.instance.written_out, MICA_F64), factors);
    p.written_slope = slope_of(&p, p.written_loss);
  }
  free(factors);
  return p;
}

static void problem_free(problem *p) {
  for (size_t k = 0; k < TEST_MAX_OPERANDS; k++) free(p->direction[k]);
  free(p->feeds);
  test_instance_free(&p->instance);
}

/* The values of two numbers of the graph with the operands moved by `step` along the direction. */
static void numbers_at(problem *p, double step, const mica_value *numbers, size_t count, double *out) {
  double *moved[TEST_MAX_OPERANDS] = {NULL};
  p->feeds = realloc(p->feeds, ((size_t)p->instance.graph->count + 1) * sizeof *p->feeds);
  ck_assert_ptr_nonnull(p->feeds);
  for (size_t k = 0; k < p->instance.operand_count; k++) {
    int64_t n = test_count(mica_value_shape(p->instance.operands[k]));
    moved[k] = calloc((size_t)n + 1, sizeof(double));
    ck_assert_ptr_nonnull(moved[k]);
    for (int64_t i = 0; i < n; i++)
      moved[k][i] = p->instance.feeds[k][i] + (p->direction[k] ? step * p->direction[k][i] : 0);
    p->feeds[p->instance.operands[k].id - 1] = moved[k];
  }
  for (int32_t id = (int32_t)p->instance.operand_count; id < p->instance.graph->count; id++) p->feeds[id] = NULL;
  test_values result = test_interpret(p->instance.graph, p->feeds);
  for (size_t i = 0; i < count; i++) out[i] = result.value[numbers[i].id - 1][0];
  test_values_free(&result);
  for (size_t k = 0; k < TEST_MAX_OPERANDS; k++) free(moved[k]);
}

/* bound: value and gradient of the op and of its formula are the same sums of some thousand terms in another order. */
#define SAME 1e-10

/* bound: the difference quotient is off by about h^2 of the third derivative and eps / h of the value, 1e-8 and 1e-11
 * of numbers that are sums of some hundred terms of order 1 to 100. */
#define STEP 1e-5
#define CLOSE 2e-6

/* The slope's slope; null where the op may be differentiable once alone and is, which mica_gradients says. */
static mica_value curvature_of(const test_case *c, problem *p) {
  mica_value curvature = {0};
  if (!c->once && !c->written_out) return slope_of(p, p->slope);
  problem other = problem_make(c); /* a graph that failed stays so */
  mica_status status = try_slope(&other, other.slope, &curvature);
  bool named =
      strstr(mica_error_message(), " has no gradient, ") && strstr(mica_error_message(), "the loss depends on ");
  problem_free(&other);
  ck_assert_msg(status == MICA_OK ? !c->once : status == MICA_E_UNSUPPORTED && named, "%s: second gradient: %s: %s",
                c->name, mica_status_name(status), mica_error_message());
  return status == MICA_OK ? slope_of(p, p->slope) : (mica_value){0};
}

static void compare_written(const test_case *c, const char *what, double value, double want) {
  ck_assert_msg(fabs(value - want) <= SAME * (1 + fabs(want)), "%s (seed %llu): %s is %.17g, by the formula %.17g",
                c->name, (unsigned long long)SEED, what, value, want);
}

static void compare(const test_case *c, const char *what, double exact, double quotient) {
  double scale = 1 + fabs(exact) + fabs(quotient);
  ck_assert_msg(fabs(exact - quotient) <= CLOSE * scale, "%s (seed %llu): %s is %.9g, finite differences give %.9g",
                c->name, (unsigned long long)SEED, what, exact, quotient);
}

START_TEST(agrees_with_finite_differences) {
  size_t count = 0;
  const test_case *c = &test_cases(&count)[_i];
  if (c->operands[0].special) return;
  test_instance probe = test_instance_make(c, MICA_F64, SEED);
  bool differentiable = is_float(probe.y);
  bool any = false;
  for (size_t k = 0; k < probe.operand_count; k++) any = any || is_float(probe.operands[k]);
  test_instance_free(&probe);
  if (!differentiable || !any) return;
  problem p = problem_make(c);
  mica_value curvature = curvature_of(c, &p);
  mica_value numbers[5] = {p.loss, p.slope, curvature};
  double here[5], before[5], after[5];
  size_t of_op = curvature.graph ? 3 : 2, all = of_op;
  if (c->written_out) {
    numbers[all++] = p.written_loss;
    numbers[all++] = p.written_slope;
  }
  numbers_at(&p, 0, numbers, all, here);
  numbers_at(&p, -STEP, numbers, of_op, before);
  numbers_at(&p, STEP, numbers, of_op, after);
  compare(c, "the gradient", here[1], (after[0] - before[0]) / (2 * STEP));
  if (curvature.graph) compare(c, "the second gradient", here[2], (after[1] - before[1]) / (2 * STEP));
  if (c->written_out) {
    compare_written(c, "the value", here[0], here[of_op]);
    compare_written(c, "the gradient", here[1], here[of_op + 1]);
  }
  problem_free(&p);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, BY_NAME(agrees_with_finite_differences, test_case_name, test_case_count()))
