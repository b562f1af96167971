/* labels: oracle device
 *
 * Rotated, scaled, shifted and mirrored pictures beside torchvision's affine (transforms v2, bilinear), for the angles,
 * factors and shifts that the samples' draws were. */
#include "ops/batch/geometry.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>

enum { SAMPLES = 16, CHANNELS = 2, HEIGHT = 23, WIDTH = 30, PLANE = CHANNELS * HEIGHT * WIDTH };

static float pictures[SAMPLES * PLANE], changed[SAMPLES * PLANE];

START_TEST(pictures_are_torchvisions) {
  const mica_augment_config augment = {.crop = 3, .flip = true, .rotate = 40, .scale = 0.3f};
  const mica__augment drawn = {
      .seed = 21, .crop = 3, .flip = 1, .angle = (float)(40 * 3.14159265358979323846 / 180), .zoom = 0.3f};
  static float draws[SAMPLES * 5];
  for (int i = 0; i < SAMPLES * PLANE; i++) pictures[i] = sinf((float)(i * 37 % 1009));
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_F32, {3, {CHANNELS, HEIGHT, WIDTH}}, 0}, .data = pictures}};
  mica_dataset *dataset = NULL;
  mica_loader *loader = NULL;
  mica_batch batch;
  ck_ok(mica_dataset_create("pictures", SAMPLES, columns, 1, &dataset));
  const mica_loader_config config = {.batch = SAMPLES,
                                     .seed = 21,
                                     .augment = augment,
                                     .mean = (const float[CHANNELS]){0},
                                     .deviation = (const float[CHANNELS]){1, 1}};
  ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
  mica_batch_source source = mica_loader_source(loader);
  ck_ok(source.next(source.user, test_queue(), &batch));
  ck_ok(mica_tensor_download(test_queue(), batch.inputs, changed, sizeof changed));
  for (uint32_t i = 0; i < SAMPLES; i++) {
    const mica__draw d = mica__draw_of(&drawn, i, HEIGHT, WIDTH, 1);
    const float row[5] = {(float)d.dx, (float)d.dy, (float)d.mirrored, (float)d.angle, (float)d.zoom};
    for (int k = 0; k < 5; k++) draws[i * 5 + (uint32_t)k] = row[k];
  }
  const mica_shape shape = MICA_SHAPE(SAMPLES, CHANNELS, HEIGHT, WIDTH);
  ck_ok(mica_npy_write(files_path("x.npy"), MICA_F32, shape, pictures));
  ck_ok(mica_npy_write(files_path("y.npy"), MICA_F32, shape, changed));
  ck_ok(mica_npy_write(files_path("draws.npy"), MICA_F32, MICA_SHAPE(SAMPLES, 5), draws));
  char arguments[64];
  /* Coordinates in f32 are off by some 2^-19 of a picture's side; pixels differ by 2 at most. */
  snprintf(arguments, sizeof arguments, "%s 1e-4", files_folder());
  oracle_run("data/test_geometry_oracle.py", arguments);
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("numpy, torch, torchvision")), NULL, NULL, pictures_are_torchvisions)
