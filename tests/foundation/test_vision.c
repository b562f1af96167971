/* labels: device
 *
 * Small models of pictures, ViT and CLIP, against transformers (make_models.py). */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 2, CHANNELS = 3, SIDE = 20, ROWS = 10, WIDTH = 24, CLASSES = 5, TEXTS = 3, T = 6, SPACE = 12 };

static const int32_t texts[TEXTS][T] = {{1, 7, 50, 130, 0, 0}, {1, 40, 50, 130, 50, 0}, {1, 5, 99, 8, 130, 50}};

static const char *path_of(const char *model, const char *file) {
  static char path[600];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s/%s", root ? root : ".", model, file);
  return path;
}

static void photo_path(char photo[600]) {
  snprintf(photo, 600, "%s", path_of("photo.png", ""));
  photo[strlen(photo) - 1] = '\0';
}

static void read_floats(const char *model, const char *name, float *x, size_t count) {
  FILE *file = fopen(path_of(model, name), "rb");
  ck_assert_msg(file != NULL, "%s is missing", path_of(model, name));
  ck_assert_uint_eq(fread(x, sizeof *x, count, file), count);
  fclose(file);
}

typedef struct fixture {
  mica_foundation *model;
  mica_graph *graph;
  mica_nn *nn;
} fixture;

static void open_fixture(fixture *f, const char *name) {
  ck_ok(mica_foundation_open(path_of(name, ""), NULL, &f->model));
  ck_ok(mica_graph_create(&f->graph));
  ck_ok(mica_nn_create(f->graph, NULL, &f->nn));
}

static void close_fixture(fixture *f) {
  mica_nn_destroy(f->nn);
  mica_graph_destroy(f->graph);
  mica_foundation_close(f->model);
}

/* Runs the network of an input whose first axis is open. */
static void compute(fixture *f, bool pictures, bool hidden, const void *x, mica_shape shape, float *y, size_t count) {
  const mica_dtype dtype = pictures ? MICA_F32 : MICA_I32;
  mica_shape open = shape;
  open.dim[0] = MICA_DYNAMIC;
  const mica_value input = mica_input(f->graph, "x", dtype, open);
  mica_foundation_build how = {.hidden = hidden};
  *(pictures ? &how.pixels : &how.ids) = input;
  const mica_value result = mica_foundation_network(f->nn, f->model, &how);
  mica_session *session = NULL;
  mica_tensor *tensor = NULL;
  ck_ok(mica_session_create(test_engine(), f->graph, &result, 1, NULL, &session));
  ck_ok(mica_foundation_load(f->model, f->nn, session));
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, x, &tensor));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", tensor}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), y, count * sizeof *y));
  mica_tensor_destroy(tensor);
  mica_session_destroy(session);
}

static void check_close(const char *what, const float *got, const float *want, size_t count) {
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(fabsf(got[i] - want[i]) <= 1e-4f, "%s, number %zu: %g, not %g", what, i, (double)got[i],
                  (double)want[i]);
}

static void read_pixels(float *pixels, const char *model) {
  read_floats(model, "pixels.f32", pixels, (size_t)PICTURES * CHANNELS * SIDE * SIDE);
}

/* --- pictures --- */

/* Model, file of the results, their numbers per picture. */
static const struct {
  const char *model, *file;
  bool hidden;
  size_t numbers;
} pictures[] = {
    {"vit", "hidden.f32", true, (size_t)ROWS *WIDTH},
    {"vit", "logits.f32", false, CLASSES},
    {"clip", "hidden.f32", true, (size_t)ROWS *WIDTH},
    {"clip", "pictures.f32", false, SPACE},
};

START_TEST(results_of_pictures_are_those_of_transformers) {
  static float pixels[PICTURES * CHANNELS * SIDE * SIDE], want[PICTURES * ROWS * WIDTH], got[PICTURES * ROWS * WIDTH];
  const size_t count = PICTURES * pictures[_i].numbers;
  fixture f;
  open_fixture(&f, pictures[_i].model);
  ck_ok(mica_foundation_check(f.model));
  read_pixels(pixels, pictures[_i].model);
  read_floats(pictures[_i].model, pictures[_i].file, want, count);
  compute(&f, true, pictures[_i].hidden, pixels, MICA_SHAPE(PICTURES, CHANNELS, SIDE, SIDE), got, count);
  check_close(pictures[_i].file, got, want, count);
  close_fixture(&f);
}
END_TEST

