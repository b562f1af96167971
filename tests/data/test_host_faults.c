/* labels: null
 *
 * Datasets of every kind, and loaders of them on the null device, with memory, files and threads failing: each ends in
 * a status and leaks nothing. */
#include "base/error.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_libc.h"
#include "support/files.h"

#include <mica/data.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_JPEG
#include <jpeglib.h>
#endif

enum { SIDE = 4, PIXELS = 3 * SIDE * SIDE };

static mica_dataset_config pictures_config = {.channels = 3, .height = 3, .width = 3};

static void write_idx(void) {
  uint8_t images[16 + 3 * 4] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6};
  static const uint8_t labels[8 + 3] = {0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 1};
  files_write_gzip("idx/train-images-idx3-ubyte.gz", images, sizeof images);
  files_write_gzip("idx/train-labels-idx1-ubyte.gz", labels, sizeof labels);
}

static void write_npy(const char *name, const char *type, const char *shape, const void *data, size_t size) {
  char file[512] = "\x93NUMPY\1\0\x76";
  memset(file + 10, ' ', 118);
  int used = snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
  file[10 + used] = ' ', file[9] = 0, file[127] = '\n';
  memcpy(file + 128, data, size);
  files_write(name, file, 128 + size);
}

static void write_picture(const char *name, int seed, bool jpeg) {
  uint8_t planes[PIXELS], *data = NULL;
  size_t size = 0;
  for (int i = 0; i < PIXELS; i++) planes[i] = (uint8_t)(i * 5 + seed);
#if MICA_WITH_JPEG
  if (jpeg) {
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct writer = {.err = jpeg_std_error(&errors)};
    unsigned char *file = NULL;
    unsigned long bytes = 0;
    jpeg_create_compress(&writer);
    jpeg_mem_dest(&writer, &file, &bytes);
    writer.image_width = writer.image_height = SIDE;
    writer.input_components = 3;
    writer.in_color_space = JCS_RGB;
    jpeg_set_defaults(&writer);
    jpeg_start_compress(&writer, TRUE);
    for (int row = 0; row < SIDE; row++) jpeg_write_scanlines(&writer, &(JSAMPROW){planes + row * 3 * SIDE}, 1);
    jpeg_finish_compress(&writer);
    jpeg_destroy_compress(&writer);
    files_write(name, file, bytes);
    free(file);
    return;
  }
#endif
  (void)jpeg;
#if MICA_WITH_PNG
  ck_ok(mica_png_encode(planes, MICA_SHAPE(3, SIDE, SIDE), &data, &size));
  files_write(name, data, size);
  mica_free(data);
#endif
}

/* A second of silence at 8,000 Hz in 8 bits. */
static void write_sound(const char *name) {
  static uint8_t wav[44 + 8000] =
      "RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x8\0data\x40\x1f";
  memset(wav + 44, 128, sizeof wav - 44);
  files_write(name, wav, sizeof wav);
}

static void write_boxed(const char *folder) {
  char name[64], text[512];
  for (int i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "%s/JPEGImages/%d.png", folder, i);
    write_picture(name, i, false);
    snprintf(name, sizeof name, "%s/Annotations/%d.xml", folder, i);
    snprintf(text, sizeof text,
             "<annotation><size><width>4</width><height>4</height><depth>3</depth></size><object><name>c%d</name>"
             "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>3</ymax></bndbox></object></annotation>",
             i);
    files_write_text(name, text);
  }
}

static const char coco[] =
    "{\"images\":[{\"id\":0,\"width\":4,\"height\":4,\"file_name\":\"0.png\"},{\"id\":1,\"width\":4,\"height\":4,"
    "\"file_name\":\"1.png\"}],\"categories\":[{\"id\":3,\"name\":\"a\"}],\"annotations\":[{\"image_id\":0,"
    "\"category_id\":3,\"bbox\":[0,0,2,2]},{\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,2,2]}]}";

/* Folders that would be folders of pictures, one a class, if another format did not know them. */
static void write_folders(void) {
  char name[64];
  write_boxed("voc");
  write_boxed("above/inner");
  files_write_text("coco/boxes.json", coco);
  files_write_text("coco-parts/annotations/instances_train.json", coco);
  for (int i = 0; i < 2; i++) {
    static const char *const folders[] = {"coco/images", "coco-parts/images", "masks/images", "masks/masks"};
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
      snprintf(name, sizeof name, "%s/%d.png", folders[k], i);
      write_picture(name, k == 3 ? 0 : i, false);
    }
  }
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "words/%s/%d.wav", i % 2 ? "no" : "yes", i);
    write_sound(name);
  }
}

