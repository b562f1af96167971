/* labels: null
 *
 * Real data where it is: Fashion-MNIST of Debian's package, and data/ of the test data. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FASHION "/usr/share/datasets/fashion-mnist"

static bool has_fashion_mnist(void) { return access(FASHION, R_OK) == 0; }

/* The part of the dataset, with so many samples and classes. */
static mica_dataset *open_part(const char *path, mica_part part, uint64_t count, int32_t classes) {
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(path, &(mica_dataset_config){.part = part}, &dataset));
  ck_assert_uint_eq(mica_dataset_count(dataset), count);
  ck_assert_int_eq(mica_dataset_classes(dataset), classes);
  return dataset;
}

/* The dataset against its file: records of `label` bytes, the last of them the class, and C planes of H x W pixels
 * after `head` bytes. Labels NULL: those of the records. */
typedef struct raw_file {
  const char *path;
  size_t head, label;
  const uint8_t *labels;
} raw_file;

static void check_against(const mica_dataset *dataset, raw_file file) {
  const mica_shape shape = mica_dataset_shape(dataset);
  size_t plane = (size_t)(shape.dim[1] * shape.dim[2]), input = (size_t)shape.dim[0] * plane, size;
  size_t record = file.label + input, count = (size_t)mica_dataset_count(dataset);
  uint8_t *raw = files_read(file.path, &size), *read = malloc(input);
  float mean[3], deviation[3];
  double sums[3] = {0}, squares[3] = {0};
  ck_assert_ptr_nonnull(read);
  ck_assert_uint_eq(size, file.head + count * record);
  for (size_t i = 0; i < count; i++) {
    const uint8_t *pixels = raw + file.head + i * record + file.label;
    ck_assert_int_eq(mica_dataset_label(dataset, i), file.labels ? file.labels[i] : pixels[-1]);
    for (size_t j = 0; j < input; j++) {
      sums[j / plane] += pixels[j] / 255.0;
      squares[j / plane] += pixels[j] / 255.0 * (pixels[j] / 255.0);
    }
    if (i % 97 == 0 || i == count - 1) {
      ck_ok(mica_dataset_input(dataset, i, read, input));
      ck_assert_mem_eq(read, pixels, input);
    }
  }
  ck_ok(mica_dataset_measure(dataset, mean, deviation));
  for (int64_t c = 0; c < shape.dim[0]; c++) {
    double m = sums[c] / (double)(count * plane);
    ck_assert_double_eq_tol(mean[c], m, 1e-5);
    ck_assert_double_eq_tol(deviation[c], sqrt(squares[c] / (double)(count * plane) - m * m), 1e-5);
  }
  free(read);
  free(raw);
}

/* A pair of IDX files: 16 bytes of header before the images, 8 before the labels. */
static void check_idx(const mica_dataset *dataset, const char *images, const char *labels) {
  size_t size;
  uint8_t *raw = files_read(labels, &size);
  ck_assert_uint_eq(size, 8 + mica_dataset_count(dataset));
  check_against(dataset, (raw_file){.path = images, .head = 16, .labels = raw + 8});
  free(raw);
}

START_TEST(fashion_mnist) {
  mica_dataset *train = open_part("fashion-mnist", MICA_PART_TRAIN, 60000, 10);
  mica_dataset *test = open_part("fashion-mnist", MICA_PART_TEST, 10000, 10);
  check_idx(train, FASHION "/train-images-idx3-ubyte.gz", FASHION "/train-labels-idx1-ubyte.gz");
  ck_assert_str_eq(mica_dataset_class_name(train, mica_dataset_label(train, 0)), "ankle boot");
  ck_assert_int_eq(mica_dataset_label(test, 1), 2);
  uint64_t counts[10] = {0};
  for (uint64_t i = 0; i < 60000; i++) counts[mica_dataset_label(train, i)]++;
  for (int i = 0; i < 10; i++) ck_assert_uint_eq(counts[i], 6000);
  mica_dataset_destroy(train);
  mica_dataset_destroy(test);
}
END_TEST

START_TEST(mnist) {
  char images[4096], labels[4096];
  snprintf(images, sizeof images, "%s", files_real("mnist/train-images-idx3-ubyte.gz"));
  snprintf(labels, sizeof labels, "%s", files_real("mnist/train-labels-idx1-ubyte.gz"));
  mica_dataset *train = open_part(files_real("mnist"), MICA_PART_TRAIN, 60000, 10);
  check_idx(train, images, labels);
  mica_dataset_destroy(train);
}
END_TEST

