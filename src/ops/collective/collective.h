/* ops/collective/collective.h: sums over ranks as values of a graph. */
#ifndef MICA_OPS_COLLECTIVE_COLLECTIVE_H
#define MICA_OPS_COLLECTIVE_COLLECTIVE_H

#include "ir/op.h"

#include <mica/dist.h>

/* The sums over all ranks of `count` f32 values of one graph, in one collective on the channel. sums may be x. Errors
 * stand in the graph. */
void mica__all_reduce(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                      mica_compression compression, mica_value *sums);

/* The sums over all ranks of `count` f32 values, which rank `root` alone gets. Elsewhere what is returned is a number
 * that the graph has to use; null on the root. */
mica_value mica__reduce_to(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                           int32_t root, mica_value *sums);
/* Rank root's values x, on all others: there x gives the shapes, and `when` is any value of each run. What is returned
 * on the root is a number that its graph has to use; null elsewhere. */
mica_value mica__broadcast_of(const mica_value *x, int32_t count, mica_value when,
                              const mica_communicator *communicator, int32_t channel, int32_t root, mica_value *values);

/* --- what the ops share --- */

/* Records in x's graph that there is no communicator, or that a program may not use `count` channels from this one on.
 * False: nothing is wrong, or x is null. */
bool mica__channel_refused(const char *op, mica_value x, const mica_communicator *communicator, int32_t channel,
                           int32_t count);

/* The elements of an operand, rounded up to where the next one begins in the host's memory. */
mica_status mica__collective_room(mica_shape shape, int64_t *room);
/* The elements of all operands, which are f32 of known shapes. */
mica_status mica__collective_row(const struct mica__type *inputs, int32_t input_count, int64_t *count);
/* values[k], of x[k]'s shape, lies in the row where operand k did. values may be x. */
void mica__collective_split(mica_value row, const mica_value *x, int32_t count, mica_value *values);
/* A rank whose run has failed takes the others with it: they would wait for what it does not send. */
void mica__collective_ends(const mica_communicator *communicator, mica_status failed);

#endif
