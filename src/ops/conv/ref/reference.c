/* The three passes in double, straight from their formulas. */
#include "ops/conv/conv.h"

#include <string.h>

/* One term: an element of each tensor, by number. */
typedef struct term {
  int64_t x, w, y;
} term;

static int64_t flat(const int64_t index[3], const int64_t extent[3]) {
  return (index[0] * extent[1] + index[1]) * extent[2] + index[2];
}

static bool next(int64_t index[3], const int64_t extent[3]) {
  for (int i = 2; i >= 0; i--) {
    if (++index[i] < extent[i]) return true;
    index[i] = 0;
  }
  return false;
}

/* The places of the input that output and filter places meet at; false outside. */
static bool meet(const mica__conv_dims *d, const int64_t out[3], const int64_t tap[3], int64_t in[3]) {
  for (int i = 0; i < 3; i++) {
    in[i] = out[i] * d->stride[i] - d->pad[i] + tap[i] * d->dilation[i];
    if (in[i] < 0 || in[i] >= d->in[i]) return false;
  }
  return true;
}

static void add(mica__conv_pass pass, term t, const double *a, const double *b, double *result) {
  switch (pass) {
  case MICA__CONV_FWD: result[t.y] += a[t.x] * b[t.w]; break;
  case MICA__CONV_BWD_DATA: result[t.x] += a[t.w] * b[t.y]; break;
  default: result[t.w] += a[t.x] * b[t.y];
  }
}

/* All terms of a pair of an output element and a filter element. */
static void add_channels(const mica__conv_dims *d, mica__conv_pass pass, const int64_t out[3], const int64_t tap[3],
                         const double *a, const double *b, double *result) {
  int64_t in[3], inputs = mica__product3(d->in), taps = mica__product3(d->filter);
  int64_t pixels = mica__product3(d->out);
  if (!meet(d, out, tap, in)) return;
  for (int64_t n = 0; n < d->n; n++)
    for (int64_t k = 0; k < d->groups * d->k; k++)
      for (int64_t c = 0; c < d->c; c++) {
        term t = {.x = (n * d->groups * d->c + k / d->k * d->c + c) * inputs + flat(in, d->in),
                  .w = (k * d->c + c) * taps + flat(tap, d->filter),
                  .y = (n * d->groups * d->k + k) * pixels + flat(out, d->out)};
        add(pass, t, a, b, result);
      }
}

void mica__conv_reference(const mica__conv_dims *d, mica__conv_pass pass, const double *a, const double *b,
                          double *result) {
  int64_t inputs = d->n * d->groups * d->c * mica__product3(d->in);
  int64_t weights = d->groups * d->k * d->c * mica__product3(d->filter);
  int64_t outputs = d->n * d->groups * d->k * mica__product3(d->out);
  int64_t count = pass == MICA__CONV_FWD ? outputs : pass == MICA__CONV_BWD_DATA ? inputs : weights;
  memset(result, 0, (size_t)count * sizeof *result);
  if (inputs == 0 || weights == 0 || outputs == 0) return;
  int64_t out[3] = {0};
  do {
    int64_t tap[3] = {0};
    do add_channels(d, pass, out, tap, a, b, result);
    while (next(tap, d->filter));
  } while (next(out, d->out));
}
