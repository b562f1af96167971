/* labels: device slow
 *
 * The task forecast: baselines are those that are computed apart, a season and a trend are learned, empty cells, late
 * beginnings, times are understood, next values are predicted; what is wrong is said; a step costs launches alone. */
#include "data/series/series.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 240
#define SEASON 12
#define HORIZON 6

static char data[512], folder[512];

static double value_at(int i, int series) {
  return 50 + 0.3 * i + (series ? -4 : 7) * sin(6.283185307 * i / SEASON) + 0.2 * ((i * 7919) % 13 - 6) / 6.0;
}

/* Months from 1999-11 on, two series, a note; some cells are empty. */
static void write_table(const char *name, int rows) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("month,north,south,note\n", file);
  for (int i = 0; i < rows; i++) {
    fprintf(file, "%d-%02d,", 1999 + (i + 10) / 12, (i + 10) % 12 + 1);
    if (i % 17 != 5 && i != 130)
      test_print(file, "%.4f,%.4f,as seen\n", value_at(i, 0), value_at(i, 1));
    else
      test_print(file, "%s,%.4f,\n", i % 2 ? "" : "NA", value_at(i, 1));
  }
  fclose(file);
}

static void begin(void) {
  write_table("sales.csv", ROWS);
  snprintf(data, sizeof data, "%s", files_path("sales.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("run"));
}

static const mica_setting settings[] = {{"horizon", "6"}, {"epochs", "8"}, {"width", "8"},
                                        {"batch", "16"},  {"seed", "1"},   {"lr", "0.01"}};
#define SETTINGS (sizeof settings / sizeof *settings)

static mica_run *create(const char *path, const char *to, const mica_setting *own, size_t count) {
  const mica_run_config config = {
      .task = "forecast", .data = path, .folder = to, .settings = own, .setting_count = count};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  return run;
}

/* The errors of the last value and of the season over all origins of the last fifth, computed here. */
static void check_baselines(const mica_metrics *m) {
  double last = 0, season = 0, change = 0;
  int count = 0;
  const int training = ROWS - ROWS / 5;
  for (int s = 0; s < 2; s++)
    for (int o = training; o + HORIZON <= ROWS; o++)
      for (int h = 0; h < HORIZON; h++) {
        const bool empty = s == 0 && ((o + h) % 17 == 5 || o + h == 130);
        const int before = s == 0 && (o - 1) % 17 == 5 ? o - 2 : o - 1;
        int of_season = o + h - SEASON;
        if (empty) continue;
        double seasonal = value_at(of_season, s);
        if (s == 0 && of_season % 17 == 5) /* on the line between its neighbours, where both were seen */
          seasonal = of_season + 1 < o ? (value_at(of_season - 1, s) + value_at(of_season + 1, s)) / 2
                                       : value_at(of_season - 1, s);
        last += fabs(value_at(o + h, s) - value_at(before, s));
        season += fabs(value_at(o + h, s) - seasonal);
        count++;
      }
  for (int i = SEASON; i < training; i++) change += fabs(value_at(i, 1) - value_at(i - SEASON, 1));
  ck_assert_double_eq_tol(mica_metrics_get(m, "mae_last"), last / count, 1e-4);
  ck_assert_double_eq_tol(mica_metrics_get(m, "mae_season"), season / count, 1e-4);
  ck_assert_double_gt(change, 0);
}

static char *predict(mica_run *run, const mica_run_input *input) {
  mica_report *prediction = NULL;
  char *text = NULL;
  ck_ok(mica_run_predict(run, input, &prediction));
  ck_ok(mica_report_json(prediction, "predictions", "", &text));
  mica_report_destroy(prediction);
  return text;
}

START_TEST(series_are_forecast) {
  mica_metrics before, after;
  mica_run *run = create(data, folder, settings, SETTINGS);
  ck_assert_msg(strstr(mica_run_remark(run, 0), "windows of 24 rows, a season of 12, a horizon of 6"), "%s",
                mica_run_remark(run, 0));
  ck_assert_msg(strstr(mica_run_remark(run, 1), ": 15 empty cells: read by interpolation"), "%s",
                mica_run_remark(run, 1));
  ck_assert_msg(strstr(mica_run_remark(run, 2), "1 column holds neither numbers nor times"), "%s",
                mica_run_remark(run, 2));
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TEST, &before));
  check_baselines(&before);
  ck_assert_double_lt(mica_metrics_get(&before, "mae"), 0.5 * mica_metrics_get(&before, "mae_season"));
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TEST, &after));
  ck_assert(before.samples == after.samples && before.loss == after.loss);
  /* The report's errors, computed from predictions, are those of the test. */
  mica_report *report = NULL;
  ck_ok(mica_run_report(run, &report));
  const mica_item *north = NULL, *south = NULL;
  for (size_t s = 0; s < mica_report_count(report); s++) {
    if (!north) north = mica_report_find(report, s, "mean absolute error of north");
    if (!south) south = mica_report_find(report, s, "mean absolute error of south");
  }
  ck_assert(north && south && north->rows == HORIZON + 1 && north->columns == 3);
  for (size_t k = 0; k < 3; k++) {
    static const char *const names[] = {"mae", "mae_last", "mae_season"};
    const double both[] = {north->numbers[3 * HORIZON + k], south->numbers[3 * HORIZON + k]};
    /* North has fewer answers. */
    const double of_test = mica_metrics_get(&after, names[k]);
    ck_assert_msg(of_test > fmin(both[0], both[1]) - 1e-4 && of_test < fmax(both[0], both[1]) + 1e-4,
                  "%s: %g, %g and %g", names[k], of_test, both[0], both[1]);
  }
  mica_report_destroy(report);
  /* Behind the end of a table, whose columns stand elsewhere; and beside what came. */
  char *text = NULL;
  const char *path = data;
  ck_ok(mica_run_evaluate(run, data, MICA_PART_TEST, &after));
  ck_assert_double_eq(after.loss, before.loss);
  text = predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  ck_assert_msg(strstr(text, "\"2019-11\"") && strstr(text, "\"2020-04\"") && !strstr(text, "\"2020-05\""), "%s", text);
  mica_free(text);
  text = predict(run, &(mica_run_input){.data = data, .part = MICA_PART_TEST, .count = 2});
  ck_assert_msg(strstr(text, "from 2015-11") && strstr(text, "north actual"), "%s", text);
  mica_free(text);
  mica_report *prediction = NULL;
  write_table("short.csv", 20);
  path = files_path("short.csv");
  ck_assert_int_eq(mica_run_predict(run, &(mica_run_input){.files = &path, .file_count = 1}, &prediction),
                   MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "has 20 rows, but a forecast needs at least 24"));
  files_write_text("west.csv", "month,west\n2001-01,1\n2001-02,2\n");
  path = files_path("west.csv");
  ck_assert_int_eq(mica_run_predict(run, &(mica_run_input){.files = &path, .file_count = 1}, &prediction),
                   MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "has no column 'north' of numbers; it has month, west"));
  /* Inputs are measured on windows in the run's scale. */
  ck_ok(mica_run_quantize(run, &(mica_run_quantize_config){.folder = files_path("run8")}, NULL));
  mica_run_destroy(run);
}
END_TEST

