/* ops/collective/division.h: a tensor of which every rank has a part: blocks along one axis. */
#ifndef MICA_OPS_COLLECTIVE_DIVISION_H
#define MICA_OPS_COLLECTIVE_DIVISION_H

#include "base/error.h"

#include <mica/shape.h>

#define MICA__DIVISION_SECTIONS 3

/* The whole's axis is a row of sections, such as queries, keys and values, and rank k has block k of each, one behind
 * the other. Zeros: all ranks have the whole. */
typedef struct mica__division {
  int32_t axis, count;                       /* count: of the sections */
  int64_t sections[MICA__DIVISION_SECTIONS]; /* the whole's extents */
} mica__division;

static inline bool mica__is_divided(const mica__division *d) { return d->count > 0; }

/* The shape of the whole of a part's. */
mica_shape mica__division_whole(const mica__division *division, mica_shape part);
/* MICA_E_FORMAT if it is no division of such a part among so many ranks. */
mica_status mica__division_check(const mica__division *division, mica_shape part, int32_t ranks);
/* Copies a rank's part of the whole to `own`, or back. size: bytes of an element. */
void mica__division_copy(const mica__division *division, mica_shape part, size_t size, int32_t ranks, int32_t rank,
                         char *whole, char *own, bool back);

#endif
