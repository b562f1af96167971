/* labels: device
 *
 * Loaders: every sample once an epoch, the same bits wherever samples reside and however one came to a batch, and
 * nothing allocated, built or waited for on the way. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 37, SIDE = 6, CHANNELS = 3, PIXELS = CHANNELS * SIDE * SIDE };

static uint8_t pictures[SAMPLES][PIXELS];
static int32_t labels[SAMPLES];

static mica_dataset *make_pictures(void) {
  for (int i = 0; i < SAMPLES; i++) {
    labels[i] = i % 5;
    for (int k = 0; k < PIXELS; k++) pictures[i][k] = (uint8_t)(i * 31 + k * 7);
  }
  mica_dataset *dataset = NULL;
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {CHANNELS, SIDE, SIDE}}, 0}, .data = pictures},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 5}, .data = labels}};
  ck_ok(mica_dataset_create("pictures", SAMPLES, columns, 2, &dataset));
  return dataset;
}

static mica_loader *make_loader(const mica_dataset *dataset, mica_loader_config config, mica_batch_source *source) {
  mica_loader *loader = NULL;
  ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
  *source = mica_loader_source(loader);
  return loader;
}

/* A batch brought to the host. */
typedef struct fetched {
  int64_t count;
  float inputs[SAMPLES * PIXELS];
  float targets[SAMPLES * 5];
} fetched;

static void fetch(const mica_batch_source *source, fetched *out) {
  mica_batch batch;
  memset(out, 0, sizeof *out);
  ck_ok(source->next(source->user, test_queue(), &batch));
  out->count = batch.count;
  if (batch.count == 0) return;
  ck_assert_int_eq(mica_tensor_shape(batch.inputs).dim[0], batch.count);
  ck_ok(mica_tensor_download(test_queue(), batch.inputs, out->inputs, mica_tensor_bytes(batch.inputs)));
  ck_ok(mica_tensor_download(test_queue(), batch.targets, out->targets, mica_tensor_bytes(batch.targets)));
}

