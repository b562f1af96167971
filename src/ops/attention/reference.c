/* The references of attention and its gradients: the formula, row by row, in double. Like the kernels, the gradients
 * are functions of the given operands, including y and logsum. */
#include "ops/attention/attention.h"

#include "base/error.h"
#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>

typedef struct problem {
  const mica__attention_attrs *attrs;
  mica__attention_sizes s;
  double scale;
  mica__attention_range range;
  const double *in[MICA__ATTENTION_OPERANDS]; /* NULL: absent */
  mica__type mask;
  bool single_offset;
  bool magnitudes; /* sum the absolute values of terms, and multiply weights by row.growth */
} problem;

static problem problem_of(const mica__eval *eval, bool of_gradient, bool magnitudes) {
  problem p = {.attrs = eval->attrs, .magnitudes = magnitudes, .s = mica__attention_sizes_of(eval->types)};
  p.scale = mica__attention_scale(p.attrs, p.s.d);
  p.range = mica__attention_range_of(p.attrs);
  for (int32_t k = 0; k < MICA__ATTENTION_OPERANDS; k++) {
    int32_t input = mica__attention_input(p.attrs, of_gradient, (mica__attention_operand)k);
    if (input < 0) continue;
    p.in[k] = eval->inputs[input];
    if (k == MICA__ATTENTION_OF_MASK) p.mask = eval->types[input];
    if (k == MICA__ATTENTION_OF_OFFSET)
      p.single_offset = eval->types[input].shape.rank == 0 || eval->types[input].shape.dim[0] == 1;
  }
  return p;
}

/* A row: query i of head h of sequence b. */
typedef struct row {
  int64_t b, h, i, g; /* g: the head of k and v */
  int64_t low, high;  /* only keys low .. high - 1 are visible */
  const double *q;
  /* Used only if magnitudes: the growth of a weight's relative error, 1 + the largest magnitude of a score (of the
   * sink, too, if there is one). */
  double growth;
} row;

static row row_of(const problem *p, int64_t b, int64_t h, int64_t i) {
  const double *offset = p->in[MICA__ATTENTION_OF_OFFSET], *lengths = p->in[MICA__ATTENTION_OF_LENGTHS];
  int64_t position = i + (offset ? (int64_t)offset[p->single_offset ? 0 : b] : 0);
  int64_t end = lengths && lengths[b] < (double)p->s.tk ? (int64_t)lengths[b] : p->s.tk;
  row r = {.b = b, .h = h, .i = i, .g = h * p->s.g / p->s.h, .low = 0, .high = end, .growth = 1};
  if (p->range.before < MICA__ATTENTION_FAR && position - p->range.before > 0) r.low = position - p->range.before;
  if (p->range.after < MICA__ATTENTION_FAR && position + p->range.after + 1 < end)
    r.high = position + p->range.after + 1;
  const double *starts = p->in[MICA__ATTENTION_OF_STARTS];
  if (starts) r.low = (int64_t)fmax((double)r.low, starts[b * p->s.tq + i]);
  r.q = p->in[MICA__ATTENTION_OF_Q] + ((b * p->s.h + h) * p->s.tq + i) * p->s.d;
  return r;
}

static double mask_at(const problem *p, const row *r, int64_t j) {
  const int64_t index[] = {r->b, r->h, r->i, j};
  int64_t at = 0;
  for (int k = 0; k < 4; k++) {
    int64_t extent = p->mask.shape.dim[k];
    at = at * extent + (extent == 1 ? 0 : index[k]);
  }
  return p->in[MICA__ATTENTION_OF_MASK][at];
}

static const double *key_at(const problem *p, const row *r, int64_t j) {
  return p->in[MICA__ATTENTION_OF_K] + ((r->b * p->s.g + r->g) * p->s.tk + j) * p->s.d;
}
static const double *value_at(const problem *p, const row *r, int64_t j) {
  return p->in[MICA__ATTENTION_OF_V] + ((r->b * p->s.g + r->g) * p->s.tk + j) * p->s.e;
}

/* The score of key j, -infinity if it is not visible. *slope (may be NULL): the derivative of the score with respect
 * to the product q k'. */
static double score(const problem *p, const row *r, int64_t j, double *slope) {
  const double *k = key_at(p, r, j), cap = p->attrs->soft_cap;
  double sum = 0, mask = p->in[MICA__ATTENTION_OF_MASK] ? mask_at(p, r, j) : 0;
  bool added = p->mask.dtype != MICA_BOOL;
  for (int64_t c = 0; c < p->s.d; c++) sum += r->q[c] * k[c];
  sum *= p->scale;
  double tanh_of = cap > 0 ? tanh(sum / cap) : 0;
  if (slope) *slope = p->scale * (1 - tanh_of * tanh_of);
  if (j < r->low || j >= r->high) return -(double)INFINITY;
  if (p->in[MICA__ATTENTION_OF_MASK] && !added && mask == 0) return -(double)INFINITY;
  return (cap > 0 ? cap * tanh_of : sum) + (added ? mask : 0);
}

