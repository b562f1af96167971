/* labels: null
 *
 * Every kind of dataset from small files made here: what is read is what was written, and what is wrong is refused with
 * a sentence that names the file. */
#include "base/byte_order.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGES "idx/train-images-idx3-ubyte.gz"
#define LABELS "idx/train-labels-idx1-ubyte"

/* Three pictures of 2 x 2. */
static const uint8_t idx_images[16 + 12] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,  0,  0,
                                            0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};
static const uint8_t idx_labels[8 + 3] = {0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 1};

static mica_dataset *open_at(const char *name, const mica_dataset_config *config) {
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(files_path(name), config, &dataset));
  return dataset;
}

/* Opening fails with this status, and says `reason` and the file's name. */
static void refuse(const char *name, const mica_dataset_config *config, mica_status status, const char *reason) {
  mica_dataset *dataset = NULL;
  mica_status got = mica_dataset_open(files_path(name), config, &dataset);
  ck_assert_msg(got == status, "%s: %s, %s", name, mica_status_name(got), mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), reason) && strstr(mica_error_message(), name), "%s: %s", name,
                mica_error_message());
}

START_TEST(idx_files_in_a_folder) {
  uint8_t input[4];
  float mean = 0, deviation = 0;
  files_write_gzip(IMAGES, idx_images, sizeof idx_images);
  files_write(LABELS ".gz", idx_labels, sizeof idx_labels);
  refuse("idx", &(mica_dataset_config){.part = MICA_PART_TEST}, MICA_E_NOT_FOUND, "no test part");
  files_write_gzip("idx/t10k-images-idx3-ubyte.gz", idx_images, sizeof idx_images);
  files_write_gzip("idx/t10k-labels-idx1-ubyte.gz", idx_labels, sizeof idx_labels);
  mica_dataset *train = open_at("idx", NULL);
  mica_dataset *test = open_at("idx", &(mica_dataset_config){.part = MICA_PART_TEST, .like = train});
  ck_assert_uint_eq(mica_dataset_count(train), 3);
  ck_assert_int_eq(mica_dataset_dtype(train), MICA_U8);
  ck_assert(mica_shape_equal(mica_dataset_shape(train), MICA_SHAPE(1, 2, 2)));
  ck_assert_int_eq(mica_dataset_classes(train), 3);
  ck_assert_str_eq(mica_dataset_class_name(train, 2), "2");
  ck_assert_ptr_null(mica_dataset_class_name(train, 3));
  ck_assert_int_eq(mica_dataset_label(train, 0), 2);
  ck_assert_int_eq(mica_dataset_label(test, 1), 0);
  ck_ok(mica_dataset_input(train, 2, input, 4));
  ck_assert_mem_eq(input, idx_images + 24, 4);
  ck_assert_int_eq(mica_dataset_input(train, 3, input, 4), MICA_E_INVALID);
  ck_ok(mica_dataset_measure(train, &mean, &deviation));
  ck_assert_double_eq_tol(mean, 321 / 12.0 / 255, 1e-6);
  ck_assert_double_eq_tol(deviation, sqrt(65531 / 12.0 - 26.75 * 26.75) / 255, 1e-6);
  mica_dataset_destroy(train);
  mica_dataset_destroy(test);
  mica_dataset *file = open_at(IMAGES, NULL);
  ck_assert_uint_eq(mica_dataset_count(file), 3);
  mica_dataset_destroy(file);
}
END_TEST

START_TEST(idx_files_that_are_wrong) {
  uint8_t bad[sizeof idx_images + 1];
  files_write_gzip("wrong/train-labels-idx1-ubyte.gz", idx_labels, sizeof idx_labels);
  files_write("wrong/train-images-idx3-ubyte.gz", idx_images, sizeof idx_images - 1);
  refuse("wrong", NULL, MICA_E_FORMAT, "truncated");
  memcpy(bad, idx_images, sizeof idx_images);
  bad[sizeof idx_images] = 0;
  files_write("wrong/train-images-idx3-ubyte.gz", bad, sizeof bad);
  refuse("wrong", NULL, MICA_E_FORMAT, "after the last");
  bad[0] = 'P';
  files_write("wrong/train-images-idx3-ubyte.gz", bad, sizeof idx_images);
  refuse("wrong", NULL, MICA_E_FORMAT, "not an IDX file: it begins with 50 00 08 03");
  files_write("wrong/train-images-idx3-ubyte.gz", idx_images, sizeof idx_images);
  files_write("wrong/train-labels-idx1-ubyte.gz", idx_images, sizeof idx_images);
  refuse("wrong", NULL, MICA_E_FORMAT, "labels of shape (3, 2, 2)");
#if MICA_WITH_DEFLATE
  files_write_gzip("cut/train-images-idx3-ubyte.gz", idx_images, sizeof idx_images);
  char gzip[4096];
  FILE *file = fopen(files_path("cut/train-images-idx3-ubyte.gz"), "rb");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(gzip, 1, sizeof gzip, file);
  fclose(file);
  files_write("cut/train-images-idx3-ubyte.gz", gzip, n - 9);
  refuse("cut", NULL, MICA_E_FORMAT, "truncated or damaged: its gzip data is wrong");
  gzip[12] ^= 0x55;
  files_write("cut/train-images-idx3-ubyte.gz", gzip, n);
  refuse("cut", NULL, MICA_E_FORMAT, "gzip data is wrong");
#endif
  refuse("idx-nowhere", NULL, MICA_E_NOT_FOUND, "no dataset");
}
END_TEST

