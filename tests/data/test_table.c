/* labels: null
 *
 * Tables as text: what is understood of their columns, from memory and from the file alike, and what is refused with a
 * sentence that names the line. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static mica_dataset *open_table(const char *text, mica_dataset_config config) {
  mica_dataset *dataset = NULL;
  files_write_text("table.csv", text);
  ck_ok(mica_dataset_open(files_path("table.csv"), &config, &dataset));
  return dataset;
}

static const mica_column *column_of(const mica_dataset *dataset, const char *name) {
  const mica_column *column = mica_dataset_column(dataset, mica_dataset_column_index(dataset, name));
  ck_assert_msg(column != NULL, "no column %s", name);
  return column;
}

static float number_at(const mica_dataset *dataset, uint64_t sample, int64_t index) {
  float row[16];
  const size_t k = mica_dataset_column_index(dataset, "x");
  ck_ok(mica_dataset_read(dataset, k, sample, row, (size_t)column_of(dataset, "x")->shape.dim[0] * sizeof *row));
  return row[index];
}

/* The name of the class of a sample. */
static const char *class_at(const mica_dataset *dataset, const char *name, uint64_t sample) {
  const size_t k = mica_dataset_column_index(dataset, name);
  int32_t class_index = -1;
  ck_ok(mica_dataset_read(dataset, k, sample, &class_index, sizeof class_index));
  return mica_dataset_column_class(dataset, k, class_index);
}

static void check_text(const mica_dataset *dataset, const char *name, uint64_t sample, const char *want) {
  const size_t k = mica_dataset_column_index(dataset, name);
  char text[64] = "";
  int64_t length = 0;
  ck_ok(mica_dataset_length(dataset, k, sample, &length));
  ck_assert_int_lt(length, (int64_t)sizeof text);
  ck_ok(mica_dataset_read(dataset, k, sample, text, (size_t)length));
  ck_assert_str_eq(text, want);
}

static const char *const typed = "size,colour,when,note,Class\n"
                                 "1.5,red,2026-01-31,\"a, \"\"b\"\"\nc\",yes\n"
                                 "-2,blue,2026-02-01 10:00:00,,no\n"
                                 "3e2,red,1970-01-01T00:00:01Z,  plain ,yes\n";

START_TEST(columns_have_kinds) {
  for (int in_file = 0; in_file < 2; in_file++) {
    mica_dataset *d = open_table(typed, (mica_dataset_config){.kinds = "note=text", .memory = in_file ? 1 : 0});
    ck_assert_uint_eq(mica_dataset_count(d), 3);
    ck_assert_uint_eq(mica_dataset_column_count(d), 5);
    ck_assert_str_eq(mica_dataset_summary(d), "5 columns, label 'Class', 2 classes, time 'when', text 'note'");
    ck_assert_str_eq(mica_dataset_number_name(d, mica_dataset_column_index(d, "x"), 0), "size");
    ck_assert_int_eq(column_of(d, "colour")->kind, MICA_COLUMN_KIND_CLASS);
    ck_assert_int_eq(column_of(d, "when")->kind, MICA_COLUMN_KIND_TIME);
    ck_assert_int_eq(column_of(d, "note")->kind, MICA_COLUMN_KIND_TEXT);
    ck_assert_float_eq(number_at(d, 0, 0), 1.5f);
    ck_assert_float_eq(number_at(d, 2, 0), 300.0f);
    ck_assert_str_eq(class_at(d, "colour", 1), "blue");
    ck_assert_str_eq(class_at(d, "label", 0), "yes");
    ck_assert_str_eq(mica_dataset_class_name(d, mica_dataset_label(d, 1)), "no");
    check_text(d, "note", 0, "a, \"b\"\nc");
    check_text(d, "note", 1, "");
    check_text(d, "note", 2, "plain");
    int64_t when[3];
    for (uint64_t i = 0; i < 3; i++)
      ck_ok(mica_dataset_read(d, mica_dataset_column_index(d, "when"), i, &when[i], sizeof *when));
    ck_assert_int_eq(when[0], INT64_C(1769817600));
    ck_assert_int_eq(when[1], INT64_C(1769940000));
    ck_assert_int_eq(when[2], 1);
    mica_dataset_destroy(d);
  }
}
END_TEST

