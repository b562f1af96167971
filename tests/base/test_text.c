/* labels: null single
 *
 * Growing strings, hashes, and arithmetic that notices when it overflows. */
#include "base/arith.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/text.h"
#include "support/check_main.h"

#include <stdlib.h>
#include <string.h>

START_TEST(a_text_grows) {
  mica__text text = {0};
  size_t length = 0;
  for (int i = 0; i < 3000; i++) {
    mica__text_addf(&text, "%d,", i);
    mica__text_add(&text, "");
    length += i < 10 ? 2 : i < 100 ? 3 : i < 1000 ? 4 : 5;
    ck_assert_uint_eq(text.length, length);
    ck_assert_int_eq(text.data[length], '\0');
  }
  mica__text_add_bytes(&text, "a\0b", 3);
  ck_assert_uint_eq(text.length, length + 3);
  ck_assert_int_eq(mica__text_status(&text), MICA_OK);
  mica__text_free(&text);
  ck_assert_ptr_null(text.data);
  mica__text_free(&text);
}
END_TEST

START_TEST(a_text_fills_its_room_exactly) {
  for (size_t n = 250; n < 260; n++) {
    mica__text text = {0};
    for (size_t i = 0; i < n; i++) mica__text_add(&text, "x");
    ck_assert_uint_eq(strlen(text.data), n);
    mica__text_free(&text);
  }
}
END_TEST

START_TEST(a_text_too_long_fails_once_and_for_all) {
  mica__text text = {0};
  mica__text_add(&text, "kept");
  mica__text_add_bytes(&text, "never read", SIZE_MAX);
  mica__text_add(&text, "not added");
  ck_assert(text.failed);
  ck_assert_str_eq(text.data, "kept");
  ck_assert_int_eq(mica__text_status(&text), MICA_E_NOMEM);
  mica__text_free(&text);
  ck_assert(!text.failed);
}
END_TEST

START_TEST(copies) {
  ck_assert_ptr_null(mica__strdup(NULL));
  char *copy = mica__strdup("kernel");
  ck_assert_str_eq(copy, "kernel");
  free(copy);
}
END_TEST

START_TEST(checked_arithmetic) {
  size_t size;
  int64_t i;
  ck_assert(mica__mul_size(SIZE_MAX / 2, 2, &size) && size == SIZE_MAX - 1);
  ck_assert(!mica__mul_size(SIZE_MAX / 2 + 1, 2, &size));
  ck_assert(mica__mul_size(0, SIZE_MAX, &size) && size == 0);
  ck_assert(mica__add_size(SIZE_MAX, 0, &size) && size == SIZE_MAX);
  ck_assert(!mica__add_size(SIZE_MAX, 1, &size));
  ck_assert(mica__mul_i64(INT64_MAX, -1, &i) && i == -INT64_MAX);
  ck_assert(!mica__mul_i64(INT64_MIN, -1, &i));
  ck_assert(!mica__mul_i64(INT64_C(1) << 32, INT64_C(1) << 31, &i));
  ck_assert_uint_eq(mica__ceil_div_size(0, 7), 0);
  ck_assert_uint_eq(mica__ceil_div_size(14, 7), 2);
  ck_assert_uint_eq(mica__ceil_div_size(15, 7), 3);
  ck_assert_uint_eq(mica__ceil_div_size(SIZE_MAX, 2), SIZE_MAX / 2 + 1);
  ck_assert_int_eq(mica__ceil_div(14, 7), 2);
  ck_assert_int_eq(mica__ceil_div(15, 7), 3);
  ck_assert_int_eq(mica__ceil_div(-6, 7), 0);
  ck_assert_uint_eq(mica__round_up(15, 8), 16);
  ck_assert_uint_eq(mica__round_up(16, 8), 16);
}
END_TEST

START_TEST(hashes_tell_apart) {
  const mica__hash zero = {0};
  char text[MICA__HASH_TEXT], other[MICA__HASH_TEXT];
  mica__hash a = mica__hash_text(mica__hash_text(zero, "ab"), "c"),
             b = mica__hash_text(mica__hash_text(zero, "a"), "bc");
  ck_assert(!mica__hash_equal(a, b));
  ck_assert(mica__hash_equal(a, mica__hash_text(mica__hash_text(zero, "ab"), "c")));
  ck_assert(!mica__hash_equal(mica__hash_bytes((mica__hash){.low = 1}, "x", 1), mica__hash_bytes(zero, "x", 1)));
  ck_assert(!mica__hash_equal(mica__hash_bytes((mica__hash){.high = 1}, "x", 1), mica__hash_bytes(zero, "x", 1)));
  ck_assert(!mica__hash_equal(mica__hash_bytes(zero, "x", 0), mica__hash_bytes(zero, "x", 1)));
  ck_assert_str_eq(mica__hash_format((mica__hash){.low = 0xab, .high = 1}, text), "000000000000000100000000000000ab");
  ck_assert_uint_eq(strlen(mica__hash_format(a, text)), 32);
  ck_assert_str_ne(mica__hash_format(a, text), mica__hash_format(b, other));
}
END_TEST

/* Files made by one build are read by another: the function may not change. */
START_TEST(hashes_stay_what_they_were) {
  char text[MICA__HASH_TEXT];
  ck_assert_str_eq(mica__hash_format(mica__hash_text((mica__hash){0}, "mica"), text),
                   "e0e1c5add05cd954e3d301a9804b92de");
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, a_text_grows, a_text_fills_its_room_exactly, a_text_too_long_fails_once_and_for_all, copies,
      checked_arithmetic, hashes_tell_apart, hashes_stay_what_they_were)
