/* ops/collective/division.h: a tensor that is divided among ranks: blocks along one axis. */
#ifndef MICA_OPS_COLLECTIVE_DIVISION_H
#define MICA_OPS_COLLECTIVE_DIVISION_H

#include "base/error.h"

#include <mica/shape.h>

#define MICA__DIVISION_SECTIONS 3

/* The axis of the whole consists of sections, such as queries, keys and values. Rank k has block k of each section, one
 * after the other. Zeros: every rank has the whole. */
typedef struct mica__division {
  int32_t axis, count;                       /* count: the number of sections */
  int64_t sections[MICA__DIVISION_SECTIONS]; /* the whole's extents */
} mica__division;

static inline bool mica__is_divided(const mica__division *d) { return d->count > 0; }

/* Returns the shape of the whole, given the shape of a part. */
mica_shape mica__division_whole(const mica__division *division, mica_shape part);
/* MICA_E_FORMAT if the division does not fit a part of this shape and this number of ranks. */
mica_status mica__division_check(const mica__division *division, mica_shape part, int32_t ranks);
/* Copies a rank's part of the whole to `own`, or back. size: bytes per element. */
void mica__division_copy(const mica__division *division, mica_shape part, size_t size, int32_t ranks, int32_t rank,
                         char *whole, char *own, bool back);

#endif
