#include "ops/conv/depthwise/rows.h"

#include "base/arith.h"

/* The longest rows for which kernels have a plane's size built in. They are rows of results; backward with a stride,
 * rows of one phase; for weight gradients, rows of y. MAX_KNOWN is for forward and backward data, which unroll these
 * rows. MAX_KNOWN_OF_WGRAD is larger, because weight gradients do not unroll them. */
#define MAX_KNOWN 16
#define MAX_KNOWN_OF_WGRAD 32
/* Rows up to SHORT_ROW take vectors of 8 pixels, longer rows vectors of 16. */
#define SHORT_ROW 8
#define LONG_VECTOR 16
/* If the plane that is read has at least LARGE_PLANE pixels, several vectors of a row are processed together
 * (vectors_of). For weight gradients the limit is lower, because they read another plane, too. With more than
 * FEW_PRODUCTS multiply-adds per pixel, computing takes longer than reading, and one vector is processed at a time. */
#define LARGE_PLANE 1024
#define LARGE_PLANE_OF_WGRAD 512
#define FEW_PRODUCTS 9
#define MAX_VECTORS 4

mica__conv_planes mica__conv_planes_of(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  bool backward = conv->pass == MICA__CONV_BWD_DATA;
  int32_t stride = (int32_t)d->stride[1];
  mica__conv_planes p = {.in = backward ? d->out : d->in,
                         .out = backward ? d->in : d->out,
                         .stride = backward ? 1 : stride,
                         .out_stride = backward ? stride : 1,
                         .flip = backward && stride == 1};
  for (int i = 1; i < 3; i++) p.pad[i] = (int32_t)(p.flip ? d->filter[i] - 1 - d->pad[i] : d->pad[i]);
  return p;
}

/* SIDE: the height and width of the planes that are read, if there is a kernel with this size built in, else 0. */
static int32_t side_of(const mica__kernel_desc *desc, const mica__conv *conv, const mica__conv_planes *p) {
  const mica__conv_dims *d = &conv->dims;
  int64_t max_out = conv->pass == MICA__CONV_BWD_FILTER ? MAX_KNOWN_OF_WGRAD : MAX_KNOWN;
  int64_t side = p->in[1], pad = p->pad[1], out_stride = p->out_stride;
  int64_t out = out_stride > 1 ? out_stride * side : (side + 2 * pad - d->filter[1]) / p->stride + 1;
  for (int i = 1; i < 3; i++) {
    bool square = p->in[i] == side && p->out[i] == out && p->pad[i] == pad;
    if (!square || d->filter[i] != d->filter[1] || d->dilation[i] != 1) return 0;
  }
  bool in_table = out <= max_out * out_stride &&
                  mica__kernel_choice(desc, "SIDE", (int32_t)mica__min(side, INT32_MAX)) >= 0 &&
                  mica__kernel_choice(desc, "PAD", (int32_t)pad) >= 0;
  return in_table ? (int32_t)side : 0;
}

/* VECTORS: more than one if planes are large and multiply-adds few, because kernels then wait for memory, which
 * delivers more if it is read in order. */
static int32_t vectors_of(const mica__conv *conv, const mica__conv_planes *p) {
  const mica__conv_dims *d = &conv->dims;
  int64_t vectors = mica__ceil_div(p->out[2], LONG_VECTOR), together = MAX_VECTORS;
  bool busy = d->filter[1] * d->filter[2] > FEW_PRODUCTS * d->stride[1] * d->stride[2];
  int64_t large = conv->pass == MICA__CONV_BWD_FILTER ? LARGE_PLANE_OF_WGRAD : LARGE_PLANE;
  if (p->out_stride > 1 || vectors == 0 || busy || p->in[1] * p->in[2] < large) return 1;
  /* At most a sixth of the vectors that are processed may lie beyond the row. */
  while (5 * mica__ceil_div(vectors, together) * together > 6 * vectors) together--;
  return (int32_t)together;
}

void mica__conv_set_rows(const mica__kernel_desc *desc, int32_t *values, const mica__conv *conv) {
  mica__conv_planes p = mica__conv_planes_of(conv);
  int32_t side = side_of(desc, conv, &p);
  mica__kernel_set(desc, values, "STRIDE", p.stride);
  mica__kernel_set(desc, values, "LANES", p.out[2] <= SHORT_ROW * p.out_stride ? SHORT_ROW : LONG_VECTOR);
  mica__kernel_set(desc, values, "SIDE", side);
  mica__kernel_set(desc, values, "PAD", side || p.out_stride > 1 ? p.pad[1] : 0);
  mica__kernel_set(desc, values, "VECTORS", vectors_of(conv, &p));
}
