/* blocks/cpu/row.cl: products of few rows with weights in blocks on CPUs; blocks/row.clh has the contract.
 *
 * A work-item makes `span` columns of y, in strips of 16, for XR rows: the weights it reads follow each other in
 * memory. A sum has 16 lanes: lane l adds up elements l, l + 16 .. of a row, and the lanes are added in halves.
 *
 * NORM: a work-item first makes the norm of its XR rows of x, in local memory of XR rows.
 *
 *   WR   rows of w that are read at once, for which x is loaded once; divides 16
 *
 * Groups of one work-item, ceil(c / span) x ceil(m / XR), where c is n rounded up to 16, of all parts together; span is
 * a multiple of 16. */
#define BLOCK_WIDTH 16
#include "blocks/row.clh"
#include "common/cpu/prefetch.clh"

#define AHEAD 1024 /* bytes after the next rows */
#if WR == 1
#define PAIRS 2
#elif WR == 2
#define PAIRS 4
#else
#define PAIRS 8
#endif

/* Rows of x as products read them. */
#if NORM
#define ROW_SPACE __local
#define ROW_LOCAL , __local float *normed
#define ROW_OF_X(i) (x + (long)(i)*blocks * BLOCK_FIELD(elements))
#else
#define ROW_SPACE __global
#define ROW_LOCAL
#define ROW_OF_X(i) row_of_x(x, i0 + (i), m, blocks)
#endif

BLOCK_FN float sum_of(const float16 x) {
  const float8 eight = x.lo + x.hi;
  const float4 four = eight.lo + eight.hi;
  return (four.x + four.z) + (four.y + four.w);
}

#if NORM
/* The norm of a row of k elements. */
BLOCK_FN void norm_row(__global const float *x, __local float *y, const int k, __global const float *scale,
                       __global const float *shift, const float epsilon) {
  float16 sum = 0, squares = 0;
#if NORM == 2
  for (int c = 0; c < k; c += 16) sum += vload16(0, x + c);
  const float mean = sum_of(sum) / k;
#else
  const float mean = 0;
#endif
  for (int c = 0; c < k; c += 16) {
    const float16 v = vload16(0, x + c) - mean;
    squares = MAC(v, v, squares);
  }
  const float factor = 1.0f / sqrt(sum_of(squares) / k + epsilon);
  for (int c = 0; c < k; c += 16) {
    float16 v = (vload16(0, x + c) - mean) * factor * vload16(0, scale + c);
#if NORM == 2
    v += vload16(0, shift + c);
#endif
    vstore16(v, 0, y + c);
  }
}
#endif

/* Sums of rows j .. j + WR - 1 of w with rows i0 .. i0 + XR - 1 of x. */
BLOCK_FN void dot_rows(ROW_SPACE const float *x, __global const uchar *w, const int i0, const int j, const int m,
                       const int n, const int blocks, __private float *sums) {
  __global const uchar *p[WR];
  ROW_SPACE const float *q[XR];
  block_floats acc[WR][XR];
  UNROLL for (int r = 0; r < WR; r++) p[r] = row_of_w(w, j + r, n, blocks);
  UNROLL for (int i = 0; i < XR; i++) q[i] = ROW_OF_X(i);
  UNROLL for (int r = 0; r < WR; r++) UNROLL for (int i = 0; i < XR; i++) acc[r][i] = 0;
  /* Prefetchers stop where a page ends, and rows are short: those after these are asked for in the order of memory. */
  __global const uchar *ahead = w + ((long)(j + WR) * blocks * BLOCK_FIELD(bytes) + AHEAD);
  for (int b = 0; b < blocks; b++) {
    UNROLL for (int line = 0; line < WR * BLOCK_FIELD(bytes); line += 64) PREFETCH_READ(ahead + line);
    ahead += WR * BLOCK_FIELD(bytes);
    float scale[WR][BLOCK_GROUPS], minimum[WR][BLOCK_GROUPS], halves[2 * WR];
    uint words[WR];
    UNROLL for (int r = 0; r < WR; r++) words[r] = as_uint(block_halves(p[r]));
    MICA_VSTORE(PAIRS, block_float(PAIRS, MICA_VLOAD(PAIRS, (const __private ushort *)words, 0)), halves, 0);
    UNROLL for (int r = 0; r < WR; r++) block_scales(p[r], halves[2 * r], halves[2 * r + 1], scale[r], minimum[r]);
    UNROLL for (int e = 0; e < BLOCK_FIELD(elements); e += 16) {
      block_floats xs[XR];
      UNROLL for (int i = 0; i < XR; i++) xs[i] = vload16(0, q[i] + e);
      UNROLL for (int r = 0; r < WR; r++) {
        const int g = e / (BLOCK_FIELD(elements) / BLOCK_GROUPS);
        const block_floats value = block_elements(p[r], e, scale[r][g], minimum[r][g]);
        UNROLL for (int i = 0; i < XR; i++) acc[r][i] = MAC(value, xs[i], acc[r][i]);
      }
    }
    UNROLL for (int r = 0; r < WR; r++) p[r] += BLOCK_FIELD(bytes);
    UNROLL for (int i = 0; i < XR; i++) q[i] += BLOCK_FIELD(elements);
  }
  UNROLL for (int r = 0; r < WR; r++) UNROLL for (int i = 0; i < XR; i++) {
    sums[i * 16 + j % 16 + r] = sum_of(acc[r][i]);
  }
}

/* `lanes` elements of a row from `at` on, then zeros. */
BLOCK_FN float16 some_of(__global const float *row, const long at, const int lanes) {
  if (lanes == 16) return vload16(0, row + at);
  float each[16] = {0};
  for (int l = 0; l < lanes; l++) each[l] = row[at + l];
  return vload16(0, each);
}

CPU_KERNEL block_row_cpu(ROW_ARGUMENTS ROW_LOCAL) {
  const int first = get_global_id(0) * (span / 16), i0 = get_global_id(1) * XR;
#if NORM
  const int k = blocks * BLOCK_FIELD(elements);
  ROW_SPACE const float *rows = normed;
  for (int i = 0; i < XR; i++)
    norm_row(row_of_x(x + x_at, i0 + i, m, blocks), normed + (long)i * k, k, norm_scale + norm_scale_at,
             norm_shift + norm_shift_at, epsilon);
#else
  ROW_SPACE const float *rows = x + x_at;
#endif
  for (int strip = first; strip < first + span / 16; strip++) {
    ROW_FIND_PART(part, strip, 16)
    const int j0 = part.strip * 16, lanes = min(16, part.n - j0);
    if (lanes <= 0) return;
    float sums[XR * 16];
    for (int r = 0; r < 16; r += WR) dot_rows(rows, part.w, i0, j0 + r, m, part.n, blocks, sums);
#if GATED
    float factors[XR * 16];
    for (int r = 0; r < 16; r += WR) dot_rows(rows, up + up_at, i0, j0 + r, m, n, blocks, factors);
#endif
    for (int i = 0; i < XR && i0 + i < m; i++) {
      const long at = (long)(i0 + i) * part.n + j0;
      float16 v = vload16(i, sums);
      if (has_bias) v += some_of(bias, bias_at + j0, lanes);
      if (has_addend) v += some_of(addend, addend_at + at, lanes);
      v = ACTIVATION(16, v, act_arg);
#if GATED
      v *= vload16(i, factors);
#endif
      if (lanes == 16) {
        vstore16(v, 0, part.y + at);
        continue;
      }
      float each[16];
      vstore16(v, 0, each);
      for (int l = 0; l < lanes; l++) part.y[at + l] = each[l];
    }
  }
}
