/* labels: null single
 *
 * The page report.html: what it must hold, and that its pictures are those that were given. */
#include "cli/report_page.h"
#include "support/check_main.h"
#include "support/engine.h"
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

/* The page as a text that the caller frees; the report is destroyed. */
static char *page_of(const char *title, mica_report *report) {
  size_t size = 0;
  ck_assert_int_eq(cli_report_page_write(NULL, files_path("report.html"), title, report), CLI_OK);
  mica_report_destroy(report);
  uint8_t *bytes = files_read(files_path("report.html"), &size);
  char *text = strndup((const char *)bytes, size);
  ck_assert_ptr_nonnull(text);
  free(bytes);
  return text;
}

static mica_report *begin(const char *title) {
  mica_report *report = NULL;
  ck_ok(mica_report_create(&report));
  ck_ok(mica_report_begin(report, title));
  return report;
}

START_TEST(a_page_holds_everything) {
  static const char *const columns[] = {"epoch", "loss", "validation_loss"}, *const names[] = {"cat", "d<o>g"};
  static const char *const scores[] = {"precision", "text"};
  static const double curve[] = {1, 0.5, 0.4, 2, 0.35, NAN}, confusion[] = {8, 2, 1, 9},
                      table[] = {88.9, NAN, 80, 84.2};
  static const double box[] = {1, 2, 11, 22, 0.5};
  mica_report *report = begin("Facts");
  ck_ok(mica_report_add_text(report, "device", "<pocl> & \"co\""));
  ck_ok(mica_report_add_number(report, "accuracy", 0.875));
  ck_ok(mica_report_begin(report, "Curves"));
  mica_item item = {.kind = MICA_ITEM_KIND_CURVE, .name = "loss", .rows = 2, .columns = 3};
  item.numbers = curve, item.column_names = columns;
  ck_ok(mica_report_add(report, &item));
  item = (mica_item){.kind = MICA_ITEM_KIND_MATRIX, .name = "confusion", .rows = 2, .columns = 2, .numbers = confusion};
  item.row_names = item.column_names = names;
  ck_ok(mica_report_add(report, &item));
  item = (mica_item){.kind = MICA_ITEM_KIND_TABLE, .name = "scores", .rows = 2, .columns = 2, .numbers = table};
  item.column_names = scores;
  ck_ok(mica_report_add(report, &item));
  item = (mica_item){.kind = MICA_ITEM_KIND_BOXES, .name = "boxes", .rows = 1, .columns = 5, .numbers = box};
  item.row_names = names;
  ck_ok(mica_report_add(report, &item));
  item.name = "/data/test/cat/<1>.png", item.text = "cat, taken for dog";
  ck_ok(mica_report_add(report, &item));
  char *text = page_of("mlp on <data>", report);
  ck_assert_ptr_nonnull(strstr(text, "<title>mlp on &lt;data&gt;</title>"));
  ck_assert_ptr_nonnull(strstr(text, "&lt;pocl&gt; &amp; &quot;co&quot;"));
  ck_assert_ptr_nonnull(strstr(text, "<th>accuracy</th><td>0.875</td>"));
  ck_assert_uint_eq(count_of(text, "<svg"), 3);
  ck_assert_ptr_nonnull(strstr(text, "text-anchor=middle>epoch</text>"));
  ck_assert_ptr_nonnull(strstr(text, "<th>true &darr; predicted &rarr;</th><th>cat</th>"));
  ck_assert_ptr_nonnull(
      strstr(text, "cat, taken for dog<br><small title=\"/data/test/cat/&lt;1&gt;.png\">cat/&lt;1&gt;.png<"));
  ck_assert_uint_eq(count_of(text, "<polyline"), 2);
  ck_assert_uint_eq(count_of(text, "<circle"), 3 + 2);
  ck_assert_uint_eq(count_of(text, "<h2>"), 2);
  ck_assert_uint_eq(count_of(text, "<rect x=1.0 y=2.0 width=10.0 height=20.0><title>cat 0.5"), 2);
  ck_assert_ptr_nonnull(strstr(text, "d&lt;o&gt;g"));
  ck_assert_ptr_nonnull(strstr(text, "<td>88.9</td><td>&ndash;</td>"));
  /* Nothing comes from elsewhere, and no number is none. */
  ck_assert_uint_eq(count_of(text, "http") + count_of(text, ">nan") + count_of(text, "inf"), 0);
  free(text);
}
END_TEST

START_TEST(a_curve_of_one_point_is_written_as_numbers) {
  static const char *const columns[] = {"epoch", "training", "validation"};
  static const double both[] = {1, 0.5, 0.25}, one[] = {1, NAN, 88.5}, none[] = {1, NAN, NAN};
  const double *const rows[] = {both, one, none};
  static const char *const names[] = {"loss", "a<b", "mae"};
  mica_report *report = begin("Curves");
  for (int i = 0; i < 3; i++) {
    const mica_item item = {.kind = MICA_ITEM_KIND_CURVE,
                            .name = names[i],
                            .rows = 1,
                            .columns = 3,
                            .numbers = rows[i],
                            .column_names = columns};
    ck_ok(mica_report_add(report, &item));
  }
  char *text = page_of("a run", report);
  ck_assert_uint_eq(count_of(text, "<svg"), 0);
  ck_assert_uint_eq(count_of(text, "<tr><th>loss, epoch 1</th><td class=t>training 0.5, validation 0.25</td></tr>"), 1);
  ck_assert_uint_eq(count_of(text, "<tr><th>a&lt;b, epoch 1</th><td class=t>validation 88.5</td></tr>"), 1);
  ck_assert_uint_eq(count_of(text, "<tr>"), 2);
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
    mica_report *report = begin("Pictures");
    const mica_item item = {
        .kind = MICA_ITEM_KIND_PICTURE, .name = "a", .planes = pixels, .shape = MICA_SHAPE(3, 4, width)};
    ck_ok(mica_report_add(report, &item));
    char *text = page_of("pictures", report);
    mica_status status = mica_png_encode(pixels, item.shape, &png, &bytes);
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
  mica_report *report = NULL;
  ck_ok(mica_report_create(&report));
  char *text = page_of(NULL, report);
  ck_assert_ptr_nonnull(strstr(text, "<h1>Training report</h1>"));
  ck_assert_uint_eq(count_of(text, "<table>") + count_of(text, "<svg") + count_of(text, "<figure>"), 0);
  free(text);
  report = begin("none");
  ck_assert_int_eq(cli_report_page_write(NULL, "/proc/mica/report.html", NULL, report), CLI_FAILED);
  mica_report_destroy(report);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, a_page_holds_everything, a_curve_of_one_point_is_written_as_numbers,
      the_page_holds_the_pictures, any_part_may_be_absent)
