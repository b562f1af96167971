/* The three passes in double, straight from their formulas. */
#include "base/element.h"
#include "ops/conv/conv.h"

#include <math.h>
#include <string.h>

/* One term: the indices of an element of each tensor. */
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

/* Finds the input position that a tap reads for an output position; false if it is outside. */
static bool input_of(const mica__conv_dims *d, const int64_t out[3], const int64_t tap[3], int64_t in[3]) {
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

/* Adds all terms of an output position and a tap. */
static void add_channels(const mica__conv_dims *d, mica__conv_pass pass, const int64_t out[3], const int64_t tap[3],
                         const double *a, const double *b, double *result) {
  int64_t in[3], inputs = mica__product3(d->in), taps = mica__product3(d->filter);
  int64_t pixels = mica__product3(d->out);
  if (!input_of(d, out, tap, in)) return;
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

/* Finds the output position for which a tap reads an input position; false if the tap reads it for no output. */
static bool output_of(const mica__conv_dims *d, const int64_t in[3], const int64_t tap[3], int64_t out[3]) {
  for (int i = 0; i < 3; i++) {
    int64_t reach = in[i] + d->pad[i] - tap[i] * d->dilation[i];
    if (reach < 0 || reach % d->stride[i] || reach / d->stride[i] >= d->out[i]) return false;
    out[i] = reach / d->stride[i];
  }
  return true;
}

/* An element of a pass's result: its position in the last three dimensions, and its indices in the two before them. */
typedef struct element {
  int64_t position[3], channel, first;
} element;

static element element_at(const mica__conv_dims *d, mica__conv_pass pass, int64_t at) {
  const int64_t *extent = pass == MICA__CONV_FWD ? d->out : pass == MICA__CONV_BWD_DATA ? d->in : d->filter;
  int64_t channels = pass == MICA__CONV_FWD ? d->groups * d->k : pass == MICA__CONV_BWD_DATA ? d->groups * d->c : d->c;
  int64_t plane = at / mica__product3(extent);
  return (element){.position = {at / extent[2] / extent[1] % extent[0], at / extent[2] % extent[1], at % extent[2]},
                   .channel = plane % channels,
                   .first = plane / channels};
}

/* Finds the term at index `outer` of the sum's first dimension and position `inner` of the others; false if there is
 * none, because the tap reads padding or, for backward data, because the tap reads the pixel for no output. */
static bool term_of(const mica__conv_dims *d, mica__conv_pass pass, const element *e, int64_t outer,
                    const int64_t inner[3], term *t) {
  int64_t other[3], n = e->first, k = e->channel, c = outer;
  const int64_t *in = other, *tap = inner, *out = e->position;
  if (pass == MICA__CONV_BWD_DATA) {
    if (!output_of(d, e->position, inner, other)) return false;
    in = e->position, out = other;
    k = e->channel / d->c * d->k + outer, c = e->channel % d->c;
  } else {
    bool filter = pass == MICA__CONV_BWD_FILTER;
    if (filter) tap = e->position, out = inner, n = outer, k = e->first, c = e->channel;
    if (!input_of(d, out, tap, other)) return false;
  }
  t->x = (n * d->groups * d->c + k / d->k * d->c + c) * mica__product3(d->in) + flat(in, d->in);
  t->w = (k * d->c + c) * mica__product3(d->filter) + flat(tap, d->filter);
  t->y = (n * d->groups * d->k + k) * mica__product3(d->out) + flat(out, d->out);
  return true;
}

double mica__conv_reference_at(const mica__conv_dims *d, mica__conv_pass pass, mica_dtype dtype, const void *a,
                               const void *b, int64_t at, double *magnitude) {
  element e = element_at(d, pass, at);
  const int64_t *extent = pass == MICA__CONV_BWD_FILTER ? d->out : d->filter;
  int64_t count = pass == MICA__CONV_FWD ? d->c : pass == MICA__CONV_BWD_DATA ? d->k : d->n;
  double sum = 0;
  *magnitude = 0;
  if (mica__product3(extent) == 0) return 0;
  for (int64_t outer = 0; outer < count; outer++) {
    int64_t inner[3] = {0};
    term t;
    do {
      if (!term_of(d, pass, &e, outer, inner, &t)) continue;
      double product = mica__element_get(dtype, a, pass == MICA__CONV_BWD_DATA ? t.w : t.x) *
                       mica__element_get(dtype, b, pass == MICA__CONV_FWD ? t.w : t.y);
      sum += product;
      *magnitude += fabs(product);
    } while (next(inner, extent));
  }
  return sum;
}
