/* ops/sort/order.h: the stable order of the elements of rows, below every op that sorts. */
#ifndef MICA_OPS_SORT_ORDER_H
#define MICA_OPS_SORT_ORDER_H

#include "ops/common/build.h"

struct mica__kernel_desc;

extern const mica__op mica__op_sort, mica__op_unique, mica__op_segment_sum;

/* RISING and FALLING: a NaN comes first, -0 equals 0. INDEX: x holds indices into an axis of `extent` elements,
 * negative ones from its end; they rise, those outside come last. */
typedef enum mica__order_kind { MICA__ORDER_RISING, MICA__ORDER_FALLING, MICA__ORDER_INDEX } mica__order_kind;

/* *order is a workspace of i32 (outer inner, n): element [o inner + i][r] is j where x[o, j, i] is the r-th of its row.
 * Equals come in rising j. x is (outer, n, inner), contiguous. The caller destroys it when what reads it is queued. The
 * time grows with outer inner n alone, and for an INDEX with the digits of extent. */
mica_status mica__sort_order(const mica__exec *exec, const mica_tensor *x, mica__rows r, mica__order_kind kind,
                             int64_t extent, mica_tensor **order);

/* values[o, q, i] = x[o, j, i] and indices[o, q, i] = j, i64, for the first k elements j of each row of an order;
 * either may be NULL. */
mica_status mica__sort_results(const mica__exec *exec, const mica_tensor *x, mica__rows r, int64_t k,
                               const mica_tensor *order, const mica_tensor *values, const mica_tensor *indices);

/* A row cut into blocks that work-items take: few long ones on CPUs, one for each group of work-items on GPUs. */
typedef struct mica__blocks {
  int64_t count, size;
} mica__blocks;
/* How ops should cut the rows of an order. */
mica__blocks mica__sort_blocks(const mica__exec *exec, mica__rows r);
/* x (rows, n), i32: each element becomes the sum of those before it in its row. */
mica_status mica__sort_scan(const mica__exec *exec, const mica_tensor *x, int64_t rows, int64_t n);

/* The kernels of mica__sort_order, for the list of an op that calls it; MICA__SORT_LONG_KERNELS without that of rows of
 * up to 64 elements. */
#define MICA__SORT_KERNELS &mica__sort_rank_kernel, MICA__SORT_LONG_KERNELS
#define MICA__SORT_LONG_KERNELS                                                                                        \
  &mica__sort_keys_kernel, &mica__radix_count_kernel, &mica__radix_scatter_kernel, &mica__radix_count_gpu_kernel,      \
      &mica__radix_scatter_gpu_kernel, &mica__radix_scan_kernel
extern const struct mica__kernel_desc mica__sort_keys_kernel, mica__sort_rank_kernel, mica__radix_count_kernel,
    mica__radix_scatter_kernel, mica__radix_count_gpu_kernel, mica__radix_scatter_gpu_kernel, mica__radix_scan_kernel,
    mica__sort_results_kernel;

#endif
