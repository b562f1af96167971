/* Random numbers by Philox. They depend on the node's seed (or the runner's seed if the node has none), on the node's
 * position in the graph and on the number of the run. Other programs give other numbers; the distribution is the one
 * that ONNX defines. */
#include "onnx/ops/family.h"

#include <string.h>

/* The attribute `seed`, converted to a double, as 64 bits; if it is absent, the runner's seed. */
static uint64_t seed_of(const mica__lowering *l, const mica__onnx_node *node) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, "seed");
  const double seed = mica__onnx_real(node, "seed", 0);
  uint64_t bits = 0;
  if (!attr) return mica__lower_seed(l);
  memcpy(&bits, &seed, sizeof bits);
  return bits;
}

/* Reads the type from the attribute `dtype`; false, with an error recorded, if it is not supported. */
static bool dtype_of(mica__lowering *l, const mica__onnx_node *node, mica_dtype standard, mica_dtype *dtype) {
  const int64_t type = mica__onnx_int(node, "dtype", 0);
  *dtype = standard;
  if (!type || mica__lower_dtype(l, type, dtype)) return true;
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s (dtype %lld) are not supported",
                   mica__onnx_type_name(type), (long long)type);
  return false;
}

/* Draws numbers with like's shape and type from the operator's distribution. */
static mica_status drawn(mica__lowering *l, const mica__onnx_node *node, mica_value like) {
  mica_value step = mica__lower_step(l, node);
  if (!step.graph || !like.graph) return MICA_OK;
  if (!is_floating(like))
    return mica__lower_fail(l, node, MICA_E_DTYPE, "elements must be of a floating type, not %s",
                            mica_dtype_name(mica_value_dtype(like)));
  if (!strncmp(node->op, "RandomNormal", 12))
    return give(l, node,
                mica_random_normal(step, like, seed_of(l, node), mica__onnx_real(node, "mean", 0),
                                   mica__onnx_real(node, "scale", 1)));
  return give(l, node,
              mica_random_uniform(step, like, seed_of(l, node), mica__onnx_real(node, "low", 0),
                                  mica__onnx_real(node, "high", 1)));
}

MICA__LOWER(random_like) {
  mica_value x = x_of(l, node);
  mica_dtype dtype;
  if (!x.graph || !dtype_of(l, node, mica_value_dtype(x), &dtype)) return MICA_OK;
  return drawn(l, node, mica_cast(x, dtype));
}

MICA__LOWER(random_filled) {
  mica__integers list;
  mica_shape shape = {0};
  mica_dtype dtype;
  mica__onnx_ints(node, "shape", &list);
  if (!dtype_of(l, node, MICA_F32, &dtype)) return MICA_OK;
  if (list.count > MICA_MAX_RANK)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the result would have rank %lld, but the limit is %d",
                            (long long)list.count, MICA_MAX_RANK);
  for (int64_t i = 0; i < list.count; i++) shape.dim[shape.rank++] = list.values[i];
  return drawn(l, node, mica_full(mica__lower_graph(l), dtype, shape, 0));
}

/* 1 with the probability given by the operand, else 0. */
MICA__LOWER(bernoulli) {
  mica_value p = mica__lower_floating(l, node, 0), step = mica__lower_step(l, node);
  mica_dtype dtype;
  if (!p.graph || !step.graph || !dtype_of(l, node, mica_value_dtype(p), &dtype)) return MICA_OK;
  p = mica_cast(p, MICA_F32);
  return give(l, node, mica_cast(mica_less(mica_random_uniform(step, p, seed_of(l, node), 0, 1), p), dtype));
}

/* Draws sample_size classes per row of log probabilities: the first class whose cumulative probability exceeds a
 * uniform number. */
MICA__LOWER(multinomial) {
  mica_value x = mica__lower_floating(l, node, 0), step = mica__lower_step(l, node);
  const int64_t samples = mica__onnx_int(node, "sample_size", 1);
  mica_dtype dtype;
  if (!x.graph || !step.graph || !dtype_of(l, node, MICA_I32, &dtype)) return MICA_OK;
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (samples < 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "sample_size is %lld, but must be at least 1", (long long)samples);
  if (shape.rank != 2 || shape.dim[1] < 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "the input is %s, but must be (rows, classes) with a known number of classes, at least 1",
                            mica_shape_format(shape, text));
  mica_value sums = mica_cumsum(mica_softmax(mica_cast(x, MICA_F32), 1), 1, false, false);
  mica_value all = mica_slice(sums, 1, shape.dim[1] - 1, shape.dim[1], 1);
  mica_value like = mica_full(x.graph, MICA_F32, MICA_SHAPE(shape.dim[0], samples), 0);
  mica_value numbers = mica_mul(mica_random_uniform(step, like, seed_of(l, node), 0, 1), all);
  mica_value below = mica_less_equal(mica_unsqueeze(sums, MICA_AXES(1)), mica_unsqueeze(numbers, MICA_AXES(2)));
  mica_value classes = mica_sum(mica_cast(below, MICA_I32), MICA_AXES(2), false);
  return give(l, node, mica_cast(mica_minimum(classes, mica__lower_number(classes, (double)shape.dim[1] - 1)), dtype));
}
