#include "onnx/ops/family.h"

#include <string.h>

#define MOST_AXES 3
/* Limit on the elements of a block. Col2Im makes a filter from each element. */
#define MOST_ELEMENTS 65536

/* The blocks that Col2Im adds to an image. Each array has one number per axis. `image` is the extent of the image,
 * `size` the extent of a block in elements, `count` the number of blocks, and `whole` the extent that all blocks cover
 * together. `before` and `after` are the padding. */
typedef struct blocks {
  int32_t rank;
  int64_t image[MOST_AXES], size[MOST_AXES], stride[MOST_AXES], dilation[MOST_AXES];
  int64_t before[MOST_AXES], after[MOST_AXES], count[MOST_AXES], whole[MOST_AXES];
} blocks;

static bool per_axis(const mica__onnx_node *node, const char *name, int32_t rank, int64_t standard, int64_t *out) {
  mica__integers list;
  bool given = mica__onnx_ints(node, name, &list) && list.count;
  for (int32_t i = 0; i < rank; i++) out[i] = given && i < list.count ? list.values[i] : standard;
  for (int32_t i = 0; i < rank; i++)
    if (out[i] < (standard ? 1 : 0) || out[i] > INT32_MAX) return false;
  return !given || list.count == rank;
}

/* Reads the lists of the node. Returns false if a list is not known yet, or, with an error recorded, if it has a wrong
 * number of numbers or if a stride or dilation is below 1 or above 2^31 - 1. */
static bool take_lists(mica__lowering *l, const mica__onnx_node *node, blocks *b, mica__integers *image,
                       mica__integers *size, mica__integers *pads) {
  if (!mica__lower_integers(l, node, 1, image) || !mica__lower_integers(l, node, 2, size)) return false;
  b->rank = (int32_t)image->count;
  mica__onnx_ints(node, "pads", pads);
  if (image->count < 1 || image->count > MOST_AXES || size->count != image->count ||
      (pads->count && pads->count != 2 * image->count)) {
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "image_shape has %lld numbers, block_shape %lld and pads %lld; image_shape must have 1 to %d, "
                     "block_shape as many, and pads twice as many or none",
                     (long long)image->count, (long long)size->count, (long long)pads->count, MOST_AXES);
    return false;
  }
  if (per_axis(node, "strides", b->rank, 1, b->stride) && per_axis(node, "dilations", b->rank, 1, b->dilation))
    return true;
  mica__lower_fail(l, node, MICA_E_SHAPE,
                   "strides and dilations must each have %d numbers, one per axis, or none; the numbers must be 1 to "
                   "2^31 - 1",
                   (int)b->rank);
  return false;
}

static bool take_blocks(mica__lowering *l, const mica__onnx_node *node, blocks *b) {
  mica__integers image, size, pads;
  if (!take_lists(l, node, b, &image, &size, &pads)) return false;
  for (int32_t i = 0; i < b->rank; i++) {
    b->image[i] = image.values[i];
    b->size[i] = size.values[i];
    b->before[i] = pads.count ? pads.values[i] : 0;
    b->after[i] = pads.count ? pads.values[b->rank + i] : 0;
    if (b->image[i] < 1 || b->size[i] < 1 || b->image[i] > INT32_MAX || b->size[i] > INT32_MAX || b->before[i] < 0 ||
        b->after[i] < 0 || b->before[i] > INT32_MAX || b->after[i] > INT32_MAX) {
      mica__lower_fail(
          l, node, MICA_E_SHAPE,
          "axis %d has %lld in image_shape, %lld in block_shape, and the pads %lld and %lld, but shapes must "
          "be 1 to 2^31 - 1, and pads 0 to 2^31 - 1",
          (int)i, (long long)b->image[i], (long long)b->size[i], (long long)b->before[i], (long long)b->after[i]);
      return false; /* so that the sums and products below fit 64 bits */
    }
    int64_t span = (b->size[i] - 1) * b->dilation[i] + 1, whole = b->image[i] + b->before[i] + b->after[i];
    if (span > whole) {
      mica__lower_fail(
          l, node, MICA_E_SHAPE,
          "along axis %d a block covers %lld elements with its dilation, but the padded image has only %lld", (int)i,
          (long long)span, (long long)whole);
      return false;
    }
    b->count[i] = (whole - span) / b->stride[i] + 1;
    b->whole[i] = (b->count[i] - 1) * b->stride[i] + span;
  }
  return true;
}

/* Makes one-hot filters (channels * elements, 1, block...) for a convolution with `channels` groups: filter k of a
 * group is 1 at element k of the block and 0 elsewhere. */
