/* labels: null single
 *
 * The page report.html: what it must hold, and that its pictures are those that were given. */
#include "cli/metric_meaning.h"
#include "cli/report_page.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/io.h>
#include <mica/task.h>
#include <stdio.h>
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
  ck_assert_ptr_nonnull(strstr(text, "<th>accuracy</th><td class=t>0.875</td>"));
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

/* Boxes lie beside the picture and not inside its element, where no browser draws them. */
START_TEST(boxes_are_drawn_over_their_picture) {
  static const double box[] = {1, 1, 3, 3, 0.5};
  static const char *const names[] = {"cat"};
  const uint8_t pixels[4 * 5] = {0};
  mica_report *report = begin("Found");
  ck_ok(mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_BOXES,
                                             .name = "a",
                                             .rows = 1,
                                             .columns = 5,
                                             .numbers = box,
                                             .row_names = names,
                                             .planes = pixels,
                                             .shape = MICA_SHAPE(1, 4, 5)}));
  char *text = page_of("boxes", report), *picture = strstr(text, "<image"), *end = NULL;
  ck_assert_ptr_nonnull(strstr(text, "<rect"));
  if (picture) {
    end = strchr(picture, '>');
    ck_assert_int_eq(end[-1], '/');
    ck_assert_mem_eq(end + 1, "<rect", 5);
  }
  free(text);
}
END_TEST

/* A curve over 0, 0, 0.5, 1 as of a ROC: its points lie where column 0 says, and its axis has even numbers. */
START_TEST(curves_lie_over_the_values_of_their_axis) {
  static const char *const columns[] = {"others", "own"};
  static const double curve[] = {0, 0, 0, 1, 0.5, 1, 1, 1};
  mica_report *report = begin("Pairs");
  ck_ok(mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_CURVE,
                                             .name = "roc",
                                             .rows = 4,
                                             .columns = 2,
                                             .numbers = curve,
                                             .column_names = columns}));
  char *text = page_of("curve", report);
  ck_assert_ptr_nonnull(strstr(text, "points=\"52.0,232.0 52.0,24.0 260.0,24.0 468.0,24.0 \""));
  for (int i = 0; i <= 10; i++) {
    char number[64];
    snprintf(number, sizeof number, "<text x=%.1f y=252 text-anchor=middle>%g</text>", 52 + 41.6 * i, i / 10.0);
    ck_assert_uint_eq(count_of(text, number), 1);
  }
  free(text);
}
END_TEST

/* Epochs have whole numbers, and a curve of zeros lies at 0 of 0 to 1. */
START_TEST(epochs_are_whole) {
  static const char *const columns[] = {"epoch", "eer"};
  static const double curve[] = {1, 0, 2, 0, 3, 0};
  mica_report *report = begin("Training");
  ck_ok(mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_CURVE,
                                             .name = "eer",
                                             .rows = 3,
                                             .columns = 2,
                                             .numbers = curve,
                                             .column_names = columns}));
  char *text = page_of("curve", report);
  ck_assert_uint_eq(count_of(text, " y=252 text-anchor=middle>"), 3);
  ck_assert_uint_eq(count_of(text, "text-anchor=end>1</text>"), 1);
  ck_assert_uint_eq(count_of(text, "text-anchor=end>-"), 0);
  free(text);
}
END_TEST

/* The names of points cover no other point: three points in a row leave the middle one a side above or below. */
START_TEST(names_cover_no_points) {
  static const char *const columns[] = {"x", "y"}, *const names[] = {"first", "second", "third"};
  static const double points[] = {0, 0, 0.02, 0.02, 1, 1};
  mica_report *report = begin("Items");
  ck_ok(mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_POINTS,
                                             .name = "items",
                                             .rows = 3,
                                             .columns = 2,
                                             .numbers = points,
                                             .column_names = columns,
                                             .row_names = names}));
  char *text = page_of("points", report);
  /* To the right of the first point, where its name would otherwise lie, is the second. */
  ck_assert_uint_eq(count_of(text, "<circle class=a"), 3);
  ck_assert_ptr_null(strstr(text, "<text x=59.0 y=227.0 text-anchor=start>first"));
  ck_assert_ptr_nonnull(strstr(text, ">second</text>"));
  free(text);
}
END_TEST

