/* A step of training over a table of which it reads a few rows: 5 million rows beside 50,000, alternately. */
#include "bench/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, BATCH = 4096, HIDDEN = 128 };

/* What is measured: an optimiser by rows, and whether a small network stands over the rows. */
typedef struct row {
  const char *name;
  mica_optimizer optimizer;
  bool network;
} row;

static const row rows_of[] = {{"sgd, the table alone", MICA_OPTIMIZER_SGD, false},
                              {"adagrad, the table alone", MICA_OPTIMIZER_ADAGRAD, false},
                              {"adam, the table alone", MICA_OPTIMIZER_ADAM, false},
                              {"adagrad, two dense layers", MICA_OPTIMIZER_ADAGRAD, true},
                              {"adam, two dense layers", MICA_OPTIMIZER_ADAM, true}};

/* Ids at random all over the table. */
static void make_ids(const bench *b, int64_t rows, mica_tensor **batches) {
  static int32_t ids[BATCH];
  uint64_t state = 1;
  for (int k = 0; k < STEP_READY; k++) {
    for (int i = 0; i < BATCH; i++) ids[i] = (int32_t)(step_random(&state) % (uint64_t)rows);
    bench_ok(mica_tensor_create_from(b->engine, MICA_I32, MICA_SHAPE(BATCH), ids, &batches[k]));
  }
}

static void make(const bench *b, const row *r, int64_t rows, step *s) {
  mica_tensor **batches;
  mica_optimizer_config c = mica_optimizer_config_default(r->optimizer);
  c.rows = "*";
  step_begin(s);
  mica_value ids = step_input(s, "ids", MICA_I32, BATCH, &batches);
  const mica_embedding_config even = {.weight = {.kind = MICA_INIT_CONSTANT, .value = 0.1}};
  mica_value x = mica_nn_embedding(s->nn, "table", ids, rows, WIDTH, &even);
  if (r->network) x = mica_nn_dense(s->nn, "fc2", mica_relu(mica_nn_dense(s->nn, "fc1", x, HIDDEN, NULL)), 1, NULL);
  make_ids(b, rows, batches);
  step_end(b, s, mica_mean(mica_square(x), MICA_ALL_AXES, false), &c, 0.01f);
}

static void print_profile(const bench *b, const char *name, step *s) {
  mica_profile_row rows[32];
  size_t count = 0;
  bench_ok(mica_profile_start(b->engine));
  step_time(b, s, 10);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, 32, &count));
  for (size_t i = 0; i < count && i < 16; i++)
    fprintf(stderr, "%s %8.1f us %6.1f GB/s  %s\n", name, rows[i].seconds * 1e5, rows[i].bytes / rows[i].seconds * 1e-9,
            rows[i].kernel);
}

int bench_rows(const bench *b) {
  enum { FEW = 50000, MANY = 5000000, STEPS = 20, MOST = 101 };
  const size_t rounds = (size_t)(b->rounds > 0 && b->rounds < MOST ? b->rounds : 15);
  if (!b->json) printf("%-26s %12s %12s %7s\n", "rows by", "50,000 ms", "5,000,000 ms", "times");
  for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
    const row *r = &rows_of[i];
    step few, many;
    double a[MOST], z[MOST];
    if (b->cases && !strstr(r->name, b->cases)) continue;
    make(b, r, FEW, &few);
    make(b, r, MANY, &many);
    step_time(b, &few, STEP_READY), step_time(b, &many, STEP_READY);
    for (size_t k = 0; k < rounds; k++) a[k] = step_time(b, &few, STEPS), z[k] = step_time(b, &many, STEPS);
    if (b->profile) print_profile(b, "few ", &few), print_profile(b, "many", &many);
    const double x = bench_median(a, rounds), y = bench_median(z, rounds);
    printf(b->json ? "{\"bench\":\"rows\",\"case\":\"%s\",\"few_ms\":%.4f,\"many_ms\":%.4f,\"times\":%.3f}\n"
                   : "%-26s %12.3f %12.3f %7.2f\n",
           r->name, 1e3 * x, 1e3 * y, y / x);
    fflush(stdout);
    step_free(&few), step_free(&many);
  }
  return 0;
}
