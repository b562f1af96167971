/* Losses of embeddings that bring samples of one class close together. Computed in f32 if the operands have 16 bits. */
#include "base/arith.h"
#include "ops/common/build.h"

#include <math.h>
#include <mica/loss.h>

/* A squared sine counts as at least this: the gradient of the root is infinite at 0. */
#define LEAST_SQUARE 1e-6
/* Added to the square of a length before dividing by it. */
#define LEAST_LENGTH 1e-12
/* The logit of a class that a batch does not have. */
#define ABSENT (-1e9)

/* Returns (N, C) bool: true where the target is the class. */
static mica_value is_class(mica_value target, int64_t classes) {
  mica_value range = mica_range(target.graph, mica_value_dtype(target), classes);
  return mica_equal(mica__insert_axis(target, 1), mica__insert_axis(range, 0));
}

mica_value mica_arcface(mica_value cosines, mica_value target, const mica_arcface_config *given) {
  static const mica_arcface_config defaults = {0};
  const mica_arcface_config *config = given ? given : &defaults;
  const double scale = mica__or_default(config->scale, 30), margin = mica__or_default(config->margin, 0.5);
  const mica_shape shape = mica_value_shape(cosines);
  char text[MICA_SHAPE_TEXT];
  if (!cosines.graph || !target.graph) return (mica_value){0};
  if (shape.rank != 2 || shape.dim[1] < 1)
    return mica__builder_fail("arcface", cosines, MICA_E_SHAPE,
                              "the cosines are %s, but must be (N, C), with C known and at least 1",
                              mica_shape_format(shape, text));
  if (!(scale > 0))
    return mica__builder_fail("arcface", cosines, MICA_E_INVALID, "scale is %g, but must be above 0", scale);
  if (!(margin >= 0 && margin < 1.5))
    return mica__builder_fail("arcface", cosines, MICA_E_INVALID, "margin is %g, but must be at least 0 and below 1.5",
                              margin);
  mica_value c = mica_clip(mica__widen(cosines), -1, 1);
  mica_value sine = mica_sqrt(mica_maximum(mica_affine(mica_square(c), -1, 1), mica__number(c, LEAST_SQUARE)));
  mica_value moved = mica_sub(mica_affine(c, cos(margin), 0), mica_affine(sine, sin(margin), 0));
  mica_value below = mica_affine(c, 1, -margin * sin(margin));
  moved = mica_where(mica_greater(c, mica_full_like(c, -cos(margin))), moved, below);
  mica_value logits = mica_affine(mica_where(is_class(target, shape.dim[1]), moved, c), scale, 0);
  return mica__narrow(mica_cross_entropy(logits, target, &(mica_cross_entropy_config){.reduction = config->reduction}),
                      cosines);
}

mica_value mica_triplet(mica_value x, mica_value target, double margin, mica_value *counts) {
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (counts) *counts = (mica_value){0};
  if (!x.graph || !target.graph) return (mica_value){0};
  if (shape.rank != 2)
    return mica__builder_fail("triplet", x, MICA_E_SHAPE, "the embeddings are %s, but must be (N, E)",
                              mica_shape_format(shape, text));
  if (!(margin >= 0))
    return mica__builder_fail("triplet", x, MICA_E_INVALID, "margin is %g, but must be 0 or more", margin);
  mica_value e = mica__widen(x);
  const mica_dtype dtype = mica_value_dtype(e);
  mica_value cosines = mica_matmul(e, mica_transpose(e, MICA_AXES(1, 0)));
  mica_value same = mica_equal(mica__insert_axis(target, 1), mica__insert_axis(target, 0));
  mica_value order = mica_cumsum(mica_full_like(target, 1), 0, false, false);
  mica_value self = mica_equal(mica__insert_axis(order, 1), mica__insert_axis(order, 0));
  mica_value pairs = mica_cast(mica_logical_and(same, mica_logical_not(self)), dtype);
  mica_value others = mica_cast(mica_logical_not(same), dtype);
  /* (anchor, positive, negative): how much closer the anchor is to the negative sample than to the positive one */
  mica_value difference = mica_sub(mica__insert_axis(cosines, 1), mica__insert_axis(cosines, 2));
  mica_value losses = mica_relu(mica_affine(difference, 1, margin));
  losses = mica_mul(losses, mica_mul(mica__insert_axis(pairs, 2), mica__insert_axis(others, 1)));
  mica_value active = mica_cast(mica_greater(losses, mica_full_like(losses, 0)), MICA_F32);
  if (counts) *counts = mica_sum(active, MICA_AXES(1, 2), false);
  return mica__narrow(mica_sum(losses, MICA_AXES(1, 2), false), x);
}

/* Scales each row to length 1; a row of zeros stays zero. */
static mica_value normed(mica_value x) {
  mica_value squares = mica_sum(mica_square(x), MICA_AXES(1), true);
  return mica_div(x, mica_sqrt(mica_affine(squares, 1, LEAST_LENGTH)));
}

mica_value mica_ge2e(mica_value x, mica_value target, int64_t classes, mica_value scale, mica_value *counts) {
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (counts) *counts = (mica_value){0};
  if (!x.graph || !target.graph || !scale.graph) return (mica_value){0};
  if (shape.rank != 2)
    return mica__builder_fail("ge2e", x, MICA_E_SHAPE, "the embeddings are %s, but must be (N, E)",
                              mica_shape_format(shape, text));
  if (classes < 1)
    return mica__builder_fail("ge2e", x, MICA_E_INVALID, "classes is %lld, but must be at least 1", (long long)classes);
  mica_value e = mica__widen(x), own = is_class(target, classes), member = mica_cast(own, mica_value_dtype(e));
  mica_value sizes = mica_sum(member, MICA_AXES(0), true); /* (1, C) */
  mica_value sums = mica_matmul(mica_transpose(member, MICA_AXES(1, 0)), e);
  /* (N, E): the sum over the other samples of the sample's class */
  mica_value others = mica_sub(mica_matmul(member, sums), e);
  mica_value cosines = mica_matmul(e, mica_transpose(normed(sums), MICA_AXES(1, 0)));
  mica_value own_cosine = mica_sum(mica_mul(e, normed(others)), MICA_AXES(1), true);
  mica_value logits = mica_mul(mica_where(own, own_cosine, cosines), mica_cast(scale, mica_value_dtype(e)));
  mica_value there = mica_greater(sizes, mica_full_like(sizes, 0));
  logits = mica_where(there, logits, mica_full_like(logits, ABSENT));
  /* (N): the number of samples in the sample's class */
  mica_value alike = mica_sum(mica_mul(member, sizes), MICA_AXES(1), false);
  mica_value counted = mica_cast(mica_greater(alike, mica_full_like(alike, 1)), mica_value_dtype(e));
  if (counts) *counts = mica_cast(counted, MICA_F32);
  mica_value losses =
      mica_cross_entropy(logits, target, &(mica_cross_entropy_config){.reduction = MICA_LOSS_REDUCTION_NONE});
  return mica__narrow(mica_mul(losses, counted), x);
}
