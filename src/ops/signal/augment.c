/* Random augmentations of sounds and spectrograms. */
#include "base/error.h"
#include "ops/signal/signal.h"

#include <math.h>

#define MOST_MASKS 32

/* Returns 0, 1, 2, ... along an axis, in x's shape. */
static mica_value positions(mica_value x, int32_t axis) { return mica_cumsum(mica_full_like(x, 1), axis, true, false); }

static mica_value uniform(mica_value step, mica_value like, uint64_t seed) {
  return mica_random_uniform(step, like, seed, 0, 1);
}

/* Draws a random range of up to `most` elements within `extent` for each sample. Returns true where position lies in
 * the range. like is (N, 1, 1): one number per sample. */
static mica_value in_range(mica_value position, mica_value extent, int64_t most, mica_value like, mica_value step,
                           uint64_t seed) {
  mica_value width = mica_floor(mica_affine(uniform(step, like, seed), (double)most + 1, 0));
  width = mica_minimum(width, extent);
  mica_value room = mica_affine(mica_sub(extent, width), 1, 1);
  mica_value start = mica_floor(mica_mul(uniform(step, like, seed), room));
  return mica_logical_and(mica_greater_equal(position, start), mica_less(position, mica_add(start, width)));
}

static int64_t or_default(int64_t value, int64_t standard) { return value == 0 ? standard : value < 0 ? 0 : value; }

mica_value mica_spec_augment(mica_value x, mica_value step, const mica_spec_augment_config *given) {
  static const mica_spec_augment_config none = {0};
  const mica_spec_augment_config *c = given ? given : &none;
  const int64_t counts[] = {or_default(c->frequency_masks, 2), or_default(c->time_masks, 2)};
  const int64_t widths[] = {or_default(c->frequency_width, 8), or_default(c->time_width, 20)};
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (!x.graph) return x;
  if (shape.rank != 3 || shape.dim[1] < 1)
    return mica__builder_fail("spec_augment", x, MICA_E_SHAPE,
                              "x is %s, but must be (N, C, frames) with C known and at least 1",
                              mica_shape_format(shape, text));
  if (counts[0] > MOST_MASKS || counts[1] > MOST_MASKS)
    return mica__builder_fail("spec_augment", x, MICA_E_INVALID,
                              "frequency_masks (%lld) and time_masks (%lld) may each be at most %d",
                              (long long)counts[0], (long long)counts[1], MOST_MASKS);
  mica_value wide = mica_cast(x, MICA_F32), row = mica_slice(wide, 1, 0, 1, 1);
  const int64_t zero[] = {0};
  mica_value like = mica_gather(row, mica_constant(x.graph, MICA_I64, MICA_SHAPE(1), zero), 2);
  mica_value column = mica_gather(wide, mica_constant(x.graph, MICA_I64, MICA_SHAPE(1), zero), 2);
  mica_value y = x;
  for (int axis = 1; axis <= 2; axis++) {
    mica_value index = positions(axis == 1 ? column : row, axis), extent = mica__count_along(wide, MICA_AXES(axis));
    for (int64_t k = 0; k < counts[axis - 1]; k++) {
      mica_value masked = in_range(index, extent, widths[axis - 1], like, step, c->seed);
      y = mica_where(masked, mica__number(y, 0), y);
    }
  }
  return y;
}

/* Returns the first sample of each row of x (N, T), as (N, 1); callers use only the shape. */
static mica_value one_each(mica_value x) {
  const int64_t zero[] = {0};
  return mica_gather(x, mica_constant(x.graph, MICA_I64, MICA_SHAPE(1), zero), 1);
}

mica_value mica_add_noise(mica_value x, mica_value step, uint64_t seed, double low, double high) {
  if (!mica__builder_number("add_noise", x, "the low ratio", low, -200, 200) ||
      !mica__builder_number("add_noise", x, "the high ratio", high, low, 200))
    return (mica_value){0};
  mica_value wide = mica__widen(x), power = mica_mean(mica_square(wide), MICA_AXES(1), true);
  mica_value ratio = mica_affine(uniform(step, one_each(wide), seed), high - low, low);
  mica_value noise = mica_exp(mica_affine(ratio, -log(10) / 10, 0)); /* noise power / signal power */
  mica_value scale = mica_sqrt(mica_stop_gradient(mica_mul(power, noise)));
  return mica__narrow(mica_add(wide, mica_mul(mica_random_normal(step, wide, seed, 0, 1), scale)), x);
}

mica_value mica_time_shift(mica_value x, mica_value step, uint64_t seed, int64_t most) {
  if (!mica__builder_number("time_shift", x, "the shift", (double)most, 0, 1e9)) return (mica_value){0};
  mica_value drawn = uniform(step, one_each(mica_cast(x, MICA_F32)), seed);
  mica_value shift = mica_floor(mica_affine(drawn, 2 * (double)most + 1, -(double)most));
  mica_value from = mica_sub(positions(mica_cast(x, MICA_I64), 1), mica_cast(shift, MICA_I64));
  mica_value outside = mica_cast(mica__count_along(x, MICA_AXES(1)), MICA_I64);
  mica_value index = mica_where(mica_less(from, mica__number(from, 0)), outside, from);
  return mica_gather_elements(x, index, 1);
}
