/* ops/collective/collective.h: sums over ranks as values of a graph. */
#ifndef MICA_OPS_COLLECTIVE_COLLECTIVE_H
#define MICA_OPS_COLLECTIVE_COLLECTIVE_H

#include <mica/dist.h>

/* The sums over all ranks of `count` f32 values of one graph, in one collective on the channel. sums may be x. Errors
 * stand in the graph. */
void mica__all_reduce(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                      mica_compression compression, mica_value *sums);

#endif