START_TEST(cifar10) {
  mica_dataset *train = open_part(files_real("cifar10"), MICA_PART_TRAIN, 10000, 10);
  mica_dataset *test = open_part(files_real("cifar10"), MICA_PART_TEST, 2000, 10);
  check_against(train, (raw_file){.path = files_real("cifar10/train_10000.bin.gz"), .label = 1});
  ck_assert_str_eq(mica_dataset_class_name(train, mica_dataset_label(train, 9)), "truck");
  mica_dataset_destroy(train);
  mica_dataset_destroy(test);
}
END_TEST

/* Rows of 64 pixels and a label, after a comment. */
START_TEST(optdigits) {
  const char *path = files_real("optdigits/optdigits.tra");
  mica_dataset *dataset = NULL;
  size_t size;
  uint64_t rows = 0;
  float read[64];
  char *text = (char *)files_read(path, &size);
  char *grown = realloc(text, size + 1);
  ck_assert_ptr_nonnull(grown);
  text = grown;
  text[size] = '\0';
  ck_ok(mica_dataset_open(path, NULL, &dataset));
  ck_assert_int_eq(mica_dataset_classes(dataset), 10);
  ck_assert(mica_shape_equal(mica_dataset_shape(dataset), MICA_SHAPE(64)));
  for (char *save, *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save)) {
    if (line[0] == '#') continue;
    ck_ok(mica_dataset_input(dataset, rows, read, sizeof read));
    for (int i = 0; i < 64; i++, line++) ck_assert_int_eq((int)read[i], strtol(line, &line, 10));
    ck_assert_int_eq(mica_dataset_label(dataset, rows++), strtol(line, NULL, 10));
  }
  ck_assert_uint_eq(mica_dataset_count(dataset), rows);
  mica_dataset_destroy(dataset);
  free(text);
}
END_TEST