START_TEST(headers_are_told_from_values) {
  static const struct {
    const char *text;
    uint64_t samples;
    int32_t classes;
  } cases[] = {
      {"a,b,label\n1,2,cat\n3,4,dog\n", 2, 2},
      {"1,2,cat\n3,4,dog\n", 2, 2},
      {"a,b,c\n1,2,0\n3,4,1\n", 2, 2},
      {"label;text\nham;one, two\nspam;three\nham;four, five\n", 3, 2},
      {"Class\ttext\nham\tone, two, three\nspam\tfour\n", 2, 2},
      {"\xef\xbb\xbf"
       "a,label\r\n1,2\r\n2,2.0\r\n3,0\r\n",
       3, 2},
      {"\n# aside\na,label\n\n1,x\n", 1, 1},
      {"a,,a,label\n1,2,3,x\n4,5,6,y\n", 2, 2}, /* a, 1, a.2 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_dataset *d = open_table(cases[i].text, (mica_dataset_config){0});
    ck_assert_msg(mica_dataset_count(d) == cases[i].samples, "%zu", i);
    ck_assert_msg(mica_dataset_classes(d) == cases[i].classes, "%zu: %d", i, mica_dataset_classes(d));
    mica_dataset_destroy(d);
  }
  /* Above words alone a header is what never comes again where others do. */
  static const struct {
    const char *first;
    uint64_t samples;
    int32_t classes;
  } words[] = {{"v1,v2", 12, 2}, {"ham,hello you", 13, 2}, {"ham,v2", 13, 2}, {"kind,?", 13, 3}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "%s\n", words[i].first);
    for (int k = 0; k < 12; k++)
      at += (size_t)snprintf(text + at, sizeof text - at, "%s,message %c\n", k % 3 ? "ham" : "spam", 'a' + k);
    mica_dataset *d = open_table(text, (mica_dataset_config){.label_column = "0"});
    ck_assert_msg(mica_dataset_count(d) == words[i].samples, "%zu: %d", i, (int)mica_dataset_count(d));
    ck_assert_msg(mica_dataset_classes(d) == words[i].classes, "%zu: %d", i, mica_dataset_classes(d));
    mica_dataset_destroy(d);
  }
  /* A missing cell in the first line is no name. */
  mica_dataset *d = open_table("1,?,a\n2,3,b\n3,5,a\n", (mica_dataset_config){.missing = MICA_MISSING_MEAN});
  ck_assert_uint_eq(mica_dataset_count(d), 3);
  ck_assert_float_eq(number_at(d, 0, 1), 4.0f);
  ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "missing numbers"));
  mica_dataset_destroy(d);
}
END_TEST

