/* How large the rounding errors of Winograd's convolution may be.
 *
 * Its error is bounded like that of a sum whose terms are the absolute values of all intermediate terms,
 *
 *   magnitude = |A'| ( sum over c of (|G| |g_c| |G'|) * (|B'| |d_c| |B|) ) |A|
 *
 * instead of sum |g| |d|, because the same matrices propagate every rounding error (N. J. Higham: Accuracy and
 * stability of numerical algorithms, 2002, chapter 3; for Winograd B. Barabasz et al., ACM TOMS 46, 2020, theorem 2).
 * The transforms add at most 3, 3 and 4 roundings in each of two dimensions, and 2 for rounded coefficients, to the C
 * roundings of the sum: C + 22 in all. The factor of mica__tolerance_sum for the 9 C terms of the direct sum, 4 + 2
 * sqrt(9 C), is 2 sqrt(9 C + 12 sqrt(C) + 4), which allows for more roundings than that. So the same function of the
 * magnitude bounds the result.
 *
 * A filter's gradient is the transposed algorithm, magnitude = |G'| ( sum over tiles of (|A| |dY| |A'|) * (|B'| |d|
 * |B|) ) |G|. It sums over tiles, which are fewer than the terms of the direct sum. On GPUs (staged_wgrad.c), tiles of
 * x take A's transforms and tiles of dY take B's. */
#include "ops/conv/winograd/winograd.h"

#include <math.h>
#include <string.h>

#define A 0.70710678118654752440 /* the smaller pair of points of F(4 x 4, 3 x 3); the other pair is 1 / A */
#define B 1.41421356237309504880

typedef struct square {
  double at[6][6];
} square;
typedef struct transforms {
  square input, filter, output;
} transforms;
/* The absolute values of the matrices in cl/conv/winograd/winograd.clh. */
static const transforms edge2 = {
    .input = {{{1, 0, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 0, 1}}},
    .filter = {{{1}, {.5, .5, .5}, {.5, .5, .5}, {0, 0, 1}}},
    .output = {{{1, 1, 1}, {0, 1, 1, 1}}},
};
static const transforms edge4 = {
    .input = {{{1, 0, 2.5, 0, 1},
               {0, 2 * A, 2, A, 1},
               {0, 2 * A, 2, A, 1},
               {0, B / 2, .5, B, 1},
               {0, B / 2, .5, B, 1},
               {0, 1, 0, 2.5, 0, 1}}},
    .filter = {{{1},
                {2 / 3., 2 / 3. * A, 1 / 3.},
                {2 / 3., 2 / 3. * A, 1 / 3.},
                {1 / 6., B / 6, 1 / 3.},
                {1 / 6., B / 6, 1 / 3.},
                {0, 0, 1}}},
    .output = {{{1, 1, 1, 1, 1}, {0, A, A, B, B}, {0, .5, .5, 2, 2}, {0, A / 2, A / 2, 2 * B, 2 * B, 1}}},
};

/* The product of matrix, `in` and the transposed matrix, of rows x rows elements; matrix has rows x columns. */
static square both_sides(int rows, int columns, const square *matrix, const square *in) {
  square half = {{{0}}}, out = {{{0}}};
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      for (int l = 0; l < columns; l++) half.at[i][j] += matrix->at[i][l] * in->at[l][j];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++)
      for (int l = 0; l < columns; l++) out.at[i][j] += half.at[i][l] * matrix->at[j][l];
  return out;
}

/* |d|: the absolute values that a tile at (y, x) reads. */
static square read_tile(const mica__winograd *p, const double *source, int64_t n, int64_t c, int64_t y, int64_t x) {
  const mica__conv_phase *w = &p->phase;
  square d;
  for (int64_t i = 0; i < 6; i++)
    for (int64_t j = 0; j < 6; j++) {
      int64_t row = y + p->top + i, column = x + p->left + j;
      bool inside = row >= 0 && row < w->in[1] && column >= 0 && column < w->in[2];
      d.at[i][j] = inside ? fabs(source[((n * w->c + c) * w->in[1] + row) * w->in[2] + column]) : 0;
    }
  return d;
}

/* |g| */
static square read_filter(const mica__winograd *p, const double *filters, int64_t k, int64_t c) {
  const double *taps = filters + k * p->phase.w_k + c * p->phase.w_c;
  square g;
  for (int t = 0; t < 9; t++) g.at[t / 3][t % 3] = fabs(taps[p->flipped ? 8 - t : t]);
  return g;
}

