/* Operators of ai.onnx.ml before and after a model: they choose, scale, normalise, binarise, fill, join and name
 * columns. */
#include "onnx/indices.h"
#include "onnx/ops/family.h"
#include "onnx/ops/ml.h"

#include <math.h>

/* Records the error for a list that has neither one number nor one per feature. */
static void fail_features(mica__lowering *l, const mica__onnx_node *node, const char *name, int64_t count,
                          mica_shape shape) {
  const int64_t features = shape.rank ? shape.dim[shape.rank - 1] : 0;
  if (!shape.rank)
    mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank 0, but must have rank 1 or above");
  else if (features >= 0)
    mica__lower_fail(l, node, MICA_E_SHAPE, "%s has %lld numbers, but must have 1 or %lld (one per feature)", name,
                     (long long)count, (long long)features);
  else
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "%s has %lld numbers, but must have 1, because the number of features of the input is not known",
                     name, (long long)count);
}

/* Reads a list of one number, or of one per element of the last axis. Null, with an error recorded, for other
 * lengths. */
static mica_value per_feature(mica__lowering *l, const mica__onnx_node *node, const char *name, mica_value x) {
  mica__reals list;
  if (!x.graph || !mica__ml_reals(l, node, name, NULL, &list)) return (mica_value){0};
  const mica_shape shape = mica_value_shape(x);
  if (shape.rank && list.count && (list.count == 1 || list.count == shape.dim[shape.rank - 1]))
    return mica__ml_constant(l, mica_value_dtype(x), MICA_SHAPE(list.count), list.values);
  fail_features(l, node, name, list.count, shape);
  return (mica_value){0};
}

MICA__LOWER(ml_scaler) {
  mica_value x = mica__lower_floating(l, node, 0);
  if (mica__onnx_attr(node, "offset")) x = mica_sub(x, per_feature(l, node, "offset", x));
  if (mica__onnx_attr(node, "scale")) x = mica_mul(x, per_feature(l, node, "scale", x));
  return x.graph ? give(l, node, x) : MICA_OK;
}

MICA__LOWER(ml_normalizer) {
  const int32_t norm = mica__lower_choice(l, node, "norm", "MAX L1 L2", 0);
  const mica_value x = mica__lower_floating(l, node, 0);
  if (!x.graph) return MICA_OK;
  if (mica_value_shape(x).rank < 1 || mica_value_shape(x).rank > 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank %d, but must have 2 (rows) or 1 (one row)",
                            (int)mica_value_shape(x).rank);
  const mica_value size = norm == 0   ? mica_max(x, MICA_AXES(-1), true)
                          : norm == 1 ? mica_l1(x, MICA_AXES(-1), true)
                                      : mica_l2(x, MICA_AXES(-1), true);
  const mica_value none = mica_equal(size, mica__lower_number(size, 0));
  return give(l, node, mica_div(x, mica_where(none, mica__lower_number(size, 1), size)));
}

MICA__LOWER(ml_binarizer) {
  const mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  const mica_value above = mica_greater(x, mica__lower_number(x, mica__onnx_real(node, "threshold", 0)));
  return give(l, node, mica_cast(above, mica_value_dtype(x)));
}

static mica_value imputed_integers(mica__lowering *l, const mica__onnx_node *node, mica_value x) {
  mica__integers list;
  const mica_shape shape = mica_value_shape(x);
  mica__onnx_ints(node, "imputed_value_int64s", &list);
  if (!shape.rank || !list.count || (list.count != 1 && list.count != shape.dim[shape.rank - 1])) {
    fail_features(l, node, "imputed_value_int64s", list.count, shape);
    return (mica_value){0};
  }
  return mica_cast(mica__ml_integers(l, MICA_SHAPE(list.count), list.values), mica_value_dtype(x));
}