START_TEST(labels_are_classes_or_numbers) {
  mica_dataset *d = open_table("a,label\n1,2.0\n2,2\n3,cat\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 2); /* 2 and cat */
  ck_assert_str_eq(mica_dataset_class_name(d, 0), "2");
  mica_dataset_destroy(d);
  d = open_table("a,label\n1,-1\n2,1\n3,-1\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 2);
  ck_assert_str_eq(mica_dataset_class_name(d, 0), "-1");
  mica_dataset_destroy(d);
  /* Whole numbers are the classes of their numbers, or where some are left out the values that occur. */
  d = open_table("a,label\n1,1\n2,0\n3,2\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 3);
  ck_assert_int_eq(mica_dataset_label(d, 2), 2);
  mica_dataset_destroy(d);
  d = open_table("a,label\n1,9\n2,3.0\n3,10\n4,3\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 3);
  static const char *const occurring[] = {"3", "9", "10"};
  for (int32_t i = 0; i < 3; i++) ck_assert_str_eq(mica_dataset_class_name(d, i), occurring[i]);
  ck_assert_int_eq(mica_dataset_label(d, 0), 1);
  ck_assert_int_eq(mica_dataset_label(d, 1), 0);
  mica_dataset_destroy(d);
  char text[2048] = "a,price\n";
  for (int i = 0; i < 30; i++) snprintf(text + strlen(text), 32, "%d,%d.5\n", i, i);
  d = open_table(text, (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 0);
  ck_assert_float_eq(mica_dataset_target(d, 3), 3.5f);
  ck_assert_str_eq(mica_dataset_summary(d), "2 columns, label 'price', a number");
  mica_dataset_destroy(d);
  d = open_table("target,a\n3,1\n4,2\n", (mica_dataset_config){.regression = true});
  ck_assert_float_eq(mica_dataset_target(d, 1), 4.0f);
  mica_dataset_destroy(d);
  d = open_table("user,item,label\n900,7,1\n20,7,0\n900,8,1\n",
                 (mica_dataset_config){.kinds = "user=class,item=class"});
  ck_assert_uint_eq(mica_dataset_column_count(d), 3);
  ck_assert_int_eq(column_of(d, "user")->classes, 2);
  ck_assert_str_eq(class_at(d, "user", 1), "20");
  mica_dataset_destroy(d);
}
END_TEST

START_TEST(what_goes_with_another_table_follows_it) {
  static const char *const others[] = {"colour,label,b,a\nred,yes,20,10\nblue,no,40,30\n", /* another order */
                                       "a,b,colour\n10,20,red\n30,40,blue\n"};             /* no label */
  mica_dataset *train =
      open_table("a,b,colour,label\n1,2,red,no\n3,4,blue,yes\n5,6,green,maybe\n", (mica_dataset_config){0});
  for (int in_file = 0; in_file < 2; in_file++)
    for (int i = 0; i < 2; i++) {
      mica_dataset *d = open_table(others[i], (mica_dataset_config){.like = train, .memory = in_file ? 1 : 0});
      ck_assert_uint_eq(mica_dataset_count(d), 2);
      ck_assert_float_eq(number_at(d, 0, 0), 10.0f);
      ck_assert_float_eq(number_at(d, 1, 1), 40.0f);
      ck_assert_str_eq(class_at(d, "colour", 0), "red");
      ck_assert_int_eq(column_of(d, "colour")->classes, 3);
      if (i == 0) {
        ck_assert_int_eq(mica_dataset_classes(d), 3);
        ck_assert_str_eq(class_at(d, "label", 0), "yes");
      } else {
        ck_assert_uint_eq(mica_dataset_column_index(d, "label"), mica_dataset_column_count(d));
      }
      mica_dataset_destroy(d);
    }
  static const char *const wrong[][2] = {
      {"a,colour,label\n1,red,no\n", "column \"b\""},
      {"a,b,colour,label\n1,2,red,perhaps\n", "line 2: column \"label\" holds \"perhaps\""},
      {"a,b,colour,label\n1,x,red,no\n", "line 2: column \"b\" holds \"x\""},
      {"a,b,colour,label\n1,?,red,no\n", "line 2: column \"b\" holds \"?\""},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica_dataset *d = NULL;
    files_write_text("table.csv", wrong[i][0]);
    ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.like = train}, &d),
                     MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), wrong[i][1]) != NULL, "%zu: %s", i, mica_error_message());
  }
  mica_dataset_destroy(train);
  /* Each of two columns of one name keeps its own cells. */
  train = open_table(",a,,a,label\n0,1,2,3,0\n1,4,5,6,1\n", (mica_dataset_config){0});
  mica_dataset *d = open_table(",a,,a,label\n7,8,9,10,0\n1,4,5,6,1\n", (mica_dataset_config){.like = train});
  ck_assert_uint_eq(mica_dataset_count(d), 2);
  for (int k = 0; k < 4; k++) ck_assert_float_eq(number_at(d, 0, k), (float)(7 + k));
  mica_dataset_destroy(d);
  mica_dataset_destroy(train);
  /* Elsewhere, too: the second column of a name is that in any order. */
  train = open_table("a,b,a,a.1,label\n0,1,2,3,0\n1,4,5,6,1\n", (mica_dataset_config){0});
  ck_assert_str_eq(mica_dataset_summary(train),
                   "5 columns, label 'label', 2 classes, names that repeat have numbers, as 'a.1'");
  d = open_table("label,a,a,a.1,b\n0,7,9,10,8\n1,4,5,6,1\n", (mica_dataset_config){.like = train});
  for (int k = 0; k < 4; k++) ck_assert_float_eq(number_at(d, 0, k), (float)(7 + k));
  mica_dataset_destroy(d);
  mica_dataset_destroy(train);
}
END_TEST

START_TEST(samples_know_their_lines) {
  static const char text[] = "# a remark\na,note,y\n1,\"two\nlines\",0\n\n2,one,1\n3,one,0\n4,one,1\n";
  static const uint64_t lines[] = {3, 6, 7, 8};
  for (uint64_t memory = 0; memory < 2; memory++) {
    mica_dataset *d = open_table(text, (mica_dataset_config){.memory = memory}), *part = NULL, *rest = NULL;
    for (uint64_t i = 0; i < 4; i++) ck_assert_uint_eq(mica_dataset_line(d, i), lines[i]);
    ck_assert_uint_eq(mica_dataset_line(d, 4), 0);
    ck_assert_ptr_null(mica_dataset_file(d, 0));
    ck_ok(mica_dataset_split(d, 0.5, 1, &part, &rest));
    for (uint64_t i = 0; i < 2; i++)
      ck_assert_uint_eq(mica_dataset_line(part, i), lines[(int)number_at(part, i, 0) - 1]);
    mica_dataset_destroy(part);
    mica_dataset_destroy(rest);
    mica_dataset_destroy(d);
  }
}
END_TEST

