/* labels: device slow
 *
 * common/math.clh: its functions of floats at every width, against the C library in double, over a grid of all floats;
 * what they do at the ends; truth, pick, max and min of all types. */
#include "base/text.h"
#include "ops/common/tolerance.h"
#include "runtime/kernel_source.h"
#include "runtime/launch.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
static double normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/* The bounds are those of the header. */
static const struct {
  const char *name;
  double (*reference)(double x);
  double ulps;
} functions[] = {
    {"mica_exp", exp, 1},         {"mica_expm1", expm1, 2},       {"mica_log", log, 1},
    {"mica_log1p", log1p, 2},     {"mica_tanh", tanh, 3},         {"mica_erf", erf, 2},
    {"mica_sigmoid", sigmoid, 3}, {"mica_softplus", softplus, 3}, {"mica_normal_cdf", normal_cdf, 6},
    {"mica_rint", nearbyint, 0},  {"mica_sin", sin, 3},           {"mica_cos", cos, 3},
    {"mica_tan", tan, 5},
};
#define FUNCTIONS ((int)(sizeof functions / sizeof *functions))

static mica__kernel *build(const char *name, const char *text) {
  mica__text source = {0};
  mica__kernel *kernel = NULL;
  ck_ok(mica__kernel_source_expand_text(name, text, strlen(text), &source));
  ck_ok(mica__kernel_get_source(test_engine(), name, source.data, NULL, &kernel));
  mica__text_free(&source);
  return kernel;
}

/* y[i] = function(x[i]) for n floats, taken `width` at a time; n is a multiple of 16. */
static void run(const char *function, int width, const float *x, float *y, int64_t n) {
  char text[512];
  snprintf(text, sizeof text,
           "#define MICA_WIDTH %d\n"
           "#include \"common/math.clh\"\n"
           "__kernel void apply(__global const float *x, const long x_at, __global float *y, const long y_at) {\n"
           "  const long i = (long)get_global_id(0) * %d;\n"
           "  MICA_VSTORE(%d, %s(MICA_VLOAD(%d, x + x_at, i)), y + y_at, i);\n"
           "}\n",
           width, width, width, function, width);
  mica_tensor *tx = NULL, *ty = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(n), x, &tx));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(n), &ty));
  mica__launch launch = mica__launch_of(build("apply", text));
  mica__launch_tensor(&launch, tx);
  mica__launch_tensor(&launch, ty);
  mica__launch_range1(&launch, n / width, 1);
  ck_ok(mica__queue_submit(test_queue(), &launch));
  ck_ok(mica_tensor_download(test_queue(), ty, y, (size_t)n * sizeof *y));
  mica_tensor_destroy(tx);
  mica_tensor_destroy(ty);
}

/* The error in units of the last place of the exact result; 0 for results that are equal, both NaN, or as small as
 * subnormals both. */
static double ulps(float got, double want) {
  if ((isnan(got) && isnan(want)) || got == (float)want) return 0;
  if (!isfinite(got) || isnan(want)) return INFINITY;
  if (fabs((double)got - want) <= 0x1p-126 && fabs(want) < 0x1p-124) return 0;
  int exponent = 0;
  frexp(want, &exponent);
  return fabs((double)got - want) / ldexp(1, exponent - 24);
}

#define GRID (1 << 20)

