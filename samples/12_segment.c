/* labels: device single
 *
 * Lesson 12: which class each pixel belongs to. A run is a task, data and settings; here the data are pictures of
 * discs that are made below, with a mask for each, and the task segment trains a small U-Net on windows of them.
 * The metrics are those of pictures that it has not seen.
 *
 *   build/bin/samples/12_segment
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 40
#define SIDE 64

/* A bright disc on a noisy ground, and its mask: 1 inside. */
static void draw(int side, uint8_t *picture, uint8_t *mask) {
  const int radius = side / 8 + rand() % (side / 8), room = side - 2 * radius;
  const int x = radius + rand() % room, y = radius + rand() % room;
  for (int at = 0; at < side * side; at++) {
    const int dx = at % side - x, dy = at / side - y;
    mask[at] = dx * dx + dy * dy < radius * radius;
    picture[at] = (uint8_t)((mask[at] ? 110 : 40) + rand() % 80);
  }
}

/* A dataset of two columns: pictures (1, H, W) and masks (H, W) of two classes. */
static mica_status make_discs(int count, int side, uint8_t *pictures, uint8_t *masks, mica_dataset **data) {
  static const char *const names[] = {"ground", "disc"};
  for (int i = 0; i < count; i++) draw(side, pictures + i * side * side, masks + i * side * side);
  const mica_column_data columns[] = {
      {.column = {.name = "image", .kind = MICA_COLUMN_KIND_IMAGE, .dtype = MICA_U8, .shape = {3, {1, side, side}}},
       .data = pictures},
      {.column =
           {.name = "mask", .kind = MICA_COLUMN_KIND_MASK, .dtype = MICA_U8, .shape = {2, {side, side}}, .classes = 2},
       .data = masks,
       .class_names = names}};
  return mica_dataset_create("discs", (uint64_t)count, columns, 2, data);
}

/* Trains on the discs; the metrics are those of the pictures that were kept out. */
static mica_status train(mica_engine *engine, const mica_dataset *data, mica_metrics *metrics) {
  static const mica_setting settings[] = {{"width", "4"},   {"depth", "3"}, {"window", "48"},   {"batch", "4"},
                                          {"epochs", "12"}, {"lr", "0.03"}, {"augment", "flip"}};
  mica_run *run = NULL;
  mica_status status = mica_run_create(engine,
                                       &(mica_run_config){.task = "segment",
                                                          .dataset = data,
                                                          .settings = settings,
                                                          .setting_count = sizeof settings / sizeof *settings},
                                       &run);
  if (!status) status = mica_run_fit(run);
  if (!status) status = mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, metrics);
  mica_run_destroy(run);
  return status;
}

int main(void) {
  static uint8_t pictures[COUNT * SIDE * SIDE], masks[COUNT * SIDE * SIDE];
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  mica_metrics metrics = {0};
  srand(1);
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = make_discs(COUNT, SIDE, pictures, masks, &data);
  if (!status) status = train(engine, data, &metrics);
  const double dice = mica_metrics_get(&metrics, "dice_disc");
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("%lld pictures not trained on: Dice of discs %.3f, of the ground %.3f\n", (long long)metrics.samples, dice,
           mica_metrics_get(&metrics, "dice_ground"));
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || !(dice > 0.9);
}