START_TEST(blanks_in_quotes_are_no_part_of_a_class) {
  mica_dataset *d =
      open_table("colour,a,y\n red ,1,\" yes\"\n\"red \",2,yes\n\" blue, dark \",3, no\n", (mica_dataset_config){0});
  const size_t colour = mica_dataset_column_index(d, "colour");
  ck_assert_int_eq(mica_dataset_column(d, colour)->classes, 2);
  ck_assert_str_eq(mica_dataset_column_class(d, colour, 0), "blue, dark");
  ck_assert_int_eq(mica_dataset_classes(d), 2);
  ck_assert_str_eq(mica_dataset_class_name(d, 1), "yes");
  mica_dataset_destroy(d);
}
END_TEST

/* Labels of a database: 1000000 is a name. Many different ones are refused below. */
START_TEST(few_large_numbers_are_names_of_classes) {
  mica_dataset *d = open_table("a,y\n1,1000000\n2,2000000\n3,1000000\n4,2000000\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 2);
  ck_assert_str_eq(mica_dataset_class_name(d, 1), "2000000");
  ck_assert_int_eq(mica_dataset_label(d, 3), 1);
  mica_dataset_destroy(d);
}
END_TEST

static void expect_classes(const char *text, const char *const *names, int32_t count, const char *said) {
  for (int in_file = 0; in_file < 2; in_file++) {
    mica_dataset *d = open_table(text, (mica_dataset_config){.memory = in_file ? 1 : 0});
    ck_assert_int_eq(mica_dataset_classes(d), count);
    for (int32_t i = 0; i < count; i++) ck_assert_str_eq(mica_dataset_class_name(d, i), names[i]);
    ck_assert_msg(strstr(mica_dataset_summary(d), said) != NULL, "%s", mica_dataset_summary(d));
    /* Each row is of the class that it names: what goes with the table too. */
    mica_dataset *other = NULL;
    ck_ok(mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.like = d}, &other));
    for (uint64_t i = 0; i < mica_dataset_count(d); i++)
      ck_assert_int_eq(mica_dataset_label(other, i), mica_dataset_label(d, i));
    mica_dataset_destroy(other);
    mica_dataset_destroy(d);
  }
}

/* 01, 1 and 1.0 are three classes of texts and one of numbers; none and NA are classes among names. */
START_TEST(names_of_classes_stay_what_they_are) {
  static const char *const texts[] = {"01", "1", "1.0"}, *const numbers[] = {"1", "7"},
                           *const words[] = {"NA", "none", "x"};
  static const char *const alone[] = {"NA", "NULL"}, *const exponents[] = {"1000", "1e3"};
  expect_classes("a,label\n1,01\n2,1\n3,1.0\n4,01\n", texts, 3,
                 "classes of 'label' are compared as texts: 01 is not 1");
  expect_classes("a,label\n1,1.0\n2,1\n3,7\n4,7\n", numbers, 2, "2 classes");
  expect_classes("a,label\n1,1e3\n2,1000\n3,1e3\n4,1e3\n", exponents, 2, "are compared as texts");
  expect_classes("a,label\n1,none\n2,NA\n3,x\n4,none\n", words, 3, "'label' has classes named 'none', 'NA'");
  expect_classes("a,label\n1,NA\n2,NULL\n3,NA\n4,NULL\n", alone, 2, "has classes named");
  mica_dataset *d = open_table("a,kind,label\n1,NA,1\n2,none,0\n3,NA,1\n", (mica_dataset_config){0});
  ck_assert_int_eq(column_of(d, "kind")->classes, 2);
  ck_assert_str_eq(class_at(d, "kind", 1), "none");
  mica_dataset_destroy(d);
}
END_TEST

