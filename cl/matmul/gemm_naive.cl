/* matmul/gemm_naive.cl: D = act(alpha op(A) op(B) + beta C + bias), one work-item an element of D.
 *
 * The reference among the implementations: any device, any type, any stride, any size, no local memory. Sums run over k
 * in order. NDRange (N, M, batches) in work-groups of any shape, exact or rounded up. */
#include "matmul/operands.clh"

__kernel void gemm_naive(const int batches, OPERAND_PARAMS, EPILOGUE_PARAMS) {
  const long col = (long)get_global_id(0), row = (long)get_global_id(1), batch = (long)get_global_id(2);
  if (row < M && col < N && batch < batches) {
    acc_t sum = 0;
    for (long k = 0; k < K; k++) sum = MAC(ELEMENT_A(batch, row, k), ELEMENT_B(batch, k, col), sum);
    FINISH(1, sum, batch, row, col);
  }
}
