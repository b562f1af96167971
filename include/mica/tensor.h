/* mica/tensor.h: tensors: typed, strided views of device memory, and transfers.
 *
 * Threads: several threads and queues may use a tensor at once, as long as none destroys it. One queue orders work on
 * its elements; between queues, use events (mica_queue_wait). Use an event from one thread at a time. */
#ifndef MICA_TENSOR_H
#define MICA_TENSOR_H

#include <mica/buffer.h>
#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

/* A dtype, a shape, strides (in elements) and a first element inside a buffer. The memory lives until the last tensor
 * and the last handle of the buffer are destroyed. Tensors may overlap; each op states which operands may. */
typedef struct mica_tensor mica_tensor;

/* Creates a contiguous (row-major) tensor with new memory; its content is undefined. MICA_E_DEVICE_MEMORY: the message
 * has the requested size and the memory in use. MICA_E_UNSUPPORTED: F64 on a device without double precision.
 * MICA_E_DTYPE: dtype is not a mica_dtype. MICA_E_OVERFLOW: the size is too large. */
MICA_API MICA_CHECKED mica_status mica_tensor_create(mica_engine *engine, mica_dtype dtype, mica_shape shape,
                                                     mica_tensor **tensor);

/* Creates a contiguous tensor and copies data into it; data has the tensor's mica_tensor_bytes bytes. Blocks. */
MICA_API MICA_CHECKED mica_status mica_tensor_create_from(mica_engine *engine, mica_dtype dtype, mica_shape shape,
                                                          const void *data, mica_tensor **tensor);

/* Creates a contiguous tensor in a buffer. offset_bytes must be a multiple of the element size. MICA_E_INVALID: the
 * buffer is too small. */
MICA_API MICA_CHECKED mica_status mica_tensor_wrap(mica_buffer *buffer, size_t offset_bytes, mica_dtype dtype,
                                                   mica_shape shape, mica_tensor **tensor);

/* Creates another view of base's memory. strides NULL: row-major. Strides may be 0 (broadcast), but not negative.
 * offset counts elements from base's first one. MICA_E_INVALID: the view would exceed base's buffer. */
MICA_API MICA_CHECKED mica_status mica_tensor_view(const mica_tensor *base, mica_shape shape, const int64_t *strides,
                                                   int64_t offset, mica_tensor **tensor);

/* Creates a view with the last two dimensions swapped. The rank must be at least 2. */
MICA_API MICA_CHECKED mica_status mica_tensor_transpose(const mica_tensor *base, mica_tensor **tensor);

/* Destroys a tensor. Work in flight that uses it continues safely. NULL is a no-op. */
MICA_API void mica_tensor_destroy(mica_tensor *tensor);

/* Engine, dtype and shape of the tensor. */
MICA_API mica_engine *mica_tensor_engine(const mica_tensor *tensor);
MICA_API mica_dtype mica_tensor_dtype(const mica_tensor *tensor);
MICA_API mica_shape mica_tensor_shape(const mica_tensor *tensor);
/* Strides in elements, one per dimension; valid as long as the tensor. */
MICA_API const int64_t *mica_tensor_strides(const mica_tensor *tensor);
/* Number of elements, and their bytes without gaps: count times the size of the dtype. */
MICA_API int64_t mica_tensor_count(const mica_tensor *tensor);
MICA_API size_t mica_tensor_bytes(const mica_tensor *tensor);
/* True if the elements lie one after the other in row-major order. */
MICA_API bool mica_tensor_is_contiguous(const mica_tensor *tensor);

/* Transfers move a whole contiguous tensor, in order with the other work of the queue. bytes must equal
 * mica_tensor_bytes. MICA_E_INVALID: they differ, or the tensor is not contiguous.
 *
 * upload copies data before it returns (through pinned memory for GPUs, into mapped memory for CPUs); data may be
 * reused at once. It only waits for the device if its staging memory is full. A bool becomes 1 if its byte is not 0. In
 * upload_async and map, bytes of bool must be 0 or 1. download blocks until data holds the result. */
MICA_API MICA_CHECKED mica_status mica_tensor_upload(mica_queue *queue, mica_tensor *tensor, const void *data,
                                                     size_t bytes);
MICA_API MICA_CHECKED mica_status mica_tensor_download(mica_queue *queue, const mica_tensor *tensor, void *data,
                                                       size_t bytes);

/* A point in a queue's work. */
typedef struct mica_event mica_event;

/* Download that returns at once. data must stay valid and untouched until the event is done. */
MICA_API MICA_CHECKED mica_status mica_tensor_download_async(mica_queue *queue, const mica_tensor *tensor, void *data,
                                                             size_t bytes, mica_event **event);
/* Upload that returns at once. data must stay valid and untouched until the event is done. */
MICA_API MICA_CHECKED mica_status mica_tensor_upload_async(mica_queue *queue, mica_tensor *tensor, const void *data,
                                                           size_t bytes, mica_event **event);
/* Marks the end of the work queued so far. */
MICA_API MICA_CHECKED mica_status mica_queue_mark(mica_queue *queue, mica_event **event);
/* Makes later work on this queue start after the event, which may belong to another queue of the engine. The host does
 * not wait. */
MICA_API MICA_CHECKED mica_status mica_queue_wait(mica_queue *queue, const mica_event *event);
/* Blocks until the event is done. MICA_E_DEVICE: the work failed. MICA_E_DEVICE_LOST: the device is lost. */
MICA_API MICA_CHECKED mica_status mica_event_wait(mica_event *event);
/* Tells whether the event is done, without blocking. */
MICA_API MICA_CHECKED mica_status mica_event_is_done(mica_event *event, bool *done);
/* Destroys an event without waiting for it. NULL is a no-op. */
MICA_API void mica_event_destroy(mica_event *event);

typedef enum mica_map_mode { MICA_MAP_MODE_READ, MICA_MAP_MODE_WRITE, MICA_MAP_MODE_READ_WRITE } mica_map_mode;

/* Maps a tensor's memory for the host. Blocks until earlier work of the queue is done. Devices with unified memory do
 * not copy. With MICA_MAP_MODE_WRITE the content is undefined, and the caller must write all of it. No queued work may
 * use the tensor until unmap. MICA_E_INVALID: the tensor is not contiguous or has no elements. */
MICA_API MICA_CHECKED mica_status mica_tensor_map(mica_queue *queue, mica_tensor *tensor, mica_map_mode mode,
                                                  void **data);
MICA_API MICA_CHECKED mica_status mica_tensor_unmap(mica_queue *queue, mica_tensor *tensor, void *data);

MICA_END_DECLS

#endif
