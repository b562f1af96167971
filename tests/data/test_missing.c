/* labels: null
 *
 * Missing cells of tables, samples without a label, classes that another table does not have, and columns that are not
 * read: from memory and from the file alike. */
#include "data/table/table.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static mica_dataset *open_table(const char *text, mica_dataset_config config) {
  mica_dataset *dataset = NULL;
  files_write_text("table.csv", text);
  ck_ok(mica_dataset_open(files_path("table.csv"), &config, &dataset));
  return dataset;
}

static float number_at(const mica_dataset *d, uint64_t sample, int64_t index) {
  float row[16];
  const size_t k = mica_dataset_column_index(d, "x");
  ck_ok(mica_dataset_read(d, k, sample, row, (size_t)mica_dataset_column(d, k)->shape.dim[0] * sizeof *row));
  return row[index];
}

static int32_t class_at(const mica_dataset *d, const char *name, uint64_t sample) {
  int32_t class_index = -2;
  ck_ok(mica_dataset_read(d, mica_dataset_column_index(d, name), sample, &class_index, sizeof class_index));
  return class_index;
}

static const char gaps[] = "a,colour,b,y\n1,red,,p\n,blue,2,q\n2,,3,p\nNA,red,7,q\n6,blue,3,q\n2,red,3,p\n";

START_TEST(numbers_are_filled) {
  static const struct {
    mica_missing how;
    float a, b;
  } ways[] = {{MICA_MISSING_MEAN, 2.75f, 3.6f}, {MICA_MISSING_MEDIAN, 2, 3}, {MICA_MISSING_MOST, 2, 3}};
  for (uint64_t memory = 0; memory < 2; memory++) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
      mica_dataset *d = open_table(gaps, (mica_dataset_config){.missing = ways[i].how, .memory = memory});
      ck_assert_uint_eq(mica_dataset_count(d), 6);
      ck_assert_float_eq(number_at(d, 1, 0), ways[i].a);
      ck_assert_float_eq(number_at(d, 3, 0), ways[i].a);
      ck_assert_float_eq(number_at(d, 0, 1), ways[i].b);
      ck_assert_float_eq(number_at(d, 4, 1), 3);
      char said[64];
      snprintf(said, sizeof said, "missing numbers are their column's %s", mica_missing_name(ways[i].how));
      ck_assert_msg(strstr(mica_dataset_summary(d), said) != NULL, "%s", mica_dataset_summary(d));
      /* What goes with it has the same numbers in its gaps. */
      mica_dataset *test = open_table("a,colour,b,y\n,red,100,p\n", (mica_dataset_config){.like = d, .memory = memory});
      ck_assert_float_eq(number_at(test, 0, 0), ways[i].a);
      mica_dataset_destroy(test);
      mica_dataset_destroy(d);
    }
    mica_dataset *d = open_table(gaps, (mica_dataset_config){.missing = MICA_MISSING_NAN, .memory = memory});
    ck_assert(isnan(number_at(d, 1, 0)) && isnan(number_at(d, 0, 1)));
    /* A missing class is one of its own. */
    const mica_column *colour = mica_dataset_column(d, mica_dataset_column_index(d, "colour"));
    ck_assert_int_eq(colour->classes, 3);
    mica__text said = {0};
    mica__fills_put(d, (const char *[]){"b", "a"}, (const double[]){30, 20}, 2);
    mica__missing_text(d, NULL, NULL, &said);
    ck_assert_str_eq(said.data, "2 of 'a' become 20, 1 of 'colour' are a class of their own, 1 of 'b' become 30");
    ck_assert_float_eq(number_at(d, 1, 0), 20);
    ck_assert_float_eq(number_at(d, 0, 1), 30);
    mica__text_free(&said);
    mica_dataset_destroy(d);
  }
  mica_dataset *d = NULL;
  files_write_text("table.csv", gaps);
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), NULL, &d), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "line 3: column \"a\" has no number"));
}
END_TEST

/* Large numbers that differ little are read less a base, and what stands for missing ones too. */
START_TEST(fills_lie_above_a_base) {
  for (uint64_t memory = 0; memory < 2; memory++) {
    mica_dataset *d =
        open_table("t,y\n1700000000,p\n,q\n1700000002,p\n1700000004,q\n",
                   (mica_dataset_config){.missing = MICA_MISSING_MEAN, .bases = MICA_BASES_AUTO, .memory = memory});
    ck_assert_double_eq(mica_dataset_base(d, mica_dataset_column_index(d, "x"), 0), 1700000000);
    ck_assert_float_eq(number_at(d, 1, 0), 2);
    mica_dataset_destroy(d);
  }
}
END_TEST