static void write_all(void) {
  static uint8_t cifar[2 * 3073];
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const int64_t y[3] = {0, 1, 2};
  cifar[3073] = 7;
  write_idx();
  files_write_gzip("cifar/data_batch_1.bin.gz", cifar, sizeof cifar);
  files_write("cifar/test_batch.bin", cifar, sizeof cifar);
  files_write_text("table/train.csv", "a,b,label\n1,2,cat\n3,4,\"dog\"\n5,6,cat\n");
  files_write_text("table/val.csv", "a,b,label\n7,8,dog\n");
  files_write_text("numbers.csv", "a,b,c\n1,2,3\n3,4,5\n5,6,7\n");
  files_write_text("numbers.tsv", "1\t2\t0.5\n3\t4\t1.5\n");
  files_write_text("mixed.csv", "a,note,when,label\n1,one,2026-01-01,x\n2,\"t\"\"wo\",2026-01-02,y\n3,,2026-01-03,x\n"
                                "4,four,2026-01-04,y\n");
  write_npy("arrays/x_train.npy", "<f4", "(3, 2)", x, sizeof x);
  write_npy("arrays/y_train.npy", "<i8", "(3,)", y, sizeof y);
  write_folders();
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "pictures/train/%s/%d.%s", i % 2 ? "tree" : "bird", i, i < 2 ? "png" : "jpg");
    write_picture(name, i, i >= 2);
    snprintf(name, sizeof name, "nested/Train/%s/%s%d.png", i % 2 ? "tree" : "bird", i < 2 ? "" : "in/ner/", i);
    write_picture(name, i, false);
    snprintf(name, sizeof name, "voices/TRAINING/%s/in/%d.wav", i % 2 ? "no" : "yes", i);
    write_sound(name);
  }
  files_write_text("nested/Train/empty/.keep", "");
  files_write_text("nested/Train/tree/notes.txt", "");
  files_write_text("nested/other/bird/1.txt", "");
  files_write_text("voices/other/1.txt", "");
}

typedef struct opened {
  const char *name;
  mica_dataset_config config;
  uint64_t count;
} opened;

/* What is opened when nothing fails. */
static char right[512];

/* What a dataset is taken for: its summary, classes and columns. */
static void describe(const mica_dataset *dataset, char text[512]) {
  const char *summary = mica_dataset_summary(dataset), *name = mica_dataset_class_name(dataset, 0);
  int n = snprintf(text, 512, "%s, %d classes (%s):", summary ? summary : "", (int)mica_dataset_classes(dataset),
                   name ? name : "none");
  for (size_t k = 0; k < mica_dataset_column_count(dataset) && n > 0 && n < 400; k++)
    n += snprintf(text + n, (size_t)(512 - n), " %.20s %d", mica_dataset_column(dataset, k)->name,
                  (int)mica_dataset_column(dataset, k)->classes);
}

/* Opens it, with what goes with it, looks at a sample and splits it. */
static mica_status open_and_split(void *user) {
  const opened *o = user;
  mica_dataset *dataset = NULL, *like = NULL, *part = NULL, *rest = NULL;
  float mean[8], deviation[8];
  uint8_t input[1 << 13];
  mica_status status = mica_dataset_open(files_path(o->name), &o->config, &dataset);
  if (status == MICA_OK && mica_dataset_count(dataset) != o->count) status = MICA_E_NUMERIC;
  if (status == MICA_OK) {
    char about[512];
    describe(dataset, about);
    if (strcmp(about, right) != 0)
      status = mica__fail(MICA_E_NUMERIC, "%s is taken for %s, not for %s", o->name, about, right);
  }
  if (status == MICA_OK) status = mica_dataset_input(dataset, 1, input, mica_dataset_input_bytes(dataset));
  if (status == MICA_OK) status = mica_dataset_measure(dataset, mean, deviation);
  if (status == MICA_OK) status = mica_dataset_split(dataset, 0.5, 3, &part, &rest);
  mica_dataset_config second = o->config;
  second.like = dataset;
  if (status == MICA_OK) status = mica_dataset_open(files_path(o->name), &second, &like);
  mica_dataset_destroy(like);
  mica_dataset_destroy(part);
  mica_dataset_destroy(rest);
  mica_dataset_destroy(dataset);
  return status;
}

/* Opens what has no one input. */
static mica_status open_alone(void *user) {
  const opened *o = user;
  mica_dataset *dataset = NULL;
  char about[512];
  mica_status status = mica_dataset_open(files_path(o->name), &o->config, &dataset);
  if (status == MICA_OK) describe(dataset, about);
  if (status == MICA_OK && strcmp(about, right) != 0)
    status = mica__fail(MICA_E_NUMERIC, "%s is taken for %s, not for %s", o->name, about, right);
  mica_dataset_destroy(dataset);
  return status;
}

/* Each call that fails on the way to what it is: no other format takes the data. */
static void open_kept(unsigned kinds, fault_scenario *open, opened *o, unsigned at_least) {
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(files_path(o->name), &o->config, &dataset));
  describe(dataset, right);
  mica_dataset_destroy(dataset);
  fault_libc_each(kinds, open, o, at_least);
}

