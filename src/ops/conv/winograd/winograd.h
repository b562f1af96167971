/* ops/conv/winograd/winograd.h: what Winograd's implementations of a convolution share: which problems they are able
 * to compute, how many tiles these have, and how large their rounding errors may be. The formulas stand in
 * cl/conv/winograd/winograd.clh. */
#ifndef MICA_OPS_CONV_WINOGRAD_H
#define MICA_OPS_CONV_WINOGRAD_H

#include "cl/conv/fields.clh"
#include "ops/conv/phase.h"
#include "runtime/fields.h"

/* A pass as a phase whose taps ascend. */
typedef struct mica__winograd {
  mica__conv_phase phase;
  int64_t top, left; /* the source's pixel that the first tap reads for the result's first */
  bool flipped;      /* taps are those of the filter rotated by 180 degrees */
} mica__winograd;

/* For mica__impl.unable: NULL for 3 x 3 adjacent taps and stride 1 in one group, with sums of float. */
const char *mica__winograd_unable(const void *problem);
mica__winograd mica__winograd_of(const mica__conv *conv);

/* Packs WINOGRAD_SIZE, as all kernels of the room but that of packed weights take it. */
void mica__winograd_push_size(mica__launch *launch, const mica__winograd *problem);

/* Tiles of edge x edge results, in all images. */
int64_t mica__winograd_tiles(const mica__winograd *problem, int64_t edge);
/* The edge, 2 or 4, that takes fewer multiplications; where they are as many 2, whose errors are smaller. */
int32_t mica__winograd_edge(const mica__winograd *problem);

/* True if it takes fewer multiplications than the plain sum, counting the filters' transform by its time. */
bool mica__winograd_pays(const mica__winograd *problem);

/* For mica__impl.magnitude, of tiles of edge x edge. */
void mica__winograd_magnitude(const void *problem, int32_t edge, const double *a, const double *b, const int64_t *at,
                              int64_t count, double *magnitude);
/* For that of a filter's gradient, from tiles of 4 x 4 of y; of a problem whose pass is backward data from those of
 * x. */
void mica__winograd_filter_magnitude(const void *problem, const double *x, const double *y, const int64_t *at,
                                     int64_t count, double *magnitude);

#endif
