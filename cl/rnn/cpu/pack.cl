/* rnn/cpu/pack.cl: packs the weights of recurrent networks in the order in which the CPU kernels read them, as numbers
 * of type S, with zeros after the last unit.
 *
 *   rnn_pack_forward     packs w (D, GATES H, I) and r (D, GATES H, H) to weights [D][slice][I + H][COLUMNS][VW].
 *                        Column v holds VW units, from unit v % PER_GATE * VW of the slice on, of gate v / PER_GATE. It
 *                        also packs b (D, 2 GATES H) to biases [D][slice][SUMS PER_GATE][VW]: the sum of both biases of
 *                        a gate, but with GRU those of n one by one. If b is null they are 0
 *   rnn_pack_backward    packs r to weights [D][slice][GATES H][BACK_VECTORS][VW]
 *
 * NDRange: slices, directions; work-groups have one work-item. */
#include "rnn/cpu/steps.clh"

#include "common/transpose.clh"

DEFINE_INTERLEAVE(V)

/* Packs VW rows of a direction's matrix as column `column` of the packed weights. The rows are the units u .. u + VW -
 * 1 of a gate. The matrix begins at element `at` and has n columns. */
INLINE void pack_columns(source from, const long at, const int n, const int H, const int gate, const int u,
                         const int column, __global S *to) {
  for (int k = 0; k < n; k += VW) {
    V x[VW];
    UNROLL for (int j = 0; j < VW; j++) x[j] =
        u + j < H ? read_part(from, at + ((long)gate * H + u + j) * n + k, n - k) : (V)(0);
    INTERLEAVE(V, x, VW)
    UNROLL for (int j = 0; j < VW; j++) if (k + j < n)
        MICA_VSTORE(VW, x[j], to, ((long)(k + j) * COLUMNS + column) * VW);
  }
}

CPU_KERNEL rnn_pack_forward(source w, const long w_at, source r, const long r_at, source b, const long b_at,
                            __global S *weights, const long weights_at, __global S *biases, const long biases_at,
                            const int I, const int H) {
  const int slice = get_group_id(0), d = get_group_id(1);
  const long at = (long)d * get_num_groups(0) + slice, rows = (long)d * GATES * H;
  weights += weights_at + at * (I + H) * COLUMNS * VW;
  biases += biases_at + at * SUMS * UNITS;
  for (int v = 0; v < COLUMNS; v++) {
    const int gate = v / PER_GATE, u = slice * UNITS + v % PER_GATE * VW;
    pack_columns(w, w_at + rows * I, I, H, gate, u, v, weights);
    pack_columns(r, r_at + rows * H, H, H, gate, u, v, weights + (long)I * COLUMNS * VW);
  }
  for (int v = 0; v < SUMS * PER_GATE; v++) {
    const int sum = v / PER_GATE, u = slice * UNITS + v % PER_GATE * VW;
    V bias = (V)(0);
    if (b) {
      /* In GRU the biases of the two parts of n are separate. */
      if (sum < GATES) bias += read_part(b, b_at + 2 * rows + (long)sum * H + u, H - u);
      if (KIND != GRU || sum != 2)
        bias += read_part(b, b_at + 2 * rows + (long)(GATES + min(sum, GATES - 1)) * H + u, H - u);
    }
    MICA_VSTORE(VW, bias, biases, (long)v * VW);
  }
}

CPU_KERNEL rnn_pack_backward(source r, const long r_at, __global S *weights, const long weights_at, const int H) {
  const int slice = get_group_id(0), d = get_group_id(1), u = slice * BACK_VECTORS * VW;
  weights += weights_at + ((long)d * get_num_groups(0) + slice) * GATES * H * BACK_VECTORS * VW;
  for (int k = 0; k < GATES * H; k++)
    UNROLL for (int v = 0; v < BACK_VECTORS; v++)
        MICA_VSTORE(VW, read_part(r, r_at + ((long)d * GATES * H + k) * H + u + v * VW, H - u - v * VW), weights,
                    ((long)k * BACK_VECTORS + v) * VW);
}