START_TEST(what_is_wrong_is_said) {
  static const struct wrong {
    const char *table;
    mica_setting setting;
    const char *sentence;
  } wrong[] = {
      {"t,a\n1,2\n2,3\n", {"horizon", "2"}, "has 2 rows: a window of 24 and a horizon of 2 leave none to train on"},
      {"t,a\n1,2\n2,x\n", {"horizon", "2"}, "line 3: column 'a' holds \"x\", which is not a number"},
      {"t,a\n1,2\n2,-1e38\n", {"horizon", "2"}, "line 3: column 'a' holds -1e+38, but values must be from -1e+18"},
      {"t,a\n1,2\n2,3\n2,4\n", {"horizon", "2"}, "line 4: '2' is not after '2'"},
      {"day,a\n2001-02-01,2\n2001-01-31,3\n", {"horizon", "2"}, "'2001-01-31' is not after '2001-02-01'"},
      {"t,a\nnone,1\n2,3\n1,4\n", {"horizon", "2"}, "'1' is not after '2' in column 't', which was taken for"},
      {"t,a\n9223372036854775808,1\n9223372036854775807,2\n",
       {"horizon", "2"},
       "line 3: '9223372036854775807' is not after '9223372036854775808'"},
      {"day,a\n2024-02-29,2\n2024-02-30,3\n2024-03-01,3\n",
       {"horizon", "2"},
       "line 3: column 'day' holds \"2024-02-30\", and there is no such day"},
      {"t,a\n2024-10-27T03:00+01:00,1\n2024-10-27T03:00+02:00,2\n",
       {"horizon", "2"},
       "line 3: '2024-10-27T03:00+02:00' is not"},
      {"t;a\n1;0,86\n2;1,5\n", {"horizon", "2"}, "column 'a' holds numbers with a comma, as in 1,5"},
      {"t,a\n1,2\n2,3,4\n", {"horizon", "2"}, "line 3 has 3 columns, but the first row has 2"},
      {"t,a\n1,2\n2,3\n", {"label", "b"}, "has no column 'b' of numbers; it has t, a"},
      {"t,a\n1,2\n2,3\n", {"time", "when"}, "has no column 'when'"},
      {"t,a\n1,\n2,\n", {"horizon", "2"}, "has no column of numbers"},
      {"name,kind\nx,y\nz,w\n", {"horizon", "2"}, "has no column of numbers"},
      {"t,a\n", {"horizon", "2"}, "holds no row"},
      {"", {"horizon", "2"}, "wrong.csv"},
      {"t,a\n1,2\n", {"horizon", "0"}, "horizon wants a whole number from 1"},
      {"t,a\n1,2\n", {"model", "gpt"}, "the networks lstm, gru, tcn, cnn_gru and linear, not gpt"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica_run *run = NULL;
    files_write_text("wrong.csv", wrong[i].table);
    const mica_run_config config = {
        .task = "forecast", .data = files_path("wrong.csv"), .settings = &wrong[i].setting, .setting_count = 1};
    /* A network is looked at once there are data. */
    if (!strcmp(wrong[i].setting.name, "model")) write_table("wrong.csv", ROWS);
    ck_assert_int_ne(mica_run_create(test_engine(), &config, &run), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].sentence), "%zu: %s", i, mica_error_message());
  }
}
END_TEST

