/* Deformable convolution: samples the image at the positions of the filters' elements, moved by the offsets, and
 * multiplies the samples by the mask, if there is one, and by the filters. */
#include "base/error.h"
#include "ops/sample/sample.h"

#include <stdlib.h>

typedef struct deform {
  int64_t filters, channels, groups, parts; /* a part is a group of channels that share offsets */
  int64_t taps[2], out[2];                  /* rows and columns of a filter and of the result */
  mica_conv_config how;
} deform;

static int64_t or_one(int64_t value) { return value ? value : 1; }

/* Sets the sizes in *d for x and the filters w; d->how and d->groups must be set. Returns the reason if the shapes do
 * not fit, else NULL. */
static const char *misfit(mica_shape x, mica_shape offset, mica_shape w, deform *d) {
  bool known = x.rank == 4 && offset.rank == 4 && w.rank == 4 && x.dim[1] > 0 && offset.dim[1] > 0 &&
               offset.dim[2] > 0 && offset.dim[3] > 0;
  for (int i = 0; known && i < 4; i++) known = w.dim[i] > 0;
  if (!known)
    return "all must have rank 4 and known dimensions of at least 1, except the batch, and the height and width of x";
  d->filters = w.dim[0];
  d->channels = x.dim[1];
  for (int i = 0; i < 2; i++)
    if (d->how.stride[i] < 0 || d->how.dilation[i] < 0 || d->how.pad[i] < 0)
      return "strides, dilations and padding must not be negative";
  for (int i = 0; i < 2; i++)
    if (d->how.output_pad[i]) return "output_pad must be 0; it is for transposed convolutions only";
  for (int i = 0; i < 2; i++) {
    int64_t stride = or_one(d->how.stride[i]), dilation = or_one(d->how.dilation[i]);
    d->taps[i] = w.dim[2 + i];
    d->out[i] = offset.dim[2 + i];
    int64_t reach = x.dim[2 + i] + 2 * d->how.pad[i] + d->how.pad_more[i] - dilation * (d->taps[i] - 1) - 1;
    if (x.dim[2 + i] != MICA_DYNAMIC && (reach < 0 || reach / stride + 1 != d->out[i]))
      return "offsets must have the height and width of the result";
  }
  int64_t pairs = 2 * d->taps[0] * d->taps[1];
  d->parts = offset.dim[1] / pairs;
  if (offset.dim[1] % pairs) return "axis 1 of offsets must be a multiple of 2 * R * S, for filters of R x S elements";
  if (d->channels % d->parts) return "axis 1 of offsets, divided by 2 * R * S, must divide the channels of x";
  if (d->groups < 1 || d->channels != d->groups * w.dim[1])
    return "groups must be at least 1, and the channels of x must be groups times axis 1 of the filters";
  return d->filters % d->groups ? "groups must divide the number of filters" : NULL;
}

/* Sets *d to the sizes of the convolution. If the operands' shapes do not fit, MICA_E_SHAPE with a message that names
 * the shapes. */
static mica_status find_extents(mica_value x, mica_value offset, mica_value mask, mica_value w,
                                const mica_conv_config *config, deform *d) {
  mica_shape sx = mica_value_shape(x), so = mica_value_shape(offset), sw = mica_value_shape(w),
             sm = mica_value_shape(mask);
  char tx[MICA_SHAPE_TEXT], to[MICA_SHAPE_TEXT], tw[MICA_SHAPE_TEXT];
  *d = (deform){.filters = 0};
  if (config) d->how = *config;
  d->groups = or_one(d->how.groups);
  const char *fault = misfit(sx, so, sw, d);
  if (fault)
    return mica__fail(MICA_E_SHAPE, "x %s, filters %s and offsets %s do not fit: %s", mica_shape_format(sx, tx),
                      mica_shape_format(sw, tw), mica_shape_format(so, to), fault);
  if (mica_value_is_null(mask) ||
      (sm.rank == 4 && sm.dim[1] * 2 == so.dim[1] && sm.dim[2] == so.dim[2] && sm.dim[3] == so.dim[3]))
    return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "the mask is %s, but for offsets %s it must be (N, %lld, %lld, %lld)",
                    mica_shape_format(sm, tx), mica_shape_format(so, to), (long long)so.dim[1] / 2,
                    (long long)so.dim[2], (long long)so.dim[3]);
}

/* Returns the positions of the filters' elements along an axis of the image, before offsets move them: (R S, P, 1)
 * or (R S, 1, Q). */
static mica_value positions(mica_graph *graph, const deform *d, int axis, mica_dtype dtype) {
  int64_t taps = d->taps[0] * d->taps[1], count = d->out[axis];
  mica_shape shape = {3, {taps, axis ? 1 : count, axis ? count : 1}};
  double *data = malloc((size_t)(taps * count) * sizeof *data);
  if (!data) return mica__graph_fail_with(graph, mica__fail_nomem("the positions of filters"));
  for (int64_t t = 0; t < taps; t++)
    for (int64_t o = 0; o < count; o++) {
      int64_t tap = axis ? t % d->taps[1] : t / d->taps[1];
      data[t * count + o] =
          (double)(o * or_one(d->how.stride[axis]) - d->how.pad[axis] + tap * or_one(d->how.dilation[axis]));
    }
  mica_value value = mica_constant(graph, MICA_F64, shape, data);
  free(data);
  return mica_cast(value, dtype);
}

mica_value mica_deform_conv(mica_value x, mica_value offset, mica_value mask, mica_value w, mica_value b,
                            const mica_conv_config *config) {
  deform d;
  if (mica_value_is_null(x) || mica_value_is_null(offset) || mica_value_is_null(w)) return (mica_value){0};
  mica_status status = find_extents(x, offset, mask, w, config, &d);
  if (status != MICA_OK) return mica__builder_fail("deform_conv", x, status, "%s", mica_error_message());
  int64_t taps = d.taps[0] * d.taps[1], p = d.out[0], q = d.out[1];
  offset = mica__widen(offset);
  mica_dtype dtype = mica_value_dtype(offset);
  mica_value moves = mica_reshape(offset, MICA_SHAPE(-1, taps, 2, p, q));
  mica_value ys = mica_add(mica__drop_axis(mica_slice(moves, 2, 0, 1, 1), 2), positions(x.graph, &d, 0, dtype));
  mica_value xs = mica_add(mica__drop_axis(mica_slice(moves, 2, 1, 2, 1), 2), positions(x.graph, &d, 1, dtype));
  mica_value pair[] = {mica__insert_axis(xs, 4), mica__insert_axis(ys, 4)};
  mica_value parts = mica_reshape(x, MICA_SHAPE(-1, d.channels / d.parts, MICA__COPY_DIM(2), MICA__COPY_DIM(3)));
  mica_value columns = mica_sample(parts, mica_concat(pair, 2, 4), &(mica_sample_config){.pixels = true});
  if (!mica_value_is_null(mask)) columns = mica_mul(columns, mica_reshape(mask, MICA_SHAPE(-1, 1, taps, p, q)));
  int64_t depth = d.channels / d.groups * taps;
  columns = mica_reshape(columns, MICA_SHAPE(-1, d.groups, depth, p * q));
  mica_value y = mica_matmul(mica_reshape(w, MICA_SHAPE(d.groups, d.filters / d.groups, depth)), columns);
  y = mica_reshape(y, MICA_SHAPE(-1, d.filters, p, q));
  return mica_value_is_null(b) ? y : mica_add(y, mica_reshape(b, MICA_SHAPE(d.filters, 1, 1)));
}
