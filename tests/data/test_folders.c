/* labels: null
 *
 * Folders of classes as people have them: parts under their usual names in any case, pictures in folders of a class,
 * litter, empty folders, pictures of several sizes, and folders that are one level too high or too low. */
#include "data/source.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A grey picture. */
static void picture(const char *name, int height, int width) {
  uint8_t *pixels = calloc((size_t)(height * width), 1), *file = NULL;
  size_t size = 0;
  ck_assert_ptr_nonnull(pixels);
  ck_ok(mica_png_encode(pixels, MICA_SHAPE(1, height, width), &file, &size));
  files_write(name, file, size);
  mica_free(file);
  free(pixels);
}

static void pictures(const char *folder, int count) {
  for (int i = 0; i < count; i++) {
    char name[128];
    snprintf(name, sizeof name, "%s/%d.png", folder, i);
    picture(name, 4, 4);
  }
}

static mica_dataset *open_part(const char *name, mica_part part, const mica_dataset *like) {
  mica_dataset *data = NULL;
  ck_ok(mica_dataset_open(files_path(name), &(mica_dataset_config){.part = part, .like = like}, &data));
  return data;
}

static void says(const mica_dataset *data, const char *sentence) {
  const char *summary = mica_dataset_summary(data);
  if (sentence)
    ck_assert_msg(strstr(summary, sentence) != NULL, "\"%s\" is not in \"%s\"", sentence, summary);
  else
    ck_assert_str_eq(summary, "");
}

static void refuse(const char *name, mica_part part, mica_status status, const char *sentence) {
  mica_dataset *data = NULL;
  const mica_status got = mica_dataset_open(files_path(name), &(mica_dataset_config){.part = part}, &data);
  ck_assert_msg(got == status && strstr(mica_error_message(), sentence), "%s: %s, %s", name, mica_status_name(got),
                mica_error_message());
}

/* --- parts --- */

START_TEST(parts_have_usual_names) {
  static const struct {
    const char *name;
    mica_part part;
  } names[] = {{"val", MICA_PART_VALIDATION}, {"valid", MICA_PART_VALIDATION}, {"Validation", MICA_PART_VALIDATION},
               {"VAL", MICA_PART_VALIDATION}, {"dev", MICA_PART_VALIDATION},   {"test", MICA_PART_TEST},
               {"Testing", MICA_PART_TEST},   {"eval", MICA_PART_TEST},        {"Evaluation", MICA_PART_TEST},
               {"training", MICA_PART_TRAIN}, {"Train", MICA_PART_TRAIN},      {"TRAINING", MICA_PART_TRAIN}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char folder[64];
    const bool train = names[i].part == MICA_PART_TRAIN;
    for (int texts = 0; texts < 2; texts++)
      for (int k = 0; k < 2; k++) {
        snprintf(folder, sizeof folder, "named%d/%s/%s", texts, k ? names[i].name : train ? "test" : "train", "cat");
        if (!texts) pictures(folder, k + 1);
        strcat(folder, "/1.txt");
        if (texts) files_write_text(folder, "miaow");
      }
    for (int texts = 0; texts < 2; texts++) {
      mica_dataset *data = open_part(texts ? "named1" : "named0", names[i].part, NULL);
      ck_assert_msg(mica_dataset_count(data) == (texts ? 1 : 2), "%s", names[i].name);
      ck_assert_str_eq(mica_dataset_class_name(data, 0), "cat");
      mica_dataset_destroy(data);
    }
    files_remove();
  }
}
END_TEST

START_TEST(tables_of_parts_have_usual_names) {
  static const char *const names[] = {"valid.csv", "Val.csv", "dev.csv", "dev-2.csv", "Validation.csv"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char file[64];
    snprintf(file, sizeof file, "t/%s", names[i]);
    files_write_text("t/train.csv", "x,label\n1,0\n2,1\n3,0\n");
    files_write_text(file, "x,label\n1,0\n2,1\n");
    files_write_text("t/devices.csv", "name\nlamp\n");
    mica_dataset *data = open_part("t", MICA_PART_VALIDATION, NULL);
    ck_assert_msg(mica_dataset_count(data) == 2, "%s", names[i]);
    mica_dataset_destroy(data);
    files_remove();
  }
}
END_TEST

