/* labels: device single
 *
 * A concatenation and three convolutions that become one launch (one_launch.h). */
#define LEAST_VECTOR 64 /* AVX-512 */
#include "compile/one_launch.h"

#define SIDE 14
#define CHANNELS 6
#define SQUEEZED 16
/* Filters of a concatenation's first operand, behind which the second is aligned: no launch copies it, unless the
 * result is an output of the graph. */
#define FIRST 32

static mica_value image(int64_t images) {
  return input = mica_input(graph, "x", MICA_F32, MICA_SHAPE(images, CHANNELS, SIDE, SIDE));
}

/* A convolution with a bias; config NULL: of stride 1 whose results have the pixels of x. */
static mica_value conv(mica_value x, int64_t filters, int64_t side, const mica_conv_config *config) {
  const mica_conv_config same = {.pad = {side / 2, side / 2}};
  const int64_t groups = config && config->groups ? config->groups : 1;
  const int64_t channels = mica_value_shape(x).dim[1] / groups;
  mica_value w = numbers(MICA_SHAPE(filters, channels, side, side)), b = numbers(MICA_SHAPE(filters));
  return mica_conv(x, mica_cast(w, mica_value_dtype(x)), mica_cast(b, mica_value_dtype(x)), config ? config : &same);
}

static mica_value squeeze(mica_value x) { return mica_relu(conv(x, SQUEEZED, 1, NULL)); }

static mica_value expand(mica_value e, int64_t filters, int64_t side, const mica_conv_config *config) {
  return mica_relu(conv(e, filters, side, config));
}

static mica_value joined(mica_value a, mica_value b) { return mica_concat((const mica_value[]){a, b}, 2, 1); }

static mica_value module(mica_value x, int64_t first, int64_t second) {
  mica_value e = squeeze(x);
  return joined(expand(e, FIRST, first, NULL), expand(e, 33, second, NULL));
}

START_TEST(a_module_is_one_launch) {
  mica_value y = module(image(1), 1, 3);
  expect_spared(&y, 1, 3);
}
END_TEST

START_TEST(the_large_filters_come_first) {
  mica_value y = module(image(1), 3, 1);
  expect_spared(&y, 1, 3);
}
END_TEST

START_TEST(without_activations) {
  mica_value e = conv(image(1), SQUEEZED, 1, NULL);
  mica_value y = joined(conv(e, FIRST, 1, NULL), conv(e, 40, 5, NULL));
  expect_spared(&y, 1, 3);
}
END_TEST

/* Clamped between the modules, so that the sums stay exact. */
START_TEST(modules_one_after_another) {
  mica_value x = mica_max_pool(module(image(1), 1, 3), &(mica_pool_config){.size = {2, 2}, .stride = {2, 2}});
  mica_value y = mica_clip(x, 0, 2);
  y = module(y, 1, 3);
  expect_spared(&y, 1, 6);
}
END_TEST

/* In f16 a launch of its own rounds the squeezed channels to 11 bits, which hold these. */
START_TEST(in_f16) {
  mica_value y = mica_cast(module(mica_cast(image(1), MICA_F16), 1, 3), MICA_F32);
  expect_spared_beside(&(mica_session_config){0}, MICA__WITHOUT_REWRITE, &y, 1, 2);
}
END_TEST

static const mica_pool_config three = {.size = {3, 3}, .stride = {2, 2}, .ceil_mode = true};

START_TEST(a_module_and_its_pooling) {
  static const mica_pool_config list[] = {{.size = {3, 3}, .stride = {2, 2}, .pad = {1, 1}},
                                          {.size = {2, 3}, .stride = {3, 1}, .pad_more = {1, 2}}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    graph_anew();
    mica_value y = mica_max_pool(module(image(1), 1, 3), &list[i]);
    expect_spared(&y, 1, 3);
  }
}
END_TEST

/* The module is one launch, and the pooling another. */
START_TEST(a_pooling_whose_positions_are_needed) {
  mica_value e = module(image(1), 1, 3);
  mica_value outputs[] = {mica_max_pool(e, &three), mica_cast(mica_max_pool_indices(e, &three), MICA_F32)};
  expect_spared(outputs, 2, 2);
}
END_TEST

START_TEST(another_reader_of_what_is_pooled) {
  mica_value e = module(image(1), 1, 3);
  mica_value outputs[] = {mica_max_pool(e, &three), mica_max_pool(e, &(mica_pool_config){.size = {2, 2}})};
  expect_spared(outputs, 2, 2);
}
END_TEST

