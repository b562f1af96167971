/* labels: null single
 *
 * Every setting of every task is given what it cannot be: texts, trailing letters, blanks, fractions of whole numbers,
 * what is no number, and numbers beyond its bounds or what integers hold. Each is refused before any data is read, in a
 * sentence that begins with the setting; the bounds themselves are taken. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static mica_status check_one(const char *task, const char *name, const char *value) {
  char folder[512];
  snprintf(folder, sizeof folder, "%s/run", files_folder());
  const mica_setting setting = {name, value};
  return mica_run_check(&(mica_run_config){
      .data = files_path("data"), .task = task, .folder = folder, .settings = &setting, .setting_count = 1});
}

static void refuses(const char *task, const mica_setting_row *row, const char *value) {
  const char *of = task ? task : "all";
  ck_assert_msg(check_one(task, row->name, value) == MICA_E_INVALID, "%s: %s takes \"%s\"", of, row->name, value);
  const char *sentence = mica_error_message();
  ck_assert_msg(!strncmp(sentence, row->name, strlen(row->name)), "%s: of %s \"%s\" is said: %s", of, row->name, value,
                sentence);
  ck_assert_msg(!strchr(sentence, '\n'), "%s", sentence);
}

static void takes(const char *task, const mica_setting_row *row, double number) {
  char value[64];
  snprintf(value, sizeof value, row->kind == MICA_SETTING_KIND_INT ? "%.0f" : "%.17g", number);
  ck_assert_msg(check_one(task, row->name, value) == MICA_OK, "%s: %s", task ? task : "all", mica_error_message());
}

static void check_number(const char *task, const mica_setting_row *row) {
  static const char *const no_numbers[] = {"",     "abc", "1x",   "1,",       "1 ",   " 1",    "\t1",   "nan",
                                           "-nan", "inf", "-inf", "infinity", "0x10", "0X1p1", "1e999", "--1",
                                           "+-1",  "1e",  ".",    "-",        "+",    "=",     "1,000"};
  static const char *const no_integers[] = {"1.5",
                                            "0.5",
                                            "1e1",
                                            "1.",
                                            "18446744073709551616",
                                            "9223372036854775808",
                                            "-9223372036854775809",
                                            "340282366920938463463374607431768211456"};
  const bool whole = row->kind == MICA_SETTING_KIND_INT;
  char value[64];
  for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) refuses(task, row, no_numbers[i]);
  for (size_t i = 0; whole && i < sizeof no_integers / sizeof *no_integers; i++) refuses(task, row, no_integers[i]);
  ck_assert_msg(isfinite(row->low) && isfinite(row->high) && row->low < row->high, "%s has no bounds", row->name);
  ck_assert_msg(!whole || (row->low == floor(row->low) && row->high == floor(row->high)), "%s", row->name);
  ck_assert_msg(!whole || row->high <= 0x1p53, "%s is above what a double holds", row->name);
  const double below = whole ? row->low - 1 : nextafter(row->low, -INFINITY);
  const double above = whole ? row->high + 1 : nextafter(row->high, INFINITY);
  snprintf(value, sizeof value, whole ? "%.0f" : "%.17g", below);
  refuses(task, row, value);
  snprintf(value, sizeof value, whole ? "%.0f" : "%.17g", above);
  if (row->high < 0x1p53) refuses(task, row, value);
  refuses(task, row, "1e99");
  refuses(task, row, "-1e99");
  takes(task, row, row->low);
  takes(task, row, row->high);
  if (row->low <= 0 && row->high >= 0) takes(task, row, 0);
}

static size_t check_rows(const char *task) {
  static const char *const no_words[] = {"", "abc", "0", " ", ",", "%s%n", "None "};
  size_t count = 0;
  for (const mica_setting_row *row = mica_task_settings(task); row && row->name; row++, count++) switch (row->kind) {
    case MICA_SETTING_KIND_INT:
    case MICA_SETTING_KIND_REAL: check_number(task, row); break;
    case MICA_SETTING_KIND_FLAG:
      for (size_t i = 0; i < sizeof no_words / sizeof *no_words; i++) refuses(task, row, no_words[i]);
      break;
    case MICA_SETTING_KIND_CHOICE:
      for (size_t i = 0; i < sizeof no_words / sizeof *no_words; i++) refuses(task, row, no_words[i]);
      for (size_t i = 0; row->names(i); i++) ck_ok(check_one(task, row->name, row->names(i)));
      break;
    case MICA_SETTING_KIND_PATH:
      refuses(task, row, "");
      refuses(task, row, files_path("none"));
      break;
    case MICA_SETTING_KIND_TEXT: break; /* what is said of data, which are read first */
    }
  return count;
}

START_TEST(what_no_setting_takes_is_refused) {
  size_t count = check_rows(NULL);
  for (size_t i = 0; mica_task_name(i); i++) count += check_rows(mica_task_name(i));
  ck_assert_uint_ge(count, 150);
}
END_TEST

/* Texts that are lists of a form of their own. */
START_TEST(lists_are_checked) {
  static const char *const wrong[][2] = {{"augment", "blur"},
                                         {"augment", "crop=x"},
                                         {"augment", "rotate=nan"},
                                         {"augment", "rotate=1e99"},
                                         {"augment", "crop,,flip"},
                                         {"augment", "crop,"},
                                         {"augment", "=1"},
                                         {"augment", "rotate=-1"},
                                         {"augment", "rotate=15x"},
                                         {"augment", "crop=1.5"},
                                         {"augment", "flip=2"},
                                         {"augment", "crop,flip,crop=2"},
                                         {"augment", "rotate=0x10"},
                                         {"augment", "rotate= 5"},
                                         {"augment", "rotate=inf"},
                                         {"kinds", "a"},
                                         {"kinds", "a=b"},
                                         {"kinds", "=class"},
                                         {"kinds", "a=class,"},
                                         {"model", "resnet19"},
                                         {"model", ","}};
  files_write_text("data.csv", "a,b\n1,2\n");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(check_one(NULL, wrong[i][0], wrong[i][1]) == MICA_E_INVALID, "%s takes \"%s\"", wrong[i][0],
                  wrong[i][1]);
    ck_assert_msg(strlen(mica_error_message()) > 0, "%s", wrong[i][0]);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, what_no_setting_takes_is_refused, lists_are_checked)
