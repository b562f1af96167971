/* matmul/gpu/direct.cl: D = act(alpha op(A) op(B) + beta C + bias) without local memory, for matrices so small that
 * tiles would mostly be padding. GPU class.
 *
 * A work-item computes MICRO_M rows by VEC columns. It reads its operands directly from global memory; work-items share
 * them only through the caches. Indices beyond the matrix are clamped to its last row or column, so that the loop over
 * k has no branches. NDRange: one dimension of at least ceil(N / VEC) * ceil(M / MICRO_M) * batches work-items, with
 * any work-group size. */
#include "common/group.clh"
#include "matmul/operands.clh"

typedef COMPUTEV(ACC_T, VEC) vec_t;

RANGE_KERNEL gemm_direct(const int batches, OPERAND_PARAMS, EPILOGUE_PARAMS) {
  const long blocks_n = (N + VEC - 1) / VEC, blocks_m = (M + MICRO_M - 1) / MICRO_M, index = (long)get_global_id(0);
  const long batch = index / blocks_n / blocks_m;
  if (batch < batches) {
    const long col0 = index % blocks_n * VEC, row0 = index / blocks_n % blocks_m * MICRO_M;
    const bool whole = col0 + VEC <= N;
    vec_t sums[MICRO_M];
#pragma unroll
    for (int i = 0; i < MICRO_M; i++) sums[i] = (vec_t)(0);

    for (long k = 0; k < K; k++) {
      acc_t lanes[VEC];
      if (B_LAYOUT == 2 && whole) {
        MICA_VSTORE(VEC, READ_VECTOR(B, VEC, B, B_at + batch * B_batch + k * B_row + col0), lanes, 0);
#pragma unroll
        for (int j = 0; j < VEC; j++) lanes[j] = (acc_t)MICA_PROLOGUE_B(lanes[j], batch, k, col0 + j);
      } else {
#pragma unroll
        for (int j = 0; j < VEC; j++) lanes[j] = ELEMENT_B(batch, k, min(col0 + j, (long)N - 1));
      }
      const vec_t b = MICA_VLOAD(VEC, lanes, 0);
#pragma unroll
      for (int i = 0; i < MICRO_M; i++)
        sums[i] = MAC((vec_t)(ELEMENT_A(batch, min(row0 + i, (long)M - 1), k)), b, sums[i]);
    }

#pragma unroll
    for (int i = 0; i < MICRO_M; i++) {
      if (row0 + i < M && whole) {
        FINISH(VEC, sums[i], batch, row0 + i, col0);
      } else if (row0 + i < M) {
        acc_t lanes[VEC];
        MICA_VSTORE(VEC, sums[i], lanes, 0);
#pragma unroll
        for (int j = 0; j < VEC; j++)
          if (col0 + j < N) FINISH(1, lanes[j], batch, row0 + i, col0 + j);
      }
    }
  }
}