static void open_each(unsigned kinds, unsigned at_least) {
  opened all[] = {
    {"idx", {.part = MICA_PART_TRAIN}, 3},
    {"cifar", {.part = MICA_PART_TRAIN}, 2},
    {"cifar/test_batch.bin", {.part = MICA_PART_TRAIN}, 2},
    {"table", {.part = MICA_PART_TRAIN}, 3},
    {"numbers.csv", {.label_column = "b", .regression = true}, 3},
    {"numbers.tsv", {.regression = true}, 2},
    {"arrays", {.part = MICA_PART_TRAIN}, 3},
    {"arrays", {.memory = 1}, 3},
    {"mixed.csv", {.kinds = "note=text"}, 4},
    {"mixed.csv", {.kinds = "note=text", .memory = 1}, 4},
#if MICA_WITH_PNG
    {"pictures", pictures_config, 4},
    {"nested", pictures_config, 4},
#endif
  };
  opened folders[] = {
#if MICA_WITH_EXPAT
    {"voc", pictures_config, 2},
    {"above", pictures_config, 2},
#endif
#if MICA_WITH_CJSON
    {"coco", pictures_config, 2},
    {"coco-parts", pictures_config, 2},
#endif
    {"masks", pictures_config, 2},
    {"words", {.part = MICA_PART_TRAIN}, 4},
    {"voices", {.part = MICA_PART_TRAIN}, 4}
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) open_kept(kinds, open_and_split, &all[i], at_least);
#if MICA_WITH_PNG
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) open_kept(kinds, open_alone, &folders[i], at_least);
#endif
}

START_TEST(memory_of_datasets) {
  open_each(FAULT_MEMORY, 5);
#if MICA_WITH_PNG
  open_kept(FAULT_MEMORY, open_alone, &(opened){"nested", {.part = MICA_PART_TRAIN}, 4}, 5);
#endif
}
END_TEST
START_TEST(files_of_datasets) { open_each(FAULT_FILES, 4); }
END_TEST

/* Two epochs, the second from its second batch on. */
typedef struct loaded {
  const char *name;
  mica_dataset_config *dataset;
  mica_loader_config loader;
} loaded;

static mica_status load(void *user) {
  const loaded *l = user;
  const mica_loader_config *config = &l->loader;
  mica_engine *engine = NULL;
  mica_dataset *dataset = NULL;
  mica_loader *loader = NULL;
  int64_t samples = 0;
  mica_status status = mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine);
  if (status == MICA_OK) status = mica_dataset_open(files_path(l->name), l->dataset, &dataset);
  if (status == MICA_OK) status = mica_loader_create(engine, dataset, config, &loader);
  if (status == MICA_OK) {
    mica_batch_source source = mica_loader_source(loader);
    mica_batch batch = {.count = 1};
    while (status == MICA_OK && batch.count > 0) {
      status = source.next(source.user, mica_engine_queue(engine), &batch);
      if (status == MICA_OK) samples += batch.count;
    }
    if (status == MICA_OK) status = source.seek(source.user, 1, 1);
    if (status == MICA_OK) status = source.next(source.user, mica_engine_queue(engine), &batch);
    if (status == MICA_OK && (samples != 4 || batch.count != 1)) status = MICA_E_NUMERIC;
    if (status == MICA_OK) status = mica_queue_finish(mica_engine_queue(engine));
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
  mica_engine_destroy(engine);
  return status;
}

static void load_each(unsigned kinds, unsigned at_least) {
  static const mica_column_config texts = {.name = "note"};
  static mica_dataset_config in_memory = {.kinds = "note=text"}, in_file = {.kinds = "note=text", .memory = 1};
  static loaded all[] = {
      {"pictures", &pictures_config, {.batch = 3, .shuffle = true, .residence = MICA_RESIDENCE_DEVICE, .threads = 1}},
      {"pictures",
       &pictures_config,
       {.batch = 3, .residence = MICA_RESIDENCE_STREAM, .threads = 2, .prefetch = 2, .augment = {.mixup = 0.2f}}},
      {"mixed.csv", &in_memory, {.batch = 3, .shuffle = true, .columns = &texts, .column_count = 1, .buckets = 2}},
      {"mixed.csv",
       &in_file,
       {.batch = 3, .shuffle = true, .columns = &texts, .column_count = 1, .buckets = 2, .prefetch = 2, .threads = 1}},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    fault_libc_each(kinds, load, &all[i], i < 2 || at_least < 2 ? at_least : 2);
}

START_TEST(memory_of_loaders) { load_each(FAULT_MEMORY, 20); }
END_TEST
START_TEST(files_of_loaders) { load_each(FAULT_FILES, 10); }
END_TEST
START_TEST(threads_of_loaders) { load_each(FAULT_THREADS, 1); }
END_TEST

TEST_GROUPS(ANYWHERE,
            ONCE(write_all, files_remove, memory_of_datasets, files_of_datasets, IF(PNG, IF(JPEG, memory_of_loaders)),
                 IF(PNG, IF(JPEG, files_of_loaders)), IF(PNG, IF(JPEG, threads_of_loaders))))