/* Attention shares 2 * width features among 4 heads, which no setting changes. */
START_TEST(widths_suit_the_heads) {
  static const char *const widths[] = {"6", "33"};
  for (int i = 0; i < 2; i++) {
    const mica_setting given[] = {{"model", "cnn_gru"}, {"width", widths[i]}};
    const mica_run_config config = {.task = "forecast", .data = data, .settings = given, .setting_count = 2};
    mica_run *run = NULL;
    if (i) {
      ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_INVALID);
      ck_assert_str_eq(mica_error_message(),
                       "a width of 33 cannot be shared by the 4 heads of cnn_gru: width must be a multiple of 2");
      continue;
    }
    ck_ok(mica_run_create(test_engine(), &config, &run));
    ck_assert_ptr_nonnull(mica_run_trainer(run));
    mica_run_destroy(run);
  }
}
END_TEST

/* Next times and seasons by how far rows are apart. */
START_TEST(times_go_on) {
  static const struct times {
    const char *table, *next;
    int64_t step, season;
  } times[] = {{"t,a\n2000-11,1\n2000-12,2\n", "2001-02", 2, 12},
               {"t,a\n2000-09,1\n2000-12,2\n", "2001-03", 1, 4},
               {"t,a\n2000-02-27,1\n2000-02-28,2\n", "2000-03-01", 2, 7},
               {"t,a\n2000-12-20,1\n2000-12-27,2\n", "2001-01-10", 2, 52},
               {"t,a\n1999-12-01,1\n2000-01-01,2\n", "2000-03-01", 2, 12},
               {"t,a\n2000-12-31 22:00,1\n2000-12-31 23:00,2\n", "2001-01-01 00:00:00", 1, 24},
               {"year,a\n1999,1\n2000,2\n", "2003", 3, 1},
               /* Last days of months stay such; other days are the last ones of months that are too short. */
               {"t,a\n2019-10-31,1\n2019-11-30,2\n2019-12-31,3\n", "2020-02-29", 2, 12},
               {"t,a\n2019-10-31,1\n2019-11-30,2\n2019-12-31,3\n", "2020-01-31", 1, 12},
               {"t,a\n2020-01-31,1\n2020-02-29,2\n", "2020-03-31", 1, 12},
               {"t,a\n2019-03-31,1\n2019-06-30,2\n2019-09-30,3\n", "2019-12-31", 1, 4},
               {"t,a\n2020-01-30,1\n2020-02-29,2\n2020-03-30,3\n", "2021-02-28", 11, 12},
               {"t,a\n2019-12-30,1\n2020-01-30,2\n", "2020-02-29", 1, 12},
               {"t,a\n2019-11-30 06:00,1\n2019-12-31 06:00,2\n", "2020-02-29 06:00:00", 2, 12},
               {"t,a\n2019-02-28,1\n2020-02-29,2\n", "2021-02-28", 1, 1},
               {"t,a\n2012-02-29,1\n2016-02-29,2\n", "2020-02-29", 1, 1},
               /* 28 days are no month; a gap is no spacing. */
               {"t,a\n2019-01-31,1\n2019-02-28,2\n2019-03-28,3\n", "2019-04-25", 1, 1},
               {"t,a\n2000-01-30,1\n2000-01-31,2\n2000-02-01,3\n", "2000-02-02", 1, 7},
               {"t,a\n2000-01,1\n2000-02,2\n2000-03,3\n2000-05,4\n", "2000-06", 1, 12},
               /* Days as eight digits; times with a distance from UTC, through the end of summer time. */
               {"date,co2\n20011215,1\n20011222,2\n20011229,3\n", "20020105", 1, 52},
               {"v,when\n1,20010228\n2,20010301\n", "20010302", 1, 7},
               {"year,a\n20011231,1\n20011232,2\n", "20011233", 1, 1},
               {"t,a\n2024-10-27T02:00:00+02:00,1\n2024-10-27T02:00:00+01:00,2\n", "2024-10-27 03:00:00+01:00", 1, 24},
               {"t,a\n2024-10-27T22:00Z,1\n2024-10-27T23:00Z,2\n", "2024-10-28 00:00:00Z", 1, 24},
               /* Months and quarters as fractions of years. */
               {"time,a\n1949.0,1\n1949.083,2\n1949.167,3\n1949.25,4\n", "1949.333", 1, 12},
               {"time,a\n1949.0,1\n1949.083,2\n1949.167,3\n", "1949.250", 1, 12},
               {"time,a\n1949.00,1\n1949.25,2\n1949.50,3\n", "1949.750", 1, 4},
               {"a,b\n1,2\n3,4\n", "+3", 3, 1}};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    char content[256], text[48];
    mica__series s;
    snprintf(content, sizeof content, "%s", times[i].table);
    ck_ok(mica__series_read("a table", content, strlen(content), &(mica__series_choice){.time = ""}, &s));
    ck_assert_int_eq(mica__series_season(&s), times[i].season);
    mica__series_next(&s, times[i].step, text, sizeof text);
    ck_assert_str_eq(text, times[i].next);
    mica__series_free(&s);
  }
  /* An empty cell: between its neighbours once both are seen, else the last one. */
  char content[] = "a,b\n1,1\n,1\n3,1\nNA,1\n";
  mica__series s;
  ck_ok(mica__series_read("a table", content, strlen(content), &(mica__series_choice){.time = ""}, &s));
  ck_assert_int_eq(s.empty, 2);
  ck_assert(!mica__series_known(&s, 1, 0) && mica__series_known(&s, 2, 0));
  ck_assert_double_eq(mica__series_at(&s, 1, 0, 3), 2);
  ck_assert_double_eq(mica__series_at(&s, 1, 0, 2), 1);
  ck_assert_double_eq(mica__series_at(&s, 3, 0, 4), 3);
  mica__series_free(&s);
}
END_TEST

