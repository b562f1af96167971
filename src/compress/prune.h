/* compress/prune.h: which channels of a network go together.
 *
 * An atom is one index of one axis of a parameter, such as filter 3 of "conv1.weight". Each axis of a value is labelled
 * with the atoms that its indices come from. Ops that need two axes to agree join their atoms (union-find). In the end,
 * a class of atoms must be removed together. Atom 0 represents everything that must stay. */
#ifndef MICA_COMPRESS_PRUNE_H
#define MICA_COMPRESS_PRUNE_H

#include "base/error.h"
#include "base/shared.h"
#include "ir/graph.h"

#include <mica/compress.h>

/* Atoms of a value's axes; NULL: an axis that cannot be cut (batch, height, time). */
typedef struct mica__labels {
  int32_t *axis[MICA_MAX_RANK];
} mica__labels;

/* A parameter: atom first[a] + i is index i of axis a. */
typedef struct mica__prune_parameter {
  const char *name; /* without name_prefix; the network owns it */
  int32_t id;
  mica_shape shape;
  int32_t first[MICA_MAX_RANK];
} mica__prune_parameter;

/* A product whose cost depends on the remaining channels of its result and of its sum. */
typedef struct mica__prune_cost {
  double flops;
  const int32_t *out, *in; /* NULL: they stay */
  int64_t outs, ins;
} mica__prune_cost;

struct mica_pruning {
  const mica_graph *graph;
  const mica_value *outputs; /* of the network, during the walk; NULL: unknown */
  size_t output_count;
  mica__prune_parameter *parameters;
  size_t parameter_count;
  int32_t *parent; /* of atoms */
  int32_t atom_count;
  mica__labels *labels; /* of values by id - 1; during the walk */
  mica__type *types;    /* of values by id - 1, for one sample; during the walk */
  void **blocks;        /* memory of the labels */
  size_t block_count, block_capacity;
  mica__prune_cost *costs;
  size_t cost_count;
  /* Classes: class_of[atom], -1 for atoms that stay; per class its group, its score, and whether it is removed. */
  int32_t *class_of, *group_of;
  double *scores;
  bool *removed;
  int32_t class_count;
  mica_prune_group *groups;
  int64_t *before; /* per group: its channels before the current cut */
  size_t group_count;
};

/* Class of an atom: the smallest atom that it is joined to; 0: it stays. */
int32_t mica__prune_root(const mica_pruning *pruning, int32_t atom);
/* MICA_E_STATE: this number of cuts, in equal parts of the way, cannot reach this share of the FLOPs. The message is
 * the one which mica_pruning_cut would give for the last cut. Uses the current scores; nothing is removed. */
MICA__SHARED mica_status mica__pruning_foresee(mica_pruning *pruning, double share, int64_t cuts);
/* Labels all values of the graph, joins atoms, and records costs. */
mica_status mica__prune_walk(mica_pruning *pruning);

#endif
