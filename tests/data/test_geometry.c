/* labels: device single
 *
 * A picture, its mask and its boxes are changed alike: a bright rectangle stays where its mask and its box say. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 24, SIDE = 20, PLANE = SIDE * SIDE };

static uint8_t pictures[SAMPLES][PLANE], masks[SAMPLES][PLANE];
static float boxes[2 * SAMPLES][4];
static int32_t kinds[2 * SAMPLES], labels[SAMPLES];
static int64_t offsets[SAMPLES + 1];

/* A rectangle in each sample, its box, and one of a pixel in a corner. */
static mica_dataset *make_scenes(void) {
  memset(pictures, 0, sizeof pictures);
  memset(masks, 0, sizeof masks);
  for (int i = 0; i < SAMPLES; i++) {
    const int x0 = 4 + i % 5, y0 = 5 + i % 4, x1 = x0 + 4 + i % 3, y1 = y0 + 5;
    for (int r = y0; r < y1; r++)
      for (int q = x0; q < x1; q++) pictures[i][r * SIDE + q] = 255, masks[i][r * SIDE + q] = 1;
    const float box[4] = {(float)x0, (float)y0, (float)x1, (float)y1}, corner[4] = {0, 0, 1, 1};
    memcpy(boxes[2 * i], box, sizeof box);
    memcpy(boxes[2 * i + 1], corner, sizeof corner);
    kinds[2 * i] = 1, kinds[2 * i + 1] = 0;
    labels[i] = i % 3;
    offsets[i + 1] = 2 * i + 2;
  }
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {1, SIDE, SIDE}}, 0}, .data = pictures},
      {.column = {"mask", MICA_COLUMN_KIND_MASK, MICA_U8, {2, {SIDE, SIDE}}, 2}, .data = masks},
      {.column = {"boxes", MICA_COLUMN_KIND_BOXES, MICA_F32, {2, {MICA_DYNAMIC, 4}}, 0},
       .data = boxes,
       .offsets = offsets},
      {.column = {"kinds", MICA_COLUMN_KIND_CLASS, MICA_I32, {1, {MICA_DYNAMIC}}, 2},
       .data = kinds,
       .offsets = offsets},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 3}, .data = labels},
  };
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_create("scenes", SAMPLES, columns, 5, &dataset));
  return dataset;
}

typedef struct scene {
  float picture[PLANE];
  int32_t mask[PLANE];
  float box[2][4];
  int32_t kind[2];
} scene;

static void take(const mica_batch_source *source, scene *scenes) {
  static float picture[SAMPLES * PLANE], box[SAMPLES * 8];
  static int32_t mask[SAMPLES * PLANE], kind[SAMPLES * 2];
  mica_batch batch;
  ck_ok(source->next(source->user, test_queue(), &batch));
  ck_assert_int_eq(batch.count, SAMPLES);
  for (size_t k = 0; k < batch.tensor_count; k++) {
    const char *name = batch.tensors[k].name;
    const mica_tensor *tensor = batch.tensors[k].tensor;
    void *to = !strcmp(name, "image")   ? (void *)picture
               : !strcmp(name, "mask")  ? (void *)mask
               : !strcmp(name, "boxes") ? (void *)box
               : !strcmp(name, "kinds") ? (void *)kind
                                        : NULL;
    if (to) ck_ok(mica_tensor_download(test_queue(), tensor, to, mica_tensor_bytes(tensor)));
  }
  for (int i = 0; i < SAMPLES; i++) {
    memcpy(scenes[i].picture, picture + i * PLANE, sizeof scenes[i].picture);
    memcpy(scenes[i].mask, mask + i * PLANE, sizeof scenes[i].mask);
    memcpy(scenes[i].box, box + i * 8, sizeof scenes[i].box);
    memcpy(scenes[i].kind, kind + i * 2, sizeof scenes[i].kind);
  }
}

