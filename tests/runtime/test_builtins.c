/* labels: device
 *
 * Built-in functions in programs made of cl/, for which PoCL's own declarations are left out (cl/common/builtins.clh):
 * each has the type that OpenCL C says. Where a type were missing, a call would convert its arguments to another. */
#include "base/text.h"
#include "runtime/kernel.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <stdio.h>

static const char *const integers[] = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"};
static const char *const reals[] = {"float", "double"};
static const char *const of_one[] = {"acos",  "acosh", "asin",  "asinh", "atan", "atanh", "ceil",  "cos",
                                     "cosh",  "cospi", "erf",   "erfc",  "exp",  "exp2",  "expm1", "fabs",
                                     "floor", "log",   "log10", "log1p", "log2", "rint",  "round", "rsqrt",
                                     "sign",  "sin",   "sinh",  "sinpi", "sqrt", "tan",   "tanh",  "trunc"};
static const char *const of_two[] = {"atan2", "copysign", "fmax", "fmin", "fmod", "max", "min", "pow"};
static const char *const spaces[] = {"__global", "__local", "__private"};
static const char *const widths[] = {"", "2", "4", "8", "16"};
#define OVER(i, list) for (size_t i = 0; i < sizeof list / sizeof *list; i++)

static int lines;

/* The expression has this type: an array of -1 elements is an error. */
static void has_type(mica__text *text, const char *type, const char *width, const char *expression) {
  mica__text_addf(text, "typedef char check_%d[__builtin_types_compatible_p(__typeof__(%s), %s%s) ? 1 : -1];\n",
                  lines++, expression, type, width);
}

#define TYPE(text, type, width, ...)                                                                                   \
  do {                                                                                                                 \
    char expression_[400];                                                                                             \
    snprintf(expression_, sizeof expression_, __VA_ARGS__);                                                            \
    has_type(text, type, width, expression_);                                                                          \
  } while (0)

static void real_functions(mica__text *text, const char *t, const char *n) {
  OVER(f, of_one) TYPE(text, t, n, "%s((%s%s)0)", of_one[f], t, n);
  OVER(f, of_two) TYPE(text, t, n, "%s((%s%s)0, (%s%s)0)", of_two[f], t, n, t, n);
  TYPE(text, t, n, "clamp((%s%s)0, (%s%s)0, (%s%s)0)", t, n, t, n, t, n);
  TYPE(text, t, n, "fma((%s%s)0, (%s%s)0, (%s%s)0)", t, n, t, n, t, n);
  TYPE(text, *n && *t == 'd' ? "long" : "int", n, "isnan((%s%s)0)", t, n);
  TYPE(text, t, n, "select((%s%s)0, (%s%s)0, (%s%s)0)", t, n, t, n, *t == 'd' ? "long" : "int", n);
}

static void integer_functions(mica__text *text, size_t i, const char *n) {
  static const char *const names[] = {"max", "min", "mul_hi"};
  const char *t = integers[i], *of_sign = integers[i & ~(size_t)1], *of_none = integers[i | 1];
  OVER(f, names) TYPE(text, t, n, "%s((%s%s)1, (%s%s)1)", names[f], t, n, t, n);
  TYPE(text, t, n, "clamp((%s%s)1, (%s%s)1, (%s%s)1)", t, n, t, n, t, n);
  TYPE(text, of_none, n, "abs((%s%s)1)", t, n);
  TYPE(text, t, n, "select((%s%s)1, (%s%s)1, (%s%s)1)", t, n, t, n, of_sign, n);
  TYPE(text, t, n, "select((%s%s)1, (%s%s)1, (%s%s)1)", t, n, t, n, of_none, n);
  if (t == of_sign) TYPE(text, "int", "", "any((%s%s)1)", t, n);
}

static void in_memory(mica__text *text, const char *t, const char *n) {
  if (!*n) return;
  OVER(s, spaces) TYPE(text, t, n, "vload%s(0, (const %s %s *)0)", n, spaces[s], t);
  TYPE(text, t, n, "vload%s(0, (__constant %s *)0)", n, t);
  OVER(s, spaces) TYPE(text, "void", "", "vstore%s((%s%s)0, 0, (%s %s *)0)", n, t, n, spaces[s], t);
}

static void conversions(mica__text *text, const char *from, const char *n, bool doubles) {
  static const char *const saturated[] = {"int", "uint", "long", "ulong"};
  OVER(i, integers) TYPE(text, integers[i], n, "convert_%s%s((%s%s)1)", integers[i], n, from, n);
  OVER(i, saturated) TYPE(text, saturated[i], n, "convert_%s%s_sat((%s%s)1)", saturated[i], n, from, n);
  TYPE(text, "int", n, "convert_int%s_rte((%s%s)1)", n, from, n);
  TYPE(text, "float", n, "convert_float%s((%s%s)1)", n, from, n);
  if (doubles) TYPE(text, "double", n, "convert_double%s((%s%s)1)", n, from, n);
}

static void halves(mica__text *text, const char *n) {
  OVER(s, spaces) {
    TYPE(text, "float", n, "vload_half%s(0, (const %s half *)0)", n, spaces[s]);
    if (*n) TYPE(text, "float", n, "vloada_half%s(0, (const %s half *)0)", n, spaces[s]);
    TYPE(text, "void", "", "vstore_half%s((float%s)0, 0, (%s half *)0)", n, n, spaces[s]);
    TYPE(text, "void", "", "vstore_half%s_rte((float%s)0, 0, (%s half *)0)", n, n, spaces[s]);
  }
}

static void all_functions(mica__text *text, bool doubles) {
  OVER(w, widths) {
    OVER(i, integers) {
      integer_functions(text, i, widths[w]);
      in_memory(text, integers[i], widths[w]);
      conversions(text, integers[i], widths[w], doubles);
    }
    for (int r = 0; r < 1 + doubles; r++) {
      real_functions(text, reals[r], widths[w]);
      in_memory(text, reals[r], widths[w]);
      conversions(text, reals[r], widths[w], doubles);
    }
    TYPE(text, "float", widths[w], "native_exp2((float%s)0)", widths[w]);
    halves(text, widths[w]);
  }
}

START_TEST(built_in_functions_keep_their_types) {
  static const mica__kernel_desc desc = {.name = "checked", .file = "common/dtype.clh"};
  const bool doubles = mica_engine_device(test_engine())->features & MICA_FEATURE_FP64;
  mica__kernel *kernel;
  mica__text text = {0};
  lines = 0;
  all_functions(&text, doubles);
  mica__text_add(&text, "__kernel void checked(__global int *x) { x[0] = 1; }\n");
  ck_ok(mica__text_status(&text));
  ck_assert_int_ge(lines, 1000);
  ck_ok(mica__kernel_get(test_engine(), &desc, NULL, text.data, &kernel));
  mica__text_free(&text);
}
END_TEST

/* A program of a user's calls what kernels of cl/ do not. */
START_TEST(a_users_program_has_all_functions) {
  mica__kernel *kernel;
  ck_ok(mica__kernel_get_source(test_engine(), "users",
                                "__kernel void users(__global float *x) { x[0] = hypot(x[1], tgamma(x[2])); }", NULL,
                                &kernel));
}
END_TEST

TESTS(DEVICE, NULL, NULL, built_in_functions_keep_their_types, a_users_program_has_all_functions)
