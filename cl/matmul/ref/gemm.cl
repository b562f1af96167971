/* matmul/ref/gemm.cl: the reference implementation of D = act(alpha op(A) op(B) + beta C + bias), one work-item per
 * element of D.
 *
 * It works on any device, for any types, strides and sizes, without local memory. Sums run over k in order. NDRange:
 * one dimension of at least M * N * batches work-items, with any work-group size. */
#include "common/group.clh"
#include "matmul/operands.clh"

RANGE_KERNEL gemm_naive(const int batches, OPERAND_PARAMS, EPILOGUE_PARAMS) {
  const long index = (long)get_global_id(0);
  if (index < (long)M * N * batches) {
    const long col = index % N, row = index / N % M, batch = index / N / M;
    acc_t sum = 0;
    for (long k = 0; k < K; k++) sum = MAC(ELEMENT_A(batch, row, k), ELEMENT_B(batch, k, col), sum);
    FINISH(1, sum, batch, row, col);
  }
}