START_TEST(files_of_parts_are_found) {
  static const struct {
    mica_part part;
    const char *name;
  } wanted[] = {{MICA_PART_TRAIN, "lists/train.tsv"}, {MICA_PART_VALIDATION, "lists/DEV.tsv"}, {MICA_PART_TEST, NULL}};
  files_write_text("lists/train.tsv", "");
  files_write_text("lists/DEV.tsv", "");
  files_write_text("lists/validated.tsv", "");
  files_write_text("lists/test.tsv.old", "");
  for (size_t i = 0; i < 3; i++) {
    char *path = NULL;
    ck_ok(mica__part_find_file(files_path("lists"), wanted[i].part, ".tsv", &path));
    if (wanted[i].name)
      ck_assert_str_eq(path, files_path(wanted[i].name));
    else
      ck_assert_ptr_null(path);
    free(path);
  }
}
END_TEST

/* Folders beside the parts are named. */
START_TEST(folders_beside_parts_are_named) {
  pictures("beside/train/cat", 2);
  pictures("beside/val/cat", 1);
  pictures("beside/more/cat", 1);
  pictures("beside/extra/cat", 1);
  files_write_text("beside/__MACOSX/cat/1.txt", "");
  files_write_text("beside/readme.md", "");
  mica_dataset *data = open_part("beside", MICA_PART_TRAIN, NULL);
  says(data, "2 folders beside the parts are not used: extra, more");
  mica_dataset_destroy(data);
  pictures("none/train/cat", 2);
  pictures("none/Test/cat", 1);
  data = open_part("none", MICA_PART_TRAIN, NULL);
  says(data, NULL);
  mica_dataset_destroy(data);
}
END_TEST

/* Parts have names such as "training_set"; two of one part, and folders that look like parts, are refused. */
START_TEST(parts_have_their_usual_names) {
  static const char *const usual[][3] = {{"training_set", "Validation Set", "test_set"},
                                         {"TrainData", "valset", "Testing-data"},
                                         {"train-images", "dev_split", "evaluation_dataset"}};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    char name[64], root[32];
    snprintf(root, sizeof root, "usual%zu", i);
    for (size_t part = 0; part < 3; part++) {
      snprintf(name, sizeof name, "%s/%s/cat", root, usual[i][part]);
      pictures(name, (int)part + 1);
    }
    mica_dataset *train = open_part(root, MICA_PART_TRAIN, NULL);
    ck_assert_str_eq(mica_dataset_class_name(train, 0), "cat");
    for (int part = 0; part < 3; part++) {
      mica_dataset *data = open_part(root, (mica_part)part, train);
      ck_assert_uint_eq(mica_dataset_count(data), (uint64_t)part + 1);
      mica_dataset_destroy(data);
    }
    mica_dataset_destroy(train);
  }
  pictures("two/train/cat", 1);
  pictures("two/dev/cat", 1);
  pictures("two/valid/cat", 1);
  refuse("two", MICA_PART_TRAIN, MICA_E_FORMAT, "two has two validation parts, dev and valid; merge them");
  files_write_text("tables/train.csv", "a,label\n1,2\n3,4\n");
  files_write_text("tables/val.csv", "a,label\n1,2\n3,4\n");
  files_write_text("tables/test_ids.csv", "a,label\n1,2\n3,4\n");
  files_write_text("tables/test.csv", "a,label\n1,2\n3,4\n");
  mica_dataset_destroy(open_part("tables", MICA_PART_TEST, NULL));
  files_write_text("tables/dev.csv", "a,label\n1,2\n3,4\n");
  refuse("tables", MICA_PART_TRAIN, MICA_E_FORMAT, "tables has two validation parts, dev.csv and val.csv");
  pictures("meant/seg_train/cat", 1);
  pictures("meant/seg_train/dog", 1);
  pictures("meant/seg_test/cat", 1);
  refuse("meant", MICA_PART_TRAIN, MICA_E_FORMAT, "the folders seg_train and seg_test of ");
}
END_TEST

