/* labels: null
 *
 * Plain texts as datasets: lines in memory and in their file, texts beside each other, folders of one file. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_dataset *opened(const char *path, const mica_dataset_config *config) {
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(path, config, &dataset));
  return dataset;
}

static void expect(const mica_dataset *dataset, const char *column, uint64_t sample, const char *wanted) {
  const size_t at = mica_dataset_column_index(dataset, column);
  int64_t length = -1;
  char text[64] = "";
  ck_ok(mica_dataset_length(dataset, at, sample, &length));
  ck_assert_int_eq(length, (int64_t)strlen(wanted));
  if (length) ck_ok(mica_dataset_read(dataset, at, sample, text, (size_t)length));
  ck_assert_str_eq(text, wanted);
}

/* In memory, and in the file: one byte of memory is less than any file. */
START_TEST(lines_are_samples) {
  static const char text[] = "one\ntwo \r\n\n\r\n caf\xc3\xa9 \"x\", #\n\nlast";
  static const char *const wanted[] = {"one", "two ", "", "", " caf\xc3\xa9 \"x\", #", "", "last"};
  const mica_dataset_config config = {.memory = (uint64_t)_i};
  files_write_text("lines.txt", text);
  mica_dataset *dataset = opened(files_path("lines.txt"), &config);
  ck_assert_uint_eq(mica_dataset_count(dataset), 7);
  ck_assert_uint_eq(mica_dataset_column_count(dataset), 1);
  ck_assert_int_eq(mica_dataset_column(dataset, 0)->kind, MICA_COLUMN_KIND_TEXT);
  for (uint64_t i = 0; i < 7; i++) expect(dataset, "text", i, wanted[i]);
  mica_dataset_destroy(dataset);
  files_write_text("lines.txt", "end\r\n");
  dataset = opened(files_path("lines.txt"), &config);
  ck_assert_uint_eq(mica_dataset_count(dataset), 1);
  expect(dataset, "text", 0, "end");
  mica_dataset_destroy(dataset);
  files_write_text("lines.txt", "");
  ck_assert_int_eq(mica_dataset_open(files_path("lines.txt"), &config, &dataset), MICA_E_FORMAT);
}
END_TEST

/* Lines that end where windows do, and one longer than several windows. */
START_TEST(long_lines_are_found) {
  const size_t size = (size_t)5 << 20;
  char *text = malloc(size);
  memset(text, 'x', size);
  static const size_t ends[] = {(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (4 << 20) - 1, (5 << 20) - 1};
  for (int i = 0; i < 5; i++) text[ends[i]] = '\n';
  text[(4 << 20) - 2] = '\r';
  files_write("long.txt", text, size);
  free(text);
  for (uint64_t memory = 0; memory < 2; memory++) {
    mica_dataset *dataset = opened(files_path("long.txt"), &(mica_dataset_config){.memory = memory});
    static const int64_t lengths[] = {(1 << 20) - 1, 0, 0, (3 << 20) - 4, (1 << 20) - 1};
    ck_assert_uint_eq(mica_dataset_count(dataset), 5);
    for (uint64_t i = 0; i < 5; i++) {
      int64_t length = -1;
      ck_ok(mica_dataset_length(dataset, 0, i, &length));
      ck_assert_int_eq(length, lengths[i]);
    }
    mica_dataset_destroy(dataset);
  }
}
END_TEST

START_TEST(parallel_texts_are_columns) {
  mica_dataset *dataset = NULL;
  files_write_text("pairs/train.de", "ein Hund\nzwei\n");
  files_write_text("pairs/train.en", "a dog\ntwo\n");
  files_write_text("pairs/val.en", "one\n");
  files_write_text("pairs/val.de", "eins\n");
  files_write_text("pairs/README.md", "pairs");
  dataset = opened(files_path("pairs"), NULL);
  ck_assert_uint_eq(mica_dataset_count(dataset), 2);
  expect(dataset, "en", 0, "a dog");
  expect(dataset, "de", 0, "ein Hund");
  expect(dataset, "de", 1, "zwei");
  mica_dataset_destroy(dataset);
  dataset = opened(files_path("pairs"), &(mica_dataset_config){.part = MICA_PART_VALIDATION, .memory = 1});
  expect(dataset, "en", 0, "one");
  mica_dataset_destroy(dataset);
  dataset = opened(files_path("pairs/train.en"), NULL);
  expect(dataset, "text", 1, "two");
  mica_dataset_destroy(dataset);
  files_write_text("pairs/val.de", "eins\nzwei\n");
  ck_assert_int_eq(
      mica_dataset_open(files_path("pairs"), &(mica_dataset_config){.part = MICA_PART_VALIDATION}, &dataset),
      MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "has 1 lines"));
}
END_TEST

START_TEST(a_folder_of_one_file_is_that_file) {
  mica_dataset *dataset = NULL;
  files_write_text("one/names.txt", "Ann\nBob\n");
  files_write_text("one/LICENSE", "any");
  dataset = opened(files_path("one"), NULL);
  expect(dataset, "text", 1, "Bob");
  mica_dataset_destroy(dataset);
  files_write_text("two/train.txt", "Ann\n");
  files_write_text("two/test.txt", "Bob\n");
  dataset = opened(files_path("two"), &(mica_dataset_config){.part = MICA_PART_TEST});
  expect(dataset, "text", 0, "Bob");
  mica_dataset_destroy(dataset);
}
END_TEST

