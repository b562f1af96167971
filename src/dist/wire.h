/* dist/wire.h: elements as they are sent, and sums of them. */
#ifndef MICA_DIST_WIRE_H
#define MICA_DIST_WIRE_H

#include <mica/dist.h>

/* Elements that share a scale in MICA_COMPRESSION_U8. */
#define MICA__WIRE_BLOCK 256

/* Bytes of n f32 elements, compressed. With MICA_COMPRESSION_NONE: n times the dtype's size. */
size_t mica__wire_bytes(mica_compression compression, mica_dtype dtype, int64_t n);
/* Compresses x + residual. residual (may be NULL) receives the rounding error, or 0 where x is not finite;
 * MICA_COMPRESSION_U8: 0 in each block that has such an element. */
void mica__wire_encode(mica_compression compression, const float *x, float *residual, int64_t n, void *out);
void mica__wire_decode(mica_compression compression, const void *in, int64_t n, float *x);

/* Sums `count` pieces of n elements into pieces[0], pairwise as a binary tree over their indices; overwrites the
 * others. dtype: one of mica_transfer.dtype. */
void mica__sum_tree(mica_dtype dtype, void *const *pieces, int32_t count, int64_t n);

#endif
