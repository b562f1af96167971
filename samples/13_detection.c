/* labels: device single
 *
 * Lesson 13: where things are, and what they are. Pictures of discs and squares are made here, with the box of each and
 * its class; the task detect trains on them, is scored by the average precision that COCO defines, and finds the
 * shapes of a picture that it has not seen. Files in the forms of Pascal VOC and COCO need no code: mica train --data.
 *
 *   build/bin/samples/13_detection
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define PICTURES 240
#define SIDE 64
#define SHAPES 3 /* of a picture */
#define SEEN "13_detection.png"

static const char *const kinds[] = {"disc", "square"};

static int below(int n) { return (int)((double)rand() / (RAND_MAX + 1.0) * n); }

/* Draws a shape somewhere in a third of the picture, so that none covers another. */
static void draw(uint8_t *pixels, int third, float box[4], int32_t *kind) {
  const int side = 12 + below(8), x0 = third * SIDE / SHAPES + below(SIDE / SHAPES - 18), y0 = below(SIDE - side);
  const int light = 140 + below(100);
  *kind = below(2);
  for (int y = 0; y < side; y++)
    for (int x = 0; x < side; x++) {
      const int u = 2 * x + 1 - side, v = 2 * y + 1 - side;
      if (*kind == 1 || u * u + v * v <= side * side) pixels[(y0 + y) * SIDE + x0 + x] = (uint8_t)light;
    }
  box[0] = (float)x0, box[1] = (float)y0, box[2] = (float)(x0 + side), box[3] = (float)(y0 + side);
}

/* A picture of noise with shapes on it. */
static void make_picture(uint8_t *pixels, float *boxes, int32_t *labels) {
  for (int i = 0; i < SIDE * SIDE; i++) pixels[i] = (uint8_t)below(100);
  for (int k = 0; k < SHAPES; k++) draw(pixels, k, boxes + 4 * k, &labels[k]);
}

/* Pictures, and two ragged columns: the boxes of each, and their classes. */
static mica_status make_data(mica_dataset **data) {
  static uint8_t pixels[PICTURES][SIDE * SIDE];
  static float boxes[PICTURES][4 * SHAPES];
  static int32_t labels[PICTURES][SHAPES];
  static int64_t offsets[PICTURES + 1];
  for (int i = 0; i < PICTURES; i++) {
    make_picture(pixels[i], boxes[i], labels[i]);
    offsets[i + 1] = offsets[i] + SHAPES;
  }
  const mica_column_data columns[] = {
      {.column = {.name = "image", .kind = MICA_COLUMN_KIND_IMAGE, .dtype = MICA_U8, .shape = {3, {1, SIDE, SIDE}}},
       .data = pixels},
      {.column = {.name = "boxes", .kind = MICA_COLUMN_KIND_BOXES, .dtype = MICA_F32, .shape = {2, {MICA_DYNAMIC, 4}}},
       .data = boxes,
       .offsets = offsets},
      {.column = {.name = "label",
                  .kind = MICA_COLUMN_KIND_CLASS,
                  .dtype = MICA_I32,
                  .shape = {1, {MICA_DYNAMIC}},
                  .classes = 2},
       .data = labels,
       .offsets = offsets,
       .class_names = kinds}};
  return mica_dataset_create("shapes", PICTURES, columns, 3, data);
}

/* Writes a new picture and prints what is found in it. */
static mica_status look(mica_run *run) {
  static uint8_t pixels[SIDE * SIDE];
  float boxes[4 * SHAPES];
  int32_t labels[SHAPES];
  uint8_t *png = NULL;
  size_t bytes = 0;
  mica_report *prediction = NULL;
  const char *file = SEEN;
  make_picture(pixels, boxes, labels);
  mica_status status = mica_png_encode(pixels, MICA_SHAPE(1, SIDE, SIDE), &png, &bytes);
  if (!status) status = mica_file_write(file, png, bytes);
  mica_free(png);
  for (int k = 0; !status && k < SHAPES; k++)
    printf("there is a %s from (%.0f, %.0f) to (%.0f, %.0f)\n", kinds[labels[k]], (double)boxes[4 * k],
           (double)boxes[4 * k + 1], (double)boxes[4 * k + 2], (double)boxes[4 * k + 3]);
  if (!status) status = mica_run_predict(run, &(mica_run_input){.files = &file, .file_count = 1}, &prediction);
  const mica_item *found = status ? NULL : mica_report_find(prediction, 0, "boxes");
  for (size_t i = 0; found && i < found->rows; i++) {
    const double *box = found->numbers + 5 * i;
    printf("found a %s (%.2f) from (%.0f, %.0f) to (%.0f, %.0f)\n", found->row_names[i], box[4], box[0], box[1], box[2],
           box[3]);
  }
  mica_report_destroy(prediction);
  remove(file);
  return status;
}

int main(void) {
  static const mica_setting settings[] = {
      {"epochs", "12"}, {"width", "8"}, {"ema", "0.95"}, {"augment", "flip"}, {"least-score", "0.3"}};
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_metrics metrics = {0};
  srand(1);
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = make_data(&data);
  const mica_run_config config = {
      .task = "detect", .dataset = data, .settings = settings, .setting_count = sizeof settings / sizeof *settings};
  if (!status) status = mica_run_create(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  if (!status) status = mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &metrics);
  if (!status) status = look(run);
  const double precision = mica_metrics_get(&metrics, "map_50");
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("average precision at an overlap of one half: %.3f\n", precision);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || !(precision > 0.5);
}
