#include "ops/conv/phase.h"

#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "runtime/fields.h"

static int64_t gcd(int64_t x, int64_t y) { return y == 0 ? x : gcd(y, x % y); }

const mica_tensor *mica__conv_source(const mica__conv *conv) {
  return conv->pass == MICA__CONV_FWD ? conv->x : conv->y;
}

static int64_t stride_phases(const mica__conv_dims *d, int i) {
  return d->stride[i] < d->in[i] ? d->stride[i] : d->in[i];
}

int64_t mica__conv_phase_count(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  return conv->pass != MICA__CONV_BWD_DATA ? 1 : stride_phases(d, 0) * stride_phases(d, 1) * stride_phases(d, 2);
}

static mica__conv_phase forward(const mica__conv_dims *d) {
  int64_t taps = mica__product3(d->filter), tap = 1;
  mica__conv_phase w = {.n = d->n, .groups = d->groups, .c = d->c, .k = d->k};
  w.w_c = taps;
  w.w_k = d->c * taps;
  w.w_group = d->k * w.w_k;
  for (int i = 2; i >= 0; tap *= d->filter[i--]) {
    w.in[i] = d->in[i];
    w.taps[i] = d->filter[i];
    w.first[i] = -d->pad[i];
    w.delta[i] = d->dilation[i];
    w.step[i] = d->stride[i];
    w.out[i] = w.full[i] = d->out[i];
    w.out_stride[i] = 1;
    w.w_tap[i] = tap;
  }
  return w;
}

/* Sets dimension i of a phase of backward data. Pixel p = phase + j stride of x gets terms from the pixels o = (p + pad
 * - r dilation) / stride of y, for those taps r for which the division has no remainder. These are every (stride /
 * gcd(stride, dilation))-th tap, from the first such r on. */
static void set_phase(const mica__conv_dims *d, int i, int64_t phase, int64_t tap, mica__conv_phase *w) {
  int64_t stride = d->stride[i], dilation = d->dilation[i], common = gcd(stride, dilation), every = stride / common;
  int64_t r = 0, reach = phase + d->pad[i];
  while (r < every && (reach - r * dilation) % stride != 0) r++;
  w->in[i] = d->out[i];
  w->taps[i] = r < every && r < d->filter[i] ? mica__ceil_div(d->filter[i] - r, every) : 0;
  w->first[i] = w->taps[i] ? (reach - r * dilation) / stride : 0;
  w->delta[i] = -(dilation / common);
  w->step[i] = 1;
  w->out[i] = mica__ceil_div(d->in[i] - phase, stride);
  w->at[i] = phase;
  w->full[i] = d->in[i];
  w->out_stride[i] = stride;
  w->w_tap[i] = every * tap;
  if (w->taps[i]) w->w_at += r * tap;
}

static bool is_copied(const mica__conv_phase *w, int i) {
  return w->taps[i] == 1 && w->first[i] == 0 && w->step[i] == 1 && w->out_stride[i] == 1 && w->in[i] == w->out[i] &&
         w->out[i] == w->full[i];
}

/* Merges adjacent dimensions that are only copied, pixel by pixel, into one. */
static mica__conv_phase merged(mica__conv_phase w) {
  for (int i = 2; i > 0 && is_copied(&w, i); i--) {
    if (!is_copied(&w, i - 1)) break;
    w.in[2] *= i == 2 ? w.in[1] : w.in[0];
    w.in[i - 1] = w.out[i - 1] = w.full[i - 1] = 1;
    w.out[2] = w.full[2] = w.in[2];
  }
  return w;
}

mica__conv_phase mica__conv_phase_used(mica__conv_phase w) {
  for (int i = 0; i < 3; i++) {
    int64_t idle = mica__conv_drop_idle(w.in[i], w.out[i], w.step[i], w.first[i], w.delta[i], &w.taps[i]);
    w.first[i] += idle * w.delta[i];
    w.w_at += idle * w.w_tap[i];
  }
  return merged(w);
}

mica__conv_phase mica__conv_phase_forward(const mica__conv_dims *dims) { return merged(forward(dims)); }

mica__conv_phase mica__conv_phase_transposed(mica__conv_phase w) {
  mica__conv_phase transposed = w;
  transposed.c = w.k;
  transposed.k = w.c;
  transposed.w_c = w.w_k;
  transposed.w_k = w.w_c;
  return transposed;
}

mica__conv_phase mica__conv_phase_at(const mica__conv *conv, int64_t index) {
  const mica__conv_dims *d = &conv->dims;
  if (conv->pass != MICA__CONV_BWD_DATA) return mica__conv_phase_forward(d);
  int64_t taps = mica__product3(d->filter), tap = 1;
  mica__conv_phase w = {.n = d->n, .groups = d->groups, .c = d->k, .k = d->c};
  w.w_k = taps;
  w.w_c = d->c * taps;
  w.w_group = d->k * w.w_c;
  for (int i = 2; i >= 0; tap *= d->filter[i--]) {
    set_phase(d, i, index % stride_phases(d, i), tap, &w);
    index /= stride_phases(d, i);
  }
  return merged(w);
}