/* A class may be named "train"; parts without classes are refused. */
START_TEST(a_train_is_a_class) {
  pictures("vehicles/Bus", 1);
  pictures("vehicles/Car", 1);
  pictures("vehicles/Train", 1);
  mica_dataset *data = open_part("vehicles", MICA_PART_TRAIN, NULL);
  ck_assert_int_eq(mica_dataset_classes(data), 3);
  ck_assert_str_eq(mica_dataset_class_name(data, 2), "Train");
  mica_dataset_destroy(data);
  pictures("flat/train", 1);
  pictures("flat/test", 1);
  refuse("flat", MICA_PART_TRAIN, MICA_E_FORMAT, "flat/test must have one folder of pictures per class");
  pictures("more/train", 1);
  pictures("more/test", 1);
  pictures("more/other", 1);
  refuse("more", MICA_PART_TRAIN, MICA_E_FORMAT, "must have one folder of pictures per class");
  pictures("sets/training_set", 1);
  pictures("sets/test_set", 1);
  refuse("sets", MICA_PART_TRAIN, MICA_E_FORMAT, "sets/test_set must have one folder of pictures per class");
  pictures("alone/train", 1);
  refuse("alone", MICA_PART_TRAIN, MICA_E_FORMAT, "alone/train must have one folder of pictures per class");
}
END_TEST

/* --- folders in a class --- */

START_TEST(folders_of_a_class_are_read) {
  pictures("inner/cat", 2);
  pictures("inner/cat/a/b", 3);
  pictures("inner/dog/x", 1);
  pictures("inner/dog/y", 1);
  ck_assert_int_eq(symlink("..", files_path("inner/cat/a/loop")), 0);
  mica_dataset *data = open_part("inner", MICA_PART_TRAIN, NULL);
  ck_assert_uint_eq(mica_dataset_count(data), 7);
  ck_assert_int_eq(mica_dataset_classes(data), 2);
  for (uint64_t i = 0; i < 7; i++) ck_assert_int_eq(mica_dataset_label(data, i), i >= 5);
  ck_assert_ptr_nonnull(strstr(mica_dataset_file(data, 2), "inner/cat/a/b/0.png"));
  says(data, "5 of 7 pictures lie in folders within their class, such as ");
  says(data, "inner/cat/a/b/0.png");
  mica_dataset_destroy(data);
  files_write_text("texts/good/1.txt", "yes");
  files_write_text("texts/good/old/2.txt", "aye");
  files_write_text("texts/bad/1.txt", "no");
  data = open_part("texts", MICA_PART_TRAIN, NULL);
  ck_assert_uint_eq(mica_dataset_count(data), 3);
  says(data, "1 of 3 texts lie in folders within their class");
  mica_dataset_destroy(data);
  ck_assert_int_eq(symlink("..", files_path("texts/good/old/loop")), 0);
  data = open_part("texts", MICA_PART_TRAIN, NULL);
  ck_assert_uint_eq(mica_dataset_count(data), 3);
  says(data, "; 1 folder is not searched, because a link leads back or the path is too deep: ");
  says(data, "texts/good/old/loop");
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(folders_too_high_or_low_are_named) {
  pictures("high/animals/cat", 1);
  pictures("high/animals/dog", 1);
  refuse("high", MICA_PART_TRAIN, MICA_E_FORMAT,
         "high holds samples: animals, with the folders cat, dog; if these are the classes or parts, use ");
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "high/animals"));
  pictures("parts/animals/train/cat", 1);
  pictures("parts/animals/val/cat", 1);
  refuse("parts", MICA_PART_TRAIN, MICA_E_FORMAT, "parts holds samples: animals, with the folders train, val; ");
  pictures("low/cat/train", 1);
  pictures("low/cat/test", 1);
  pictures("low/dog/train", 1);
  refuse("low", MICA_PART_TRAIN, MICA_E_FORMAT, "low/cat holds test, train: parts must lie above the classes");
}
END_TEST

/* --- what is no class --- */

