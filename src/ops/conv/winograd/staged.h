/* ops/conv/winograd/staged.h: Winograd's convolution on GPUs (cl/conv/winograd/staged.cl): what the passes share, the
 * operands of the products. */
#ifndef MICA_OPS_CONV_STAGED_H
#define MICA_OPS_CONV_STAGED_H

#include "ops/conv/winograd/winograd.h"
#include "ops/matmul/gemm.h"

/* The problem and its planes of floats: U[parts][points][k] of c filters or of `share` tiles,
 * V[parts][points][c][share], and the products M. */
typedef struct mica__winograd_planes {
  const mica__conv *conv;
  mica__winograd winograd;
  int32_t edge;
  int64_t points, tiles, parts, share;
  mica_tensor *u, *v, *m;
} mica__winograd_planes;

/* The planes for tiles of edge x edge results, all in one part, without tensors. */
mica__winograd_planes mica__winograd_planes_of(const mica__conv *conv, int32_t edge);
void mica__winograd_planes_clear(mica__winograd_planes *planes);

/* The most parts that there may be. */
#define MICA__WINOGRAD_PARTS 64

/* For mica__impl.unable: as mica__winograd_unable, and groups are numbered by an int. */
const char *mica__winograd_staged_unable(const void *problem);

/* The groups that a launch takes for so many rows of `across` elements. */
int64_t mica__winograd_groups(int64_t rows, int64_t across);

/* The launch of a kernel that makes V of `source` and U of `left`, but for what its arguments end in: the groups that
 * each of them takes, 0 for one that is not made. */
mica__launch mica__winograd_operands(mica__kernel *kernel, const mica__winograd_planes *planes,
                                     const mica_tensor *source, int64_t v_groups, const mica_tensor *left,
                                     int64_t u_groups);

/* M from U and V: a product of m x k with k x n elements for each point of each part, of which b.row and b.col say how
 * those of V lie. */
mica_status mica__winograd_products(mica_queue *queue, const mica__winograd_planes *planes, mica__gemm gemm);

#endif
