/* labels: device
 *
 * Logits of small models of every family, as folders and GGUF files, against transformers (make_models.py):
 * whole texts, and texts read in
 * parts with a cache that has slots. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 12, V = 131 };

static const char *const models[] = {"llama",        "llama3",        "mistral",     "qwen2",   "qwen3",
                                     "gemma2",       "gemma3",        "phi3",        "gpt2",    "llama-gguf",
                                     "qwen3-gguf",   "gemma3-gguf",   "smollm3",     "mixtral", "qwen3moe",
                                     "mixtral-gguf", "qwen3moe-gguf", "gptoss-gguf", "gptoss",  "gptoss-plain"};
enum { MODELS = sizeof models / sizeof *models };

/* Launches per token, at most, in the order of `models`, on both device classes. Lower a limit when an op saves
 * launches. */
static const size_t most_launches[MODELS] = {25, 25, 25, 25, 25, 26, 36, 19, 18, 12,
                                             12, 36, 47, 49, 49, 36, 36, 50, 50, 50};

/* A model with its tokens and logits. */
typedef struct golden {
  mica_foundation *model;
  int32_t ids[T];
  float logits[T][V];
} golden;

static golden open_golden(const char *name) {
  golden g = {0};
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s/ids.txt", root ? root : ".", name);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  for (int t = 0; t < T; t++) ck_assert_int_eq(fscanf(file, "%d", &g.ids[t]), 1);
  fclose(file);
  strcpy(strrchr(path, '/'), "/logits.f32");
  file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(g.logits, sizeof(float), T * V, file), T * V);
  fclose(file);
  strcpy(strrchr(path, '/'), strstr(name, "gguf") ? "/model.gguf" : "");
  ck_ok(mica_foundation_open(path, NULL, &g.model));
  return g;
}

/* A network of the model with a session of its weights. */
typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} network;

static network build(const golden *g, const mica_kv_cache *cache, bool last, bool hold) {
  network n = {0};
  mica_nn_config config = {0};
  if (hold) mica_foundation_hold(g->model, &config);
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(n.graph, &config, &n.nn));
  mica_kv_cache own = cache ? *cache : (mica_kv_cache){0};
  if (cache) own.offset = mica_input(n.graph, "offset", MICA_I32, MICA_SHAPE(1));
  if (own.batch > 1) own.slots = mica_input(n.graph, "slots", MICA_I32, MICA_SHAPE(1));
  const mica_foundation_build how = {.ids =
                                         mica_input(n.graph, "ids", MICA_I32, MICA_SHAPE(1, last ? 1 : MICA_DYNAMIC)),
                                     .cache = cache ? &own : NULL,
                                     .logits_of_last = last};
  mica_value logits = mica_foundation_network(n.nn, g->model, &how);
  ck_ok(mica_session_create(test_engine(), n.graph, &logits, 1, NULL, &n.session));
  ck_ok(mica_nn_initialise(n.nn, n.session));
  ck_ok(mica_foundation_load(g->model, n.nn, n.session));
  return n;
}

static void drop(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

/* Runs tokens [from, to) and compares rows of logits, of all of them or of the last one. */
static void run(const golden *g, const network *n, int from, int to, size_t feed_count, bool last) {
  static float z[T][V];
  mica_tensor *ids = NULL, *offset = NULL, *slots = NULL;
  const int32_t before = from, slot = 2;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1, to - from), g->ids + from, &ids));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1), &before, &offset));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1), &slot, &slots));
  const mica_feed feeds[] = {{"ids", ids}, {"offset", offset}, {"slots", slots}};
  ck_ok(mica_session_run(n->session, test_queue(), feeds, feed_count));
  const int rows = last ? 1 : to - from;
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(n->session, 0), z, (size_t)rows * sizeof *z));
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < V; v++) {
      const float want = g->logits[last ? to - 1 : from + r][v];
      ck_assert_msg(fabsf(z[r][v] - want) <= 1e-4f, "token %d, logit %d: %g, not %g", from + r, v, (double)z[r][v],
                    (double)want);
    }
  mica_tensor_destroy(ids);
  mica_tensor_destroy(offset);
  mica_tensor_destroy(slots);
}