START_TEST(litter_and_empty_folders_are_passed_over) {
  pictures("litter/cat", 2);
  pictures("litter/dog", 2);
  static const char *const litter[] = {
      "__MACOSX/cat/._1.png", ".ipynb_checkpoints/1.png",     "@eaDir/cat/1.png", "Thumbs.db",    "cat/Thumbs.db",
      "cat/desktop.ini",      "dog/.ipynb_checkpoints/1.png", "dog/@eaDir/1.jpg", "cat/.DS_Store"};
  for (size_t i = 0; i < sizeof litter / sizeof *litter; i++) {
    char name[128];
    snprintf(name, sizeof name, "litter/%s", litter[i]);
    files_write_text(name, "none");
  }
  mica_dataset *data = open_part("litter", MICA_PART_TRAIN, NULL);
  ck_assert_int_eq(mica_dataset_classes(data), 2);
  ck_assert_uint_eq(mica_dataset_count(data), 4);
  says(data, NULL);
  mica_dataset_destroy(data);
  files_write_text("litter/bird/.keep", "");
  data = open_part("litter", MICA_PART_TRAIN, NULL);
  ck_assert_int_eq(mica_dataset_classes(data), 2);
  ck_assert_str_eq(mica_dataset_class_name(data, 0), "cat");
  says(data, "1 folder holds no pictures and is not a class: ");
  says(data, "litter/bird");
  mica_dataset_destroy(data);
  files_write_text("void/a/.keep", "");
  files_write_text("void/b/.keep", "");
  refuse("void", MICA_PART_TRAIN, MICA_E_FORMAT, "void/a holds no pictures");
  files_write_text("other/a/1.webp", "");
  refuse("other", MICA_PART_TRAIN, MICA_E_FORMAT,
         "no file ends in .png, .jpg or .jpeg; there are other files, such as ");
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "other/a/1.webp"));
  pictures("none/train/cat", 1);
  files_write_text("none/val/.keep", "");
  refuse("none", MICA_PART_VALIDATION, MICA_E_FORMAT, "none/val is empty");
  pictures("fewer/train/cat", 1);
  pictures("fewer/test/dog", 1);
  mica_dataset *train = open_part("fewer", MICA_PART_TRAIN, NULL);
  ck_assert_int_eq(
      mica_dataset_open(files_path("fewer"), &(mica_dataset_config){.part = MICA_PART_TEST, .like = train}, &data),
      MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "fewer/test holds a class \"dog\", which the training part does"));
  mica_dataset_destroy(train);
}
END_TEST

/* --- sizes --- */

static void expect_size(const char *name, int64_t height, int64_t width, const char *sentence) {
  mica_dataset *data = open_part(name, MICA_PART_TRAIN, NULL);
  const mica_shape shape = mica_dataset_shape(data);
  ck_assert_int_eq(shape.dim[1], height);
  ck_assert_int_eq(shape.dim[2], width);
  says(data, sentence);
  mica_dataset_destroy(data);
}

START_TEST(most_pictures_decide_the_size) {
  picture("most/a/0.png", 40, 60); /* the first is an outlier */
  for (int i = 1; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "most/b/%d.png", i);
    picture(name, 10, 12);
  }
  expect_size("most", 10, 12,
              "pictures of several sizes, 10 to 40 pixels high and 12 to 60 wide: all are scaled and cut to 10x12, the "
              "size of most (--size sets another)");
  for (int i = 0; i < 5; i++) {
    char name[32];
    snprintf(name, sizeof name, "median/%c/%d.png", i < 2 ? 'a' : 'b', i);
    picture(name, 50 - 10 * i, 8 + i);
  }
  expect_size("median", 30, 10, "cut to 30x10, the median height and width (--size sets another)");
  picture("half/a/0.png", 9, 6);
  picture("half/b/0.png", 7, 6);
  expect_size("half", 9, 6, "cut to 9x6, the size of most");
  picture("rotated/a/0.png", 8, 6);
  picture("rotated/a/1.png", 6, 8);
  picture("rotated/b/2.png", 8, 6);
  expect_size("rotated", 8, 6, "pictures of several sizes, 6 to 8 pixels high and 6 to 8 wide");
  picture("same/a/0.png", 8, 6);
  picture("same/b/1.png", 8, 6);
  expect_size("same", 8, 6, NULL);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, IF(PNG, parts_have_usual_names), tables_of_parts_have_usual_names, files_of_parts_are_found,
      IF(PNG, folders_beside_parts_are_named), IF(PNG, parts_have_their_usual_names), IF(PNG, a_train_is_a_class),
      IF(PNG, folders_of_a_class_are_read), IF(PNG, folders_too_high_or_low_are_named),
      IF(PNG, litter_and_empty_folders_are_passed_over), IF(PNG, most_pictures_decide_the_size))