/* Seconds since 1970, of which f32 has each 128th. */
START_TEST(large_numbers_keep_their_digits_above_a_base) {
  static const char *const text = "t,a,y\n1700000000,1,5000000000.25\n1700000999,2,5000000001.5\n1700000001,3,"
                                  "5000000003\n";
  static const char *const later = "y,a,t\n5000000002.75,4,1700000123\n";
  for (int in_file = 0; in_file < 2; in_file++) {
    mica_dataset *d = open_table(text, (mica_dataset_config){.regression = true, .memory = in_file ? 1 : 0});
    ck_assert_float_eq(number_at(d, 1, 0), 1700000999.0f);
    ck_assert(mica_dataset_base(d, 0, 0) == 0);
    mica_dataset_destroy(d);
    d = open_table(text,
                   (mica_dataset_config){.regression = true, .memory = in_file ? 1 : 0, .bases = MICA_BASES_AUTO});
    const size_t x = mica_dataset_column_index(d, "x"), label = mica_dataset_column_index(d, "label");
    ck_assert(mica_dataset_base(d, x, 0) == 1700000000 && mica_dataset_base(d, x, 1) == 0);
    ck_assert(mica_dataset_base(d, label, 0) == 5000000000.25 && mica_dataset_base(d, label, 1) == 0);
    ck_assert_float_eq(number_at(d, 1, 0), 999);
    ck_assert_float_eq(number_at(d, 2, 0), 1);
    ck_assert_float_eq(number_at(d, 2, 1), 3);
    ck_assert_float_eq(mica_dataset_target(d, 1), 1.25f);
    ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "1700000000 is subtracted from 't'"));
    /* What goes with it is read less the same, and by the text that is kept of it. */
    mica_dataset *other = NULL;
    files_write_text("later.csv", later);
    ck_ok(mica_dataset_open(files_path("later.csv"), &(mica_dataset_config){.like = d}, &other));
    ck_assert_float_eq(number_at(other, 0, 0), 123);
    ck_assert_float_eq(mica_dataset_target(other, 0), 2.5f);
    mica_dataset_destroy(other);
    mica_dataset_destroy(d);
    d = open_table(text, (mica_dataset_config){.regression = true, .bases = "a=2\ntt=5\nt=1699999999\ny=x"});
    ck_assert_float_eq(number_at(d, 2, 0), 2);
    ck_assert_float_eq(number_at(d, 2, 1), 1);
    ck_assert_float_eq(mica_dataset_target(d, 2), 5000000003.0f);
    mica_dataset_destroy(d);
  }
}
END_TEST

/* Numbers far below zero are as coarse as those far above. */
START_TEST(large_negative_numbers_have_a_base_too) {
  mica_dataset *d = open_table("t,u,a,y\n-1700000000,-4000000000000.5,-1,-5000000000.25\n"
                               "-1699999001,-4000000000001,-2,-5000000100\n-1699999500,-4000000000000,-3,-5000000001\n",
                               (mica_dataset_config){.regression = true, .bases = MICA_BASES_AUTO});
  const size_t x = mica_dataset_column_index(d, "x"), label = mica_dataset_column_index(d, "label");
  ck_assert(mica_dataset_base(d, x, 0) == -1700000000);
  ck_assert(mica_dataset_base(d, x, 1) == -4000000000001);
  ck_assert(mica_dataset_base(d, x, 2) == 0);
  ck_assert(mica_dataset_base(d, label, 0) == -5000000100);
  ck_assert_float_eq(number_at(d, 1, 0), 999);
  ck_assert_float_eq(number_at(d, 0, 1), 0.5f);
  ck_assert_float_eq(number_at(d, 2, 2), -3);
  ck_assert_float_eq(mica_dataset_target(d, 0), 99.75f);
  mica_dataset_destroy(d);
}
END_TEST