static mica_loader *load(const mica_dataset *dataset, mica_augment_config augment, mica_residence residence,
                         mica_batch_source *source) {
  mica_loader *loader = NULL;
  const mica_loader_config config = {.batch = SAMPLES,
                                     .seed = 3,
                                     .augment = augment,
                                     .residence = residence,
                                     .mean = &(float){0},
                                     .deviation = &(float){1}};
  ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
  *source = mica_loader_source(loader);
  return loader;
}

/* The bounds of class 1 in a mask: x0 y0 x1 y1; false where there is none. */
static bool bounds_of(const int32_t *mask, float bounds[4]) {
  bounds[0] = bounds[1] = SIDE, bounds[2] = bounds[3] = 0;
  for (int i = 0; i < PLANE; i++) {
    if (mask[i] != 1) continue;
    const float q = (float)(i % SIDE), r = (float)(i / SIDE);
    bounds[0] = fminf(bounds[0], q), bounds[1] = fminf(bounds[1], r);
    bounds[2] = fmaxf(bounds[2], q + 1), bounds[3] = fmaxf(bounds[3], r + 1);
  }
  return bounds[2] > 0;
}

START_TEST(pictures_masks_and_boxes_move_together) {
  static scene scenes[2][SAMPLES];
  mica_dataset *dataset = make_scenes();
  for (int resident = 0; resident < 2; resident++) {
    mica_batch_source source;
    mica_loader *loader = load(dataset, (mica_augment_config){.crop = 4, .flip = true},
                               resident ? MICA_RESIDENCE_DEVICE : MICA_RESIDENCE_STREAM, &source);
    take(&source, scenes[resident]);
    mica_loader_destroy(loader);
  }
  ck_assert(!memcmp(scenes[0], scenes[1], sizeof scenes[0]));
  int moved = 0, gone = 0;
  for (int i = 0; i < SAMPLES; i++) {
    const scene *s = &scenes[0][i];
    float bounds[4];
    for (int k = 0; k < PLANE; k++) ck_assert_int_eq(s->picture[k] > 0.5f, s->mask[k] == 1);
    ck_assert(bounds_of(s->mask, bounds));
    for (int k = 0; k < 4; k++) ck_assert_float_eq_tol(s->box[0][k], bounds[k], 1e-5f);
    moved += memcmp(s->box[0], boxes[2 * i], sizeof s->box[0]) != 0;
    gone += s->box[1][2] == 0;
    ck_assert_int_eq(s->kind[0], 1);
  }
  ck_assert_int_gt(moved, SAMPLES / 2);
  ck_assert_int_gt(gone, 2); /* corners that were moved out of the picture */
  ck_assert_int_lt(gone, SAMPLES);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(they_rotate_together) {
  static scene scenes[SAMPLES];
  mica_dataset *dataset = make_scenes();
  mica_batch_source source;
  mica_loader *loader =
      load(dataset, (mica_augment_config){.rotate = 25, .scale = 0.2f, .flip = true}, MICA_RESIDENCE_DEVICE, &source);
  take(&source, scenes);
  for (int i = 0; i < SAMPLES; i++) {
    float bounds[4];
    int differ = 0;
    for (int k = 0; k < PLANE; k++) differ += (scenes[i].picture[k] > 0.5f) != (scenes[i].mask[k] == 1);
    ck_assert_int_le(differ, 8); /* at the edges, between pixels */
    ck_assert(bounds_of(scenes[i].mask, bounds));
    for (int k = 0; k < 4; k++) ck_assert_float_eq_tol(scenes[i].box[0][k], bounds[k], 1.5f);
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(cutmix_shares_labels_by_area) {
  enum { N = 8 };
  static float picture[N * PLANE], targets[N * 3];
  mica_dataset *dataset = make_scenes(), *flat = NULL;
  /* Picture i is all i, its mask too; without boxes. */
  for (int i = 0; i < SAMPLES; i++) memset(pictures[i], i * 10, PLANE), memset(masks[i], i % 2, PLANE);
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {1, SIDE, SIDE}}, 0}, .data = pictures},
      {.column = {"mask", MICA_COLUMN_KIND_MASK, MICA_U8, {2, {SIDE, SIDE}}, 2}, .data = masks},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 3}, .data = labels}};
  ck_ok(mica_dataset_create("flat", SAMPLES, columns, 3, &flat));
  mica_loader *loader = NULL;
  const mica_loader_config config = {
      .batch = N, .seed = 9, .augment = {.cutmix = 1}, .mean = &(float){0}, .deviation = &(float){1}};
  ck_ok(mica_loader_create(test_engine(), flat, &config, &loader));
  mica_batch_source source = mica_loader_source(loader);
  int cut = 0;
  for (int b = 0; b < SAMPLES / N; b++) {
    static int32_t mask[N * PLANE];
    mica_batch batch;
    ck_ok(source.next(source.user, test_queue(), &batch));
    ck_ok(mica_tensor_download(test_queue(), batch.inputs, picture, sizeof picture));
    ck_ok(mica_tensor_download(test_queue(), batch.targets, targets, sizeof targets));
    ck_ok(mica_tensor_download(test_queue(), batch.tensors[1].tensor, mask, sizeof mask));
    for (int s = 0; s < N; s++) {
      const int i = b * N + s, k = b * N + N - 1 - s;
      int other = 0;
      for (int p = 0; p < PLANE; p++) {
        const int value = (int)lroundf(picture[s * PLANE + p] * 25.5f);
        ck_assert(value == i || value == k);
        ck_assert_int_eq(mask[s * PLANE + p], value % 2);
        other += value == k;
      }
      const float share = (float)other / PLANE;
      for (int j = 0; j < 3; j++) {
        const float want = (labels[i] == j ? 1 - share : 0) + (labels[k] == j ? share : 0);
        ck_assert_float_eq_tol(targets[s * 3 + j], want, 1e-6f);
      }
      cut += other > 0;
    }
  }
  ck_assert_int_gt(cut, N);
  mica_loader_destroy(loader);
  mica_dataset_destroy(flat);
  mica_dataset_destroy(dataset);
}
END_TEST