START_TEST(cifar_files) {
  static uint8_t records[2 * 3074], one[3072];
  for (size_t i = 0; i < sizeof records; i++) records[i] = (uint8_t)(i % 251);
  records[0] = 3, records[3073] = 9;
  files_write_gzip("cifar/data_batch_1.bin.gz", records, 2 * 3073);
  files_write("cifar/data_batch_2.bin", records, 3073);
  mica_dataset *train = open_at("cifar", NULL);
  ck_assert_uint_eq(mica_dataset_count(train), 3);
  ck_assert_int_eq(mica_dataset_classes(train), 10);
  ck_assert_int_eq(mica_dataset_label(train, 1), 9);
  ck_assert_str_eq(mica_dataset_class_name(train, 9), "truck");
  ck_ok(mica_dataset_input(train, 1, one, sizeof one));
  ck_assert_mem_eq(one, records + 3074, sizeof one);
  mica_dataset_destroy(train);
  records[3073] = 10;
  files_write("cifar-wrong.bin", records, 2 * 3073);
  refuse("cifar-wrong.bin", NULL, MICA_E_FORMAT, "the label 10 of sample 1 is out of range, 0 to 9");
  files_write("cifar-cut.bin", records, 2 * 3073 - 5);
  refuse("cifar-cut.bin", NULL, MICA_E_FORMAT, "truncated");
  files_write("cifar-empty.bin", records, 0);
  refuse("cifar-empty.bin", NULL, MICA_E_FORMAT, "empty");
  records[0] = 19, records[1] = 99, records[3074] = 1, records[3075] = 7;
  files_write("cifar-100.bin", records, 2 * 3074);
  mica_dataset *hundred = open_at("cifar-100.bin", NULL);
  ck_assert_int_eq(mica_dataset_classes(hundred), 100);
  ck_assert_int_eq(mica_dataset_label(hundred, 0), 99);
  mica_dataset_destroy(hundred);
}
END_TEST

/* Two members, one after the other, of zeros: more than the size of their gzip suggests. */
START_TEST(gzip_in_members) {
#if MICA_WITH_DEFLATE
  static const uint8_t record[3073];
  char members[2 * 256];
  files_write_gzip("member", record, sizeof record);
  FILE *file = fopen(files_path("member"), "rb");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(members, 1, sizeof members / 2, file);
  fclose(file);
  memcpy(members + n, members, n);
  files_write("members/train.bin.gz", members, 2 * n);
  mica_dataset *train = open_at("members", NULL);
  ck_assert_uint_eq(mica_dataset_count(train), 2);
  mica_dataset_destroy(train);
  files_write("members/train.bin.gz", members, 2 * n - 9);
  refuse("members", NULL, MICA_E_FORMAT, "truncated or damaged");
#endif
}
END_TEST