/* The predicted, true and wrong pixels of a sample stay together. */
START_TEST(pictures_of_a_sample_stay_in_a_line) {
  static const char *const names[] = {"0 predicted", "0 true", "0: wrong pixels, 1 %", "1 predicted", "1 true", "7"};
  const uint8_t pixels[4] = {0};
  mica_report *report = begin("Pictures");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    ck_ok(mica_report_add(
        report, &(mica_item){
                    .kind = MICA_ITEM_KIND_PICTURE, .name = names[i], .planes = pixels, .shape = MICA_SHAPE(1, 2, 2)}));
  char *text = page_of("pictures", report), *last = strstr(text, "<figcaption>7<");
  ck_assert_uint_eq(count_of(text, "<div class=sample>"), 2);
  ck_assert_ptr_nonnull(strstr(text, "<div class=pictures>\n<div class=sample>\n<figure>"));
  ck_assert_uint_eq(count_of(text, "<div") - count_of(text, "</div>"), 0);
  ck_assert_ptr_nonnull(last);
  *last = 0;
  ck_assert_uint_eq(count_of(text, "</div>"), 2);
  free(text);
}
END_TEST

START_TEST(metrics_have_meanings) {
  const char *suffix = NULL;
  for (size_t i = 0; mica_task_name(i); i++)
    for (const mica_task_metric *m = mica_task_metrics(mica_task_name(i)); m && m->name; m++)
      ck_assert_msg(m->text && cli_metric_meaning(mica_task_name(i), m->name, &suffix) == m->text && !suffix,
                    "%s of %s has no meaning", m->name, mica_task_name(i));
  const char *of_class = cli_metric_meaning("text", "f1_hausdorff_95", &suffix);
  ck_assert_str_eq(suffix, "hausdorff_95");
  ck_assert_str_eq(of_class, cli_metric_meaning("text", "f1", &suffix));
  ck_assert_ptr_null(suffix);
  ck_assert_ptr_null(cli_metric_meaning("text", "samples", &suffix));
  ck_assert_ptr_nonnull(strstr(cli_metric_meaning("depth", "rmse", &suffix), "the unit of the depth maps"));
  ck_assert_ptr_nonnull(cli_metric_meaning("text", "loss", &suffix));
  ck_assert_ptr_null(cli_metric_meaning("text", "map", &suffix));
  ck_assert_str_ne(cli_metric_meaning("detect", "map", &suffix), cli_metric_meaning("text_labels", "map", &suffix));
  mica_report *report = begin("Run");
  ck_ok(mica_report_add_text(report, "task", "text"));
  ck_ok(mica_report_begin(report, "Metrics"));
  ck_ok(mica_report_add_number(report, "f1_<cat>", 0.5));
  char *text = page_of("metrics", report);
  ck_assert_ptr_nonnull(
      strstr(text, "<th>f1_&lt;cat&gt;</th><td class=t>0.5</td><td class=\"t m\">&lt;cat&gt;: harmonic"));
  free(text);
}
END_TEST

/* Only a confusion matrix has wrong cells. */
START_TEST(weights_of_attention_are_not_errors) {
  static const char *const names[] = {"one", "two"};
  static const double weights[] = {10, 90, 80, 20};
  for (int wrong = 0; wrong < 2; wrong++) {
    mica_report *report = begin("Translations");
    ck_ok(mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_MATRIX,
                                               .name = wrong ? "confusion" : "attention, in percent",
                                               .rows = 2,
                                               .columns = 2,
                                               .numbers = weights,
                                               .row_names = names,
                                               .column_names = names}));
    char *text = page_of("matrix", report);
    ck_assert_uint_eq(count_of(text, "rgb(217"), wrong ? 2 : 0);
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
      the_page_holds_the_pictures, boxes_are_drawn_over_their_picture, curves_lie_over_the_values_of_their_axis,
      epochs_are_whole, names_cover_no_points, pictures_of_a_sample_stay_in_a_line, metrics_have_meanings,
      weights_of_attention_are_not_errors, any_part_may_be_absent)
