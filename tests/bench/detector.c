#include "bench/detector.h"

#include "bench/step.h"

#include <stdio.h>

enum { SAMPLES = 8 };

static float unit(uint64_t *state) { return (float)step_random(state) * 0x1p-31f; }

void detector_boxes(float *boxes, int count, int side, uint64_t *state) {
  for (int i = 0; i < count; i++, boxes += 4)
    for (int k = 0; k < 2; k++) {
      const float length = (float)side * (0.0625f + 0.4375f * unit(state));
      boxes[k] = ((float)side - length) * unit(state);
      boxes[k + 2] = boxes[k] + length;
    }
}

static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  uint64_t state = sample;
  (void)user;
  for (size_t i = 0; i < bytes; i++) ((uint8_t *)data)[i] = (uint8_t)step_random(&state);
  return MICA_OK;
}

void detector_begin(const bench *b, int batch, int side, detector *d) {
  static float boxes[SAMPLES * DETECTOR_BOXES][4];
  static int32_t labels[SAMPLES * DETECTOR_BOXES];
  static int64_t offsets[SAMPLES + 1];
  char size[16];
  uint64_t state = 1;
  detector_boxes(boxes[0], SAMPLES * DETECTOR_BOXES, side, &state);
  for (int i = 0; i < SAMPLES * DETECTOR_BOXES; i++) labels[i] = i % DETECTOR_CLASSES;
  for (int i = 0; i <= SAMPLES; i++) offsets[i] = (int64_t)i * DETECTOR_BOXES;
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, MICA_SHAPE(3, side, side), 0}, .read = read_picture},
      {.column = {"boxes", MICA_COLUMN_KIND_BOXES, MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 4), 0},
       .data = boxes,
       .offsets = offsets},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SHAPE(MICA_DYNAMIC), DETECTOR_CLASSES},
       .data = labels,
       .offsets = offsets}};
  snprintf(size, sizeof size, "%d", batch);
  const mica_setting settings[] = {{"batch", size}, {"augment", "none"}, {"clip-norm", "0"},
                                   {"ema", "0"},    {"validation", "0"}, {"schedule", "constant"}};
  *d = (detector){0};
  bench_ok(mica_dataset_create("boxes", SAMPLES, columns, 3, &d->data));
  const mica_run_config config = {
      .task = "detect", .dataset = d->data, .settings = settings, .setting_count = sizeof settings / sizeof *settings};
  bench_ok(mica_run_create(b->engine, &config, &d->run));
  d->trainer = mica_run_trainer(d->run);
}

void detector_end(detector *d) {
  mica_run_destroy(d->run);
  mica_dataset_destroy(d->data);
}
