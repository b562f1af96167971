/* compress/prune.h: finds channels of a network that must be removed together.
 *
 * An atom is one index of one axis of a parameter, such as filter 3 of "conv1.weight". Each axis of a value is labelled
 * with the atoms that its indices come from. If an op needs two axes to agree, it joins their atoms (union-find). In
 * the end, all atoms of a class must be removed together. Atom 0 represents everything that must stay. */
#ifndef MICA_COMPRESS_PRUNE_H
#define MICA_COMPRESS_PRUNE_H

#include "base/error.h"
#include "base/shared.h"
#include "ir/graph.h"

#include <mica/compress.h>

/* Atoms of a value's axes; NULL: the axis cannot be cut (batch, height, time). */
typedef struct mica__labels {
  int32_t *axis[MICA_MAX_RANK];
} mica__labels;

/* A parameter. Atom first[a] + i is index i of axis a. */
typedef struct mica__prune_parameter {
  const char *name; /* without name_prefix; owned by the network */
  int32_t id;
  mica_shape shape;
  int32_t first[MICA_MAX_RANK];
} mica__prune_parameter;

/* A product. Its cost depends on the remaining channels of its result and of the axis that it sums over. */
typedef struct mica__prune_cost {
  double flops;
  const int32_t *out, *in; /* atoms of the result's channels and of the axis summed over; NULL: all channels stay */
  int64_t outs, ins;
} mica__prune_cost;

struct mica_pruning {
  const mica_graph *graph;
  const mica_value *outputs; /* of the network, during the walk; NULL: unknown */
  size_t output_count;
  mica__prune_parameter *parameters;
  size_t parameter_count;
  int32_t *parent; /* of each atom, for union-find */
  int32_t atom_count;
  mica__labels *labels; /* by value id - 1; only during the walk */
  mica__type *types;    /* by value id - 1, for one sample; only during the walk */
  void **blocks;        /* memory of the labels */
  size_t block_count, block_capacity;
  mica__prune_cost *costs;
  size_t cost_count;
  /* class_of[atom]: the atom's class, -1 for atoms that stay. The arrays after it are per class: its group, its score,
   * and whether it is removed. */
  int32_t *class_of, *group_of;
  double *scores;
  bool *removed;
  int32_t class_count;
  mica_prune_group *groups;
  int64_t *before; /* per group: its channels before the current cut */
  size_t group_count;
};

/* The class of an atom, named by its smallest atom; 0: it stays. */
int32_t mica__prune_root(const mica_pruning *pruning, int32_t atom);
/* Checks that this number of cuts, in equal steps, can reach this share of the FLOPs. MICA_E_STATE: it cannot; the
 * message is the one that mica_pruning_cut would give for the first cut that fails. Uses the current scores.
 * Afterwards, the same channels are removed as before. */
MICA__SHARED mica_status mica__pruning_foresee(mica_pruning *pruning, double share, int64_t cuts);
/* Walks through the graph: labels all values, joins atoms, and records costs. */
mica_status mica__prune_walk(mica_pruning *pruning);

#endif