START_TEST(what_is_wrong_is_named_with_its_line) {
  static const struct {
    const char *text, *kinds, *sentence;
  } cases[] = {
      {"a,b\n1,2\n3\n", NULL, "line 3 has 1 columns, but the rows before have 2"},
      {"a,b,label\n1,2,x\n3,?,y\n", NULL,
       "line 3: column \"b\" has no number: \"?\" stands for a missing value; 1 of 2 lines have none: fill them in"},
      {"a,b,label\n1,2,x\n3,4,\n", NULL, "line 3: column \"label\" has no label"},
      {"a,b,label\n1,2,none\n3,4,\n1,2,x\n", NULL, "line 3: column \"label\" has no label"},
      {"a,label\n1,2\n3,NA\n1,2\n4,\n", NULL,
       "line 3: column \"label\" has no label: \"NA\" stands for a missing value; 2 of 4 lines have none: take them "
       "out, or "
       "give the class another name"},
      {"a,label\n1,x\nnone,y\n1,x\n", NULL, "line 3: column \"a\" has no number"},
      {"a,label\n1,x\n2,y\n3,x\ntwo,y\n", NULL, "line 5: column \"a\" holds \"two\" instead of a number"},
      {"a,label\n1,2\n1,999999\n", NULL,
       "column \"label\" has labels up to 999999, which would be too many classes for 2 samples; choose"},
      {"a,label\n1,2000000\n", NULL, "2000000"},
      {"a,label\n1,\"x\n2,y\n", NULL, "a quote is not closed"},
      {"a,label\n", NULL, "holds no samples"},
      {"a,b,y\n", NULL, "holds no samples, only the names of columns"},
      {"label\n1\n", NULL, "one column"},
      {"a,label\n1,2\n", "a=picture", "a kind must be number, class, text or time"},
      {"a,label\n1,2\n", "a", "must have the form NAME=KIND"},
      {"a,label\n1.5,2\n", "a=time", "must hold only times"},
      {"a,label\nx,2\n", "a=number", "line 2: column \"a\" holds \"x\""},
      {"1e39,2\n1,3\n", NULL, "instead of a number"},
      {"# nothing\n\n", NULL, "is empty"},
      {"a,b,label\r1,2,x\r3,4,y\r", NULL, "has lines that end in CR alone"},
      {"a,b,label\n1,\"2\" m,x\n", NULL, "line 2: a cell goes on after its closing quote"},
      {"a,b,label\n1,2,x\n5,6,y\n# 3,4,x\n", NULL, "line 4: column \"a\" holds \"# 3\" instead of a number"},
      {"a;b;label\n1,5;2;x\n2,5;3;y\n", NULL, "line 2: column \"a\" holds \"1,5\"; write numbers with a decimal point"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int in_file = 0; in_file < 2; in_file++) {
      mica_dataset *d = NULL;
      const mica_dataset_config config = {.kinds = cases[i].kinds, .memory = in_file ? 1 : 0};
      files_write_text("table.csv", cases[i].text);
      ck_assert_msg(mica_dataset_open(files_path("table.csv"), &config, &d) != MICA_OK, "%zu", i);
      ck_assert_msg(strstr(mica_error_message(), cases[i].sentence) != NULL, "%zu: %s", i, mica_error_message());
      ck_assert_msg(strstr(mica_error_message(), "table.csv") || cases[i].kinds, "%s", mica_error_message());
    }
  /* More columns than there may be. */
  char *text = malloc(3 * 70000);
  ck_assert_ptr_nonnull(text);
  for (int i = 0; i < 70000; i++) memcpy(text + (size_t)i * 2, "1,", 2);
  strcpy(text + 140000, "1\n");
  files_write_text("wide.csv", text);
  free(text);
  mica_dataset *d = NULL;
  ck_assert_int_eq(mica_dataset_open(files_path("wide.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "line 1 has more than 65536 columns"));
  /* Each sample with a label of its own. */
  char many[1024] = "a,label\n";
  for (int i = 0; i < 30; i++) snprintf(many + strlen(many), 16, "%d,n%d\n", i, i);
  files_write_text("table.csv", many);
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "a label of its own"));
  /* All but one are numbers: it is that one that is wrong. */
  many[0] = '\0';
  for (int i = 0; i < 30; i++) snprintf(many + strlen(many), 32, i == 20 ? "%d,unknown\n" : "%d,%d.5\n", i, i);
  files_write_text("table.csv", many);
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "line 21: column \"1\" holds \"unknown\" instead of a number"));
  /* Names of classes some of which are numbers: the label, once that is said. */
  files_write_text("table.csv", "kind,a,text\n9,1,x\n10,2,y\nham,3,z\n9,4,v\n10,5,w\n");
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "\"ham\" instead of a number; if these are the classes, --label"));
  const mica_dataset_config stated = {.label_column = "kind"};
  ck_ok(mica_dataset_open(files_path("table.csv"), &stated, &d));
  ck_assert_uint_eq(mica_dataset_count(d), 5);
  mica_dataset_destroy(d);
}
END_TEST