START_TEST(csv_files) {
  float row[2] = {0};
  files_write_text("a.csv",
                   "\xef\xbb\xbf# said aside\n\nwidth,\"species\", height \r\n1.5,\"iris, blue\",2\r\n-3e2,rose,4\n"
                   "0,rose,1");
  mica_dataset *a = open_at("a.csv", &(mica_dataset_config){.label_column = "species"});
  ck_assert_uint_eq(mica_dataset_count(a), 3);
  ck_assert(mica_shape_equal(mica_dataset_shape(a), MICA_SHAPE(2)));
  ck_assert_int_eq(mica_dataset_classes(a), 2);
  ck_assert_str_eq(mica_dataset_class_name(a, 0), "iris, blue");
  ck_assert_int_eq(mica_dataset_label(a, 2), 1);
  ck_ok(mica_dataset_input(a, 1, row, sizeof row));
  ck_assert(row[0] == -300 && row[1] == 4);
  files_write_text("b.csv", "1;rose;2\n3;tulip;4\n");
  refuse("b.csv", &(mica_dataset_config){.like = a}, MICA_E_FORMAT,
         "line 2: column \"species\" holds \"tulip\", which is not one of the classes: ");
  mica_dataset_destroy(a);
  files_write_text("c.tsv", "label\tx\ty\n7\t1\t2\n0\t3\t4\n");
  mica_dataset *c = open_at("c.tsv", NULL);
  ck_assert_int_eq(mica_dataset_classes(c), 2);
  ck_ok(mica_dataset_input(c, 1, row, sizeof row));
  ck_assert(row[0] == 3 && row[1] == 4);
  mica_dataset_destroy(c);
  mica_dataset *number = open_at("c.tsv", &(mica_dataset_config){.label_column = "1", .regression = true});
  ck_assert_int_eq(mica_dataset_classes(number), 0);
  ck_assert_float_eq(mica_dataset_target(number, 1), 3);
  mica_dataset_destroy(number);
}
END_TEST

START_TEST(csv_files_that_are_wrong) {
  static const struct {
    const char *text, *reason;
  } cases[] = {
      {"", "is empty"},
      {"# nothing\n\n", "is empty"},
      {"1\n2\n", "not a table"},
      {"1,2,3\n4,5\n", "line 2 has 2 columns"},
      {"1,2,3\n4,y,6\n7,8,9\n", "line 2: column \"1\" holds \"y\""},
      {"1,,3\n", "line 1: column \"1\" has no number"},
      {"1,nan,3\n", "has no number"},
      {"1,2e999,3\n", "instead of a number"},
      {"1,2,-3\n4,5,6\n", NULL}, /* -3 is a name */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    files_write_text("wrong.csv", cases[i].text);
    if (cases[i].reason) refuse("wrong.csv", NULL, MICA_E_FORMAT, cases[i].reason);
    if (!cases[i].reason) mica_dataset_destroy(open_at("wrong.csv", NULL));
  }
  files_write("wrong.csv", "1,2\n\0,3\n", 9);
  refuse("wrong.csv", NULL, MICA_E_FORMAT, "holds a zero byte, so it is not a text");
  files_write_text("wrong.csv", "a,b\n1,2\n");
  refuse("wrong.csv", &(mica_dataset_config){.label_column = "c"}, MICA_E_NOT_FOUND, "no column \"c\"");
}
END_TEST

/* A file of version 1 with this dictionary. */
/* Data of a type that begins with "<" are the host's, and get the order that it names; others stay as they are. */
static void write_npy(const char *name, const char *dictionary, const void *data, size_t size) {
  uint8_t file[512] = "\x93NUMPY\x01";
  size_t n = strlen(dictionary);
  const char *type = strchr(dictionary, '<');
  file[8] = (uint8_t)n;
  memcpy(file + 10, dictionary, n);
  memcpy(file + 10 + n, data, size);
  const size_t width = type ? (size_t)(type[2] - '0') : 1;
  mica__bytes_from_file(false, file + 10 + n, size / width, width);
  files_write(name, file, 10 + n + size);
}

