/* labels: device
 *
 * Pictures of several sizes are trained on in their own: what lies outside of the first one's size is seen, each pixel
 * beside its class, and small pictures are no larger for it. */
#include "run/run.h"
#include "run/state/parts.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT 60
#define RIGHT 220

/* A grey picture of H x W, dark but for its last columns, and the mask of these. */
static void write_pair(const char *folder, const char *name, int64_t H, int64_t W, int64_t bright) {
  uint8_t *pixels = malloc((size_t)(H * W)), *mask = malloc((size_t)(H * W));
  for (int64_t i = 0; i < H * W; i++) {
    mask[i] = i % W >= W - bright ? 255 : 0;
    pixels[i] = mask[i] ? RIGHT : LEFT;
  }
  for (int k = 0; k < 2; k++) {
    char path[256];
    uint8_t *png = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s/%s.png", folder, k ? "masks" : "images", name);
    ck_ok(mica_png_encode(k ? mask : pixels, MICA_SHAPE(1, H, W), &png, &bytes));
    files_write(path, png, bytes);
    mica_free(png);
  }
  free(pixels);
  free(mask);
}

/* Counts the pixels of an epoch by their class, 2 for none, and sees that those of a class have its brightness. */
static void count_pixels(mica_run *run, int64_t counts[3]) {
  mica_loader *loader = run->parts->at[MICA_PART_TRAIN].loader;
  const mica_batch_source source = mica_loader_source(loader);
  const float mean = mica_loader_mean(loader)[0], deviation = mica_loader_deviation(loader)[0];
  for (;;) {
    mica_batch batch = {0};
    const mica_tensor *image = NULL, *mask = NULL;
    ck_ok(source.next(source.user, test_queue(), &batch));
    if (!batch.count) return;
    for (size_t i = 0; i < batch.tensor_count; i++) {
      if (!strcmp(batch.tensors[i].name, "image")) image = batch.tensors[i].tensor;
      if (!strcmp(batch.tensors[i].name, "mask")) mask = batch.tensors[i].tensor;
    }
    const size_t count = mica_tensor_bytes(mask) / sizeof(int32_t);
    ck_assert_uint_eq(mica_tensor_bytes(image) / sizeof(float), count);
    float *pixels = malloc(count * sizeof *pixels);
    int32_t *classes = malloc(count * sizeof *classes);
    ck_ok(mica_tensor_download(test_queue(), image, pixels, count * sizeof *pixels));
    ck_ok(mica_tensor_download(test_queue(), mask, classes, count * sizeof *classes));
    for (size_t i = 0; i < count; i++) {
      const float grey = 255 * (pixels[i] * deviation + mean);
      counts[classes[i] < 0 ? 2 : classes[i]]++;
      if (classes[i] >= 0) ck_assert_float_eq_tol(grey, classes[i] ? RIGHT : LEFT, 1);
    }
    free(pixels);
    free(classes);
  }
}

static void train_on(const char *folder, int64_t counts[3]) {
  const mica_setting settings[] = {{"epochs", "1"}, {"batch", "1"},   {"augment", "none"}, {"width", "4"},
                                   {"depth", "2"},  {"window", "32"}, {"tile", "32"},      {"validation", "0"}};
  const mica_run_config config = {.data = files_path(folder),
                                  .task = "segment",
                                  .settings = settings,
                                  .setting_count = sizeof settings / sizeof *settings};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  memset(counts, 0, 3 * sizeof *counts);
  count_pixels(run, counts);
  mica_run_destroy(run);
}

/* The first picture decided on a square, of which the second one's middle has nothing bright. */
START_TEST(what_the_first_size_would_cut_off_is_seen) {
  int64_t counts[3];
  write_pair("wide", "a", 32, 32, 1);
  write_pair("wide", "b", 32, 128, 16);
  train_on("wide", counts);
  /* Windows are as large as the parts: each pixel is seen once. */
  ck_assert_int_eq(counts[1], 32 * 1 + 32 * 16);
  ck_assert_int_eq(counts[0], 32 * 31 + 32 * 112);
  ck_assert_int_eq(counts[2], 0);
}
END_TEST

/* A picture smaller than a window is mirrored into it, and only its own pixels count. */
START_TEST(small_pictures_count_once) {
  int64_t counts[3];
  write_pair("small", "a", 10, 12, 2);
  write_pair("small", "b", 32, 40, 4);
  train_on("small", counts);
  ck_assert_int_eq(counts[1], 10 * 2 + 32 * 4);
  ck_assert_int_eq(counts[0], 10 * 10 + 32 * 36);
  ck_assert_int_eq(counts[2], 3 * 32 * 32 - 10 * 12 - 32 * 40);
}
END_TEST

TESTS(DEVICE, NULL, NULL, what_the_first_size_would_cut_off_is_seen, small_pictures_count_once)
