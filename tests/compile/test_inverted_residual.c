/* labels: device single
 *
 * Three convolutions that become one launch (one_launch.h). */
#define LEAST_VECTOR 32 /* AVX2 */
#include "compile/one_launch.h"

#define SIDE 14
#define CHANNELS 6
#define WIDE 40

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
