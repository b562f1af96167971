/* ops/conv/lines.h: planes of one channel where they lie, as cl/conv/lines.clh reads them. */
#ifndef MICA_OPS_CONV_LINES_H
#define MICA_OPS_CONV_LINES_H

#include "ops/conv/conv.h"

/* Rows of a kernel's table. It has only so many values: the sizes are those that images of 128, 160, 192, 224 and 256
 * pixels come to, and of 32. */
#define MICA__LINES_PARAMS                                                                                             \
  MICA__CASE("STRIDE", "of rows and columns", 1, 2), MICA__CASE("LANES", "places that a vector takes", 8, 16),         \
      MICA__CASE("SIDE", "height and width of a plane that is read; 0 any", 0, 5, 6, 7, 8, 10, 12, 14, 16, 20, 28,     \
                 32),                                                                                                  \
      MICA__CASE("PAD", "zeros on all sides of such a plane", 0, 1, 2),                                                \
      MICA__CASE("VECTORS", "of a row that are walked together", 1, 2, 3, 4)
#define MICA__LINES_VALUES 1, 16, 0, 0, 1

/* What a window sees that goes over one plane and leaves another, of a problem whose strides are one number: their
 * extents, and zeros before the first. That is x and y, but backward to the data y and x. There the filter is turned
 * round with stride 1, with others places of y `spread` apart. slide: from place to place. */
typedef struct mica__conv_view {
  const int64_t *in, *out;
  int32_t pad[3], slide, spread;
  bool turned;
} mica__conv_view;

mica__conv_view mica__conv_view_of(const mica__conv *conv);

/* VECTORS: more than one where planes are large and multiply-adds few, so that memory is what they wait for: it gives
 * more where it is read in its order. */
int32_t mica__conv_vectors(const mica__conv *conv);

/* The values of MICA__LINES_PARAMS. Planes of small sizes have kernels that know them. */
void mica__conv_set_lines(const mica__kernel_desc *desc, int32_t *values, const mica__conv *conv);

#endif