/* Row numbers are no series beside another one, if their name says so and each is one more than the last. */
START_TEST(row_numbers_are_no_series) {
  static const struct {
    const char *table, *row_numbers, *first;
    size_t series;
  } tables[] = {{"rownames,time,value\n1,1949.0,5\n2,1949.083,6\n3,1949.167,7\n", "rownames", "value", 1},
                {",date,value\n0,2001-01-01,5\n1,2001-01-02,6\n2,2001-01-03,7\n", "", "value", 1},
                {"id,a\n1,5\n2,6\n4,7\n", NULL, "id", 2},
                {"step,a,b\n1,5,1\n2,6,1\n3,7,1\n", NULL, "a", 2},
                {"id,when\n1,2001-01-01\n2,2001-01-02\n3,2001-01-03\n", NULL, "id", 1}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    char content[256];
    mica__series s;
    snprintf(content, sizeof content, "%s", tables[i].table);
    ck_ok(mica__series_read("a table", content, strlen(content), &(mica__series_choice){.time = ""}, &s));
    ck_assert_uint_eq(s.count, tables[i].series);
    ck_assert_str_eq(s.names[0], tables[i].first);
    if (tables[i].row_numbers)
      ck_assert_str_eq(s.row_numbers, tables[i].row_numbers);
    else
      ck_assert_ptr_null(s.row_numbers);
    mica__series_free(&s);
  }
  char content[] = "a,b,c\n1,5,1\n2,6,1\n3,7,1\n";
  mica__series s;
  ck_ok(
      mica__series_read("a table", content, strlen(content), &(mica__series_choice){.time = "", .ignored = "b,d"}, &s));
  ck_assert_uint_eq(s.count, 2);
  ck_assert_str_eq(s.names[1], "c");
  mica__series_free(&s);
}
END_TEST

