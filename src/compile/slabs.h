/* compile/slabs.h: memory of a session, divided into buffers (slabs) that are no larger than the device's largest
 * buffer.
 *
 * Offsets count through all slabs: slab p begins at p * step, and no value crosses from one slab to the next. */
#ifndef MICA_COMPILE_SLABS_H
#define MICA_COMPILE_SLABS_H

#include "base/error.h"

#include <mica/tensor.h>

typedef struct mica__slabs {
  size_t step, align; /* step: the device's largest buffer, as a multiple of align */
  size_t *bytes;      /* bytes of each slab, up to the end of its last value */
  size_t count;
} mica__slabs;

/* The alignment of parameters and planned values, in bytes. */
size_t mica__session_alignment(const mica_engine *engine);

/* Slabs that hold nothing yet; values will begin at multiples of the session's alignment. */
mica__slabs mica__slabs_of(const mica_engine *engine);
/* The lowest offset, at least `offset`, at which `bytes` bytes (at most step) fit into one slab. */
size_t mica__slabs_fit(const mica__slabs *slabs, size_t offset, size_t bytes);
/* Makes room for a value at an offset that mica__slabs_fit gave. */
mica_status mica__slabs_add(mica__slabs *slabs, size_t offset, size_t bytes);
/* Adds a value after all others. */
mica_status mica__slabs_append(mica__slabs *slabs, size_t bytes, size_t *offset);
/* Bytes of all slabs. */
size_t mica__slabs_total(const mica__slabs *slabs);
void mica__slabs_free(mica__slabs *slabs);

/* The list of the slabs' buffers; NULL if there are no buffers yet. */
typedef mica_buffer **mica__slab_buffers;

/* Makes the buffers that do not exist yet, and their list if it is NULL. */
mica_status mica__slabs_allocate(const mica__slabs *slabs, mica_engine *engine, mica__slab_buffers *buffers);
/* Fills each missing entry i of *buffers with buffer i of another set of slabs, if that is large enough, and retains
 * it. */
mica_status mica__slabs_share(const mica__slabs *slabs, const mica__slabs *other, mica__slab_buffers from,
                              mica__slab_buffers *buffers);
/* The buffer that holds the offset; *within receives the position in it. */
mica_buffer *mica__slabs_at(const mica__slabs *slabs, mica__slab_buffers buffers, size_t offset, size_t *within);
/* The number of the slab whose buffer this is; -1: none. */
int64_t mica__slabs_find(const mica__slabs *slabs, mica__slab_buffers buffers, const mica_buffer *buffer);
void mica__slabs_release(const mica__slabs *slabs, mica__slab_buffers buffers);

#endif
