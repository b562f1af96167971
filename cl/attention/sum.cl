/* attention/sum.cl: DQ[b, i, h, c] = sum over splits, in order, of P[split][b, h][i][c]: the partial sums that
 * attention/cpu/grad.cl writes. P has P_rows rows of D_PAD elements per split and head. One work-item per row (b, i,
 * h); work-group (64, 1, 1). */
#include "attention/problem.clh"
#include "common/group.clh"

DEFINE_PACKED_FIELDS(SUM_FIELDS);

RANGE_KERNEL attention_sum(ATTENTION_BUFFERS, __global const float *P, __global STORAGE(Q_T) * DQ,
                           const mica_packed packed) {
  UNPACK_FIELDS(SUM_FIELDS);
  const long row = get_global_id(0);
  if (row >= count) return;
  const long b = row / ((long)Tq * H), batches = count / ((long)Tq * H);
  const int i = (int)(row / H % Tq), h = (int)(row % H);
  const long head = (long)P_rows * D_PAD;
  __global const float *p = P + P_at + (b * H + h) * head + (long)i * D_PAD;
  for (int c = 0; c < D; c++) {
    float sum = 0;
    for (int s = 0; s < splits; s++) sum += p[s * batches * H * head + c];
    STORE(Q_T, sum, DQ, DQ_at + row * D + c);
  }
}
