#include "ops/conv/band.h"

#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/window.h"
#include "runtime/workspace.h"

#define VW 16
#define MOST_TAPS 4096

static int64_t step_of(const mica__conv_band *b, int i) { return b->back ? 1 : b->dims.stride[i]; }
static int64_t spread_of(const mica__conv_band *b, int i) { return b->back ? b->dims.stride[i] : 1; }

const char *mica__conv_band_unable(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "there are three dimensions";
  return mica__product3(d->filter) > MOST_TAPS ? "a filter is too large" : NULL;
}

static void set_reach(int i, mica__conv_band *b) {
  const mica__conv_dims *d = &b->dims;
  int64_t extent = (d->filter[i] - 1) * d->dilation[i];
  b->grid[i] = mica__ceil_div(d->out[i], spread_of(b, i));
  b->low[i] = b->back ? mica__min(0, (d->pad[i] - extent) / d->stride[i]) : -d->pad[i];
  b->high[i] = b->back ? (d->stride[i] - 1 + d->pad[i]) / d->stride[i] : extent - d->pad[i];
}

mica__conv_band mica__conv_band_of(const mica__conv *conv, int64_t places) {
  mica__conv_band b = {.dims = conv->dims, .back = conv->pass == MICA__CONV_BWD_DATA};
  if (b.back) {
    b.dims.c = conv->dims.k;
    b.dims.k = conv->dims.c;
    for (int i = 0; i < 3; i++) b.dims.in[i] = conv->dims.out[i], b.dims.out[i] = conv->dims.in[i];
  }
  for (int i = 1; i < 3; i++) set_reach(i, &b);
  b.pitch = mica__max(b.grid[2], places) + (b.high[2] - b.low[2]) / step_of(&b, 2);
  b.pitch = mica__ceil_div(b.pitch, VW) * VW;
  return b;
}

void mica__conv_band_set_rows(mica__conv_band *b, int64_t rows) {
  b->rows = rows;
  b->lines = (rows - 1) * step_of(b, 1) + b->high[1] - b->low[1] + 1;
}

int64_t mica__conv_band_most_rows(const mica__conv_band *b, int64_t groups) {
  int64_t bands = mica__ceil_div(groups, mica__max(1, b->dims.n * b->dims.groups));
  return mica__ceil_div(b->grid[1], mica__max(1, mica__min(b->grid[1], bands)));
}

int64_t mica__conv_band_copied(const mica__conv_band *b) { return b->dims.c * b->lines * step_of(b, 2) * b->pitch; }
int64_t mica__conv_band_places(const mica__conv_band *b) { return b->rows * spread_of(b, 1) * b->dims.out[2]; }
size_t mica__conv_band_scratch(const mica__conv_band *b, int64_t floats) {
  return (size_t)(mica__conv_band_copied(b) + floats) * sizeof(float) +
         (size_t)(b->dims.filter[1] * (b->dims.c * b->dims.filter[2] + 1)) * sizeof(int32_t);
}

size_t mica__conv_band_packed(const mica__conv *conv, int64_t channels) {
  int64_t count = 0;
  for (int64_t i = 0; i < mica__conv_windows(conv); i++) {
    mica__conv_window window = mica__conv_window_at(conv, i);
    count += mica__conv_packed_count(&window, channels);
  }
  /* Phases of a stride may have no tap at all. */
  return (size_t)mica__max(1, count) * sizeof(float);
}

static mica_status pack(mica_queue *packer, const mica__conv *conv, int64_t channels, mica_buffer *packed) {
  int64_t at = 0;
  for (int64_t i = 0; i < mica__conv_windows(conv); i++) {
    mica__conv_window window = mica__conv_window_at(conv, i);
    int64_t count = mica__conv_packed_count(&window, channels);
    if (count > 0)
      MICA_TRY(mica__conv_cpu_pack_weights(packer, conv, &window, (int32_t)channels, window.c, packed, at));
    at += count;
  }
  return MICA_OK;
}

static mica_status launch_packed(mica_queue *queue, const mica__conv *conv, const mica__conv_band *b,
                                 const mica__kernel_desc *desc, int32_t *values, mica_buffer *packed, size_t scratch) {
  const mica__conv_dims *d = &b->dims;
  mica__launch launch;
  int64_t columns = mica__max(0, mica__min(d->in[2], (b->grid[2] - 1) * step_of(b, 2) + b->high[2] + 1));
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, d);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)b->rows, (int32_t)b->lines, (int32_t)b->pitch, (int32_t)columns,
                                          (int32_t)-b->low[1], (int32_t)-b->low[2], b->back, conv->nontemporal});
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch);
  mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(b->grid[1], b->rows), d->n, d->groups}, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

mica_status mica__conv_band_launch(mica_queue *queue, const mica__conv *conv, const mica__conv_band *band,
                                   const mica__kernel_desc *desc, int32_t *values, int64_t channels, size_t scratch) {
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_buffer *packed = NULL;
  MICA_TRY(mica__workspace_create(packer, mica__conv_band_packed(conv, channels), &packed));
  mica_status status = pack(packer, conv, channels, packed);
  if (status == MICA_OK) status = launch_packed(queue, conv, band, desc, values, packed, scratch);
  mica_buffer_destroy(packed);
  return status;
}
