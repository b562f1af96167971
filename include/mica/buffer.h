/* mica/buffer.h: device memory without a type. Most programs need only tensors, which own their buffers.
 * Threads: any, as long as nobody destroys the handle meanwhile. */
#ifndef MICA_BUFFER_H
#define MICA_BUFFER_H

#include <mica/device.h>

MICA_BEGIN_DECLS

typedef struct mica_buffer mica_buffer;

/* At least `bytes` bytes of undefined content, from the engine's pool: sizes are rounded up to a power of two up to
 * 1 MiB and to a quarter of one above. bytes 0 is allowed. When the driver has no memory left, the pool is given back
 * and the request repeated before this fails with MICA_E_DEVICE_MEMORY. */
MICA_API MICA_CHECKED mica_status mica_buffer_create(mica_engine *engine, size_t bytes, mica_buffer **buffer);

/* Drops this handle; the memory returns to the pool when no tensor uses it any more. NULL is a no-op. */
MICA_API void mica_buffer_destroy(mica_buffer *buffer);

/* The size asked for. */
MICA_API size_t mica_buffer_bytes(const mica_buffer *buffer);

MICA_END_DECLS

#endif
