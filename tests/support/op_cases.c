#include "support/op_cases.h"

#include "base/element.h"
#include "ir/graph.h"
#include "support/interpret.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The families, which CMake lists: tests/ops/cases/<family>.def. */
#define FAMILY(name) void test_family_##name(void (*add)(const test_case *c));
#include "generated/case_families.h"
#undef FAMILY

#define MAX_CASES 1024

static test_case cases[MAX_CASES];
static size_t case_count;

static void add_case(const test_case *c) {
  if (case_count == MAX_CASES) abort();
  cases[case_count++] = *c;
}

const test_case *test_cases(size_t *count) {
  static void (*const families[])(void (*add)(const test_case *c)) = {
#define FAMILY(name) test_family_##name,
#include "generated/case_families.h"
#undef FAMILY
  };
  if (case_count == 0)
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) families[k](add_case);
  *count = case_count;
  return cases;
}

size_t test_case_count(void) {
  size_t count = 0;
  test_cases(&count);
  return count;
}

const char *test_case_name(int i) { return cases[i].name; }

/* splitmix64 */
double test_random(uint64_t *state, double low, double high) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return low + (high - low) * ((double)((z ^ z >> 31) >> 11) * 0x1p-53);
}

static double *make_values(const test_operand *operand, mica_dtype dtype, uint64_t *state) {
  static const double specials[] = {0,   -0.0, INFINITY, -INFINITY, NAN,  1,   -1,    88,  -88,
                                    1e4, -1e4, 1e-3,     0.5,       -0.5, 1e8, -1e30, 1e-7};
  int64_t count = test_count(operand->shape);
  double *values = calloc((size_t)count + 1, sizeof *values);
  unsigned char element[8] = {0};
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < count; i++) {
    double value = test_random(state, operand->low, operand->high);
    if (operand->special && (size_t)i < sizeof specials / sizeof *specials) value = specials[i];
    bool floating = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT;
    mica__element_set(dtype, element, 0, floating ? value : floor(value + (dtype == MICA_BOOL ? 0.5 : 0)));
    values[i] = mica__element_get(dtype, element, 0);
  }
  return values;
}

static bool is_used(const test_operand *operand) { return operand->low != 0 || operand->high != 0; }

/* The graph with the case's operands, and their values. */
static test_instance instance_of(const test_case *c, mica_dtype dtype, uint64_t seed) {
  test_instance instance = {0};
  uint64_t state = seed;
  ck_assert_int_eq(mica_graph_create(&instance.graph), MICA_OK);
  for (size_t k = 0; k < TEST_MAX_OPERANDS && is_used(&c->operands[k]); k++) {
    char name[8];
    mica_dtype own = c->operands[k].dtype == MICA_F32 ? dtype : c->operands[k].dtype;
    snprintf(name, sizeof name, "x%zu", k);
    instance.operands[k] = mica_input(instance.graph, name, own, c->operands[k].shape);
    instance.feeds[k] = make_values(&c->operands[k], own, &state);
    instance.operand_count++;
  }
  return instance;
}

/* The case's formula in small ops, of the type and shape of y; null where it has none. */
static mica_value write_out(const test_case *c, mica_graph *graph, const mica_value *x, mica_value y) {
  if (!c->written_out) return (mica_value){0};
  mica_value written = c->written_out(graph, x);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s, written out: %s", c->name, mica_graph_message(graph));
  ck_assert_msg(mica_value_dtype(written) == mica_value_dtype(y), "%s: the formula has another type", c->name);
  ck_assert_msg(mica_shape_equal(mica_value_shape(written), mica_value_shape(y)), "%s: the formula has another shape",
                c->name);
  return written;
}

test_instance test_instance_make(const test_case *c, mica_dtype dtype, uint64_t seed) {
  test_instance instance = instance_of(c, dtype, seed);
  instance.y = c->build(instance.graph, instance.operands);
  ck_assert_msg(mica_graph_status(instance.graph) == MICA_OK, "%s: %s", c->name, mica_graph_message(instance.graph));
  ck_assert_msg(!mica_value_is_null(instance.y), "%s: the null value", c->name);
  instance.written_out = write_out(c, instance.graph, instance.operands, instance.y);
  return instance;
}

