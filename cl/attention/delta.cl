/* attention/delta.cl: Delta[b, h, i] = sum over e of DY[b, h, i, e] Y[b, i, h, e], which the gradient of the softmax
 * subtracts. One work-item per row; work-group (64, 1, 1). */
#include "attention/problem.clh"
#include "common/group.clh"

DEFINE_PACKED_FIELDS(DELTA_FIELDS);

RANGE_KERNEL attention_delta(ATTENTION_BUFFERS, elements DY, elements Y, __global real *Delta,
                             const mica_packed packed) {
  UNPACK_FIELDS(DELTA_FIELDS);
  const long row = get_global_id(0);
  if (row >= count) return;
  const long b = row / ((long)H * Tq);
  const int h = (int)(row / Tq % H), i = (int)(row % Tq);
  const long dy = DY_at + b * DY_b + h * DY_h + i * DY_t, y = Y_at + ((b * Tq + i) * H + h) * E;
  real sum = 0;
  for (int e = 0; e < E; e++) sum = fma((real)LOAD(Q_T, DY, dy + e * DY_c), (real)LOAD(Q_T, Y, y + e), sum);
  Delta[Delta_at + row] = sum;
}