START_TEST(samples_without_a_label_are_left_out) {
  for (uint64_t memory = 0; memory < 2; memory++) {
    static const float a[] = {1, 5, 6};
    static const uint64_t lines[] = {2, 6, 7};
    mica_dataset *d = open_table("a,y\n1,p\n2,\n\n4,NA\n5,q\n6,p\n7,\n",
                                 (mica_dataset_config){.missing = MICA_MISSING_MEAN, .memory = memory});
    /* Beside other names NA is one. */
    ck_assert_uint_eq(mica_dataset_count(d), 4);
    mica_dataset_destroy(d);
    d = open_table("a,y\n1,p\n2,\n\n4,?\n5,q\n6,p\n7,\n",
                   (mica_dataset_config){.missing = MICA_MISSING_MEAN, .memory = memory});
    ck_assert_uint_eq(mica_dataset_count(d), 3);
    ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "3 samples without a label left out"));
    for (uint64_t i = 0; i < 3; i++) {
      ck_assert_float_eq(number_at(d, i, 0), a[i]);
      ck_assert_uint_eq(mica_dataset_line(d, i), lines[i]);
    }
    ck_assert_int_eq(mica_dataset_label(d, 1), 1);
    /* A table that goes with it likewise, or it keeps them. */
    mica_dataset *test = open_table("a,y\n1,\n2,q\n", (mica_dataset_config){.like = d, .missing = MICA_MISSING_NAN});
    ck_assert_uint_eq(mica_dataset_count(test), 1);
    mica_dataset_destroy(test);
    test = open_table(
        "a,y\n1,\n2,q\n",
        (mica_dataset_config){.like = d, .missing = MICA_MISSING_NAN, .keep_unlabelled = true, .memory = memory});
    ck_assert_uint_eq(mica_dataset_count(test), 2);
    ck_assert_int_eq(mica_dataset_label(test, 0), -1);
    ck_assert_int_eq(mica_dataset_label(test, 1), 1);
    mica_dataset_destroy(test);
    mica_dataset_destroy(d);
    /* Cells and classes of samples that are left out do not count. */
    d = open_table("a,colour,y\n1,red,p\n,pink,\n,blue,q\n4,,\n",
                   (mica_dataset_config){.missing = MICA_MISSING_MEAN, .memory = memory});
    mica__text said = {0};
    mica__missing_text(d, NULL, NULL, &said);
    ck_assert_str_eq(said.data, "1 of 'a' become 1");
    mica__text_free(&said);
    ck_assert_int_eq(mica_dataset_column(d, mica_dataset_column_index(d, "colour"))->classes, 2);
    mica_dataset_destroy(d);
    d = open_table("a,y\n1,0.5\n2,NA\n3,1.5\n",
                   (mica_dataset_config){.missing = MICA_MISSING_MEAN, .keep_unlabelled = true, .memory = memory});
    ck_assert_uint_eq(mica_dataset_count(d), 3);
    ck_assert(isnan(mica_dataset_target(d, 1)));
    mica_dataset_destroy(d);
  }
  mica_dataset *d = NULL;
  files_write_text("table.csv", "a,y\n1,\n2,\n3,\n");
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"),
                                     &(mica_dataset_config){.missing = MICA_MISSING_MEAN, .label_column = "y"}, &d),
                   MICA_E_FORMAT);
}
END_TEST

START_TEST(classes_that_a_table_does_not_have_are_none) {
  mica_dataset *d = open_table("a,colour,y\n1,red,p\n2,blue,q\n3,red,p\n", (mica_dataset_config){0});
  for (uint64_t memory = 0; memory < 2; memory++) {
    mica_dataset *test =
        open_table("colour,a,y\npink,1,p\nred,2,q\n,3,p\n", (mica_dataset_config){.like = d, .memory = memory});
    ck_assert_int_eq(class_at(test, "colour", 0), -1);
    ck_assert_int_eq(class_at(test, "colour", 1), 1);
    ck_assert_int_eq(class_at(test, "colour", 2), -1);
    mica_dataset_destroy(test);
  }
  mica_dataset_destroy(d);
}
END_TEST

