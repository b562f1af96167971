/* onnx/ops/ml_trees.h: an ensemble of decision trees from a file, checked: every index is in range, and there is no
 * cycle. */
#ifndef MICA_ONNX_OPS_ML_TREES_H
#define MICA_ONNX_OPS_ML_TREES_H

#include "onnx/ops/ml.h"

/* The test of a node on its feature x: x <= split, x < split, x == split. For a NaN it is false unless the node tracks
 * missing values. Other comparisons of the file become these with exchanged branches; a set of members becomes a chain
 * of IS. */
typedef enum mica__tree_mode { MICA__TREE_AT_MOST, MICA__TREE_BELOW, MICA__TREE_IS, MICA__TREE_LEAF } mica__tree_mode;

typedef struct mica__tree_node {
  int32_t mode;     /* mica__tree_mode */
  int32_t feature;  /* 0 for a leaf */
  int32_t yes, no;  /* node indices; a leaf has its own index twice */
  double split;     /* 0 for a leaf */
  bool tracks_true; /* a NaN takes the `yes` branch */
} mica__tree_node;

/* A value that a leaf adds to a target. */
typedef struct mica__tree_weight {
  int32_t node, target;
  double weight;
} mica__tree_weight;

/* All arrays live as long as the lowering. */
typedef struct mica__trees {
  mica__tree_node *nodes;
  mica__tree_weight *weights;
  int32_t *roots; /* one per tree */
  int32_t node_count, tree_count, depth;
  int64_t weight_count;
  int32_t features; /* 1 + the largest feature */
} mica__trees;

/* Reads trees of TreeEnsembleRegressor (`leaf` is "target") or TreeEnsembleClassifier ("class"); false with an error
 * recorded. */
bool mica__trees_read(mica__lowering *l, const mica__onnx_node *node, const char *leaf, int64_t targets,
                      mica__trees *out);
/* Reads trees of TreeEnsemble, version 5. */
bool mica__trees_read_5(mica__lowering *l, const mica__onnx_node *node, int64_t targets, mica__trees *out);

/* Finds depth and features, and the roots if tree_of is given; fails on a cycle. */
bool mica__trees_finish(mica__lowering *l, const mica__onnx_node *node, const int64_t *tree_of, mica__trees *trees);

#endif
