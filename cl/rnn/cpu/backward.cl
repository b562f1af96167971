/* rnn/cpu/backward.cl: the gradient of a recurrent layer (rnn_grad), all steps in one launch, from the last to the
 * first.
 *
 * Operands:
 *   weights                   packed by rnn_pack_backward
 *   sums, before, cells       written by rnn/cpu/forward.cl
 *   dy [row][D][H]            the gradient of y
 *   dh, dc [D][B][H]          the gradients of the last states
 * Results:
 *   dsums [row][D][GATES][H]  the gradients of w x + b, 0 after a sequence's length
 *   dhidden, as dsums         with GRU: the gradients of r h + b
 *   dh0, dc0 [D][B][H]        the gradients of the first states
 *   dpeepholes [D][B][3][H]   the gradients of the peepholes; the host sums them over B
 * lengths, dy, dh, dc and results may be null. So may `before` without a GRU, cells without an LSTM, and peepholes (as
 * in rnn/cpu/forward.cl) without PEEPHOLES.
 *
 * NDRange: blocks of `rows` sequences (a multiple of MR), directions from first_direction on; work-groups have one
 * work-item. `state` has [PLANES][rows][pitch] numbers per work-item: dh, dc, the gradients of the three peepholes, and
 * then for each gate the gradients that are multiplied by r. pitch is H rounded up to whole slices. */
#include "rnn/cpu/steps.clh"

#define FIRST_GATE 5
#define PLANES (FIRST_GATE + GATES)

typedef struct layer {
  __global const S *weights;
  lengths_t lengths;
  source sums, before, cells, peepholes, dy;
  target dsums, dhidden;
  __global S *state;
  long lengths_at, sums_at, before_at, cells_at, peepholes_at, dy_at, dsums_at, dhidden_at;
  long plane;
  int T, B, H, D, d, first, pitch, time_stride, batch_stride, reverse;
} layer;

INLINE V kept(__private const layer *l, source from, const long at, const long row, const int parts, const int part,
              const int u) {
  return read_part(from, at + ((row * l->D + l->d) * parts + part) * l->H + u, l->H - u);
}
INLINE void keep(__private const layer *l, const V v, target to, const long at, const long row, const int gate,
                 const int u) {
  if (to) write_part(v, to, at + ((row * l->D + l->d) * GATES + gate) * l->H + u, l->H - u);
}

/* Writes the gradients of gate k for VW units: `hidden` to the state, as an operand of the product with r; and, if the
 * sequence exists, `input` to dsums and with GRU `hidden` to dhidden. */
INLINE void give(__private const layer *l, const V input, const V hidden, const long at, __private const rows *r,
                 const int i, const int k, const int u) {
  MICA_VSTORE(VW, hidden, l->state + (FIRST_GATE + k) * l->plane, at);
  if (!r->exists[i]) return;
  keep(l, input, l->dsums, l->dsums_at, r->row[i], k, u);
  if (KIND == GRU) keep(l, hidden, l->dhidden, l->dhidden_at, r->row[i], k, u);
}

/* Computes the gradients of the gates for VW units of sequence i. They are 0 after the sequence's end. Also updates dh,
 * dc and the gradients of the peepholes in the state. */
INLINE void gates(__private const layer *l, const functions f, __private const rows *r, const int i, const int row,
                  const int u) {
  const long at = (long)row * l->pitch + u;
  if (!r->counts[i] || !r->exists[i]) {
    UNROLL for (int k = 0; k < GATES; k++) give(l, (V)(0), (V)(0), at, r, i, k, u);
    return;
  }
  V a[SUMS], h = (V)(0), c = (V)(0), peep[3], dp[3], hidden = (V)(0);
  V dh = MICA_VLOAD(VW, l->state, at), dc = MICA_VLOAD(VW, l->state + l->plane, at);
  UNROLL for (int k = 0; k < SUMS; k++) a[k] = kept(l, l->sums, l->sums_at, r->row[i], SUMS, k, u);
  if (KIND == GRU || KIND == GRU_BEFORE) h = kept(l, l->before, l->before_at, r->row[i], 1, 0, u);
  if (KIND == LSTM) c = kept(l, l->cells, l->cells_at, r->row[i], 1, 0, u);
  if (l->dy) dh += kept(l, l->dy, l->dy_at, r->row[i], 1, 0, u);
  UNROLL for (int k = 0; k < 3; k++) peep[k] =
      PEEPHOLES ? read_part(l->peepholes, l->peepholes_at + ((long)l->d * 3 + k) * l->H + u, l->H - u) : (V)(0);
  backward_cell(a, h, c, peep, f, &dh, &dc, &hidden, dp);
  MICA_VSTORE(VW, dh, l->state, at);
  if (KIND == LSTM) MICA_VSTORE(VW, dc, l->state + l->plane, at);
#if PEEPHOLES
  UNROLL for (int k = 0; k < 3; k++)
      MICA_VSTORE(VW, MICA_VLOAD(VW, l->state + (2 + k) * l->plane, at) + dp[k], l->state + (2 + k) * l->plane, at);
#endif
  /* In GRU_BEFORE the gradient of gate r is computed later (reset_gate), from a product with the gradient of n. */
  UNROLL for (int k = KIND == GRU_BEFORE ? 1 : 0; k < GATES; k++)
      give(l, a[k], KIND == GRU && k == 2 ? hidden : a[k], at, r, i, k, u);
}

