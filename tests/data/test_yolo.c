/* labels: null
 *
 * Pictures with boxes in the YOLO layout: where files lie, how classes are named, and what is refused with a sentence
 * that names file and line. */
#include "data/annotation/yolo.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A grey picture of 64 x 32 pixels. */
static void write_picture(const char *name) {
  static uint8_t planes[64 * 32];
  uint8_t *png = NULL;
  size_t bytes = 0;
  memset(planes, 100, sizeof planes);
  ck_ok(mica_png_encode(planes, MICA_SHAPE(1, 32, 64), &png, &bytes));
  files_write(name, png, bytes);
  mica_free(png);
}

static mica_dataset *opened(const char *name, mica_part part) {
  mica_dataset *data = NULL;
  ck_ok(mica_dataset_open(files_path(name), &(mica_dataset_config){.part = part}, &data));
  return data;
}

static void check_box(const mica_dataset *data, uint64_t sample, size_t row, const char *name, const float wanted[4]) {
  const size_t boxes = mica_dataset_column_index(data, "boxes"), label = mica_dataset_column_index(data, "label");
  float sides[40];
  int32_t classes[10];
  int64_t rows = 0;
  ck_ok(mica_dataset_length(data, boxes, sample, &rows));
  ck_assert_msg((size_t)rows > row && rows <= 10, "%lld boxes", (long long)rows);
  ck_ok(mica_dataset_read(data, boxes, sample, sides, 4 * (size_t)rows * sizeof *sides));
  ck_ok(mica_dataset_read(data, label, sample, classes, (size_t)rows * sizeof *classes));
  for (size_t k = 0; k < 4; k++)
    ck_assert_msg(fabsf(sides[4 * row + k] - wanted[k]) < 1e-3f, "side %zu is %g, not %g", k,
                  (double)sides[4 * row + k], (double)wanted[k]);
  ck_assert_str_eq(mica_dataset_column_class(data, label, classes[row]), name);
}
#define BOX(data, sample, row, name, ...) check_box(data, sample, row, name, (const float[]){__VA_ARGS__})

static void refused(const char *name, const char *sentence) {
  mica_dataset *data = NULL;
  ck_assert_int_eq(mica_dataset_open(files_path(name), NULL, &data), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), sentence), "\"%s\" lacks \"%s\"", mica_error_message(), sentence);
}

/* Parts within images and labels, and parts that hold both. */
START_TEST(parts_are_found) {
  static const char *const layouts[3][4] = {
      {"images/train2017/a.png", "labels/train2017/a.txt", "images/val/b.png", "labels/val/b.txt"},
      {"train/images/a.png", "train/labels/a.txt", "valid/images/b.png", "valid/labels/b.txt"},
      {"Training/images/a.png", "Training/labels/a.txt", "DEV/images/b.png", "DEV/labels/b.txt"}};
  static const char *const roots[] = {"outside", "inside", "other"};
  const char *root = roots[_i];
  char name[128];
  for (int k = 0; k < 4; k++) {
    snprintf(name, sizeof name, "%s/%s", root, layouts[_i][k]);
    if (k % 2)
      files_write_text(name, k == 1 ? "1 0.5 0.5 0.25 0.5\r\n\n0 0.125 0.25 0.25 0.5\n" : "0 0.5 0.5 1 1");
    else
      write_picture(name);
  }
  snprintf(name, sizeof name, "%s/data.yaml", root);
  files_write_text(name, "path: ../x # root\ntrain: images/train\nnc: 2\nnames: ['dog', \"a, cat\"]\n");
  mica_dataset *data = opened(root, MICA_PART_TRAIN);
  ck_assert_str_eq(mica_dataset_summary(data), "1 pictures, 2 boxes, 2 classes: dog, a, cat");
  BOX(data, 0, 0, "a, cat", 24, 8, 40, 24);
  BOX(data, 0, 1, "dog", 0, 0, 16, 16);
  mica_dataset_destroy(data);
  data = opened(root, MICA_PART_VALIDATION);
  BOX(data, 0, 0, "dog", 0, 0, 64, 32);
  mica_dataset_destroy(data);
  ck_assert_int_eq(mica_dataset_open(files_path(root), &(mica_dataset_config){.part = MICA_PART_TEST}, &data),
                   MICA_E_NOT_FOUND);
}
END_TEST

/* One folder of both; numbers are names if nothing names them. A box that sticks out by rounding is cut, outlines give
 * their box, and pictures without a file have none. */
START_TEST(no_parts_and_no_names) {
  write_picture("plain/images/a.png");
  write_picture("plain/images/b.png");
  files_write_text("plain/labels/a.txt", "2 0.95 0.5 0.25 0.5\n0 0.25 0.25 0.5 0.25 0.375 0.75\n2 0.5 0.5 0 0.5\n");
  mica_dataset *data = opened("plain", MICA_PART_TRAIN);
  ck_assert_str_eq(mica_dataset_summary(data),
                   "2 pictures, 2 boxes, 3 classes: 0, 1, 2; 1 pictures have no file of boxes, and count as without "
                   "boxes; 1 boxes without area are left out");
  BOX(data, 0, 0, "2", 52.8f, 8, 64, 24);
  BOX(data, 0, 1, "0", 16, 8, 32, 24);
  mica_dataset_destroy(data);
  files_write_text("plain/labels/classes.txt", "ant\nbee\nfly\n");
  data = opened("plain", MICA_PART_TRAIN);
  BOX(data, 0, 0, "fly", 52.8f, 8, 64, 24);
  mica_dataset_destroy(data);
}
END_TEST