/* The magnitudes for the tile at (image, filter, first row, first column). */
static square tile_magnitude(const mica__winograd *p, int edge, const double *source, const double *filters,
                             const int64_t at[4]) {
  const mica__conv_phase *w = &p->phase;
  const transforms *t = edge == 4 ? &edge4 : &edge2;
  square sum = {{{0}}};
  for (int64_t c = 0; c < w->c; c++) {
    square d = read_tile(p, source, at[0], c, at[2], at[3]), g = read_filter(p, filters, at[1], c);
    square v = both_sides(edge + 2, edge + 2, &t->input, &d), u = both_sides(edge + 2, 3, &t->filter, &g);
    for (int i = 0; i < edge + 2; i++)
      for (int j = 0; j < edge + 2; j++) sum.at[i][j] += u.at[i][j] * v.at[i][j];
  }
  return both_sides(edge, edge + 2, &t->output, &sum);
}

void mica__winograd_magnitude(const void *problem, int32_t edge, const double *a, const double *b, const int64_t *at,
                              int64_t count, double *magnitude) {
  const mica__conv *conv = problem;
  mica__winograd p = mica__winograd_of(conv);
  const int64_t *out = p.phase.out;
  const double *source = p.flipped ? b : a, *filters = p.flipped ? a : b;
  int64_t known[4] = {-1};
  square tile = {{{0}}};
  for (int64_t i = 0; i < count; i++) {
    int64_t e = at ? at[i] : i, row = e / out[2] % out[1], column = e % out[2], plane = e / out[2] / out[1];
    int64_t wanted[4] = {plane / p.phase.k, plane % p.phase.k, row - row % edge, column - column % edge};
    /* Neighbours in a row share a tile. */
    if (memcmp(wanted, known, sizeof known) != 0) tile = tile_magnitude(&p, edge, source, filters, wanted);
    memcpy(known, wanted, sizeof known);
    magnitude[i] = tile.at[row % edge][column % edge];
  }
}

static square transposed(const square *matrix) {
  square out;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) out.at[i][j] = matrix->at[j][i];
  return out;
}

/* |dY|: the absolute values of the tile of results at (y, x). */
static square read_results(const mica__winograd *p, const double *results, int64_t n, int64_t k, int64_t y, int64_t x) {
  const mica__conv_phase *w = &p->phase;
  square d = {{{0}}};
  for (int64_t i = 0; i < 4 && y + i < w->out[1]; i++)
    for (int64_t j = 0; j < 4 && x + j < w->out[2]; j++)
      d.at[i][j] = fabs(results[((n * w->k + k) * w->out[1] + y + i) * w->out[2] + x + j]);
  return d;
}

/* The magnitudes for the gradient of the taps between channel c of the source and channel k of the results. */
static square filter_magnitude(const mica__winograd *p, const double *source, const double *results, int64_t k,
                               int64_t c) {
  const mica__conv_phase *w = &p->phase;
  square output = transposed(&edge4.output), filter = transposed(&edge4.filter), sum = {{{0}}};
  for (int64_t n = 0; n < w->n; n++)
    for (int64_t i = 0; i < w->out[1]; i += 4)
      for (int64_t j = 0; j < w->out[2]; j += 4) {
        square d = read_tile(p, source, n, c, i, j), g = read_results(p, results, n, k, i, j);
        square v = both_sides(6, 6, &edge4.input, &d), m = both_sides(6, 4, &output, &g);
        for (int t = 0; t < 36; t++) sum.at[t / 6][t % 6] += v.at[t / 6][t % 6] * m.at[t / 6][t % 6];
      }
  return both_sides(3, 6, &filter, &sum);
}

void mica__winograd_filter_magnitude(const void *problem, const double *x, const double *y, const int64_t *at,
                                     int64_t count, double *magnitude) {
  mica__winograd p = mica__winograd_of(problem);
  const double *source = p.flipped ? y : x, *results = p.flipped ? x : y;
  /* Filters lie in the order of y's channels, then x's. */
  const int64_t across = p.flipped ? p.phase.k : p.phase.c;
  int64_t known = -1;
  square taps = {{{0}}};
  for (int64_t i = 0; i < count; i++) {
    int64_t e = at ? at[i] : i, filter = e / 9, tap = p.flipped ? 8 - e % 9 : e % 9;
    const int64_t outer = filter / across, inner = filter % across;
    if (filter != known)
      taps = filter_magnitude(&p, source, results, p.flipped ? inner : outer, p.flipped ? outer : inner);
    known = filter;
    magnitude[i] = taps.at[tap / 3][tap % 3];
  }
}
