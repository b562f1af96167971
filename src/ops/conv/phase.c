#include "ops/conv/phase.h"

#include "base/arith.h"
#include "base/error.h"
#include "runtime/workspace.h"

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

/* Pixels i = phase + j stride of x get pixels o = (i + pad - r dilation) / stride of y, for those r that divide
 * without remainder: every (stride / gcd(stride, dilation))-th. */
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

/* Adjacent dimensions that are only copied, pixel by pixel, become one. */
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

/* They were checked to fit. */
#define I(value) (int32_t)(w->value)
void mica__conv_push_taps(mica__launch *launch, const mica__conv_phase *w) {
  mica__launch_int8(launch, (int32_t[]){I(taps[1]), I(taps[2]), I(first[0]), I(first[1]), I(first[2]), I(delta[0]),
                                        I(delta[1]), I(delta[2])});
}

void mica__conv_push_phase(mica__launch *launch, const mica__conv_phase *w) {
  mica__launch_int8(launch, (int32_t[]){I(n), I(groups), I(c), I(k), I(in[0]), I(in[1]), I(in[2]), I(taps[0])});
  mica__conv_push_taps(launch, w);
  mica__launch_int8(
      launch, (int32_t[]){I(step[0]), I(step[1]), I(step[2]), I(out[0]), I(out[1]), I(out[2]), I(at[0]), I(at[1])});
  mica__launch_int8(launch, (int32_t[]){I(at[2]), I(full[0]), I(full[1]), I(full[2]), I(out_stride[0]),
                                        I(out_stride[1]), I(out_stride[2]), 0});
}

mica__conv_phases mica__conv_phases_at(const mica__conv *conv, int64_t *index) {
  const mica__conv_dims *d = &conv->dims;
  /* Numbers run along the width first, then along the height. */
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
  int32_t begins[8];
  mica__conv_push_phase(launch, &p->list[0]);
  for (int i = 0; i < MICA__CONV_TOGETHER; i++) {
    const mica__conv_phase *w = &p->list[i];
    mica__launch_int8(launch, (int32_t[]){I(taps[1]), I(taps[2]), I(first[1]), I(first[2]), I(out[1]), I(out[2]),
                                          I(at[1]), I(at[2])});
    begins[i] = i < p->count ? (int32_t)p->begins[i] : INT32_MAX;
    begins[MICA__CONV_TOGETHER + i] = (int32_t)p->numbers[i];
  }
  mica__launch_int8(launch, begins);
}
#undef I

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of w", MICA__CONV_TYPES),
    MICA__INT("MR", "rows of a tile", 1, 2, 4, 6, 8, 12, 14, 16),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 8)};
const mica__kernel_desc mica__conv_cpu_pack_weights_kernel = {
    MICA__KERNEL("conv_cpu_pack_weights", "conv/cpu/pack_weights.cl", params, variants)};

int64_t mica__conv_packed_count(const mica__conv_phase *w, int64_t rows) {
  return w->groups * mica__ceil_div(w->k, rows) * rows * w->c * mica__product3(w->taps);
}

mica_status mica__conv_cpu_pack_weights(mica_queue *queue, const mica__conv *conv, const mica__conv_phase *w,
                                        int32_t rows, int64_t block, mica_buffer *packed, int64_t first) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(&mica__conv_cpu_pack_weights_kernel, &variants[0], values);
  mica__kernel_set(&mica__conv_cpu_pack_weights_kernel, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(&mica__conv_cpu_pack_weights_kernel, values, "MR", rows);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &mica__conv_cpu_pack_weights_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_long(&launch, w->w_at);
  mica__launch_int8(&launch, (int32_t[]){(int32_t)w->c, (int32_t)w->k, (int32_t)w->taps[0], (int32_t)w->taps[1],
                                         (int32_t)w->taps[2], (int32_t)block, 0, 0});
  mica__launch_long8(&launch, (int64_t[]){w->w_group, w->w_k, w->w_c, w->w_tap[0], w->w_tap[1], w->w_tap[2],
                                          mica_tensor_count(conv->w) - w->w_at, 0});
  mica__launch_buffer(&launch, packed, first);
  const int64_t groups[] = {mica__ceil_div(w->c, block) * mica__ceil_div(w->k, rows), w->groups, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, 2 * (double)mica__conv_packed_count(w, rows) * sizeof(float));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__conv_cpu_packed(mica_queue *queue, const mica__conv *conv, const mica__conv_phase *w, int32_t rows,
                                  mica_buffer **packed) {
  mica_queue *packer = mica__conv_packer(conv, queue);
  const int64_t count = mica__conv_packed_count(w, rows);
  MICA_TRY(mica__workspace_create(packer, (size_t)(count + 1) * sizeof(float), packed));
  const mica_status status = count > 0 ? mica__conv_cpu_pack_weights(packer, conv, w, rows, w->c, *packed, 0) : MICA_OK;
  if (status != MICA_OK) mica_buffer_destroy(*packed);
  return status;
}
