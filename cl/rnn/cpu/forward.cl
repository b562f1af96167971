/* rnn/cpu/forward.cl: a recurrent layer (mica/rnn.h), all steps in one launch.
 *
 * Operands:
 *   x [row][I]               row = t time_stride + b batch_stride
 *   weights, biases          packed by rnn_pack_forward
 *   lengths [B], h0 and c0 [D][B][H], peepholes [D][3][H]
 * Results:
 *   y [row][D][H]            h after each step
 *   h, c [D][B][H]           the state at the end of each sequence
 *   sums [row][D][SUMS][H], before [row][D][H], cells [row][D][H]
 *                            for the gradient: the numbers of cell.clh; h before the step; and c before the step, or
 *                            with GRU_BEFORE r h
 * lengths, h0, c0, sums, before, cells, y, h and c may be null, and without PEEPHOLES peepholes, too. y, sums, before
 * and cells are 0 after a sequence's length.
 *
 * NDRange: blocks of `rows` sequences (a multiple of MR), directions from first_direction on; work-groups have one
 * work-item. Direction d runs backwards if bit d of `reverse` is set. A step multiplies x and h by one packed matrix, a
 * tile at a time, and finishes the units of the tile from registers. `state` has [PLANES][rows][pitch] numbers per
 * work-item: two planes of h, which are alternately the state before and after a step; then c, or with GRU_BEFORE r h
 * and the sum of z; then h in 8 bits (BYTE_STATE). pitch is H rounded up to whole slices. */
#include "rnn/cpu/steps.clh"

#define PLANES (KIND == LSTM ? 3 + BYTE_STATE : KIND == GRU_BEFORE ? 4 : 2)

typedef struct layer {
  source x;
  __global const S *weights, *biases;
  lengths_t lengths;
  source peepholes;
  target y, sums, before, cells;
  __global S *state;
  long x_at, lengths_at, peepholes_at, y_at, sums_at, before_at, cells_at;
  long plane;
  int T, B, I, H, D, d, first, pitch, time_stride, batch_stride, reverse;
} layer;

/* Writes v, VW units from u on, to part `part` of a tensor [row][D][parts][H]. Units from H on are not written, and
 * nothing is written if `to` is null. */
INLINE void keep(__private const layer *l, const V v, target to, const long at, const long row, const int parts,
                 const int part, const int u) {
  if (to) write_part(v, to, at + ((row * l->D + l->d) * parts + part) * l->H + u, l->H - u);
}

INLINE void finish(__private const layer *l, const functions f, __private const rows *r, const int i, const int s,
                   const int phase, const int row, const int u, __private V a[SUMS]) {
  __global S *const now = l->state + (s & 1) * l->plane + (long)row * l->pitch + u;
  __global S *const next = l->state + (1 - (s & 1)) * l->plane + (long)row * l->pitch + u;
  __global S *const third = l->state + 2 * l->plane + (long)row * l->pitch + u;
  const V h = MICA_VLOAD(VW, now, 0);
  V after = h, c = (V)(0), kept = (V)(0), peep[3];
  if (KIND == LSTM) kept = c = MICA_VLOAD(VW, third, 0);
#if KIND == GRU_BEFORE
  __global S *const fourth = third + l->plane;
  if (phase == 0) {
    MICA_VSTORE(VW, gate_f(a[0], f) * h, third, 0);
    MICA_VSTORE(VW, a[1], fourth, 0);
    if (r->exists[i]) {
      keep(l, r->counts[i] ? a[0] : (V)(0), l->sums, l->sums_at, r->row[i], SUMS, 0, u);
      keep(l, r->counts[i] ? a[1] : (V)(0), l->sums, l->sums_at, r->row[i], SUMS, 1, u);
    }
    return;
  }
  a[1] = MICA_VLOAD(VW, fourth, 0);
  kept = MICA_VLOAD(VW, third, 0);
#endif
  UNROLL for (int k = 0; k < 3; k++) peep[k] =
      PEEPHOLES ? read_part(l->peepholes, l->peepholes_at + ((long)l->d * 3 + k) * l->H + u, l->H - u) : (V)(0);
  forward_cell(a, peep, f, &after, &c);
  if (!r->counts[i]) after = h;
  MICA_VSTORE(VW, after, next, 0);
  if (KIND == LSTM && r->counts[i]) MICA_VSTORE(VW, c, third, 0);
  if (!r->exists[i]) return;
  const int counts = r->counts[i];
  keep(l, counts ? after : (V)(0), l->y, l->y_at, r->row[i], 1, 0, u);
  keep(l, counts ? h : (V)(0), l->before, l->before_at, r->row[i], 1, 0, u);
  if (KIND == LSTM || KIND == GRU_BEFORE) keep(l, counts ? kept : (V)(0), l->cells, l->cells_at, r->row[i], 1, 0, u);
  UNROLL for (int k = KIND == GRU_BEFORE ? 2 : 0; k < SUMS; k++)
      keep(l, counts ? a[k] : (V)(0), l->sums, l->sums_at, r->row[i], SUMS, k, u);
}

