/* labels: null
 *
 * Pictures with boxes: Pascal VOC and COCO, what is understood of them, and what is refused with a sentence that names
 * file and line. */
#include "data/annotation/boxed.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A picture whose pixels are all of one grey. */
static void write_picture(const char *name, int64_t width, int64_t height, int grey) {
  uint8_t *planes = malloc((size_t)(width * height)), *png = NULL;
  size_t bytes = 0;
  ck_assert_ptr_nonnull(planes);
  memset(planes, grey, (size_t)(width * height));
  ck_ok(mica_png_encode(planes, MICA_SHAPE(1, height, width), &png, &bytes));
  files_write(name, png, bytes);
  mica_free(png);
  free(planes);
}

#define OBJECT(name, x0, y0, x1, y1, more)                                                                             \
  "<object><name>" name "</name>" more "<bndbox>\n<xmin>" x0 "</xmin><ymin>" y0 "</ymin><xmax>" x1 "</xmax><ymax>" y1  \
  "</ymax></bndbox></object>\n"
#define VOC(objects)                                                                                                   \
  "<?xml version=\"1.0\"?>\n<annotation>\n<size><width>64</width><height>32</height><depth>1</depth></size>\n" objects \
  "</annotation>\n"

static void write_voc(const char *folder, const char *stem, const char *xml) {
  char name[128];
  snprintf(name, sizeof name, "%s/Annotations/%s.xml", folder, stem);
  files_write_text(name, xml);
  snprintf(name, sizeof name, "%s/JPEGImages/%s.png", folder, stem);
  write_picture(name, 64, 32, 200);
}

static mica_dataset *open_data(const char *name, mica_dataset_config config) {
  mica_dataset *data = NULL;
  ck_ok(mica_dataset_open(files_path(name), &config, &data));
  return data;
}

static size_t column(const mica_dataset *data, const char *name) {
  const size_t k = mica_dataset_column_index(data, name);
  ck_assert_msg(k < mica_dataset_column_count(data), "no column %s", name);
  return k;
}

static int64_t rows_of(const mica_dataset *data, uint64_t sample) {
  int64_t length = 0;
  ck_ok(mica_dataset_length(data, column(data, "boxes"), sample, &length));
  return length;
}

static void check_box(const mica_dataset *data, uint64_t sample, int64_t row, const float wanted[4], const char *name,
                      int32_t ignored, float area) {
  float boxes[40], areas[10];
  int32_t labels[10], states[10];
  const size_t n = (size_t)rows_of(data, sample);
  ck_assert_uint_lt((size_t)row, n);
  ck_assert_uint_le(n, 10);
  ck_ok(mica_dataset_read(data, column(data, "boxes"), sample, boxes, 4 * n * sizeof *boxes));
  ck_ok(mica_dataset_read(data, column(data, "label"), sample, labels, n * sizeof *labels));
  ck_ok(mica_dataset_read(data, column(data, "ignored"), sample, states, n * sizeof *states));
  ck_ok(mica_dataset_read(data, column(data, "area"), sample, areas, n * sizeof *areas));
  for (int k = 0; k < 4; k++)
    ck_assert_msg(fabsf(boxes[4 * row + k] - wanted[k]) < 1e-4f, "box %lld, side %d: %g, not %g", (long long)row, k,
                  (double)boxes[4 * row + k], (double)wanted[k]);
  ck_assert_str_eq(mica_dataset_column_class(data, column(data, "label"), labels[row]), name);
  ck_assert_int_eq(states[row], ignored);
  ck_assert_float_eq_tol(areas[row], area, 1e-3f);
}
#define BOX(data, sample, row, name, ignored, area, ...)                                                               \
  check_box(data, sample, row, (const float[]){__VA_ARGS__}, name, ignored, area)

