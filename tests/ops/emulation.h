/* ops/emulation.h: the emulations of matrix units (cl/common/mma.clh) in a kernel's table. */
#ifndef MICA_TESTS_OPS_EMULATION_H
#define MICA_TESTS_OPS_EMULATION_H

#include "runtime/kernel_desc.h"

#include <stddef.h>

/* The n-th of a table; NULL beyond the last. */
static inline const mica__variant *test_emulation(const mica__kernel_desc *desc, int n) {
  for (int v = 0; v < desc->variant_count; v++)
    if (mica__kernel_value(desc, desc->variants[v].values, "MMA_NATIVE") == 0 && n-- == 0) return &desc->variants[v];
  return NULL;
}

#endif
