/* Linear models. */
#include "onnx/ops/family.h"
#include "onnx/ops/ml.h"

/* Records the error for coefficients or intercepts of the wrong length. `rows` is the number of targets, or 0 if it
 * follows from the number of coefficients. */
static void fail_lengths(mica__lowering *l, const mica__onnx_node *node, int64_t coefficients, int64_t intercepts,
                         int64_t features, int64_t rows) {
  if (features < 1)
    mica__lower_fail(l, node, MICA_E_SHAPE, "the number of features is %lld (-1: not known), but must be at least 1",
                     (long long)features);
  else if (rows && (coefficients % rows || coefficients / rows != features))
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "coefficients has %lld numbers, but must have %lld x %lld, the number of targets times the number "
                     "of features",
                     (long long)coefficients, (long long)rows, (long long)features);
  else if (coefficients < features || coefficients % features)
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "coefficients has %lld numbers, but must have a multiple of %lld, the number of features, and at "
                     "least as many",
                     (long long)coefficients, (long long)features);
  else
    mica__lower_fail(l, node, MICA_E_SHAPE, "intercepts has %lld numbers, but must have %lld, one per score, or none",
                     (long long)intercepts, (long long)(coefficients / features));
}

/* Returns x (N, F) times the transpose of coefficients (E, F), plus intercepts (E); null on failure. `rows` is E, or 0
 * to compute E from the number of coefficients. */
static mica_value product(mica__lowering *l, const mica__onnx_node *node, int64_t rows, mica_value x) {
  mica__reals w, b;
  if (!x.graph || !mica__ml_reals(l, node, "coefficients", NULL, &w) ||
      !mica__ml_reals(l, node, "intercepts", NULL, &b))
    return (mica_value){0};
  const int64_t features = mica_value_shape(x).dim[1];
  const int64_t targets = rows;
  if (rows < 1) rows = features > 0 ? w.count / features : 0;
  if (rows < 1 || rows > w.count || w.count % rows || w.count / rows != features || (b.count && b.count != rows)) {
    fail_lengths(l, node, w.count, b.count, features, targets);
    return (mica_value){0};
  }
  const mica_dtype dtype = mica_value_dtype(x);
  const mica_value weights = mica__ml_constant(l, dtype, MICA_SHAPE(rows, features), w.values);
  const mica_value y = mica_matmul(x, mica_transpose(weights, MICA_AXES(1, 0)));
  return b.count ? mica_add(y, mica__ml_constant(l, dtype, MICA_SHAPE(rows), b.values)) : y;
}

MICA__LOWER(ml_linear_regressor) {
  const int64_t targets = mica__onnx_int(node, "targets", 1);
  const mica_value y = product(l, node, targets < 1 ? 1 : targets, mica__ml_rows(l, node, 0));
  return y.graph ? give(l, node, mica__ml_transform(y, mica__ml_post_of(l, node))) : MICA_OK;
}

MICA__LOWER(ml_linear_classifier) {
  mica__ml_classes classes;
  const mica__ml_post post = mica__ml_post_of(l, node);
  if (!mica__ml_classes_of(l, node, "classlabels_ints", &classes)) return MICA_OK;
  const mica_value scores = product(l, node, 0, mica__ml_rows(l, node, 0));
  if (!scores.graph) return MICA_OK;
  const int64_t count = mica_value_shape(scores).dim[1];
  const bool two = count == 1 && classes.count == 2;
  if (!two && count != classes.count)
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "coefficients gives %lld scores per row, but there are %lld classes; each class needs a score, but 2 classes "
        "may share one",
        (long long)count, (long long)classes.count);
  mica__ml_give_labels(l, node, &classes, mica__ml_best(scores, 0));
  mica__lower_result(l, node, 1, two ? mica__ml_two(scores, post, true) : mica__ml_transform(scores, post));
  return MICA_OK;
}
