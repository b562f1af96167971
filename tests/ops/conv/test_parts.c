/* labels: device single
 *
 * Convolutions whose sums a large GPU divides among groups, as it cuts them: gradients of filters by Winograd's
 * transforms, and products on tensor cores, emulated. The check
 * of the op sees one part alone, since small problems need no more. And Winograd's convolutions of GPUs in every type
 * over the whole grid of the check. */
#include "base/element.h"
#include "ops/common/tolerance.h"
#include "ops/conv/all_types.h"
#include "ops/conv/winograd/staged.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const impl_pass passes[] = {{&mica__winograd_staged, MICA__CONV_FWD},
                                   {&mica__winograd_staged, MICA__CONV_BWD_DATA},
                                   {&mica__winograd_staged_wgrad, MICA__CONV_BWD_FILTER}};

START_TEST(all_types_are_right) { expect_all_types_right(&passes[_i], last_variant(passes[_i].impl), false); }
END_TEST

static const mica_device_info large = {.device_class = MICA_DEVICE_CLASS_GPU,
                                       .compute_units = 132,
                                       .local_bytes = 48 << 10,
                                       .local_is_fast = true,
                                       .max_group = 1024,
                                       .compute_capability = 90,
                                       .vendor = MICA_VENDOR_NVIDIA};

/* Images, channels, height, width, filters, padding before, more behind; at least so many parts, and whether rows of
 * tiles end in some that are none. */
static const struct {
  int64_t n, c, h, w, k, pad, more, parts;
  bool rest;
  mica_dtype dtype;
} cases[] = {
    {6, 33, 29, 31, 20, 1, 0, 3, false, MICA_F32},
    {5, 20, 41, 18, 67, 0, 1, 2, true, MICA_F32},
    {39, 33, 14, 14, 32, 1, 0, 2, false, MICA_F16},
};

typedef struct operand {
  mica_tensor *tensor;
  double *values;
  int64_t count;
} operand;

/* Numbers from -1 to 1 that the type has. */
static operand make(mica_dtype dtype, mica_shape shape) {
  static uint32_t state = 1;
  operand o = {0};
  ck_ok(mica_shape_count(shape, &o.count));
  unsigned char *data = calloc((size_t)o.count, mica_dtype_size(dtype));
  o.values = calloc((size_t)o.count, sizeof *o.values);
  ck_assert(data && o.values);
  for (int64_t i = 0; i < o.count; i++) {
    state = state * 1664525u + 1013904223u;
    mica__element_set(dtype, data, i, (double)(state >> 8) / (1 << 23) - 1);
    o.values[i] = mica__element_get(dtype, data, i);
  }
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &o.tensor));
  free(data);
  return o;
}

static void end(operand *o) {
  mica_tensor_destroy(o->tensor);
  free(o->values);
}

static double *absolutes(const operand *o) {
  double *values = calloc((size_t)o->count, sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < o->count; i++) values[i] = fabs(o->values[i]);
  return values;
}

/* Runs a planned pass twice, whose bits are the same, and returns its largest error as a share of the bound. */
static double worst_of(const mica__impl *impl, const mica__task *task, const operand *result, const operand *a,
                       const operand *b, const double *bias, mica_dtype compute) {
  const mica__conv *conv = task->problem;
  const size_t count = (size_t)result->count, bytes = count * mica_dtype_size(conv->dtype);
  unsigned char *got = malloc(bytes), *again = malloc(bytes);
  double *want = calloc(count, sizeof *want), *bound = calloc(count, sizeof *bound), worst = 0;
  double *large_a = absolutes(a), *large_b = absolutes(b);
  ck_assert(got && again && want && bound);
  ck_ok(impl->launch(test_queue(), task));
  ck_ok(mica_tensor_download(test_queue(), result->tensor, got, bytes));
  ck_ok(impl->launch(test_queue(), task));
  ck_ok(mica_tensor_download(test_queue(), result->tensor, again, bytes));
  ck_assert_mem_eq(got, again, bytes);
  mica__conv_reference(&conv->dims, conv->pass, a->values, b->values, want);
  mica__conv_reference(&conv->dims, conv->pass, large_a, large_b, bound);
  if (impl->magnitude) impl->magnitude(conv, task->variant, a->values, b->values, NULL, result->count, bound);
  for (int64_t i = 0; i < result->count; i++) {
    const double addend = bias ? bias[i / conv->columns % conv->rows] : 0;
    if (bias) want[i] = fmax(0, want[i] + addend);
    bound[i] += fabs(addend);
    const double most = mica__tolerance_sum(compute, conv->dtype, (double)conv->depth, bound[i], want[i]);
    worst = fmax(worst, fabs(mica__element_get(conv->dtype, got, i) - want[i]) / most);
  }
  free(large_a);
  free(large_b);
  free(got);
  free(again);
  free(want);
  free(bound);
  return worst;
}

