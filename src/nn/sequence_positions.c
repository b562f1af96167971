/* Positions of sequences: indices, learned, sinusoidal, rotary, and ALiBi. */
#include "base/arith.h"
#include "nn/sequence.h"

#include <math.h>
#include <stdlib.h>

const char *mica_positions_name(mica_positions_kind kind) {
  static const char *const texts[] = {
#define POSITIONS_TEXT(name, text) text,
      MICA_POSITIONS_LIST(POSITIONS_TEXT)};
  return (unsigned)kind < sizeof texts / sizeof *texts ? texts[kind] : "?";
}

/* 0, 1, ... along axis 1 of x, i32 (T). */
static mica_value count_along(mica_value x) {
  mica_shape shape = mica_value_shape(x);
  if (shape.dim[1] != MICA_DYNAMIC) return mica_range(x.graph, MICA_I32, shape.dim[1]);
  /* The length is dynamic: positions are a cumulative sum of ones. The ones have the shape of x summed over its
   * other axes. */
  mica_axes others = {.count = 0};
  for (int32_t i = 0; i < shape.rank; i++)
    if (i != 1) others.axis[others.count++] = i;
  mica_value ones = mica_cast(mica_full_like(mica_sum(x, others, false), 1), MICA_I32);
  return mica_cumsum(ones, 0, true, false);
}

static mica_value fail_shape(const char *op, mica_value x, const char *wanted) {
  char text[MICA_SHAPE_TEXT];
  return mica__builder_fail(op, x, MICA_E_SHAPE, "x is %s, but must be %s",
                            mica_shape_format(mica_value_shape(x), text), wanted);
}

mica_value mica_positions(mica_value x, mica_value offset) {
  if (mica_value_is_null(x)) return x;
  if (mica_value_shape(x).rank < 2) return fail_shape("positions", x, "(B, T, ...)");
  mica_value along = count_along(x);
  if (mica_value_is_null(offset)) return along;
  return mica_add(mica_unsqueeze(offset, MICA_AXES(1)), mica_unsqueeze(along, MICA_AXES(0)));
}

/* A constant f32 vector: base^(-2 i / width) / factors[i] for i below count. factors NULL: 1. */
static mica_value frequencies(mica_graph *graph, double base, int64_t width, int64_t count, const double *factors) {
  float *numbers = malloc((size_t)count * sizeof *numbers);
  if (!numbers) return mica__graph_fail_with(graph, mica__fail_nomem("positions"));
  for (int64_t i = 0; i < count; i++)
    numbers[i] = (float)(pow(base, -2.0 * (double)i / (double)width) / (factors ? factors[i] : 1));
  mica_value value = mica_constant(graph, MICA_F32, MICA_SHAPE(count), numbers);
  free(numbers);
  return value;
}

/* --- rotary --- */

/* Rotates pairs of features by the angles position * frequency: each feature becomes itself times the cosine, plus or
 * minus its partner times the sine, and the result is multiplied by c->scale. The features of a head have the axes (2,
 * pairs), or (pairs, 2) if they are interleaved. */
static mica_value rotate(mica_value x, mica_value positions, const mica_rotary_config *c, int64_t heads) {
  const int64_t pairs = c->rotated / 2;
  const int32_t pair_axis = c->interleave ? 4 : 3;
  const float signs[] = {-(float)c->scale, (float)c->scale};
  mica_value sign = mica_constant(x.graph, MICA_F32, c->interleave ? MICA_SHAPE(2) : MICA_SHAPE(2, 1), signs);
  mica_value angle = mica_mul(mica_unsqueeze(mica_cast(positions, MICA_F32), MICA_AXES(-1)),
                              frequencies(x.graph, c->base, c->rotated, pairs, c->factors));
  /* (T, pairs) or (B, T, pairs), with added axes for heads and for the two features of a pair. */
  angle = mica_unsqueeze(angle, c->interleave ? MICA_AXES(-3, -1) : MICA_AXES(-3, -2));
  mica_shape split =
      MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), heads, c->interleave ? pairs : 2, c->interleave ? 2 : pairs);
  mica_value wide = mica_reshape(mica__widen(x), split), cosine = mica_cos(angle);
  if (c->scale != 1) cosine = mica_affine(cosine, c->scale, 0);
  mica_value y = mica_add(mica_mul(wide, cosine),
                          mica_mul(mica_flip(wide, MICA_AXES(pair_axis)), mica_mul(mica_sin(angle), sign)));
  return mica__narrow(mica_reshape(y, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), heads, c->rotated)), x);
}

