/* rnn/gpu/forward.cl: a recurrent layer (mica/rnn.h). The products of the input with w, for all steps, are computed in
 * an earlier launch.
 *
 *   products [row][D][GATES][H]    w x, numbers of type S; row = t time_stride + b batch_stride
 *   weights [D][H][GATES][H]       r, with the matrix of each direction transposed
 *   b [D][2][GATES][H]
 *   state [planes][D][B][H]        numbers of type S: two planes of h, which are alternately the state before and after
 *                                  a step; then c, or with GRU_BEFORE r h and the sum of z
 *
 * The other operands and the results are those of rnn/cpu/forward.cl. b, lengths, h0, c0 and all results may be null.
 *
 * Groups of ITEMS work-items: blocks of units, blocks of ROWS sequences, directions from first_direction on. A launch
 * computes `stages` stages from `stage` on; a step has PHASES stages. If a launch computes several stages, there must
 * be only one group in the first dimension, which then computes all units. */
#include "rnn/gpu/steps.clh"

typedef struct layer {
  __global const S *products;
  source b, h0, c0, peepholes;
  lengths_t lengths;
  target y, h, c, sums, before, cells;
  __global S *state;
  long b_at, lengths_at, h0_at, c0_at, peepholes_at, y_at, h_at, c_at, sums_at, before_at, cells_at;
  long plane, states; /* plane: D B H; states: the index of this direction in a plane, d B H */
  int T, B, H, D, d, time_stride, batch_stride, reverse;
} layer;

/* Returns unit k of h of sequence i before step s; 0 if the sequence does not exist. */
INLINE S state_before(__private const layer *l, const int s, const int i, const int k) {
  const long own = (long)i * l->H + k;
  if (i >= l->B) return 0;
  if (s > 0) return l->state[(s & 1) * l->plane + own];
  return l->h0 ? LOAD(X_T, l->h0, l->h0_at + l->states + own) : 0;
}

/* Sets ranges[2 i] and ranges[2 i + 1] to the scale and zero point (byte_step, byte_zero) of h of sequence first + i
 * before step s. `partial` is local memory for 2 ROWS ITEMS numbers. */
