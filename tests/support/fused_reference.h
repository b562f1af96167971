/* tests/support/fused_reference.h: fused kernels on the host: a naive interpreter in double precision with a bound on
 * what rounding may do, and a run on the device that is compared with it. */
#ifndef MICA_TESTS_SUPPORT_FUSED_REFERENCE_H
#define MICA_TESTS_SUPPORT_FUSED_REFERENCE_H

#include "compile/fused.h"

/* Memory of one operand, as doubles, with a bound on the error of each element; an element that no STORE reached has an
 * error below 0. */
typedef struct fused_memory {
  int64_t count;
  double *values, *errors;
} fused_memory;

/* Runs the list over memory[operand]. Extents must not be 0 where a row is joined by anything but sum and product. */
void fused_interpret(const mica__fused *fused, fused_memory *memory);

/* Fills the memory of every operand (random within the range of its dtype for those that are loaded, poison for those
 * that are stored), runs the list in the way of a class of device, interprets it, and compares. `label` names the case
 * in messages. Fails the test when an element is wrong or one that is not stored was touched. */
void fused_run_and_compare(const mica__fused *fused, unsigned device_class, uint64_t seed, const char *label);

/* Uniform in [0, 1), and in 0 .. n - 1. */
double fused_random(uint64_t *state);
int32_t fused_pick(uint64_t *state, int32_t n);

#endif
