/* labels: null
 *
 * Kinds of columns that are said: numbers that are classes, texts that are none, names of languages; and what is no
 * such list. */
#include "data/table/table.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static mica_status open_table(const char *text, const char *kinds, mica_dataset **dataset) {
  files_write_text("table.csv", text);
  return mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.kinds = kinds}, dataset);
}

static const mica_column *column_of(const mica_dataset *dataset, const char *name) {
  const mica_column *column = mica_dataset_column(dataset, mica_dataset_column_index(dataset, name));
  ck_assert_msg(column != NULL, "no column %s", name);
  return column;
}

static const char coded[] = "zip,level,width,y\n10115,1,007,0.5\n80331,A,012,1.5\n10115,2,7,2.5\n";

START_TEST(numbers_may_be_classes) {
  mica_dataset *d = NULL;
  ck_assert_int_eq(open_table(coded, NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "column \"level\" holds \"A\" instead of a number"));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "; if they are classes of an input, --kinds level=class"));
  ck_ok(open_table(coded, "zip=class,level=class,width=number", &d));
  ck_assert_int_eq(column_of(d, "zip")->classes, 2);
  ck_assert_str_eq(mica_dataset_column_class(d, mica_dataset_column_index(d, "zip"), 1), "80331");
  ck_assert_int_eq(column_of(d, "level")->classes, 3);
  ck_assert_str_eq(mica_dataset_column_class(d, mica_dataset_column_index(d, "level"), 2), "A");
  float width = 0;
  ck_assert_int_eq(column_of(d, "x")->shape.dim[0], 1);
  ck_ok(mica_dataset_read(d, mica_dataset_column_index(d, "x"), 0, &width, sizeof width));
  ck_assert_float_eq(width, 7);
  mica_dataset_destroy(d);
  /* What is not said is as the cells are: digits behind a zero are names, 007 another one than 7. */
  ck_ok(open_table(coded, "level=class", &d));
  ck_assert_int_eq(column_of(d, "x")->shape.dim[0], 1);
  ck_assert_int_eq(column_of(d, "width")->classes, 3);
  mica_dataset_destroy(d);
}
END_TEST

/* Columns without a header are named by their positions; a cell that holds such a number makes no header. */
START_TEST(numbers_of_columns_are_no_header) {
  mica_dataset *d = NULL;
  ck_ok(open_table("0.5,0.25,0\n0.75,0.5,1\n0.25,1.5,0\n", "0=number,1=number", &d));
  ck_assert_uint_eq(mica_dataset_count(d), 3);
  ck_assert_int_eq(column_of(d, "label")->classes, 2);
  mica_dataset_destroy(d);
}
END_TEST

/* Pairs of texts, of which few differ; a number stays one. */
START_TEST(texts_may_be_no_classes) {
  static const char pairs[] = "en,score,de\na dog,1,ein Hund\na cat,2,eine Katze\na dog,3,ein Hund\n";
  mica_dataset *d = NULL;
  ck_ok(open_table(pairs, NULL, &d));
  ck_assert_int_eq(column_of(d, "en")->kind, MICA_COLUMN_KIND_CLASS);
  mica_dataset_destroy(d);
  ck_ok(open_table(pairs, "*=text", &d));
  ck_assert_int_eq(column_of(d, "en")->kind, MICA_COLUMN_KIND_TEXT);
  ck_assert_int_eq(column_of(d, "label")->kind, MICA_COLUMN_KIND_TEXT);
  ck_assert_int_eq(column_of(d, "x")->shape.dim[0], 1);
  mica_dataset_destroy(d);
  ck_ok(open_table(pairs, "*=text,en=class", &d));
  ck_assert_int_eq(column_of(d, "en")->kind, MICA_COLUMN_KIND_CLASS);
  mica_dataset_destroy(d);
}
END_TEST

/* The first line names the columns only where it is of names of languages, each once. */
START_TEST(languages_are_names) {
  static const struct {
    const char *first;
    bool names;
  } lines[] = {{"en,de", true},
               {"EN,pt-BR", true},
               {"source text,Target", true},
               {"English,translation.de", true},
               {"en,en", false},
               {"Si,Da", false},
               {"go,va", false},
               {"a dog,ein Hund", false},
               {"en,", false},
               {"en,de.", true},
               {"english:,de", false}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char text[256];
    mica_dataset *d = NULL;
    snprintf(text, sizeof text, "%s\na dog,ein Hund\na cat,eine Katze\nthe cat,die Katze\n", lines[i].first);
    ck_ok(open_table(text, "*=text", &d));
    ck_assert_msg(mica_dataset_count(d) == (lines[i].names ? 3 : 4), "%s", lines[i].first);
    mica_dataset_destroy(d);
  }
}
END_TEST

START_TEST(what_is_no_list_is_said) {
  static const char *const wrong[][2] = {{"zip", "\"zip\" must have the form NAME=KIND"},
                                         {"=class", "\"=class\" must have the form NAME=KIND"},
                                         {"zip=", "\"zip=\": a kind must be number, class, text or time"},
                                         {"zip=Class", "\"zip=Class\": a kind must be number, class, text or time"},
                                         {"zip=class,,y=number", "\"\" must have the form NAME=KIND"},
                                         {"zip=class,", "nothing follows the comma after \"zip=class\""},
                                         {"*=class", "the only kind for * is text"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica_dataset *d = NULL;
    ck_assert_int_eq(open_table(coded, wrong[i][0], &d), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), wrong[i][1]) != NULL, "%s: %s", wrong[i][0], mica_error_message());
  }
}
END_TEST

/* Days as eight digits, and moments with a distance from UTC. A number among them, or one row, makes them numbers. */
START_TEST(dates_are_times) {
  mica_dataset *d = NULL;
  for (uint64_t memory = 0; memory < 2; memory++) {
    files_write_text("table.csv", "day,at,a,label\n20011229,2024-10-27T02:30+02:00,1,x\n"
                                  "20020105,2024-10-27T02:30+01:00,2,y\n");
    ck_ok(mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.memory = memory}, &d));
    static const struct {
      const char *name;
      uint64_t sample;
      int64_t seconds;
    } want[] = {{"day", 0, 1009584000}, {"day", 1, 1010188800}, {"at", 0, 1729989000}, {"at", 1, 1729992600}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
      int64_t seconds = 0;
      ck_assert_int_eq(column_of(d, want[i].name)->kind, MICA_COLUMN_KIND_TIME);
      ck_ok(mica_dataset_read(d, mica_dataset_column_index(d, want[i].name), want[i].sample, &seconds, sizeof seconds));
      ck_assert_int_eq(seconds, want[i].seconds);
    }
    mica_dataset_destroy(d);
  }
  ck_assert_int_eq(open_table("when,label\n2024-02-28,a\n2024-02-29,b\n2024-02-30,a\n", NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "table.csv line 4: column \"when\" holds \"2024-02-30\", and"));
  ck_assert_int_eq(open_table("when,label\n2024-02-28,a\n2024-02-30,a\n", "when=time", &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "line 3: column \"when\" holds \"2024-02-30\""));
  static const char *const numbers[] = {"day,label\n20011229,x\n20011232,y\n", "day,label\n20011229,x\n"};
  for (size_t i = 0; i < 2; i++) {
    ck_ok(open_table(numbers[i], NULL, &d));
    ck_assert_int_eq(column_of(d, "x")->kind, MICA_COLUMN_KIND_NUMBER);
    mica_dataset_destroy(d);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, numbers_may_be_classes, numbers_of_columns_are_no_header, texts_may_be_no_classes,
      languages_are_names, what_is_no_list_is_said, dates_are_times)
