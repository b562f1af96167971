/* labels: device
 *
 * Features of small encoders (bert, roberta, distilbert) and vectors of texts against transformers (make_models.py). */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 12, WIDTH = 32 };

static const char *const models[] = {"bert", "roberta", "distilbert"};
enum { MODELS = sizeof models / sizeof *models };

static const char *path_of(const char *model, const char *file) {
  static char path[600];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s/%s", root ? root : ".", model, file);
  return path;
}

static mica_foundation *open_model(const char *name) {
  mica_foundation *model = NULL;
  ck_ok(mica_foundation_open(path_of(name, ""), NULL, &model));
  return model;
}

static void read_floats(const char *model, const char *name, float *x, size_t count) {
  FILE *file = fopen(path_of(model, name), "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(x, sizeof *x, count, file), count);
  fclose(file);
}

static void read_numbers(const char *model, const char *name, int32_t x[T]) {
  FILE *file = fopen(path_of(model, name), "r");
  ck_assert_ptr_nonnull(file);
  for (int t = 0; t < T; t++) ck_assert_int_eq(fscanf(file, "%d", &x[t]), 1);
  fclose(file);
}

/* --- features --- */

/* Rows: the tokens; the same with padding after it, which must not change anything. */
START_TEST(features_are_those_of_transformers) {
  enum { ROWS = 2, LONG = T + 3 };
  static float want[T][WIDTH], got[ROWS][LONG][WIDTH];
  int32_t ids[ROWS][LONG] = {{0}}, types[ROWS][LONG] = {{0}};
  const int32_t lengths[ROWS] = {T, T};
  mica_foundation *model = open_model(models[_i]);
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  read_floats(models[_i], "hidden.f32", want[0], (size_t)T * WIDTH);
  for (int r = 0; r < ROWS; r++) {
    read_numbers(models[_i], "ids.txt", ids[r]);
    read_numbers(models[_i], "types.txt", types[r]);
    for (int t = T; t < LONG; t++) ids[r][t] = r ? 40 + t : 0;
  }
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  const mica_foundation_build how = {.ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(ROWS, LONG)),
                                     .types = mica_input(graph, "types", MICA_I32, MICA_SHAPE(ROWS, LONG)),
                                     .lengths = mica_input(graph, "lengths", MICA_I32, MICA_SHAPE(ROWS)),
                                     .hidden = true};
  const mica_value features = mica_foundation_network(nn, model, &how);
  ck_ok(mica_session_create(test_engine(), graph, &features, 1, NULL, &session));
  ck_ok(mica_foundation_load(model, nn, session));
  mica_tensor *x[3] = {0};
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(ROWS, LONG), ids, &x[0]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(ROWS, LONG), types, &x[1]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(ROWS), lengths, &x[2]));
  /* Only BERT has types here; a network without them does not take the input. */
  const mica_feed feeds[] = {{"ids", x[0]}, {"lengths", x[2]}, {"types", x[1]}};
  ck_ok(mica_session_run(session, test_queue(), feeds, mica_foundation_describe(model)->types > 0 ? 3 : 2));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
  for (int r = 0; r < ROWS; r++)
    for (int t = 0; t < T; t++)
      for (int c = 0; c < WIDTH; c++)
        ck_assert_msg(fabsf(got[r][t][c] - want[t][c]) <= 1e-4f, "row %d, token %d, feature %d: %g, not %g", r, t, c,
                      (double)got[r][t][c], (double)want[t][c]);
  for (int i = 0; i < 3; i++) mica_tensor_destroy(x[i]);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_foundation_close(model);
}
END_TEST

START_TEST(an_encoder_has_no_logits) {
  mica_foundation *model = open_model("bert");
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  const mica_foundation_build how = {.ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(1, T))};
  ck_assert(mica_value_is_null(mica_foundation_network(nn, model, &how)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_UNSUPPORTED);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_foundation_close(model);
}
END_TEST

/* --- vectors of texts --- */

enum { TEXTS = 10, VECTOR = 16 };

typedef struct fixture {
  mica_foundation *model;
  char lines[TEXTS][200];
  const char *texts[TEXTS];
  float want[TEXTS][VECTOR];
} fixture;

static void open_fixture(fixture *f) {
  f->model = open_model("embed");
  FILE *file = fopen(path_of("embed", "texts.txt"), "r");
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < TEXTS; i++) {
    ck_assert_ptr_nonnull(fgets(f->lines[i], sizeof f->lines[i], file));
    f->lines[i][strcspn(f->lines[i], "\n")] = '\0';
    f->texts[i] = f->lines[i];
  }
  fclose(file);
  read_floats("embed", "vectors.f32", f->want[0], (size_t)TEXTS * VECTOR);
}

START_TEST(vectors_are_those_of_transformers) {
  static const int64_t batches[] = {0, 8, 24, 96};
  fixture f;
  open_fixture(&f);
  float got[TEXTS][VECTOR];
  mica_embedder *e = NULL;
  ck_ok(mica_embedder_create(test_engine(), f.model, &(mica_embedder_config){.batch_tokens = batches[_i]}, &e));
  ck_assert_int_eq(mica_embedder_width(e), VECTOR);
  ck_assert_int_eq(mica_embedder_most_tokens(e), 24);
  ck_assert_int_eq(mica_embedder_pooling(e), MICA_EMBED_POOLING_MEAN);
  ck_ok(mica_embedder_texts(e, f.texts, TEXTS, got[0]));
  for (int i = 0; i < TEXTS; i++)
    for (int c = 0; c < VECTOR; c++)
      ck_assert_msg(fabsf(got[i][c] - f.want[i][c]) <= 1e-5f, "\"%s\", number %d: %g, not %g", f.texts[i], c,
                    (double)got[i][c], (double)f.want[i][c]);
  ck_ok(mica_embedder_texts(e, NULL, 0, NULL));
  mica_embedder_destroy(e);
  mica_foundation_close(f.model);
}
END_TEST