START_TEST(functions_are_exact_enough) {
  static const int widths[] = {16, 8, 4, 2, 1};
  float *x = malloc(GRID * sizeof *x), *y = malloc(GRID * sizeof *y);
  for (int w = 0; w < 5; w++) {
    double worst = 0, at = 0;
    for (uint32_t i = 0; i < GRID; i++) {
      /* All signs and exponents, and digits that differ from one exponent to the next; half of them where functions
       * bend. */
      uint32_t bits = i * 4099u * 1021u + i;
      memcpy(&x[i], &bits, sizeof bits);
      if (i % 2) x[i] = (float)((double)i / GRID * 220 - 110) + (float)i * 1e-7f;
      if (i % 8 == 0) x[i] = (float)((double)i / GRID * 4 - 2);
    }
    const float ends[] = {0,  -0.0f,  INFINITY, -INFINITY, NAN,    1,       -1, 88.7f,
                          89, -87.5f, -103,     -104,      1e-40f, 3.4e38f, 4,  -4};
    memcpy(x, ends, sizeof ends);
    run(functions[_i].name, widths[w], x, y, GRID);
    for (int i = 0; i < GRID; i++) {
      double error = ulps(y[i], functions[_i].reference((double)x[i]));
      ck_assert_msg(error <= functions[_i].ulps, "%s(%.9g) at width %d is %.9g, not %.9g: %.2f units",
                    functions[_i].name, (double)x[i], widths[w], (double)y[i], functions[_i].reference((double)x[i]),
                    error);
      if (error > worst) {
        worst = error;
        at = (double)x[i];
      }
    }
    printf("%s width %d: %.2f units at %.9g\n", functions[_i].name, widths[w], worst, at);
  }
  free(x);
  free(y);
}
END_TEST

/* What truth, pick, max and min make of scalars and vectors of every type, as one number that must be 0. */
START_TEST(logic_is_the_same_at_every_width) {
  static const char *const types[] = {"float", "int", "long", "double"};
  bool doubles = mica_engine_device(test_engine())->features & MICA_FEATURE_FP64;
  for (int t = 0; t < (doubles ? 4 : 3); t++)
    for (int width = 1; width <= 16; width *= 2) {
      char text[2048], suffix[8] = "";
      if (width > 1) snprintf(suffix, sizeof suffix, "%d", width);
      snprintf(
          text, sizeof text,
          "#include \"common/math.clh\"\n"
          "#define V %s%s\n"
          "#define LANE(i, v) ((%s *)&(v))[i]\n"
          "__kernel void logic(__global int *y, const long y_at) {\n"
          "  V a, b;\n"
          "  int wrong = 0;\n"
          "  for (int i = 0; i < %d; i++) { LANE(i, a) = i %% 5; LANE(i, b) = 3 - i %% 4; }\n"
          "  const V larger = mica_max(a, b), smaller = mica_min(a, b), picked = mica_pick(a < b, a, b);\n"
          "  const int%s truth = mica_truth(a < b), both = mica_truth((a < b) && (b > (V)(2)));\n"
          "  const V again = mica_pick(truth, a, b), other = mica_pick(!truth, a, b);\n"
          "  for (int i = 0; i < %d; i++) {\n"
          "    const int x = i %% 5, z = 3 - i %% 4;\n"
          "    wrong += LANE(i, larger) != max(x, z) || LANE(i, smaller) != min(x, z);\n"
          "    wrong += LANE(i, picked) != min(x, z) || LANE(i, again) != min(x, z) || LANE(i, other) != max(x, z);\n"
          "    wrong += ((int *)&truth)[i] != (x < z) || ((int *)&both)[i] != (x < z && z > 2);\n"
          "  }\n"
          "  y[y_at] = wrong;\n"
          "}\n",
          types[t], suffix, types[t], width, suffix, width);
      mica_tensor *y = NULL;
      int32_t wrong = -1;
      ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(1), &y));
      mica__launch launch = mica__launch_of(build("logic", text));
      mica__launch_tensor(&launch, y);
      mica__launch_range1(&launch, 1, 1);
      ck_ok(mica__queue_submit(test_queue(), &launch));
      ck_ok(mica_tensor_download(test_queue(), y, &wrong, sizeof wrong));
      ck_assert_msg(wrong == 0, "%s at width %d: %d wrong", types[t], width, (int)wrong);
      mica_tensor_destroy(y);
    }
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(functions_are_exact_enough, 0, FUNCTIONS), logic_is_the_same_at_every_width)
