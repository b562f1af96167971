/* runtime/core_model.h: what is known of the cores of a device. Blocking and choices that depend on the core are
 * derived from these numbers; no other file asks for a vendor, but variants that need its instructions.
 *
 * Cache sizes are those that blocking may count on: the smallest of the cores that a row stands for. How a sum is cut
 * follows from them, so that all devices of one row give the same bits. */
#ifndef MICA_RUNTIME_CORE_MODEL_H
#define MICA_RUNTIME_CORE_MODEL_H

#include <mica/device.h>

typedef struct mica__core_model {
  const char *name;
  int64_t l1_floats, l2_floats; /* a core's first and second level data caches, in floats */
  int64_t cached_bytes;         /* operands that take more together are read from memory */
  double wake_products;         /* multiply-adds in the time in which a core that sleeps wakes up */
  /* Matrix products D = A B in register tiles. */
  int64_t pack_uses;           /* tiles of rows that must share B before it pays to pack it */
  int64_t pack_uses_unaligned; /* the same of a B whose rows begin anywhere within a cache line */
  int64_t short_depth;         /* sums of no more terms mostly write D: B is read in place, */
  int64_t short_depth_rows;    /* for so many rows of D at a time */
  int64_t gemv_rows;           /* a D of no more rows reads B once, in short blocks of K, */
  int64_t gemv_floats;         /* where B has more elements than this */
  int64_t prefetch_floats;     /* a B of more elements is prefetched a panel ahead */
  bool wide_tiles;             /* tiles of 64 columns, which load a third less for each multiply-add, are faster */
} mica__core_model;

/* Never NULL: the row of the device, else of its architecture, else of its vendor, else of its class. */
const mica__core_model *mica__core_model_of(const mica_device_info *device);

/* GPUs by the schedulers that tables of tiles have figures for (ops/select/tile.h): sm_80 and what came before, sm_90
 * and later. */
typedef enum mica__gpu_model { MICA__GPU_OTHER, MICA__GPU_SM_80, MICA__GPU_SM_90 } mica__gpu_model;
mica__gpu_model mica__gpu_model_of(const mica_device_info *device);

/* For variants: AMD's CDNA, by the name that its own platform gives it, which no extension announces. */
bool mica__gpu_has_mfma(const mica_device_info *device);
/* Likewise RDNA 3. */
bool mica__gpu_has_wmma(const mica_device_info *device);
/* Intel's matrix units, with subgroups of 8 and of 16, the device's smallest. */
bool mica__gpu_has_dpas8(const mica_device_info *device);
bool mica__gpu_has_dpas16(const mica_device_info *device);

#endif
