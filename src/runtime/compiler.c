#include "runtime/compiler.h"

#include "runtime/device.h"
#include "runtime/host_cpu.h"

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
 *   AVX2, AVX512         functions compiled for more than the device's processor (mica__host_vectors_of)
 *   SCHED_BARRIER        __builtin_amdgcn_sched_barrier, without which LLVM moves global loads down to their use */
#define HAS(name) " -DMICA_HAS_" #name
#define CLANG_ON_CPU HAS(PREFETCH) HAS(NONTEMPORAL_STORE) HAS(SHUFFLEVECTOR)
#define POCL_ON_CPU CLANG_ON_CPU HAS(UNALIGNED_VECTORS) HAS(HALF_VECTOR_BITS)

static const struct {
  const char *platform; /* a part of its name */
  unsigned classes;     /* 1u << mica_device_class bits; 0 for any */
  const char *options;
  mica__host_vectors vectors;
} rows[] = {
    {MICA__POCL, 0, POCL_ON_CPU, MICA__VECTORS_KNOWN},
    {MICA__POCL, 0, POCL_ON_CPU HAS(AVX2), MICA__VECTORS_AVX2},
    {MICA__POCL, 0, POCL_ON_CPU HAS(AVX512), MICA__VECTORS_AVX512},
    {"Intel(R) OpenCL", 1u << MICA_DEVICE_CLASS_CPU, CLANG_ON_CPU, MICA__VECTORS_KNOWN},
    {"AMD Accelerated Parallel Processing", 1u << MICA_DEVICE_CLASS_GPU, HAS(SCHED_BARRIER), MICA__VECTORS_KNOWN},
};

const char *mica__compiler_options(const mica_device_info *device) {
  const mica__host_vectors vectors = mica__host_vectors_of(device);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strstr(device->platform, rows[i].platform) && rows[i].vectors == vectors &&
        (rows[i].classes == 0 || rows[i].classes & 1u << device->device_class))
      return rows[i].options;
  return "";
}

/* Found by `mica doctor` (2026-11-27), which would name them otherwise. variant: NULL for all. */
#define RUSTICL_22 "rusticl 22.3 computes it wrongly"

static const struct {
  const char *platform, *driver; /* parts of their names */
  const char *kernel, *variant;
  const char *reason;
} faults[] = {
    {"rusticl", "22.", "conv_cpu_direct_w", NULL, RUSTICL_22},
    {"rusticl", "22.", "conv_cpu_direct_n", NULL, RUSTICL_22},
    {"rusticl", "22.", "conv_cpu_direct_k", NULL, RUSTICL_22},
    {"rusticl", "22.", "conv_cpu_implicit_gemm", NULL, RUSTICL_22},
    {"rusticl", "22.", "int8_cpu", "emulated_amx", RUSTICL_22},
    {"rusticl", "22.", "rnn_forward_cpu", NULL, "rusticl 22.3 does not end compiling it"},
};

const char *mica__compiler_fault(const mica_device_info *device, const char *kernel, const char *variant) {
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    if (strstr(device->platform, faults[i].platform) && strstr(device->driver, faults[i].driver) &&
        !strcmp(kernel, faults[i].kernel) && (!faults[i].variant || !strcmp(variant, faults[i].variant)))
      return faults[i].reason;
  return NULL;
}
