/* blocks/cpu/row.cl: products of few rows with weights in blocks on CPUs; blocks/row.clh has the contract.
 *
 * A work-item computes `span` adjacent columns of y, in strips of 16, for XR rows. So it reads its weights in the order
 * of memory.
 *
 * NORM: a work-item first writes the normalized XR rows of x to `normed`, local memory for XR rows.
 *
 *   WR   rows of w that are read at a time, so that x is loaded once for all of them; divides 16
 *
 * Groups of one work-item, ceil(c / span) x ceil(m / XR). c is the sum over all parts of n rounded up to a multiple of
 * 16; span is a multiple of 16. */
#define ROW_LOCAL_X NORM
#include "blocks/cpu/rows.clh"

#if NORM
#define ROW_LOCAL , __local float *normed
#else
#define ROW_LOCAL
#endif

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
