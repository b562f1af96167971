/* nn/divided.h: layers divided among mica_nn_config.tensor_ranks (Shoeybi et al. 2019): one layer by columns, the next
 * by rows, then a sum over all ranks. Without tensor_ranks, the functions make whole layers. */
#ifndef MICA_NN_DIVIDED_H
#define MICA_NN_DIVIDED_H

#include "nn/nn.h"

#include <mica/dist.h>

/* Number of ranks that share the network's layers; 1: every layer is whole. */
int32_t mica__nn_ranks(const mica_nn *nn);
/* This rank's share of a count. If the ranks do not divide it, the graph gets MICA_E_INVALID. what: "heads", for the
 * message. */
int64_t mica__nn_share_of(mica_nn *nn, const char *what, int64_t count);

/* Passes x, equal on all ranks, to divided columns. Its gradient is the sum over all ranks. Call it once for all layers
 * that take x. */
mica_value mica__nn_fan_out(mica_nn *nn, mica_value x);
/* mica_nn_dense of x from mica__nn_fan_out. sections: counts of units that are each divided among the ranks, such as
 * q, k and v; 0 after the last one. The rank computes its share of each. */
mica_value mica__nn_columns(mica_nn *nn, const char *name, mica_value x,
                            const int64_t sections[MICA__DIVISION_SECTIONS], const mica_dense_config *config);
/* mica_nn_dense of a value that is divided among ranks: x holds the rank's share of `inner` features. */
mica_value mica__nn_rows(mica_nn *nn, const char *name, mica_value x, int64_t inner, int64_t units,
                         const mica_dense_config *config);

/* mica_nn_dropout of a value that differs between ranks: each rank drops different elements. */
mica_value mica__nn_dropout_own(mica_nn *nn, mica_value x, double rate);
/* A seed for a value that differs between ranks. */
uint64_t mica__nn_draw_own(mica_nn *nn);

/* The division of parameter number `index` of the network. */
const mica__division *mica__nn_division(const mica_nn *nn, size_t index);
/* Divides the last parameter like the weight whose name without name_prefix is own_name, if their shapes are equal. */
void mica__nn_divide_like(mica_nn *nn, const char *own_name);
/* Sets the division of the last parameter. */
void mica__nn_divide_as(mica_nn *nn, const mica__division *division);
/* True if any parameter is divided. */
bool mica__nn_is_divided(const mica_nn *nn);

#endif