/* --- texts --- */

static const char *const clips[] = {"clip", "clip-old"};

START_TEST(vectors_of_texts_are_those_of_transformers) {
  float want[TEXTS * SPACE], got[TEXTS * SPACE];
  fixture f;
  open_fixture(&f, clips[_i]);
  read_floats(clips[_i], "texts.f32", want, TEXTS * SPACE);
  compute(&f, false, false, texts, MICA_SHAPE(TEXTS, T), got, TEXTS * SPACE);
  check_close(clips[_i], got, want, TEXTS * SPACE);
  close_fixture(&f);
}
END_TEST

/* --- files of pictures --- */

static const char *const processors[] = {"vit", "clip", "clip-old"};

START_TEST(pictures_are_prepared_as_by_transformers) {
  enum { COUNT = CHANNELS * SIDE * SIDE };
  static float want[COUNT], got[COUNT];
  char photo[600];
  fixture f;
  open_fixture(&f, processors[_i]);
  read_floats(processors[_i], "photo.f32", want, COUNT);
  photo_path(photo);
  ck_ok(mica_foundation_picture(f.model, photo, got));
  for (int i = 0; i < COUNT; i++)
    ck_assert_msg(fabsf(got[i] - want[i]) <= 1e-5f, "pixel %d: %g, not %g", i, (double)got[i], (double)want[i]);
  ck_assert_int_eq(mica_foundation_picture(f.model, "missing.png", got), MICA_E_NOT_FOUND);
  close_fixture(&f);
}
END_TEST

START_TEST(models_of_texts_prepare_no_pictures) {
  float pixels[1];
  fixture f;
  open_fixture(&f, "bert");
  ck_assert_int_eq(mica_foundation_picture(f.model, "any.png", pixels), MICA_E_INVALID);
  close_fixture(&f);
}
END_TEST

/* --- embedders --- */

enum { LINES = 10 };

/* 11 pictures make runs of 8, 2 and 1. */
START_TEST(clip_embeds_texts_and_pictures) {
  enum { COPIES = 11 };
  float want[LINES + 1][SPACE], got[LINES][SPACE], pictures_got[COPIES][SPACE], scale;
  char lines[LINES][200], photo[600];
  const char *words[LINES], *paths[COPIES];
  fixture f;
  mica_embedder *e = NULL;
  open_fixture(&f, "clip");
  photo_path(photo);
  read_floats("clip", "vectors.f32", want[0], (LINES + 1) * SPACE);
  read_floats("clip", "scale.f32", &scale, 1);
  FILE *file = fopen(path_of("embed", "texts.txt"), "r");
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < LINES; i++) {
    ck_assert_ptr_nonnull(fgets(lines[i], sizeof lines[i], file));
    lines[i][strcspn(lines[i], "\n")] = '\0';
    words[i] = lines[i];
  }
  fclose(file);
  for (int i = 0; i < COPIES; i++) paths[i] = photo;
  ck_ok(mica_embedder_create(test_engine(), f.model, NULL, &e));
  ck_assert(mica_embedder_reads_texts(e) && mica_embedder_reads_pictures(e));
  ck_assert_int_eq(mica_embedder_width(e), SPACE);
  ck_assert_double_eq_tol(mica_embedder_logit_scale(e), (double)scale, 1e-4);
  ck_ok(mica_embedder_pictures(e, paths, COPIES, pictures_got[0]));
  ck_ok(mica_embedder_texts(e, words, LINES, got[0]));
  check_close("texts", got[0], want[0], LINES * SPACE);
  for (int i = 0; i < COPIES; i++) check_close("photo", pictures_got[i], want[LINES], SPACE);
  paths[3] = "missing.png";
  ck_assert_int_eq(mica_embedder_pictures(e, paths, COPIES, pictures_got[0]), MICA_E_NOT_FOUND);
  mica_embedder_destroy(e);
  ck_assert_int_eq(
      mica_embedder_create(test_engine(), f.model, &(mica_embedder_config){.pooling = MICA_EMBED_POOLING_MEAN}, &e),
      MICA_E_INVALID);
  close_fixture(&f);
}
END_TEST

