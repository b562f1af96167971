/* labels: device single
 *
 * Concatenations whose operands are computed where the result has them: what they hold, and the launches that are
 * not made. Numbers are whole and small, so that sums are exact in any order and results the same to the bit. */
#include "compile/without.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <string.h>

/* A plane is 256 bytes, a multiple of any device's alignment that tests run on. */
#define SIDE 8
#define PLANE (SIDE * SIDE)
#define CHANNELS 4
#define MOST (64 * PLANE)

static mica_value input;
static uint32_t state;

static void setup(void) {
  state = 1;
  graph_setup();
}

static void teardown(void) {
  mica__compile_without(0);
  graph_teardown();
}

static float number(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 31 ? -1.0f : 1.0f;
}

/* A convolution by 3 x 3 of numbers that are 1 and -1, kept small. */
static mica_value layer(mica_value x, int64_t filters) {
  static float weights[32 * 64 * 9];
  const mica_shape shape = MICA_SHAPE(filters, mica_value_shape(x).dim[1], 3, 3);
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  ck_assert_int_le(count, (int64_t)(sizeof weights / sizeof *weights));
  for (int64_t i = 0; i < count; i++) weights[i] = number();
  mica_value w = mica_constant(graph, MICA_F32, shape, weights);
  mica_value y = mica_conv(x, w, (mica_value){0}, &(mica_conv_config){.pad = {1, 1}});
  return mica_minimum(mica_maximum(y, mica_constant(graph, MICA_F32, MICA_SCALAR, (float[]){-3})),
                      mica_constant(graph, MICA_F32, MICA_SCALAR, (float[]){3}));
}

static mica_value image(int64_t images, int64_t channels, int64_t side) {
  return input = mica_input(graph, "x", MICA_F32, MICA_SHAPE(images, channels, side, side));
}

static mica_value joined(mica_value a, mica_value b) { return mica_concat((mica_value[]){a, b}, 2, 1); }

/* Runs the outputs (graph_launches) on numbers of both signs. */
static size_t run(const mica_value *outputs, size_t count, const mica_session_config *config, float *got) {
  static float data[MOST];
  int64_t elements = 0;
  ck_ok(mica_shape_count(mica_value_shape(input), &elements));
  ck_assert_int_le(elements, MOST);
  for (int64_t i = 0; i < elements; i++) data[i] = (float)(i * 7 % 5 - 2);
  return graph_launches(outputs, count, config, mica_value_shape(input), data, got);
}

static void expect(const float *got, const float *want, size_t count) {
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(got[i] == want[i], "element %zu: %g, not %g", i, (double)got[i], (double)want[i]);
}

/* Checks that the outputs are those of one launch an op, and returns how many launches composites save. */
static size_t saved(const mica_value *outputs, size_t count) {
  static float want[2 * MOST], got[2 * MOST];
  memset(want, 0, sizeof want);
  memset(got, 0, sizeof got);
  run(outputs, count, &(mica_session_config){.no_fusion = true}, want);
  size_t with = run(outputs, count, NULL, got);
  expect(got, want, 2 * MOST);
  mica__compile_without(MICA__WITHOUT_COMPOSITES);
  size_t without = run(outputs, count, NULL, got);
  mica__compile_without(0);
  expect(got, want, 2 * MOST);
  ck_assert_uint_le(with, without);
  return without - with;
}

START_TEST(two_layers_of_one_image) {
  mica_value x = image(1, CHANNELS, SIDE), c = joined(layer(x, 4), layer(x, 8)), y = layer(c, 4);
  ck_assert_uint_ge(saved(&y, 1), 1);
}
END_TEST

/* What grows layer by layer, as in DenseNet: each result begins as the one before it. */
START_TEST(a_dense_block) {
  mica_value parts[6] = {layer(image(1, CHANNELS, SIDE), 4)}, c = parts[0];
  for (size_t i = 1; i < 6; i++) {
    parts[i] = layer(c, 4);
    c = mica_concat(parts, i + 1, 1);
  }
  mica_value y = layer(mica_relu(c), 4);
  ck_assert_uint_ge(saved(&y, 1), 4);
}
END_TEST

