/* ops/emulation.h: the emulations of matrix units (cl/common/mma/mma.clh) in a kernel's table. */
#ifndef MICA_TESTS_OPS_EMULATION_H
#define MICA_TESTS_OPS_EMULATION_H

#include "runtime/kernel_desc.h"

#include <mica/device.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The n-th of a table; NULL beyond the last. */
static inline const mica__variant *test_emulation(const mica__kernel_desc *desc, int n) {
  for (int v = 0; v < desc->variant_count; v++)
    if (mica__kernel_value(desc, desc->variants[v].values, "MMA_NATIVE") == 0 && n-- == 0) return &desc->variants[v];
  return NULL;
}

/* PoCL 6.0 (LLVM 18) optimises these kernels to other code from one compilation to the next. On empty caches 3 of 8
 * runs of a shard of convolutions computed wrongly, and attention's once; unoptimised, none of 11 did. The cause is
 * unknown. Call it before the first test_engine. */
static inline void test_emulate_unoptimised(void) {
  mica_device_info device;
  if (mica_device_find(getenv("MICA_DEVICE"), &device) != MICA_OK) return;
  if (strstr(device.platform, "Portable Computing Language") && atoi(device.driver) > 3)
    setenv("MICA_TEST_LIMITS", "unoptimised", 0);
}

#endif