/* A map holds the picture's brightness, as numbers: both are moved, mirrored and cut alike. */
START_TEST(maps_move_with_their_pictures) {
  enum { N = 8, WINDOW = SIDE - 6 };
  static float picture[N * PLANE], map[N * PLANE], maps[SAMPLES][PLANE];
  mica_dataset *flat = NULL;
  for (int i = 0; i < SAMPLES; i++)
    for (int p = 0; p < PLANE; p++) {
      pictures[i][p] = (uint8_t)(1 + (p * 7 + i * 13) % 255);
      maps[i][p] = (float)pictures[i][p];
    }
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {1, SIDE, SIDE}}, 0}, .data = pictures},
      {.column = {"depth", MICA_COLUMN_KIND_MAP, MICA_F32, {2, {SIDE, SIDE}}, 0}, .data = maps}};
  ck_ok(mica_dataset_create("flat", SAMPLES, columns, 2, &flat));
  mica_loader *loader = NULL;
  const mica_loader_config config = {.batch = N,
                                     .seed = 9,
                                     .shuffle = true,
                                     .augment = {.cutmix = 1, .flip = true, .crop = 2},
                                     .mean = &(float){0},
                                     .deviation = &(float){1},
                                     .window_height = WINDOW,
                                     .window_width = WINDOW};
  ck_ok(mica_loader_create(test_engine(), flat, &config, &loader));
  mica_batch_source source = mica_loader_source(loader);
  int differ = 0;
  for (int b = 0; b < SAMPLES / N; b++) {
    mica_batch batch;
    ck_ok(source.next(source.user, test_queue(), &batch));
    ck_assert_int_eq(mica_tensor_count(batch.tensors[1].tensor), N * WINDOW * WINDOW);
    ck_ok(mica_tensor_download(test_queue(), batch.inputs, picture, sizeof(float) * N * WINDOW * WINDOW));
    ck_ok(mica_tensor_download(test_queue(), batch.tensors[1].tensor, map, sizeof(float) * N * WINDOW * WINDOW));
    for (int p = 0; p < N * WINDOW * WINDOW; p++) {
      ck_assert_float_eq_tol(picture[p] * 255, map[p], 1e-3f);
      differ += p % (WINDOW * WINDOW) < PLANE && map[p] != maps[b * N + p / (WINDOW * WINDOW)][p % (WINDOW * WINDOW)];
    }
  }
  ck_assert_int_gt(differ, N * WINDOW);
  mica_loader_destroy(loader);
  mica_dataset_destroy(flat);
}
END_TEST