START_TEST(npy_files) {
  static const double x[6] = {1, 2, 3, 4, 5, 6};
  static const int64_t y[2] = {1, 0}, negative[2] = {1, -1};
  static const uint64_t large[] = {0, (1ull << 63) + 5};
  static const uint32_t most[] = {1u << 31, 0};
  static const float numbers[2] = {0.5f, -2}, wholes[2] = {2, 0}, none[2] = {1, NAN};
  static const double wild[6] = {1, 2, 3, 4, 1e300, 6};
  static const float pictures[8] = {0, 1, 2, 3, 4, 5, -INFINITY, 7};
  float row[3];
  write_npy("npy/x_train.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", x, sizeof x);
  write_npy("npy/y_train.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", y, sizeof y);
  mica_dataset *dataset = open_at("npy", NULL);
  ck_assert(mica_shape_equal(mica_dataset_shape(dataset), MICA_SHAPE(3)));
  ck_assert_int_eq(mica_dataset_label(dataset, 0), 1);
  ck_ok(mica_dataset_input(dataset, 1, row, sizeof row));
  ck_assert(row[0] == 4 && row[2] == 6);
  mica_dataset_destroy(dataset);
  write_npy("npy/y_train.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", negative, sizeof y);
  refuse("npy/x_train.npy", NULL, MICA_E_FORMAT, "the label -1 of sample 1");
  write_npy("npy/y_train.npy", "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }\n", large, sizeof large);
  refuse("npy/x_train.npy", NULL, MICA_E_FORMAT, "the label 9223372036854775813 of sample 1");
  write_npy("npy/y_train.npy", "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }\n", most, sizeof most);
  refuse("npy/x_train.npy", NULL, MICA_E_FORMAT, "the label 2147483648 of sample 0");
  write_npy("npy/y_train.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", numbers, sizeof numbers);
  refuse("npy/x_train.npy", NULL, MICA_E_FORMAT, "the label 0.5 of sample 0 is not a whole number");
  dataset = open_at("npy/x_train.npy", &(mica_dataset_config){.regression = true});
  ck_assert_float_eq(mica_dataset_target(dataset, 1), -2);
  mica_dataset_destroy(dataset);
  write_npy("npy/y_train.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", none, sizeof none);
  refuse("npy/x_train.npy", &(mica_dataset_config){.regression = true}, MICA_E_FORMAT, "label of sample 1 is nan");
  refuse("npy/x_train.npy", NULL, MICA_E_FORMAT, "the label nan of sample 1");
  write_npy("npy/y_train.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", wholes, sizeof wholes);
  dataset = open_at("npy/x_train.npy", NULL);
  ck_assert_int_eq(mica_dataset_label(dataset, 0), 2);
  ck_assert_int_eq(mica_dataset_classes(dataset), 3);
  mica_dataset_destroy(dataset);
  /* Inputs that are no finite numbers, in memory and in their file. */
  write_npy("npy/x_val.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", wild, sizeof wild);
  write_npy("npy/y_val.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", wholes, sizeof wholes);
  refuse("npy/x_val.npy", NULL, MICA_E_FORMAT,
         "x_val.npy: column 1 of sample 1 is 1e+300, which is not a finite f32 number");
  dataset = open_at("npy/x_val.npy", &(mica_dataset_config){.memory = 1});
  ck_ok(mica_dataset_input(dataset, 0, row, sizeof row));
  ck_assert_int_eq(mica_dataset_input(dataset, 1, row, sizeof row), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "column 1 of sample 1 is 1e+300"));
  mica_dataset_destroy(dataset);
  write_npy("npy/x_val.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 2), }", pictures,
            sizeof pictures);
  refuse("npy/x_val.npy", NULL, MICA_E_FORMAT, "element 0, 1, 0 of sample 1 is -inf");
  /* Several labels of each are zeros and ones. */
  static const uint8_t several[] = {1, 0, 1, 0, 1, 1}, wrong[] = {1, 0, 1, 0, 2, 1};
  uint8_t second[3];
  write_npy("npy/y_train.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", several,
            sizeof several);
  dataset = open_at("npy/x_train.npy", NULL);
  const mica_column *label = mica_dataset_column(dataset, mica_dataset_column_index(dataset, "label"));
  ck_assert_int_eq(label->kind, MICA_COLUMN_KIND_CLASSES);
  ck_assert_int_eq(label->classes, 3);
  ck_ok(mica_dataset_read(dataset, mica_dataset_column_index(dataset, "label"), 1, second, sizeof second));
  ck_assert_mem_eq(second, several + 3, sizeof second);
  write_npy("npy/x_test.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", x, sizeof x);
  write_npy("npy/y_test.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }\n", several, 4);
  refuse("npy/x_test.npy", &(mica_dataset_config){.like = dataset}, MICA_E_FORMAT,
         "2 labels per sample, but the data of training have 3");
  write_npy("npy/y_test.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", several, 2);
  refuse("npy/x_test.npy", &(mica_dataset_config){.like = dataset}, MICA_E_FORMAT,
         "1 label per sample, but the data of training have 3");
  write_npy("npy/y_test.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", several, 3);
  refuse("npy/x_test.npy", NULL, MICA_E_FORMAT,
         "holds 2 inputs and labels of shape (3); labels must have the shape (2), or (2, K)");
  mica_dataset_destroy(dataset);
  write_npy("npy/y_train.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", wrong, sizeof wrong);
  refuse("npy/x_train.npy", NULL, MICA_E_FORMAT,
         "label 1 of sample 1 is 2; if a sample has several labels, each must be 0 or 1");
  refuse("npy/x_train.npy", &(mica_dataset_config){.regression = true}, MICA_E_FORMAT,
         "has labels of shape (2, 3); they must have the shape (2)");
}
END_TEST

