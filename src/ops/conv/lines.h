/* ops/conv/lines.h: planes of one channel where they lie, as cl/conv/lines.clh reads and writes them. */
#ifndef MICA_OPS_CONV_LINES_H
#define MICA_OPS_CONV_LINES_H

#include "ops/conv/conv.h"

/* Places of a row that has no vector to itself. */
#define MICA__SHORT_ROW 8

/* Rows of a kernel's table. */
#define MICA__LINES_PARAMS                                                                                             \
  MICA__CASE("STRIDE", "of rows and columns", 1, 2),                                                                   \
      MICA__CASE("SIDE", "height and width of planes whose rows share vectors; 0 any", 0, 6, 7, 8, 9, 10, 11, 12, 13,  \
                 14, 15, 16),                                                                                          \
      MICA__CASE("PAD", "zeros on all sides of such a plane", 0, 1, 2)

/* What a window sees that slides over one plane and leaves another: their extents, and zeros before the first. That is
 * x and y, but backward to the data, with stride 1, y and x. side: the SIDE of a kernel where rows share vectors, in
 * which rows of 5 to 8 places do with filters of 3 x 3 (shorter ones would leave lanes idle), else 0. A table
 * has only so many values: planes of 5 x 5 are not among them. */
typedef struct mica__conv_view {
  const int64_t *in, *out;
  int32_t pad[3], side;
} mica__conv_view;

mica__conv_view mica__conv_view_of(const mica__conv *conv);

/* The values of MICA__LINES_PARAMS, of those that the kernel has. */
void mica__conv_set_lines(const mica__kernel_desc *desc, int32_t *values, const mica__conv *conv);

#endif