#if KIND == GRU_BEFORE
/* Computes the gradient of gate r for VW units, and adds to dh the part of the gradient that passes through the gate. d
 * is the gradient of r h. */
INLINE void reset_gate(__private const layer *l, const functions f, __private const rows *r, const int i, const int row,
                       const int u, const V d) {
  const long at = (long)row * l->pitch + u;
  if (!r->counts[i] || !r->exists[i]) {
    give(l, (V)(0), (V)(0), at, r, i, 0, u);
    return;
  }
  const V sum = kept(l, l->sums, l->sums_at, r->row[i], SUMS, 0, u), gate = gate_f(sum, f);
  const V h = kept(l, l->before, l->before_at, r->row[i], 1, 0, u), da = into_f(d * h, sum, gate, f);
  give(l, da, da, at, r, i, 0, u);
  MICA_VSTORE(VW, MICA_VLOAD(VW, l->state, at) + d * gate, l->state, at);
}
#endif

/* Multiplies the gradients of gates from .. to - 1 by r, and adds the products to dh of the units of a tile. With
 * `reset` the products are the gradients of r h, and reset_gate uses them instead. */
INLINE void multiply(__private const layer *l, const functions f, __private const rows *r, const int row,
                     const int slice, const int from, const int to, const int reset) {
  V acc[MR][BACK_VECTORS];
  const int first = slice * BACK_VECTORS * VW;
  __global S *const dh = l->state + (long)row * l->pitch + first;
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < BACK_VECTORS; v++) acc[i][v] =
      reset ? (V)(0) : MICA_VLOAD(VW, dh, (long)i * l->pitch + v * VW);
  for (int g = from; g < to; g++) {
    __global const S *w = l->weights + ((long)slice * GATES + g) * l->H * BACK_VECTORS * VW;
    __global const S *d = l->state + (FIRST_GATE + g) * l->plane + (long)row * l->pitch;
    PRODUCT(acc, l->H, w, BACK_VECTORS, 0, BACK_VECTORS, v, d[(long)i * l->pitch + k])
  }
#if KIND == GRU_BEFORE
  if (reset) {
    V sums[MR * BACK_VECTORS];
    UNROLL for (int e = 0; e < MR * BACK_VECTORS; e++) sums[e] = acc[e / BACK_VECTORS][e % BACK_VECTORS];
    ROLLED for (int e = 0; e < MR * BACK_VECTORS; e++)
        reset_gate(l, f, r, e / BACK_VECTORS, row + e / BACK_VECTORS, first + e % BACK_VECTORS * VW, sums[e]);
    return;
  }
#endif
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < BACK_VECTORS; v++)
      MICA_VSTORE(VW, acc[i][v], dh, (long)i * l->pitch + v * VW);
}

INLINE void step_back(__private const layer *l, const functions f, const int s, const int row) {
  rows r;
  find_rows(l->lengths, l->lengths_at, l->T, l->B, l->time_stride, l->batch_stride, l->reverse, s, l->first + row, &r);
  ROLLED for (int i = 0; i < MR; i++) ROLLED for (int u = 0; u < l->H; u += VW) gates(l, f, &r, i, row + i, u);
}