START_TEST(npy_files_that_are_wrong) {
  static const double x[6];
  write_npy("x1.npy", "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", x, sizeof x);
  refuse("x1.npy", NULL, MICA_E_FORMAT, "Fortran");
  write_npy("x1.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }", x, sizeof x);
  refuse("x1.npy", NULL, MICA_E_FORMAT, "truncated");
  write_npy("x1.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 4), }", x, 48);
  refuse("x1.npy", NULL, MICA_E_FORMAT, "truncated");
  write_npy("inputs.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", x, sizeof x);
  refuse("inputs.npy", NULL, MICA_E_FORMAT, "does not tell which file holds the labels; name the files x...");
}
END_TEST

/* Rows as those of tables: seconds since 1970, and answers far below zero. */
START_TEST(large_numbers_of_arrays_have_bases) {
  static const double x[6] = {1700000000, 1, 1700000999, 2, 1700000001, 3}, y[3] = {-5e9, -4999999998.75, -4999999000};
  static const int64_t later[4] = {1700000123, -7, 1700000500, 4};
  static const float cut[2] = {1700000000, 1};
  const mica_dataset_config whole = {.regression = true, .bases = MICA_BASES_AUTO},
                            mapped = {.regression = true, .bases = MICA_BASES_AUTO, .memory = 1},
                            named = {.regression = true, .bases = "0=1699999999\nlabel=-5000000001"};
  const mica_dataset_config *const configs[] = {&whole, &mapped, &named};
  float row[2];
  write_npy("large/x_train.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", x, sizeof x);
  write_npy("large/y_train.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", y, sizeof y);
  write_npy("large/x_test.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", later, sizeof later);
  write_npy("large/y_test.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", y + 1, 2 * sizeof *y);
  for (int k = 0; k < 3; k++) {
    mica_dataset *d = open_at("large", configs[k]), *test = NULL;
    const size_t label = mica_dataset_column_index(d, "label"), at = mica_dataset_column_index(d, "x");
    const float one = k == 2;
    ck_assert(mica_dataset_base(d, at, 0) == 1700000000 - (double)one);
    ck_assert(mica_dataset_base(d, at, 1) == 0 && mica_dataset_base(d, at, 2) == 0);
    ck_assert(mica_dataset_base(d, label, 0) == -5e9 - (double)one);
    ck_ok(mica_dataset_input(d, 1, row, sizeof row));
    ck_assert(row[0] == 999 + one && row[1] == 2);
    ck_assert_float_eq(mica_dataset_target(d, 1), 1.25f + one);
    ck_ok(mica_dataset_open(
        files_path("large"),
        &(mica_dataset_config){.regression = true, .part = MICA_PART_TEST, .like = d, .memory = configs[k]->memory},
        &test));
    ck_ok(mica_dataset_input(test, 0, row, sizeof row));
    ck_assert(row[0] == 123 + one && row[1] == -7);
    ck_assert_float_eq(mica_dataset_target(test, 1), 1000 + one);
    mica_dataset_destroy(test);
    mica_dataset_destroy(d);
  }
  /* f32 has lost what such a base would keep; without one it is read. */
  write_npy("cut/x_train.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", cut, sizeof cut);
  write_npy("cut/y_train.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", y, sizeof *y);
  refuse("cut/x_train.npy", &named, MICA_E_FORMAT, "holds f32, whose steps are 128 at 1699999999");
  mica_dataset *d = open_at("cut/x_train.npy", &whole);
  ck_ok(mica_dataset_input(d, 0, row, sizeof row));
  ck_assert(row[0] == 1700000000);
  mica_dataset_destroy(d);
  /* Small whole numbers are in f32 as they are, and are less their base too. */
  for (int k = 0; k < 2; k++) {
    d = open_at("cut/x_train.npy", &(mica_dataset_config){.regression = true, .bases = "1=3", .memory = (uint64_t)k});
    ck_ok(mica_dataset_input(d, 0, row, sizeof row));
    ck_assert(row[0] == 1700000000 && row[1] == -2);
    mica_dataset_destroy(d);
  }
}
END_TEST

/* Arrays of ">f4" and ">i2", as NumPy has them on a big-endian host, in memory and sample by sample from the file. */
START_TEST(npy_files_of_the_other_byte_order) {
  static const uint8_t x[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, 0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0}, y[] = {0, 1, 0, 0};
  static const float want[] = {3, 4};
  float row[2];
  write_npy("other/x_train.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", x, sizeof x);
  write_npy("other/y_train.npy", "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", y, sizeof y);
  for (uint64_t memory = 0; memory < 2; memory++) {
    mica_dataset *dataset = open_at("other", &(mica_dataset_config){.memory = memory});
    ck_ok(mica_dataset_input(dataset, 1, row, sizeof row));
    ck_assert_mem_eq(row, want, sizeof row);
    ck_assert_int_eq(mica_dataset_label(dataset, 0), 1);
    ck_assert_int_eq(mica_dataset_label(dataset, 1), 0);
    mica_dataset_destroy(dataset);
  }
}
END_TEST

