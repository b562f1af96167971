/* nn/nn.h: a network under construction. */
#ifndef MICA_NN_NN_H
#define MICA_NN_NN_H

#include "base/text.h"
#include "ops/collective/division.h"

#include <mica/nn.h>

#define MICA__NN_DEPTH 16 /* scopes inside each other */

typedef struct mica__nn_parameter {
  mica_nn_parameter_info info;
  char *name;              /* info.name, of which info.own_name is the end */
  mica__division division; /* of what it is a part, with tensor_ranks */
  mica_value hooked;       /* what the hook made of it as a layer's weight; null: none did */
} mica__nn_parameter;

/* A layer of the summary. Layers inside a layer are not recorded. */
typedef struct mica__nn_layer {
  char *name;
  const char *kind;
  mica_value result;
  int32_t first_node, last_node; /* ids that the layer added to the graph */
  size_t first_parameter, last_parameter;
} mica__nn_layer;

struct mica_nn {
  mica_graph *graph;
  mica_nn_config config;
  mica__nn_parameter *parameters;
  size_t parameter_count, parameter_capacity;
  mica__nn_layer *layers;
  size_t layer_count, layer_capacity;
  char *name_prefix;          /* of all names in the graph, "teacher." or "" */
  char *prefix;               /* the scopes, "head.block." */
  size_t cut[MICA__NN_DEPTH]; /* lengths of the prefix before each scope */
  int depth;
  mica_value step; /* null before mica_nn_step is called */
  uint64_t draws;  /* dropouts so far, each with a seed of its own */
  int32_t sums;    /* over tensor_ranks so far, each with a channel of its own */
  int32_t norms;   /* batch norms of all ranks so far, each with channels of its own */
};

/* "prefix.name" (without name_prefix) on the heap; NULL, with the error in the graph, when memory is short. */
char *mica__nn_name(mica_nn *nn, const char *name);

/* True, with the error in x's graph, where nn is NULL: layers then give a null value, as of a null x. */
bool mica__nn_missing(const mica_nn *nn, const char *kind, mica_value x);

/* Between enter and leave, parameters are those of the layer `name` ("name.weight"), and the layer is recorded for
 * the summary. leave returns the result. */
void mica__nn_enter(mica_nn *nn, const char *name, const char *kind);
mica_value mica__nn_leave(mica_nn *nn, mica_value result);
/* Likewise for the summary alone: parameters keep their names. */
void mica__nn_record(mica_nn *nn, const char *name, const char *kind);
mica_value mica__nn_recorded(mica_nn *nn, mica_value result);

/* What the network's hook makes of the value of the layer that was entered last. */
mica_value mica__nn_hooked(mica_nn *nn, mica_nn_point point, mica_value value);

/* The shape that mica_nn_config.like has for "weight" in the open scopes, be it f32 or the integers of a quantised file
 * ("weight_q"). window: elements behind the first two dimensions; of a weight that is packed to 4 bits those two and
 * the rank alone are told. false if there is no such file or weight, or, with the error in the graph, if it is no
 * weight of this rank and window. */
bool mica__nn_like(mica_nn *nn, int32_t rank, int64_t window, mica_shape *shape);
/* Likewise of the weight `name` in the open scopes in f32, rank 2. */
bool mica__nn_like_named(mica_nn *nn, const char *name, mica_shape *shape);

/* init, or `fallback` if its kind is the default. */
static inline mica_init_config mica__init_or(mica_init_config init, mica_init_config fallback) {
  return init.kind == MICA_INIT_DEFAULT ? fallback : init;
}

/* Adds a parameter of any type in the open scopes, initialised by init (types other than f32: a CONSTANT one), or NULL:
 * by zeros. */
mica_value mica__nn_add(mica_nn *nn, const char *name, mica_dtype dtype, mica_shape shape, const mica_init_config *init,
                        mica_nn_role role);

/* Adds a weight of the form that mica_nn_config.hold says. The value is the parameter itself. */
mica_value mica__nn_add_weight(mica_nn *nn, const char *name, mica_shape shape, const mica_init_config *init);

/* mica_nn_weight_of before it is cast; null, without an error, for a name that no weight has. */
mica_value mica__nn_weight(mica_nn *nn, const char *name);

/* x cast to the network's dtype. */
mica_value mica__nn_narrow(const mica_nn *nn, mica_value x);

/* Adds the names of the weights, the first dozen. */
void mica__nn_list_weights(const mica_nn *nn, mica__text *list);

/* Which of the names it is; MICA_E_NOT_FOUND lists them: "no optimiser 'sdg'; there are sgd, adam". */
mica_status mica__name_find(const char *what, const char *name, const char *const *names, size_t count, int32_t *index);

#endif
