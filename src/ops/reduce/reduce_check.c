/* Checks the reduction against its reference. */
#include "base/element.h"
#include "base/error.h"
#include "ir/op.h"
#include "ops/common/tolerance.h"
#include "ops/reduce/reduce.h"
#include "ops/select/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* True if a is larger than b; a NaN is the largest. */
static bool above(double a, double b) { return a > b || (isnan(a) && !isnan(b)); }

/* Reduces n elements of x, `step` apart, and sets *magnitude to the sum of their absolute values. */
static double reference(mica_reduction reduction, const double *x, int64_t n, int64_t step, double *magnitude) {
  double sum = 0, best = x[0];
  int64_t at = 0;
  *magnitude = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += x[i * step];
    *magnitude += fabs(x[i * step]);
    if (above(x[i * step], best)) best = x[i * step], at = i;
  }
  return reduction == MICA_REDUCTION_SUM ? sum : reduction == MICA_REDUCTION_MAX ? best : (double)at;
}

static void references(mica_reduction reduction, const mica__reduce_view *v, const double *x, mica_dtype x_type,
                       mica_dtype y_type, double *want, double *bound) {
  mica_dtype compute = x_type == MICA_F16 || x_type == MICA_BF16 ? MICA_F32 : x_type;
  for (int64_t o = 0; o < v->outer; o++)
    for (int64_t i = 0; i < v->inner; i++) {
      double magnitude = 0;
      double exact = reference(reduction, x + o * v->n * v->inner + i, v->n, v->inner, &magnitude);
      want[o * v->inner + i] = exact;
      bound[o * v->inner + i] =
          reduction == MICA_REDUCTION_SUM ? mica__tolerance_sum(compute, y_type, (double)v->n, magnitude, exact) : 0;
    }
}

/* Makes random values. For argmax they are whole numbers, so that several maxima are equal. For the maximum and argmax
 * of floats, one value is NaN if n > 3. */
static mica_status make_input(mica__check *check, mica_reduction reduction, mica_dtype type, const mica__reduce_view *v,
                              mica__check_tensor *x) {
  int64_t count = v->outer * v->n * v->inner;
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  if (!values) return mica__fail_nomem("values to check with");
  for (int64_t i = 0; i < count; i++)
    values[i] =
        reduction == MICA_REDUCTION_ARGMAX ? round(8 * mica__check_random(check)) : 8 * mica__check_random(check);
  if (reduction != MICA_REDUCTION_SUM && mica_dtype_kind_of(type) == MICA_DTYPE_KIND_FLOAT && v->n > 3)
    values[(v->n / 2) * v->inner] = NAN;
  mica_status status = mica__check_input_values(check, type, MICA_SHAPE(v->outer, v->n, v->inner), values, x);
  free(values);
  return status;
}

static mica_status run_case(mica__check_group *group, const mica__variant *variant, mica_reduction reduction,
                            mica_dtype type, const mica__reduce_view *v) {
  mica__check *check = group->check;
  mica__check_tensor x = {0}, y = {0};
  mica_dtype y_type = reduction == MICA_REDUCTION_ARGMAX ? MICA_I64 : type;
  size_t results = (size_t)(v->outer * v->inner);
  double *want = calloc(results + 1, 2 * sizeof *want), *bound = want ? want + results : NULL;
  if (!want) return mica__fail_nomem("a reference");
  mica_status status = make_input(check, reduction, type, v, &x);
  if (status == MICA_OK) status = mica__check_output(check, y_type, MICA_SHAPE(v->outer, v->inner), &y);
  if (status == MICA_OK) status = mica__reduce_launch(check->queue, variant, reduction, v, x.tensor, y.tensor);
  if (status == MICA_OK) references(reduction, v, x.values, type, y_type, want, bound);
  if (status == MICA_OK) status = mica__check_compare(group, &y, want, bound);
  mica__check_free(&x);
  mica__check_free(&y);
  free(want);
  return status;
}

static const mica__reduce_view quick[] = {{3, 100, 1}, {1, 5000, 1}, {2, 33, 17}};
static const mica__reduce_view full[] = {
    {1, 1, 1},  {5, 1, 1},    {3, 2, 1},    {4, 15, 1},     {2, 16, 1},     {3, 63, 1},     {2, 64, 1},
    {2, 65, 1}, {7, 127, 1},  {1, 4096, 1}, {2, 100003, 1}, {1, 300000, 1}, {1, 1, 2},      {2, 3, 15},
    {1, 7, 16}, {3, 129, 17}, {2, 65, 33},  {1, 5001, 10},  {2, 9001, 3},   {1, 257, 1025}, {70, 40, 1},
};

/* Checks a variant of desc on its views: those with inner == 1 for reduce_rows, the others for reduce_columns. */
static mica_status check_group(mica__check *check, const mica__kernel_desc *desc, const mica__variant *variant,
                               mica_reduction reduction, mica_dtype type) {
#define REDUCTION_TEXT(name, text) text,
  static const char *const names[] = {MICA_REDUCTION_LIST(REDUCTION_TEXT)};
#undef REDUCTION_TEXT
  const mica__reduce_view *views = check->level != MICA__CHECK_FULL ? quick : full;
  size_t count = check->level != MICA__CHECK_FULL ? sizeof quick / sizeof *quick : sizeof full / sizeof *full;
  char cases[64];
  snprintf(cases, sizeof cases, "%s %s", names[reduction], mica_dtype_name(type));
  mica__check_group group = mica__check_begin(check, desc->name, variant->name, cases);
  for (size_t i = 0; i < count; i++) {
    if ((views[i].inner == 1) != (desc == &mica__reduce_rows)) continue;
    if (!mica__check_note(&group, run_case(&group, variant, reduction, type, &views[i]), "%s (%lld, %lld, %lld)", cases,
                          (long long)views[i].outer, (long long)views[i].n, (long long)views[i].inner))
      break;
  }
  return mica__check_end(&group);
}

/* True for the types with which every variant is checked. With other types only the first variant is checked, because
 * loads and stores of a type do not depend on the variant. */
static bool is_plain(mica_dtype type) { return type == MICA_F32 || type == MICA_F16 || type == MICA_I64; }

static mica_status check_reduce(mica__check *check) {
  static const mica__kernel_desc *const descs[] = {&mica__reduce_rows, &mica__reduce_columns};
  for (int d = 0; d < 2; d++) {
    const mica__kernel_param *types = &descs[d]->params[mica__kernel_param_index(descs[d], "X_T")];
    for (int v = 0; v < descs[d]->variant_count; v++)
      for (int r = MICA_REDUCTION_SUM; r <= MICA_REDUCTION_ARGMAX; r++)
        for (int t = 0; t < types->choice_count; t++)
          if (mica__check_has_dtype(check, (mica_dtype)types->choices[t]) &&
              (v == 0 || is_plain((mica_dtype)types->choices[t])))
            MICA_TRY(
                check_group(check, descs[d], &descs[d]->variants[v], (mica_reduction)r, (mica_dtype)types->choices[t]));
  }
  return MICA_OK;
}

static const mica__kernel_desc *const kernels[] = {&mica__reduce_rows, &mica__reduce_columns, NULL};
const mica__op mica__op_reduce = {.name = "reduce", .kernels = kernels, .check = check_reduce};
