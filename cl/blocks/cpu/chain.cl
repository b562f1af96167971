/* blocks/cpu/chain.cl: the products of the second half of a transformer layer, for few rows, on CPUs, in one launch.
 * All weights are blocks of one type. Sums are computed as in blocks/row.clh, in its order. There are three phases:
 *
 *   1. h = x out^T + out_bias + out_addend             (m, width); only with OUT, else h is x
 *   2. f = activation(norm(h) gate^T) * (norm(h) up^T) (m, hidden); norm is chosen by NORM
 *   3. y = f down^T + bias + h                         (m, width); h is added only with RESIDUAL
 *
 * h and f are in `work`: h first, if OUT, then f. A phase needs all results of the phase before it, so groups wait for
 * them. An item of work is a span of columns, a multiple of 16, of XR rows. Each group takes the next item from a
 * counter; so the items before it are finished or belong to groups that are already running, and waiting for them
 * cannot deadlock. `counters` are four ints, which must be 0 before and are 0 again afterwards.
 *
 *   OUT   1: with phase 1
 *
 * Groups of one work-item, one per item of all phases. Local memory: XR rows of the longest of x, h and f. */
#define GATED 0
#define PARTS 1
#define ROW_LOCAL_X 1
#include "blocks/cpu/rows.clh"

enum { TICKETS, DONE_H, DONE_F, LEFT };
enum { HAS_OUT_BIAS = 1, HAS_OUT_ADDEND = 2, HAS_BIAS = 4, RESIDUAL = 8 };

#if OUT
#define CHAIN_OUT                                                                                                      \
  , __global const uchar *out, const long out_at, __global const float *out_bias, const long out_bias_at,              \
      __global const float *out_addend, const long out_addend_at, const int out_blocks
#else
#define CHAIN_OUT
#endif

#if defined(MICA_HAS_PREFETCH) && defined(__x86_64__)
#define MICA_RELAX __builtin_ia32_pause()
#else
#define MICA_RELAX
#endif

/* Waits until *done >= count. PoCL's atomic operations are sequentially consistent: a group that reads the counter
 * after another group has incremented it also sees everything that this other group wrote before. */
BLOCK_FN void await(volatile __global int *done, const int count) {
  while (*done < count) MICA_RELAX;
  atomic_add(done, 0);
}

BLOCK_FN void count_done(volatile __global int *done) { atomic_inc(done); }

CPU_KERNEL block_chain_cpu(__global const float *x, const long x_at, __global const uchar *gate, const long gate_at,
                           __global const uchar *up, const long up_at, __global const uchar *down, const long down_at,
                           __global float *y, const long y_at, __global const float *bias, const long bias_at,
                           __global float *work, const long work_at, __global int *counters, const long counters_at,
                           const int m, const int width, const int hidden, const int width_span, const int hidden_span,
                           const int has, const float act_arg CHAIN_OUT ROW_NORM, __local float *rows) {
  volatile __global int *counts = counters + counters_at;
  const int walks = (m + XR - 1) / XR, wide = (width + width_span - 1) / width_span,
            tall = (hidden + hidden_span - 1) / hidden_span, of_h = OUT * wide * walks, of_f = tall * walks;
  const int ticket = atomic_inc(&counts[TICKETS]), in_h = ticket < of_h, in_f = !in_h && ticket < of_h + of_f;
  const int item = in_h ? ticket : in_f ? ticket - of_h : ticket - of_h - of_f, spans = in_f ? tall : wide;
  const int i0 = item / spans * XR, span = in_f ? hidden_span : width_span, n = in_f ? hidden : width;
#if OUT
  __global float *h = work + work_at, *f = h + (long)m * width;
#else
  __global const float *h = x + x_at;
  __global float *f = work + work_at;
#endif
  int blocks = (in_f ? width : hidden) / BLOCK_FIELD(elements);
  __global const float *from = in_f ? h : f, *added = in_f || !(has & RESIDUAL) ? 0 : h,
                       *biases = !in_f && has & HAS_BIAS ? bias + bias_at : 0;
  __global const uchar *w = in_f ? gate + gate_at : down + down_at;
  __global float *to = in_f ? f : y + y_at;
#if OUT
  if (in_h) {
    blocks = out_blocks;
    from = x + x_at;
    added = has & HAS_OUT_ADDEND ? out_addend + out_addend_at : 0;
    biases = has & HAS_OUT_BIAS ? out_bias + out_bias_at : 0;
    w = out + out_at;
    to = h;
  } else if (in_f)
    await(&counts[DONE_H], of_h);
#endif
  if (!in_h && !in_f) await(&counts[DONE_F], of_f);

  const int k = blocks * BLOCK_FIELD(elements);
  for (int i = 0; i < XR; i++) {
    __global const float *row = row_of_x(from, i0 + i, m, blocks);
    __local float *copy = rows + (long)i * k;
#if NORM
    if (in_f) {
      norm_row(row, copy, k, norm_scale + norm_scale_at, norm_shift + norm_shift_at, epsilon);
      continue;
    }
#endif
    for (int c = 0; c < k; c += 16) vstore16(vload16(0, row + c), 0, copy + c);
  }
  for (int j0 = item % spans * span; j0 < min(n, item % spans * span + span); j0 += 16) {
    const int lanes = min(16, n - j0);
    float sums[2][XR * 16];
    for (int pass = 0; pass <= in_f; pass++)
      for (int r = 0; r < 16; r += WR) dot_rows(rows, pass ? up + up_at : w, i0, j0 + r, m, n, blocks, sums[pass]);
    for (int i = 0; i < XR && i0 + i < m; i++) {
      const long at = (long)(i0 + i) * n + j0;
      float16 v = vload16(i, sums[0]);
      if (biases) v += some_of(biases, j0, lanes);
      if (added) v += some_of(added, at, lanes);
      if (in_f) v = ACTIVATION(16, v, act_arg) * vload16(i, sums[1]);
      if (lanes == 16) {
        vstore16(v, 0, to + at);
        continue;
      }
      float each[16];
      vstore16(v, 0, each);
      for (int l = 0; l < lanes; l++) to[at + l] = each[l];
    }
  }
  if (in_h) count_done(&counts[DONE_H]);
  if (in_f) count_done(&counts[DONE_F]);
  if (atomic_inc(&counts[LEFT]) + 1 < of_h + of_f + wide * walks) return;
  for (int c = 0; c <= LEFT; c++) counts[c] = 0;
}
