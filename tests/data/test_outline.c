/* labels: null
 *
 * Tables that are read by an outline: the columns of a network without their rows. */
#include "data/table/table.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>

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

/* Classes, times and texts that a network does not use may be written as numbers. */
START_TEST(unused_columns_may_hold_numbers) {
  static const char *const kinds[] = {"class b", "time b", "text b"};
  static const char *const classes[] = {"no", "yes"};
  const char *const texts[] = {"number a", kinds[_i], "label y"};
  mica_dataset *like = NULL;
  ck_ok(mica__outline_open(texts, 3, false, classes, 2, NULL, &like));
  /* all columns */
  mica_dataset *d = open_table("1.5,20260131,yes\n2,20260201,no\n", (mica_dataset_config){.like = like});
  ck_assert_uint_eq(mica_dataset_count(d), 2);
  ck_assert_float_eq(number_at(d, 0, 0), 1.5f);
  ck_assert_str_eq(class_at(d, "label", 0), "yes");
  mica_dataset_destroy(d);
  /* no label: it has no class 20260131 */
  d = open_table("1.5,20260131\n2,20260201\n", (mica_dataset_config){.like = like});
  ck_assert_uint_eq(mica_dataset_count(d), 2);
  ck_assert_float_eq(number_at(d, 1, 0), 2.0f);
  ck_assert_uint_eq(mica_dataset_column_index(d, "label"), mica_dataset_column_count(d));
  mica_dataset_destroy(d);
  /* neither */
  d = open_table("1.5\n2\n", (mica_dataset_config){.like = like});
  ck_assert_float_eq(number_at(d, 1, 0), 2.0f);
  mica_dataset_destroy(d);
  mica_dataset_destroy(like);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(unused_columns_may_hold_numbers, 0, 3))
