/* tests/support/plan_run.h: a plan carried out on the host, step by step, in the memory that it has planned. */
#ifndef MICA_TESTS_SUPPORT_PLAN_RUN_H
#define MICA_TESTS_SUPPORT_PLAN_RUN_H

#include "compile/plan.h"

/* One run in double. memory[id - 1] are the elements of input or parameter `id` of the plan's template, where runs
 * write parameters; outputs[i] has room for output i. The arena holds NaNs before.
 *
 * Kernels read what lies there at that step, whatever it is, so that a value which another has overwritten is met as a
 * wrong result. Where a kernel writes to memory that it reads, the test fails unless every order in which a device may
 * work makes the same of it: points side by side, rows side by side, or rows in passes (compile/fused_split.h). */
void plan_run(const mica__plan *plan, double *const *memory, double *const *outputs);

#endif