START_TEST(columns_that_say_nothing_are_not_read) {
  mica_missing mean = MICA_MISSING_MEAN;
  mica_dataset *d = open_table("rownames,a,empty,name,y\n1,4,,u,p\n2,5,NA,v,q\n3,6,,w,p\n",
                               (mica_dataset_config){.missing = mean, .ignore = "name,other"});
  ck_assert_uint_eq(mica_dataset_column_count(d), 2);
  ck_assert_int_eq(mica_dataset_shape(d).dim[0], 1);
  ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "'rownames' is not read: row numbers"));
  ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "'empty' is not read: empty"));
  ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "'name' is not read: ignored"));
  /* They may be absent, or hold anything. */
  static const char *const others[] = {"a,y\n7,q\n", "rownames,a,empty,name,y\nx,7,1,u,q\n"};
  for (size_t i = 0; i < 2; i++) {
    mica_dataset *test = open_table(others[i], (mica_dataset_config){.like = d});
    ck_assert_float_eq(number_at(test, 0, 0), 7);
    mica_dataset_destroy(test);
  }
  mica_dataset_destroy(d);
  static const struct {
    const char *text, *kinds;
    int64_t numbers;
  } indices[] = {{",a,y\n0,4,p\n1,5,q\n2,6,p\n", NULL, 1},
                 {"Unnamed: 0,a,y\n0,4,p\n1,5,q\n2,6,p\n", NULL, 1},
                 {"PassengerId,a,y\n1,4,p\n2,5,q\n3,6,p\n", NULL, 1},
                 {"id,a,y\n1,4,p\n2,5,q\n3,6,p\n", "id=number", 2},
                 {"id,a,y\n7,4,p\n3,5,q\n2,6,p\n", NULL, 1},
                 {"id,a,y\n7,4,p\n3,5,q\n3,6,p\n", NULL, 2},
                 {"id,a,y\n7,4,p\n3.5,5,q\n3,6,p\n", NULL, 2},
                 {"uric_acid,a,y\n1,4,p\n2,5,q\n3,6,p\n", NULL, 2},
                 {"step,a,y\n1,4,p\n2,5,q\n3,6,p\n", NULL, 2},
                 {"1,4,p\n2,5,q\n3,6,p\n", NULL, 2}};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
    d = open_table(indices[i].text, (mica_dataset_config){.kinds = indices[i].kinds});
    ck_assert_msg(mica_dataset_shape(d).dim[0] == indices[i].numbers, "%zu", i);
    mica_dataset_destroy(d);
  }
  files_write_text("table.csv", "a,y\n1,p\n2,q\n");
  ck_assert_int_eq(
      mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.ignore = "a,y", .label_column = "y"}, &d),
      MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "column \"y\" holds the answers"));
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.ignore = "a,y"}, &d),
                   MICA_E_INVALID);
  /* The last column that is read holds the answers. */
  d = open_table("a,b,c\n1,p,x\n2,q,y\n", (mica_dataset_config){.ignore = "c"});
  ck_assert_int_eq(mica_dataset_classes(d), 2);
  ck_assert_str_eq(mica_dataset_class_name(d, 0), "p");
  mica_dataset_destroy(d);
}
END_TEST

/* More than 30 different whole numbers, or fractions, are to be predicted unless they are said to be classes. */
START_TEST(many_numbers_are_no_classes) {
  for (int distinct = 30; distinct < 32; distinct++)
    for (int classes = 0; classes < 2; classes++) {
      char text[2048] = "a,y\n";
      for (int i = 0; i < 2 * distinct; i++) snprintf(text + strlen(text), 16, "%d,%d.0\n", i, i % distinct);
      mica_dataset *d = open_table(text, (mica_dataset_config){.classes = classes});
      ck_assert_int_eq(mica_dataset_classes(d), distinct > 30 && !classes ? 0 : distinct);
      mica_dataset_destroy(d);
    }
  mica_dataset *d = open_table("a,y\n1,0.5\n2,1.5\n3,0.5\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 0);
  mica_dataset_destroy(d);
  d = open_table("a,y\n1,1.0\n2,2.0\n3,1.0\n", (mica_dataset_config){0});
  ck_assert_int_eq(mica_dataset_classes(d), 2);
  mica_dataset *test = NULL;
  files_write_text("table.csv", "a,y\n1,1\n2,3\n");
  ck_assert_int_eq(mica_dataset_open(files_path("table.csv"), &(mica_dataset_config){.like = d}, &test), MICA_E_FORMAT);
  const char *said = mica_error_message(), *end = "to predict numbers, pass --task regress";
  ck_assert_msg(strlen(said) > strlen(end) && !strcmp(said + strlen(said) - strlen(end), end), "%s", said);
  mica_dataset_destroy(d);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, numbers_are_filled, fills_lie_above_a_base, samples_without_a_label_are_left_out,
      classes_that_a_table_does_not_have_are_none, columns_that_say_nothing_are_not_read, many_numbers_are_no_classes)