/* Without a name that says it the label is the last column, unless that holds texts and one other column classes. */
START_TEST(classes_may_stand_before_texts) {
  char text[2048] = "", two[2048] = "";
  mica_dataset *d = NULL;
  for (int i = 0; i < 30; i++) {
    snprintf(text + strlen(text), 32, "%s\tnote %d\n", i % 3 ? "ham" : "spam", i - (i == 7));
    if (i == 20) strcat(text, "ham\t645\n");
    snprintf(two + strlen(two), 32, "%s,a,note %d\n", i % 3 ? "ham" : "spam", i - (i == 7));
  }
  for (int in_file = 0; in_file < 2; in_file++) {
    d = open_table(text, (mica_dataset_config){.memory = in_file ? 1 : 0});
    ck_assert_int_eq(mica_dataset_classes(d), 2);
    ck_assert_str_eq(class_at(d, "label", 3), "spam");
    ck_assert_int_eq(column_of(d, "1")->kind, MICA_COLUMN_KIND_TEXT);
    check_text(d, "1", 7, "note 6");
    mica_dataset_destroy(d);
  }
  files_write_text("table.csv", two);
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(
      strstr(mica_error_message(),
             "in column \"2\", 30 samples have hardly any labels in common, so they are not classes; name"));
  strcpy(two, "sex,species\n");
  for (int i = 0; i < 48; i++) snprintf(two + strlen(two), 32, "%s,kind %d\n", i % 3 ? "f" : "m", i % 24);
  d = open_table(two, (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 24);
  mica_dataset_destroy(d);
}
END_TEST

/* "0,1" between commas may be a list, between semicolons it is a number written so. */
START_TEST(lists_between_commas_are_names) {
  mica_dataset *d = NULL;
  ck_assert_int_eq(
      column_of(d = open_table("tags,label\n\"0,1\",x\n\"1,1\",y\n\"0,1\",x\n\"1,1\",y\n", (mica_dataset_config){0}),
                "tags")
          ->classes,
      2);
  mica_dataset_destroy(d);
  files_write_text("table.csv", "tags;label\n0,1;x\n1,1;y\n0,1;x\n1,1;y\n");
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "write numbers with a decimal point"));
  /* Without names commas are as even as semicolons. */
  files_write_text("table.csv", "0,1;0,25;0\n1,5;0,75;1\n-0,5;2,0;0\n");
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "line 1: column \"0\" holds \"0,1\"; write numbers with a decimal point"),
                "%s", mica_error_message());
  d = open_table("5,1;2,x\n6,3;1,y\n5,2;4,x\n", (mica_dataset_config){0});
  ck_assert_uint_eq(mica_dataset_count(d), 3);
  ck_assert_str_eq(class_at(d, "label", 1), "y");
  mica_dataset_destroy(d);
  /* Names above such numbers are names, and the label is found by itself. */
  char many[1024] = "a;b;y\n";
  for (int i = 0; i < 30; i++) snprintf(many + strlen(many), 32, "0,%d;0,4%d;-1,%d\n", i, i, i);
  files_write_text("table.csv", many);
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "line 2: column \"a\" holds \"0,0\"; write numbers with a decimal point"),
                "%s", mica_error_message());
}
END_TEST

/* A # begins a text as well as a comment: behind the first record a line with all of the cells is a sample. */
START_TEST(lines_with_a_number_sign) {
  for (int in_file = 0; in_file < 2; in_file++) {
    mica_dataset *d = open_table("# of a shop\nlabel,note\n#1,#2 \"x\ny,z\n# a break\ny,\"# a,b\"\nx,# c\n#1,w\n",
                                 (mica_dataset_config){.kinds = "note=text", .memory = in_file ? 1 : 0});
    ck_assert_uint_eq(mica_dataset_count(d), 5);
    ck_assert_str_eq(class_at(d, "label", 0), "#1");
    check_text(d, "note", 0, "#2 \"x");
    check_text(d, "note", 2, "# a,b");
    check_text(d, "note", 3, "# c");
    ck_assert_str_eq(class_at(d, "label", 4), "#1");
    mica_dataset_destroy(d);
  }
}
END_TEST

/* An open quote is a comment's own: it neither takes the lines up to the next quote nor those up to the file's end. */
START_TEST(quotes_of_comments_end_with_them) {
  static const char *const comments[] = {"#x,\"\n", "# see, \"the list\n"};
  for (int in_file = 0; in_file < 2; in_file++)
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
      char text[256];
      snprintf(text, sizeof text, "note,label\n\"a,b\",x\n%sc,y\n\"d\",x\n%se,y\n", comments[i], comments[i]);
      mica_dataset *d = open_table(text, (mica_dataset_config){.kinds = "note=text", .memory = in_file ? 1 : 0});
      ck_assert_uint_eq(mica_dataset_count(d), 4);
      check_text(d, "note", 1, "c");
      check_text(d, "note", 3, "e");
      mica_dataset_destroy(d);
    }
}
END_TEST

