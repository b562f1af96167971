/* ops/collective/division.h: how a tensor is divided among ranks, in blocks along one axis. */
#ifndef MICA_OPS_COLLECTIVE_DIVISION_H
#define MICA_OPS_COLLECTIVE_DIVISION_H

#include "base/error.h"

#include <mica/shape.h>

#define MICA__DIVISION_SECTIONS 3

/* The axis of the undivided tensor (the whole) consists of sections, such as queries, keys and values. Each section is
 * cut into one block per rank. Rank k has block k of every section, joined in the order of the sections. If all fields
 * are 0, every rank has the whole tensor. */
typedef struct mica__division {
  int32_t axis, count;                       /* count: the number of sections */
  int64_t sections[MICA__DIVISION_SECTIONS]; /* the extents of the sections in the whole tensor */
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
