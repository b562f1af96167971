/* Texts that a GPT continues token by token, its weights as f32, as bytes and as nibbles, in turn. Weights are random,
 * as time does not depend on them. */
#include "bench/bench.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VOCABULARY 256
#define PROMPT 16
#define CONTEXT 256
#define TOKENS 40

typedef struct network {
  int64_t layers, width, heads;
} network;

static const network networks[] = {{12, 768, 12}, {6, 384, 6}};

/* Bits of weights, as they are taken in turn. */
static const int32_t forms[] = {32, 8, 4};
enum { FORMS = sizeof forms / sizeof *forms };

/* A network that writes. */
typedef struct writer {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *weights;
  mica_quantizer *quantizer;
  mica_generator *generator;
} writer;

static mica_model_config config_of(const network *n) {
  return (mica_model_config){.name = "gpt",
                             .classes = VOCABULARY,
                             .width = n->width,
                             .sequence = {.context = CONTEXT, .layers = n->layers, .heads = n->heads}};
}

static mica_value block(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *user) {
  mica_model_config config = config_of(user);
  config.sequence.cache = cache;
  config.sequence.last = true;
  return mica_model_build(nn, ids, &config);
}

/* The network with its weights in a session; `calibration` learns of its layers. */
static writer make(const bench *b, const network *n, mica_quantizer *quantizer, mica_calibration *calibration) {
  writer w = {.quantizer = quantizer};
  const mica_model_config config = config_of(n);
  mica_nn_config how = {.hook = quantizer     ? mica_quantize_hook
                                : calibration ? mica_calibration_hook
                                              : NULL,
                        .hook_user = quantizer ? (void *)quantizer : calibration};
  bench_ok(mica_graph_create(&w.graph));
  bench_ok(mica_nn_create(w.graph, &how, &w.nn));
  mica_value y = mica_model_build(w.nn, mica_input(w.graph, "ids", MICA_I32, MICA_SHAPE(1, MICA_DYNAMIC)), &config);
  bench_ok(mica_graph_status(w.graph));
  bench_ok(mica_session_create(b->engine, w.graph, &y, 1, NULL, &w.weights));
  bench_ok(mica_nn_initialise(w.nn, w.weights));
  return w;
}

static void make_generator(const bench *b, const network *n, writer *w) {
  const mica_generator_config how = {
      .block = block,
      .block_config = n,
      .share = w->weights,
      .nn = {.hook = w->quantizer ? mica_quantize_hook : NULL, .hook_user = w->quantizer},
      .batch = b->batch ? b->batch : 1,
      .context = CONTEXT};
  bench_ok(mica_generator_create(b->engine, &how, &w->generator));
}

static void drop(writer *w) {
  mica_generator_destroy(w->generator);
  mica_session_destroy(w->weights);
  mica_nn_destroy(w->nn);
  mica_graph_destroy(w->graph);
  mica_quantizer_destroy(w->quantizer);
}

/* The network on integers that a file of its weights becomes. */
static writer quantized(const bench *b, const network *n, int32_t bits, const char *folder) {
  char from[128], to[128];
  mica_calibration *calibration = NULL;
  mica_safetensors *file = NULL;
  mica_quantizer *quantizer = NULL;
  const mica_value *values = NULL;
  size_t count = 0;
  snprintf(from, sizeof from, "%s/float.safetensors", folder);
  snprintf(to, sizeof to, "%s/integers.safetensors", folder);
  bench_ok(mica_calibration_create(&calibration));
  writer real = make(b, n, NULL, calibration);
  bench_ok(mica_calibration_values(calibration, &values, &count));
  bench_ok(mica_nn_save(real.nn, real.weights, from, NULL, 0));
  bench_ok(mica_safetensors_open(from, &file));
  const mica_quantize_settings settings = {.bits = bits, .weights_only = true};
  bench_ok(mica_quantize_weights(calibration, &settings, file, to, NULL));
  mica_safetensors_close(file);
  bench_ok(mica_safetensors_open(to, &file));
  bench_ok(mica_quantizer_open(file, &quantizer));
  mica_safetensors_close(file);
  drop(&real);
  mica_calibration_destroy(calibration);
  writer w = make(b, n, quantizer, NULL);
  bench_ok(mica_nn_load(w.nn, w.weights, to, NULL));
  unlink(from);
  unlink(to);
  return w;
}

