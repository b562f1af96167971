/* matmul/gemm_splitk.cl: the second half of a matmul whose sum over k was divided among work-groups.
 *
 * P[splits][batches][M][N] of ACC_T holds the partial sums; they are added in the order of `splits`, so that the same
 * inputs give the same bits, then finished like any other: D = act(alpha sum + beta C + bias).
 * NDRange (N, M, batches), work-groups of any shape, exact or rounded up. Any device class. */
#include "common/epilogue.clh"

__kernel void gemm_splitk(const int batches, const int M, const int N, const int splits,
                          __global const COMPUTE(ACC_T) *restrict P, const long P_at, EPILOGUE_PARAMS) {
  const long col = (long)get_global_id(0), row = (long)get_global_id(1), batch = (long)get_global_id(2);
  if (row < M && col < N && batch < batches) {
    const long stride = (long)batches * M * N, at = P_at + (batch * M + row) * N + col;
    COMPUTE(ACC_T) sum = P[at];
    for (int split = 1; split < splits; split++) sum += P[at + split * stride];
    FINISH(1, sum, batch, row, col);
  }
}
