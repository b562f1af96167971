/* runtime/core_model.h: what is known about the cores of a device. Blocking and choices that depend on the core are
 * derived from these numbers. Only variants that need a vendor's instructions also ask for the vendor.
 *
 * A row's cache sizes are the smallest among the devices that the row covers, so that blocking can rely on them. They
 * decide how a sum is split into partial sums, so all devices of one row give the same bits. */
#ifndef MICA_RUNTIME_CORE_MODEL_H
#define MICA_RUNTIME_CORE_MODEL_H

#include <mica/device.h>

typedef struct mica__core_model {
  const char *name;
  int64_t l1_floats, l2_floats; /* a core's first and second level data caches, in floats */
  int64_t cached_bytes;         /* operands that together are larger are read from memory */
  double wake_products;         /* multiply-adds in the time that a sleeping core needs to wake up */
  /* Matrix products D = A B in register tiles. */
  int64_t pack_uses;           /* B is packed if it is read for more tiles of rows than this */
  int64_t pack_uses_unaligned; /* like pack_uses, for a B whose rows are not aligned to a cache line */
  int64_t short_depth; /* sums of at most this many terms read B in place, for short_depth_rows rows of D at once */
  int64_t short_depth_rows;
  int64_t gemv_rows; /* with at most this many rows of D and a B above gemv_floats, B is read once in blocks of K */
  int64_t gemv_floats;
  int64_t prefetch_floats; /* a B with more elements is prefetched one panel ahead */
  bool wide_tiles;         /* tiles of 64 columns are faster: they load a third less per multiply-add */
} mica__core_model;

/* The first row of the table that fits the device's name, class, vector length and vendor. Never NULL. */
const mica__core_model *mica__core_model_of(const mica_device_info *device);

/* The kinds of GPUs that have their own figures in the tables of tiles (ops/select/tile.h), because the best tile
 * depends on the scheduler: NVIDIA's before sm_90, and NVIDIA's from sm_90 on. OTHER stands for all other GPUs. */
typedef enum mica__gpu_model { MICA__GPU_OTHER, MICA__GPU_SM_80, MICA__GPU_SM_90 } mica__gpu_model;
mica__gpu_model mica__gpu_model_of(const mica_device_info *device);

/* True for AMD's CDNA. The device is recognised by its name on AMD's own platform, because no extension announces the
 * instructions. For mica__variant.has_instruction, like the next three. */
bool mica__gpu_has_mfma(const mica_device_info *device);
/* True for AMD's RDNA 3, recognised in the same way. */
bool mica__gpu_has_wmma(const mica_device_info *device);
/* True for an Intel GPU with matrix units whose smallest subgroup has 8 work-items (dpas8) or 16 (dpas16). */
bool mica__gpu_has_dpas8(const mica_device_info *device);
bool mica__gpu_has_dpas16(const mica_device_info *device);

#endif