/* All forms of "names" are the same names. */
START_TEST(names_in_yaml) {
  static const char *const forms[] = {
      "names: [dog, 'it''s', \"a \\\"b\\\"\"]",
      "names: [ dog, # one\n  'it''s',\n  \"a \\\"b\\\"\" ,\n]\nnc: 3\n",
      "names: {0: dog, 2: 'a \"b\"', 1: it's}\n",
      "nc: 3\nnames:\n  - dog\n  # between\n  - it's # a comment\n  - a \"b\"\nother: 1\n",
      "names:\n- dog\n- it's\n- 'a \"b\"'\nnc: 3",
      "# all\nnames:\n  0: dog\n  1: \"it's\"\n  \"2\": a \"b\"\r\n\ntrain:\n  - x\n"};
  static const char *const wanted[] = {"dog", "it's", "a \"b\""};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    mica__yolo_names names = {0};
    char content[256];
    snprintf(content, sizeof content, "%s", forms[i]);
    ck_ok(mica__yolo_parse_yaml("data.yaml", content, &names));
    ck_assert_msg(names.count == 3, "form %zu has %zu names", i, names.count);
    for (size_t k = 0; k < 3; k++) ck_assert_str_eq(names.names[k], wanted[k]);
    mica__yolo_names_free(&names);
  }
}
END_TEST

START_TEST(labels_that_are_wrong) {
  static const struct {
    const char *labels, *sentence;
  } cases[] = {
      {"0 0.5 0.5 0.2 0.2\n\n0 0.5 0.5 0.2\n", "a.txt, line 3: the line has 4 numbers, but must have 5 (class"},
      {"0 0.5 0.5 0.2 0.2 0.1 0.1 0.1\n", "a.txt, line 1: the line has 8 numbers, but must have 5 (class"},
      {"0 0.5 x 0.2 0.2\n", "a.txt, line 1: \"x\" is not a finite number"},
      {"0 0.5 nan 0.2 0.2\n", "a.txt, line 1: \"nan\" is not a finite number"},
      {"0 32 16 20 20\n", "a.txt, line 1: 32 must be 0 to 1: boxes are shares"},
      {"-1 0.5 0.5 0.2 0.2\n", "a.txt, line 1: the class is -1, but must be a whole number"},
      {"0.5 0.5 0.5 0.2 0.2\n", "a.txt, line 1: the class is 0.5, but must be a whole number"},
      {"\n7 0.5 0.5 0.2 0.2\n", "a.txt, line 2: the class is 7, but "},
      {"", "no picture has a box"}};
  write_picture("bad/images/a.png");
  files_write_text("bad/data.yaml", "names: [cat, dog]\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    files_write_text("bad/labels/a.txt", cases[i].labels);
    refused("bad", cases[i].sentence);
  }
  files_write("bad/labels/a.txt", "0 0.5\0", 6);
  refused("bad", "a.txt holds a zero byte");
  files_write_text("bad/labels/a.txt", "0 0.5 0.5 1 1");
  files_write_text("bad/images/a.png", "none");
  refused("bad", "a.png is neither PNG nor JPEG, or is damaged");
}
END_TEST

START_TEST(names_that_are_wrong) {
  static const struct {
    const char *yaml, *sentence;
  } cases[] = {{"nc: 3\nnames: [cat, dog]\n", "data.yaml, line 1: \"nc\" is 3, but \"names\" lists 2"},
               {"names:\n  0: cat\n  2: dog\n", "data.yaml: \"names\" has no class 1"},
               {"names:\n  0: cat\n  0: dog\n", "data.yaml, line 3: class 0 has two names"},
               {"names: [cat, dog\n", "data.yaml, line 2: after a name of \"names\", there is neither a comma nor ]"},
               {"names: cat\n", "data.yaml, line 1: \"names\" is not a list"},
               {"names: [cat, 'dog]\n", "data.yaml, line 1: a quote is not closed"},
               {"names:\n  cat: 0\n", "data.yaml, line 2: a name of \"names\" must follow a number below 10000"},
               {"names: [cat, '']\n", "data.yaml, line 1: class 1 has an empty name"},
               {"names: {20000: cat}\n", "line 1: a class has the number 20000, but at most 9999 is allowed"},
               {"names: [cat]\nnames: [cat]\n", "data.yaml, line 2: \"names\" is given twice"},
               {"path: x\n", "data.yaml names no classes"}};
  write_picture("unnamed/images/a.png");
  files_write_text("unnamed/labels/a.txt", "0 0.5 0.5 1 1");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    files_write_text("unnamed/data.yaml", cases[i].yaml);
    refused("unnamed", cases[i].sentence);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, IF(PNG, LOOP(parts_are_found, 0, 3)), IF(PNG, no_parts_and_no_names),
      IF(PNG, labels_that_are_wrong), IF(PNG, names_that_are_wrong), names_in_yaml)
