#include "runtime/core_model.h"

#include "runtime/kernel.h"

#include <string.h>

/* 32 KiB and 1 MiB, as on Zen 4; the measured Xeon has larger caches. cached_bytes is a part of the 32 MiB that
 * eight cores of Zen 4 share (measured on 2 of the cores, 2026-11-23). */
#define CPU_CACHES .l1_floats = 8 << 10, .l2_floats = 256 << 10, .wake_products = 1.0e6, .cached_bytes = 20 << 20

/* Measured on Zen 4, which multiplies one vector of 16 floats per cycle, so that loads of B in place keep up. */
#define CPU_CORE(label)                                                                                                \
  {                                                                                                                    \
    .name = label, CPU_CACHES, .pack_uses = 32, .pack_uses_unaligned = 16, .short_depth = 16, .short_depth_rows = 1,   \
    .gemv_rows = 16, .gemv_floats = 64 << 10, .prefetch_floats = INT64_MAX                                             \
  }

/* Measured on Zen 5 used as a processor with AVX2 (tests/avx2/run.sh): products of 2048-cubes reach 0.65 of OpenBLAS if
 * B is read in place, 0.97 if it is packed. */
#define SHORT_CORE(label)                                                                                              \
  {                                                                                                                    \
    .name = label, CPU_CACHES, .pack_uses = 12, .pack_uses_unaligned = 12, .short_depth = 16, .short_depth_rows = 1,   \
    .gemv_rows = 16, .gemv_floats = 64 << 10, .prefetch_floats = INT64_MAX                                             \
  }

/* Measured on a Xeon with AVX-512, which multiplies two vectors of 16 per cycle and is limited by loads. If B is read
 * in place, its rows fall on few sets of a cache and arrive too late, unless B is so small that it stays in the
 * first-level cache. */
#define INTEL_CORE(label)                                                                                              \
  {                                                                                                                    \
    .name = label, CPU_CACHES, .pack_uses = 2, .pack_uses_unaligned = 2, .short_depth = 64, .short_depth_rows = 16,    \
    .gemv_rows = 64, .gemv_floats = 128 << 10, .prefetch_floats = 768 << 10, .wide_tiles = true                        \
  }

/* The rows are searched in this order. `part` is a part of the device's name, which with PoCL contains the architecture
 * ("cpu-znver4-AMD EPYC ..."). The last row is for kernels of the CPU class that run on other devices, as in checks. */
static const struct {
  const char *part;
  unsigned classes;
  unsigned vendors;      /* 1u << mica_vendor bits; 0 for any */
  uint32_t vector_bytes; /* least size of a vector register */
  mica__core_model model;
} rows[] = {
    {"znver4", MICA__ON_CPU, 0, 0, CPU_CORE("zen4")},
    {NULL, MICA__ON_CPU, 1u << MICA_VENDOR_INTEL, 0, INTEL_CORE("intel")},
    {NULL, MICA__ON_CPU, 0, MICA__LONG_VECTOR, CPU_CORE("cpu")},
    {NULL, MICA__ON_CPU, 0, 0, SHORT_CORE("short")},
    {NULL, MICA__ON_ANY, 0, 0, CPU_CORE("any")},
};

const mica__core_model *mica__core_model_of(const mica_device_info *device) {
  unsigned class = mica__kernel_class(device);
  size_t last = sizeof rows / sizeof *rows - 1;
  for (size_t i = 0; i < last; i++) {
    if (rows[i].part && !strstr(device->name, rows[i].part)) continue;
    if ((rows[i].classes & class) == 0 || device->vector_bytes < rows[i].vector_bytes) continue;
    if (rows[i].vendors == 0 || rows[i].vendors & 1u << device->vendor) return &rows[i].model;
  }
  return &rows[last].model;
}

mica__gpu_model mica__gpu_model_of(const mica_device_info *device) {
  if (device->vendor != MICA_VENDOR_NVIDIA) return MICA__GPU_OTHER;
  return device->compute_capability >= 90 ? MICA__GPU_SM_90 : MICA__GPU_SM_80;
}

/* True if the device is on AMD's own platform and its name is one of `names`, perhaps with features added, such as
 * "gfx90a:sramecc+:xnack-". Other platforms have other names and other compilers. */
static bool is_amd(const mica_device_info *device, const char *const *names) {
  if (device->vendor != MICA_VENDOR_AMD || !strstr(device->platform, "AMD Accelerated Parallel Processing"))
    return false;
  for (; *names; names++) {
    const size_t length = strlen(*names);
    if (!strncmp(device->name, *names, length) && (device->name[length] == '\0' || device->name[length] == ':'))
      return true;
  }
  return false;
}

bool mica__gpu_has_mfma(const mica_device_info *device) {
  return is_amd(device, (const char *const[]){"gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", NULL});
}

bool mica__gpu_has_wmma(const mica_device_info *device) {
  return is_amd(device, (const char *const[]){"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", NULL});
}

static bool has_dpas(const mica_device_info *device, uint32_t lanes) {
  return device->features & MICA_FEATURE_INTEL_MATRIX && device->subgroup_min == lanes;
}
bool mica__gpu_has_dpas8(const mica_device_info *device) { return has_dpas(device, 8); }
bool mica__gpu_has_dpas16(const mica_device_info *device) { return has_dpas(device, 16); }