/* The dropout factor of a softmax weight: 0, or 1 / (1 - dropout). */
static double kept(const problem *p, const row *r, int64_t j) {
  double rate = p->attrs->dropout;
  if (rate == 0) return 1;
  uint64_t element = (uint64_t)(((r->b * p->s.h + r->h) * p->s.tq + r->i) * p->s.tk + j);
  uint64_t step = (uint64_t)(int64_t)p->in[MICA__ATTENTION_OF_STEP][0], key = (uint64_t)p->attrs->key;
  uint32_t words[] = {(uint32_t)(element / 4), (uint32_t)(element / 4 >> 32), (uint32_t)step, (uint32_t)(step >> 32)};
  mica__philox(words, (uint32_t)key, (uint32_t)(key >> 32));
  return ldexp((double)(words[element % 4] >> 8), -24) < (double)(float)(1 - rate) ? 1 / (1 - rate) : 0;
}

/* The sum of the absolute values of a score's terms, plus the soft cap, as an exponent of 2 (that is, divided by log
 * 2). */
static double score_magnitude(const problem *p, const row *r, int64_t j) {
  const double *k = key_at(p, r, j);
  double sum = 0;
  for (int64_t c = 0; c < p->s.d; c++) sum += fabs(r->q[c] * k[c]);
  sum = sum * fabs(p->scale) + p->attrs->soft_cap;
  if (p->in[MICA__ATTENTION_OF_MASK] && p->mask.dtype != MICA_BOOL) sum += fabs(mask_at(p, r, j));
  return sum / log(2);
}

static void find_growth(const problem *p, row *r) {
  const double *sinks = p->in[MICA__ATTENTION_OF_SINKS];
  if (p->magnitudes && sinks) r->growth += fabs(sinks[r->h]) / log(2);
  for (int64_t j = 0; p->magnitudes && j < p->s.tk; j++)
    if (score(p, r, j, NULL) != -(double)INFINITY) r->growth = fmax(r->growth, 1 + score_magnitude(p, r, j));
}

/* Computes the softmax weights of a row. Returns the base-2 logarithm of the sum of e^score over its keys and its
 * sink; -infinity if it sees no key and there are no sinks. */
static double softmax_of(const problem *p, const row *r, double *w) {
  const double *sinks = p->in[MICA__ATTENTION_OF_SINKS], sink = sinks ? sinks[r->h] : -(double)INFINITY;
  double most = sink, sum = 0;
  for (int64_t j = 0; j < p->s.tk; j++) {
    w[j] = score(p, r, j, NULL);
    most = w[j] > most || isnan(w[j]) ? w[j] : most;
  }
  for (int64_t j = 0; j < p->s.tk; j++) sum += w[j] = w[j] == -(double)INFINITY ? 0 : exp(w[j] - most);
  if (sinks) sum += exp(sink - most);
  for (int64_t j = 0; j < p->s.tk; j++) w[j] = sum != 0 ? w[j] / sum : 0;
  return sum != 0 ? (most + log(sum)) / log(2) : -(double)INFINITY;
}

/* Raises a positive weight to at least 2^-104 if the magnitudes for tolerances are computed. A device may flush a
 * weight below 2^-126 to 0 (OpenCL 1.2, 7.5.3). The result then changes by less than checks tolerate for a weight of
 * 2^-104: at least 4 roundoffs, or 2^-22, of the weight (mica__tolerance_sum). */
static double flushed(const problem *p, double weight) {
  return p->magnitudes && weight > 0 ? fmax(weight, 0x1p-104) : weight;
}

/* Computes a row's weights from its logsum. */
static void weights_of(const problem *p, const row *r, double *w) {
  double logsum = p->in[MICA__ATTENTION_OF_LOGSUM][(r->b * p->s.h + r->h) * p->s.tq + r->i];
  for (int64_t j = 0; j < p->s.tk; j++) {
    double own = score(p, r, j, NULL);
    w[j] = own == -(double)INFINITY ? 0 : flushed(p, exp2(own / log(2) - logsum));
  }
}

static double term(const problem *p, double value) { return p->magnitudes ? fabs(value) : value; }

static mica_status fail(void) { return mica__fail_nomem("a reference"); }