INLINE void load_state(__private const layer *l, source from, const long at, __global S *to, const int count) {
  for (int row = 0; row < count; row++)
    for (int u = 0; u < l->pitch; u += VW) {
      V v = (V)(0);
      if (from && l->first + row < l->B)
        v = read_part(from, at + ((long)l->d * l->B + l->first + row) * l->H + u, l->H - u);
      MICA_VSTORE(VW, v, to, (long)row * l->pitch + u);
    }
}
INLINE void store_state(__private const layer *l, __global const S *from, target to, const long at, const int parts,
                        const int part, const int count) {
  for (int row = 0; to && row < count && l->first + row < l->B; row++)
    for (int u = 0; u < l->H; u += VW)
      write_part(MICA_VLOAD(VW, from, (long)row * l->pitch + u), to,
                 at + (((long)l->d * l->B + l->first + row) * parts + part) * l->H + u, l->H - u);
}

CPU_KERNEL rnn_backward_cpu(__global const S *weights, const long weights_at, lengths_t lengths, const long lengths_at,
                            source sums, const long sums_at, source before, const long before_at, source cells,
                            const long cells_at, source peepholes, const long peepholes_at, source dy, const long dy_at,
                            source dh, const long dh_at, source dc, const long dc_at, __global S *state,
                            const long state_at, target dsums, const long dsums_at, target dhidden,
                            const long dhidden_at, target dh0, const long dh0_at, target dc0, const long dc0_at,
                            target dpeepholes, const long dpeepholes_at, const int T, const int B, const int H,
                            const int D, const int time_stride, const int batch_stride, const int first_direction,
                            const int reverse, const int rows_each, FUNCTION_PARAMS) {
  const functions f = FUNCTIONS;
  const int block = get_group_id(0), d = first_direction + get_group_id(1);
  const int slices = (H + BACK_VECTORS * VW - 1) / (BACK_VECTORS * VW), pitch = slices * BACK_VECTORS * VW;
  const long chunk = (long)rows_each * pitch;
  const layer l = {.weights = weights + weights_at + (long)d * slices * GATES * H * BACK_VECTORS * VW,
                   .lengths = lengths,
                   .sums = sums,
                   .before = before,
                   .cells = cells,
                   .peepholes = peepholes,
                   .dy = dy,
                   .dsums = dsums,
                   .dhidden = dhidden,
                   .state = state + state_at + ((long)d * get_num_groups(0) + block) * PLANES * chunk,
                   .lengths_at = lengths_at,
                   .sums_at = sums_at,
                   .before_at = before_at,
                   .cells_at = cells_at,
                   .peepholes_at = peepholes_at,
                   .dy_at = dy_at,
                   .dsums_at = dsums_at,
                   .dhidden_at = dhidden_at,
                   .plane = chunk,
                   .T = T,
                   .B = B,
                   .H = H,
                   .D = D,
                   .d = d,
                   .first = block * rows_each,
                   .pitch = pitch,
                   .time_stride = time_stride,
                   .batch_stride = batch_stride,
                   .reverse = reverse >> d & 1};
  const int count = min(rows_each, (B - block * rows_each + MR - 1) / MR * MR);
  load_state(&l, dh, dh_at, l.state, count);
  load_state(&l, dc, dc_at, l.state + chunk, count);
  for (int k = 0; PEEPHOLES && k < 3; k++) load_state(&l, 0, 0, l.state + (2 + k) * chunk, count);
  for (int s = T - 1; s >= 0; s--) {
    for (int row = 0; row < count; row += MR) step_back(&l, f, s, row);
    for (int phase = 0; phase < PHASES; phase++)
      for (int slice = 0; slice < slices; slice++)
        for (int row = 0; row < count; row += MR) {
          rows r;
          find_rows(l.lengths, l.lengths_at, T, B, time_stride, batch_stride, l.reverse, s, l.first + row, &r);
#if KIND == GRU_BEFORE
          if (phase == 0)
            multiply(&l, f, &r, row, slice, 2, 3, 1);
          else
            multiply(&l, f, &r, row, slice, 0, 2, 0);
#else
          if (r.any) multiply(&l, f, &r, row, slice, 0, GATES, 0);
#endif
        }
  }
  store_state(&l, l.state, dh0, dh0_at, 1, 0, count);
  if (KIND == LSTM) store_state(&l, l.state + chunk, dc0, dc0_at, 1, 0, count);
  for (int k = 0; PEEPHOLES && k < 3; k++)
    store_state(&l, l.state + (2 + k) * chunk, dpeepholes, dpeepholes_at, 3, k, count);
}