/* A series may be called Na; a first row with a missing value is none of names. */
START_TEST(names_may_be_words) {
  char named[] = "date,Na\n2020-01-01,1\n2020-01-02,2\n", bare[] = "2020-01-01,nan\n2020-01-02,2\n2020-01-03,3\n";
  mica__series s;
  ck_ok(mica__series_read("a table", named, strlen(named), &(mica__series_choice){.time = ""}, &s));
  ck_assert_int_eq(s.rows, 2);
  ck_assert_str_eq(s.names[0], "Na");
  mica__series_free(&s);
  ck_ok(mica__series_read("a table", bare, strlen(bare), &(mica__series_choice){.time = ""}, &s));
  ck_assert_int_eq(s.rows, 3);
  ck_assert_int_eq(s.empty, 1);
  ck_assert_str_eq(s.names[0], "1");
  mica__series_free(&s);
}
END_TEST

/* Rows that lack are counted, and the first is named. */
START_TEST(gaps_are_seen) {
  static const struct gaps {
    const char *table;
    int64_t count, first;
  } gaps[] = {{"t,a\n2000-02-27,1\n2000-02-28,2\n2000-02-29,3\n2000-03-01,3\n", 0, 0},
              {"t,a\n2000-02-27,1\n2000-02-28,2\n2000-03-02,3\n2000-03-03,3\n2000-03-04,3\n", 1, 2},
              {"t,a\n2000-11,1\n2000-12,2\n2001-01,3\n2001-03,4\n2001-04,5\n2001-06,6\n", 2, 3},
              {"t,a\n2000-12-31 22:00,1\n2000-12-31 23:00,2\n2001-01-01 00:00,3\n2001-01-01 02:00,4\n", 1, 3},
              {"year,a\n1999,1\n2000,2\n2001,3\n2005,4\n", 1, 3},
              {"step,a\n0.1,1\n0.2,2\n0.3,3\n0.4,4\n", 0, 0},
              {"t,a\n29.12.2000,1\n30.12.2000,2\n", 0, 0},
              {"a,b\n1,2\n3,4\n", 0, 0}};
  for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
    char content[256];
    int64_t first = 0;
    mica__series s;
    snprintf(content, sizeof content, "%s", gaps[i].table);
    ck_ok(mica__series_read("a table", content, strlen(content), &(mica__series_choice){.time = ""}, &s));
    ck_assert_int_eq(mica__series_irregular(&s, &first), gaps[i].count);
    ck_assert_int_eq(first, gaps[i].first);
    mica__series_free(&s);
  }
}
END_TEST