/* A GGUF file does not ask for unit length, nor for fewer tokens. */
START_TEST(a_gguf_file_gives_the_same_vectors) {
  fixture f;
  float got[TEXTS][VECTOR];
  mica_embedder *e = NULL;
  open_fixture(&f);
  mica_foundation_close(f.model);
  ck_ok(mica_foundation_open(path_of("embed-gguf", "model.gguf"), NULL, &f.model));
  ck_ok(mica_foundation_check(f.model));
  const mica_embedder_config config = {.scale = MICA_EMBED_SCALE_UNIT, .most_tokens = 24};
  ck_ok(mica_embedder_create(test_engine(), f.model, &config, &e));
  ck_assert_int_eq(mica_embedder_pooling(e), MICA_EMBED_POOLING_MEAN);
  ck_ok(mica_embedder_texts(e, f.texts, TEXTS, got[0]));
  for (int i = 0; i < TEXTS; i++)
    for (int c = 0; c < VECTOR; c++)
      ck_assert_msg(fabsf(got[i][c] - f.want[i][c]) <= 1e-5f, "\"%s\", number %d: %g, not %g", f.texts[i], c,
                    (double)got[i][c], (double)f.want[i][c]);
  mica_embedder_destroy(e);
  mica_foundation_close(f.model);
}
END_TEST

/* Weights in blocks stay blocks. */
START_TEST(quantised_weights_give_the_vectors_of_their_values) {
  enum { WIDE = 32 };
  fixture f;
  float got[TEXTS][WIDE], want[TEXTS][WIDE];
  mica_embedder *e = NULL;
  open_fixture(&f);
  mica_foundation_close(f.model);
  read_floats("embed-q8", "vectors.f32", want[0], TEXTS * WIDE);
  ck_ok(mica_foundation_open(path_of("embed-q8", "model.gguf"), NULL, &f.model));
  const mica_embedder_config config = {.scale = MICA_EMBED_SCALE_UNIT, .most_tokens = 24};
  ck_ok(mica_embedder_create(test_engine(), f.model, &config, &e));
  ck_ok(mica_embedder_texts(e, f.texts, TEXTS, got[0]));
  for (int i = 0; i < TEXTS; i++)
    for (int c = 0; c < WIDE; c++)
      ck_assert_msg(fabsf(got[i][c] - want[i][c]) <= 1e-5f, "\"%s\", number %d: %g, not %g", f.texts[i], c,
                    (double)got[i][c], (double)want[i][c]);
  mica_embedder_destroy(e);
  mica_foundation_close(f.model);
}
END_TEST

/* The first and the last token's features: of one token they are alike, and so is the mean. */
START_TEST(poolings_differ_and_scale_is_a_choice) {
  fixture f;
  open_fixture(&f);
  float got[4][VECTOR];
  for (int pooling = MICA_EMBED_POOLING_MEAN; pooling <= MICA_EMBED_POOLING_LAST; pooling++) {
    mica_embedder *e = NULL;
    const mica_embedder_config config = {.pooling = (mica_embed_pooling)pooling,
                                         .scale = MICA_EMBED_SCALE_RAW,
                                         .most_tokens = pooling == MICA_EMBED_POOLING_LAST ? 1 : 2};
    ck_ok(mica_embedder_create(test_engine(), f.model, &config, &e));
    ck_ok(mica_embedder_texts(e, f.texts, 1, got[pooling]));
    mica_embedder_destroy(e);
  }
  double sum = 0, apart = 0;
  for (int c = 0; c < VECTOR; c++) {
    sum += (double)got[MICA_EMBED_POOLING_MEAN][c] * (double)got[MICA_EMBED_POOLING_MEAN][c];
    apart += fabs((double)got[MICA_EMBED_POOLING_MEAN][c] - (double)got[MICA_EMBED_POOLING_CLS][c]);
  }
  ck_assert(fabs(sum - 1) > 1e-3);
  ck_assert(apart > 1e-2);
  mica_foundation_close(f.model);
}
END_TEST

START_TEST(wrong_settings_are_refused) {
  fixture f;
  open_fixture(&f);
  mica_embedder *e = NULL;
  const mica_embedder_config wrong[] = {
      {.most_tokens = 65}, {.most_tokens = -1}, {.batch_tokens = -1}, {.pooling = MICA_EMBED_POOLING_COUNT}};
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
    ck_assert_int_eq(mica_embedder_create(test_engine(), f.model, &wrong[w], &e), MICA_E_INVALID);
  ck_assert_int_eq(mica_embedder_create(NULL, f.model, NULL, &e), MICA_E_INVALID);
  ck_assert_ptr_null(e);
  mica_foundation_close(f.model);
  mica_foundation *bare = open_model("bert"); /* has no tokenizer */
  ck_assert_int_eq(mica_embedder_create(test_engine(), bare, NULL, &e), MICA_E_NOT_FOUND);
  mica_foundation_close(bare);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(features_are_those_of_transformers, 0, MODELS), an_encoder_has_no_logits,
      LOOP(vectors_are_those_of_transformers, 0, 4), a_gguf_file_gives_the_same_vectors,
      quantised_weights_give_the_vectors_of_their_values, poolings_differ_and_scale_is_a_choice,
      wrong_settings_are_refused)