/* Adds columns FROM .. TO - 1 of a slice: x times the first I rows of weights, then h (or r h) times the H rows after
 * them. In GRU the product of gate n with h is added to a separate sum. */
#define HIDDEN_SUM(v) (KIND == GRU && (v) == 2 ? 3 : (v))
#define MULTIPLY(FROM, TO, hidden)                                                                                     \
  PRODUCT(acc, l->I, w, COLUMNS, FROM, TO, v, LOAD(X_T, l->x, x_at[i] + k))                                            \
  PRODUCT(acc, l->H, w + (long)l->I * COLUMNS * VW, COLUMNS, FROM, TO, HIDDEN_SUM(v), (hidden)[(long)i * l->pitch + k])

INLINE void tile(__private const layer *l, const functions f, const int s, const int phase, const int slice,
                 const int row) {
  rows r;
  find_rows(l->lengths, l->lengths_at, l->T, l->B, l->time_stride, l->batch_stride, l->reverse, s, l->first + row, &r);
  V acc[MR][SUMS * PER_GATE], sums[MR * PER_GATE][SUMS];
  long x_at[MR];
  UNROLL for (int i = 0; i < MR; i++) {
    x_at[i] = l->x_at + r.row[i] * l->I;
    UNROLL for (int v = 0; v < SUMS * PER_GATE; v++) acc[i][v] =
        MICA_VLOAD(VW, l->biases, ((long)slice * SUMS * PER_GATE + v) * VW);
  }
  if (r.any) {
    __global const S *w = l->weights + (long)slice * (l->I + l->H) * COLUMNS * VW;
    __global const S *h = l->state + (BYTE_STATE ? 3 : s & 1) * l->plane + (long)row * l->pitch;
#if KIND == GRU_BEFORE
    if (phase == 0) {
      MULTIPLY(0, 2, h)
    } else {
      __global const S *reset = l->state + 2 * l->plane + (long)row * l->pitch;
      MULTIPLY(2, 3, reset)
    }
#else
    MULTIPLY(0, COLUMNS, h)
#endif
  }
  /* Copies acc to memory. acc is in registers, which cannot be indexed by a number that is only known at run time. */
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < SUMS * PER_GATE; v++)
      sums[i * PER_GATE + v % PER_GATE][v / PER_GATE] = acc[i][v];
  ROLLED for (int e = 0; e < MR * PER_GATE; e++)
      finish(l, f, &r, e / PER_GATE, s, phase, row + e / PER_GATE, slice * UNITS + e % PER_GATE * VW, sums[e]);
}

/* Loads the state of `count` sequences from h0 or c0 (`from`), whose first element has the index `at`. The state is 0
 * if `from` is null, and for units and sequences that do not exist. */
