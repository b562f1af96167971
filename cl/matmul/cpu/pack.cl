/* matmul/cpu/pack.cl: packs a float operand of gemm_tile in the order in which that kernel reads it (its form
 * PREPACKED). It is used for operands that do not change from run to run, and for operands that many work-groups would
 * otherwise each have to pack.
 *
 *   P[(z * panels + p) * K + k][i] = X[X_at + z * X_batch + (p * width + i) * X_outer + k * X_k]
 *
 * for i < width and p * width + i < outer. The outer index is the row of A or the column of B. X and P do not overlap.
 *
 *   NV 0     panels of any width. Row k of a panel has `pitch` elements; those from `width` on, or after the last row
 *            of A or column of B, are 0. NDRange: one dimension of at least batches * panels * K work-items, with any
 *            work-group size
 *   NV > 0   for the CPU class: width and pitch are NV vectors of VW elements. Elements beyond the last row of A or
 *            column of B are undefined. A work-group, which has one work-item, packs KB steps of K of a panel. NDRange:
 *            ceil(K / KB), panels, batches; work-group (1, 1, 1) */
#include "common/dtype.clh"
#include "common/group.clh"
#include "common/cpu/prefetch.clh"

#define PACK_PARAMS                                                                                                    \
  const int batches, const int outer, const int K, const int width, const int pitch, const int KB,                     \
      __global const float *X, const long X_at, const long X_batch, const long X_outer, const long X_k,                \
      __global float *P, const long P_at

#if NV == 0
RANGE_KERNEL gemm_pack(PACK_PARAMS) {
  const long index = (long)get_global_id(0);
  const int panels = (outer + width - 1) / width;
  if (index < (long)K * panels * batches) {
    const int k = index % K, first = index / K % panels * width, count = min(width, outer - first);
    const long from = X_at + index / K / panels * X_batch + first * X_outer + k * X_k, to = P_at + index * pitch;
    for (int i = 0; i < count; i++) P[to + i] = X[from + i * X_outer];
    for (int i = count; i < pitch; i++) P[to + i] = 0.0f;
  }
}
#else
#define PACK 1
#define A_FORM 0
#define B_FORM PACK
#define B_T f32
#define NR (NV * VW)
#include "common/simd.clh"
#define V vec
#define READ_B(n, p, i) LOADV(f32, n, p, i)
#define PACKED __global
#include "matmul/cpu/pack.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_pack(PACK_PARAMS) {
  const int k = (int)get_group_id(0) * KB, first = (int)get_group_id(1) * NR;
  const long z = get_group_id(2), panels = (outer + NR - 1) / NR, panel = z * panels + (long)get_group_id(1);
  pack_b(X + X_at + z * X_batch + k * X_k + first * X_outer, X_k, X_outer, min(NR, outer - first), min(KB, K - k),
         (K - 1 - k) * X_k + outer - first, P + P_at + (panel * K + k) * NR);
}
#endif
