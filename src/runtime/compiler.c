#include "runtime/compiler.h"

#include "runtime/device.h"

#include <string.h>

/* A built-in function that a compiler does not know is no matter of a build that fails: rusticl's translator ends the
 * process on a prefetch. So a platform gets an extension where it was tried (2026-11).
 *
 *   PREFETCH             __builtin_prefetch
 *   NONTEMPORAL_STORE    __builtin_nontemporal_store
 *   SHUFFLEVECTOR        __builtin_shufflevector, in which PoCL's compiler finds single instructions more often than
 *                        in lists of elements
 *   UNALIGNED_VECTORS    pointers to vectors with the alignment of their elements; PoCL's vstore16 is three stores
 *   HALF_VECTOR_BITS     vectors of halves pass as bits: PoCL takes them for aligned wherever they lie, and faults
 *   SCHED_BARRIER        __builtin_amdgcn_sched_barrier, without which LLVM moves global loads down to their use */
#define HAS(name) " -DMICA_HAS_" #name
#define CLANG_ON_CPU HAS(PREFETCH) HAS(NONTEMPORAL_STORE) HAS(SHUFFLEVECTOR)

static const struct {
  const char *platform; /* a part of its name */
  unsigned classes;     /* 1u << mica_device_class bits; 0 for any */
  const char *options;
} rows[] = {
    {MICA__POCL, 0, CLANG_ON_CPU HAS(UNALIGNED_VECTORS) HAS(HALF_VECTOR_BITS)},
    {"Intel(R) OpenCL", 1u << MICA_DEVICE_CLASS_CPU, CLANG_ON_CPU},
    {"AMD Accelerated Parallel Processing", 1u << MICA_DEVICE_CLASS_GPU, HAS(SCHED_BARRIER)},
};

const char *mica__compiler_options(const mica_device_info *device) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strstr(device->platform, rows[i].platform) &&
        (rows[i].classes == 0 || rows[i].classes & 1u << device->device_class))
      return rows[i].options;
  return "";
}
