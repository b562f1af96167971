/* labels: null single
 *
 * Elements of every dtype on the host: what is stored saturates, or wraps, and what is no dtype is left alone. */
#include "base/element.h"
#include "support/check_main.h"

#include <math.h>
#include <string.h>

static const struct {
  mica_dtype dtype;
  double least, most;
} integers[] = {{MICA_I8, INT8_MIN, INT8_MAX},    {MICA_U8, 0, UINT8_MAX},
                {MICA_I16, INT16_MIN, INT16_MAX}, {MICA_U16, 0, UINT16_MAX},
                {MICA_I32, INT32_MIN, INT32_MAX}, {MICA_U32, 0, UINT32_MAX},
                {MICA_I64, -0x1p63, 0x1p63},      {MICA_U64, 0, 0x1p64}};
#define INTEGERS (sizeof integers / sizeof *integers)

static double stored(mica_dtype dtype, double value) {
  uint64_t element = 0x5a5a5a5a5a5a5a5a;
  mica__element_set(dtype, &element, 0, value);
  return mica__element_get(dtype, &element, 0);
}

static double wrapped(mica_dtype dtype, double value) {
  uint64_t element = 0x5a5a5a5a5a5a5a5a;
  mica__element_wrap(dtype, &element, 0, value);
  return mica__element_get(dtype, &element, 0);
}

START_TEST(integers_saturate) {
  mica_dtype dtype = integers[_i].dtype;
  ck_assert(stored(dtype, -1e30) == integers[_i].least && stored(dtype, -INFINITY) == integers[_i].least);
  ck_assert(stored(dtype, 1e30) == integers[_i].most && stored(dtype, INFINITY) == integers[_i].most);
  ck_assert(stored(dtype, NAN) == 0 && stored(dtype, 100.9) == 100 && stored(dtype, -0.9) == 0);
}
END_TEST

START_TEST(integers_wrap) {
  mica_dtype dtype = integers[_i].dtype;
  double range = integers[_i].most - integers[_i].least + (mica_dtype_size(dtype) < 8);
  ck_assert(wrapped(dtype, range + 7.5) == (range < 0x1p64 ? 7 : 0));
  ck_assert(wrapped(dtype, -1) == (integers[_i].least < 0 ? -1 : integers[_i].most));
  ck_assert(wrapped(dtype, NAN) == 0 && wrapped(dtype, INFINITY) == 0 && wrapped(dtype, -0.5) == 0);
}
END_TEST

START_TEST(other_types_do_not_wrap) {
  ck_assert(wrapped(MICA_F32, -1e30) == (double)-1e30f && wrapped(MICA_F64, 0.1) == 0.1);
  ck_assert(isinf(wrapped(MICA_F16, 70000)) && isnan(wrapped(MICA_BF16, NAN)));
  ck_assert(wrapped(MICA_BOOL, 256) == 1 && wrapped(MICA_BOOL, 0) == 0);
}
END_TEST

START_TEST(what_is_no_dtype_is_left_alone) {
  uint64_t element = 7;
  mica__element_set(MICA_DTYPE_COUNT, &element, 0, 1);
  ck_assert_uint_eq(element, 7);
  ck_assert(mica__element_get(MICA_DTYPE_COUNT, &element, 0) == 0);
  ck_assert(mica__element_roundoff(MICA_DTYPE_COUNT) == 0);
}
END_TEST

START_TEST(bf16_rounds_once) {
  /* Just above the middle of two bf16 numbers, which f32 would round onto the middle. */
  ck_assert(stored(MICA_BF16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  ck_assert(stored(MICA_BF16, 1 + 0x1p-8) == 1);
  ck_assert(isinf(stored(MICA_BF16, 1e39)) && isinf(stored(MICA_BF16, 3.4e38)));
}
END_TEST

/* Every pattern of 16 bits, at an odd address. */
START_TEST(floats_are_what_the_elements_are) {
  static unsigned char bytes[65536 * 2 + 1];
  static float floats[65536];
  const mica_dtype dtype = _i ? MICA_BF16 : MICA_F16;
  for (uint32_t i = 0; i < 65536; i++) memcpy(bytes + 1 + 2 * i, &(uint16_t){(uint16_t)i}, 2);
  mica__elements_to_floats(dtype, bytes + 1, 65536, floats);
  for (uint32_t i = 0; i < 65536; i++) {
    const uint16_t bits = (uint16_t)i;
    const double value = mica__element_get(dtype, &bits, 0);
    ck_assert(isnan(value) ? isnan(floats[i]) : floats[i] == value && !signbit(floats[i]) == !signbit(value));
  }
  mica__elements_to_floats(MICA_F64, (double[]){0.1, 1e300}, 2, floats);
  ck_assert(floats[0] == 0.1F && isinf(floats[1]));
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(integers_saturate, 0, INTEGERS), LOOP(integers_wrap, 0, INTEGERS),
      other_types_do_not_wrap, what_is_no_dtype_is_left_alone, bf16_rounds_once,
      LOOP(floats_are_what_the_elements_are, 0, 2))
