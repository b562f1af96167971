/* runtime/tensor.h: what ops and plans ask about a tensor beyond mica/tensor.h. */
#ifndef MICA_RUNTIME_TENSOR_H
#define MICA_RUNTIME_TENSOR_H

#include <mica/tensor.h>

/* Bytes. Tensors with a buffer of their own begin at a multiple of it, and so does memory that is planned; kernels may
 * choose wider loads where this holds. */
#define MICA__TENSOR_ALIGNMENT 64

/* Elements from the buffer's start to the tensor's first one. */
int64_t mica__tensor_first(const mica_tensor *tensor);

/* True when both begin at the same element of the same buffer. */
bool mica__tensor_same_memory(const mica_tensor *a, const mica_tensor *b);

/* True when some byte belongs to an element of both. Exact for strides that both have and for contiguous rows, as views
 * of one matrix have them; where strides mix in another way it may be true for tensors that only interlace. */
bool mica__tensor_overlaps(const mica_tensor *a, const mica_tensor *b);

/* True when both are the same elements in the same order: one memory, dtype, shape and strides. */
bool mica__tensor_is_same(const mica_tensor *a, const mica_tensor *b);

/* True when the first element lies at a multiple of MICA__TENSOR_ALIGNMENT in the buffer. */
bool mica__tensor_is_aligned(const mica_tensor *tensor);

/* True if nothing may write to the tensor (mica_buffer_wrap_memory). */
bool mica__tensor_is_read_only(const mica_tensor *tensor);
/* MICA_E_INVALID, naming the call, if nothing may write to the tensor (mica_buffer_wrap_memory). */
mica_status mica__tensor_check_writable(const mica_tensor *tensor, const char *call, const char *name);

/* The buffer that it looks at; not retained. */
mica_buffer *mica__tensor_buffer(const mica_tensor *tensor);

/* Another number whenever something may have written to the tensor's buffer since the last call: a transfer, a launch,
 * or whoever has been given its memory. Launches of recordings are not seen: whoever replays one says what it writes.
 * What was computed from a tensor once stays good as long as the number does. */
uint64_t mica__tensor_changes(const mica_tensor *tensor);
void mica__tensor_changed(const mica_tensor *tensor);

/* Sets every element of a contiguous tensor to the one given, by the driver's own means, which need no kernel to be
 * built. Not on a recorder. */
mica_status mica__tensor_fill(mica_queue *queue, mica_tensor *tensor, const void *element);

/* Queues a download of all elements, for which from now on the event stands, which is the caller's own.
 * mica__queue_flush starts it. */
mica_status mica__tensor_download_begin(mica_queue *queue, const mica_tensor *tensor, void *data, mica_event *event);
/* Starts what is queued. */
mica_status mica__queue_flush(mica_queue *queue);
/* The event stands for nothing. */
void mica__event_clear(mica_event *event);

#endif
