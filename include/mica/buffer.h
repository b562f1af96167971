/* mica/buffer.h: untyped device memory. Most programs only need tensors, which own their buffers.
 *
 * Threads: any thread may use a buffer, as long as none destroys it. */
#ifndef MICA_BUFFER_H
#define MICA_BUFFER_H

#include <mica/device.h>

MICA_BEGIN_DECLS

typedef struct mica_buffer mica_buffer;

/* Creates a buffer of at least `bytes` bytes with undefined content, from the engine's pool. Sizes are rounded up to a
 * power of two up to 1 MiB, above that to a quarter of one. bytes may be 0. If the driver has no memory left, pooled
 * memory is returned and the request repeated. MICA_E_DEVICE_MEMORY: it still failed. */
MICA_API MICA_CHECKED mica_status mica_buffer_create(mica_engine *engine, size_t bytes, mica_buffer **buffer);

/* Destroys this handle. The memory returns to the pool when no tensor uses it. NULL is a no-op. */
MICA_API void mica_buffer_destroy(mica_buffer *buffer);

/* Requested size. */
MICA_API size_t mica_buffer_bytes(const mica_buffer *buffer);

MICA_END_DECLS

#endif
