/* labels: null
 *
 * Several labels per sample in a table: numbers, or 0 and 1, from memory and from the file alike. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <string.h>

static const char *const rows = "a,y,note,b,z\n1,0,one,2,1\n3,1,two,4,0\n5,,three,6,1\n7,1,four,8,1\n";

static mica_dataset *open_rows(const char *text, mica_dataset_config config) {
  mica_dataset *dataset = NULL;
  files_write_text("rows.csv", text);
  ck_ok(mica_dataset_open(files_path("rows.csv"), &config, &dataset));
  return dataset;
}

static const mica_column *label_of(const mica_dataset *d, size_t *index) {
  *index = mica_dataset_column_index(d, "label");
  ck_assert_ptr_nonnull(mica_dataset_column(d, *index));
  return mica_dataset_column(d, *index);
}

START_TEST(numbers_and_flags) {
  for (int in_file = 0; in_file < 2; in_file++)
    for (int regression = 0; regression < 2; regression++) {
      const mica_dataset_config config = {
          .label_column = "z,y", .regression = regression, .missing = MICA_MISSING_MEAN, .memory = in_file ? 1 : 0};
      mica_dataset *d = open_rows(rows, config);
      size_t label = 0;
      const mica_column *about = label_of(d, &label);
      ck_assert_uint_eq(mica_dataset_count(d), 3); /* a row lacks y */
      ck_assert_int_eq(about->kind, regression ? MICA_COLUMN_KIND_NUMBER : MICA_COLUMN_KIND_CLASSES);
      ck_assert(about->shape.rank == 1 && about->shape.dim[0] == 2);
      ck_assert_str_eq(mica_dataset_number_name(d, label, 0), "y");
      ck_assert_str_eq(mica_dataset_number_name(d, label, 1), "z");
      float numbers[2];
      uint8_t flags[2];
      if (regression) {
        ck_ok(mica_dataset_read(d, label, 2, numbers, sizeof numbers));
        ck_assert(numbers[0] == 1 && numbers[1] == 1);
      } else {
        ck_assert_str_eq(mica_dataset_column_class(d, label, 0), "y");
        ck_ok(mica_dataset_read(d, label, 1, flags, sizeof flags));
        ck_assert(flags[0] == 1 && flags[1] == 0);
      }
      float x[2];
      ck_ok(mica_dataset_input(d, 2, x, sizeof x));
      ck_assert(x[0] == 7 && x[1] == 8);
      ck_assert_ptr_nonnull(strstr(mica_dataset_summary(d), "labels 'y', 'z', 2 "));
      mica_dataset_destroy(d);
    }
}
END_TEST

START_TEST(what_goes_with_it_follows) {
  mica_dataset *d = open_rows(rows, (mica_dataset_config){.label_column = "y,z", .missing = MICA_MISSING_MEAN});
  const mica_dataset_config like = {.like = d, .missing = MICA_MISSING_MEAN, .keep_unlabelled = true};
  mica_dataset *other = open_rows("z,b,a,y,note\n1,2,1,0,n\n,4,3,1,n\n", like);
  size_t label = 0;
  uint8_t flags[2];
  ck_assert_int_eq(label_of(other, &label)->kind, MICA_COLUMN_KIND_CLASSES);
  ck_ok(mica_dataset_read(other, label, 0, flags, sizeof flags));
  ck_assert(flags[0] == 0 && flags[1] == 1);
  ck_ok(mica_dataset_read(other, label, 1, flags, sizeof flags));
  ck_assert(flags[0] == 1 && flags[1] == 255); /* unknown */
  mica_dataset_destroy(other);
  /* Without any of them there are no labels; without one of them the table is refused. */
  other = open_rows("b,a,note\n2,1,n\n", like);
  ck_assert_uint_eq(mica_dataset_column_index(other, "label"), mica_dataset_column_count(other));
  mica_dataset_destroy(other);
  files_write_text("rows.csv", "b,a,note,y\n2,1,n,1\n");
  ck_assert_int_eq(mica_dataset_open(files_path("rows.csv"), &like, &other), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "has some columns of labels, but not \"z\""));
  files_write_text("rows.csv", "b,a,note,y,z\n2,1,n,1,3\n");
  ck_assert_int_eq(mica_dataset_open(files_path("rows.csv"), &like, &other), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "line 2: column \"z\" holds \"3\", which is neither 0 nor 1"));
  mica_dataset_destroy(d);
}
END_TEST

START_TEST(what_is_wrong_is_named) {
  static const struct {
    const char *label, *ignore, *sentence;
  } cases[] = {{"y,none", NULL, "has no column \"none\""},
               {"y,y", NULL, "is named twice"},
               {"y,z", "z", "cannot be ignored"},
               {"y,note", NULL, "instead of a number"}};
  mica_dataset *d = NULL;
  files_write_text("rows.csv", rows);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mica_dataset_config config = {
        .label_column = cases[i].label, .ignore = cases[i].ignore, .missing = MICA_MISSING_MEAN};
    ck_assert_int_ne(mica_dataset_open(files_path("rows.csv"), &config, &d), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), cases[i].sentence) != NULL, "%s", mica_error_message());
  }
  /* A column may have such a name itself. */
  d = open_rows("a,\"y,z\"\n1,2.5\n2,3.5\n", (mica_dataset_config){.label_column = "y,z", .regression = true});
  ck_assert_float_eq(mica_dataset_target(d, 1), 3.5f);
  mica_dataset_destroy(d);
  ck_assert_int_eq(mica_dataset_open(files_path("rows.csv"), &(mica_dataset_config){.label_column = "a,"}, &d),
                   MICA_E_NOT_FOUND);
}
END_TEST

TEST_GROUPS(ANYWHERE, ONCE(NULL, files_remove, numbers_and_flags, what_goes_with_it_follows, what_is_wrong_is_named))