/* A folder per class, in parts; a file is a sample. */
START_TEST(folders_of_texts_are_classes) {
  static const uint8_t latin[] = "caf\xe9\n";
  mica_dataset *dataset = NULL, *test = NULL;
  files_write_text("folders/train/good/1.txt", "two\nlines\r\n\n");
  files_write("folders/train/good/2.txt", latin, sizeof latin - 1);
  files_write_text("folders/train/bad/1.txt", "\xef\xbb\xbfmarked");
  files_write_text("folders/train/bad/2.txt", "");
  files_write_text("folders/test/good/9.txt", "last");
  dataset = opened(files_path("folders"), NULL);
  ck_assert_uint_eq(mica_dataset_count(dataset), 4);
  ck_assert_str_eq(mica_dataset_summary(dataset),
                   "4 texts in 2 folders, one per class; 1 of them are not UTF-8 and were read as Latin-1");
  expect(dataset, "text", 0, "marked");
  expect(dataset, "text", 1, "");
  expect(dataset, "text", 2, "two\nlines");
  expect(dataset, "text", 3, "caf\xc3\xa9");
  ck_assert_str_eq(mica_dataset_column_class(dataset, mica_dataset_column_index(dataset, "label"), 0), "bad");
  ck_assert_int_eq(mica_dataset_label(dataset, 3), 1);
  test = opened(files_path("folders"), &(mica_dataset_config){.part = MICA_PART_TEST, .like = dataset});
  expect(test, "text", 0, "last");
  ck_assert_int_eq(mica_dataset_label(test, 0), 1);
  mica_dataset_destroy(test);
  files_write_text("folders/test/ugly/9.txt", "last");
  const mica_dataset_config like = {.part = MICA_PART_TEST, .like = dataset};
  ck_assert_int_eq(mica_dataset_open(files_path("folders"), &like, &test), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "holds a class \"ugly\", which the training part does not have"), "%s",
                mica_error_message());
  mica_dataset_destroy(dataset);
  files_write("folders/train/good/2.txt", "a\nb\n\0c", 6);
  ck_assert_int_eq(mica_dataset_open(files_path("folders"), NULL, &dataset), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "good/2.txt, line 3 has a zero byte; texts must be UTF-8"), "%s",
                mica_error_message());
}
END_TEST

/* What lies beside the project: a table of texts with a header, in memory and in its file, and 29,000 pairs. */
START_TEST(shared_texts_are_read) {
  for (uint64_t memory = 0; memory < 2 && files_real("sms_spam"); memory++) {
    mica_dataset *dataset = opened(files_real("sms_spam"), &(mica_dataset_config){.memory = memory});
    const size_t label = mica_dataset_column_index(dataset, "label");
    size_t text = 0;
    while (mica_dataset_column(dataset, text)->kind != MICA_COLUMN_KIND_TEXT) text++;
    ck_assert_uint_gt(mica_dataset_count(dataset), 5500);
    ck_assert_int_eq(mica_dataset_column(dataset, label)->classes, 2);
    int64_t length = 0;
    int32_t spam = 0, class_index = -1;
    for (uint64_t i = 0; i < mica_dataset_count(dataset); i += memory ? 50 : 1) {
      ck_ok(mica_dataset_length(dataset, text, i, &length));
      ck_ok(mica_dataset_read(dataset, label, i, &class_index, sizeof class_index));
      spam += !strcmp(mica_dataset_column_class(dataset, label, class_index), "spam");
    }
    ck_assert_int_gt(spam, memory ? 8 : 700);
    ck_ok(mica_dataset_length(dataset, text, 1, &length));
    ck_assert_int_eq(length, 29); /* "Ok lar... Joking wif u oni..." */
    mica_dataset_destroy(dataset);
  }
  if (files_real("multi30k")) {
    mica_dataset *dataset = opened(files_real("multi30k"), NULL);
    ck_assert_uint_eq(mica_dataset_count(dataset), 29000);
    ck_assert_uint_lt(mica_dataset_column_index(dataset, "de"), 2);
    ck_assert_uint_lt(mica_dataset_column_index(dataset, "en"), 2);
    mica_dataset_destroy(dataset);
    dataset = opened(files_real("multi30k"), &(mica_dataset_config){.part = MICA_PART_TEST});
    ck_assert_uint_eq(mica_dataset_count(dataset), 1000);
    mica_dataset_destroy(dataset);
  }
  static const char *const folders[] = {"tinyshakespeare", "names"};
  for (int i = 0; i < 2 && files_real(folders[i]); i++) {
    mica_dataset *dataset = opened(files_real(folders[i]), NULL);
    ck_assert_uint_gt(mica_dataset_count(dataset), 30000);
    mica_dataset_destroy(dataset);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(lines_are_samples, 0, 2), long_lines_are_found, parallel_texts_are_columns,
      a_folder_of_one_file_is_that_file, folders_of_texts_are_classes, IF(DEFLATE, shared_texts_are_read))
