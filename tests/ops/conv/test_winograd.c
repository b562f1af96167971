/* labels: device
 *
 * Winograd's convolutions of GPUs in every type over the whole grid of the check; and the gradient of filters as a
 * large GPU divides its sums: into parts, of which the last one has more room than tiles. The check of the op sees one
 * part alone, since small problems need no more. */
#include "base/element.h"
#include "ops/common/tolerance.h"
#include "ops/conv/winograd/staged.h"
#include "ops/select/check.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(void *user, const mica_doctor_line *line) {
  (void)user;
  if (line->status == MICA_OK) return;
  printf("%s %s (%s): %s %s\n", line->kernel, line->variant, line->cases, mica_status_name(line->status),
         line->message);
}

static const struct {
  const mica__impl *impl;
  mica__conv_pass pass;
} passes[] = {{&mica__winograd_staged, MICA__CONV_FWD},
              {&mica__winograd_staged, MICA__CONV_BWD_DATA},
              {&mica__winograd_staged_wgrad, MICA__CONV_BWD_FILTER}};

START_TEST(all_types_are_right) {
  mica__check check = {.engine = test_engine(),
                       .queue = test_queue(),
                       .level = MICA__CHECK_FULL,
                       .op = "conv",
                       .fn = report,
                       .random = 1};
  ck_ok(mica__conv_check_last(&check, passes[_i].impl, passes[_i].pass));
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_gt(check.summary.passed, 0);
  mica__text_free(&check.run);
}
END_TEST

static const mica_device_info large = {.device_class = MICA_DEVICE_CLASS_GPU,
                                       .compute_units = 132,
                                       .local_bytes = 48 << 10,
                                       .local_is_fast = true,
                                       .max_group = 1024,
                                       .compute_capability = 90,
                                       .vendor = MICA_VENDOR_NVIDIA};

/* Images, channels, height, width, filters, padding before, more behind; and at least so many parts. */
static const struct {
  int64_t n, c, h, w, k, pad, more, parts;
  mica_dtype dtype;
} cases[] = {
    {6, 33, 29, 31, 20, 1, 0, 3, MICA_F32},
    {5, 20, 45, 18, 67, 0, 1, 2, MICA_F32},
    {39, 33, 14, 14, 32, 1, 0, 2, MICA_F16},
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
  const mica__winograd_planes *planes = (const void *)task.plan.bytes;
  ck_assert_int_ge(planes->parts, cases[_i].parts);
  ck_assert_int_gt(planes->parts * planes->share, planes->tiles);

  const size_t bytes = (size_t)w.count * mica_dtype_size(dtype);
  unsigned char *got = malloc(bytes), *again = malloc(bytes);
  double *want = calloc((size_t)w.count, sizeof *want), *bound = calloc((size_t)w.count, sizeof *bound);
  ck_assert(got && again && want && bound);
  ck_ok(impl->launch(test_queue(), &task));
  ck_ok(mica_tensor_download(test_queue(), w.tensor, got, bytes));
  ck_ok(impl->launch(test_queue(), &task));
  ck_ok(mica_tensor_download(test_queue(), w.tensor, again, bytes));
  ck_assert_mem_eq(got, again, bytes);

  mica__conv_reference(&conv.dims, MICA__CONV_BWD_FILTER, x.values, y.values, want);
  impl->magnitude(&conv, NULL, x.values, y.values, NULL, w.count, bound);
  double worst = 0;
  for (int64_t i = 0; i < w.count; i++) {
    const double most = mica__tolerance_sum(MICA_F32, dtype, (double)conv.depth, bound[i], want[i]);
    worst = fmax(worst, fabs(mica__element_get(dtype, got, i) - want[i]) / most);
  }
  ck_assert_double_le(worst, 1);
  free(got);
  free(again);
  free(want);
  free(bound);
  end(&x);
  end(&y);
  end(&w);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("winograd");
  TCase *types = tcase_create("types");
  tcase_add_loop_test(types, all_types_are_right, 0, sizeof passes / sizeof *passes);
  suite_add_tcase(suite, types);
  TCase *parts = tcase_create("parts");
  tcase_add_loop_test(parts, parts_are_added, 0, sizeof cases / sizeof *cases);
  suite_add_tcase(suite, parts);
  return suite;
}
