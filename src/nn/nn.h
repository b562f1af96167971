/* nn/nn.h: a network under construction. */
#ifndef MICA_NN_NN_H
#define MICA_NN_NN_H

#include "base/shared.h"
#include "base/text.h"
#include "ops/collective/division.h"

#include <mica/nn.h>
#include <stdlib.h>

#define MICA__NN_DEPTH 16 /* the most scopes inside each other */

typedef struct mica__nn_parameter {
  mica_nn_parameter_info info;
  char *name;              /* info.name; info.own_name is its end */
  mica__division division; /* with tensor_ranks: how the whole tensor is divided */
  mica_value hooked;       /* the weight after the network's hook has changed it; null: no hook was called for it */
} mica__nn_parameter;

/* A layer of the summary. A layer that consists of other layers has no entry of its own. */
typedef struct mica__nn_layer {
  char *name;
  const char *kind;
  mica_value result;
  int32_t first_node, last_node; /* ids of nodes that the layer added */
  size_t first_parameter, last_parameter;
} mica__nn_layer;

struct mica_nn {
  mica_graph *graph;
  mica_nn_config config;
  mica__nn_parameter *parameters;
  size_t parameter_count, parameter_capacity;
  mica__nn_parameter *first; /* parameters of the first pass, for the layers that are built after it */
  size_t first_count;
  mica__nn_layer *layers;
  size_t layer_count, layer_capacity;
  char *name_prefix; /* prefix of all names in the graph: "teacher." or "" */
  char *prefix;      /* open scopes: "head.block." */
  /* cut[d] is the length that `prefix` had before scope d was opened */
  size_t cut[MICA__NN_DEPTH];
  int depth;
  mica_value step; /* null before mica_nn_step is called */
  uint64_t draws;  /* number of seeds drawn so far, from mica_nn_config.draws on; each dropout has its own */
  int32_t sums;    /* number of sums over tensor_ranks; each has its own channel */
  int32_t norms;   /* number of batch norms over all ranks; each has its own channels */
};

/* Allocates "prefix.name" (without name_prefix). NULL, with an error in the graph, if memory is short. */
char *mica__nn_name(mica_nn *nn, const char *name);

/* True if nn is NULL. Then records an error in x's graph, and the layer must return a null value, as it does for a null
 * x. */
bool mica__nn_missing(const mica_nn *nn, const char *kind, mica_value x);

/* Between enter and leave, parameters belong to the layer `name` ("name.weight"). leave records the layer in the
 * summary, and returns the result. */
void mica__nn_enter(mica_nn *nn, const char *name, const char *kind);
mica_value mica__nn_leave(mica_nn *nn, mica_value result);
/* Begin and end a layer in the summary, like enter and leave, but do not change the names of parameters. */
MICA__SHARED void mica__nn_record(mica_nn *nn, const char *name, const char *kind);
MICA__SHARED mica_value mica__nn_recorded(mica_nn *nn, mica_value result);

/* A first pass builds the network one more time in the same graph. PuzzleMix needs this: it computes the gradients of
 * the samples, mixes the samples by these gradients, and then trains on the mixtures.
 *
 * Call begin when the network is in training form and has no layers yet. The layers built between begin and end are in
 * inference form, and are not counted as layers of the network. Layers with the same names that are built after end use
 * the same parameters. */
static inline void mica__nn_first_pass_begin(mica_nn *nn) { nn->config.training = false; }
static inline void mica__nn_first_pass_end(mica_nn *nn) {
  nn->config.training = true;
  for (size_t i = 0; i < nn->layer_count; i++) free(nn->layers[i].name);
  nn->layer_count = 0;
  nn->first = nn->parameters;
  nn->first_count = nn->parameter_count;
  nn->parameters = NULL;
  nn->parameter_count = nn->parameter_capacity = 0;
  nn->step = (mica_value){0};
}

/* Passes a value of the current layer to the network's hook and returns its result; the value itself if there is no
 * hook. */
mica_value mica__nn_hooked(mica_nn *nn, mica_nn_point point, mica_value value);

/* Finds the shape that the weight of the open scopes has in the file mica_nn_config.like, either "weight" or the
 * integers of a quantised file, "weight_q". `rank` is the rank that the weight must have, and `window` the product of
 * its dimensions after the first two. If weights are packed to 4 bits, only the rank and the first two dimensions of
 * *shape are set.
 *
 * False: there is no such file or weight. Also false, with an error in the graph, if the weight has another rank or,
 * packed to 4 bits, does not fit `window`. */
bool mica__nn_like(mica_nn *nn, int32_t rank, int64_t window, mica_shape *shape);
/* Finds the shape of the weight `name` of the open scopes in the file mica_nn_config.like. The weight must have rank 2.
 * Integers of a quantised file are not found. False as for mica__nn_like. */
bool mica__nn_like_named(mica_nn *nn, const char *name, mica_shape *shape);

/* init, or `fallback` if its kind is DEFAULT. */
static inline mica_init_config mica__init_or(mica_init_config init, mica_init_config fallback) {
  return init.kind == MICA_INIT_DEFAULT ? fallback : init;
}

/* Adds a parameter of any dtype in the open scopes. init NULL: zeros. If the dtype is not f32, parameters other than
 * weights allow only CONSTANT. */
MICA__SHARED mica_value mica__nn_add(mica_nn *nn, const char *name, mica_dtype dtype, mica_shape shape,
                                     const mica_init_config *init, mica_nn_role role);

/* Adds a weight in the form that mica_nn_config.hold requests. Returns the parameter itself. */
mica_value mica__nn_add_weight(mica_nn *nn, const char *name, mica_shape shape, const mica_init_config *init);

/* mica_nn_weight_of without the cast to the network's dtype. Null, without an error, if no weight has this name. */
mica_value mica__nn_weight(mica_nn *nn, const char *name);

/* x cast to the network's dtype. */
MICA__SHARED mica_value mica__nn_narrow(const mica_nn *nn, mica_value x);

/* Appends the names of the first twelve weights, and "..." if there are more. */
MICA__SHARED void mica__nn_list_weights(const mica_nn *nn, mica__text *list);

/* Finds a name's index. MICA_E_NOT_FOUND: the message lists all names. what: "optimiser", for the message. */
mica_status mica__name_find(const char *what, const char *name, const char *const *names, size_t count, int32_t *index);

#endif
