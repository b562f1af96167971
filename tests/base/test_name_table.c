/* labels: null single
 *
 * The table of names: what was filed is found, through every growth, and nothing else is. */
#include "base/name_table.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <stdio.h>

#define COUNT 5000

START_TEST(what_was_filed_is_found) {
  static char texts[COUNT][16];
  mica__name_table names = {0};
  ck_assert_int_eq(mica__name_table_find(&names, "n0"), -1);
  for (int i = 0; i < COUNT; i++) {
    snprintf(texts[i], sizeof texts[i], "n%d", i);
    ck_ok(mica__name_table_add(&names, texts[i], i));
    ck_assert_int_eq(mica__name_table_find(&names, "n0"), 0);
  }
  for (int i = 0; i < 2 * COUNT; i++) {
    char text[16];
    snprintf(text, sizeof text, "n%d", i);
    ck_assert_int_eq(mica__name_table_find(&names, text), i < COUNT ? i : -1);
  }
  ck_assert_int_eq(mica__name_table_find(&names, ""), -1);
  ck_assert_uint_le(2 * names.count, names.size);
  mica__name_table_free(&names);
  ck_assert_int_eq(mica__name_table_find(&names, "n0"), -1);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, what_was_filed_is_found)
