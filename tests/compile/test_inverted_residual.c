/* labels: device single
 *
 * Three convolutions that become one launch: where they do, where they do not, and what they compute. Numbers are
 * multiples of an eighth and small, so that sums are exact in any order. */
#include "compile/without.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <string.h>

#define SIDE 14
#define CHANNELS 6
#define WIDE 40
#define MOST (2 * WIDE * SIDE * SIDE)

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

static mica_value numbers(mica_shape shape) {
  static float values[WIDE * WIDE * 9];
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  ck_assert_int_le(count, (int64_t)(sizeof values / sizeof *values));
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)((int)(state >> 29) - 4) / 8;
  }
  return mica_constant(graph, MICA_F32, shape, values);
}

static mica_value image(int64_t images) {
  return input = mica_input(graph, "x", MICA_F32, MICA_SHAPE(images, CHANNELS, SIDE, SIDE));
}

static mica_value product(mica_value x, int64_t filters) {
  const int64_t channels = mica_value_shape(x).dim[1];
  return mica_conv(x, numbers(MICA_SHAPE(filters, channels, 1, 1)), numbers(MICA_SHAPE(filters)), NULL);
}

static mica_value depthwise(mica_value x, int64_t size, int64_t stride) {
  const int64_t channels = mica_value_shape(x).dim[1], pad = size / 2;
  const mica_conv_config config = {.groups = channels, .stride = {stride, stride}, .pad = {pad, pad}};
  return mica_conv(x, numbers(MICA_SHAPE(channels, 1, size, size)), numbers(MICA_SHAPE(channels)), &config);
}

static mica_value block(mica_value x, int64_t size, int64_t stride, int64_t filters) {
  mica_value e = mica_clip(product(x, WIDE), 0, 6), f = mica_clip(depthwise(e, size, stride), 0, 6);
  return product(f, filters);
}

/* Runs the outputs (graph_launches) on numbers of both signs. */
static size_t run(const mica_value *outputs, size_t count, const mica_session_config *config, float *got) {
  static float data[MOST];
  int64_t elements = 0;
  ck_ok(mica_shape_count(mica_value_shape(input), &elements));
  ck_assert_int_le(elements, MOST);
  for (int64_t i = 0; i < elements; i++) data[i] = (float)(i * 7 % 17 - 8) / 4;
  return graph_launches(outputs, count, config, mica_value_shape(input), data, got);
}

/* Checks that the outputs are those of one launch an op, and that `spared` launches are spared, where the device is one
 * that the kernel is for. */
static void expect_spared(const mica_value *outputs, size_t count, size_t spared) {
  static float want[2 * MOST], got[2 * MOST];
  const mica_device_info *device = mica_engine_device(test_engine());
  const bool meant = device->device_class == MICA_DEVICE_CLASS_CPU && device->vector_bytes >= 64;
  memset(want, 0, sizeof want);
  memset(got, 0, sizeof got);
  run(outputs, count, &(mica_session_config){.no_fusion = true}, want);
  size_t with = run(outputs, count, NULL, got);
  for (size_t i = 0; i < 2 * MOST; i++)
    ck_assert_msg(got[i] == want[i], "element %zu: %g, not %g", i, (double)got[i], (double)want[i]);
  mica__compile_without(MICA__WITHOUT_REWRITE);
  size_t without = run(outputs, count, NULL, got);
  mica__compile_without(0);
  if (meant) ck_assert_uint_eq(without - with, spared);
}

START_TEST(a_block_is_one_launch) {
  mica_value y = block(image(1), 3, 1, 7);
  expect_spared(&y, 1, 2);
}
END_TEST

START_TEST(a_block_with_a_residual) {
  mica_value x = image(1), y = mica_add(block(x, 3, 1, CHANNELS), x);
  expect_spared(&y, 1, 2);
}
END_TEST

START_TEST(blocks_one_after_another) {
  mica_value x = block(image(1), 5, 1, 9), y = mica_relu(block(mica_add(block(x, 3, 1, 9), x), 3, 2, 17));
  expect_spared(&y, 1, 4); /* the last one ends in relu, which its kernel does not know */
}
END_TEST

/* What lies within the block is wanted elsewhere. */
START_TEST(an_inner_value_that_is_an_output) {
  mica_value e = mica_clip(product(image(1), WIDE), 0, 6), f = mica_clip(depthwise(e, 3, 1), 0, 6);
  mica_value outputs[] = {product(f, 7), e};
  expect_spared(outputs, 2, 0);
}
END_TEST

START_TEST(bounds_that_differ) {
  mica_value e = mica_relu(product(image(1), WIDE)), f = mica_clip(depthwise(e, 3, 1), 0, 6), y = product(f, 7);
  expect_spared(&y, 1, 0);
}
END_TEST

/* Not depthwise: each filter reads two channels. */
START_TEST(filters_of_two_channels) {
  mica_value e = mica_relu(product(image(1), WIDE));
  const mica_conv_config config = {.groups = WIDE / 2, .pad = {1, 1}};
  mica_value f = mica_conv(e, numbers(MICA_SHAPE(WIDE, 2, 3, 3)), numbers(MICA_SHAPE(WIDE)), &config);
  mica_value y = product(mica_relu(f), 7);
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(two_images) {
  mica_value y = block(image(2), 3, 2, 7);
  expect_spared(&y, 1, 0);
}
END_TEST

TESTS(DEVICE, setup, teardown, a_block_is_one_launch, a_block_with_a_residual, blocks_one_after_another,
      an_inner_value_that_is_an_output, bounds_that_differ, filters_of_two_channels, two_images)