START_TEST(every_sample_comes_once_an_epoch) {
  static float numbers[SAMPLES];
  static fetched batch;
  int32_t order[2][SAMPLES];
  for (int i = 0; i < SAMPLES; i++) numbers[i] = (float)i;
  mica_dataset *dataset = NULL;
  const mica_column_data columns[] = {
      {.column = {"x", MICA_COLUMN_KIND_NUMBER, MICA_F32, {1, {1}}, 0}, .data = numbers},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 0}, .data = labels}};
  mica_dataset_destroy(make_pictures()); /* fills the labels */
  ck_ok(mica_dataset_create("numbers", SAMPLES, columns, 2, &dataset));
  mica_loader_config config = {.batch = 8, .shuffle = true, .seed = 6, .mean = &(float){0}, .deviation = &(float){1}};
  mica_batch_source source;
  mica_loader *loader = make_loader(dataset, config, &source);
  ck_assert_uint_eq(source.batches, 5);
  ck_assert_uint_eq(mica_loader_describe(loader).left_out, 0);
  for (int epoch = 0; epoch < 2; epoch++) {
    bool seen[SAMPLES] = {false};
    int at = 0;
    for (int k = 0; k < 5; k++) {
      fetch(&source, &batch);
      ck_assert_int_eq(batch.count, k < 4 ? 8 : 5);
      for (int64_t i = 0; i < batch.count; i++, at++) {
        int sample = (int)batch.inputs[i], label;
        memcpy(&label, &batch.targets[i], sizeof label);
        ck_assert(sample >= 0 && sample < SAMPLES && !seen[sample]);
        ck_assert_int_eq(label, labels[sample]);
        seen[sample] = true;
        order[epoch][at] = sample;
      }
    }
    fetch(&source, &batch);
    ck_assert_int_eq(batch.count, 0);
    ck_assert_int_eq(at, SAMPLES);
  }
  int moved[2] = {0};
  for (int i = 0; i < SAMPLES; i++) moved[0] += order[0][i] != i, moved[1] += order[0][i] != order[1][i];
  ck_assert(moved[0] > SAMPLES / 2 && moved[1] > SAMPLES / 2);
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(tensors_are_named_as_columns_are) {
  mica_dataset *dataset = make_pictures();
  const mica_column *image = mica_dataset_column(dataset, 0), *label = mica_dataset_column(dataset, 1);
  ck_assert_uint_eq(mica_dataset_column_count(dataset), 2);
  ck_assert_ptr_null(mica_dataset_column(dataset, 2));
  ck_assert_str_eq(image->name, "image");
  ck_assert_int_eq(image->kind, MICA_COLUMN_KIND_IMAGE);
  ck_assert_uint_eq(mica_dataset_column_index(dataset, "label"), 1);
  ck_assert_int_eq(label->classes, 5);
  ck_assert_str_eq(mica_dataset_column_class(dataset, 1, 4), "4");
  int32_t class_index = -1;
  ck_ok(mica_dataset_read(dataset, 1, 7, &class_index, sizeof class_index));
  ck_assert_int_eq(class_index, 2);
  ck_assert_int_eq(mica_dataset_read(dataset, 1, SAMPLES, &class_index, sizeof class_index), MICA_E_INVALID);
  mica_batch_source source;
  mica_loader *loader = make_loader(dataset, (mica_loader_config){.batch = 36}, &source);
  ck_assert_uint_eq(source.column_count, 2);
  ck_assert_str_eq(source.columns[0].name, "image");
  ck_assert_int_eq(source.columns[0].shape.dim[0], MICA_DYNAMIC);
  for (int k = 0; k < 2; k++) {
    mica_batch batch;
    ck_ok(source.next(source.user, test_queue(), &batch));
    ck_assert_uint_eq(batch.tensor_count, 2);
    ck_assert_ptr_eq(batch.tensors[0].tensor, batch.inputs);
    ck_assert_ptr_eq(batch.tensors[1].tensor, batch.targets);
    ck_assert_str_eq(batch.tensors[1].name, "label");
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(inputs_are_normalised) {
  static fetched batch;
  mica_dataset *dataset = make_pictures();
  mica_batch_source source;
  mica_loader *loader = make_loader(dataset, (mica_loader_config){.batch = SAMPLES}, &source);
  float mean[3], deviation[3];
  ck_ok(mica_dataset_measure(dataset, mean, deviation));
  fetch(&source, &batch);
  double sums[3][2] = {{0}};
  for (int i = 0; i < SAMPLES * PIXELS; i++) {
    int c = i / (SIDE * SIDE) % CHANNELS;
    double want = (pictures[i / PIXELS][i % PIXELS] / 255.0 - (double)mean[c]) / (double)deviation[c];
    ck_assert_double_eq_tol(batch.inputs[i], want, 1e-5);
    sums[c][0] += want, sums[c][1] += want * want;
  }
  for (int c = 0; c < 3; c++) {
    ck_assert_double_eq_tol(sums[c][0] / (SAMPLES * SIDE * SIDE), 0, 1e-4);
    ck_assert_double_eq_tol(sums[c][1] / (SAMPLES * SIDE * SIDE), 1, 1e-4);
    ck_assert_float_eq(mica_loader_mean(loader)[c], mean[c]);
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

static const mica_augment_config everything = {.crop = 2,
                                               .flip = true,
                                               .rotate = 20,
                                               .scale = 0.1f,
                                               .brightness = 0.1f,
                                               .contrast = 0.2f,
                                               .cutout = 2,
                                               .mixup = 0.3f};

START_TEST(a_batch_has_the_same_bits_however_one_comes_to_it) {
  static fetched want[2][6], got;
  mica_dataset *dataset = make_pictures();
  mica_loader_config config = {.batch = 7, .shuffle = true, .seed = 123456789012345u, .augment = everything};
  mica_batch_source resident, stream;
  mica_loader *a = make_loader(dataset, config, &resident);
  ck_assert(mica_loader_describe(a).resident);
  for (int epoch = 0; epoch < 2; epoch++)
    for (int k = 0; k <= 6; k++) fetch(&resident, k < 6 ? &want[epoch][k] : &got);
  ck_assert_mem_ne(want[0][0].inputs, want[1][0].inputs, sizeof(float) * 7 * PIXELS);
  config.residence = MICA_RESIDENCE_STREAM;
  config.threads = 3;
  mica_loader *b = make_loader(dataset, config, &stream);
  ck_assert(!mica_loader_describe(b).resident);
  for (int epoch = 0; epoch < 2; epoch++)
    for (int k = 0; k <= 6; k++) {
      fetch(&stream, &got);
      if (k < 6) ck_assert_msg(!memcmp(&got, &want[epoch][k], sizeof got), "epoch %d batch %d", epoch, k);
    }
  static const int positions[][2] = {{1, 3}, {0, 5}, {0, 0}, {1, 6}, {1, 5}, {0, 2}};
  for (int i = 0; i < 6; i++)
    for (int which = 0; which < 2; which++) {
      const mica_batch_source *source = which ? &stream : &resident;
      ck_ok(source->seek(source->user, (uint64_t)positions[i][0], (uint64_t)positions[i][1]));
      fetch(source, &got);
      if (positions[i][1] < 6) ck_assert_mem_eq(&got, &want[positions[i][0]][positions[i][1]], sizeof got);
      if (positions[i][1] == 6) ck_assert_int_eq(got.count, 0);
    }
  ck_assert_int_eq(resident.seek(resident.user, 0, 7), MICA_E_INVALID);
  mica_loader_destroy(a);
  mica_loader_destroy(b);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(mixup_makes_probabilities) {
  static fetched batch;
  mica_dataset *dataset = make_pictures();
  mica_batch_source source;
  mica_loader *loader =
      make_loader(dataset, (mica_loader_config){.batch = 8, .augment.mixup = 1, .drop_last = true}, &source);
  ck_assert_uint_eq(source.batches, 4);
  ck_assert_uint_eq(mica_loader_describe(loader).left_out, SAMPLES - 4 * 8);
  int mixed = 0;
  for (int k = 0; k < 4; k++) {
    fetch(&source, &batch);
    for (int i = 0; i < 8; i++) {
      double sum = 0;
      for (int c = 0; c < 5; c++) {
        sum += batch.targets[i * 5 + c];
        mixed += batch.targets[i * 5 + c] > 0.02f && batch.targets[i * 5 + c] < 0.98f;
      }
      ck_assert_double_eq_tol(sum, 1, 1e-6);
    }
  }
  ck_assert_int_gt(mixed, 10);
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

/* Steps with a loader cost the device's time alone. */
static void check_steady(mica_residence residence) {
  mica_dataset *dataset = make_pictures();
  mica_batch_source source;
  mica_batch batch;
  mica_loader *loader =
      make_loader(dataset, (mica_loader_config){.batch = 8, .shuffle = true, .residence = residence}, &source);
  mica_stats before = {0};
  for (int step = 0; step < 60; step++) {
    if (step == 12) before = mica_engine_stats(test_engine());
    ck_ok(source.next(source.user, test_queue(), &batch));
    /* A step's work: the host is not to run ahead for ever, as a trainer's does not. */
    if (step % 12 == 11) ck_ok(mica_queue_finish(test_queue()));
  }
  mica_stats after = mica_engine_stats(test_engine());
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  ck_assert_uint_eq(after.bytes_in_use, before.bytes_in_use);
  if (residence == MICA_RESIDENCE_DEVICE) ck_assert_uint_eq(after.host_waits, before.host_waits + 4);
  ck_assert_uint_eq(mica_loader_describe(loader).batches, 60 - 10);
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}

START_TEST(steps_allocate_and_build_nothing) {
  check_steady(MICA_RESIDENCE_DEVICE);
  check_steady(MICA_RESIDENCE_STREAM);
}
END_TEST

START_TEST(folders_of_pictures_are_streamed) {
#if MICA_WITH_PNG
  /* A picture of one black pixel. */
  static const uint8_t file[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
                                 0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
                                 0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
                                 0xda, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0xe5, 0x27, 0xde, 0xfc, 0x00,
                                 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  files_write("pictures/black/1.png", file, sizeof file);
  files_write("pictures/dark/1.png", file, sizeof file);
  files_write("pictures/dark/2.png", file, sizeof file);
  mica_dataset *dataset = NULL;
  mica_batch_source source;
  static fetched batch;
  ck_ok(mica_dataset_open(files_path("pictures"), &(mica_dataset_config){.height = 2, .width = 2}, &dataset));
  mica_loader_config config = {.batch = 2, .mean = &(float){0.5f}, .deviation = &(float){0.25f}};
  mica_loader *loader = make_loader(dataset, config, &source);
  ck_assert(!mica_loader_describe(loader).resident);
  fetch(&source, &batch);
  ck_assert_int_eq(batch.count, 2);
  for (int i = 0; i < 8; i++) ck_assert_float_eq(batch.inputs[i], -2);
  mica_loader_destroy(loader);
  /* A picture that goes bad later is the error of its batch alone. */
  files_write_text("pictures/dark/1.png", "no picture");
  loader = make_loader(dataset, config, &source);
  mica_batch got;
  ck_assert_int_eq(source.next(source.user, test_queue(), &got), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "dark/1.png"));
  ck_ok(source.seek(source.user, 0, 1));
  fetch(&source, &batch);
  ck_assert_int_eq(batch.count, 1);
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
#endif
}
END_TEST

START_TEST(what_cannot_be_is_refused) {
  mica_dataset *dataset = make_pictures(), *rows = NULL;
  mica_loader *loader = NULL;
  static float numbers[4], targets[2];
  const mica_column_data columns[] = {
      {.column = {"x", MICA_COLUMN_KIND_NUMBER, MICA_F32, {1, {2}}, 0}, .data = numbers},
      {.column = {"label", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, 0}, .data = targets}};
  ck_ok(mica_dataset_create("rows", 2, columns, 2, &rows));
  static const mica_loader_config wrong[] = {{.batch = -1},        {.dtype = MICA_I32},    {.augment.crop = -1},
                                             {.augment.scale = 1}, {.augment.mixup = NAN}, {.augment.mixup = 5},
                                             {.mean = numbers}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_int_lt(mica_loader_create(test_engine(), dataset, &wrong[i], &loader), 0);
  ck_assert_int_eq(mica_loader_create(test_engine(), rows, &(mica_loader_config){.augment.flip = true}, &loader),
                   MICA_E_INVALID);
  ck_assert_int_eq(mica_loader_create(test_engine(), rows, &(mica_loader_config){.augment.mixup = 1}, &loader),
                   MICA_E_INVALID);
  mica_dataset_destroy(rows);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(augmentations_are_read_from_text) {
  mica_augment_config config;
  ck_ok(mica_augment_parse("crop,flip", &config));
  ck_assert(config.crop == 4 && config.flip && config.mixup == 0);
  ck_ok(mica_augment_parse("rotate=7.5,crop=2,mixup", &config));
  ck_assert(config.crop == 2 && !config.flip && config.rotate == 7.5f && config.mixup == 0.2f);
  ck_ok(mica_augment_parse("none", &config));
  ck_assert(config.crop == 0);
  static const char *const wrong[] = {"crops", "crop=", "crop=x", "crop=-1", "crop,,flip", "flip,sharpen=2"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(mica_augment_parse(wrong[i], &config) == MICA_E_INVALID, "%s", wrong[i]);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "sharpen=2"));
}
END_TEST

TESTS(DEVICE, NULL, NULL, every_sample_comes_once_an_epoch, tensors_are_named_as_columns_are, inputs_are_normalised,
      a_batch_has_the_same_bits_however_one_comes_to_it, mixup_makes_probabilities, steps_allocate_and_build_nothing,
      folders_of_pictures_are_streamed, what_cannot_be_is_refused, augmentations_are_read_from_text)
