/* runtime/tensor.h: properties of tensors that ops and plans need, beyond mica/tensor.h. */
#ifndef MICA_RUNTIME_TENSOR_H
#define MICA_RUNTIME_TENSOR_H

#include <mica/tensor.h>

/* Alignment in bytes of tensors with their own buffer, and of planned memory. Kernels may choose wider loads for
 * aligned tensors. */
#define MICA__TENSOR_ALIGNMENT 64

/* The number of elements between the buffer's start and the tensor's first element. */
int64_t mica__tensor_first(const mica_tensor *tensor);

/* True if the first elements of a and b are the same element of the same buffer. */
bool mica__tensor_same_memory(const mica_tensor *a, const mica_tensor *b);

/* True if a and b share a byte. The answer is exact if both have the same strides or contiguous rows, as views of one
 * matrix do. For other strides it may be true although the tensors share no byte, because their elements lie between
 * one another. */
bool mica__tensor_overlaps(const mica_tensor *a, const mica_tensor *b);

/* True if a and b have the same elements in the same order: equal memory, dtype, shape and strides. Strides of axes of
 * extent 1 do not count. */
bool mica__tensor_is_same(const mica_tensor *a, const mica_tensor *b);

/* True if the first element is at a multiple of MICA__TENSOR_ALIGNMENT in the buffer. */
bool mica__tensor_is_aligned(const mica_tensor *tensor);

/* True if nothing may write to the tensor (mica_buffer_wrap_memory). */
bool mica__tensor_is_read_only(const mica_tensor *tensor);
/* MICA_E_INVALID if nothing may write to the tensor (mica_buffer_wrap_memory). The message begins with `call`, and
 * calls the tensor `name`. */
mica_status mica__tensor_check_writable(const mica_tensor *tensor, const char *call, const char *name);

/* The tensor's buffer; not retained. */
mica_buffer *mica__tensor_buffer(const mica_tensor *tensor);

/* mica__tensor_changes returns a number that changes whenever something may have written to the tensor's buffer: a
 * transfer, a launch, or code that was given its memory. A value computed from the tensor is valid as long as the
 * number is the same. Replays of recordings are not counted: the code that replays one must call mica__tensor_changed
 * for each tensor that the replay writes. */
uint64_t mica__tensor_changes(const mica_tensor *tensor);
void mica__tensor_changed(const mica_tensor *tensor);

/* Sets every element of a contiguous tensor to `element`. Uses a function of the driver, so no kernel has to be built.
 * MICA_E_STATE on a recorder. */
mica_status mica__tensor_fill(mica_queue *queue, mica_tensor *tensor, const void *element);

/* Queues a download of all elements to `data`, and makes `event`, which the caller owns, the event of this download.
 * Until mica__queue_flush, the driver may hold the download back. */
mica_status mica__tensor_download_begin(mica_queue *queue, const mica_tensor *tensor, void *data, mica_event *event);
/* Starts the queued work. */
mica_status mica__queue_flush(mica_queue *queue);
/* Releases the event's handle, so that it represents nothing. */
void mica__event_clear(mica_event *event);

#endif