/* Likewise with the new layer before the others, and as a concatenation of the last one. */
START_TEST(one_that_grows_at_its_beginning) {
  mica_value c = layer(image(1, CHANNELS, SIDE), 4);
  for (int i = 0; i < 4; i++) c = joined(layer(c, 4), c);
  mica_value y = layer(c, 4);
  ck_assert_uint_ge(saved(&y, 1), 4);
}
END_TEST

/* The second half of a layer beside what is made of it, as in CSP networks. */
START_TEST(a_slice_of_a_layer) {
  mica_value all = layer(image(1, CHANNELS, SIDE), 8), half = mica_slice(all, 1, 4, 8, 1);
  mica_value y = layer(joined(half, layer(half, 4)), 4);
  ck_assert_uint_ge(saved(&y, 1), 1);
}
END_TEST

/* Its second half would lie where the other operand does. */
START_TEST(a_slice_that_goes_on) {
  mica_value all = layer(image(1, CHANNELS, SIDE), 8), half = mica_slice(all, 1, 0, 4, 1);
  mica_value y = layer(mica_add(layer(joined(half, layer(half, 4)), 8), all), 4);
  ck_assert_uint_eq(saved(&y, 1), 0);
}
END_TEST

START_TEST(one_value_twice) {
  mica_value a = layer(image(1, CHANNELS, SIDE), 4), y = layer(joined(a, a), 4);
  ck_assert_uint_eq(saved(&y, 1), 0);
}
END_TEST

/* The values of one concatenation in another order. */
START_TEST(two_orders) {
  mica_value a = layer(image(1, CHANNELS, SIDE), 4), b = layer(a, 4);
  mica_value y = mica_add(layer(joined(a, b), 4), layer(joined(b, a), 4));
  ck_assert_uint_ge(saved(&y, 1), 1);
}
END_TEST

/* An input and an output have memory of their own. */
START_TEST(what_lies_elsewhere) {
  mica_value x = image(1, CHANNELS, SIDE), a = layer(x, 4), b = layer(a, 4);
  mica_value y[] = {layer(joined(joined(x, a), b), 4), b};
  ck_assert_uint_eq(saved(y, 2), 0);
}
END_TEST

START_TEST(two_images) {
  mica_value x = image(2, CHANNELS, SIDE), y = layer(joined(layer(x, 4), layer(x, 4)), 4);
  ck_assert_uint_eq(saved(&y, 1), 0);
}
END_TEST

START_TEST(images_one_after_another) {
  mica_value x = image(2, CHANNELS, SIDE);
  mica_value y = layer(mica_concat((mica_value[]){layer(x, 4), layer(x, 4)}, 2, 0), 4);
  ck_assert_uint_ge(saved(&y, 1), 1);
}
END_TEST

/* Planes of 36 bytes. */
START_TEST(parts_at_odd_addresses) {
  mica_value x = image(1, 3, 3), y = layer(joined(layer(x, 3), layer(x, 5)), 4);
  ck_assert_uint_eq(saved(&y, 1), 0);
}
END_TEST

/* What reads a part, or the whole, for the last time may take over no memory of it. */
START_TEST(results_in_place) {
  mica_value x = image(1, CHANNELS, SIDE), a = layer(x, 4), b = layer(x, 4), c = joined(a, b);
  mica_value y = layer(mica_add(mica_mul(c, c), mica_relu(layer(c, 8))), 4);
  mica_value z = layer(mica_neg(joined(mica_relu(a), mica_neg(a))), 4);
  mica_value outputs[] = {y, z};
  ck_assert_uint_ge(saved(outputs, 2), 1);
}
END_TEST

TESTS(DEVICE, setup, teardown, two_layers_of_one_image, a_dense_block, one_that_grows_at_its_beginning,
      a_slice_of_a_layer, a_slice_that_goes_on, one_value_twice, two_orders, what_lies_elsewhere, two_images,
      images_one_after_another, parts_at_odd_addresses, results_in_place)
