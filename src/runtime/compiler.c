#include "runtime/compiler.h"

#include "runtime/device.h"
#include "runtime/host_cpu.h"

#include <stdlib.h>
#include <string.h>

/* An unknown built-in function does not just fail a build: rusticl's translator ends the process on a prefetch. So a
 * platform gets an extension only after it was tried there (2026-11).
 *
 *   PREFETCH             __builtin_prefetch
 *   NONTEMPORAL_STORE    __builtin_nontemporal_store
 *   SHUFFLEVECTOR        __builtin_shufflevector, which PoCL's compiler turns into single instructions more often than
 *                        lists of elements
 *   UNALIGNED_VECTORS    pointers to vectors with the alignment of their elements; PoCL's vstore16 is three stores
 *   HALF_VECTOR_BITS     vectors of halves pass as bits: PoCL assumes that they are aligned everywhere, and faults
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

/* opencl-c.h, which Clang and PoCL share, declares nothing if its include guard is already defined; then
 * common/builtins.clh takes its place. Other versions of PoCL may declare built-in functions differently, so only
 * versions that were tried are named here. */
const char *mica__compiler_builtins(const mica_device_info *device, const char **option) {
  const bool found = strstr(device->platform, MICA__POCL) && strstr(device->platform_version, " PoCL 3.1");
  *option = found ? " -D_OPENCL_H_" : "";
  return found ? "common/builtins.clh" : NULL;
}

/* Kernels that a platform's compiler gets wrong or compiles too slowly. If `kernel` is NULL, the row is for all kernels
 * that are only for CPUs, and the device takes those for GPUs (mica__kernel_class). If `variant` is NULL, the row is
 * for all variants of the kernel.
 *
 * rusticl on a CPU (llvmpipe) makes vectors of eight work-items, and handles a kernel's own vectors element by element:
 * a tile of 6 x 16 in registers becomes 96 vectors, which spill. On a Xeon, 22.3.6 took 12 s for conv_depthwise_cpu_c,
 * 41 s for winograd_fused, 11 s for gemm_tile, and more than 60 s for the gradient of filters by Winograd's transforms,
 * but at most 2 s for a GPU's kernel of the same network (2026-11-27). It also computes conv_cpu_direct_w, _n, _k and
 * conv_cpu_implicit_gemm wrongly. */
static const struct {
  const char *platform, *driver; /* parts of their names */
  const char *kernel, *variant;
  const char *reason;
} faults[] = {
    {"rusticl", "", NULL, NULL, "rusticl takes minutes to compile tiles of vectors, so it gets the kernels for GPUs"},
};

/* True if the variant is for CPUs only. An emulation, which no device chooses, is for CPUs only if all other variants
 * of the kernel are. */
static bool is_for_cpus(const mica__kernel_desc *kernel, const mica__variant *variant) {
  unsigned classes = variant->classes;
  for (int v = 0; !variant->classes && v < kernel->variant_count; v++) classes |= kernel->variants[v].classes;
  return classes == MICA__ON_CPU;
}

static const char *fault_of(const mica_device_info *device, const mica__kernel_desc *kernel,
                            const mica__variant *variant) {
  const bool cpu = device->device_class == MICA_DEVICE_CLASS_CPU && is_for_cpus(kernel, variant);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    if (strstr(device->platform, faults[i].platform) && strstr(device->driver, faults[i].driver) &&
        (faults[i].kernel ? !strcmp(kernel->name, faults[i].kernel) : cpu) &&
        (!faults[i].variant || !strcmp(variant->name, faults[i].variant)))
      return faults[i].reason;
  return NULL;
}

const char *mica__compiler_fault(const mica_device_info *device, const mica__kernel_desc *kernel,
                                 const mica__variant *variant) {
  const char *fault = NULL;
  if (variant) return fault_of(device, kernel, variant);
  for (int v = 0; v < kernel->variant_count; v++)
    if (!(fault = fault_of(device, kernel, &kernel->variants[v]))) return NULL;
  return fault;
}

bool mica__compiler_joins_items(const mica_device_info *device) {
  static const mica__kernel_desc any = {.name = ""};
  static const mica__variant for_cpus = {.classes = MICA__ON_CPU};
  return fault_of(device, &any, &for_cpus) != NULL;
}

/* PoCL 6.0 with LLVM 18 (Debian 13) verifies that combining instructions once leaves nothing to combine: "Instruction
 * Combining did not reach a fixpoint". LLVM promises that only for optimised code. attention_decode_gpu of Q8 caches
 * ended the process there. Emulated matrix units compile without optimisation (mica__kernel_options). */
bool mica__compiler_takes_unoptimised(const mica_device_info *device) {
  return !strstr(device->platform, MICA__POCL) || atoi(device->driver) <= 3;
}
