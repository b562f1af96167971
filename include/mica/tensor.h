/* mica/tensor.h: typed, shaped, strided windows onto device memory, and moving data in and out of them.
 *
 * Threads: a tensor may be used by several threads and queues at once as long as nobody destroys it; its elements are
 * in order on one queue, between queues by events (mica_queue_wait). An event is used by one thread at a time. */
#ifndef MICA_TENSOR_H
#define MICA_TENSOR_H

#include <mica/buffer.h>
#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

/* A tensor is dtype, shape, strides (in elements) and a first element inside a buffer. It shares its buffer: the memory
 * lives until the last tensor and the last handle on it are destroyed. Several tensors may overlap; an op states where
 * its operands may alias. */
typedef struct mica_tensor mica_tensor;

/* A contiguous (row-major) tensor in memory of its own, its content undefined. MICA_E_DEVICE_MEMORY says how much was
 * asked and how much is in use. */
MICA_API MICA_CHECKED mica_status mica_tensor_create(mica_engine *engine, mica_dtype dtype, mica_shape shape,
                                                     mica_tensor **tensor);

/* A tensor filled with a copy of data (as many bytes as the tensor has). Blocks. */
MICA_API MICA_CHECKED mica_status mica_tensor_create_from(mica_engine *engine, mica_dtype dtype, mica_shape shape,
                                                          const void *data, mica_tensor **tensor);

/* A contiguous tensor inside a buffer, offset_bytes from its start. offset_bytes is a multiple of the element size;
 * MICA_E_INVALID when the buffer is too small. */
MICA_API MICA_CHECKED mica_status mica_tensor_wrap(mica_buffer *buffer, size_t offset_bytes, mica_dtype dtype,
                                                   mica_shape shape, mica_tensor **tensor);

/* Another window onto the memory of base. strides may be NULL (row-major); they may be 0 (broadcast) but not negative.
 * offset counts elements from base's first. MICA_E_INVALID when the window would leave base's buffer. */
MICA_API MICA_CHECKED mica_status mica_tensor_view(const mica_tensor *base, mica_shape shape, const int64_t *strides,
                                                   int64_t offset, mica_tensor **tensor);

/* A view with the last two dimensions swapped; the rank must be at least 2. */
MICA_API MICA_CHECKED mica_status mica_tensor_transpose(const mica_tensor *base, mica_tensor **tensor);

/* NULL is a no-op. Work in flight that uses the tensor goes on unharmed. */
MICA_API void mica_tensor_destroy(mica_tensor *tensor);

/* The engine, dtype and shape that the tensor was created with. */
MICA_API mica_engine *mica_tensor_engine(const mica_tensor *tensor);
MICA_API mica_dtype mica_tensor_dtype(const mica_tensor *tensor);
MICA_API mica_shape mica_tensor_shape(const mica_tensor *tensor);
/* The strides in elements, as many as the rank; valid as long as the tensor. */
MICA_API const int64_t *mica_tensor_strides(const mica_tensor *tensor);
MICA_API int64_t mica_tensor_count(const mica_tensor *tensor);
MICA_API size_t mica_tensor_bytes(const mica_tensor *tensor);
MICA_API bool mica_tensor_is_contiguous(const mica_tensor *tensor);

/* Transfers move a whole contiguous tensor; bytes must equal mica_tensor_bytes, as a guard. All are ordered with the
 * other work of the queue.
 *
 * upload copies data before it returns (through pinned memory on a GPU, into mapped memory on a CPU), so that data may
 * be reused at once; it does not wait for the device unless its staging memory is full.
 * A bool is sent as 1 if its byte is not 0; upload_async and map take the bytes as they are: they must be 0 or 1.
 * download blocks until data holds the result. */
MICA_API MICA_CHECKED mica_status mica_tensor_upload(mica_queue *queue, mica_tensor *tensor, const void *data,
                                                     size_t bytes);
MICA_API MICA_CHECKED mica_status mica_tensor_download(mica_queue *queue, const mica_tensor *tensor, void *data,
                                                       size_t bytes);

/* A point in a queue's work. */
typedef struct mica_event mica_event;

/* Like download, but returns at once: data must stay valid and untouched until the event is done. */
MICA_API MICA_CHECKED mica_status mica_tensor_download_async(mica_queue *queue, const mica_tensor *tensor, void *data,
                                                             size_t bytes, mica_event **event);
/* The upload likewise: data must stay valid and untouched until the event is done. */
MICA_API MICA_CHECKED mica_status mica_tensor_upload_async(mica_queue *queue, mica_tensor *tensor, const void *data,
                                                           size_t bytes, mica_event **event);
/* The end of what is queued so far. */
MICA_API MICA_CHECKED mica_status mica_queue_mark(mica_queue *queue, mica_event **event);
/* Work queued from now on begins when the event is done, which may be another queue's of the engine. The host does
 * not wait. */
MICA_API MICA_CHECKED mica_status mica_queue_wait(mica_queue *queue, const mica_event *event);
/* Blocks; MICA_E_DEVICE when the work failed, MICA_E_DEVICE_LOST when the device has. */
MICA_API MICA_CHECKED mica_status mica_event_wait(mica_event *event);
/* *done without blocking. */
MICA_API MICA_CHECKED mica_status mica_event_is_done(mica_event *event, bool *done);
/* Does not wait. NULL is a no-op. */
MICA_API void mica_event_destroy(mica_event *event);

typedef enum mica_map_mode { MICA_MAP_MODE_READ, MICA_MAP_MODE_WRITE, MICA_MAP_MODE_READ_WRITE } mica_map_mode;

/* Makes the tensor's memory visible to the host; blocks until earlier work of the queue is done. On a device with
 * unified memory nothing is copied. MICA_MAP_MODE_WRITE gives memory of undefined content, and the caller is to write
 * all of it. Until unmap, no queued work may use the tensor. */
MICA_API MICA_CHECKED mica_status mica_tensor_map(mica_queue *queue, mica_tensor *tensor, mica_map_mode mode,
                                                  void **data);
MICA_API MICA_CHECKED mica_status mica_tensor_unmap(mica_queue *queue, mica_tensor *tensor, void *data);

MICA_END_DECLS

#endif
