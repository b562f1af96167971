/* labels: device slow, shards: 8
 *
 * Every op, and its gradient, on the device through a session against the host in double: each element within the
 * bound that rounding allows (tests/support/interpret.h), of an op with a formula written out the formula's. With
 * gradients in f32 for all cases, and in f16, bf16 and f64 in turn, one of them a case; without, in every type that
 * the op takes: a sixth of the cases, or all of them where MICA_TEST_ALL is set, since a CPU's driver compiles each of
 * these kernels for about half a second. MICA_TEST_TYPES=f32 leaves out all but gradients in f32,
 * MICA_TEST_TYPES=others those. */
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
#include <string.h>

#define SEED UINT64_C(2026)
#define EVERY_TYPE_OF 6

static bool is_float(mica_value value) { return mica_dtype_kind_of(mica_value_dtype(value)) == MICA_DTYPE_KIND_FLOAT; }

/* Values of one graph that are computed on the device and on the host. */
#define MOST_OUTPUTS (MICA_DTYPE_COUNT + TEST_MAX_OPERANDS)
typedef struct run {
  test_instance instance;
  mica_value outputs[MOST_OUTPUTS], references[MOST_OUTPUTS]; /* a reference is an output, or that of the formula */
  char names[MOST_OUTPUTS][16];
  size_t output_count;
  mica_tensor *tensors[TEST_MAX_OPERANDS];
} run;

static void add_output(run *r, mica_value value, mica_value reference, const char *name) {
  snprintf(r->names[r->output_count], sizeof *r->names, "%s", name);
  r->references[r->output_count] = reference.graph ? reference : value;
  r->outputs[r->output_count++] = value;
}

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
  mica_value wrt[TEST_MAX_OPERANDS] = {{0}}, grads[TEST_MAX_OPERANDS], written[TEST_MAX_OPERANDS] = {{0}};
  size_t count = 0;
  for (size_t k = 0; k < r->instance.operand_count; k++)
    if (is_float(r->instance.operands[k])) wrt[count++] = r->instance.operands[k];
  if (count == 0 || !is_float(r->instance.y) || c->operands[0].special) return;
  mica_value loss = weighted_sum(r->instance.y);
  ck_assert_msg(mica_gradients(loss, wrt, count, grads) == MICA_OK, "%s: %s", c->name, mica_error_message());
  if (c->written_out)
    ck_assert_msg(mica_gradients(weighted_sum(r->instance.written_out), wrt, count, written) == MICA_OK, "%s: %s",
                  c->name, mica_error_message());
  for (size_t i = 0; i < count; i++) add_output(r, grads[i], written[i], "a gradient");
}

static void upload(run *r) {
  for (size_t k = 0; k < r->instance.operand_count; k++) {
    mica_value x = r->instance.operands[k];
    int64_t count = test_count(mica_value_shape(x));
    void *data = calloc((size_t)count + 1, mica_dtype_size(mica_value_dtype(x)));
    ck_assert_ptr_nonnull(data);
    for (int64_t i = 0; i < count; i++) mica__element_set(mica_value_dtype(x), data, i, r->instance.feeds[k][i]);
    ck_ok(mica_tensor_create_from(test_engine(), mica_value_dtype(x), mica_value_shape(x), data, &r->tensors[k]));
    free(data);
  }
}

static void run_free(run *r) {
  for (size_t k = 0; k < TEST_MAX_OPERANDS; k++) mica_tensor_destroy(r->tensors[k]);
  test_instance_free(&r->instance);
}

static bool has_f64(void) { return (mica_engine_device(test_engine())->features & MICA_FEATURE_FP64) != 0; }

/* True if the graph computes in double precision, which the device lacks, and the status says so. */
static bool refuses_doubles(const run *r, mica_status status) {
  const mica_graph *graph = r->instance.graph;
  if (status != MICA_E_UNSUPPORTED || !strstr(mica_error_message(), "no double precision")) return false;
  for (int32_t i = 0; i < graph->count && !has_f64(); i++)
    if (graph->nodes[i].type.dtype == MICA_F64) return true;
  return false;
}

static void compare_all(const test_case *c, run *r) {
  double **feeds = calloc((size_t)r->instance.graph->count + 1, sizeof *feeds);
  mica_feed given[TEST_MAX_OPERANDS];
  mica_session *session = NULL;
  char label[128];
  upload(r);
  ck_assert_ptr_nonnull(feeds);
  for (size_t k = 0; k < r->instance.operand_count; k++) {
    feeds[r->instance.operands[k].id - 1] = r->instance.feeds[k];
    given[k] = (mica_feed){mica_value_name(r->instance.operands[k]), r->tensors[k]};
  }
  test_values reference = test_interpret(r->instance.graph, feeds);
  snprintf(label, sizeof label, "%s fed as %s (seed %llu)", c->name,
           mica_dtype_name(mica_value_dtype(r->instance.operands[0])), (unsigned long long)SEED);
  mica_status status =
      mica_session_create(test_engine(), r->instance.graph, r->outputs, r->output_count, NULL, &session);
  if (status == MICA_OK) status = mica_session_run(session, test_queue(), given, r->instance.operand_count);
  const bool refused = refuses_doubles(r, status);
  ck_assert_msg(status == MICA_OK || refused, "%s: %s", label, mica_error_message());
  for (size_t i = 0; i < r->output_count && !refused; i++)
    test_expect(&reference, r->references[i], mica_session_output(session, i), label, r->names[i]);
  mica_session_destroy(session);
  test_values_free(&reference);
  free(feeds);
  run_free(r);
}

static void check_case(const test_case *c, mica_dtype dtype) {
  run r = {.instance = test_instance_make(c, dtype, SEED)};
  add_output(&r, r.instance.y, r.instance.written_out, "the result");
  add_gradients(c, &r);
  compare_all(c, &r);
}

static bool is_wanted(const char *types) {
  const char *wanted = getenv("MICA_TEST_TYPES");
  ck_assert(!wanted || !strcmp(wanted, "f32") || !strcmp(wanted, "others"));
  return !wanted || !strcmp(wanted, types);
}

START_TEST(agrees_with_the_host) {
  static const mica_dtype others[] = {MICA_F16, MICA_BF16, MICA_F64};
  size_t count = 0;
  const test_case *c = &test_cases(&count)[_i];
  if (!test_in_range((size_t)_i, count)) return;
  mica_dtype other = others[_i % 3];
  if (is_wanted("f32")) check_case(c, MICA_F32);
  if (is_wanted("others") && (other != MICA_F64 || has_f64())) check_case(c, other);
}
END_TEST

START_TEST(agrees_in_every_type) {
  static const mica_dtype fed[] = {MICA_BF16, MICA_F32, MICA_F16};
  size_t count = 0;
  const test_case *c = &test_cases(&count)[_i];
  if (!is_wanted("others") || !test_in_range((size_t)_i, count)) return;
  if (_i % EVERY_TYPE_OF && !getenv("MICA_TEST_ALL")) return;
  test_variants variants = test_variants_make(c, fed[_i % 3], has_f64(), SEED);
  run r = {.instance = variants.instance};
  for (size_t v = 0; v < variants.count; v++)
    add_output(&r, variants.y[v], variants.written_out[v], mica_dtype_name(variants.dtype[v]));
  compare_all(c, &r);
}
END_TEST

TESTS(DEVICE, NULL, NULL, BY_NAME(agrees_with_the_host, test_case_name, test_case_count()),
      BY_NAME(agrees_in_every_type, test_case_name, test_case_count()))
