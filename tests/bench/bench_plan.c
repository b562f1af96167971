/* How long a session of a deep network takes to plan and record, apart from its kernels: on the null device. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH 4
#define PIXELS 64

typedef struct network {
  mica_graph *graph;
  mica_value params[1024], grads[1024];
  size_t count;
} network;

static mica_value parameter(network *n, mica_shape shape) {
  char name[32];
  snprintf(name, sizeof name, "p%zu", n->count);
  return n->params[n->count++] = mica_parameter(n->graph, name, MICA_F32, shape);
}

/* relu(standardised(W x) scale + shift), with running means, as convolutions are used. */
static mica_value layer(network *n, mica_value x, int64_t from, int64_t to, mica_value residual) {
  static const mica_axes over = {.count = 2, .axis = {0, 2}};
  char name[32];
  mica_value w = parameter(n, MICA_SHAPE(to, from)), h = mica_matmul(w, x);
  mica_value mean = mica_mean(h, over, true), centred = mica_sub(h, mean);
  mica_value variance = mica_mean(mica_square(centred), over, true);
  snprintf(name, sizeof name, "mean%zu", n->count);
  mica_value running = mica_parameter(n->graph, name, MICA_F32, MICA_SHAPE(1, to, 1));
  mica_assign(running, mica_add(mica_affine(running, 0.9, 0), mica_affine(mean, 0.1, 0)));
  mica_value y = mica_mul(centred, mica_rsqrt(mica_affine(variance, 1, 1e-5)));
  y = mica_add(mica_mul(y, parameter(n, MICA_SHAPE(to, 1))), parameter(n, MICA_SHAPE(to, 1)));
  return mica_relu(residual.graph ? mica_add(y, residual) : y);
}

/* Kingma and Ba 2014, without bias correction. */
static void adam(network *n, size_t i) {
  char name[32];
  mica_value p = n->params[i], g = n->grads[i];
  snprintf(name, sizeof name, "m%zu", i);
  mica_value m = mica_parameter(n->graph, name, MICA_F32, mica_value_shape(p));
  snprintf(name, sizeof name, "v%zu", i);
  mica_value v = mica_parameter(n->graph, name, MICA_F32, mica_value_shape(p));
  mica_value next_m = mica_add(mica_affine(m, 0.9, 0), mica_affine(g, 0.1, 0));
  mica_value next_v = mica_add(mica_affine(v, 0.999, 0), mica_affine(mica_square(g), 0.001, 0));
  mica_assign(m, next_m);
  mica_assign(v, next_v);
  mica_assign(p, mica_sub(p, mica_affine(mica_div(next_m, mica_affine(mica_sqrt(next_v), 1, 1e-8)), 1e-3, 0)));
}

/* Blocks of three layers, the width doubling at every quarter, as in ResNet-50 (He et al. 2015). */
static mica_value build(network *n, int blocks) {
  int64_t width = 16;
  mica_value h = mica_input(n->graph, "x", MICA_F32, MICA_SHAPE(BATCH, width, PIXELS));
  for (int b = 0; b < blocks; b++) {
    int64_t to = b > 0 && b % (blocks / 4 + 1) == 0 ? 2 * width : width;
    mica_value shortcut = to == width ? h : layer(n, h, width, to, (mica_value){0});
    mica_value inside = layer(n, h, width, width, (mica_value){0});
    h = layer(n, layer(n, inside, width, to, (mica_value){0}), to, to, shortcut);
    width = to;
  }
  mica_value loss = mica_mean(h, MICA_ALL_AXES, false);
  bench_ok(mica_gradients(loss, n->params, n->count, n->grads));
  for (size_t i = 0, count = n->count; i < count; i++) adam(n, i);
  return loss;
}

static size_t nodes_of(const mica_graph *graph) {
  char *text = NULL;
  size_t lines = 0;
  bench_ok(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text));
  for (const char *c = text; *c; c++) lines += *c == '\n';
  mica_free(text);
  return lines;
}

int bench_plan(const bench *b) {
  if (!b->json)
    printf("%8s %8s %9s %8s %10s %10s %12s\n", "blocks", "nodes", "launches", "kernels", "build ms", "plan ms",
           "planned MiB");
  for (int blocks = 2; blocks <= 32; blocks *= 2) {
    network *n = calloc(1, sizeof *n);
    mica_engine *engine;
    mica_session *session;
    mica_session_report report;
    double start = bench_now();
    bench_ok(mica_graph_create(&n->graph));
    mica_value loss = build(n, blocks);
    double built = bench_now();
    bench_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
    double begin = bench_now();
    bench_ok(mica_session_create(engine, n->graph, &loss, 1, NULL, &session));
    double end = bench_now();
    bench_ok(mica_session_describe(session, &report));
    unsigned long long kernels = mica_engine_stats(engine).kernel_builds;
    const char *format = b->json ? "{\"bench\":\"plan\",\"blocks\":%d,\"nodes\":%zu,\"launches\":%zu,\"kernels\":%llu,"
                                   "\"build_ms\":%.2f,\"plan_ms\":%.2f,\"planned_mib\":%.2f}\n"
                                 : "%8d %8zu %9zu %8llu %10.1f %10.1f %12.2f\n";
    printf(format, blocks, nodes_of(n->graph), report.launches, kernels, 1e3 * (built - start), 1e3 * (end - begin),
           (double)report.planned_bytes / 0x1p20);
    fflush(stdout);
    mica_session_destroy(session);
    mica_engine_destroy(engine);
    mica_graph_destroy(n->graph);
    free(n);
  }
  return 0;
}