static bool remarks_on(const mica_run *run, const char *what) {
  for (size_t i = 0; mica_run_remark(run, i); i++)
    if (strstr(mica_run_remark(run, i), what)) return true;
  return false;
}

/* A table to be predicted or tested on is looked at as the one that is learned, and named. */
START_TEST(gaps_are_said) {
  const mica_setting small[] = {{"horizon", "2"}, {"window", "4"}, {"epochs", "1"}, {"model", "linear"}};
  char days[32 * 24] = "day,a\n", holes[32 * 24] = "day,a\n", line[24];
  for (int i = 1; i <= 28; i++) {
    snprintf(line, sizeof line, "2021-02-%02d,%d\n", i, i * i % 7);
    strcat(days, line);
    if (i == 20) snprintf(line, sizeof line, "2021-02-20,\n");
    if (i != 26) strcat(holes, line);
  }
  files_write("days.csv", (const uint8_t *)days, strlen(days));
  files_write("holes.csv", (const uint8_t *)holes, strlen(holes));
  snprintf(data, sizeof data, "%s", files_path("days.csv"));
  char other[512];
  snprintf(other, sizeof other, "%s", files_path("holes.csv"));
  mica_run *run = create(data, folder, small, 4);
  ck_ok(mica_run_fit(run));
  ck_assert(!remarks_on(run, "empty cell") && !remarks_on(run, "one step"));
  mica_run_destroy(run);
  for (int way = 0; way < 3; way++) {
    const char *files[] = {other};
    mica_metrics metrics;
    ck_ok(mica_run_open(test_engine(), folder, &run));
    mica_free(predict(run, &(mica_run_input){.files = (const char *[]){data}, .file_count = 1}));
    ck_assert_ptr_null(mica_run_remark(run, 0));
    if (way == 0) mica_free(predict(run, &(mica_run_input){.files = files, .file_count = 1}));
    if (way == 1) mica_free(predict(run, &(mica_run_input){.data = other, .part = MICA_PART_TEST, .count = 1}));
    if (way == 2) ck_ok(mica_run_evaluate(run, other, MICA_PART_TEST, &metrics));
    ck_assert_msg(remarks_on(run, "holes.csv: 1 row is not one step after the previous row, the first \"2021-02-27\""),
                  "%d", way);
    ck_assert_msg(remarks_on(run, "holes.csv: 1 empty cell: read by interpolation"), "%d", way);
    ck_assert_ptr_null(mica_run_remark(run, 2));
    mica_run_destroy(run);
  }
}
END_TEST

static const float *sample(const mica_dataset *set, const char *name, int i) {
  static float numbers[4 * SEASON];
  const size_t column = mica_dataset_column_index(set, name);
  const mica_shape shape = mica_dataset_column(set, column)->shape;
  const size_t count = (size_t)(shape.dim[0] * shape.dim[1]);
  ck_assert_uint_le(count, 4 * SEASON);
  ck_ok(mica_dataset_read(set, column, (uint64_t)i, numbers, count * sizeof *numbers));
  return numbers;
}

/* Months, north from row `begins` on. */
static void write_late(const char *name, int begins) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("month,north,south\n", file);
  for (int i = 0; i < ROWS; i++) {
    fprintf(file, "%d-%02d,", 1999 + (i + 10) / 12, (i + 10) % 12 + 1);
    if (i >= begins) test_print(file, "%.4f", 1000 + value_at(i, 0));
    test_print(file, ",%.4f\n", value_at(i, 1));
  }
  fclose(file);
}

