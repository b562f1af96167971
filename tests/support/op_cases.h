/* tests/support/op_cases.h: the cases of all ops of graphs, as data: what is built, from which operands. */
#ifndef MICA_TESTS_SUPPORT_OP_CASES_H
#define MICA_TESTS_SUPPORT_OP_CASES_H

#include <mica/conv.h>
#include <mica/nodes.h>

#define TEST_MAX_OPERANDS 8

/* An operand: random elements from low to high; bool ones are true half of the time. `special` puts infinities, NaN,
 * zeros and large numbers among the floating ones. A dtype of MICA_F32 stands for whichever floating type is tested. An
 * operand whose bounds are both 0 is none. */
typedef struct test_operand {
  mica_dtype dtype;
  double low, high;
  mica_shape shape;
  bool special;
} test_operand;

typedef mica_value test_builder(mica_graph *graph, const mica_value *x);

/* written_out, where it is not NULL, makes the same of the operands in small ops, from which a bound for a device's
 * result follows: the op's own (tests/support/interpret.h) holds for sums and products alone. `once`: the op is
 * differentiable once; a second gradient fails with a sentence that says so. */
typedef struct test_case {
  const char *name;
  test_builder *build, *written_out;
  bool once;
  test_operand operands[TEST_MAX_OPERANDS];
} test_case;

/* All of them; belongs to the library of cases. */
const test_case *test_cases(size_t *count);
size_t test_case_count(void);
const char *test_case_name(int i);

/* A case built in a graph of its own, with values for its operands that are rounded to their types. */
typedef struct test_instance {
  mica_graph *graph;
  mica_value operands[TEST_MAX_OPERANDS], y, written_out; /* the last is null where the case has none */
  size_t operand_count;
  double *feeds[TEST_MAX_OPERANDS + 2]; /* feeds[id - 1] of the operands; then what the test adds */
} test_instance;

/* dtype in the place of MICA_F32. The same seed gives the same values. Fails the test when the builders do. */
test_instance test_instance_make(const test_case *c, mica_dtype dtype, uint64_t seed);
void test_instance_free(test_instance *instance);

/* A case for every type that its op takes, in one graph, so that one kernel often does it all. The floating operands,
 * or the integer ones where there are no floating ones, are fed once, as values that all types of their kind hold, and
 * cast. */
typedef struct test_variants {
  test_instance instance; /* y is null */
  mica_value y[MICA_DTYPE_COUNT], written_out[MICA_DTYPE_COUNT];
  mica_dtype dtype[MICA_DTYPE_COUNT]; /* what the operands are cast to */
  size_t count;
} test_variants;

/* Floating operands are fed as `fed`. f64 and what is cast to it only where has_f64. */
test_variants test_variants_make(const test_case *c, mica_dtype fed, bool has_f64, uint64_t seed);

/* Uniform from low to high; advances the state. */
double test_random(uint64_t *state, double low, double high);

#endif
