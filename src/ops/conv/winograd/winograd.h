/* ops/conv/winograd/winograd.h: what all Winograd implementations share. The functions say which problems they can
 * compute, how many tiles a problem has, and how large the rounding errors may be. The formulas are in
 * cl/conv/winograd/winograd.clh. */
#ifndef MICA_OPS_CONV_WINOGRAD_H
#define MICA_OPS_CONV_WINOGRAD_H

#include "cl/conv/fields.clh"
#include "ops/conv/phase.h"
#include "runtime/fields.h"

/* A pass as a phase with ascending taps. */
typedef struct mica__winograd {
  mica__conv_phase phase;
  int64_t top, left; /* row and column of the source pixel that the first tap reads for the first result */
  bool flipped;      /* the filter is rotated by 180 degrees */
} mica__winograd;

/* For mica__impl.unable: NULL if images have two dimensions, with 3 x 3 adjacent taps, stride 1, one group and float
 * sums, and an int counts the tiles; else the reason. */
const char *mica__winograd_unable(const void *problem);
mica__winograd mica__winograd_of(const mica__conv *conv);

/* Packs WINOGRAD_SIZE, which all of Winograd's kernels take except winograd_pack_weights. */
void mica__winograd_push_size(mica__launch *launch, const mica__winograd *problem);

/* The number of tiles of edge x edge results in all images. */
int64_t mica__winograd_tiles(const mica__winograd *problem, int64_t edge);
/* The edge, 2 or 4, that takes fewer multiplications; 2 if they are equal, because its errors are smaller. */
int32_t mica__winograd_edge(const mica__winograd *problem);

/* True if Winograd's convolution takes fewer multiplications than the plain sum. The transforms of filters count as the
 * multiplications that could be done in their time. */
bool mica__winograd_pays(const mica__winograd *problem);

/* For mica__impl.magnitude, with tiles of edge x edge results. */
void mica__winograd_magnitude(const void *problem, int32_t edge, const double *a, const double *b, const int64_t *at,
                              int64_t count, double *magnitude);
/* For mica__impl.magnitude of a filter gradient, with tiles of 4 x 4 of y, or of x if the problem's pass is backward
 * data. */
void mica__winograd_filter_magnitude(const void *problem, const double *x, const double *y, const int64_t *at,
                                     int64_t count, double *magnitude);

#endif
