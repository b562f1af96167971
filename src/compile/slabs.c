#include "compile/slabs.h"

#include "base/checked.h"
#include "runtime/buffer.h"
#include "runtime/tensor.h"

#include <stdlib.h>

/* The largest size of a value or slab: the sum of four still fits into a size_t. */
#define MOST_BYTES (SIZE_MAX / 4)

size_t mica__session_alignment(const mica_engine *engine) {
  size_t device = mica_engine_device(engine)->align_bytes;
  return mica__round_up(device ? device : 1, MICA__TENSOR_ALIGNMENT);
}

mica__slabs mica__slabs_of(const mica_engine *engine) {
  size_t align = mica__session_alignment(engine);
  uint64_t largest = mica_engine_device(engine)->max_buffer_bytes;
  size_t step = largest && largest < MOST_BYTES ? (size_t)largest : MOST_BYTES;
  return (mica__slabs){.step = step < align ? align : step / align * align, .align = align};
}

size_t mica__slabs_fit(const mica__slabs *slabs, size_t offset, size_t bytes) {
  size_t within = offset % slabs->step;
  return bytes <= slabs->step - within ? offset : offset - within + slabs->step;
}

mica_status mica__slabs_add(mica__slabs *slabs, size_t offset, size_t bytes) {
  size_t slab = offset / slabs->step, end = offset % slabs->step + bytes;
  if (slab >= slabs->count) {
    size_t *grown = realloc(slabs->bytes, (slab + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("a session");
    slabs->bytes = grown;
    while (slabs->count <= slab) grown[slabs->count++] = 0;
  }
  if (slabs->bytes[slab] < end) slabs->bytes[slab] = end;
  return MICA_OK;
}

mica_status mica__slabs_append(mica__slabs *slabs, size_t bytes, size_t *offset) {
  size_t last = slabs->count ? slabs->count - 1 : 0;
  size_t end = slabs->count ? last * slabs->step + slabs->bytes[last] : 0;
  size_t rounded = mica__round_up(bytes, slabs->align);
  if (end > MOST_BYTES || rounded > MOST_BYTES)
    return mica__fail(MICA_E_OVERFLOW, "the values of a session are too large for the host's addresses");
  *offset = mica__slabs_fit(slabs, end, rounded);
  return mica__slabs_add(slabs, *offset, rounded);
}

size_t mica__slabs_total(const mica__slabs *slabs) {
  size_t total = 0;
  for (size_t i = 0; i < slabs->count; i++) total += slabs->bytes[i];
  return total;
}

void mica__slabs_free(mica__slabs *slabs) {
  free(slabs->bytes);
  slabs->bytes = NULL;
  slabs->count = 0;
}

static mica_status list(const mica__slabs *slabs, mica__slab_buffers *buffers) {
  if (!*buffers) *buffers = calloc(slabs->count + 1, sizeof **buffers);
  return *buffers ? MICA_OK : mica__fail_nomem("a session");
}

mica_status mica__slabs_share(const mica__slabs *slabs, const mica__slabs *other, mica__slab_buffers from,
                              mica__slab_buffers *buffers) {
  MICA_TRY(list(slabs, buffers));
  for (size_t i = 0; i < slabs->count && i < other->count; i++) {
    if ((*buffers)[i] || !from[i] || mica_buffer_bytes(from[i]) < slabs->bytes[i]) continue;
    (*buffers)[i] = from[i];
    mica__buffer_retain(from[i]);
  }
  return MICA_OK;
}

mica_status mica__slabs_allocate(const mica__slabs *slabs, mica_engine *engine, mica__slab_buffers *buffers) {
  MICA_TRY(list(slabs, buffers));
  for (size_t i = 0; i < slabs->count; i++)
    if (!(*buffers)[i]) MICA_TRY(mica_buffer_create(engine, slabs->bytes[i], &(*buffers)[i]));
  return MICA_OK;
}

mica_buffer *mica__slabs_at(const mica__slabs *slabs, mica__slab_buffers buffers, size_t offset, size_t *within) {
  *within = offset % slabs->step;
  return buffers[offset / slabs->step];
}

int64_t mica__slabs_find(const mica__slabs *slabs, mica__slab_buffers buffers, const mica_buffer *buffer) {
  for (size_t i = 0; buffers && i < slabs->count; i++)
    if (buffers[i] == buffer) return (int64_t)i;
  return -1;
}

void mica__slabs_release(const mica__slabs *slabs, mica__slab_buffers buffers) {
  for (size_t i = 0; buffers && i < slabs->count; i++) mica_buffer_destroy(buffers[i]);
  free((void *)buffers);
}
