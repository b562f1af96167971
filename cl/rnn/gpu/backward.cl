/* rnn/gpu/backward.cl: the gradient of a recurrent layer, in stages from the last step to the first.
 *
 * r [D][GATES][H][H] is not packed. The other operands and the results are those of rnn/cpu/backward.cl. `state`,
 * numbers of type S, is [2][D][B][GATES][H], the gradients that are multiplied by r, for even and for odd steps; then
 * [5][D][B][H]: dh, dc, and the gradients of the three peepholes.
 *
 * Groups and launches are as in rnn/gpu/forward.cl. A stage begins with the product of r with the gradients of the
 * gates of the next step. The second stage of a step, with GRU_BEFORE, begins with the product of r with the gradients
 * of gate n of the same step. After T PHASES stages one more computes the gradients of h0, c0 and the peepholes. */
#include "rnn/gpu/steps.clh"

typedef struct layer {
  lengths_t lengths;
  source sums, before, cells, peepholes, dy, dh, dc;
  target dsums, dhidden, dh0, dc0, dpeepholes;
  __global S *now, *dhs, *dcs, *dps; /* in state: gradients of this step's gates, dh, dc, gradients of peepholes */
  long lengths_at, sums_at, before_at, cells_at, peepholes_at, dy_at, dh_at, dc_at, dsums_at, dhidden_at, dh0_at;
  long dc0_at, dpeepholes_at;
  long plane, states; /* plane: D B H; states: the index of this direction in a plane, d B H */
  int T, B, H, D, d, time_stride, batch_stride, reverse;
} layer;

/* A unit of a sequence at a step: `own` is its index in [B][H], `gates` its index in [B][GATES][H] (gate 0), and `at`
 * is row * D + d, the row of the sequence in tensors [row][D]. counts: the step is within the sequence's length. */
typedef struct position {
  long own, gates, at;
  int sequence, u, s, counts;
} position;

/* Finds the position of unit u of a sequence at step s. The result is written through a pointer, because a returned
 * structure becomes a noalias argument, which Oclgrind 21.10 cannot inline. */
INLINE void find_position(__private const layer *l, const int s, const int sequence, const int u,
                          __private position *p) {
  const int length = length_of(l->lengths, l->lengths_at, sequence, l->T), counts = s >= 0 && s < length;
  const long row =
      (long)(counts ? time_of(s, length, l->reverse) : s) * l->time_stride + (long)sequence * l->batch_stride;
  p->own = (long)sequence * l->H + u;
  p->gates = (long)sequence * GATES * l->H + u;
  p->at = row * l->D + l->d;
  p->sequence = sequence;
  p->u = u;
  p->s = s;
  p->counts = counts;
}

#if KIND == GRU_BEFORE
/* Computes the gradient of gate r, and adds to dh the part of the gradient that passes through the gate. d is the
 * gradient of r h, the product of this stage. */
INLINE void reset_gate(__private const layer *l, const functions f, __private const position *p, const S d) {
  S da = 0;
  if (p->counts) {
    const S sum = LOAD(X_T, l->sums, l->sums_at + p->at * SUMS * l->H + p->u), gate = gate_f(sum, f);
    da = into_f(d * LOAD(X_T, l->before, l->before_at + p->at * l->H + p->u), sum, gate, f);
    l->dhs[p->own] += d * gate;
  }
  l->now[p->gates] = da;
  if (l->dsums) STORE(X_T, da, l->dsums, l->dsums_at + p->at * GATES * l->H + p->u);
}
#endif

/* Finishes a step for a unit. `product` is the part of dh that comes through r from the gates of the next step. `first`
 * is true at the last step, which has no next step. With p->s < 0 it writes the gradients of h0, c0 and the
 * peepholes. */
INLINE void finish(__private const layer *l, const functions f, __private const position *p, const S product,
                   const int first) {
  S dh = product, dc = 0, old = 0, cell = 0, hidden = 0, peep[3] = {0, 0, 0}, dp[3] = {0, 0, 0}, a[SUMS];
  if (!first) {
    dh += l->dhs[p->own];
    if (KIND == LSTM) dc = l->dcs[p->own];
  } else {
    if (l->dh) dh += LOAD(X_T, l->dh, l->dh_at + l->states + p->own);
    if (KIND == LSTM && l->dc) dc = LOAD(X_T, l->dc, l->dc_at + l->states + p->own);
  }
  UNROLL for (int k = 0; k < SUMS; k++) a[k] = 0;
  if (p->counts) {
    UNROLL for (int k = 0; k < SUMS; k++) a[k] = LOAD(X_T, l->sums, l->sums_at + (p->at * SUMS + k) * l->H + p->u);
    if (KIND == GRU || KIND == GRU_BEFORE) old = LOAD(X_T, l->before, l->before_at + p->at * l->H + p->u);
    if (KIND == LSTM) cell = LOAD(X_T, l->cells, l->cells_at + p->at * l->H + p->u);
    if (l->dy) dh += LOAD(X_T, l->dy, l->dy_at + p->at * l->H + p->u);
    UNROLL for (int k = 0; PEEPHOLES && k < 3; k++) peep[k] =
        LOAD(X_T, l->peepholes, l->peepholes_at + ((long)l->d * 3 + k) * l->H + p->u);
    backward_cell(a, old, cell, peep, f, &dh, &dc, &hidden, dp);
  }
  UNROLL for (int k = 0; PEEPHOLES && k < 3; k++) {
    const S sum = (first ? 0 : l->dps[k * l->plane + p->own]) + dp[k];
    l->dps[k * l->plane + p->own] = sum;
    if (p->s < 0 && l->dpeepholes)
      STORE(X_T, sum, l->dpeepholes, l->dpeepholes_at + (((long)l->d * l->B + p->sequence) * 3 + k) * l->H + p->u);
  }
  if (p->s < 0) {
    if (l->dh0) STORE(X_T, dh, l->dh0, l->dh0_at + l->states + p->own);
    if (l->dc0 && KIND == LSTM) STORE(X_T, dc, l->dc0, l->dc0_at + l->states + p->own);
    return;
  }
  l->dhs[p->own] = dh;
  if (KIND == LSTM) l->dcs[p->own] = dc;
  UNROLL for (int k = KIND == GRU_BEFORE ? 1 : 0; k < GATES; k++) {
    const S for_r = KIND == GRU && k == 2 ? hidden : a[k];
    l->now[p->gates + (long)k * l->H] = for_r;
    if (l->dsums) STORE(X_T, a[k], l->dsums, l->dsums_at + (p->at * GATES + k) * l->H + p->u);
    if (l->dhidden && KIND == GRU) STORE(X_T, for_r, l->dhidden, l->dhidden_at + (p->at * GATES + k) * l->H + p->u);
  }
}