START_TEST(windows_with_gaps) {
  mica_value e = module(image(1), 1, 3);
  mica_value y = mica_max_pool(e, &(mica_pool_config){.size = {2, 2}, .dilation = {2, 2}});
  expect_spared(&y, 1, 2);
}
END_TEST

START_TEST(an_inner_value_that_is_an_output) {
  mica_value e = squeeze(image(1));
  mica_value outputs[] = {joined(expand(e, FIRST, 1, NULL), expand(e, 33, 3, NULL)), e};
  expect_spared(outputs, 2, 0);
}
END_TEST

START_TEST(another_reader_of_the_squeezed_channels) {
  mica_value e = squeeze(image(1)), y = joined(expand(e, FIRST, 1, NULL), expand(e, 33, 3, NULL));
  mica_value outputs[] = {y, expand(e, 7, 1, NULL)};
  expect_spared(outputs, 2, 0);
}
END_TEST

START_TEST(another_reader_of_an_expansion) {
  mica_value e = squeeze(image(1)), first = expand(e, FIRST, 1, NULL);
  mica_value outputs[] = {joined(first, expand(e, 33, 3, NULL)), mica_neg(first)};
  expect_spared(outputs, 2, 0);
}
END_TEST

START_TEST(expansions_of_different_values) {
  mica_value x = image(1), y = joined(expand(squeeze(x), FIRST, 1, NULL), expand(squeeze(x), 33, 3, NULL));
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(bounds_that_differ) {
  mica_value e = squeeze(image(1)), y = joined(conv(e, FIRST, 1, NULL), expand(e, 33, 3, NULL));
  expect_spared(&y, 1, 0);
}
END_TEST

/* Expansions that are not of stride 1, of one group, without dilation and padded alike on all sides. */
START_TEST(other_expansions) {
  static const struct {
    mica_conv_config first, second;
  } list[] = {
      {{.stride = {2, 2}}, {.stride = {2, 2}, .pad = {1, 1}}},   {{.stride = {1, 1}}, {.pad_more = {2, 2}}},
      {{.stride = {1, 1}}, {.pad = {2, 2}, .dilation = {2, 2}}}, {{.groups = 2}, {.pad = {1, 1}}},
      {{.stride = {1, 1}}, {.pad = {1, 1}, .groups = 4}},        {{.pad = {1, 1}}, {.pad = {2, 2}}},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    graph_anew();
    mica_value e = squeeze(image(1));
    mica_value y = joined(expand(e, FIRST, 1, &list[i].first), expand(e, 32, 3, &list[i].second));
    expect_spared(&y, 1, 0);
  }
}
END_TEST

START_TEST(a_squeeze_of_stride_2) {
  mica_value e = mica_relu(conv(image(1), SQUEEZED, 1, &(mica_conv_config){.stride = {2, 2}}));
  mica_value y = joined(expand(e, FIRST, 1, NULL), expand(e, 33, 3, NULL));
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(too_many_squeezed_channels) {
  mica_value e = mica_relu(conv(image(1), 65, 1, NULL)), y = joined(expand(e, 4, 1, NULL), expand(e, 5, 3, NULL));
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(three_operands) {
  mica_value e = squeeze(image(1));
  mica_value y =
      mica_concat((const mica_value[]){expand(e, FIRST, 1, NULL), expand(e, 33, 3, NULL), expand(e, 4, 1, NULL)}, 3, 1);
  expect_spared(&y, 1, 0);
}
END_TEST

START_TEST(packing_is_in_quarantine) {
  mica_value y = module(image(1), 1, 3);
  expect_none_spared_without("conv_cpu_pack_weights.cpu", &y, 1);
}
END_TEST

START_TEST(two_images) {
  mica_value y = module(image(2), 1, 3);
  expect_spared(&y, 1, 0);
}
END_TEST

TESTS(DEVICE, setup, teardown, a_module_is_one_launch, the_large_filters_come_first, without_activations,
      modules_one_after_another, in_f16, a_module_and_its_pooling, a_pooling_whose_positions_are_needed,
      another_reader_of_what_is_pooled, windows_with_gaps, an_inner_value_that_is_an_output,
      another_reader_of_the_squeezed_channels, another_reader_of_an_expansion, expansions_of_different_values,
      bounds_that_differ, other_expansions, a_squeeze_of_stride_2, too_many_squeezed_channels, three_operands,
      two_images, packing_is_in_quarantine)
