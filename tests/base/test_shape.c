/* labels: null single
 *
 * Element types and shapes: names, sizes, counting, printing, broadcasting. */
#include "support/check_main.h"

#include <mica/dtype.h>
#include <mica/shape.h>
#include <string.h>

START_TEST(dtypes_describe_themselves) {
  static const struct {
    mica_dtype dtype;
    const char *name;
    size_t bytes;
    mica_dtype_kind kind;
  } expected[] = {
      {MICA_F32, "f32", 4, MICA_DTYPE_KIND_FLOAT},    {MICA_F16, "f16", 2, MICA_DTYPE_KIND_FLOAT},
      {MICA_BF16, "bf16", 2, MICA_DTYPE_KIND_FLOAT},  {MICA_F64, "f64", 8, MICA_DTYPE_KIND_FLOAT},
      {MICA_I8, "i8", 1, MICA_DTYPE_KIND_SIGNED},     {MICA_U8, "u8", 1, MICA_DTYPE_KIND_UNSIGNED},
      {MICA_I16, "i16", 2, MICA_DTYPE_KIND_SIGNED},   {MICA_I32, "i32", 4, MICA_DTYPE_KIND_SIGNED},
      {MICA_I64, "i64", 8, MICA_DTYPE_KIND_SIGNED},   {MICA_BOOL, "b8", 1, MICA_DTYPE_KIND_BOOL},
      {MICA_U16, "u16", 2, MICA_DTYPE_KIND_UNSIGNED}, {MICA_U32, "u32", 4, MICA_DTYPE_KIND_UNSIGNED},
      {MICA_U64, "u64", 8, MICA_DTYPE_KIND_UNSIGNED},
  };
  ck_assert_uint_eq(sizeof expected / sizeof *expected, MICA_DTYPE_COUNT);
  for (size_t i = 0; i < MICA_DTYPE_COUNT; i++) {
    ck_assert(mica_dtype_is_valid(expected[i].dtype));
    ck_assert_str_eq(mica_dtype_name(expected[i].dtype), expected[i].name);
    ck_assert_uint_eq(mica_dtype_size(expected[i].dtype), expected[i].bytes);
    ck_assert_int_eq(mica_dtype_kind_of(expected[i].dtype), expected[i].kind);
  }
}
END_TEST

START_TEST(what_is_no_dtype_is_harmless) {
  static const int values[] = {-1, MICA_DTYPE_COUNT, 1 << 30, -(1 << 30)};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    mica_dtype dtype = (mica_dtype)values[i];
    ck_assert(!mica_dtype_is_valid(dtype));
    ck_assert_str_eq(mica_dtype_name(dtype), "?");
    ck_assert_uint_eq(mica_dtype_size(dtype), 0);
    (void)mica_dtype_kind_of(dtype);
  }
}
END_TEST

START_TEST(literals) {
  mica_shape shape = MICA_SHAPE(64, 3, 32, 31);
  ck_assert_int_eq(shape.rank, 4);
  ck_assert_int_eq(shape.dim[3], 31);
  for (int i = 4; i < MICA_MAX_RANK; i++) ck_assert_int_eq(shape.dim[i], 0);
  ck_assert_int_eq(MICA_SHAPE(7).rank, 1);
  ck_assert_int_eq(MICA_SHAPE(1, 2, 3, 4, 5, 6, 7, 8).rank, 8);
  ck_assert_int_eq(MICA_SCALAR.rank, 0);
}
END_TEST

START_TEST(counting) {
  ck_assert_int_eq(mica_shape_count(MICA_SHAPE(2), NULL), MICA_E_INVALID);
  static const struct {
    mica_shape shape;
    mica_status status;
    int64_t count;
  } cases[] = {
      {{.rank = 0}, MICA_OK, 1},
      {{.rank = 1, .dim = {0}}, MICA_OK, 0},
      {{.rank = 3, .dim = {2, 3, 4}}, MICA_OK, 24},
      {{.rank = 8, .dim = {1, 1, 1, 1, 1, 1, 1, 9}}, MICA_OK, 9},
      {{.rank = 1, .dim = {INT64_MAX}}, MICA_OK, INT64_MAX},
      {{.rank = 3, .dim = {INT64_C(1) << 40, INT64_C(1) << 40, 0}}, MICA_OK, 0},
      {{.rank = 2, .dim = {INT64_C(1) << 31, INT64_C(1) << 32}}, MICA_E_OVERFLOW, 77},
      {{.rank = 2, .dim = {INT64_MAX, 2}}, MICA_E_OVERFLOW, 77},
      {{.rank = 1, .dim = {-1}}, MICA_E_INVALID, 77},
      {{.rank = -1}, MICA_E_INVALID, 77},
      {{.rank = 9}, MICA_E_INVALID, 77},
      {{.rank = INT32_MAX, .dim = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}}, MICA_E_INVALID, 77},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t count = 77;
    ck_assert_int_eq(mica_shape_count(cases[i].shape, &count), cases[i].status);
    ck_assert_int_eq(count, cases[i].count); /* written on success only */
    ck_assert_int_eq(mica_shape_is_valid(cases[i].shape), cases[i].status != MICA_E_INVALID);
  }
}
END_TEST