/* Fills in the defaults of a configuration for heads of `all` features. False: an error was recorded. */
static bool complete(mica_value x, int64_t all, mica_rotary_config *c) {
  if (c->base == 0) c->base = 10000;
  if (c->rotated == 0) c->rotated = all;
  if (c->scale == 0) c->scale = 1;
  mica_value wrong = x;
  if (c->rotated < 2 || c->rotated > all || c->rotated % 2 != 0 || !(c->base > 0))
    wrong = mica__builder_fail("rotary", x, MICA_E_INVALID,
                               "rotated (%lld) must be even and 2 to %lld, and base (%g) above 0",
                               (long long)c->rotated, (long long)all, c->base);
  else if (!isfinite(c->scale))
    wrong = mica__builder_fail("rotary", x, MICA_E_INVALID, "the scale is %g, but must be finite", c->scale);
  for (int64_t i = 0; wrong.graph && c->factors && i < c->rotated / 2; i++)
    if (!(c->factors[i] > 0))
      wrong = mica__builder_fail("rotary", x, MICA_E_INVALID, "factor %lld is %g, but must be above 0", (long long)i,
                                 c->factors[i]);
  return wrong.graph != NULL;
}

mica_value mica__rotary_frequencies(mica_value x, mica_rotary_config *c) {
  const int64_t size = mica_value_shape(x).dim[3];
  if (!complete(x, size, c)) return (mica_value){0};
  return frequencies(x.graph, c->base, c->rotated, c->rotated / 2, c->factors);
}

mica_value mica_rotary(mica_value x, mica_value positions, const mica_rotary_config *config) {
  mica_rotary_config c = config ? *config : (mica_rotary_config){0};
  mica_shape shape = mica_value_shape(x);
  if (mica_value_is_null(x) || mica_value_is_null(positions)) return (mica_value){0};
  if (shape.rank != 4 || shape.dim[2] < 1 || shape.dim[3] < 1)
    return fail_shape("rotary", x, "(B, T, H, D), with H and D known");
  const int64_t all = shape.dim[3];
  if (!complete(x, all, &c)) return (mica_value){0};
  if (c.rotated == all) return rotate(x, positions, &c, shape.dim[2]);
  const mica_value parts[] = {rotate(mica_slice(x, 3, 0, c.rotated, 1), positions, &c, shape.dim[2]),
                              mica_slice(x, 3, c.rotated, all, 1)};
  return mica_concat(parts, 2, 3);
}

/* --- ALiBi --- */

/* The slope of head h of H is 2^(-8 (h + 1) / H) if H is a power of two. Otherwise, with P the next smaller power of
 * two, the first P heads have the slopes for P heads, and the others have every other slope for 2 P heads. */