MICA__FIELDS(size_fields, PHASE_SIZE);
MICA__FIELDS(own_fields, PHASE_OWN);
MICA__FIELDS(step_fields, PHASE_STEP);
MICA__FIELDS(full_fields, PHASE_FULL);
MICA__FIELDS(begins_fields, PHASE_BEGINS);
MICA__FIELDS(firsts_fields, WEIGHTS_FIRST);
MICA__FIELDS(strides_fields, WEIGHTS_STRIDES);

void mica__conv_push_own(mica__launch *launch, const mica__conv_phase *w) {
  const int64_t *taps = w->taps, *first = w->first, *out = w->out, *at = w->at;
  const own_fields o = {.TAPS1 = taps[1],
                        .TAPS2 = taps[2],
                        .FIRST1 = first[1],
                        .FIRST2 = first[2],
                        .OUT1 = out[1],
                        .OUT2 = out[2],
                        .AT1 = at[1],
                        .AT2 = at[2]};
  mica__launch_sizes(launch, o.values);
}

void mica__conv_push_phase(mica__launch *launch, const mica__conv_phase *w) {
  const int64_t *in = w->in, *delta = w->delta, *by = w->step, *all = w->full, *stride = w->out_stride;
  const size_fields s = {
      .N = w->n, .G = w->groups, .CG = w->c, .KG = w->k, .IN0 = in[0], .IN1 = in[1], .IN2 = in[2], .TAPS0 = w->taps[0]};
  const step_fields t = {.FIRST0 = w->first[0],
                         .DELTA0 = delta[0],
                         .DELTA1 = delta[1],
                         .DELTA2 = delta[2],
                         .STEP0 = by[0],
                         .STEP1 = by[1],
                         .STEP2 = by[2],
                         .OUT0 = w->out[0]};
  const full_fields f = {.AT0 = w->at[0],
                         .FULL0 = all[0],
                         .FULL1 = all[1],
                         .FULL2 = all[2],
                         .OUT_STRIDE0 = stride[0],
                         .OUT_STRIDE1 = stride[1],
                         .OUT_STRIDE2 = stride[2]};
  mica__launch_sizes(launch, s.values);
  mica__conv_push_own(launch, w);
  mica__launch_sizes(launch, t.values);
  mica__launch_sizes(launch, f.values);
}

void mica__conv_push_strides(mica__launch *launch, const mica__conv_phase *w, int64_t count) {
  const int64_t *tap = w->w_tap;
  const strides_fields s = {.w_group = w->w_group,
                            .w_k = w->w_k,
                            .w_c = w->w_c,
                            .w_tap0 = tap[0],
                            .w_tap1 = tap[1],
                            .w_tap2 = tap[2],
                            .count = count};
  mica__launch_long8(launch, s.values);
}

mica__conv_phases mica__conv_phases_at(const mica__conv *conv, int64_t *index) {
  const mica__conv_dims *d = &conv->dims;
  /* Phases are numbered along the width first, then along the height. */
  const int64_t plane = mica__conv_phase_count(conv) == 1 ? 1 : stride_phases(d, 1) * stride_phases(d, 2);
  const int64_t end = mica__min(*index + MICA__CONV_TOGETHER, *index - *index % plane + plane);
  mica__conv_phases p = {.count = 0};
  for (; *index < end; ++*index) {
    const mica__conv_phase w = mica__conv_phase_used(mica__conv_phase_at(conv, *index));
    if (w.n * mica__product3(w.out) == 0) continue;
    int at = p.count++;
    for (; at > 0 && mica__product3(w.taps) > mica__product3(p.list[at - 1].taps); at--) p.list[at] = p.list[at - 1];
    p.list[at] = w;
  }
  return p;
}

double mica__conv_phases_share(const mica__conv *conv, const mica__conv_phases *p) {
  const double all = (double)(mica__product3(conv->dims.filter) * mica__product3(conv->dims.out));
  double own = 0;
  for (int i = 0; i < p->count; i++) own += (double)(mica__product3(p->list[i].taps) * mica__product3(p->list[i].out));
  return all > 0 ? own / all : 0;
}

void mica__conv_push_phases(mica__launch *launch, const mica__conv_phases *p) {
  begins_fields b;
  mica__conv_push_phase(launch, &p->list[0]);
  for (int i = 1; i < MICA__CONV_TOGETHER; i++) mica__conv_push_own(launch, &p->list[i]);
  for (int i = 0; i < MICA__CONV_TOGETHER; i++) {
    b.values[i] = i < p->count ? p->begins[i] : INT32_MAX;
    b.values[MICA__CONV_TOGETHER + i] = p->numbers[i];
  }
  mica__launch_sizes(launch, b.values);
}

void mica__conv_push_weights(mica__launch *launch, const mica__conv_phases *p) {
  firsts_fields f = {.values = {0}};
  for (int i = 0; i < p->count; i++) f.values[i] = p->list[i].w_at;
  mica__launch_long8(launch, f.values);
  mica__conv_push_strides(launch, &p->list[0], 0);
}
