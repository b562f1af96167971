/* tests/support/op_case_unit.h: how a row of tests/ops/cases/<family>.def becomes a test_case. CMake writes a unit a
 * family, which defines TEST_FAMILY and TEST_FAMILY_FILE and includes this file.
 *
 *   CASE(name, what is built from a to h and `graph`, operands)
 *   AGREES(name, what is built, the same written out in small ops, operands)
 *       for functions that are no sums and products (attention, gates): value and gradient of the op lie within the
 *       bound of the formula, and are it but for rounding in double
 *   ONCE(name, what is built, operands)
 *       a CASE that is differentiable once; its second gradient must fail and say so (AGREES takes either)
 *
 * Operands: F(low, high, dims...) floating, X(dims...) floating with special values, I(low, high, dims...) i64,
 * N(low, high, dims...) i32, B(dims...) bool, FS(low, high) and IS(low, high) scalars. A row may take several lines;
 * what is longer than an expression is a function of support/op_case_helpers.h. */
#include "support/op_case_helpers.h"
#include "support/op_cases.h"

#include <math.h>
#include <mica/mica.h>

#define F(from, to, ...)                                                                                               \
  { .dtype = MICA_F32, .low = from, .high = to, .shape = MICA_SHAPE(__VA_ARGS__) }
#define X(...)                                                                                                         \
  { .dtype = MICA_F32, .low = -3, .high = 3, .shape = MICA_SHAPE(__VA_ARGS__), .special = true }
#define I(from, to, ...)                                                                                               \
  { .dtype = MICA_I64, .low = from, .high = to, .shape = MICA_SHAPE(__VA_ARGS__) }
#define N(from, to, ...)                                                                                               \
  { .dtype = MICA_I32, .low = from, .high = to, .shape = MICA_SHAPE(__VA_ARGS__) }
#define B(...)                                                                                                         \
  { .dtype = MICA_BOOL, .low = 0, .high = 1, .shape = MICA_SHAPE(__VA_ARGS__) }
#define FS(from, to)                                                                                                   \
  { .dtype = MICA_F32, .low = from, .high = to }
#define IS(from, to)                                                                                                   \
  { .dtype = MICA_I64, .low = from, .high = to }

#define UNUSED __attribute__((unused))
#define BUILDER(name, expression)                                                                                      \
  static mica_value name(UNUSED mica_graph *graph, const mica_value *x) {                                              \
    UNUSED const mica_value a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6], h = x[7];            \
    return expression;                                                                                                 \
  }
#define CASE(name, expression, ...) BUILDER(build_##name, expression)
#define ONCE(name, expression, ...) BUILDER(build_##name, expression)
#define AGREES(name, expression, formula, ...)                                                                         \
  BUILDER(build_##name, expression)                                                                                    \
  BUILDER(written_##name, formula)
#include TEST_FAMILY_FILE
#undef CASE
#undef ONCE
#undef AGREES

#define PASTE(prefix, name) prefix##name
#define FAMILY_OF(name) PASTE(test_family_, name)
void FAMILY_OF(TEST_FAMILY)(void (*add)(const test_case *c));
void FAMILY_OF(TEST_FAMILY)(void (*add)(const test_case *c)) {
#define ADD(...)                                                                                                       \
  {                                                                                                                    \
    const test_case row = {__VA_ARGS__};                                                                               \
    add(&row);                                                                                                         \
  }
#define CASE(label, expression, ...) ADD(.name = #label, .build = build_##label, .operands = {__VA_ARGS__})
#define ONCE(label, expression, ...)                                                                                   \
  ADD(.name = #label, .build = build_##label, .once = true, .operands = {__VA_ARGS__})
#define AGREES(label, expression, formula, ...)                                                                        \
  ADD(.name = #label, .build = build_##label, .written_out = written_##label, .operands = {__VA_ARGS__})
#include TEST_FAMILY_FILE
#undef CASE
#undef ONCE
#undef AGREES
}