INLINE void load_state(__private const layer *l, source from, const long at, __global S *to, const int count) {
  for (int row = 0; row < count; row++)
    for (int u = 0; u < l->pitch; u += VW) {
      V v = (V)(0);
      if (from && l->first + row < l->B)
        v = read_part(from, at + ((long)l->d * l->B + l->first + row) * l->H + u, l->H - u);
      MICA_VSTORE(VW, v, to, (long)row * l->pitch + u);
    }
}
INLINE void store_state(__private const layer *l, __global const S *from, target to, const long at, const int count) {
  for (int row = 0; to && row < count && l->first + row < l->B; row++)
    for (int u = 0; u < l->H; u += VW)
      write_part(MICA_VLOAD(VW, from, (long)row * l->pitch + u), to,
                 at + ((long)l->d * l->B + l->first + row) * l->H + u, l->H - u);
}

/* Rounds h before step s of `count` sequences to 8 bits. Each sequence has its own range. */
INLINE void round_state(__private const layer *l, const int s, const int count) {
  for (int row = 0; row < count; row++) {
    __global const S *h = l->state + (s & 1) * l->plane + (long)row * l->pitch;
    __global S *to = l->state + 3 * l->plane + (long)row * l->pitch;
    S low = 0, high = 0;
    for (int u = 0; u < l->H; u++) {
      low = h[u] < low ? h[u] : low;
      high = h[u] > high ? h[u] : high;
    }
    const S step = byte_step(low, high), zero = byte_zero(low, step);
    for (int u = 0; u < l->H; u++) to[u] = in_bytes(h[u], step, zero);
  }
}

CPU_KERNEL rnn_forward_cpu(source x, const long x_at, __global const S *weights, const long weights_at,
                           __global const S *biases, const long biases_at, lengths_t lengths, const long lengths_at,
                           source h0, const long h0_at, source c0, const long c0_at, source peepholes,
                           const long peepholes_at, __global S *state, const long state_at, target y, const long y_at,
                           target h, const long h_at, target c, const long c_at, target sums, const long sums_at,
                           target before, const long before_at, target cells, const long cells_at, const int T,
                           const int B, const int I, const int H, const int D, const int time_stride,
                           const int batch_stride, const int first_direction, const int reverse, const int rows,
                           FUNCTION_PARAMS) {
  const functions f = FUNCTIONS;
  const int block = get_group_id(0), d = first_direction + get_group_id(1), slices = (H + UNITS - 1) / UNITS;
  const int pitch = slices * UNITS;
  const long chunk = (long)rows * pitch;
  const layer l = {.x = x,
                   .weights = weights + weights_at + (long)d * slices * (I + H) * COLUMNS * VW,
                   .biases = biases + biases_at + (long)d * slices * SUMS * UNITS,
                   .lengths = lengths,
                   .peepholes = peepholes,
                   .y = y,
                   .sums = sums,
                   .before = before,
                   .cells = cells,
                   .state = state + state_at + ((long)d * get_num_groups(0) + block) * PLANES * chunk,
                   .x_at = x_at,
                   .lengths_at = lengths_at,
                   .peepholes_at = peepholes_at,
                   .y_at = y_at,
                   .sums_at = sums_at,
                   .before_at = before_at,
                   .cells_at = cells_at,
                   .plane = chunk,
                   .T = T,
                   .B = B,
                   .I = I,
                   .H = H,
                   .D = D,
                   .d = d,
                   .first = block * rows,
                   .pitch = pitch,
                   .time_stride = time_stride,
                   .batch_stride = batch_stride,
                   .reverse = reverse >> d & 1};
  const int count = min(rows, (B - block * rows + MR - 1) / MR * MR);
  load_state(&l, h0, h0_at, l.state, count);
  if (KIND == LSTM) load_state(&l, c0, c0_at, l.state + 2 * chunk, count);
  for (int s = 0; s < T; s++) {
    if (BYTE_STATE) round_state(&l, s, count);
    for (int phase = 0; phase < PHASES; phase++)
      for (int slice = 0; slice < slices; slice++)
        for (int row = 0; row < count; row += MR) tile(&l, f, s, phase, slice, row);
  }
  store_state(&l, l.state + (T & 1) * chunk, h, h_at, count);
  if (KIND == LSTM) store_state(&l, l.state + 2 * chunk, c, c_at, count);
}
