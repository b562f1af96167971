/* matmul/gpu/splitk.cl: adds the partial sums of a matmul whose sum over k was divided among work-groups, and finishes
 * them: D = act(alpha sum + beta C + bias).
 *
 * P[splits][batches][M][N] of ACC_T holds the partial sums. They are added in the order of `splits`, so that the same
 * inputs give the same bits. NDRange: one dimension of at least M * N * batches work-items, with any work-group size.
 * Any device class. */
#include "common/epilogue.clh"
#include "common/group.clh"

RANGE_KERNEL gemm_splitk(const int batches, const int M, const int N, const int splits,
                         __global const COMPUTE(ACC_T) *restrict P, const long P_at, EPILOGUE_PARAMS) {
  const long index = (long)get_global_id(0), stride = (long)batches * M * N;
  if (index < stride) {
    const long col = index % N, row = index / N % M, batch = index / N / M;
    COMPUTE(ACC_T) sum = P[P_at + index];
    for (int split = 1; split < splits; split++) sum += P[P_at + index + split * stride];
    FINISH(1, sum, batch, row, col);
  }
}
