/* ops/conv/gpu/channels_last.h: copies of the operands of convolutions on tensor cores. In a copy the channels of a
 * pixel are adjacent, padded to a multiple of 16 bytes; 16 bytes of channels are called a piece. */
#ifndef MICA_OPS_CONV_GPU_CHANNELS_LAST_H
#define MICA_OPS_CONV_GPU_CHANNELS_LAST_H

#include "ops/conv/conv.h"

/* The number of pieces that hold `channels` channels of a group. */
int64_t mica__conv_pieces(mica_dtype dtype, int64_t channels);

/* Copies a tensor of n images, groups x channels and pixels as [groups][n][pixels][pieces of 16 bytes], with zeros
 * after its channels, into a workspace of the queue (cl/conv/gpu/channels_last.cl). The caller destroys *last, also
 * after an error. */
mica_status mica__conv_channels_last(mica_queue *queue, const mica_tensor *tensor, int64_t n, int64_t groups,
                                     int64_t channels, int64_t pixels, mica_buffer **last);
/* Makes the same copy in the buffer `last`, from piece `first` on. */
mica_status mica__conv_put_channels_last(mica_queue *queue, const mica_tensor *tensor, int64_t n, int64_t groups,
                                         int64_t channels, int64_t pixels, mica_buffer *last, int64_t first);
/* The number of pieces in the tensor's buffer before its first element. The tensor has its channels last
 * (mica__conv.last). */
int64_t mica__conv_first_piece(const mica_tensor *tensor);
/* True if the tensor's first element is at the beginning of a piece. */
bool mica__conv_begins_piece(const mica_tensor *tensor);

#endif
