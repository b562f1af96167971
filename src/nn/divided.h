/* nn/divided.h: layers divided among mica_nn_config.tensor_ranks (tensor parallelism, Shoeybi et al. 2019). Layers come
 * in pairs: each rank has some columns of the first layer and the matching rows of the second one. The second layer's
 * results are then summed over all ranks. Without tensor_ranks, or with a single rank, the functions make undivided
 * layers. */
#ifndef MICA_NN_DIVIDED_H
#define MICA_NN_DIVIDED_H

#include "nn/nn.h"

#include <mica/dist.h>

/* Number of ranks that share the network's layers; 1: every layer is whole. */
int32_t mica__nn_ranks(const mica_nn *nn);
/* This rank's share of a count. If the count is not a multiple of the number of ranks, the graph gets MICA_E_INVALID.
 * what: "heads", for the message. */
int64_t mica__nn_share_of(mica_nn *nn, const char *what, int64_t count);

/* Prepares x, which is equal on all ranks, as the input of layers made by mica__nn_columns. Returns x, in f32 if there
 * are several ranks. The gradient of x is summed over all ranks. Call this once for all such layers that read the same
 * x. */
mica_value mica__nn_fan_out(mica_nn *nn, mica_value x);
/* A dense layer whose outputs are divided among the ranks. x comes from mica__nn_fan_out. The outputs consist of
 * sections, such as q, k and v, and each section is divided evenly. `sections` lists the numbers of outputs of the
 * sections; 0 ends the list. */
mica_value mica__nn_columns(mica_nn *nn, const char *name, mica_value x,
                            const int64_t sections[MICA__DIVISION_SECTIONS], const mica_dense_config *config);
/* A dense layer with `units` outputs whose input features are divided among the ranks. x has this rank's share of the
 * `inner` features. The result is the sum over all ranks and is equal on all of them. */
mica_value mica__nn_rows(mica_nn *nn, const char *name, mica_value x, int64_t inner, int64_t units,
                         const mica_dense_config *config);

/* mica_nn_dropout of a value that differs between ranks: each rank drops different elements. */
mica_value mica__nn_dropout_own(mica_nn *nn, mica_value x, double rate);
/* Returns a new seed at each call, different on each rank, for random numbers that must differ between ranks. */
uint64_t mica__nn_draw_own(mica_nn *nn);

/* The division of parameter number `index` of the network. */
const mica__division *mica__nn_division(const mica_nn *nn, size_t index);
/* Gives the last parameter the same division as the parameter whose own_name is given, if both have the same shape. */
void mica__nn_divide_like(mica_nn *nn, const char *own_name);
/* Sets the division of the last parameter. */
void mica__nn_divide_as(mica_nn *nn, const mica__division *division);
/* True if any parameter is divided. */
bool mica__nn_is_divided(const mica_nn *nn);

#endif