START_TEST(equality) {
  mica_shape a = MICA_SHAPE(2, 3), b = MICA_SHAPE(2, 3), past = MICA_SHAPE(2, 3), none = {.rank = 1000000};
  past.dim[5] = 9; /* a dimension past the rank says nothing */
  ck_assert(mica_shape_equal(a, b));
  ck_assert(mica_shape_equal(a, past));
  ck_assert(!mica_shape_equal(a, MICA_SHAPE(3, 2)));
  ck_assert(!mica_shape_equal(a, MICA_SHAPE(2, 3, 1)));
  ck_assert(mica_shape_equal(MICA_SCALAR, MICA_SCALAR));
  ck_assert(!mica_shape_equal(MICA_SCALAR, MICA_SHAPE(1)));
  ck_assert(!mica_shape_equal(none, none));
}
END_TEST

START_TEST(printing) {
  char text[MICA_SHAPE_TEXT];
  ck_assert_str_eq(mica_shape_format(MICA_SHAPE(64, 3, 32, 32), text), "(64, 3, 32, 32)");
  ck_assert_str_eq(mica_shape_format(MICA_SHAPE(5), text), "(5)");
  ck_assert_str_eq(mica_shape_format(MICA_SCALAR, text), "()");
  ck_assert_str_eq(mica_shape_format((mica_shape){.rank = -2}, text), "(rank -2)");
  /* The longest of all fits, and says that it is none. */
  mica_shape worst = {.rank = INT32_MAX};
  for (int i = 0; i < MICA_MAX_RANK; i++) worst.dim[i] = INT64_MIN;
  mica_shape_format(worst, text);
  ck_assert_ptr_nonnull(strstr(text, "-9223372036854775808, rank 2147483647)"));
}
END_TEST

START_TEST(broadcasting) {
  static const struct {
    mica_shape a, b, out;
    bool fits;
  } cases[] = {
      {{.rank = 2, .dim = {4, 3}}, {.rank = 1, .dim = {3}}, {.rank = 2, .dim = {4, 3}}, true},
      {{.rank = 4, .dim = {8, 1, 6, 1}}, {.rank = 3, .dim = {7, 1, 5}}, {.rank = 4, .dim = {8, 7, 6, 5}}, true},
      {{.rank = 0}, {.rank = 2, .dim = {2, 0}}, {.rank = 2, .dim = {2, 0}}, true},
      {{.rank = 1, .dim = {1}}, {.rank = 1, .dim = {0}}, {.rank = 1, .dim = {0}}, true},
      {{.rank = 0}, {.rank = 0}, {.rank = 0}, true},
      {{.rank = 1, .dim = {0}}, {.rank = 1, .dim = {2}}, {.rank = 0}, false},
      {{.rank = 2, .dim = {4, 3}}, {.rank = 1, .dim = {4}}, {.rank = 0}, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int swapped = 0; swapped < 2; swapped++) {
      mica_shape a = swapped ? cases[i].b : cases[i].a, b = swapped ? cases[i].a : cases[i].b;
      mica_shape out = {.rank = -7};
      ck_assert_int_eq(mica_shape_broadcast(a, b, &out), cases[i].fits ? MICA_OK : MICA_E_SHAPE);
      if (cases[i].fits)
        ck_assert(mica_shape_equal(out, cases[i].out));
      else
        ck_assert_int_eq(out.rank, -7); /* written on success only */
    }
  mica_shape out;
  ck_assert_int_eq(mica_shape_broadcast(MICA_SHAPE(4, 3), MICA_SHAPE(4), &out), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "(4, 3)"));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "(4)"));
  ck_assert_int_eq(mica_shape_broadcast((mica_shape){.rank = 9}, MICA_SHAPE(1), &out), MICA_E_INVALID);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, dtypes_describe_themselves, what_is_no_dtype_is_harmless, literals, counting, equality,
      printing, broadcasting)