/* Boxes count from 1 and include their last pixel; parts of an object have boxes that are not the object's. */
START_TEST(voc_is_read) {
  write_voc(
      "voc", "one",
      VOC(OBJECT("dog", "1", "1", "64", "32", "<difficult>0</difficult>") OBJECT("cat", "11", "5.5", "20", "30",
                                                                                 "<difficult>1</difficult>"
                                                                                 "<part><name>head</name><bndbox>"
                                                                                 "<xmin>1</xmin></bndbox></part>")));
  write_voc("voc", "two", VOC(""));
  write_voc("voc", "three", VOC(OBJECT("ant", "0", "1", "64.5", "10", "")));
  mica_dataset *data = open_data("voc", (mica_dataset_config){0});
  ck_assert_uint_eq(mica_dataset_count(data), 3);
  ck_assert_str_eq(mica_dataset_summary(data), "3 pictures, 3 boxes, 3 classes: ant, cat, dog");
  BOX(data, 0, 0, "dog", 0, 2048, 0, 0, 64, 32);
  BOX(data, 0, 1, "cat", 2, 10 * 25.5f, 10, 4.5f, 20, 30);
  /* What sticks out by a pixel is cut. In the order of names "three" comes before "two". */
  BOX(data, 1, 0, "ant", 0, 640, 0, 0, 64, 10);
  ck_assert_int_eq(rows_of(data, 2), 0);
  ck_assert_str_eq(mica_dataset_column_class(data, column(data, "label"), 0), "ant");
  ck_assert(mica_shape_equal(mica_dataset_shape(data), MICA_SHAPE(1, 32, 64)));
  mica_dataset_destroy(data);
}
END_TEST

/* Left out, but said; a list that names one is wrong. */
START_TEST(pictures_without_annotations_are_said) {
  char path[256];
  write_voc("bare", "one", VOC(OBJECT("dog", "1", "1", "9", "9", "")));
  write_voc("bare", "two", VOC(OBJECT("dgo", "1", "1", "9", "9", "")));
  write_voc("bare", "three", VOC(""));
  snprintf(path, sizeof path, "%s", files_path("bare/Annotations/three.xml"));
  ck_assert_int_eq(remove(path), 0);
  mica_dataset *data = open_data("bare", (mica_dataset_config){0}), *other = NULL;
  ck_assert_str_eq(mica_dataset_summary(data),
                   "2 pictures with boxes, 1 without annotations left out, 2 boxes, 2 classes: dgo, dog");
  mica_dataset_destroy(data);
  files_write_text("bare/ImageSets/Main/train.txt", "one\nthree\n");
  ck_assert_int_eq(mica_dataset_open(files_path("bare"), NULL, &other), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "three.png has no annotations: there is no"), "%s", mica_error_message());
}
END_TEST

START_TEST(parts_by_lists) {
  mica_dataset *train, *other = NULL;
  write_voc("parts/inner", "a", VOC(OBJECT("dog", "1", "1", "9", "9", "")));
  write_voc("parts/inner", "b", VOC(OBJECT("dog", "1", "1", "9", "9", "")));
  write_voc("parts/inner", "c", VOC(OBJECT("cow", "1", "1", "9", "9", "")));
  files_write_text("parts/inner/ImageSets/Main/train.txt", "a\nb 1\r\n\n");
  files_write_text("parts/inner/ImageSets/Main/val.txt", "c\n");
  train = open_data("parts", (mica_dataset_config){0});
  ck_assert_uint_eq(mica_dataset_count(train), 2);
  mica_dataset_config config = {.part = MICA_PART_TEST};
  ck_assert_int_eq(mica_dataset_open(files_path("parts"), &config, &other), MICA_E_NOT_FOUND);
  config = (mica_dataset_config){.part = MICA_PART_VALIDATION, .like = train};
  ck_assert_int_eq(mica_dataset_open(files_path("parts"), &config, &other), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "the class \"cow\" is unknown"), "%s", mica_error_message());
  files_write_text("parts/inner/ImageSets/Main/val.txt", "../a\n");
  ck_assert_int_eq(mica_dataset_open(files_path("parts"), &config, &other), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "val.txt, line 1"), "%s", mica_error_message());
  files_write_text("parts/inner/ImageSets/Main/train.txt", "a\nb 1\n\na -1\n");
  ck_assert_int_eq(mica_dataset_open(files_path("parts"), NULL, &other), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "train.txt, line 4: the picture a stands in line 1 already"), "%s",
                mica_error_message());
  mica_dataset_destroy(train);
}
END_TEST

