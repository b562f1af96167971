/* Products of bytes, and of few rows by weights stored as bytes or nibbles, beside f32 products of the same sizes, in
 * turn. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct product {
  mica_graph *graph;
  mica_session *session;
  mica_tensor *x;
} product;

static void destroy(product *p) {
  mica_session_destroy(p->session);
  mica_tensor_destroy(p->x);
  mica_graph_destroy(p->graph);
}

/* Any bytes but one: timing on zeros would flatter. */
static void *noise(size_t bytes, bool floats) {
  uint32_t state = 1;
  uint8_t *data = malloc(bytes + 4);
  if (!data) bench_ok(MICA_E_NOMEM);
  for (size_t i = 0; i < bytes; i++) {
    state = state * 1664525 + 1013904223;
    data[i] = (uint8_t)(state >> 24);
  }
  float *f = (float *)(void *)data;
  for (size_t i = 0; floats && i < bytes / 4; i++) f[i] = (float)data[4 * i] / 128 - 1;
  return data;
}

static mica_value weights(mica_graph *graph, mica_dtype dtype, mica_shape shape) {
  int64_t count = 0;
  bench_ok(mica_shape_count(shape, &count));
  void *data = noise((size_t)count * mica_dtype_size(dtype), dtype == MICA_F32);
  mica_value w = mica_constant(graph, dtype, shape, data);
  free(data);
  return w;
}

typedef enum form { F32, INT8, WEIGHTS8, WEIGHTS4, FORMS } form;
static const char *const names[FORMS] = {"f32", "int8", "i8 weights", "i4 weights"};
#define GROUP 128

/* y = x w, w being (n, k) of whichever form, constant. */
static product make(const bench *b, form stored, int64_t m, int64_t n, int64_t k) {
  product p = {0};
  bench_ok(mica_graph_create(&p.graph));
  mica_graph *g = p.graph;
  mica_value scale = mica_scalar(g, MICA_F32, 0.01), none = {0}, w;
  mica_dtype dtype = stored == INT8 ? MICA_U8 : MICA_F32;
  mica_value x = mica_input(g, "x", dtype, MICA_SHAPE(m, k));
  if (stored == F32) {
    w = weights(g, MICA_F32, MICA_SHAPE(n, k));
  } else if (stored == WEIGHTS4) {
    const mica_quantize_config four = {.axis = 1, .block = GROUP, .bits = 4};
    w = mica_dequantize(weights(g, MICA_U8, MICA_SHAPE(n, k / 2)), weights(g, MICA_F32, MICA_SHAPE(n, k / GROUP)), none,
                        &four);
  } else {
    w = mica_dequantize(weights(g, MICA_I8, MICA_SHAPE(n, k)), scale, none, NULL);
  }
  mica_value real = stored == INT8 ? mica_dequantize(x, scale, mica_scalar(g, MICA_U8, 128), NULL) : x;
  mica_value y = mica_matmul(real, mica_transpose(w, MICA_AXES(1, 0)));
  if (stored == INT8)
    y = mica_quantize(y, mica_scalar(g, MICA_F32, 3), mica_scalar(g, MICA_U8, 100),
                      &(mica_quantize_config){.dtype = MICA_U8});
  if (mica_graph_status(g) != MICA_OK) fprintf(stderr, "mica-bench: %s\n", mica_graph_message(g));
  bench_ok(mica_graph_status(g));
  bench_ok(mica_session_create(b->engine, g, &y, 1, NULL, &p.session));
  void *data = noise((size_t)(m * k) * mica_dtype_size(dtype), dtype == MICA_F32);
  bench_ok(mica_tensor_create_from(b->engine, dtype, MICA_SHAPE(m, k), data, &p.x));
  free(data);
  return p;
}

static double seconds_of(const bench *b, const product *p, int repeats) {
  double begin = bench_now();
  for (int i = 0; i < repeats; i++) bench_ok(mica_session_run(p->session, b->queue, &(mica_feed){"x", p->x}, 1));
  bench_ok(mica_queue_finish(b->queue));
  return (bench_now() - begin) / repeats;
}

static void profile(const bench *b, const bool *wanted, const product *products) {
  char *text = NULL;
  bench_ok(mica_profile_start(b->engine));
  for (int f = 0; f < FORMS; f++)
    if (wanted[f]) seconds_of(b, &products[f], 5);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_text(b->engine, &text));
  fputs(text, stderr);
  mica_free(text);
}

/* Medians of each form, run in turn; 0 for what is left out. */
static void measure(const bench *b, const bool *wanted, int64_t m, int64_t n, int64_t k) {
  product products[FORMS];
  double times[FORMS][64], median[FORMS] = {0};
  int rounds = b->rounds > 64 ? 64 : b->rounds, repeats = 1 + (int)(5e8 / (2.0 * (double)m * (double)n * (double)k));
  if (repeats > 50) repeats = 50;
  for (int f = 0; f < FORMS; f++)
    if (wanted[f]) products[f] = make(b, (form)f, m, n, k), seconds_of(b, &products[f], 2);
  if (b->profile) profile(b, wanted, products);
  bench_wait_for_quiet();
  for (int r = 0; r < rounds; r++)
    for (int f = 0; f < FORMS; f++)
      if (wanted[f]) times[f][r] = seconds_of(b, &products[f], repeats);
  for (int f = 0; f < FORMS; f++) {
    if (!wanted[f]) continue;
    median[f] = bench_median(times[f], (size_t)rounds);
    double rate = 2 * (double)m * (double)n * (double)k / median[f] * 1e-9;
    printf(b->json ? "{\"m\": %lld, \"n\": %lld, \"k\": %lld, \"form\": \"%s\", \"ms\": %.4f, \"gops\": %.2f, "
                     "\"times_f32\": %.3f}\n"
                   : "%6lld %6lld %6lld  %-10s %10.4f ms %9.2f GOP/s  %6.2f x f32\n",
           (long long)m, (long long)n, (long long)k, names[f], median[f] * 1e3, rate, median[F32] / median[f]);
    destroy(&products[f]);
  }
  fflush(stdout);
}

int bench_int8(const bench *b) {
  static const int64_t sizes[][3] = {{512, 512, 512}, {1024, 1024, 1024}, {256, 1024, 2304}, {2304, 2304, 2304}};
  static const int64_t rows[][3] = {{1, 4096, 4096}, {4, 4096, 4096}, {1, 768, 3072}};
  const bool products[FORMS] = {true, true, false, false}, streamed[FORMS] = {true, false, true, true};
  long long m, n, k;
  if (b->shapes) {
    for (const char *s = b->shapes; s && sscanf(s, "%lld,%lld,%lld", &m, &n, &k) == 3;) {
      s = strchr(s, ';');
      if (s) s++;
      measure(b, m <= MICA_QUANT_ROWS && k % GROUP == 0 ? streamed : products, m, n, k);
    }
    return 0;
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) measure(b, products, sizes[i][0], sizes[i][1], sizes[i][2]);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) measure(b, streamed, rows[i][0], rows[i][1], rows[i][2]);
  return 0;
}