static mica_value one_hot_filters(mica_value x, const blocks *b, int64_t channels, int64_t elements) {
  mica_value rows = mica_range(x.graph, MICA_I64, elements);
  mica_value eye = mica_equal(mica_reshape(rows, MICA_SHAPE(elements, 1)), rows);
  mica_shape filters = {.rank = 2 + b->rank, .dim = {channels * elements, 1}};
  for (int32_t i = 0; i < b->rank; i++) filters.dim[2 + i] = b->size[i];
  mica_value all = mica_expand(mica_cast(eye, mica_value_dtype(x)), MICA_SHAPE(channels, elements, elements));
  return mica_reshape(all, filters);
}

/* Adds each block to the image at its position: a transposed convolution with one-hot filters. */
MICA__LOWER(col2im) {
  blocks b = {0};
  int64_t elements = 1, positions = 1, before[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0};
  mica_value x = x_of(l, node);
  if (!x.graph || !take_blocks(l, node, &b)) return MICA_OK;
  mica_conv_config config = {0};
  mica_shape s = mica_value_shape(x), apart = {.rank = 2 + b.rank};
  for (int32_t i = 0; i < b.rank; i++) {
    if (!mica__lower_product(l, node, elements, b.size[i], MOST_ELEMENTS, &elements) ||
        !mica__lower_product(l, node, positions, b.count[i], INT64_MAX, &positions))
      return MICA_OK;
    apart.dim[2 + i] = b.count[i];
    config.stride[i] = b.stride[i];
    config.dilation[i] = b.dilation[i];
    before[2 + i] = -b.before[i];
    after[2 + i] = b.image[i] + b.before[i] - b.whole[i];
  }
  char text[MICA_SHAPE_TEXT];
  if (s.rank != 3 || s.dim[1] % elements || s.dim[2] != positions)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "x is %s, but must be (n, channels times %lld, %lld), with the last two dimensions known",
                            mica_shape_format(s, text), (long long)elements, (long long)positions);
  config.groups = s.dim[1] / elements;
  apart.dim[0] = s.dim[0];
  apart.dim[1] = s.dim[1];
  mica_value filters = one_hot_filters(x, &b, config.groups, elements);
  mica_value y = mica_conv_transpose(mica_reshape(x, apart), filters, (mica_value){0}, &config);
  return give(l, node, mica_pad(y, before, after, MICA_PAD_MODE_CONSTANT, 0));
}

/* Returns the coordinates along axis k of a grid: the centres of the n equal cells that divide [-1, 1], or, if
 * `corners` is set, n equidistant points from -1 to 1. */
static mica_value positions_along(mica_value like, mica_shape grid, int32_t k, bool corners) {
  mica_shape along = {.rank = grid.rank};
  int64_t n = grid.dim[k];
  for (int32_t i = 0; i < grid.rank; i++) along.dim[i] = i == k ? n : 1;
  double step = corners ? (n > 1 ? 2.0 / (double)(n - 1) : 0) : 2.0 / (double)n;
  mica_value steps = mica_cast(mica_range(like.graph, MICA_I64, n), mica_value_dtype(like));
  return mica_expand(mica_reshape(mica_affine(steps, step, corners ? -1 : step / 2 - 1), along), grid);
}

/* Multiplies the coordinates of the points of a grid by the matrix theta of each sample. The result is (n, height,
 * width, 2) with x and y, or (n, depth, height, width, 3) with x, y and z. */
MICA__LOWER(affine_grid) {
  mica__integers size;
  mica_value theta = x_of(l, node), parts[MOST_AXES + 1];
  bool corners = mica__onnx_int(node, "align_corners", 0);
  if (!mica__lower_integers(l, node, 1, &size) || !theta.graph) return MICA_OK;
  if (size.count != 4 && size.count != 5)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "size has %lld numbers, but must have 4 or 5",
                            (long long)size.count);
  int32_t rank = (int32_t)size.count - 2;
  mica_shape grid = {.rank = rank + 1}, flat = {.rank = 2, .dim = {1, rank + 1}}, out = {.rank = rank + 2};
  for (int32_t i = 0; i < rank; i++) {
    grid.dim[i] = out.dim[1 + i] = size.values[2 + i];
    if (size.values[2 + i] < 1)
      return mica__lower_fail(l, node, MICA_E_SHAPE, "size contains the side %lld, but sides must be at least 1",
                              (long long)size.values[2 + i]);
    if (!mica__lower_positions(l, node, size.values[2 + i]) ||
        !mica__lower_product(l, node, flat.dim[0], size.values[2 + i], INT32_MAX, &flat.dim[0]))
      return MICA_OK;
  }
  grid.dim[rank] = 1;
  out.dim[0] = mica_value_shape(theta).dim[0];
  out.dim[rank + 1] = rank;
  for (int32_t k = 0; k < rank; k++) parts[k] = positions_along(theta, grid, rank - 1 - k, corners);
  parts[rank] = mica_full(theta.graph, mica_value_dtype(theta), grid, 1);
  mica_value points = mica_reshape(mica_concat(parts, (size_t)rank + 1, rank), flat);
  return give(l, node, mica_reshape(mica_matmul(points, mica_transpose(theta, MICA_AXES(0, 2, 1))), out));
}