#if MICA_WITH_PNG
START_TEST(ratings) {
  const mica_dataset_config config = {
      .label_column = "rating", .regression = true, .kinds = "userId=class,movieId=class,timestamp=time"};
  mica_dataset *dataset = NULL, *last = NULL, *rest = NULL;
  size_t size = 0, lines = 0;
  uint8_t *text = files_read(files_real("movielens_small/ratings.csv"), &size);
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n' || i + 1 == size;
  free(text);
  ck_ok(mica_dataset_open(files_real("movielens_small/ratings.csv"), &config, &dataset));
  ck_assert_uint_ge(lines, 100837); /* as published, behind a header */
  ck_assert_uint_eq(mica_dataset_count(dataset), lines - 1);
  ck_assert_str_eq(mica_dataset_summary(dataset), "4 columns, label 'rating', a number, time 'timestamp'");
  ck_assert_int_ge(mica_dataset_column(dataset, mica_dataset_column_index(dataset, "userId"))->classes, 610);
  ck_assert_int_ge(mica_dataset_column(dataset, mica_dataset_column_index(dataset, "movieId"))->classes, 9724);
  ck_assert_float_eq(mica_dataset_target(dataset, 0), 4.0f);
  ck_ok(mica_dataset_split_by(dataset, &(mica_split_config){.share = 0.1, .time = "timestamp"}, &last, &rest));
  ck_assert_uint_ge(mica_dataset_count(last), 10000);
  mica_dataset_destroy(last);
  mica_dataset_destroy(rest);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(messages) {
  mica_dataset *dataset = NULL;
  char first[256] = "";
  int64_t length = 0;
  ck_ok(mica_dataset_open(files_real("sms_spam/SMSSpamCollection"), NULL, &dataset));
  ck_assert_str_eq(mica_dataset_summary(dataset), "2 columns, label 'Label', 2 classes, text 'SMS'");
  ck_assert_str_eq(mica_dataset_class_name(dataset, 1), "spam");
  const size_t k = mica_dataset_column_index(dataset, "SMS");
  ck_ok(mica_dataset_length(dataset, k, 0, &length));
  ck_assert_int_lt(length, (int64_t)sizeof first);
  ck_ok(mica_dataset_read(dataset, k, 0, first, (size_t)length));
  ck_assert_str_eq(first,
                   "Go until jurong point, crazy.. Available only in bugis n great world la e buffet... Cine there "
                   "got amore wat...");
  int spam = 0;
  for (uint64_t i = 0; i < mica_dataset_count(dataset); i++) spam += mica_dataset_label(dataset, i);
  ck_assert_uint_eq(mica_dataset_count(dataset), 5574);
  ck_assert_int_eq(spam, 747); /* 747 spam and 4,827 ham, as its authors say */
  mica_dataset_destroy(dataset);
}
END_TEST

/* Pictures and the masks beside them: two classes, cells and membranes, of which the most are cells. */
START_TEST(folders_of_pictures) {
  mica_dataset *dataset = NULL;
  const char *path = files_real("isbi_membrane/train");
  static uint8_t input[32 * 48], mask[32 * 48];
  ck_ok(mica_dataset_open(path, &(mica_dataset_config){.height = 32, .width = 48}, &dataset));
  const size_t k = mica_dataset_column_index(dataset, "mask");
  ck_assert_uint_lt(k, mica_dataset_column_count(dataset));
  const mica_column *column = mica_dataset_column(dataset, k);
  ck_assert_int_eq(column->kind, MICA_COLUMN_KIND_MASK);
  ck_assert_int_eq(column->classes, 2);
  ck_assert(mica_shape_equal(mica_dataset_shape(dataset), MICA_SHAPE(1, 32, 48)));
  ck_ok(mica_dataset_input(dataset, mica_dataset_count(dataset) - 1, input, sizeof input));
  double sum = 0;
  for (size_t i = 0; i < sizeof input; i++) sum += input[i];
  ck_assert_msg(sum / sizeof input > 80 && sum / sizeof input < 180, "%g", sum / sizeof input);
  ck_ok(mica_dataset_read(dataset, k, 0, mask, sizeof mask));
  size_t cells = 0;
  for (size_t i = 0; i < sizeof mask; i++) cells += mask[i] == 1;
  ck_assert_msg(cells > sizeof mask * 6 / 10 && cells < sizeof mask * 9 / 10, "%zu", cells);
  mica_dataset_destroy(dataset);
}
END_TEST
#endif

START_TEST(photos) {
  const char *path = files_real("photos/dog.jpg");
  uint8_t *pixels = NULL;
  mica_shape shape;
#if MICA_WITH_JPEG
  ck_ok(mica_image_read(path, MICA_SHAPE(0, 0, 0), &pixels, &shape));
  ck_assert(mica_shape_equal(shape, MICA_SHAPE(3, 576, 768)));
  double whole = 0, small = 0;
  for (int64_t i = 0; i < 3 * 576 * 768; i++) whole += pixels[i] / (3.0 * 576 * 768);
  mica_free(pixels);
  ck_ok(mica_image_read(path, MICA_SHAPE(3, 36, 48), &pixels, &shape));
  for (int64_t i = 0; i < 3 * 36 * 48; i++) small += pixels[i] / (3.0 * 36 * 48);
  mica_free(pixels);
  ck_assert_double_eq_tol(whole, small, 1);
  /* A file cut short is no picture. */
  static char content[1 << 18];
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(content, 1, sizeof content, file);
  fclose(file);
  files_write("cut.jpg", content, n / 2);
  ck_assert_int_eq(mica_image_read(files_path("cut.jpg"), MICA_SHAPE(0, 0, 0), &pixels, &shape), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "cut.jpg"));
  /* EXIF with orientation 6: a quarter to the right. */
  static const char exif[] = "\xff\xe1\0\"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0";
  memmove(content + 2 + 36, content + 2, n - 2);
  memcpy(content + 2, exif, 36);
  files_write("sideways.jpg", content, n + 36);
  ck_ok(mica_image_read(files_path("sideways.jpg"), MICA_SHAPE(0, 0, 0), &pixels, &shape));
  ck_assert(mica_shape_equal(shape, MICA_SHAPE(3, 768, 576)));
  mica_free(pixels);
#else
  ck_assert_int_eq(mica_image_read(path, MICA_SHAPE(0, 0, 0), &pixels, &shape), MICA_E_UNSUPPORTED);
#endif
}
END_TEST

static const char *lacks_data(void) { return has_fashion_mnist() || files_real("") ? NULL : "no real data"; }

TESTS(BOTH(NEEDS(DEFLATE), lacks_data()), NULL, NULL, WHERE(has_fashion_mnist(), fashion_mnist),
      WHERE(files_real("mnist"), mnist), WHERE(files_real("cifar10"), cifar10),
      WHERE(files_real("optdigits"), optdigits), IF(PNG, WHERE(files_real("movielens_small"), ratings)),
      IF(PNG, WHERE(files_real("sms_spam"), messages)),
      IF(PNG, WHERE(files_real("isbi_membrane"), folders_of_pictures)), WHERE(files_real("photos"), photos))