START_TEST(samples_in_memory_are_split_by_seed) {
  enum { N = 100 };
  static float inputs[N][2];
  static int32_t labels[N];
  for (int i = 0; i < N; i++) inputs[i][0] = (float)i, labels[i] = i % 7;
  mica_column_data columns[] = {
      {.column = {"x", MICA_COLUMN_KIND_NUMBER, MICA_F32, {1, {2}}, 0}, .data = inputs},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 0}, .data = labels}};
  mica_dataset *all = NULL, *part = NULL, *rest = NULL, *again = NULL, *other = NULL;
  ck_ok(mica_dataset_create("memory", N, columns, 2, &all));
  ck_assert_int_eq(mica_dataset_classes(all), 7);
  ck_ok(mica_dataset_split(all, 0.25, 6, &part, &rest));
  ck_assert_uint_eq(mica_dataset_count(part), 25);
  ck_assert_uint_eq(mica_dataset_count(rest), 75);
  bool seen[N] = {false};
  for (int side = 0; side < 2; side++)
    for (uint64_t i = 0; i < (side ? 75u : 25u); i++) {
      float input[2];
      ck_ok(mica_dataset_input(side ? rest : part, i, input, sizeof input));
      ck_assert(!seen[(int)input[0]]);
      seen[(int)input[0]] = true;
      ck_assert_int_eq(mica_dataset_label(side ? rest : part, i), labels[(int)input[0]]);
    }
  mica_dataset_destroy(rest);
  ck_ok(mica_dataset_split(all, 0.25, 6, &again, &rest));
  mica_dataset_destroy(rest);
  ck_ok(mica_dataset_split(all, 0.25, 7, &other, &rest));
  int differ = 0;
  mica_dataset_destroy(all); /* its parts stay */
  for (uint64_t i = 0; i < 25; i++) {
    float a[2], b[2], c[2];
    ck_ok(mica_dataset_input(part, i, a, sizeof a));
    ck_ok(mica_dataset_input(again, i, b, sizeof b));
    ck_ok(mica_dataset_input(other, i, c, sizeof c));
    ck_assert_float_eq(a[0], b[0]);
    differ += a[0] != c[0];
  }
  ck_assert_int_gt(differ, 5);
  ck_assert_int_eq(mica_dataset_split(part, 0.001, 1, &all, &again), MICA_E_INVALID);
  mica_dataset_destroy(part);
  mica_dataset_destroy(rest);
  mica_dataset_destroy(again);
  mica_dataset_destroy(other);
  labels[3] = 9;
  columns[1].column.classes = 7;
  ck_assert_int_eq(mica_dataset_create("memory", N, columns, 2, &all), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "element 3 of column \"label\" is the class 9"));
}
END_TEST

static const uint8_t png_16_gamma[] = {
    137, 80, 78,  71,  13, 10,  26,  10,  0,   0,   0,  13, 73, 72,  68,  82,  0,   0,  0,  2,  0, 0,
    0,   1,  16,  0,   0,  0,   0,   129, 217, 252, 21, 0,  0,  0,   4,   103, 65,  77, 65, 0,  1, 134,
    160, 49, 232, 150, 95, 0,   0,   0,   13,  73,  68, 65, 84, 120, 218, 99,  104, 96, 16, 50, 1, 0,
    2,   93, 0,   199, 0,  152, 125, 9,   0,   0,   0,  0,  73, 69,  78,  68,  174, 66, 96, 130};
static const uint8_t png_palette[] = {
    137, 80,  78, 71,  13,  10,  26,  10,  0,   0,   0,   13, 73, 72, 68, 82,  0,   0,  0,  2,   0,  0,
    0,   1,   8,  3,   0,   0,   0,   195, 252, 143, 184, 0,  0,  0,  6,  80,  76,  84, 69, 10,  20, 30,
    200, 100, 50, 119, 160, 179, 156, 0,   0,   0,   11,  73, 68, 65, 84, 120, 218, 99, 96, 100, 0,  0,
    0,   5,   0,  2,   66,  194, 68,  159, 0,   0,   0,   0,  73, 69, 78, 68,  174, 66, 96, 130};
static const uint8_t png_alpha[] = {
    137, 80, 78,  71, 13, 10,  26,  10,  0,   0,   0,   13, 73, 72,  68,  82,  0,  0,   0,   2,   0,  0,
    0,   1,  8,   6,  0,  0,   0,   244, 34,  127, 138, 0,  0,  0,   4,   103, 65, 77,  65,  0,   0,  177,
    143, 11, 252, 97, 5,  0,   0,   0,   15,  73,  68,  65, 84, 120, 218, 99,  56, 145, 98,  244, 31, 136,
    141, 1,  20,  15, 3,  239, 104, 106, 193, 57,  0,   0,  0,  0,   73,  69,  78, 68,  174, 66,  96, 130};