static mica_status forward(const mica__eval *eval, bool magnitudes) {
  const problem p = problem_of(eval, false, magnitudes);
  const mica__attention_sizes s = p.s;
  double *w = malloc(((size_t)s.tk + 1) * sizeof *w);
  if (!w) return fail();
  for (int64_t n = 0; n < s.b * s.h * s.tq; n++) {
    row r = row_of(&p, n / (s.h * s.tq), n / s.tq % s.h, n % s.tq);
    double *y = eval->outputs[MICA__ATTENTION_Y] + ((r.b * s.tq + r.i) * s.h + r.h) * s.e;
    double logsum = softmax_of(&p, &r, w);
    find_growth(&p, &r);
    eval->outputs[MICA__ATTENTION_LOGSUM][n] = magnitudes ? r.growth : logsum;
    for (int64_t c = 0; c < s.e; c++) y[c] = 0;
    for (int64_t j = 0; j < s.tk; j++) {
      double weight = w[j] * kept(&p, &r, j) * r.growth;
      for (int64_t c = 0; c < s.e && weight != 0; c++) y[c] += weight * term(&p, value_at(&p, &r, j)[c]);
    }
  }
  free(w);
  return MICA_OK;
}

/* Computes the gradients of a row's scores after cap and mask: w (dw - sum of dy y), where dw is the gradient of the
 * weights. */
static void score_gradients(const problem *p, const row *r, const double *w, double *ds) {
  const double *dy = p->in[MICA__ATTENTION_OF_DY] + ((r->b * p->s.h + r->h) * p->s.tq + r->i) * p->s.e;
  const double *y = p->in[MICA__ATTENTION_OF_Y] + ((r->b * p->s.tq + r->i) * p->s.h + r->h) * p->s.e;
  double sum = 0;
  for (int64_t c = 0; c < p->s.e; c++) sum += term(p, dy[c] * y[c]);
  for (int64_t j = 0; j < p->s.tk; j++) {
    double dw = 0;
    for (int64_t c = 0; c < p->s.e && w[j] != 0; c++) dw += term(p, dy[c] * value_at(p, r, j)[c]);
    dw *= kept(p, r, j);
    ds[j] = w[j] != 0 ? w[j] * (p->magnitudes ? (dw + sum) * r->growth : dw - sum) : 0;
  }
}

/* Adds a row's share to dq, dk and dv. */
static void add_row(const mica__eval *eval, const problem *p, const row *r, const double *w, const double *ds) {
  const mica__attention_sizes s = p->s;
  const double *dy = p->in[MICA__ATTENTION_OF_DY] + ((r->b * s.h + r->h) * s.tq + r->i) * s.e;
  double *dq = eval->outputs[MICA__ATTENTION_DQ] + ((r->b * s.tq + r->i) * s.h + r->h) * s.d;
  for (int64_t j = 0; j < s.tk; j++) {
    double slope = 0, weight = w[j] * kept(p, r, j) * r->growth;
    double *dk = eval->outputs[MICA__ATTENTION_DK] + ((r->b * s.tk + j) * s.g + r->g) * s.d;
    double *dv = eval->outputs[MICA__ATTENTION_DV] + ((r->b * s.tk + j) * s.g + r->g) * s.e;
    if (w[j] == 0) continue;
    score(p, r, j, &slope);
    if (p->magnitudes) slope = p->scale;
    for (int64_t c = 0; c < s.d; c++) {
      dq[c] += term(p, ds[j] * slope * key_at(p, r, j)[c]);
      dk[c] += term(p, ds[j] * slope * r->q[c]);
    }
    for (int64_t c = 0; c < s.e; c++) dv[c] += weight * term(p, dy[c]);
  }
}

static mica_status backward(const mica__eval *eval, bool of_mask, bool magnitudes) {
  const problem p = problem_of(eval, true, magnitudes);
  const mica__attention_sizes s = p.s;
  const int64_t counts[] = {s.b * s.tq * s.h * s.d, s.b * s.tk * s.g * s.d, s.b * s.tk * s.g * s.e};
  double *w = malloc(((size_t)s.tk + 1) * 2 * sizeof *w);
  if (!w) return fail();
  for (int r = 0; !of_mask && r < MICA__ATTENTION_GRAD_RESULTS; r++)
    for (int64_t i = 0; i < counts[r]; i++) eval->outputs[r][i] = 0;
  for (int64_t n = 0; n < s.b * s.h * s.tq; n++) {
    row r = row_of(&p, n / (s.h * s.tq), n / s.tq % s.h, n % s.tq);
    double *ds = of_mask ? eval->output + n * s.tk : w + s.tk;
    weights_of(&p, &r, w);
    find_growth(&p, &r);
    score_gradients(&p, &r, w, ds);
    if (!of_mask) add_row(eval, &p, &r, w, ds);
  }
  free(w);
  return MICA_OK;
}

mica_status mica__attention_evaluate(const mica__eval *eval) { return forward(eval, false); }
mica_status mica__attention_grad_evaluate(const mica__eval *eval) { return backward(eval, false, false); }
mica_status mica__attention_mask_grad_evaluate(const mica__eval *eval) { return backward(eval, true, false); }

mica_status mica__attention_magnitudes(mica__attention_pass pass, const mica__eval *eval) {
  return pass == MICA__ATTENTION_FORWARD ? forward(eval, true)
                                         : backward(eval, pass == MICA__ATTENTION_OF_SCORES, true);
}