/* True when the operand changes its type among the variants. */
static bool is_varied(const test_case *c, size_t k) {
  bool any_float = false;
  for (size_t i = 0; i < TEST_MAX_OPERANDS; i++)
    any_float = any_float || (is_used(&c->operands[i]) && c->operands[i].dtype == MICA_F32);
  return any_float ? c->operands[k].dtype == MICA_F32 : c->operands[k].dtype != MICA_BOOL;
}

/* True when the op takes operands of that type; tried in a graph of its own, which may fail. */
static bool takes(const test_case *c, mica_dtype dtype) {
  mica_value x[TEST_MAX_OPERANDS] = {{0}};
  mica_graph *graph;
  ck_assert_int_eq(mica_graph_create(&graph), MICA_OK);
  for (size_t k = 0; k < TEST_MAX_OPERANDS && is_used(&c->operands[k]); k++) {
    char name[8];
    snprintf(name, sizeof name, "x%zu", k);
    x[k] = mica_input(graph, name, is_varied(c, k) ? dtype : c->operands[k].dtype, c->operands[k].shape);
  }
  bool taken = !mica_value_is_null(c->build(graph, x)) && mica_graph_status(graph) == MICA_OK;
  mica_graph_destroy(graph);
  return taken;
}

/* True where u64 would hold what no double does: negative numbers wrap (tests/ops/test_unsigned.c has them). */
static bool leaves_doubles(const test_case *c, mica_dtype dtype) {
  bool leaves = false;
  for (size_t k = 0; k < TEST_MAX_OPERANDS && is_used(&c->operands[k]); k++)
    leaves = leaves || (is_varied(c, k) && c->operands[k].low < 0);
  return dtype == MICA_U64 && leaves;
}

/* To what bf16 and f16 hold both. */
static void round_for_all(double *values, int64_t count) {
  unsigned char element[8] = {0};
  for (int64_t i = 0; i < count; i++) {
    mica__element_set(MICA_BF16, element, 0, values[i]);
    mica__element_set(MICA_F16, element, 0, mica__element_get(MICA_BF16, element, 0));
    values[i] = mica__element_get(MICA_F16, element, 0);
  }
}

test_variants test_variants_make(const test_case *c, mica_dtype fed, bool has_f64, uint64_t seed) {
  test_variants variants = {.instance = instance_of(c, fed, seed)};
  test_instance *instance = &variants.instance;
  for (size_t k = 0; k < instance->operand_count; k++)
    if (c->operands[k].dtype == MICA_F32) round_for_all(instance->feeds[k], test_count(c->operands[k].shape));
  for (int d = 0; d < MICA_DTYPE_COUNT; d++) {
    mica_value x[TEST_MAX_OPERANDS] = {{0}};
    bool floating = mica_dtype_kind_of((mica_dtype)d) == MICA_DTYPE_KIND_FLOAT;
    if ((d == MICA_F64 && !has_f64) || (!floating && c->operands[0].special)) continue;
    if (leaves_doubles(c, (mica_dtype)d) || !takes(c, (mica_dtype)d)) continue;
    for (size_t k = 0; k < instance->operand_count; k++)
      x[k] = is_varied(c, k) ? mica_cast(instance->operands[k], (mica_dtype)d) : instance->operands[k];
    variants.dtype[variants.count] = (mica_dtype)d;
    mica_value y = variants.y[variants.count] = c->build(instance->graph, x);
    variants.written_out[variants.count++] = write_out(c, instance->graph, x, y);
  }
  ck_assert_msg(mica_graph_status(instance->graph) == MICA_OK, "%s: %s", c->name, mica_graph_message(instance->graph));
  ck_assert_msg(variants.count > 0, "%s takes no type", c->name);
  return variants;
}

void test_instance_free(test_instance *instance) {
  mica_graph_destroy(instance->graph);
  for (size_t k = 0; k < sizeof instance->feeds / sizeof *instance->feeds; k++) free(instance->feeds[k]);
  *instance = (test_instance){0};
}
