/* Products of few rows with weights in blocks, beside f32 products of the same sizes, in turn. Both read every weight
 * once: what counts is bytes of weights a second. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 64, OWN_ROWS = 16 };

typedef struct product {
  mica_graph *graph;
  mica_session *session;
  mica_tensor *x;
  double bytes; /* of the weights */
} product;

static void destroy(product *p) {
  mica_session_destroy(p->session);
  mica_tensor_destroy(p->x);
  mica_graph_destroy(p->graph);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes + 1);
  if (!memory) bench_ok(MICA_E_NOMEM);
  return memory;
}

static float *noise(int64_t count) {
  uint32_t state = 1;
  float *x = allocate((size_t)count * sizeof *x);
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525 + 1013904223;
    x[i] = (float)(state >> 8) * 0x1p-23f - 1;
  }
  return x;
}

/* n rows, a few different ones again and again, since quantising takes longer than all that is measured. */
static mica_value weights(mica_graph *graph, mica_block type, int64_t n, int64_t k) {
  const size_t row =
      type == MICA_BLOCK_NONE ? (size_t)k * 4 : (size_t)(k / mica_block_elements(type)) * mica_block_bytes(type);
  float *x = noise(OWN_ROWS * k);
  uint8_t *data = allocate((size_t)n * row), *own = allocate(OWN_ROWS * row);
  if (type == MICA_BLOCK_NONE)
    memcpy(own, x, OWN_ROWS * row);
  else
    bench_ok(mica_block_quantize(type, x, OWN_ROWS * k, NULL, own));
  for (int64_t j = 0; j < n; j++) memcpy(data + (size_t)j * row, own + (size_t)(j % OWN_ROWS) * row, row);
  mica_value w = type == MICA_BLOCK_NONE ? mica_constant(graph, MICA_F32, MICA_SHAPE(n, k), data)
                                         : mica_constant(graph, MICA_U8, MICA_SHAPE(n, (int64_t)row), data);
  free(x);
  free(own);
  free(data);
  return type == MICA_BLOCK_NONE ? w : mica_unblock(w, type, k, MICA_F32);
}

static product make(const bench *b, mica_block type, int64_t m, int64_t n, int64_t k) {
  product p = {.bytes = (double)n * (double)k * 4};
  if (type != MICA_BLOCK_NONE)
    p.bytes = (double)n * (double)(k / mica_block_elements(type)) * (double)mica_block_bytes(type);
  bench_ok(mica_graph_create(&p.graph));
  mica_value x = mica_input(p.graph, "x", MICA_F32, MICA_SHAPE(m, k));
  mica_value y = mica_matmul(x, mica_transpose(weights(p.graph, type, n, k), MICA_AXES(1, 0)));
  if (mica_graph_status(p.graph) != MICA_OK) fprintf(stderr, "mica-bench: %s\n", mica_graph_message(p.graph));
  bench_ok(mica_graph_status(p.graph));
  bench_ok(mica_session_create(b->engine, p.graph, &y, 1, NULL, &p.session));
  float *data = noise(m * k);
  bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SHAPE(m, k), data, &p.x));
  free(data);
  return p;
}

static double seconds_of(const bench *b, const product *p, int repeats) {
  const double begin = bench_now();
  for (int i = 0; i < repeats; i++) bench_ok(mica_session_run(p->session, b->queue, &(mica_feed){"x", p->x}, 1));
  bench_ok(mica_queue_finish(b->queue));
  return (bench_now() - begin) / repeats;
}

static void measure(const bench *b, mica_block type, int64_t m, int64_t n, int64_t k) {
  enum { REPEATS = 8 };
  double times[2][MOST_ROUNDS], median[2];
  const int rounds = b->rounds > MOST_ROUNDS ? MOST_ROUNDS : b->rounds;
  product products[] = {make(b, MICA_BLOCK_NONE, m, n, k), make(b, type, m, n, k)};
  for (int f = 0; f < 2; f++) seconds_of(b, &products[f], 2);
  bench_wait_for_quiet();
  for (int r = 0; r < rounds; r++)
    for (int f = 0; f < 2; f++) times[f][r] = seconds_of(b, &products[f], REPEATS);
  for (int f = 0; f < 2; f++) median[f] = bench_median(times[f], (size_t)rounds);
  const double plain = products[0].bytes / median[0] * 1e-9, rate = products[1].bytes / median[1] * 1e-9;
  printf(b->json ? "{\"bench\": \"blocks\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"type\": \"%s\", \"ms\": %.4f, "
                   "\"gb_s\": %.3f, \"f32_gb_s\": %.3f, \"of_f32_gb_s\": %.3f, \"times_f32\": %.3f}\n"
                 : "%6lld %6lld %6lld  %-6s %9.4f ms %8.2f GB/s  f32 %8.2f GB/s  ratio %5.2f  %5.2f x faster\n",
         (long long)m, (long long)n, (long long)k, mica_block_name(type), median[1] * 1e3, rate, plain, rate / plain,
         median[0] / median[1]);
  fflush(stdout);
  for (int f = 0; f < 2; f++) destroy(&products[f]);
}

static void measure_types(const bench *b, int64_t m, int64_t n, int64_t k) {
  for (int type = MICA_BLOCK_NONE + 1; type < MICA_BLOCK_COUNT; type++)
    if ((!b->cases || strstr(mica_block_name((mica_block)type), b->cases)) &&
        k % mica_block_elements((mica_block)type) == 0)
      measure(b, (mica_block)type, m, n, k);
}

int bench_blocks(const bench *b) {
  static const int64_t sizes[][3] = {{1, 8192, 4096}, {4, 8192, 4096}, {8, 8192, 4096}, {1, 49152, 576}};
  long long m, n, k;
  for (const char *s = b->shapes; s && sscanf(s, "%lld,%lld,%lld", &m, &n, &k) == 3;) {
    measure_types(b, m, n, k);
    s = strchr(s, ';');
    if (s) s++;
  }
  for (size_t i = 0; !b->shapes && i < sizeof sizes / sizeof *sizes; i++)
    measure_types(b, sizes[i][0], sizes[i][1], sizes[i][2]);
  return 0;
}
