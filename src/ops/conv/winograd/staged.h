/* ops/conv/winograd/staged.h: the transformed operands of Winograd's convolution on GPUs (cl/conv/winograd/staged.cl),
 * and their matrix products. All passes use these. */
#ifndef MICA_OPS_CONV_STAGED_H
#define MICA_OPS_CONV_STAGED_H

#include "ops/conv/winograd/winograd.h"
#include "ops/matmul/gemm.h"
#include "ops/select/tile.h"

/* The problem and its planes of floats, one plane per point of a tile:
 *
 *   u   the transformed filters U[points][k][c]; for a gradient of filters the transformed tiles of the results,
 *       U[points][k][pitch]
 *   v   the transformed tiles of the source, V[points][c][pitch]
 *   m   the products
 *
 * pitch is the number of tiles, rounded up so that rows of tiles are aligned to the vectors of the products'
 * kernels. */
typedef struct mica__winograd_planes {
  const mica__conv *conv;
  mica__winograd winograd;
  int32_t edge;
  int64_t points, tiles, pitch;
  mica_tensor *u, *v, *m;
} mica__winograd_planes;

/* The plan of a gradient of filters. products.splits: the number of parts that the products' depth is divided into. */
typedef struct mica__winograd_wgrad_plan {
  mica__winograd_planes planes;
  mica__tile_plan products;
} mica__winograd_wgrad_plan;

/* Makes the planes for tiles of edge x edge results, without tensors. */
mica__winograd_planes mica__winograd_planes_of(const mica__conv *conv, int32_t edge);
void mica__winograd_planes_clear(mica__winograd_planes *planes);

/* For mica__impl.unable: the reason of mica__winograd_unable, or that the work-groups of a launch would not fit an
 * int; else NULL. */
const char *mica__winograd_staged_unable(const void *problem);

/* The number of work-groups that a launch takes for `rows` rows of `across` elements. */
int64_t mica__winograd_groups(int64_t rows, int64_t across);

/* mica__winograd_take_tiles sets planes->v to V of the source. If an earlier launch has lent V, *groups becomes 0;
 * otherwise planes->v is a workspace without values, and *groups the number of work-groups that fill it.
 * mica__winograd_lend_tiles lends V, once it is made, to later launches, if mica__conv.lends. */
mica_status mica__winograd_take_tiles(mica_queue *queue, mica__winograd_planes *planes, int64_t *groups);
mica_status mica__winograd_lend_tiles(mica_queue *queue, const mica__winograd_planes *planes);

/* Begins the launch of a kernel that makes V of `source` and U of `left`, in v_groups and u_groups work-groups (0:
 * it is not made). The caller adds the last arguments. */
mica__launch mica__winograd_operands(mica__kernel *kernel, const mica__winograd_planes *planes,
                                     const mica_tensor *source, int64_t v_groups, const mica_tensor *left,
                                     int64_t u_groups);

/* mica__winograd_gemm describes M as a product m x k by k x n for each point; the caller sets its a and b.
 * mica__winograd_products runs it with the implementations of products. */
mica__gemm mica__winograd_gemm(const mica__winograd_planes *planes, int64_t m, int64_t n, int64_t k);
mica_status mica__winograd_products(mica_queue *queue, const mica__gemm *gemm);

#endif
