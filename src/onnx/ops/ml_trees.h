/* onnx/ops/ml_trees.h: an ensemble of decision trees, read from a file and checked. Every index is in range, and the
 * nodes form no cycle. */
#ifndef MICA_ONNX_OPS_ML_TREES_H
#define MICA_ONNX_OPS_ML_TREES_H

#include "onnx/ops/ml.h"

/* The kind of a node. An inner node tests its feature x:
 *
 * - MICA__TREE_AT_MOST: x <= split
 * - MICA__TREE_BELOW: x < split
 * - MICA__TREE_IS: x == split
 *
 * A true test leads to the `yes` branch. If x is NaN, the test is false unless the node tracks missing values. Other
 * comparisons of the file become one of these tests with exchanged branches. A test for membership in a set becomes a
 * chain of MICA__TREE_IS nodes. */
typedef enum mica__tree_mode { MICA__TREE_AT_MOST, MICA__TREE_BELOW, MICA__TREE_IS, MICA__TREE_LEAF } mica__tree_mode;

typedef struct mica__tree_node {
  int32_t mode;     /* mica__tree_mode */
  int32_t feature;  /* 0 for a leaf */
  int32_t yes, no;  /* node indices; a leaf has its own index twice */
  double split;     /* 0 for a leaf */
  bool tracks_true; /* a NaN takes the `yes` branch */
} mica__tree_node;

/* The value of a leaf for a target. */
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
  int32_t features; /* 1 + the largest index of a feature that a node tests */
} mica__trees;

/* Reads the trees of TreeEnsembleRegressor (`leaf` is "target") or TreeEnsembleClassifier (`leaf` is "class"). Returns
 * false if an error was recorded. */
bool mica__trees_read(mica__lowering *l, const mica__onnx_node *node, const char *leaf, int64_t targets,
                      mica__trees *out);
/* Reads the trees of TreeEnsemble, version 5. Returns false if an error was recorded. */
bool mica__trees_read_5(mica__lowering *l, const mica__onnx_node *node, int64_t targets, mica__trees *out);

/* Finds the depth and the number of features of the trees. Also finds the roots unless tree_of is NULL; tree_of[i] is
 * the tree of node i, in ascending order. Returns false, with an error recorded, if nodes form a cycle, if a tree does
 * not have exactly one root, or if a tree is too deep. */
bool mica__trees_finish(mica__lowering *l, const mica__onnx_node *node, const int64_t *tree_of, mica__trees *trees);

#endif
