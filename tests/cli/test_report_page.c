/* labels: null
 *
 * The page report.html: what it must hold, and that its pictures are those that were given. */
#include "cli/report_page.h"
#include "support/check_main.h"
#include "support/files.h"

#include <math.h>
#include <mica/io.h>
#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *text, const char *what) {
  size_t count = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) count++;
  return count;
}

/* The page as a text that the caller frees. */
static char *page_of(const cli_report_page *page) {
  size_t size = 0;
  ck_assert_int_eq(cli_report_page_write(NULL, files_path("report.html"), page), CLI_OK);
  uint8_t *bytes = files_read(files_path("report.html"), &size);
  char *text = strndup((const char *)bytes, size);
  ck_assert_ptr_nonnull(text);
  free(bytes);
  return text;
}

START_TEST(a_page_holds_everything) {
  static const mica_history_row history[] = {
      {.epoch = 1, .loss = 0.5, .accuracy = 0.8, .validation_loss = 0.4, .validation_accuracy = 0.85},
      {.epoch = 2, .loss = 0.35, .accuracy = 0.87, .validation_loss = NAN, .validation_accuracy = NAN}};
  static const cli_report_fact facts[] = {{"device", "<pocl> & \"co\""}, {"epochs", "2"}};
  static const char *const names[] = {"cat", "d<o>g"};
  static const int64_t confusion[4] = {8, 2, 1, 9};
  const cli_report_mistake mistakes[] = {{NULL, {0}, 0, 1, 0.987}, {NULL, {0}, 1, 0, 0.5}};
  const cli_report_page page = {.title = "mlp on <data>",
                                .facts = facts,
                                .fact_count = 2,
                                .history = history,
                                .epochs = 2,
                                .classes = 2,
                                .class_names = names,
                                .confusion = confusion,
                                .mistakes = mistakes,
                                .mistake_count = 2};
  char *text = page_of(&page);
  ck_assert_ptr_nonnull(strstr(text, "<title>mlp on &lt;data&gt;</title>"));
  ck_assert_ptr_nonnull(strstr(text, "&lt;pocl&gt; &amp; &quot;co&quot;"));
  ck_assert_uint_eq(count_of(text, "<svg"), 2);
  ck_assert_uint_eq(count_of(text, "<polyline"), 4);
  ck_assert_uint_eq(count_of(text, "<figure>"), 2);
  ck_assert_ptr_nonnull(strstr(text, "98.7 % <b>d&lt;o&gt;g</b><br>is <b>cat</b>"));
  /* cat: precision 8 of 9, recall 8 of 10, F1 16 of 19 */
  ck_assert_ptr_nonnull(strstr(text, "<td>88.9</td><td>80.0</td><td>84.2</td>"));
  /* Nothing comes from elsewhere, and no number is none. */
  ck_assert_uint_eq(count_of(text, "http") + count_of(text, "nan") + count_of(text, "inf"), 0);
  free(text);
}
END_TEST

/* The bytes of the only picture of a page. */
static size_t picture_of(const char *page, uint8_t *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = strstr(page, "base64,");
  size_t n = 0;
  uint32_t word = 0;
  ck_assert_ptr_nonnull(at);
  at += 7;
  for (int i = 0; at[i] != '"'; i++) {
    const char *digit = strchr(digits, at[i]);
    word = word << 6 | (at[i] == '=' ? 0 : (uint32_t)(digit - digits));
    n += at[i] != '=';
    if (i % 4 == 3)
      for (int k = 0; k < 3; k++) *out++ = (uint8_t)(word >> (16 - 8 * k));
  }
  return n * 3 / 4;
}

START_TEST(the_page_holds_the_pictures) {
  uint8_t pixels[3 * 4 * 5], shown[4096], *png = NULL;
  size_t bytes = 0;
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
  for (int64_t width = 3; width <= 5; width++) {
    const cli_report_mistake mistake = {pixels, MICA_SHAPE(3, 4, width), 0, 1, 0.5};
    char *text = page_of(&(cli_report_page){.classes = 2, .mistakes = &mistake, .mistake_count = 1});
    mica_status status = mica_png_encode(pixels, mistake.shape, &png, &bytes);
    ck_assert_uint_eq(count_of(text, "<img"), status == MICA_OK);
    if (status == MICA_OK) {
      ck_assert_uint_eq(picture_of(text, shown), bytes);
      ck_assert_mem_eq(shown, png, bytes);
      mica_free(png);
    } else {
      ck_assert_int_eq(status, MICA_E_UNSUPPORTED);
    }
    free(text);
  }
}
END_TEST

START_TEST(any_part_may_be_absent) {
  char *text = page_of(&(cli_report_page){0});
  ck_assert_ptr_nonnull(strstr(text, "<h1>Training report</h1>"));
  ck_assert_uint_eq(count_of(text, "<table>") + count_of(text, "<svg") + count_of(text, "<figure>"), 0);
  free(text);
  ck_assert_int_eq(cli_report_page_write(NULL, "/proc/mica/report.html", &(cli_report_page){0}), CLI_FAILED);
}
END_TEST

Suite *test_suite(void) {
  Suite *suite = suite_create("report_page");
  TCase *tcase = tcase_create("report_page");
  tcase_add_unchecked_fixture(tcase, NULL, files_remove);
  tcase_add_test(tcase, a_page_holds_everything);
  tcase_add_test(tcase, the_page_holds_the_pictures);
  tcase_add_test(tcase, any_part_may_be_absent);
  suite_add_tcase(suite, tcase);
  return suite;
}
