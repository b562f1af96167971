/* matmul/gpu/subgroup.cl: D = act(alpha op(A) op(B) + beta C + bias). Work-items share operands through the registers
 * of their sub-group and not through local memory. GPU class, for devices on which sub-group shuffles are cheap
 * (Intel).
 *
 * A sub-group computes MICRO_M rows by SUBGROUP * MICRO_N columns of D; a work-item computes every SUBGROUP-th column.
 * It holds one value of op(B) per column. The values of op(A) are needed by all columns: each work-item reads those of
 * one k, and they are broadcast. So the kernel is fast if A is adjacent along k and B along its columns, but correct
 * for any strides. The SUBGROUPS sub-groups of a work-group compute rows below one another, so they share op(B) in the
 * cache.
 *
 * NDRange: one dimension, SUBGROUP * SUBGROUPS * ceil(M / (SUBGROUPS * MICRO_M)) * ceil(N / (SUBGROUP * MICRO_N))
 * * batches; work-group (SUBGROUP * SUBGROUPS). ACC_T is f32 or i32. */
#include "common/gpu/subgroup.clh"
#include "matmul/operands.clh"

#define TILE_M (SUBGROUPS * MICRO_M)
#define TILE_N (SUBGROUP * MICRO_N)

__kernel SUBGROUP_ATTRIBUTE __attribute__((reqd_work_group_size(SUBGROUP *SUBGROUPS, 1, 1))) void gemm_subgroup(
    const int batches, OPERAND_PARAMS, EPILOGUE_PARAMS) {
  SUBGROUP_STORAGE(acc_t, MICRO_M)
  const int lane = SUBGROUP_LANE;
  const long tiles_m = (M + TILE_M - 1) / TILE_M, tiles_n = (N + TILE_N - 1) / TILE_N, group = (long)get_group_id(0);
  const long batch = group / tiles_n / tiles_m;
  const int row0 = (int)(group / tiles_n % tiles_m) * TILE_M + SUBGROUP_INDEX * MICRO_M;
  const int col0 = (int)(group % tiles_n) * TILE_N + lane;

  acc_t sums[MICRO_M][MICRO_N], a[MICRO_M];
#pragma unroll
  for (int i = 0; i < MICRO_M; i++) {
#pragma unroll
    for (int j = 0; j < MICRO_N; j++) sums[i][j] = 0;
  }

  for (int k0 = 0; k0 < K; k0 += SUBGROUP) {
#pragma unroll
    for (int i = 0; i < MICRO_M; i++) {
      a[i] = 0;
      if (row0 + i < M && k0 + lane < K) a[i] = ELEMENT_A(batch, row0 + i, k0 + lane);
    }
    SUBGROUP_SHARE(a, MICRO_M)
#pragma unroll
    for (int kk = 0; kk < SUBGROUP; kk++) {
      acc_t b[MICRO_N];
#pragma unroll
      for (int j = 0; j < MICRO_N; j++) {
        b[j] = 0;
        if (col0 + j * SUBGROUP < N && k0 + kk < K) b[j] = ELEMENT_B(batch, k0 + kk, col0 + j * SUBGROUP);
      }
#pragma unroll
      for (int i = 0; i < MICRO_M; i++) {
        const acc_t value = SUBGROUP_READ(a, i, kk);
#pragma unroll
        for (int j = 0; j < MICRO_N; j++) sums[i][j] = MAC(value, b[j], sums[i][j]);
      }
    }
    SUBGROUP_SHARED_END
  }

#pragma unroll
  for (int i = 0; i < MICRO_M; i++) {
#pragma unroll
    for (int j = 0; j < MICRO_N; j++) {
      const long row = row0 + i, col = col0 + j * SUBGROUP;
      if (row < M && col < N) FINISH(1, sums[i][j], batch, row, col);
    }
  }
}
