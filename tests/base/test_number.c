/* labels: null */
/* Numbers as text, whatever the program's locale. MICA_TEST_LOCALE names one with a decimal comma (test_locale.sh). */
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "support/check_main.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static char point(void) { return *localeconv()->decimal_point; }

START_TEST(formats) {
  char text[64];
  const char before = point();
  ck_assert_int_eq(mica__snprintf(text, sizeof text, "%.2f %g %d", 1.5, 0.25, 7), 11);
  ck_assert_str_eq(text, "1.50 0.25 7");
  mica__text grown = {0};
  mica__text_addf(&grown, "%.3g", 1e-1);
  ck_assert_str_eq(grown.data, "0.1");
  mica__text_free(&grown);
  ck_assert_int_eq(mica__fail(MICA_E_INVALID, "%g is wrong", 2.5), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "2.5 is wrong");
  ck_assert_int_eq(point(), before);
}
END_TEST

START_TEST(reads) {
  char *end = NULL;
  const char *text = "-2.75e1x";
  ck_assert_double_eq(mica__strtod(text, &end), -27.5);
  ck_assert_str_eq(end, "x");
  ck_assert_double_eq(mica__strtod("1,5", &end), 1);
  ck_assert_str_eq(end, ",5");
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, formats, reads)