/* A picture of 64 x 32 in a frame of 32 x 32 is halved, and lies eight rows down, on grey. */
START_TEST(pictures_are_fitted) {
  uint8_t pixels[32 * 32];
  write_voc("fitted", "one", VOC(OBJECT("dog", "1", "1", "64", "32", "")));
  mica_dataset *data = open_data("fitted", (mica_dataset_config){.height = 32, .width = 32});
  BOX(data, 0, 0, "dog", 0, 2048, 0, 8, 32, 24);
  ck_ok(mica_dataset_input(data, 0, pixels, sizeof pixels));
  for (int y = 0; y < 32; y++)
    for (int x = 0; x < 32; x++) ck_assert_int_eq(pixels[32 * y + x], y >= 8 && y < 24 ? 200 : 114);
  mica_dataset_destroy(data);
  data = open_data("fitted", (mica_dataset_config){.longest = 96});
  ck_assert(mica_shape_equal(mica_dataset_shape(data), MICA_SHAPE(1, 64, 96)));
  BOX(data, 0, 0, "dog", 0, 2048, 0, 8, 96, 56);
  mica_dataset_destroy(data);
  write_picture("fitted/JPEGImages/one.png", 60, 32, 1);
  data = open_data("fitted", (mica_dataset_config){.channels = 1});
  uint8_t *all = malloc(mica_dataset_input_bytes(data));
  ck_assert_ptr_nonnull(all);
  ck_assert_int_eq(mica_dataset_input(data, 0, all, mica_dataset_input_bytes(data)), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "60 x 32 pixels, but its annotation is for 64 x 32"), "%s",
                mica_error_message());
  free(all);
  mica_dataset_destroy(data);
}
END_TEST

static void refused(const char *name, const char *sentence) {
  mica_dataset *data = NULL;
  ck_assert_msg(mica_dataset_open(files_path(name), NULL, &data) == MICA_E_FORMAT, "%s is taken: %s", name, sentence);
  ck_assert_msg(strstr(mica_error_message(), sentence), "\"%s\" lacks \"%s\"", mica_error_message(), sentence);
}

