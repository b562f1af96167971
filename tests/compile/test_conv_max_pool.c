/* labels: device single
 *
 * A convolution and a max pooling that become one launch (one_launch.h). */
#define LEAST_VECTOR 32 /* AVX2 */
#include "compile/one_launch.h"

#define FILTERS 20

static mica_value image(int64_t images, int64_t channels) {
  return input = mica_input(graph, "x", MICA_F32, MICA_SHAPE(images, channels, 29, 31));
}

static mica_value conv(mica_value x, int64_t filters, int64_t side, const mica_conv_config *config) {
  const int64_t groups = config->groups ? config->groups : 1, channels = mica_value_shape(x).dim[1] / groups;
  mica_value w = numbers(MICA_SHAPE(filters, channels, side, side)), b = numbers(MICA_SHAPE(filters));
  return mica_conv(x, mica_cast(w, mica_value_dtype(x)), mica_cast(b, mica_value_dtype(x)), config);
}

static const mica_conv_config half = {.stride = {2, 2}, .pad = {1, 1}};
static const mica_pool_config three = {.size = {3, 3}, .stride = {2, 2}, .pad = {1, 1}};

static mica_value stem(mica_value x) { return mica_max_pool(mica_relu(conv(x, FILTERS, 3, &half)), &three); }

START_TEST(a_stem_is_one_launch) {
  mica_value y = stem(image(1, 3));
  expect_spared(&y, 1, 1);
}
END_TEST

START_TEST(other_windows) {
  static const mica_pool_config list[] = {{.size = {2, 2}},
                                          {.size = {3, 3}, .stride = {2, 2}, .ceil_mode = true},
                                          {.size = {3, 2}, .stride = {1, 3}, .pad = {1, 0}, .pad_more = {0, 1}},
                                          {.size = {1, 1}, .stride = {2, 2}}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    graph_anew();
    mica_value y = mica_max_pool(conv(image(1, 4), FILTERS, 3, &(mica_conv_config){.pad = {1, 0}}), &list[i]);
    expect_spared(&y, 1, 1);
  }
}
END_TEST

START_TEST(clipped_and_read_by_another_convolution) {
  mica_value e = mica_max_pool(mica_clip(conv(image(1, 3), FILTERS, 3, &half), 0, 2), &three);
  mica_value y = conv(e, 7, 1, &(mica_conv_config){0});
  expect_spared(&y, 1, 1);
}
END_TEST

/* In f16 a launch of its own rounds the largest values likewise. */
START_TEST(in_f16) {
  mica_value y = mica_cast(stem(mica_cast(image(1, 3), MICA_F16)), MICA_F32);
  expect_spared_beside(&(mica_session_config){0}, MICA__WITHOUT_REWRITE, &y, 1, 1);
}
END_TEST

START_TEST(another_reader_of_the_convolution) {
  mica_value e = mica_relu(conv(image(1, 3), FILTERS, 3, &half));
  mica_value outputs[] = {mica_max_pool(e, &three), mica_neg(e)};
  expect_spared(outputs, 2, 0);
}
END_TEST

START_TEST(positions_are_needed) {
  mica_value e = mica_relu(conv(image(1, 3), FILTERS, 3, &half));
  mica_value outputs[] = {mica_max_pool(e, &three), mica_cast(mica_max_pool_indices(e, &three), MICA_F32)};
  expect_spared(outputs, 2, 0);
}
END_TEST

START_TEST(windows_with_gaps) {
  mica_value e = mica_relu(conv(image(1, 3), FILTERS, 3, &half));
  mica_value y = mica_max_pool(e, &(mica_pool_config){.size = {2, 2}, .dilation = {2, 2}});
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(averages) {
  mica_value y = mica_average_pool(mica_relu(conv(image(1, 3), FILTERS, 3, &half)), &three);
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(other_convolutions) {
  static const struct {
    int64_t channels, filters;
    mica_conv_config config;
  } list[] = {
      {3, FILTERS, {.dilation = {2, 2}}},
      {4, FILTERS, {.groups = 2}},
      {5, FILTERS, {.stride = {2, 2}}},
      {3, 15, {.stride = {2, 2}}},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    graph_anew();
    mica_value e = conv(image(1, list[i].channels), list[i].filters, 3, &list[i].config);
    mica_value y = mica_max_pool(mica_relu(e), &three);
    expect_spared(&y, 1, 0);
  }
}
END_TEST

START_TEST(packing_is_in_quarantine) {
  mica_value y = stem(image(1, 3));
  expect_none_spared_without("conv_cpu_pack_weights.cpu", &y, 1);
}
END_TEST

START_TEST(two_images) {
  mica_value y = stem(image(2, 3));
  expect_spared(&y, 1, 0);
}
END_TEST

TESTS(DEVICE, setup, teardown, a_stem_is_one_launch, other_windows, clipped_and_read_by_another_convolution, in_f16,
      another_reader_of_the_convolution, positions_are_needed, windows_with_gaps, averages, other_convolutions,
      two_images, packing_is_in_quarantine)