/* Finishes unit u of all the group's sequences at the end of a stage. */
INLINE void end_stage(__private const layer *l, const functions f, __local const S *partial, const int s,
                      const int phase, const int first, const int u, const int is_first) {
  for (int i = get_local_id(0) / UNITS; i < ROWS; i += SPLIT) {
    if (u >= l->H || first + i >= l->B) continue;
    position p;
    find_position(l, s, first + i, u, &p);
#if KIND == GRU_BEFORE
    if (phase) {
      reset_gate(l, f, &p, whole(partial, 1, i, 0));
      continue;
    }
#endif
    finish(l, f, &p, whole(partial, 1, i, 0), is_first);
  }
}

RNN_KERNEL rnn_backward_gpu(source r, const long r_at, lengths_t lengths, const long lengths_at, source sums,
                            const long sums_at, source before, const long before_at, source cells, const long cells_at,
                            source peepholes, const long peepholes_at, source dy, const long dy_at, source dh,
                            const long dh_at, source dc, const long dc_at, __global S *state, const long state_at,
                            target dsums, const long dsums_at, target dhidden, const long dhidden_at, target dh0,
                            const long dh0_at, target dc0, const long dc0_at, target dpeepholes,
                            const long dpeepholes_at, const int T, const int B, const int H, const int D,
                            const int time_stride, const int batch_stride, const int first_direction, const int reverse,
                            const int stage, const int stages, FUNCTION_PARAMS) {
  const functions f = FUNCTIONS;
  const int first = get_group_id(1) * ROWS, d = first_direction + get_group_id(2);
  const long plane = (long)D * B * H, states = (long)d * B * H;
  __global S *const gates = state + state_at + states * GATES;
  __global S *const dhs = state + state_at + 2 * GATES * plane + states;
  layer l = {lengths,
             sums,
             before,
             cells,
             peepholes,
             dy,
             dh,
             dc,
             dsums,
             dhidden,
             dh0,
             dc0,
             dpeepholes,
             gates,
             dhs,
             dhs + plane,
             dhs + 2 * plane,
             lengths_at,
             sums_at,
             before_at,
             cells_at,
             peepholes_at,
             dy_at,
             dh_at,
             dc_at,
             dsums_at,
             dhidden_at,
             dh0_at,
             dc0_at,
             dpeepholes_at,
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
  __local S tile[ROWS * KT], partial[SPLIT * ROWS * UNITS];
  r += r_at + (long)d * GATES * H * H;
  for (int q = stage; q < stage + stages; q++) {
    const int s = T - 1 - q / PHASES, phase = q % PHASES;
    l.now = gates + (s & 1) * plane * GATES;
    /* The stage multiplies r by rows from .. to - 1 of the gradients of gates in `other`. In the second phase of
     * GRU_BEFORE these are gate n of this step, otherwise the gates of the next step. */
    const int from = phase ? 2 * H : 0, to = phase ? 3 * H : s == T - 1 ? 0 : (KIND == GRU_BEFORE ? 2 : GATES) * H;
    __global const S *const other = phase ? l.now : gates + ((s + 1) & 1) * plane * GATES;
    for (int block = get_group_id(0) * UNITS; block < H; block += get_num_groups(0) * UNITS) {
      const int u = block + get_local_id(0) % UNITS;
      S acc[ROWS][1];
      UNROLL for (int i = 0; i < ROWS; i++) acc[i][0] = 0;
      SHARE(acc, from, to, 0, 1, tile, first + row < B ? other[(long)(first + row) * GATES * H + k] : (S)0,
            LOAD(X_T, r, (long)k * H + u), u < H)
      GATHER_SHARES(acc, 1, partial);
      end_stage(&l, f, partial, s, phase, first, u, q == 0);
    }
    if (q + 1 < stage + stages) barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  }
}
