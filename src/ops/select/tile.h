/* ops/select/tile.h: kernels for GPUs that multiply tiles in local memory (cl/common/gpu/local_tile.clh). It has the
 * rows of their parameter tables and a cost model of products. Unless a tuner has measured, the model chooses the tile
 * and the number of parts into which the depth is split. */
#ifndef MICA_OPS_SELECT_TILE_H
#define MICA_OPS_SELECT_TILE_H

#include "ops/select/impl.h"

/* Rows of a parameter table. A variant's values are in the same order. */
#define MICA__TILE_PARAMS                                                                                              \
  MICA__INT("WG_M", "work-items along the rows of a tile", 4, 8, 16, 32),                                              \
      MICA__INT("WG_N", "work-items along the columns of a tile", 4, 8, 16, 32),                                       \
      MICA__INT("MICRO_M", "rows a work-item computes", 2, 4, 8, 16),                                                  \
      MICA__INT("MICRO_N", "columns a work-item computes", 2, 4, 8, 16),                                               \
      MICA__INT("TILE_K", "depth of a tile", 4, 8, 16, 32),                                                            \
      MICA__INT("VEC", "elements read and written together", 1, 2, 4, 8),                                              \
      MICA__INT("PAD", "elements added to a row of a local tile", 0, 2, 4, 8),                                         \
      MICA__INT("LANES", "1: work-items lie in blocks of 4 x 8, 0: row by row", 0, 1),                                 \
      MICA__INT("REQD_SUBGROUP", "work-items of an Intel thread, 0 for the compiler's choice", 0, 8, 16, 32)

typedef struct mica__tile {
  int64_t m, n, k;          /* rows, columns and depth of a tile */
  int64_t micro_m, micro_n; /* rows and columns of a work-item */
  int64_t vec, pad;
  size_t threads; /* work-items of a group */
} mica__tile;

mica__tile mica__tile_of(const mica__kernel_desc *desc, const int32_t *values);
/* True if the group, two tiles of each operand with elements of four bytes, and `more` bytes are within the device's
 * limits. */
bool mica__tile_has_room(const mica__tile *tile, uint64_t more, const mica_device_info *device);
/* If the variant requires a subgroup size, sets REQD_SUBGROUP to the device's smallest subgroup size. If the parameter
 * does not allow that size, sets it to 0, so that no size is required. */
void mica__tile_set_subgroup(const mica__kernel_desc *desc, int32_t *values, const mica_device_info *device);

/* Estimates for a variant from a model of NVIDIA's schedulers and its machine code (ptxas 13.0, f32). */
typedef struct mica__tile_speed {
  int resident;      /* groups that a unit's registers and local memory hold at once */
  int busy, busy_90; /* percent of cycles in which these groups keep a unit's multiply-adds busy, on sm_80 and sm_90 */
} mica__tile_speed;

/* A kernel, and a speed for each of its variants, in the same order. */
typedef struct mica__tile_kernel {
  const mica__kernel_desc *desc;
  const mica__tile_speed *speeds;
} mica__tile_kernel;

/* The product of a batch of matrices. */
typedef struct mica__tiled {
  int64_t m, n, k, batches;
} mica__tiled;

/* Estimates the duration of a product, in multiply-adds that one of the device's compute units could do in that time.
 * The depth is split into `splits` parts: separate groups sum each part, then the sums are added. `speed` is NULL if it
 * is not known. */
double mica__tile_cost(const mica__tile *tile, const mica__tile_speed *speed, const mica__tiled *product,
                       int64_t splits, const mica_device_info *device);

/* A variant, and the number of parts into which the depth is split. */
typedef struct mica__tile_plan {
  const mica__variant *variant; /* NULL if none fits the device, or all are in quarantine */
  int64_t splits;
  double cost; /* as from mica__tile_cost */
} mica__tile_plan;

/* Plans with the task's variant, or with the cheapest that fits the device and is not in quarantine, and with the
 * cheapest split of the depth into at most `most` parts. */
mica__tile_plan mica__tile_choose(const mica__tile_kernel *kernel, const mica__task *task, const mica__tiled *product,
                                  int64_t most);

#endif
