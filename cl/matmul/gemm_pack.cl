/* matmul/gemm_pack.cl: an operand of gemm_tile, of floats, in the order in which that kernel reads it (its form
 * PREPACKED), for operands that stay as they are from run to run.
 *
 *   P[(z * panels + p) * K + k][i] = X[X_at + z * X_batch + (p * width + i) * X_outer + k * X_k]
 *
 * for i < width and p * width + i < outer; what remains of the `pitch` places of a row is 0. The outer index is the row
 * of A or the column of B. X and P do not overlap.
 *
 * NDRange: one dimension, batches * panels * K or more, work-groups of any size. */
__kernel void gemm_pack(const int batches, const int outer, const int K, const int width, const int pitch,
                        __global const float *X, const long X_at, const long X_batch, const long X_outer,
                        const long X_k, __global float *P, const long P_at) {
  const long index = (long)get_global_id(0);
  const int panels = (outer + width - 1) / width;
  if (index < (long)K * panels * batches) {
    const int k = index % K, first = index / K % panels * width, count = min(width, outer - first);
    const long from = X_at + index / K / panels * X_batch + first * X_outer + k * X_k, to = P_at + index * pitch;
    for (int i = 0; i < count; i++) P[to + i] = X[from + i * X_outer];
    for (int i = count; i < pitch; i++) P[to + i] = 0.0f;
  }
}
