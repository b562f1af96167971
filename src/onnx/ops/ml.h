/* onnx/ops/ml.h: helpers for operators of ai.onnx.ml, which take rows of numbers and return scores and labels. */
#ifndef MICA_ONNX_OPS_ML_H
#define MICA_ONNX_OPS_ML_H

#include "onnx/lower.h"

/* Operand k as floats (N, F); a vector becomes one row. Null, with an error recorded, for other ranks. */
mica_value mica__ml_rows(mica__lowering *l, const mica__onnx_node *node, int32_t k);

/* Reads numbers from the attribute `list`, or from the tensor attribute `tensor` that replaces it in newer versions
 * (NULL: none does). out->count is 0 if both are absent. The numbers live as long as the lowering. Returns false if an
 * error was recorded. */
bool mica__ml_reals(mica__lowering *l, const mica__onnx_node *node, const char *list, const char *tensor,
                    mica__reals *out);
/* Make constants of this shape: mica__ml_constant converts `values` to `dtype`, mica__ml_integers makes i64. */
mica_value mica__ml_constant(mica__lowering *l, mica_dtype dtype, mica_shape shape, const double *values);
mica_value mica__ml_integers(mica__lowering *l, mica_shape shape, const int64_t *values);

/* The transformation of scores (N rows, E classes or targets), in the order of the words of post_transform. */
typedef enum mica__ml_post {
  MICA__ML_NONE,
  MICA__ML_SOFTMAX,
  MICA__ML_LOGISTIC,
  MICA__ML_SOFTMAX_ZERO, /* scores of 0 stay 0 */
  MICA__ML_PROBIT
} mica__ml_post;
/* Reads the attribute post_transform. */
mica__ml_post mica__ml_post_of(mica__lowering *l, const mica__onnx_node *node);
mica_value mica__ml_transform(mica_value scores, mica__ml_post post);
/* Makes scores (N, 2) of two classes from the score s (N, 1) of the second class. The first class gets -s, or 1 - s if
 * `share` is set, which means that s is a probability. Only two transformations are applied:
 *
 * - MICA__ML_LOGISTIC: the result is the sigmoid of -s and of s, also if `share` is set.
 * - MICA__ML_PROBIT: the result is only the probit of s, (N, 1). */
mica_value mica__ml_two(mica_value score, mica__ml_post post, bool share);

/* The labels of classes: integers or texts. */
typedef struct mica__ml_classes {
  mica__onnx_texts texts; /* the strings; integers are in texts.numbers */
  int64_t count;
} mica__ml_classes;
/* Reads labels from the attribute classlabels_strings or `numbers`. False, with an error recorded, if the node has both
 * or neither. */
bool mica__ml_classes_of(mica__lowering *l, const mica__onnx_node *node, const char *numbers, mica__ml_classes *out);
/* Stores result 0, (N): the label of each class index in `indices`, i64 (N). */
void mica__ml_give_labels(mica__lowering *l, const mica__onnx_node *node, const mica__ml_classes *classes,
                          mica_value indices);
/* Returns the index of the largest score of each row, (N). For a single score per row, (N, 1), returns 1 if it exceeds
 * the threshold, else 0. */
mica_value mica__ml_best(mica_value scores, double threshold);

#endif