INLINE void find_ranges(__private const layer *l, const int s, const int first, __local S *partial, __local S *ranges) {
  const int item = get_local_id(0);
  for (int i = 0; i < ROWS; i++) {
    S low = 0, high = 0;
    for (int k = item; k < l->H; k += ITEMS) {
      const S h = state_before(l, s, first + i, k);
      low = h < low ? h : low;
      high = h > high ? h : high;
    }
    partial[2 * i * ITEMS + item] = low;
    partial[(2 * i + 1) * ITEMS + item] = high;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < ROWS; i += ITEMS) {
    S low = 0, high = 0;
    for (int k = 0; k < ITEMS; k++) {
      const S least = partial[2 * i * ITEMS + k], most = partial[(2 * i + 1) * ITEMS + k];
      low = least < low ? least : low;
      high = most > high ? most : high;
    }
    ranges[2 * i] = byte_step(low, high);
    ranges[2 * i + 1] = byte_zero(low, ranges[2 * i]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Computes the sums of the gates for unit u of sequence i of the group, from the products with w and r and the biases.
 * `at` is row * D + d, the row of the sequence in tensors [row][D]. */
INLINE void sums_of(__private const layer *l, __local const S *partial, const int i, const int u, const long at,
                    const int counts, __private S a[SUMS]) {
  UNROLL for (int g = 0; g < GATES; g++) {
    S input = counts ? l->products[(at * GATES + g) * l->H + u] : 0, hidden = whole(partial, GATES, i, g);
    if (l->b) {
      input += LOAD(X_T, l->b, l->b_at + ((long)(2 * l->d) * GATES + g) * l->H + u);
      hidden += LOAD(X_T, l->b, l->b_at + ((long)(2 * l->d + 1) * GATES + g) * l->H + u);
    }
    if (KIND == GRU && g == 2) {
      a[2] = input;
      a[SUMS - 1] = hidden;
    } else
      a[g] = input + hidden;
  }
}

INLINE void keep_sum(__private const layer *l, const S v, const long at, const int k, const int u) {
  if (l->sums) STORE(X_T, v, l->sums, l->sums_at + (at * SUMS + k) * l->H + u);
}

/* Finishes unit u of sequence `first + i` at the end of a stage. */
INLINE void finish(__private const layer *l, const functions f, __local const S *partial, const int s, const int phase,
                   const int first, const int i, const int u) {
  const int sequence = first + i, length = length_of(l->lengths, l->lengths_at, sequence, l->T), counts = s < length;
  const long row =
      (long)(counts ? time_of(s, length, l->reverse) : s) * l->time_stride + (long)sequence * l->batch_stride;
  const long own = (long)sequence * l->H + u, at = row * l->D + l->d;
  __global S *const third = l->state + 2 * l->plane + own;
  const S old = state_before(l, s, sequence, u);
  S after = old, cell = 0, kept = 0, peep[3], a[SUMS];
  sums_of(l, partial, i, u, at, counts, a);
#if KIND == GRU_BEFORE
  if (phase == 0) {
    third[0] = gate_f(a[0], f) * old;
    third[l->plane] = a[1];
    keep_sum(l, counts ? a[0] : 0, at, 0, u);
    keep_sum(l, counts ? a[1] : 0, at, 1, u);
    return;
  }
  a[1] = third[l->plane];
  kept = third[0];
#elif KIND == LSTM
  kept = cell = s > 0 ? third[0] : l->c0 ? LOAD(X_T, l->c0, l->c0_at + l->states + own) : 0;
#endif
  UNROLL for (int k = 0; k < 3; k++) peep[k] =
      PEEPHOLES ? LOAD(X_T, l->peepholes, l->peepholes_at + ((long)l->d * 3 + k) * l->H + u) : 0;
  forward_cell(a, peep, f, &after, &cell);
  if (!counts) {
    after = old;
    cell = kept;
  }
  l->state[(1 - (s & 1)) * l->plane + own] = after;
  if (KIND == LSTM) third[0] = cell;
  if (l->y) STORE(X_T, counts ? after : 0, l->y, l->y_at + at * l->H + u);
  if (l->before) STORE(X_T, counts ? old : 0, l->before, l->before_at + at * l->H + u);
  if (l->cells && (KIND == LSTM || KIND == GRU_BEFORE))
    STORE(X_T, counts ? kept : 0, l->cells, l->cells_at + at * l->H + u);
  UNROLL for (int k = KIND == GRU_BEFORE ? 2 : 0; k < SUMS; k++) keep_sum(l, counts ? a[k] : 0, at, k, u);
  if (s < l->T - 1) return;
  if (l->h) STORE(X_T, after, l->h, l->h_at + l->states + own);
  if (l->c && KIND == LSTM) STORE(X_T, cell, l->c, l->c_at + l->states + own);
}

RNN_KERNEL rnn_forward_gpu(__global const S *products, const long products_at, source weights, const long weights_at,
                           source b, const long b_at, lengths_t lengths, const long lengths_at, source h0,
                           const long h0_at, source c0, const long c0_at, source peepholes, const long peepholes_at,
                           __global S *state, const long state_at, target y, const long y_at, target h, const long h_at,
                           target c, const long c_at, target sums, const long sums_at, target before,
                           const long before_at, target cells, const long cells_at, const int T, const int B,
                           const int H, const int D, const int time_stride, const int batch_stride,
                           const int first_direction, const int reverse, const int stage, const int stages,
                           FUNCTION_PARAMS) {
  const functions f = FUNCTIONS;
  const int first = get_group_id(1) * ROWS, d = first_direction + get_group_id(2);
  const long states = (long)d * B * H, plane = (long)D * B * H;
  const layer l = {products + products_at,
                   b,
                   h0,
                   c0,
                   peepholes,
                   lengths,
                   y,
                   h,
                   c,
                   sums,
                   before,
                   cells,
                   state + state_at + states,
                   b_at,
                   lengths_at,
                   h0_at,
                   c0_at,
                   peepholes_at,
                   y_at,
                   h_at,
                   c_at,
                   sums_at,
                   before_at,
                   cells_at,
                   plane,
                   states,
                   T,
                   B,
                   H,
                   D,
                   d,
                   time_stride,
                   batch_stride,
                   reverse >> d & 1};
  __local S tile[ROWS * KT], partial[SPLIT * ROWS * GATES * UNITS];
#if BYTE_STATE
  __local S ranges[2 * ROWS];
#define BEFORE in_bytes(state_before(&l, s, first + row, k), ranges[2 * row], ranges[2 * row + 1])
#else
#define BEFORE state_before(&l, s, first + row, k)
#endif
  weights += weights_at + (long)d * H * GATES * H;
  for (int q = stage; q < stage + stages; q++) {
    const int s = q / PHASES, phase = q % PHASES;
    __global const S *const reset = l.state + 2 * plane;
#if BYTE_STATE
    find_ranges(&l, s, first, partial, ranges);
#endif
    for (int block = get_group_id(0) * UNITS; block < H; block += get_num_groups(0) * UNITS) {
      const int u = block + get_local_id(0) % UNITS;
      S acc[ROWS][GATES];
      UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int g = 0; g < GATES; g++) acc[i][g] = 0;
#define WEIGHT LOAD(X_T, weights, ((long)k * GATES + g) * H + u)
      if (phase == 0) {
        SHARE(acc, 0, H, 0, KIND == GRU_BEFORE ? 2 : GATES, tile, BEFORE, WEIGHT, u < H)
      } else {
        SHARE(acc, 0, H, GATES - 1, GATES, tile, first + row < B ? reset[(long)(first + row) * H + k] : (S)0, WEIGHT,
              u < H)
      }
      GATHER_SHARES(acc, GATES, partial);
      for (int i = get_local_id(0) / UNITS; i < ROWS; i += SPLIT)
        if (u < H && first + i < B) finish(&l, f, partial, s, phase, first, i, u);
    }
    if (q + 1 < stage + stages) barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  }
}