/* Seconds a token behind a prompt. */
static double seconds_of(const bench *b, const writer *w, int tokens) {
  static int32_t ids[64 * PROMPT], lengths[64], next[64];
  const int batch = b->batch ? b->batch : 1;
  for (int i = 0; i < batch; i++) lengths[i] = PROMPT;
  for (int i = 0; i < batch * PROMPT; i++) ids[i] = i * 37 % VOCABULARY;
  bench_ok(mica_generator_prompt(w->generator, ids, lengths, PROMPT));
  bench_ok(mica_generator_next(w->generator, next));
  const double begin = bench_now();
  for (int i = 0; i < tokens; i++) bench_ok(mica_generator_next(w->generator, next));
  return (bench_now() - begin) / tokens;
}

/* The share of all time that each kernel takes, to stderr. */
static void print_profile(const bench *b, const writer *w, int32_t bits) {
  mica_profile_row rows[32];
  size_t count = 0;
  const int tokens = 20;
  bench_ok(mica_profile_start(b->engine));
  seconds_of(b, w, tokens);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, sizeof rows / sizeof *rows, &count));
  fprintf(stderr, "%d bits, a token (with a prompt's share):\n", (int)bits);
  for (size_t i = 0; i < count; i++)
    fprintf(stderr, "%9.1f us %6.1f launches %6.1f GFLOP/s %6.1f GB/s  %s\n", rows[i].seconds * 1e6 / tokens,
            (double)rows[i].count / tokens, rows[i].flops / rows[i].seconds * 1e-9,
            rows[i].bytes / rows[i].seconds * 1e-9, rows[i].kernel);
}

static void measure(const bench *b, const network *n, const char *name) {
  char folder[] = "/tmp/mica-bench-XXXXXX";
  writer writers[FORMS];
  double times[FORMS][64], median[FORMS];
  const int rounds = b->rounds > 64 ? 64 : b->rounds, batch = b->batch ? b->batch : 1;
  const int tokens = b->steps ? b->steps : TOKENS;
  if (tokens > CONTEXT - PROMPT - 2 || batch > 64) {
    fprintf(stderr, "mica-bench: at most %d tokens of 64 texts\n", CONTEXT - PROMPT - 2);
    exit(2);
  }
  if (!mkdtemp(folder)) bench_ok(mica__fail(MICA_E_IO, "no folder can be made below /tmp"));
  for (int f = 0; f < FORMS; f++) {
    writers[f] = forms[f] == 32 ? make(b, n, NULL, NULL) : quantized(b, n, forms[f], folder);
    make_generator(b, n, &writers[f]);
    seconds_of(b, &writers[f], 5);
    if (b->profile) print_profile(b, &writers[f], forms[f]);
  }
  rmdir(folder);
  bench_wait_for_quiet();
  for (int r = 0; r < rounds; r++)
    for (int f = 0; f < FORMS; f++) times[f][r] = seconds_of(b, &writers[f], tokens);
  for (int f = 0; f < FORMS; f++) {
    median[f] = bench_median(times[f], (size_t)rounds);
    printf(b->json ? "{\"bench\":\"language\",\"name\":\"%s\",\"bits\":%d,\"batch\":%d,\"tokens_a_second\":%.2f,"
                     "\"times_f32\":%.3f}\n"
                   : "%-12s %2d bits, batch %d %9.2f tokens a second %6.2f x f32\n",
           name, (int)forms[f], batch, batch / median[f], median[0] / median[f]);
    drop(&writers[f]);
  }
  fflush(stdout);
}

int bench_language(const bench *b) {
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    char name[32];
    snprintf(name, sizeof name, "gpt_%dx%d", (int)networks[i].layers, (int)networks[i].width);
    if (!b->cases || strstr(name, b->cases)) measure(b, &networks[i], name);
  }
  return 0;
}