START_TEST(vit_embeds_pictures) {
  float want[2][WIDTH], got[WIDTH];
  char photo[600];
  const char *const paths[] = {photo}, *const words[] = {"a cat"};
  const mica_embed_pooling poolings[] = {MICA_EMBED_POOLING_MODEL, MICA_EMBED_POOLING_MEAN};
  fixture f;
  mica_embedder *e = NULL;
  open_fixture(&f, "vit");
  photo_path(photo);
  read_floats("vit", "vectors.f32", want[0], 2 * WIDTH);
  for (int p = 0; p < 2; p++) {
    ck_ok(mica_embedder_create(test_engine(), f.model, &(mica_embedder_config){.pooling = poolings[p]}, &e));
    ck_assert(!mica_embedder_reads_texts(e) && mica_embedder_logit_scale(e) == 0);
    ck_ok(mica_embedder_pictures(e, paths, 1, got));
    check_close("photo", got, want[p], WIDTH);
    ck_assert_int_eq(mica_embedder_texts(e, words, 1, got), MICA_E_INVALID);
    mica_embedder_destroy(e);
  }
  ck_assert_int_eq(
      mica_embedder_create(test_engine(), f.model, &(mica_embedder_config){.pooling = MICA_EMBED_POOLING_LAST}, &e),
      MICA_E_INVALID);
  close_fixture(&f);
}
END_TEST

/* --- descriptions --- */

START_TEST(descriptions_have_pictures) {
  fixture f;
  open_fixture(&f, "vit");
  const mica_foundation_info *i = mica_foundation_describe(f.model);
  ck_assert(i->task == MICA_FOUNDATION_TASK_CLASSIFY && i->classes == CLASSES && !i->causal && !i->vision);
  ck_assert(i->picture == SIDE && i->patch == 6 && i->channels == CHANNELS && i->context == ROWS);
  ck_assert_int_eq(i->vocabulary, 0);
  close_fixture(&f);
  open_fixture(&f, "clip");
  i = mica_foundation_describe(f.model);
  ck_assert(i->task == MICA_FOUNDATION_TASK_EMBED && i->causal && i->picture == 0 && i->projection == SPACE);
  ck_assert_ptr_nonnull(i->vision);
  ck_assert(i->vision->picture == SIDE && i->vision->width == WIDTH && !i->vision->causal && i->width == 32);
  ck_assert_int_eq(i->function, MICA_FOUNDATION_FUNCTION_QUICK_GELU);
  close_fixture(&f);
}
END_TEST

/* --- faults --- */

typedef struct fault {
  const char *model, *text;
  bool ids, pixels, hidden;
  int64_t side;
  mica_status status;
} fault;

static const fault faults[] = {
    {"vit", "reads pictures", true, false, true, SIDE, MICA_E_INVALID},
    {"bert", "reads texts", false, true, true, SIDE, MICA_E_INVALID},
    {"clip", "one of them", true, true, false, SIDE, MICA_E_INVALID},
    {"vit", "(B, 3, 20, 20)", false, true, false, SIDE + 1, MICA_E_INVALID},
    {"clip", "(B, 3, 20, 20)", false, true, false, SIDE - 1, MICA_E_INVALID},
};

START_TEST(wrong_inputs_are_refused) {
  const fault *w = &faults[_i];
  fixture f;
  open_fixture(&f, w->model);
  mica_foundation_build how = {.hidden = w->hidden};
  if (w->ids) how.ids = mica_input(f.graph, "ids", MICA_I32, MICA_SHAPE(1, T));
  if (w->pixels) how.pixels = mica_input(f.graph, "pixels", MICA_F32, MICA_SHAPE(1, CHANNELS, w->side, w->side));
  ck_assert(mica_value_is_null(mica_foundation_network(f.nn, f.model, &how)));
  ck_assert_int_eq(mica_graph_status(f.graph), w->status);
  ck_assert_msg(strstr(mica_error_message(), w->text) != NULL, "%s", mica_error_message());
  close_fixture(&f);
}
END_TEST

TESTS(DEVICE, NULL, NULL,
      LOOP(results_of_pictures_are_those_of_transformers, 0, (int)(sizeof pictures / sizeof *pictures)),
      LOOP(vectors_of_texts_are_those_of_transformers, 0, 2), LOOP(pictures_are_prepared_as_by_transformers, 0, 3),
      models_of_texts_prepare_no_pictures, clip_embeds_texts_and_pictures, vit_embeds_pictures,
      descriptions_have_pictures, LOOP(wrong_inputs_are_refused, 0, (int)(sizeof faults / sizeof *faults)))
