/* onnx/ops/ml_trees.h: an ensemble of decision trees of a file, checked: every index lies in its list, and no way leads
 * back. */
#ifndef MICA_ONNX_OPS_ML_TREES_H
#define MICA_ONNX_OPS_ML_TREES_H

#include "onnx/ops/ml.h"

/* What a node asks of its feature x; the answer of a NaN is no, unless the node tracks missing values. Other questions
 * of the file are these with the branches exchanged; a set of members is a chain of IS. */
typedef enum mica__tree_mode { MICA__TREE_AT_MOST, MICA__TREE_BELOW, MICA__TREE_IS, MICA__TREE_LEAF } mica__tree_mode;

typedef struct mica__tree_node {
  int32_t mode;     /* mica__tree_mode */
  int32_t feature;  /* 0 for a leaf */
  int32_t yes, no;  /* nodes; a leaf's are itself */
  double split;     /* 0 for a leaf */
  bool tracks_true; /* a NaN takes the branch of yes */
} mica__tree_node;

/* The value that a leaf adds to a target. */
typedef struct mica__tree_weight {
  int32_t node, target;
  double weight;
} mica__tree_weight;

/* All live as long as the lowering. */
typedef struct mica__trees {
  mica__tree_node *nodes;
  mica__tree_weight *weights;
  int32_t *roots; /* one a tree */
  int32_t node_count, tree_count, depth;
  int64_t weight_count;
  int32_t features; /* more than the largest feature */
} mica__trees;

/* Trees of TreeEnsembleRegressor (`leaf` is "target") and TreeEnsembleClassifier ("class"); false with an error
 * recorded. */
bool mica__trees_read(mica__lowering *l, const mica__onnx_node *node, const char *leaf, int64_t targets,
                      mica__trees *out);
/* Trees of TreeEnsemble, version 5. */
bool mica__trees_read_5(mica__lowering *l, const mica__onnx_node *node, int64_t targets, mica__trees *out);

/* Finds depth and features, and the roots if tree_of is given; refuses a cycle. */
bool mica__trees_finish(mica__lowering *l, const mica__onnx_node *node, const int64_t *tree_of, mica__trees *trees);

#endif