START_TEST(pictures_are_read_as_they_are_stored) {
#if MICA_WITH_PNG
  static const struct {
    const uint8_t *file;
    size_t size;
    int32_t channels;
    uint8_t want[6];
  } cases[] = {
      {png_16_gamma, sizeof png_16_gamma, 1, {128, 18}}, /* 0x8000 and 0x1234 of 65535, whatever the gamma */
      {png_palette, sizeof png_palette, 3, {200, 10, 100, 20, 50, 30}},
      {png_alpha, sizeof png_alpha, 3, {200, 40, 100, 20, 50, 10}}, /* 51 of 255 on black is a fifth */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *pixels = NULL;
    mica_shape shape;
    files_write("one.png", cases[i].file, cases[i].size);
    ck_ok(mica_image_read(files_path("one.png"), MICA_SHAPE(0, 0, 0), &pixels, &shape));
    ck_assert(mica_shape_equal(shape, MICA_SHAPE(cases[i].channels, 1, 2)));
    for (int k = 0; k < 2 * cases[i].channels; k++)
      ck_assert_msg(pixels[k] == cases[i].want[k], "%zu: pixel %d is %d", i, k, pixels[k]);
    mica_free(pixels);
  }
#endif
}
END_TEST

START_TEST(names_of_classes_are_printable) {
#if MICA_WITH_PNG
  files_write("odd/caf\xe9/1.png", png_palette, sizeof png_palette);
  files_write("odd/\x1b[31mred/1.png", png_palette, sizeof png_palette);
  files_write("odd/gr\xc3\xbcn/1.png", png_palette, sizeof png_palette);
  mica_dataset *dataset = open_at("odd", NULL), *again = NULL;
  ck_assert_str_eq(mica_dataset_class_name(dataset, 0), "\\x1b[31mred");
  ck_assert_str_eq(mica_dataset_class_name(dataset, 1), "caf\\xe9");
  ck_assert_str_eq(mica_dataset_class_name(dataset, 2), "gr\xc3\xbcn");
  ck_ok(mica_dataset_open(files_path("odd"), &(mica_dataset_config){.like = dataset}, &again));
  mica_dataset_destroy(again);
  mica_dataset_destroy(dataset);
#endif
}
END_TEST

START_TEST(what_is_no_file_is_refused_at_once) {
  files_write_text("pipes/a/ignored", "");
  ck_assert_int_eq(mkfifo(files_path("pipe"), 0600), 0);
  ck_assert_int_eq(mkfifo(files_path("pipes/a/1.png"), 0600), 0);
  refuse("pipe", NULL, MICA_E_FORMAT, "neither a file nor a folder");
  refuse("pipes", NULL, MICA_E_NOT_FOUND, "is not a regular file");
}
END_TEST

START_TEST(files_are_read_alike_in_memory_and_from_disk) {
  /* 2 x 2 of i16, big-endian: 1, -2, 258, 0 and so on; f64 in npy. */
  static const uint8_t images[16 + 3 * 8] = {0, 0, 11, 3, 0,   0,   0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 255, 254,
                                             1, 2, 0,  0, 127, 255, 0, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 128, 0};
  const double x[6] = {1, 2.5, -3, 4, 5, 1e6};
  const int32_t y[3] = {0, 1, 0};
  files_write("disk/train-images-idx3-ubyte", images, sizeof images);
  files_write("disk/train-labels-idx1-ubyte", idx_labels, sizeof idx_labels);
  write_npy("disk2/x_train.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", x, sizeof x);
  write_npy("disk2/y_train.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", y, sizeof y);
  static const char *const names[] = {"disk", "disk2"};
  for (int k = 0; k < 2; k++) {
    mica_dataset *memory = open_at(names[k], NULL), *disk = open_at(names[k], &(mica_dataset_config){.memory = 1});
    const size_t bytes = mica_dataset_input_bytes(memory);
    float a[4], b[4], mean[2][2], deviation[2][2];
    ck_assert_uint_eq(mica_dataset_input_bytes(disk), bytes);
    for (uint64_t i = 0; i < 3; i++) {
      ck_ok(mica_dataset_input(memory, i, a, bytes));
      ck_ok(mica_dataset_input(disk, i, b, bytes));
      ck_assert(!memcmp(a, b, bytes));
      ck_assert_int_eq(mica_dataset_label(memory, i), mica_dataset_label(disk, i));
    }
    if (k == 0) ck_assert(b[0] == 8 - 2 && b[3] == -32768);
    ck_ok(mica_dataset_measure(memory, mean[0], deviation[0]));
    ck_ok(mica_dataset_measure(disk, mean[1], deviation[1]));
    ck_assert_float_eq(mean[0][0], mean[1][0]);
    ck_assert_float_eq(deviation[0][0], deviation[1][0]);
    mica_dataset_destroy(memory);
    mica_dataset_destroy(disk);
  }
  ck_assert_int_eq(truncate(files_path("disk/train-images-idx3-ubyte"), 30), 0);
  refuse("disk", &(mica_dataset_config){.memory = 1}, MICA_E_FORMAT, "truncated");
}
END_TEST

