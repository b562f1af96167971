/* nn/divided.h: layers of which every rank of mica_nn_config.tensor_ranks has a part (Shoeybi et al. 2019): the columns
 * of one, the rows of the one that takes its result, and one sum of all ranks behind the two. All of it is the layer
 * itself where there are no such ranks. */
#ifndef MICA_NN_DIVIDED_H
#define MICA_NN_DIVIDED_H

#include "nn/nn.h"

#include <mica/dist.h>

/* Ranks that have parts of the network's layers; 1: it is whole. */
int32_t mica__nn_ranks(const mica_nn *nn);
/* This rank's share of a count. MICA_E_INVALID in the graph where the ranks do not divide it: "2 ranks do not divide
 * 3 heads of layers.0.self_attn.". */
int64_t mica__nn_share_of(mica_nn *nn, const char *what, int64_t count);

/* x, the same on all ranks, for columns: the gradient is the sum of all ranks' gradients. Once for all layers that take
 * it. */
mica_value mica__nn_fan_out(mica_nn *nn, mica_value x);
/* mica_nn_dense of x behind mica__nn_fan_out, of whose units the rank has its share of each section; the last of the
 * three sections may be 0. */
mica_value mica__nn_columns(mica_nn *nn, const char *name, mica_value x,
                            const int64_t sections[MICA__DIVISION_SECTIONS], const mica_dense_config *config);
/* mica_nn_dense of what all ranks have together, `inner` values of which x has the rank's share. */
mica_value mica__nn_rows(mica_nn *nn, const char *name, mica_value x, int64_t inner, int64_t units,
                         const mica_dense_config *config);

/* mica_nn_dropout of what a rank alone has, where each drops other elements. */
mica_value mica__nn_dropout_own(mica_nn *nn, mica_value x, double rate);
/* A seed for what a rank alone has. */
uint64_t mica__nn_draw_own(mica_nn *nn);

/* What the network's parameter number `index` is a part of. */
const mica__division *mica__nn_division(const mica_nn *nn, size_t index);
/* The parameter that was added last is divided like the weight of that own name, where it has its shape. */
void mica__nn_divide_like(mica_nn *nn, const char *own_name);
/* The parameter that was added last is such a part. */
void mica__nn_divide_as(mica_nn *nn, const mica__division *division);
/* True where any parameter is a part. */
bool mica__nn_is_divided(const mica_nn *nn);

#endif
