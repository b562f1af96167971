#include "ops/conv/lines.h"

#define SHORTEST 5
#define FIRST_SIDE 6

mica__conv_view mica__conv_view_of(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  bool backward = conv->pass == MICA__CONV_BWD_DATA;
  mica__conv_view v = {.in = backward ? d->out : d->in, .out = backward ? d->in : d->out};
  for (int i = 1; i < 3; i++) v.pad[i] = (int32_t)(backward ? d->filter[i] - 1 - d->pad[i] : d->pad[i]);
  int64_t side = v.in[1], pad = v.pad[1], stride = d->stride[1];
  bool known = d->filter[1] == 3 && d->filter[2] == 3 && stride == d->stride[2] && (stride == 1 || stride == 2);
  if (!known || d->dilation[1] != 1 || d->dilation[2] != 1) return v;
  int64_t out = (side + 2 * pad - 3) / stride + 1;
  bool square = v.in[2] == side && v.out[1] == out && v.out[2] == out && v.pad[2] == pad && pad >= 0 && pad < 3;
  bool in_table = side >= FIRST_SIDE && side <= MICA__SHORT_ROW * stride;
  if (square && in_table && out >= SHORTEST && out <= MICA__SHORT_ROW) v.side = (int32_t)side;
  return v;
}

void mica__conv_set_lines(const mica__kernel_desc *desc, int32_t *values, const mica__conv *conv) {
  mica__conv_view v = mica__conv_view_of(conv);
  mica__kernel_set(desc, values, "STRIDE", (int32_t)conv->dims.stride[1]);
  mica__kernel_set(desc, values, "SIDE", v.side);
  mica__kernel_set(desc, values, "PAD", v.side ? v.pad[1] : 0);
}