/* With mixup and cutmix each batch has one of the two: a blend of both pictures everywhere, or pixels of either. */
START_TEST(joint_mixup_draws_one_per_batch) {
  enum { N = 4, EPOCHS = 8 };
  static float picture[N * PLANE], targets[N * 3];
  mica_dataset *dataset = make_scenes(), *flat = NULL;
  for (int i = 0; i < SAMPLES; i++) memset(pictures[i], i * 10, PLANE);
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {1, SIDE, SIDE}}, 0}, .data = pictures},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 3}, .data = labels}};
  ck_ok(mica_dataset_create("flat", SAMPLES, columns, 2, &flat));
  mica_loader *loader = NULL;
  const mica_loader_config config = {
      .batch = N, .seed = 9, .augment = {.cutmix = 1, .mixup = 1}, .mean = &(float){0}, .deviation = &(float){1}};
  ck_ok(mica_loader_create(test_engine(), flat, &config, &loader));
  mica_batch_source source = mica_loader_source(loader);
  int blended = 0, cut = 0;
  uint64_t built = 0;
  for (int b = 0; b < EPOCHS * (SAMPLES / N); b++) {
    mica_batch batch;
    if (b % (SAMPLES / N) == 0) ck_ok(source.seek(source.user, (uint64_t)(b / (SAMPLES / N)), 0));
    ck_ok(source.next(source.user, test_queue(), &batch));
    ck_ok(mica_tensor_download(test_queue(), batch.inputs, picture, sizeof picture));
    ck_ok(mica_tensor_download(test_queue(), batch.targets, targets, sizeof targets));
    if (b == 0) built = mica_engine_stats(test_engine()).kernel_builds;
    const int i = b % (SAMPLES / N) * N, k = i + N - 1; /* sample 0 and its other one */
    int own = 0, other = 0;
    for (int p = 0; p < PLANE; p++) {
      own += fabsf(picture[p] * 25.5f - (float)i) < 1e-3f;
      other += fabsf(picture[p] * 25.5f - (float)k) < 1e-3f;
    }
    float share = (float)other / PLANE; /* of the other one */
    if (own + other == PLANE)
      cut += own && other;
    else {
      ck_assert_int_eq(own + other, 0);
      share = (picture[0] * 25.5f - (float)i) / (float)(k - i);
      for (int p = 0; p < PLANE; p++) ck_assert_float_eq_tol(picture[p], picture[0], 1e-5f);
      blended++;
    }
    for (int j = 0; j < 3; j++) {
      const float want = (labels[i] == j ? 1 - share : 0) + (labels[k] == j ? share : 0);
      ck_assert_float_eq_tol(targets[j], want, 1e-4f);
    }
  }
  printf("%d batches blended, %d cut, of %d\n", blended, cut, EPOCHS * (SAMPLES / N));
  /* The number is within four deviations of n / 2. A rectangle may be empty or whole. */
  const double n = EPOCHS * (SAMPLES / N);
  ck_assert_double_ge(blended, n / 2 - 2 * sqrt(n));
  ck_assert_double_le(blended, n / 2 + 2 * sqrt(n));
  ck_assert_int_gt(cut, 0);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).kernel_builds, built);
  mica_loader_destroy(loader);
  mica_dataset_destroy(flat);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(what_is_bent_is_bent_with_its_mask) {
  static scene scenes[SAMPLES];
  mica_dataset *all = make_scenes(), *dataset = NULL;
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {1, SIDE, SIDE}}, 0}, .data = pictures},
      {.column = {"mask", MICA_COLUMN_KIND_MASK, MICA_U8, {2, {SIDE, SIDE}}, 2}, .data = masks}};
  ck_ok(mica_dataset_create("bent", SAMPLES, columns, 2, &dataset));
  mica_batch_source source;
  mica_loader *loader =
      load(dataset, (mica_augment_config){.elastic = 3, .flip = true}, MICA_RESIDENCE_STREAM, &source);
  take(&source, scenes);
  int moved = 0;
  for (int i = 0; i < SAMPLES; i++) {
    int differ = 0;
    for (int k = 0; k < PLANE; k++) {
      differ += (scenes[i].picture[k] > 0.5f) != (scenes[i].mask[k] == 1);
      moved += (scenes[i].mask[k] == 1) != (masks[i][k] == 1);
    }
    ck_assert_int_le(differ, 8);
  }
  ck_assert_int_gt(moved, SAMPLES * 8);
  mica_loader_destroy(loader);
  const mica_loader_config config = {.augment = {.elastic = 3}};
  ck_assert_int_eq(mica_loader_create(test_engine(), all, &config, &loader), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "boxes"));
  mica_dataset_destroy(dataset);
  mica_dataset_destroy(all);
}
END_TEST

