/* compress/prune.h: which channels of a network go together.
 *
 * An atom is one index of one axis of a parameter: filter 3 of "conv1.weight". A value's axis is labelled by the atoms
 * that its indices come from; ops that need two axes to agree join their atoms (a union-find), so that at last a class
 * of atoms is what has to be removed at once. Atom 0 stands for all that must stay. */
#ifndef MICA_COMPRESS_PRUNE_H
#define MICA_COMPRESS_PRUNE_H

#include "base/error.h"
#include "ir/graph.h"

#include <mica/compress.h>

/* The atoms of a value's axes; NULL: an axis that cannot be cut (batch, height, time). */
typedef struct mica__labels {
  int32_t *axis[MICA_MAX_RANK];
} mica__labels;

/* A parameter: atom first[a] + i is index i of axis a. */
typedef struct mica__prune_parameter {
  const char *name; /* without name_prefix; the network's */
  int32_t id;
  mica_shape shape;
  int32_t first[MICA_MAX_RANK];
} mica__prune_parameter;

/* A product whose cost changes with the channels that are left: those of its result, and those it sums over. */
typedef struct mica__prune_cost {
  double flops;
  const int32_t *out, *in; /* NULL: they stay */
  int64_t outs, ins;
} mica__prune_cost;

struct mica_pruning {
  const mica_graph *graph;
  const mica_value *outputs; /* of the network, while the graph is walked; NULL: not known */
  size_t output_count;
  mica__prune_parameter *parameters;
  size_t parameter_count;
  int32_t *parent; /* of atoms */
  int32_t atom_count;
  mica__labels *labels; /* of values by id - 1; while the graph is walked */
  mica__type *types;    /* of values by id - 1, for one sample; likewise */
  void **blocks;        /* what labels point to */
  size_t block_count, block_capacity;
  mica__prune_cost *costs;
  size_t cost_count;
  /* Classes: class_of[atom], -1 for what stays; the group of each, its score, and whether it is removed. */
  int32_t *class_of, *group_of;
  double *scores;
  bool *removed;
  int32_t class_count;
  mica_prune_group *groups;
  int64_t *before; /* of each group: its channels when the cut that is made began */
  size_t group_count;
};

/* The class of an atom: the least one that it was joined to; 0: it stays. */
int32_t mica__prune_root(const mica_pruning *pruning, int32_t atom);
/* MICA_E_STATE where so many cuts, one after another to equal parts of the way, do not leave this share of the FLOPs:
 * what mica_pruning_cut would say of the last of them. Scores are those noted so far; nothing is removed. */
mica_status mica__pruning_foresee(mica_pruning *pruning, double share, int64_t cuts);
/* Labels all values of the graph, joins atoms, and notes costs. */
mica_status mica__prune_walk(mica_pruning *pruning);

#endif
