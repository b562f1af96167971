/* dist/wire.h: compresses elements for sending, and adds up the ranks' copies of a part. */
#ifndef MICA_DIST_WIRE_H
#define MICA_DIST_WIRE_H

#include <mica/dist.h>

/* Elements that share a scale in MICA_COMPRESSION_U8. */
#define MICA__WIRE_BLOCK 256

/* Bytes of n elements as they are sent. Only f32 is compressed; `dtype` matters only for MICA_COMPRESSION_NONE. */
size_t mica__wire_bytes(mica_compression compression, mica_dtype dtype, int64_t n);
/* Compresses x + residual. If residual is not NULL, it receives the rounding error of each element. Where x is not
 * finite, the error is set to 0. With MICA_COMPRESSION_U8, one such element sets the errors of its whole block to 0. */
void mica__wire_encode(mica_compression compression, const float *x, float *residual, int64_t n, void *out);
void mica__wire_decode(mica_compression compression, const void *in, int64_t n, float *x);

/* Sums `count` pieces of n elements into pieces[0], pairwise as a binary tree over their indices. Overwrites the other
 * pieces. `dtype` must be a type that mica_transfer allows for sums. */
void mica__sum_tree(mica_dtype dtype, void *const *pieces, int32_t count, int64_t n);

#endif
