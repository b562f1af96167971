/* runtime/core_model.h: what is known about the cores of a device. Blocking and choices that depend on the core are
 * derived from these numbers. Only variants that need a vendor's instructions also ask for the vendor.
 *
 * Cache sizes are those that blocking may rely on: the smallest among the cores that a row covers. The way a sum is cut
 * follows from them, so all devices of one row give the same bits. */
#ifndef MICA_RUNTIME_CORE_MODEL_H
#define MICA_RUNTIME_CORE_MODEL_H

#include <mica/device.h>

typedef struct mica__core_model {
  const char *name;
  int64_t l1_floats, l2_floats; /* a core's first and second level data caches, in floats */
  int64_t cached_bytes;         /* larger operands, taken together, are read from memory */
  double wake_products;         /* multiply-adds in the time that a sleeping core needs to wake up */
  /* Matrix products D = A B in register tiles. */
  int64_t pack_uses;           /* B is packed if more tiles of rows than this share it */
  int64_t pack_uses_unaligned; /* instead, if B's rows are not aligned to a cache line */
  int64_t short_depth; /* sums of at most this many terms read B in place, for short_depth_rows rows of D at once */
  int64_t short_depth_rows;
  int64_t gemv_rows; /* at most this many rows of D read B once, in short blocks of K, if B exceeds gemv_floats */
  int64_t gemv_floats;
  int64_t prefetch_floats; /* a B with more elements is prefetched one panel ahead */
  bool wide_tiles;         /* tiles of 64 columns are faster: they load a third less per multiply-add */
} mica__core_model;

/* The first row that fits: of the device, else its architecture, else its vendor, else its class. Never NULL. */
const mica__core_model *mica__core_model_of(const mica_device_info *device);

/* GPUs by the schedulers for which tables of tiles have figures (ops/select/tile.h): sm_80 and earlier, sm_90 and
 * later. */
typedef enum mica__gpu_model { MICA__GPU_OTHER, MICA__GPU_SM_80, MICA__GPU_SM_90 } mica__gpu_model;
mica__gpu_model mica__gpu_model_of(const mica_device_info *device);

/* For variants: true for AMD's CDNA, recognised by the name on its own platform, because no extension announces it. */
bool mica__gpu_has_mfma(const mica_device_info *device);
/* True for AMD's RDNA 3, recognised by the name on AMD's own platform. */
bool mica__gpu_has_wmma(const mica_device_info *device);
/* Intel's matrix units, with a smallest subgroup of 8, and of 16. */
bool mica__gpu_has_dpas8(const mica_device_info *device);
bool mica__gpu_has_dpas16(const mica_device_info *device);

#endif
