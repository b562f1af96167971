#include "ops/conv/lines.h"
#include "base/arith.h"

/* Longer rows have no use for a kernel of their own: forward it is unrolled, in a gradient it is not. */
#define LONGEST_KNOWN 16
#define LONGEST_KNOWN_OF_FILTER 32
/* Rows as long as this take vectors of 8 places, longer ones of 16. */
#define SHORT_ROW 8
#define LONG_VECTOR 16
/* Places of a plane that leaves the first level cache, in a gradient beside another plane, and multiply-adds for each
 * that hide how long it takes. */
#define LARGE_PLANE 1024
#define LARGE_PLANE_OF_FILTER 512
#define FEW_PRODUCTS 9
#define MOST_VECTORS 4

mica__conv_view mica__conv_view_of(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  bool backward = conv->pass == MICA__CONV_BWD_DATA;
  int32_t stride = (int32_t)d->stride[1];
  mica__conv_view v = {.in = backward ? d->out : d->in,
                       .out = backward ? d->in : d->out,
                       .slide = backward ? 1 : stride,
                       .spread = backward ? stride : 1,
                       .turned = backward && stride == 1};
  for (int i = 1; i < 3; i++) v.pad[i] = (int32_t)(v.turned ? d->filter[i] - 1 - d->pad[i] : d->pad[i]);
  return v;
}

/* The SIDE of a kernel that may know the view's size, else 0. */
static int32_t side_of(const mica__kernel_desc *desc, const mica__conv *conv, const mica__conv_view *v) {
  const mica__conv_dims *d = &conv->dims;
  int64_t longest = conv->pass == MICA__CONV_BWD_FILTER ? LONGEST_KNOWN_OF_FILTER : LONGEST_KNOWN;
  int64_t side = v->in[1], pad = v->pad[1], spread = v->spread;
  int64_t out = spread > 1 ? spread * side : (side + 2 * pad - d->filter[1]) / v->slide + 1;
  for (int i = 1; i < 3; i++) {
    bool square = v->in[i] == side && v->out[i] == out && v->pad[i] == pad;
    if (!square || d->filter[i] != d->filter[1] || d->dilation[i] != 1) return 0;
  }
  bool in_table = out <= longest * spread &&
                  mica__kernel_choice(desc, "SIDE", (int32_t)mica__min(side, INT32_MAX)) >= 0 &&
                  mica__kernel_choice(desc, "PAD", (int32_t)pad) >= 0;
  return in_table ? (int32_t)side : 0;
}

int32_t mica__conv_vectors(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  mica__conv_view v = mica__conv_view_of(conv);
  int64_t vectors = mica__ceil_div(v.out[2], LONG_VECTOR), together = MOST_VECTORS;
  if (v.spread > 1) return 1;
  bool busy = d->filter[1] * d->filter[2] > FEW_PRODUCTS * d->stride[1] * d->stride[2];
  int64_t large = conv->pass == MICA__CONV_BWD_FILTER ? LARGE_PLANE_OF_FILTER : LARGE_PLANE;
  if (vectors == 0 || busy || v.in[1] * v.in[2] < large) return 1;
  /* At most a sixth of them may lie beyond the row. */
  while (5 * mica__ceil_div(vectors, together) * together > 6 * vectors) together--;
  return (int32_t)together;
}

void mica__conv_set_lines(const mica__kernel_desc *desc, int32_t *values, const mica__conv *conv) {
  mica__conv_view v = mica__conv_view_of(conv);
  int32_t side = side_of(desc, conv, &v);
  mica__kernel_set(desc, values, "STRIDE", v.slide);
  mica__kernel_set(desc, values, "LANES", v.out[2] <= SHORT_ROW * v.spread ? SHORT_ROW : LONG_VECTOR);
  mica__kernel_set(desc, values, "SIDE", side);
  mica__kernel_set(desc, values, "PAD", side || v.spread > 1 ? v.pad[1] : 0);
  mica__kernel_set(desc, values, "VECTORS", mica__conv_vectors(conv));
}