START_TEST(voc_that_is_wrong) {
  static const struct {
    const char *xml, *sentence;
  } cases[] = {
      {VOC(OBJECT("dog", "1", "1", "80", "9", "")), "one.xml, line 5: the box from (0, 0) to (80, 9) is not inside of"},
      {VOC(OBJECT("dog", "9", "9", "8", "20", "")), "line 5: the box from (8, 8) to (8, 20) has no area"},
      {VOC(OBJECT("dog", "1", "x", "8", "20", "")), "line 5: ymin is \"x\", not a finite number"},
      {VOC(OBJECT("dog", "1", "nan", "8", "20", "")), "line 5: ymin is \"nan\", not a finite number"},
      {VOC(OBJECT("", "1", "1", "8", "20", "")), "an object has no name"},
      {VOC("<object><name>dog</name></object>"), "an object has no box"},
      {VOC(OBJECT("dog", "1", "1", "8", "20", "\n<name>cat</name>")), "one.xml, line 5: an object has two names"},
      {VOC(OBJECT("dog", "1", "1", "8", "20", "<bndbox><xmin>3</xmin></bndbox>\n")),
       "one.xml, line 5: an object has two boxes"},
      {VOC(OBJECT("dog", "1", "1</ymin>\n<ymin>2", "8", "20", "")), "one.xml, line 6: a box has two elements <ymin>"},
      {"<annotation>" OBJECT("dog", "1", "1", "8", "20", "") "</annotation>",
       "one.xml: the picture's size is missing: no <width> in <size>"},
      {"<annotation><size><width>64</width></size></annotation>", "size is missing: no <height> in <size>"},
      {"<annotation><size><width>64</width><height>0</height></size>" OBJECT("dog", "1", "1", "8", "20",
                                                                             "") "</annotation>",
       "one.xml: the picture's size is wrong: its height is 0"},
      {"<annotation>" OBJECT("dog", "1", "1", "8", "20",
                             "") "<size><width>-3</width><height>9</height></size></annotation>",
       "one.xml: the picture's size is wrong: its width is -3"},
      {"<annotation></annotation>", "one.xml: the picture's size is missing"},
      {"<html></html>", "line 1: the first element is \"html\", but must be \"annotation\""},
      {"<annotation>\n<size>", "line 2: no element found"},
      {"", "no element found"},
      {"<!DOCTYPE a [<!ENTITY x \"yyyy\"><!ENTITY z \"&x;&x;&x;\">]>\n<annotation>&z;</annotation>",
       "line 1: the document declares entities"},
      {"<!DOCTYPE a [<!ENTITY x SYSTEM \"/etc/passwd\">]>\n<annotation>&x;</annotation>", "declares entities"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_voc("wrong", "one", cases[i].xml);
    refused("wrong", cases[i].sentence);
  }
  /* Two classes whose names begin alike must not become one. */
  char xml[1024], name[300] = "";
  memset(name, 'a', sizeof name - 1);
  snprintf(xml, sizeof xml, VOC(OBJECT("%s", "1", "1", "8", "20", "")), name);
  write_voc("wrong", "one", xml);
  refused("wrong", "line 4: the name of a class has more than 254 bytes");
}
END_TEST

/* The order of elements has no meaning in XML. */
START_TEST(voc_with_its_size_after_the_boxes) {
  const char *size = "<size><height>32</height><width>64</width></size>";
  char xml[1024];
  for (int after = 0; after < 2; after++) {
    write_voc("order", "one", "");
    snprintf(xml, sizeof xml, "<annotation>%s%s%s</annotation>", after ? "" : size,
             OBJECT("dog", "5", "6", "20", "25", "") OBJECT("cat", "1", "1", "64", "32", ""), after ? size : "");
    files_write_text("order/Annotations/one.xml", xml);
    mica_dataset *data = open_data("order", (mica_dataset_config){0});
    BOX(data, 0, 0, "dog", 0, 16 * 20, 4, 5, 20, 25);
    BOX(data, 0, 1, "cat", 0, 64 * 32, 0, 0, 64, 32);
    mica_dataset_destroy(data);
  }
}
END_TEST

START_TEST(voc_that_is_deep) {
  enum { DEEP = 10000 };
  char *xml = calloc(DEEP, 8);
  ck_assert_ptr_nonnull(xml);
  strcpy(xml, "<annotation>");
  for (int i = 0; i < DEEP; i++) strcpy(xml + 12 + 3 * i, "<a>");
  write_voc("deep", "one", xml);
  refused("deep", "elements are nested deeper than 64 levels");
  free(xml);
  write_voc("lost", "one", VOC(OBJECT("dog", "1", "1", "8", "20", "")));
  ck_assert_int_eq(remove(files_path("lost/JPEGImages/one.png")), 0);
  refused("lost", "there is no picture");
  write_voc("none", "one", VOC(""));
  refused("none", "no picture has a box");
}
END_TEST

/* --- COCO --- */

#define COCO(annotations)                                                                                              \
  "{\"images\": [{\"id\": 9, \"width\": 64, \"height\": 32, \"file_name\": \"b.png\"},\n"                              \
  "{\"id\": 4, \"width\": 64, \"height\": 32, \"file_name\": \"a.png\"}],\n"                                           \
  "\"categories\": [{\"id\": 7, \"name\": \"zebra\"}, {\"id\": 18, \"name\": \"ape\"}],\n\"annotations\": "            \
  "[" annotations "]}"
#define NOTE(image, category, box, more)                                                                               \
  "{\"image_id\": " image ", \"category_id\": " category ", \"bbox\": [" box "]" more "}"

/* Classes are in the order of their ids, and so are pictures. */
static void check_coco(const mica_dataset *data) {
  ck_assert_uint_eq(mica_dataset_count(data), 2);
  ck_assert_str_eq(mica_dataset_column_class(data, column(data, "label"), 0), "zebra");
  ck_assert_int_eq(rows_of(data, 0), 0);
  BOX(data, 1, 0, "ape", 0, 33, 2.5f, 3, 12.5f, 23);
  BOX(data, 1, 1, "zebra", 1, 64 * 32, 0, 0, 64, 32);
}

#define GOOD                                                                                                           \
  COCO(NOTE("9", "18", "2.5, 3, 10, 20", ", \"area\": 33") "," NOTE("9", "7", "0,0,64,32", ", \"iscrowd\": 1"))

START_TEST(coco_is_read) {
  write_picture("coco/val2017/a.png", 64, 32, 1);
  write_picture("coco/val2017/b.png", 64, 32, 2);
  files_write_text("coco/annotations/instances_val2017.json", GOOD);
  mica_dataset *data = open_data("coco", (mica_dataset_config){.part = MICA_PART_VALIDATION});
  uint8_t pixels[64 * 32];
  check_coco(data);
  ck_ok(mica_dataset_input(data, 1, pixels, sizeof pixels));
  ck_assert_int_eq(pixels[0], 2);
  mica_dataset_destroy(data);
  data = NULL;
  ck_assert_int_eq(mica_dataset_open(files_path("coco"), NULL, &data), MICA_E_NOT_FOUND);
  /* A file by itself, and folders of parts with the file in them. */
  write_picture("alone/a.png", 64, 32, 1);
  write_picture("alone/b.png", 64, 32, 2);
  files_write_text("alone/boxes.json", GOOD);
  data = open_data("alone/boxes.json", (mica_dataset_config){0});
  check_coco(data);
  mica_dataset_destroy(data);
  write_picture("beside/train/a.png", 64, 32, 1);
  write_picture("beside/train/b.png", 64, 32, 2);
  files_write_text("beside/train/_annotations.coco.json", GOOD);
  data = open_data("beside", (mica_dataset_config){0});
  check_coco(data);
  mica_dataset_destroy(data);
  write_picture("beside/Validation/a.png", 64, 32, 1);
  write_picture("beside/Validation/b.png", 64, 32, 2);
  files_write_text("beside/Validation/_annotations.coco.json", GOOD);
  data = open_data("beside", (mica_dataset_config){.part = MICA_PART_VALIDATION});
  check_coco(data);
  mica_dataset_destroy(data);
}
END_TEST

/* The frame has the form of most pictures, not that of a first one that is an outlier. */
START_TEST(most_pictures_decide_the_frame) {
  static const char *const names[] = {"a", "b", "c"};
  for (int i = 0; i < 3; i++) {
    char name[64];
    snprintf(name, sizeof name, "frames/images/%s.png", names[i]);
    write_picture(name, i ? 64 : 400, i ? 32 : 20, 1);
    snprintf(name, sizeof name, "frames/labels/%s.txt", names[i]);
    files_write_text(name, "0 0.5 0.5 0.5 0.5\n");
  }
  mica_dataset *data = open_data("frames", (mica_dataset_config){.longest = 128});
  ck_assert(mica_shape_equal(mica_dataset_shape(data), MICA_SHAPE(1, 64, 128)));
  mica_dataset_destroy(data);
  data = open_data("frames", (mica_dataset_config){0});
  ck_assert(mica_shape_equal(mica_dataset_shape(data), MICA_SHAPE(1, 32, 64)));
  mica_dataset_destroy(data);
}
END_TEST

/* As pycocotools reads them: "iscrowd" is true or a number other than 0, and an area of 0 stays 0. */
START_TEST(coco_crowds_and_areas) {
  write_picture("crowds/a.png", 64, 32, 1);
  write_picture("crowds/b.png", 64, 32, 2);
  files_write_text(
      "crowds/boxes.json",
      COCO(NOTE("9", "18", "0,0,8,8", ", \"iscrowd\": true") "," NOTE(
          "9", "18", "0,0,8,8",
          ", \"iscrowd\": -1") "," NOTE("9", "18", "0,0,8,8",
                                        ", \"iscrowd\": false") "," NOTE("9", "18", "0,0,8,8",
                                                                         ", \"iscrowd\": null, \"area\": 0")));
  mica_dataset *data = open_data("crowds/boxes.json", (mica_dataset_config){0});
  BOX(data, 1, 0, "ape", 1, 64, 0, 0, 8, 8);
  BOX(data, 1, 1, "ape", 1, 64, 0, 0, 8, 8);
  BOX(data, 1, 2, "ape", 0, 64, 0, 0, 8, 8);
  BOX(data, 1, 3, "ape", 0, 0, 0, 0, 8, 8);
  mica_dataset_destroy(data);
  files_write_text("crowds/boxes.json", COCO(NOTE("9", "18", "0,0,8,8", ", \"iscrowd\": \"yes\"")));
  refused("crowds/boxes.json", "annotation 0: \"iscrowd\" must be a number, true or false");
}
END_TEST

/* As in COCO's own train2017. */
START_TEST(coco_with_boxes_without_area) {
  write_picture("flat/a.png", 64, 32, 1);
  write_picture("flat/b.png", 64, 32, 2);
  files_write_text("flat/boxes.json", COCO(NOTE("9", "18", "2.5, 3, 10, 0.0", "") "," NOTE(
                                          "9", "18", "6, 3, 0, 20", "") "," NOTE("9", "7", "0,0,64,32", "")));
  mica_dataset *data = open_data("flat/boxes.json", (mica_dataset_config){0});
  ck_assert_ptr_nonnull(strstr(mica_dataset_summary(data), " 1 boxes, "));
  ck_assert_ptr_nonnull(strstr(mica_dataset_summary(data), "; 2 boxes without area are left out"));
  mica_dataset_destroy(data);
}
END_TEST

/* Exporters list a class beside its group, by one name. */
START_TEST(coco_with_categories_of_one_name) {
  write_picture("merged/a.png", 64, 32, 1);
  files_write_text("merged/boxes.json",
                   "{\"images\": [{\"id\": 4, \"width\": 64, \"height\": 32, \"file_name\": \"a.png\"}],\n"
                   "\"categories\": [{\"id\": 0, \"name\": \"fish\"}, {\"id\": 1, \"name\": \"fish\"}, {\"id\": 2, "
                   "\"name\": \"crab\"}],\n\"annotations\": [" NOTE("4", "1", "0,0,64,32",
                                                                    "") "," NOTE("4", "2", "0,0,9,9", "") "]}");
  mica_dataset *data = open_data("merged/boxes.json", (mica_dataset_config){0});
  ck_assert_str_eq(mica_dataset_summary(data), "1 pictures, 2 boxes, 2 classes: fish, crab; 1 categories have the name "
                                               "of another category, and are read as the same class");
  BOX(data, 0, 1, "crab", 0, 81, 0, 0, 9, 9);
  mica_dataset_destroy(data);
}
END_TEST

/* images and one file, beside it or in annotations, called as one likes. */
START_TEST(coco_without_parts_is_read) {
  static const char *const files[] = {"plain1/annotations.json", "plain2/annotations/labels.json"};
  for (int i = 0; i < 2; i++) {
    const char *folder = i ? "plain2" : "plain1";
    char name[64];
    mica_dataset *data = NULL;
    for (int k = 0; k < 2; k++) {
      snprintf(name, sizeof name, "%s/images/%c.png", folder, "ab"[k]);
      write_picture(name, 64, 32, (uint8_t)(1 + k));
    }
    files_write_text(files[i], GOOD);
    data = open_data(folder, (mica_dataset_config){0});
    check_coco(data);
    mica_dataset_destroy(data);
    const mica_dataset_config test = {.part = MICA_PART_TEST};
    ck_assert_int_eq(mica_dataset_open(files_path(folder), &test, &data), MICA_E_NOT_FOUND);
  }
}
END_TEST

START_TEST(coco_that_is_wrong) {
  static const struct {
    const char *json, *sentence;
  } cases[] = {
      {COCO(NOTE("9", "18", "60, 3, 10, 20", "")), "annotation 0: the box from (60, 3) to (70, 23) is not inside of"},
      {COCO(NOTE("9", "18", "6, 3, 0, 20", "")), "no picture has a box"},
      {COCO(NOTE("9", "18", "6, 3, -3, 20", "")), "has no area"},
      {COCO(NOTE("9", "18", "6, 3, 9", "")), "annotation 0 has no \"bbox\" of four numbers"},
      {COCO(NOTE("9", "18", "6, 3, 9, 9, 9", "")), "annotation 0 has no \"bbox\" of four numbers"},
      {COCO(NOTE("9", "18", "6, 3, null, 4", "")), "annotation 0 has no \"bbox\" of four numbers"},
      {COCO(NOTE("9", "8", "6, 3, 9, 9", "")), "the category 8, but the file has no category of this id"},
      {COCO(NOTE("3", "18", "6, 3, 9, 9", "")),
       "annotation 0 names the picture with the id 3, but the file has no such picture"},
      {COCO(NOTE("9007199254740993", "18", "6, 3, 9, 9", "")),
       "\"image_id\" is about 9007199254740992, but ids must be between -2^53 and 2^53"},
      {"{\"images\": [{\"id\": 1e17}], \"categories\": [], \"annotations\": []}",
       "\"id\" is about 1e+17, but ids must be"},
      {"{\"images\": [{\"id\": 1, \"width\": 9, \"height\": 9, \"file_name\": \"x.png\"}, {\"id\": 3, \"width\": 9, "
       "\"height\": 9, \"file_name\": \"x.png\"}], \"categories\": [], \"annotations\": []}",
       "the pictures of the ids 1 and 3 have the same file, x.png"},
      {"{\"images\": [],\n\"categories\": [}", "boxes.json, line 2: the text is not JSON"},
      {"{\"images\": [], \"categories\": []}", "has no list \"annotations\""},
      {"{\"images\": [], \"categories\": [], \"annotations\": []}", "holds no pictures with boxes"},
      {"{\"images\": [{\"id\": 1}, {\"id\": 1}], \"categories\": [], \"annotations\": []}",
       "two elements of \"images\" have"},
      {"{\"images\": [{\"id\": 1, \"file_name\": \"../x.png\"}], \"categories\": [], \"annotations\": []}",
       "the \"file_name\" of the picture with the id 1 leads out of the folder: ../x.png"},
      {"{\"images\": [{\"id\": 1, \"file_name\": \"\"}], \"categories\": [], \"annotations\": []}",
       "the picture with the id 1 has no \"file_name\""},
      {"{\"images\": [{\"id\": 1, \"file_name\": \"x.png\"}], \"categories\": [], \"annotations\": []}",
       "needs a width and a height that are numbers"},
      {"{\"images\": [{\"id\": 1, \"file_name\": \"x.png\", \"width\": 1e9, \"height\": 3}], \"categories\": [], "
       "\"annotations\": []}",
       "the picture has 1e+09 x 3 pixels"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    files_write_text("alone/boxes.json", cases[i].json);
    refused("alone/boxes.json", cases[i].sentence);
  }
  enum { DEEP = 100000 };
  char *json = malloc(DEEP + 1);
  ck_assert_ptr_nonnull(json);
  memset(json, '[', DEEP);
  memcpy(json, "{\"a\":", 5);
  json[DEEP] = '\0';
  files_write_text("alone/boxes.json", json);
  refused("alone/boxes.json", "not JSON");
  free(json);
}
END_TEST

/* A file of 1 GB, most of which is a hole, is refused before it is read. */
START_TEST(coco_that_is_huge) {
  files_write_text("alone/huge.json", "{\"images\": []}");
  FILE *file = fopen(files_path("alone/huge.json"), "r+b");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, 1000000000L, SEEK_SET), 0);
  ck_assert_int_eq(fputc('}', file), '}');
  fclose(file);
  refused("alone/huge.json", "has 1000000001 bytes, but annotations may have at most 536870912");
}
END_TEST

static void tidy(void) { files_remove(); }

/* What is put into a frame and taken out again is what it was, though sides are rounded to whole pixels. */
START_TEST(boxes_return_from_their_frame) {
  static const int64_t sizes[][2] = {{1000, 333}, {333, 1000}, {640, 480}, {3, 1000}, {17, 5}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const mica__placement p = mica__placement_of(sizes[i][0], sizes[i][1], 320, 128);
    ck_assert_double_eq_tol((double)p.width / p.scale[0], (double)sizes[i][0], 1e-9);
    ck_assert_double_eq_tol((double)p.height / p.scale[1], (double)sizes[i][1], 1e-9);
  }
}
END_TEST

TESTS(NEEDS(EXPAT), NULL, tidy, voc_is_read, pictures_without_annotations_are_said, parts_by_lists, pictures_are_fitted,
      voc_that_is_wrong, voc_with_its_size_after_the_boxes, voc_that_is_deep, coco_is_read,
      coco_with_boxes_without_area, coco_crowds_and_areas, coco_with_categories_of_one_name, coco_without_parts_is_read,
      coco_that_is_wrong, coco_that_is_huge, boxes_return_from_their_frame, most_pictures_decide_the_frame)
