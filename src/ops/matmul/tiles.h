/* ops/matmul/tiles.h: operands of kernels that multiply on the matrix unit of Intel's CPUs (cl/common/tiles.clh),
 * packed in panels of 32 rows or columns (cl/matmul/gemm_amx_pack.cl). */
#ifndef MICA_OPS_MATMUL_TILES_H
#define MICA_OPS_MATMUL_TILES_H

#include "runtime/launch.h"

#define MICA__TILES_SIDE 32

/* How k is cut: words a tile takes along it, as few as fill the last one best, and words in all. */
typedef struct mica__tiles_cut {
  int64_t words, steps;
} mica__tiles_cut;
/* per: elements a word. */
mica__tiles_cut mica__tiles_cut_of(int64_t k, int64_t per);

/* Matrices of rows or columns (`outer`) by k; steps count elements. */
typedef struct mica__tiles_operand {
  const mica_tensor *tensor;
  bool rows;
  int64_t per, batches, batch, outer, outer_step, k, k_step;
} mica__tiles_operand;
/* The launch, and the workspace that it fills, which is the caller's. */
mica_status mica__tiles_pack(mica_queue *queue, const mica__tiles_operand *operand, mica__tiles_cut cut,
                             mica_tensor **packed);

#endif
