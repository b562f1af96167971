/* labels: device slow, shards: 6
 *
 * Every op, and its gradient, on the device through a session against the host in double: each element within the
 * bound that rounding allows (tests/support/interpret.h). f32 for all cases; f16, bf16 and f64 in turn, one of them a
 * case. */
#include "base/element.h"
#include "ir/graph.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/interpret.h"
#include "support/op_cases.h"

#include <math.h>
#include <mica/session.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED UINT64_C(2026)

static bool is_float(mica_value value) { return mica_dtype_kind_of(mica_value_dtype(value)) == MICA_KIND_FLOAT; }

/* The result and, where there are any, the gradients of its sum weighted by fixed factors. */
typedef struct run {
  test_instance instance;
  mica_value outputs[1 + TEST_MAX_OPERANDS];
  size_t output_count;
  mica_tensor *tensors[TEST_MAX_OPERANDS];
} run;

static mica_value weighted_sum(mica_value y) {
  mica_shape shape = mica_value_shape(y);
  int64_t count = test_count(shape);
  size_t size = mica_dtype_size(mica_value_dtype(y));
  void *factors = calloc((size_t)count + 1, size);
  ck_assert_ptr_nonnull(factors);
  for (int64_t i = 0; i < count; i++)
    mica__element_set(mica_value_dtype(y), factors, i, (double)(i % 5) * 0.25 - 0.375);
  mica_value constant = mica_constant(y.graph, mica_value_dtype(y), shape, factors);
  free(factors);
  return mica_sum(mica_mul(y, constant), MICA_ALL_AXES, false);
}

static void add_gradients(const test_case *c, run *r) {
  mica_value wrt[TEST_MAX_OPERANDS] = {{0}}, grads[TEST_MAX_OPERANDS];
  size_t count = 0;
  for (size_t k = 0; k < r->instance.operand_count; k++)
    if (is_float(r->instance.operands[k])) wrt[count++] = r->instance.operands[k];
  if (count == 0 || !is_float(r->instance.y) || c->operands[0].special) return;
  mica_value loss = weighted_sum(r->instance.y);
  ck_assert_msg(mica_gradients(loss, wrt, count, grads) == MICA_OK, "%s: %s", c->name, mica_error_message());
  for (size_t i = 0; i < count; i++) r->outputs[r->output_count++] = grads[i];
}

static run run_make(const test_case *c, mica_dtype dtype) {
  run r = {.instance = test_instance_make(c, dtype, SEED)};
  r.outputs[r.output_count++] = r.instance.y;
  add_gradients(c, &r);
  for (size_t k = 0; k < r.instance.operand_count; k++) {
    mica_value x = r.instance.operands[k];
    int64_t count = test_count(mica_value_shape(x));
    void *data = calloc((size_t)count + 1, mica_dtype_size(mica_value_dtype(x)));
    ck_assert_ptr_nonnull(data);
    for (int64_t i = 0; i < count; i++) mica__element_set(mica_value_dtype(x), data, i, r.instance.feeds[k][i]);
    ck_ok(mica_tensor_create_from(test_engine(), mica_value_dtype(x), mica_value_shape(x), data, &r.tensors[k]));
    free(data);
  }
  return r;
}

static void run_free(run *r) {
  for (size_t k = 0; k < TEST_MAX_OPERANDS; k++) mica_tensor_destroy(r->tensors[k]);
  test_instance_free(&r->instance);
}

static void compare(const test_case *c, const run *r, size_t output, const mica_tensor *got,
                    const test_values *reference) {
  mica_dtype dtype = mica_tensor_dtype(got);
  const double *want = reference->value[r->outputs[output].id - 1],
               *bound = reference->bound[r->outputs[output].id - 1];
  void *data = malloc(mica_tensor_bytes(got) + 1);
  char what[32] = "the result";
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), got, data, mica_tensor_bytes(got)));
  ck_assert(mica_shape_equal(mica_tensor_shape(got), mica_value_shape(r->outputs[output])));
  if (output) snprintf(what, sizeof what, "gradient %zu", output);
  for (int64_t i = 0; i < mica_tensor_count(got); i++) {
    double value = mica__element_get(dtype, data, i);
    bool right = value == want[i] || (isnan(value) && isnan(want[i])) || fabs(value - want[i]) <= bound[i];
    ck_assert_msg(right, "%s %s (seed %llu): element %lld of %s is %.9g, should be %.9g within %.3g", c->name,
                  mica_dtype_name(r->instance.operand_count ? mica_value_dtype(r->instance.operands[0]) : dtype),
                  (unsigned long long)SEED, (long long)i, what, value, want[i], bound[i]);
  }
  free(data);
}

static void check_case(const test_case *c, mica_dtype dtype) {
  run r = run_make(c, dtype);
  double **feeds = calloc((size_t)r.instance.graph->count + 1, sizeof *feeds);
  mica_feed given[TEST_MAX_OPERANDS];
  mica_session *session = NULL;
  ck_assert_ptr_nonnull(feeds);
  for (size_t k = 0; k < r.instance.operand_count; k++) {
    feeds[r.instance.operands[k].id - 1] = r.instance.feeds[k];
    given[k] = (mica_feed){mica_value_name(r.instance.operands[k]), r.tensors[k]};
  }
  test_values reference = test_interpret(r.instance.graph, feeds);
  ck_assert_msg(mica_session_create(test_engine(), r.instance.graph, r.outputs, r.output_count, NULL, &session) ==
                    MICA_OK,
                "%s %s: %s", c->name, mica_dtype_name(dtype), mica_error_message());
  ck_assert_msg(mica_session_run(session, test_queue(), given, r.instance.operand_count) == MICA_OK, "%s %s: %s",
                c->name, mica_dtype_name(dtype), mica_error_message());
  for (size_t i = 0; i < r.output_count; i++) compare(c, &r, i, mica_session_output(session, i), &reference);
  mica_session_destroy(session);
  test_values_free(&reference);
  free(feeds);
  run_free(&r);
}

START_TEST(agrees_with_the_host) {
  static const mica_dtype others[] = {MICA_F16, MICA_BF16, MICA_F64};
  size_t count = 0;
  const test_case *c = &test_cases(&count)[_i];
  if (!test_in_shard((size_t)_i)) return;
  mica_dtype other = others[_i % 3];
  bool has_other = other != MICA_F64 || mica_engine_device(test_engine())->features & MICA_FEATURE_FP64;
  check_case(c, MICA_F32);
  if (has_other) check_case(c, other);
}
END_TEST

Suite *test_suite(void) {
  size_t count = 0;
  if (!test_engine()) return test_skip("no device");
  const test_case *cases = test_cases(&count);
  Suite *suite = suite_create("on_device");
  for (size_t i = 0; i < count; i++) {
    TCase *each = tcase_create(cases[i].name);
    tcase_add_loop_test(each, agrees_with_the_host, (int)i, (int)i + 1);
    suite_add_tcase(suite, each);
  }
  return suite;
}