MICA__LOWER(ml_imputer) {
  const mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  const double replaced = mica__onnx_real(node, "replaced_value_float", 0);
  mica_value missing, filling;
  if (is_floating(x)) {
    missing = isnan(replaced) ? mica_isnan(x) : mica_equal(x, mica__lower_number(x, replaced));
    filling = per_feature(l, node, "imputed_value_floats", x);
  } else {
    const int64_t value = mica__onnx_int(node, "replaced_value_int64", 0);
    missing = mica_equal(mica_cast(x, MICA_I64), mica__lower_integer_constant(l, &value, 1, 0));
    filling = imputed_integers(l, node, x);
  }
  return filling.graph ? give(l, node, mica_where(missing, filling, x)) : MICA_OK;
}

/* Gathers columns of x by index; the result for a vector is one row. */
MICA__LOWER(ml_extract) {
  mica_value x = x_of(l, node), at = mica__lower_operand(l, node, 1);
  int64_t count = 0;
  if (!x.graph || !at.graph) return MICA_OK;
  const mica_shape shape = mica_value_shape(x);
  if (!shape.rank)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank 0, but must have rank 1 or above");
  MICA_TRY(mica_shape_count(mica_value_shape(at), &count));
  if (!mica__lower_indices_within(l, node, at, &shape.dim[shape.rank - 1], 1)) return MICA_OK;
  x = mica_gather(x, mica_reshape(at, MICA_SHAPE(count)), shape.rank - 1);
  return give(l, node, shape.rank == 1 ? mica_reshape(x, MICA_SHAPE(1, count)) : x);
}

/* Joins the columns of the operands. An operand is first cut or padded with zeros to its width in inputdimensions, if
 * that list has one for it. */
MICA__LOWER(ml_vectorizer) {
  mica__integers widths;
  mica__onnx_ints(node, "inputdimensions", &widths);
  if (node->input_count < 1)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "the node has no inputs, but needs at least 1");
  mica_value *parts = mica__lower_room(l, (size_t)node->input_count, sizeof *parts);
  if (!parts) return MICA_OK;
  for (int32_t k = 0; k < node->input_count; k++) {
    mica_value x = mica__lower_operand(l, node, k);
    if (!x.graph) return MICA_OK;
    x = mica_cast(x, MICA_F32);
    x = mica_value_shape(x).rank < 2 ? mica_reshape(x, MICA_SHAPE(1, MICA_DYNAMIC)) : mica_flatten(x, 1);
    const int64_t has = x.graph ? mica_value_shape(x).dim[1] : 0, wants = k < widths.count ? widths.values[k] : has;
    if (wants < 0 || wants > INT32_MAX)
      return mica__lower_fail(l, node, MICA_E_FORMAT, "%s of input %d (from 0) is %lld%s, but must be 0 to 2^31 - 1",
                              k < widths.count ? "the width in inputdimensions" : "the number of columns", (int)k,
                              (long long)wants, k < widths.count ? "" : " (-1: not known)");
    if (wants < has) x = mica_slice(x, 1, 0, wants, 1);
    if (wants > has) x = mica_pad(x, (int64_t[]){0, 0}, (int64_t[]){0, wants - has}, MICA_PAD_MODE_CONSTANT, 0);
    parts[k] = x;
  }
  return give(l, node, mica_concat(parts, (size_t)node->input_count, 1));
}

/* Returns a tensor instead of a list of maps: one row of probabilities per sample, whose columns have the classes'
 * names (mica_onnx_class_name). */
MICA__LOWER(ml_zip_map) {
  mica__ml_classes classes;
  const mica_value x = x_of(l, node);
  if (!x.graph || !mica__ml_classes_of(l, node, "classlabels_int64s", &classes)) return MICA_OK;
  const mica_shape shape = mica_value_shape(x);
  if (shape.rank < 1 || shape.rank > 2 || shape.dim[shape.rank - 1] != classes.count)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "the input has rank %d and %lld columns (-1: not known), but must have rank 1 or 2 and "
                            "%lld columns, one per label",
                            (int)shape.rank, shape.rank ? (long long)shape.dim[shape.rank - 1] : 0,
                            (long long)classes.count);
  return give(l, node, shape.rank == 1 ? mica_reshape(x, MICA_SHAPE(1, classes.count)) : x);
}