/* Postal codes, and 007, are names: of few a class, of many a text; 0.5, 00:30 and -01 make no column one. */
START_TEST(digits_behind_a_zero_are_names) {
  char many[4096] = "zip,b,label\n";
  for (int in_file = 0; in_file < 2; in_file++) {
    const uint64_t memory = in_file ? 1 : 0;
    mica_dataset *d = open_table("zip,n,m,label\n7,0.5,01.5,x\n007,0,2,y\n90210,1,3,x\n007,2,4,y\n,3,5,x\n",
                                 (mica_dataset_config){.memory = memory});
    ck_assert_int_eq(column_of(d, "zip")->kind, MICA_COLUMN_KIND_CLASS);
    ck_assert_int_eq(column_of(d, "x")->shape.dim[0], 2);
    ck_assert_int_eq(column_of(d, "zip")->classes, 4);
    ck_assert_str_eq(class_at(d, "zip", 0), "7");
    ck_assert_str_eq(class_at(d, "zip", 1), "007");
    ck_assert_str_eq(class_at(d, "zip", 2), "90210");
    ck_assert_str_eq(class_at(d, "zip", 4), "");
    ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "classes of 'zip' are compared as texts: 01 is not 1"));
    mica_dataset_destroy(d);
    d = open_table("zip,label\n007,x\n8,y\n", (mica_dataset_config){.kinds = "zip=number", .memory = memory});
    ck_assert_float_eq(number_at(d, 0, 0), 7);
    mica_dataset_destroy(d);
  }
  for (int i = 0; i < 60; i++) snprintf(many + strlen(many), 64, "%05d,%d,%s\n", 1001 + i, i % 3, i % 2 ? "x" : "y");
  mica_dataset *d = open_table(many, (mica_dataset_config){0});
  ck_assert_int_eq(column_of(d, "zip")->kind, MICA_COLUMN_KIND_TEXT);
  check_text(d, "zip", 2, "01003");
  mica_dataset_destroy(d);
}
END_TEST

START_TEST(files_that_change_while_they_are_read) {
  char text[4096] = "a,note,label\n";
  for (int i = 0; i < 40; i++) snprintf(text + strlen(text), 64, "%d,\"n %d\",%d\n", i, i, i % 2);
  mica_dataset *d = open_table(text, (mica_dataset_config){.kinds = "note=text", .memory = 1});
  const size_t x = mica_dataset_column_index(d, "x"), note = mica_dataset_column_index(d, "note");
  float value = 0;
  int64_t length = 0;
  check_text(d, "note", 39, "n 39");
  ck_assert_int_eq(truncate(files_path("table.csv"), 100), 0);
  ck_ok(mica_dataset_read(d, x, 2, &value, sizeof value));
  ck_assert_float_eq(value, 2.0f);
  ck_assert_int_eq(mica_dataset_read(d, x, 39, &value, sizeof value), MICA_E_IO);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "became shorter"));
  ck_assert_int_eq(mica_dataset_length(d, note, 39, &length), MICA_E_IO);
  for (size_t i = strlen("a,note,label\n"); text[i]; i++)
    if (text[i] == ',') text[i] = ';';
  files_write_text("table.csv", text); /* as long, of one column */
  ck_assert_int_eq(mica_dataset_read(d, x, 39, &value, sizeof value), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "changed while it was read"));
  mica_dataset_destroy(d);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, columns_have_kinds, headers_are_told_from_values, labels_are_classes_or_numbers,
      what_goes_with_another_table_follows_it, samples_know_their_lines, blanks_in_quotes_are_no_part_of_a_class,
      few_large_numbers_are_names_of_classes, names_of_classes_stay_what_they_are,
      large_numbers_keep_their_digits_above_a_base, large_negative_numbers_have_a_base_too,
      what_is_wrong_is_named_with_its_line, classes_may_stand_before_texts, lists_between_commas_are_names,
      lines_with_a_number_sign, quotes_of_comments_end_with_them, digits_behind_a_zero_are_names,
      files_that_change_while_they_are_read)
