/* ops/sample/sample.h: attributes and taps of ops that read between elements. */
#ifndef MICA_OPS_SAMPLE_SAMPLE_H
#define MICA_OPS_SAMPLE_SAMPLE_H

#include "ops/common/build.h"

#include <mica/vision.h>

#define MICA__SAMPLE_ATTRS(X, S)                                                                                       \
  X(S, ENUM, mode, MICA_SAMPLE_MODE_LINEAR, "between which elements", mica__sample_modes)                              \
  X(S, ENUM, padding, MICA_SAMPLE_PADDING_ZEROS, "what is read outside", mica__sample_paddings)                        \
  X(S, BOOL, align, false, "-1 and 1 are the centres of the borders, not their edges")                                 \
  X(S, BOOL, pixels, false, "coordinates count elements")                                                              \
  X(S, BOOL, images, false, "the last operand is the image of each part of the grid")
MICA__ATTR_STRUCT(sample, MICA__SAMPLE_ATTRS);
extern const mica__attr_list mica__sample_attr_list;
extern const char *const mica__sample_modes[], *const mica__sample_paddings[];

/* The most taps of a point: 4 x 4, or 2 x 2 x 2. */
#define MICA__SAMPLE_TAPS 16

/* The elements of x (N, C, d, h, w) that one point reads: `count` taps. Each tap has its element in the plane, or -1
 * outside of it; its weight; and the slopes of the weight along the grid's x, y and z. */
typedef struct mica__sample_point {
  int32_t count;
  int64_t at[MICA__SAMPLE_TAPS];
  double weight[MICA__SAMPLE_TAPS], slope[3][MICA__SAMPLE_TAPS];
} mica__sample_point;

/* Finds the taps of a point in double, for references. `size` is d, h, w, or 1, h, w for two axes; `dims` is 2 or 3;
 * `grid` has the point's x, y and z. */
void mica__sample_point_of(const mica__sample_attrs *how, const int64_t size[3], int32_t dims, const double *grid,
                           mica__sample_point *point);

extern const mica__op mica__op_sample, mica__op_sample_grad_x, mica__op_sample_grad_grid;

#endif
