/* ops/collective/collective.h: sums over ranks as values of a graph. */
#ifndef MICA_OPS_COLLECTIVE_COLLECTIVE_H
#define MICA_OPS_COLLECTIVE_COLLECTIVE_H

#include "ir/op.h"

#include <mica/dist.h>

/* Sums `count` f32 values of one graph over all ranks, in one collective on the channel. sums may be x. Errors are
 * recorded in the graph. */
void mica__all_reduce(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                      mica_compression compression, mica_value *sums);

/* Sums `count` f32 values over all ranks. Only rank `root` receives the sums, and there the function returns null. On
 * all other ranks it returns a value of shape (1), which the graph must use, because a node that nothing uses does not
 * run. */
mica_value mica__reduce_to(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                           int32_t root, mica_value *sums);
/* Sends the values x of rank `root` to all other ranks.
 *
 * - On the root, returns a value of shape (1), which the graph must use, because a node that nothing uses does not run.
 * - On other ranks, returns null, and x gives only the shapes. The node's operand is `when`, any value that each run
 *   computes. */
mica_value mica__broadcast_of(const mica_value *x, int32_t count, mica_value when,
                              const mica_communicator *communicator, int32_t channel, int32_t root, mica_value *values);

/* --- what the ops share --- */

/* Returns true, after recording an error in x's graph, if the communicator is missing or if a program may not use
 * `count` channels from `channel` on. Returns false if they are valid, or if x is null. */
bool mica__channel_refused(const char *op, mica_value x, const mica_communicator *communicator, int32_t channel,
                           int32_t count);

/* Sets *room to the number of elements of an operand, rounded up to a multiple of 16, which is where the next operand
 * begins. MICA_E_SHAPE if the shape is open, MICA_E_OVERFLOW if the number is too large. */
mica_status mica__collective_room(mica_shape shape, int64_t *room);
/* Sets *count to the number of elements of the row for all operands. MICA_E_DTYPE unless they are f32, MICA_E_SHAPE
 * if a shape is open, MICA_E_OVERFLOW if the row has 2^63 bytes or more. */
mica_status mica__collective_row(const struct mica__type *inputs, int32_t input_count, int64_t *count);
/* Cuts a row into values: values[k] has the shape of x[k], and the position of operand k. values may be x. */
void mica__collective_split(mica_value row, const mica_value *x, int32_t count, mica_value *values);
/* If a run failed, ends the communication for all ranks: the others would wait for data that never comes. Does
 * nothing if `failed` is MICA_OK, or if the communicator has no function to abort. */
void mica__collective_ends(const mica_communicator *communicator, mica_status failed);

#endif