/* Before a series' first value nothing is known of it: it is 0 to the network, and no answer. */
START_TEST(series_begin_late) {
  enum { BEGINS = 40, WINDOW = 2 * SEASON };
  write_late("late.csv", BEGINS);
  snprintf(data, sizeof data, "%s", files_path("late.csv"));
  mica_run *run = create(data, folder, settings, SETTINGS);
  const mica_dataset *train = mica_run_data(run, MICA_PART_TRAIN);
  for (int origin = WINDOW; origin < BEGINS + 4; origin++) {
    const bool seen = origin > BEGINS;
    const int i = origin - WINDOW;
    const float *target = sample(train, "target", i);
    ck_assert_msg((target[2] != 0) == seen && target[3] != 0, "origin %d: %g, %g", origin, target[2], target[3]);
    const float *known = sample(train, "known", i);
    ck_assert(known[0] == (seen ? 1 : 0) && known[1] == 1);
    /* A level is measured from the first value on: it is no thousand below. */
    const float *level = sample(train, "level", i);
    ck_assert_msg((level[0] != 0) == seen && fabsf(level[0]) < 4, "origin %d: %g", origin, level[0]);
    const float *window = sample(train, "window", i);
    for (int t = 0; !seen && t < WINDOW; t++) ck_assert(window[2 * t] == 0);
  }
  ck_ok(mica_run_fit(run));
  char *text = predict(run, &(mica_run_input){.data = data, .part = MICA_PART_TRAIN, .count = 1});
  ck_assert_msg(strstr(text, "from 2001-11") && strstr(text, "null"), "%s", text);
  mica_free(text);
  mica_run_destroy(run);
  /* Alone, its origins begin behind the first value. */
  const mica_setting alone[] = {{"horizon", "6"}, {"label", "north"}};
  run = create(data, NULL, alone, 2);
  train = mica_run_data(run, MICA_PART_TRAIN);
  ck_assert_float_eq(sample(train, "known", 0)[0], 1);
  ck_assert_int_eq((int)mica_dataset_count(train), ROWS * 4 / 5 - 19 - HORIZON - BEGINS);
  mica_run_destroy(run);
  write_late("late.csv", ROWS - 20);
  for (size_t i = 1; i <= 2; i++) {
    const mica_run_config config = {.task = "forecast", .data = data, .settings = alone, .setting_count = i};
    ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(),
                         i == 1 ? "column 'north' is empty up to row 220, but training needs values in rows up to 173"
                                : "the first value to forecast is in row 221"),
                  "%s", mica_error_message());
  }
}
END_TEST

START_TEST(a_step_costs_launches_alone) {
  mica_run *run = create(data, NULL, settings, SETTINGS);
  mica_loader *loader = NULL;
  uint64_t waits = 0, allocations = 0, builds = 0;
  uint64_t steps = 0;
  const mica_loader_config config = {.batch = 16, .shuffle = true, .drop_last = true};
  ck_ok(mica_loader_create(test_engine(), mica_run_data(run, MICA_PART_TRAIN), &config, &loader));
  const mica_batch_source source = mica_loader_source(loader);
  for (int epoch = 0; epoch < 2; epoch++)
    for (mica_batch batch = {0};;) {
      ck_ok(source.next(source.user, test_queue(), &batch));
      if (!batch.count) break;
      const mica_stats before = mica_engine_stats(test_engine());
      ck_ok(mica_trainer_step(mica_run_trainer(run), &batch));
      const mica_stats after = mica_engine_stats(test_engine());
      if (!epoch) continue;
      steps++;
      waits += after.host_waits - before.host_waits;
      allocations += after.allocations - before.allocations;
      builds += after.kernel_builds - before.kernel_builds;
    }
  ck_assert_uint_gt(steps, 5);
  ck_assert_uint_eq(waits, 0);
  ck_assert_uint_eq(allocations, 0);
  ck_assert_uint_eq(builds, 0);
  mica_loader_destroy(loader);
  mica_run_destroy(run);
}
END_TEST

TESTS(DEVICE, begin, files_remove, series_are_forecast, what_is_wrong_is_said, widths_suit_the_heads, times_go_on,
      names_may_be_words, row_numbers_are_no_series, gaps_are_seen, gaps_are_said, series_begin_late,
      a_step_costs_launches_alone)