START_TEST(steps_wait_for_nothing) {
  mica_dataset *dataset = make_scenes();
  for (int resident = 0; resident < 2; resident++) {
    mica_loader *loader = NULL;
    const mica_loader_config config = {.batch = 4,
                                       .shuffle = true,
                                       .augment = {.crop = 2, .rotate = 5},
                                       .residence = resident ? MICA_RESIDENCE_DEVICE : MICA_RESIDENCE_STREAM};
    ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
    mica_batch_source source = mica_loader_source(loader);
    mica_stats before = {0};
    for (int b = 0; b < 21; b++) { /* three epochs and their ends */
      mica_batch batch;
      if (b == 7) before = mica_engine_stats(test_engine());
      ck_ok(source.next(source.user, test_queue(), &batch));
    }
    const mica_stats after = mica_engine_stats(test_engine());
    ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
    ck_assert_uint_eq(after.allocations, before.allocations);
    ck_assert_uint_eq(after.launches - before.launches, 2 * 6 * 4); /* picture and words, mask, boxes, their kinds */
    mica_loader_destroy(loader);
  }
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(what_cannot_be_is_refused) {
  mica_dataset *dataset = make_scenes(), *odd = NULL;
  mica_loader *loader = NULL;
  const mica_loader_config mixed = {.augment = {.mixup = 0.2f}};
  ck_assert_int_eq(mica_loader_create(test_engine(), dataset, &mixed, &loader), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "mixup"));
  const mica_column_data small = {.column = {"mask", MICA_COLUMN_KIND_MASK, MICA_U8, {2, {SIDE, SIDE / 2}}, 2},
                                  .data = masks};
  ck_ok(mica_dataset_derive(dataset, &small, 1, &odd));
  ck_assert_int_eq(mica_loader_create(test_engine(), odd, NULL, &loader), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "\"mask\""));
  mica_dataset_destroy(odd);
  mica_dataset_destroy(dataset);
}
END_TEST

TESTS(DEVICE, NULL, NULL, pictures_masks_and_boxes_move_together, they_rotate_together, cutmix_shares_labels_by_area,
      maps_move_with_their_pictures, joint_mixup_draws_one_per_batch, what_is_bent_is_bent_with_its_mask,
      steps_wait_for_nothing, what_cannot_be_is_refused)
