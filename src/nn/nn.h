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
  mica_value hooked;       /* what the hook made of it as a layer's weight; null: no hook was called */
} mica__nn_parameter;

/* A layer of the summary. Layers inside another layer are not recorded. */
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
  char *name_prefix;          /* prefix of all names in the graph: "teacher." or "" */
  char *prefix;               /* open scopes: "head.block." */
  size_t cut[MICA__NN_DEPTH]; /* length of prefix before each scope */
  int depth;
  mica_value step; /* null before mica_nn_step is called */
  uint64_t draws;  /* number of dropouts; each has its own seed */
  int32_t sums;    /* number of sums over tensor_ranks; each has its own channel */
  int32_t norms;   /* number of batch norms over all ranks; each has its own channels */
};

/* Allocates "prefix.name" (without name_prefix). NULL, with an error in the graph, if memory is short. */
char *mica__nn_name(mica_nn *nn, const char *name);

/* True if nn is NULL; then x's graph has an error, and the layer returns a null value, as for a null x. */
bool mica__nn_missing(const mica_nn *nn, const char *kind, mica_value x);

/* Between enter and leave, parameters belong to the layer `name` ("name.weight"). leave records the layer in the
 * summary, and returns the result. */
void mica__nn_enter(mica_nn *nn, const char *name, const char *kind);
mica_value mica__nn_leave(mica_nn *nn, mica_value result);
/* Records a layer in the summary only; names of parameters do not change. */
MICA__SHARED void mica__nn_record(mica_nn *nn, const char *name, const char *kind);
MICA__SHARED mica_value mica__nn_recorded(mica_nn *nn, mica_value result);

/* A first pass builds the network once more in the same graph. PuzzleMix needs it: it mixes samples by their gradients,
 * and then trains on the mixtures. Begin when the network is in training form and has no layers yet. Layers built
 * between begin and end have inference form, and do not count as layers of the network. Layers of the same names that
 * are built afterwards have the same parameters. */
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

/* Passes a value of the current layer to the network's hook and returns its result. */
mica_value mica__nn_hooked(mica_nn *nn, mica_nn_point point, mica_value value);

/* Finds the shape of "weight" in mica_nn_config.like for the open scopes, as f32 or as integers of a quantised file
 * ("weight_q"). window: product of the dimensions after the first two; of weights packed to 4 bits, only the rank and
 * the first two dimensions are known. False: there is no such file or weight, or, with an error in the graph, it does
 * not match rank and window. */
bool mica__nn_like(mica_nn *nn, int32_t rank, int64_t window, mica_shape *shape);
/* mica__nn_like for the weight `name` in the open scopes, which must have rank 2. Integers of a quantised file are
 * not found. */
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

/* Appends the names of at most twelve weights. */
MICA__SHARED void mica__nn_list_weights(const mica_nn *nn, mica__text *list);

/* Finds a name's index. MICA_E_NOT_FOUND: the message lists all names. what: "optimiser", for the message. */
mica_status mica__name_find(const char *what, const char *name, const char *const *names, size_t count, int32_t *index);

#endif
