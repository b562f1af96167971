/* ops/select/mma.h: kernels on NVIDIA's tensor cores by inline PTX (cl/common/mma_tile.clh): the rows of their
 * parameter tables, the tiles that they are shipped with, and which devices take them. A build without NVIDIA's OpenCL
 * needs nothing of it: the instructions are text that no other device gets to see. */
#ifndef MICA_OPS_SELECT_MMA_H
#define MICA_OPS_SELECT_MMA_H

#include "ops/select/tile.h"

/* Rows of a parameter table, and in a variant MMA_PTX, warps and elements of a warp along rows and columns, stages. */
#define MICA__MMA_PARAMS                                                                                               \
  MICA__CASE("MMA_PTX", "0 an emulation, 1 inline PTX", 0, 1),                                                         \
      MICA__INT("WARPS_M", "warps along the rows of a tile", 1, 2, 4),                                                 \
      MICA__INT("WARPS_N", "warps along its columns", 1, 2, 4),                                                        \
      MICA__INT("WARP_M", "rows a warp computes", 16, 32, 64),                                                         \
      MICA__INT("WARP_N", "columns a warp computes", 16, 32, 64),                                                      \
      MICA__INT("STAGES", "tiles of an operand in local memory", 2, 3, 4)
#define MICA__MMA_PTX .classes = MICA__ON_GPU, .features = MICA_FEATURE_INLINE_PTX
#define MICA__MMA_128X128 1, 2, 2, 64, 64, 3
#define MICA__MMA_64X128 1, 2, 2, 32, 64, 3
#define MICA__MMA_64X64 1, 2, 2, 32, 32, 4
/* No device's choice; it is there to be checked, and the last of a table's variants. */
#define MICA__MMA_EMULATION 0, 2, 1, 16, 32, 2

/* Pieces of 16 bytes that a tile is deep. */
#define MICA__MMA_STEP 4

/* A tile's rows and columns, and the work-items of its group. */
typedef struct mica__mma_tile {
  int64_t m, n;
  size_t threads;
} mica__mma_tile;

mica__mma_tile mica__mma_tile_of(const mica__kernel_desc *desc, const int32_t *values);

/* For has_room: the group is whole copies of a tile, and it and its tiles are within the device's limits. */
bool mica__mma_has_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device);

/* For `decline`: NULL where the device takes the kernel's PTX, as far as is known. */
const char *mica__mma_missing(const mica__kernel_desc *desc, const mica_device_info *device);
/* MICA_E_UNSUPPORTED where a variant cannot be launched; and the status of getting it compiled, passed on: a driver
 * that rejects the PTX of a shipped variant is not asked again. */
mica_status mica__mma_check(const mica__kernel_desc *desc, const mica__variant *variant,
                            const mica_device_info *device);
mica_status mica__mma_built(const mica__kernel_desc *desc, const mica__variant *variant, mica_status status);

/* A variant, and the number of parts of the depth. */
typedef struct mica__mma_plan {
  const mica__variant *variant;
  int64_t splits;
  double cost; /* elements of a step that a unit computes meanwhile, 20 a cycle */
} mica__mma_plan;

/* The task's variant, or the one with which a product is done soonest on the device, the emulation where it takes no
 * PTX; and the cheapest split of the depth, up to `most` parts. product: its k counts steps of a tile. */
mica__mma_plan mica__mma_choose(const mica__kernel_desc *desc, const mica__task *task, const mica__tiled *product,
                                int64_t most);

#endif