static double slope(int64_t head, int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  if (head < power) return exp2(-8.0 * (double)(head + 1) / (double)power);
  return exp2(-4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

mica_value mica__alibi(mica_value queries, mica_value keys, int64_t heads) {
  mica_graph *graph = queries.graph;
  if (mica_value_is_null(queries) || mica_value_is_null(keys)) return (mica_value){0};
  float *slopes = malloc((size_t)heads * sizeof *slopes);
  if (!slopes) return mica__graph_fail_with(graph, mica__fail_nomem("positions"));
  for (int64_t h = 0; h < heads; h++) slopes[h] = (float)-slope(h, heads);
  mica_value each = mica_constant(graph, MICA_F32, MICA_SHAPE(heads, 1, 1), slopes);
  free(slopes);
  mica_value distance = mica_abs(mica_sub(mica_unsqueeze(queries, MICA_AXES(-1)), keys));
  return mica_mul(each, mica_cast(mica_unsqueeze(distance, MICA_AXES(-3)), MICA_F32));
}

/* --- added vectors --- */

/* (..., C): sin(p f_i) at index 2 i, cos(p f_i) at 2 i + 1. */
static mica_value sinusoids(mica_value positions, int64_t width) {
  const int64_t pairs = (width + 1) / 2;
  mica_value angle = mica_mul(mica_unsqueeze(mica_cast(positions, MICA_F32), MICA_AXES(-1)),
                              frequencies(positions.graph, 10000, width, pairs, NULL));
  const mica_value both[] = {mica_unsqueeze(mica_sin(angle), MICA_AXES(-1)),
                             mica_unsqueeze(mica_cos(angle), MICA_AXES(-1))};
  mica_shape shape = mica_value_shape(positions), flat = {.rank = shape.rank + 1};
  for (int32_t i = 0; i < shape.rank; i++) flat.dim[i] = MICA__COPY_DIM(i);
  flat.dim[shape.rank] = 2 * pairs;
  mica_value y = mica_reshape(mica_concat(both, 2, -1), flat);
  return width == 2 * pairs ? y : mica_slice(y, -1, 0, width, 1);
}

mica_value mica_nn_positions(mica_nn *nn, const char *name, mica_value x, mica_value positions, int64_t length,
                             mica_positions_kind kind) {
  mica_shape shape = mica_value_shape(x);
  if (mica__nn_missing(nn, "positions", x) || mica_value_is_null(x) || mica_value_is_null(positions))
    return (mica_value){0};
  if (shape.rank != 3 || shape.dim[2] < 1) return fail_shape("positions", x, "(B, T, C), with C known");
  if (kind == MICA_POSITIONS_KIND_SINUSOIDAL) return mica__residual_sum(x, sinusoids(positions, shape.dim[2]));
  if (kind != MICA_POSITIONS_KIND_LEARNED) return x;
  const mica_embedding_config config = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.02}};
  return mica__residual_sum(x, mica_nn_embedding(nn, name, positions, length, shape.dim[2], &config));
}

/* --- rows --- */

mica_value mica_last_rows(mica_value x, mica_value lengths) {
  mica_shape shape = mica_value_shape(x);
  if (mica_value_is_null(x)) return x;
  if (shape.rank != 3) return fail_shape("last_rows", x, "(B, T, C)");
  if (mica_value_is_null(lengths)) return mica_squeeze(mica_slice(x, 1, -1, MICA_END, 1), MICA_AXES(1));
  /* mica_gather_elements needs an index for each element, so the row's index is repeated for all features. */
  mica_value last = mica_unsqueeze(mica_sub(lengths, mica__number(lengths, 1)), MICA_AXES(-1, -2));
  last = mica_expand(last, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC, shape.dim[2]));
  return mica_squeeze(mica_gather_elements(x, last, 1), MICA_AXES(1));
}

mica_value mica_mean_rows(mica_value x, mica_value lengths) {
  if (mica_value_is_null(x)) return x;
  if (mica_value_shape(x).rank != 3) return fail_shape("mean_rows", x, "(B, T, C)");
  if (mica_value_is_null(lengths)) return mica_mean(x, MICA_AXES(1), false);
  mica_value inside = mica_less(mica_unsqueeze(mica_positions(x, (mica_value){0}), MICA_AXES(0)),
                                mica_unsqueeze(lengths, MICA_AXES(1)));
  mica_value kept = mica_where(mica_unsqueeze(inside, MICA_AXES(2)), mica__widen(x), mica__number(mica__widen(x), 0));
  mica_value count = mica_cast(mica_maximum(lengths, mica__number(lengths, 1)), mica_value_dtype(kept));
  return mica__narrow(mica_div(mica_sum(kept, MICA_AXES(1), false), mica_unsqueeze(count, MICA_AXES(1))), x);
}
