/* ops/sort/order.h: the stable order of the elements of rows, on which every op that sorts is built. */
#ifndef MICA_OPS_SORT_ORDER_H
#define MICA_OPS_SORT_ORDER_H

#include "ops/common/build.h"

struct mica__kernel_desc;

extern const mica__op mica__op_sort, mica__op_unique, mica__op_segment_sum;

/* The orders of mica__sort_order.
 *
 *   RISING, FALLING   a NaN comes first, and -0 equals 0
 *   INDEX             x holds indices into an axis of `extent` elements; negative indices count from the end of the
 *                     axis. The order rises; invalid indices come last */
typedef enum mica__order_kind { MICA__ORDER_RISING, MICA__ORDER_FALLING, MICA__ORDER_INDEX } mica__order_kind;

/* Makes *order, a workspace of i32 (outer inner, n), for x (outer, n, inner), which is contiguous. Element [o inner +
 * i][r] of it is j if x[o, j, i] is the r-th element of its row. Equal elements keep their order. The caller destroys
 * *order after queueing its readers.
 *
 * The time grows with outer inner n and with the digits of a key; for an INDEX these are the digits of extent.
 * MICA_E_OVERFLOW if n or extent is too large for 32 bits. */
mica_status mica__sort_order(const mica__exec *exec, const mica_tensor *x, mica__rows r, mica__order_kind kind,
                             int64_t extent, mica_tensor **order);

/* Writes the first k elements of each sorted row. With j = order[row][q]: values[o, q, i] = x[o, j, i], and indices[o,
 * q, i] = j in i64. values or indices may be NULL. */
mica_status mica__sort_results(const mica__exec *exec, const mica_tensor *x, mica__rows r, int64_t k,
                               const mica_tensor *order, const mica_tensor *values, const mica_tensor *indices);

/* A row cut into `count` blocks of `size` elements, one for each work-item: a few long blocks on CPUs, blocks of 16
 * elements on GPUs. */
typedef struct mica__blocks {
  int64_t count, size;
} mica__blocks;
/* Returns the recommended blocks for ops that read the rows of an order. */
mica__blocks mica__sort_blocks(const mica__exec *exec, mica__rows r);
/* Replaces each element of x (rows, n), i32, by the sum of the elements before it in its row. */
mica_status mica__sort_scan(const mica__exec *exec, const mica_tensor *x, int64_t rows, int64_t n);

/* The kernels of mica__sort_order, for the list of an op that calls it; MICA__SORT_LONG_KERNELS lacks the kernel for
 * rows of up to 64 elements. */
#define MICA__SORT_KERNELS &mica__sort_rank_kernel, MICA__SORT_LONG_KERNELS
#define MICA__SORT_LONG_KERNELS                                                                                        \
  &mica__sort_keys_kernel, &mica__radix_count_kernel, &mica__radix_scatter_kernel, &mica__radix_count_gpu_kernel,      \
      &mica__radix_scatter_gpu_kernel, &mica__radix_scan_kernel
extern const struct mica__kernel_desc mica__sort_keys_kernel, mica__sort_rank_kernel, mica__radix_count_kernel,
    mica__radix_scatter_kernel, mica__radix_count_gpu_kernel, mica__radix_scatter_gpu_kernel, mica__radix_scan_kernel,
    mica__sort_results_kernel;

#endif