/* More of them than a header can take, read from the file; a byte that is not a bool is refused there too. */
START_TEST(bools_are_read_from_disk) {
  enum { ALL = 70000, EACH = ALL / 2 };
  static uint8_t file[80 + ALL], labels[2] = {0, 1};
  static float row[EACH];
  const mica_dataset_config disk = {.memory = 1};
  memset(file, ' ', 80);
  memcpy(file, "\x93NUMPY\x01\0\x46\0", 10);
  file[10 + snprintf((char *)file + 10, 70, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, %d), }", EACH)] =
      '\n';
  for (int i = 0; i < ALL; i++) file[80 + i] = i % 3 == 0;
  files_write("bools/x_train.npy", file, sizeof file);
  write_npy("bools/y_train.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", labels, sizeof labels);
  mica_dataset *data = open_at("bools", &disk);
  for (int s = 0; s < 2; s++) {
    ck_ok(mica_dataset_input(data, (uint64_t)s, row, sizeof row));
    for (int i = 0; i < EACH; i++) ck_assert_float_eq(row[i], (s * EACH + i) % 3 == 0);
  }
  mica_dataset_destroy(data);
  file[80 + ALL - 2] = 2;
  files_write("bools/x_train.npy", file, sizeof file);
  refuse("bools", &disk, MICA_E_FORMAT, "element 34998 of sample 1 is 2, but a bool must be 0 or 1");
  refuse("bools", NULL, MICA_E_FORMAT, "element 69998 is 2, but a bool must be 0 or 1");
}
END_TEST

START_TEST(constants_have_a_deviation_of_one) {
  float mean[3], deviation[3];
  files_write_text("constant.csv", "a,b,c,label\n0.1,5e-9,7,0\n0.1,1e-9,8,1\n0.1,3e-9,9,0\n");
  mica_dataset *dataset = open_at("constant.csv", NULL);
  ck_ok(mica_dataset_measure(dataset, mean, deviation));
  ck_assert_float_eq(deviation[0], 1.0f);
  ck_assert_float_eq_tol(deviation[1], 1.632993e-9f, 1e-14f);
  ck_assert_float_eq_tol(deviation[2], 0.8164966f, 1e-6f);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(folders_that_hold_nothing) {
  files_write_text("empty/.hidden", "");
  refuse("empty", NULL, MICA_E_FORMAT, "is empty");
  files_write_text("classes/cat/readme.md", "no picture");
  refuse("classes", NULL, MICA_E_FORMAT, "cat holds no pictures");
  files_write_text("texts/cat/one.txt", "no picture");
  files_write_text("texts/dog/one.gif", "no picture");
  refuse("texts", NULL, MICA_E_FORMAT, "cat holds no pictures");
  files_write_text("flat/readme.txt", "nothing");
  refuse("flat", NULL, MICA_E_FORMAT, "no folders of pictures");
  files_write_text("parts/train/cat/1.png", "no picture");
  refuse("parts", &(mica_dataset_config){.part = MICA_PART_VALIDATION}, MICA_E_NOT_FOUND, "no validation part");
#if MICA_WITH_PNG
  refuse("parts", NULL, MICA_E_FORMAT, "neither PNG nor JPEG");
#endif
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, idx_files_in_a_folder, idx_files_that_are_wrong, cifar_files, gzip_in_members, csv_files,
      csv_files_that_are_wrong, npy_files, npy_files_that_are_wrong, large_numbers_of_arrays_have_bases,
      npy_files_of_the_other_byte_order, samples_in_memory_are_split_by_seed, pictures_are_read_as_they_are_stored,
      names_of_classes_are_printable, what_is_no_file_is_refused_at_once, files_are_read_alike_in_memory_and_from_disk,
      bools_are_read_from_disk, constants_have_a_deviation_of_one, folders_that_hold_nothing)
