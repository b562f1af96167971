/* mica/buffer.h: untyped device memory. Most programs only need tensors, which own their buffers.
 *
 * Threads: any thread may use a buffer, as long as none destroys it. */
#ifndef MICA_BUFFER_H
#define MICA_BUFFER_H

#include <mica/device.h>

MICA_BEGIN_DECLS

typedef struct mica_buffer mica_buffer;

/* Creates a buffer with undefined content, from the engine's pool. bytes may be 0. The memory's size is rounded up to a
 * power of two of at least 256 bytes, or above 1 MiB to a quarter step between two powers of two (1.25 MiB, 1.5 MiB,
 * ...); it is exact if the device or the engine's limit allows no more. If memory runs out, the pool's unused memory is
 * returned to the driver and the request is repeated. MICA_E_DEVICE_MEMORY: memory is still short, or the device allows
 * fewer bytes in one buffer. MICA_E_OVERFLOW: more than SIZE_MAX / 4 bytes. */
MICA_API MICA_CHECKED mica_status mica_buffer_create(mica_engine *engine, size_t bytes, mica_buffer **buffer);

/* Destroys this handle. The memory returns to the pool or the driver when no tensor uses it. NULL is a no-op. */
MICA_API void mica_buffer_destroy(mica_buffer *buffer);

/* Makes a read-only buffer of the caller's memory, such as a mapped file. A CPU device reads the memory in place if it
 * begins at a multiple of 64 bytes and the driver supports that. Otherwise the device gets a copy. Transfers, ops and
 * runs that would write to the buffer fail with MICA_E_INVALID. `release` (may be NULL) is called once with `owner`,
 * from any thread, when the memory is no longer needed: before this call returns if it was copied, otherwise after the
 * buffer and its last tensor are gone and the device is done. The memory must stay readable and unchanged until then.
 * If this call fails, `release` is not called. MICA_E_DEVICE_MEMORY and MICA_E_OVERFLOW: as in mica_buffer_create.
 * Experimental. */
MICA_API MICA_CHECKED mica_status mica_buffer_wrap_memory(mica_engine *engine, const void *memory, size_t bytes,
                                                          void (*release)(void *owner), void *owner,
                                                          mica_buffer **buffer);

/* Returns the requested size in bytes. */
MICA_API size_t mica_buffer_bytes(const mica_buffer *buffer);

MICA_END_DECLS

#endif
