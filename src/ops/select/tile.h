/* ops/select/tile.h: kernels for GPUs that multiply tiles in local memory (cl/common/gpu/local_tile.clh): the rows of
 * their parameter tables, and how long a product takes with tiles of a size, by which that size and the number of parts
 * of the depth are chosen where no tuner has measured. */
#ifndef MICA_OPS_SELECT_TILE_H
#define MICA_OPS_SELECT_TILE_H

#include "ops/select/impl.h"

/* Rows of a parameter table, and their values in a variant in the same order. */
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
/* Two tiles of each operand, of elements of four bytes, so many bytes more, and the group are within the device's
 * limits. */
bool mica__tile_has_room(const mica__tile *tile, uint64_t more, const mica_device_info *device);
/* REQD_SUBGROUP as the device has it, where the variant demands one at all. */
void mica__tile_set_subgroup(const mica__kernel_desc *desc, int32_t *values, const mica_device_info *device);

/* What a model of NVIDIA's schedulers says of a variant's machine code (ptxas 13.0, f32). */
typedef struct mica__tile_speed {
  int resident;      /* groups that a unit's registers and local memory hold at once */
  int busy, busy_90; /* percent of cycles in which as many keep its multiply-adds busy: sm_80, sm_90 */
} mica__tile_speed;

/* A kernel, and a speed for each of its variants, in their order. */
typedef struct mica__tile_kernel {
  const mica__kernel_desc *desc;
  const mica__tile_speed *speeds;
} mica__tile_kernel;

/* The product of a batch of matrices. */
typedef struct mica__tiled {
  int64_t m, n, k, batches;
} mica__tiled;

/* Multiply-adds that one of the device's units could do meanwhile. splits: parts of the depth, each added up by groups
 * of its own, then one to the other. speed: NULL if nothing is known. */
double mica__tile_cost(const mica__tile *tile, const mica__tile_speed *speed, const mica__tiled *product,
                       int64_t splits, const mica_device_info *device);

/* A variant and the number of parts of the depth. */
typedef struct mica__tile_plan {
  const mica__variant *variant; /* NULL where none fits the device */
  int64_t splits;
  double cost; /* as mica__tile_cost has it */
} mica__tile_plan;

/* The task's variant, or the cheapest that fits the device; and the cheapest split of the depth, up to `most` parts. */
mica__tile_plan mica__tile_choose(const mica__tile_kernel *kernel, const mica__task *task, const mica__tiled *product,
                                  int64_t most);

#endif