START_TEST(parts_are_added) {
  const mica_dtype dtype = cases[_i].dtype;
  const mica_conv_config config = {.pad = {cases[_i].pad, cases[_i].pad}, .pad_more = {cases[_i].more, 0}};
  const int64_t p = cases[_i].h + 2 * cases[_i].pad + cases[_i].more - 2, q = cases[_i].w + 2 * cases[_i].pad - 2;
  operand x = make(dtype, MICA_SHAPE(cases[_i].n, cases[_i].c, cases[_i].h, cases[_i].w));
  operand y = make(dtype, MICA_SHAPE(cases[_i].n, cases[_i].k, p, q));
  operand w = make(dtype, MICA_SHAPE(cases[_i].k, cases[_i].c, 3, 3)); /* what is there does not count */
  mica__conv conv;
  ck_ok(mica__conv_problem(test_queue(), MICA__CONV_BWD_FILTER, &config, x.tensor, w.tensor, y.tensor, NULL, &conv));
  const mica__impl *impl = &mica__winograd_staged_wgrad;
  ck_assert_ptr_null(impl->unable(&conv));
  mica__task task = {.problem = &conv, .device = &large};
  impl->plan(&task);
  const mica__winograd_wgrad_plan *plan = (const void *)task.plan.bytes;
  ck_assert_int_ge(plan->products.splits, cases[_i].parts);
  ck_assert_int_eq(plan->planes.pitch > plan->planes.tiles, cases[_i].rest);
  ck_assert_double_le(worst_of(impl, &task, &w, &x, &y, NULL, MICA_F32), 1);
  end(&x);
  end(&y);
  end(&w);
}
END_TEST

/* Images, channels and filters of a group, groups, height, width. */
static const struct {
  mica__conv_pass pass;
  mica_dtype dtype, compute;
  int64_t n, c, k, groups, h, w;
} products[] = {
    {MICA__CONV_FWD, MICA_BF16, MICA_F32, 2, 203, 33, 1, 7, 9},
    {MICA__CONV_BWD_DATA, MICA_F16, MICA_F32, 2, 35, 200, 1, 7, 7},
    {MICA__CONV_FWD, MICA_F32, MICA_F16, 1, 130, 20, 2, 9, 5},
};

START_TEST(depths_are_divided) {
  const mica_dtype dtype = products[_i].dtype;
  const int64_t g = products[_i].groups, h = products[_i].h, width = products[_i].w;
  const mica_conv_config config = {.pad = {1, 1}, .groups = g};
  const bool forward = products[_i].pass == MICA__CONV_FWD;
  operand x = make(dtype, MICA_SHAPE(products[_i].n, g * products[_i].c, h, width));
  operand w = make(dtype, MICA_SHAPE(g * products[_i].k, products[_i].c, 3, 3));
  operand y = make(dtype, MICA_SHAPE(products[_i].n, g * products[_i].k, h, width));
  operand bias = make(dtype, MICA_SHAPE(g * (forward ? products[_i].k : products[_i].c)));
  const mica_conv_epilogue epilogue = {.bias = bias.tensor, .activation = MICA_ACTIVATION_RELU};
  mica__conv conv;
  ck_ok(mica__conv_problem(test_queue(), products[_i].pass, &config, x.tensor, w.tensor, y.tensor, &epilogue, &conv));
  const mica__impl *impl = &mica__conv_gpu_mma;
  const mica__kernel_desc *desc = impl->kernel;
  const mica__task task = {.problem = &conv, .device = &large, .variant = &desc->variants[desc->variant_count - 1]};
  const uint64_t before = mica_engine_stats(test_engine()).launches;
  ck_assert_double_le(
      worst_of(impl, &task, forward ? &y : &x, forward ? &x : &w, forward ? &w : &y, bias.values, products[_i].compute),
      1);
  /* A copy, weights, parts and their sum, twice. */
  ck_assert_uint_eq(mica_engine_stats(test_engine()).launches - before, 8);
  end(&x);
  end(&y);
  end(&w);
  end(&bias);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(all_types_are_right, 0, sizeof passes / sizeof *passes),
      LOOP(parts_are_added, 0, sizeof cases / sizeof *cases),
      LOOP(depths_are_divided, 0, sizeof products / sizeof *products))
