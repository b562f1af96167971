/* ops/conv/depthwise/rows.h: parameters of kernels that read planes of one channel row by row, in place
 * (cl/conv/depthwise/rows.clh). */
#ifndef MICA_OPS_CONV_DEPTHWISE_ROWS_H
#define MICA_OPS_CONV_DEPTHWISE_ROWS_H

#include "ops/conv/conv.h"

/* Parameters of a kernel, and their values in variants. SIDE is the only size of a plane that is a macro and not an
 * argument: rows then need no bounds checks and are unrolled (not in weight gradients), and with stride 2 taps share
 * loads. Without it (SIDE 0 for all, November 2026, 2 cores of an AMD EPYC with AVX-512) MobileNetV2's depthwise layers
 * take 1.1 to 2.5 times as long: forward 28x28 1.26, 14x14 1.43, 7x7 1.98, stride 2 1.7 to 1.8; backward data 1.4 to
 * 2.5; weight gradients up to 1.7. The table has the sides that occur for images of 32, 128, 160, 192, 224 and 256
 * pixels. */
#define MICA__ROWS_PARAMS                                                                                              \
  MICA__CASE("STRIDE", "of rows and columns", 1, 2), MICA__CASE("LANES", "pixels that a vector takes", 8, 16),         \
      MICA__CASE("SIDE", "height and width of a plane that is read; 0 any", 0, 5, 6, 7, 8, 10, 12, 14, 16, 20, 28,     \
                 32),                                                                                                  \
      MICA__CASE("PAD", "zeros on all sides of such a plane", 0, 1, 2),                                                \
      MICA__CASE("VECTORS", "of a row that are processed together", 1, 2, 3, 4)
#define MICA__ROWS_VALUES 1, 16, 0, 0, 1

/* The planes of a pass: `in` is read, and `out` is written, except by the filter gradient, which reads both. They are x
 * and y, or y and x for backward data. The strides of both dimensions are equal. Backward with stride 1, the filter is
 * rotated by 180 degrees (flip). Backward with another stride, out_stride is that stride, and `stride` is 1. pad: zeros
 * before the first pixel of `in`; if out_stride is not 1, of `out`. */
typedef struct mica__conv_planes {
  const int64_t *in, *out;
  int32_t pad[3], stride, out_stride;
  bool flip;
} mica__conv_planes;

mica__conv_planes mica__conv_planes_of(const mica__conv *conv);

/* Sets the values of MICA__ROWS_PARAMS. */
void mica__conv_set_rows(const mica__kernel_desc *desc, int32_t *values, const mica__conv *conv);

#endif