/* Lines of a session's text that begin with a launch's number. */
static size_t count_launches(const char *text) {
  size_t count = 0;
  for (const char *line = text; line && *line;) {
    char *end = NULL;
    const unsigned long number = strtoul(line, &end, 10);
    if (end != line) ck_assert_uint_eq(number, count++); /* not "  - on the host" */
    line = strchr(line, '\n');
    if (line) line++;
  }
  return count;
}

START_TEST(whole_texts) {
  golden g = open_golden(models[_i]);
  network n = build(&g, NULL, false, false);
  run(&g, &n, 0, T, 1, false);
  run(&g, &n, 0, 3, 1, false); /* shorter than any window */
  run(&g, &n, 0, 7, 1, false);
  drop(&n);
  mica_foundation_close(g.model);
}
END_TEST

START_TEST(texts_in_parts) {
  golden g = open_golden(models[_i]);
  const mica_kv_cache cache = {.batch = 1, .length = T + 3}, slots = {.batch = 3, .length = T + 3};
  network n = build(&g, &slots, false, false), one = build(&g, &cache, true, false);
  run(&g, &n, 0, 5, 3, false);
  run(&g, &n, 5, 6, 3, false);
  run(&g, &n, 6, 10, 3, false);
  for (int t = 0; t < T; t++) run(&g, &one, t, t + 1, 2, true);
  drop(&n);
  drop(&one);
  mica_foundation_close(g.model);
}
END_TEST

/* A decoder's step: one token, with weights in the form of the files. */
START_TEST(tokens_by_held_weights) {
  golden g = open_golden(models[_i]);
  const mica_kv_cache cache = {.batch = 1, .length = T + 3};
  network n = build(&g, &cache, true, true);
  for (int t = 0; t < T; t++) run(&g, &n, t, t + 1, 2, true);
  char *text = NULL;
  ck_ok(mica_session_dump(n.session, &text));
  ck_assert_ptr_nonnull(text);
  const size_t launches = count_launches(text);
  ck_assert_msg(launches <= most_launches[_i], "%s: %zu launches per token, at most %zu expected\n%s", models[_i],
                launches, most_launches[_i], text);
  mica_free(text);
  drop(&n);
  mica_foundation_close(g.model);
}
END_TEST

/* Folders of gpt-oss, with experts in MXFP4 and in bf16: the tokens that transformers appends, each by itself. */
START_TEST(greedy_texts) {
  golden g = open_golden(_i ? "gptoss-plain" : "gptoss");
  const mica_kv_cache cache = {.batch = 1, .length = 2 * T};
  network n = build(&g, &cache, true, true);
  char path[600];
  float z[V];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s/greedy.txt", root ? root : ".",
           _i ? "gptoss-plain" : "gptoss");
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  int32_t token = g.ids[0];
  for (int32_t t = 0; t < 2 * T - 1; t++) {
    mica_tensor *ids = NULL, *offset = NULL;
    ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1, 1), &token, &ids));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1), &t, &offset));
    ck_ok(mica_session_run(n.session, test_queue(), (mica_feed[]){{"ids", ids}, {"offset", offset}}, 2));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(n.session, 0), z, sizeof z));
    mica_tensor_destroy(ids);
    mica_tensor_destroy(offset);
    if (t + 1 < T) {
      token = g.ids[t + 1];
      continue;
    }
    int32_t want = -1;
    ck_assert_int_eq(fscanf(file, "%d", &want), 1);
    token = 0;
    for (int32_t v = 1; v < V; v++)
      if (z[v] > z[token]) token = v;
    ck_assert_int_eq(token, want);
  }
  fclose(file);
  drop(&n);
  mica_foundation_close(g.model);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(whole_texts, 0, MODELS), LOOP(texts_in_parts, 0, MODELS),
      LOOP(tokens_by_held_weights, 0, MODELS), LOOP(greedy_texts, 0, 2))
