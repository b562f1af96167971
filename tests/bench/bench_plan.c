/* How long a session of a deep network takes to plan and record, apart from its kernels: on the null device. And what a
 * network's training step would launch on a device that is not there, with a prediction for each launch. */
#include "bench/bench.h"
#include "bench/device.h"
#include "bench/network.h"
#include "ops/select/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* --- a device that is not there --- */

#define CLASSES 1000

/* Runs the step twice, the second time for its launches: the first one prepares what constants make. */
static void run_step(mica_engine *engine, const bench_network *n, mica_session *session) {
  const size_t count = (size_t)n->batch * (size_t)(n->channels ? n->channels * n->side * n->side : n->side);
  void *zeros = calloc(count, sizeof(float));
  mica_tensor *x = NULL, *y = NULL, *rate = NULL;
  if (!zeros) exit(1);
  bench_ok(mica_tensor_create_from(engine, n->channels ? MICA_F32 : MICA_I32, bench_network_shape(n), zeros, &x));
  bench_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(n->batch), zeros, &y));
  bench_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, zeros, &rate));
  const mica_feed feeds[] = {{"x", x}, {"y", y}, {MICA_LEARNING_RATE, rate}};
  bench_ok(mica_session_run(session, mica_engine_queue(engine), feeds, 3));
  bench_launches_begin();
  bench_ok(mica_session_run(session, mica_engine_queue(engine), feeds, 3));
  bench_ok(mica_queue_finish(mica_engine_queue(engine)));
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(rate);
  free(zeros);
}

typedef struct sum {
  double seconds, flops, bytes;
  size_t launches;
} sum;

static void print_launch(const bench *b, const bench_launch *l, size_t index, double flops, double bytes,
                         double seconds) {
  printf(b->json ? "{\"bench\":\"plan\",\"launch\":%zu,\"kernel\":\"%s\",\"groups\":%zu,\"items\":%zu,"
                   "\"mflop\":%.3f,\"mbyte\":%.3f,\"us\":%.2f}\n"
                 : "%5zu %-48.48s %9zu x %-4zu %12.3f %10.3f %9.2f\n",
         index, l->name, l->groups, l->threads, flops * 1e-6, bytes * 1e-6, seconds * 1e6);
}

/* The launches of a run in the order of the session's dump, whose lines tell what each needs. */
static bool print_launches(const bench *b, const bench_device *d, const mica_device_info *info, char *dump, sum *all) {
  const bench_launch *launches = NULL;
  const size_t count = bench_launches(&launches);
  char *save = NULL;
  for (char *line = strtok_r(dump, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const char *cost = strrchr(line, ';');
    double flops = 0, bytes = 0;
    if (!cost || sscanf(cost, "; %lf flops, %lf bytes", &flops, &bytes) != 2) continue;
    if (all->launches == count) return false;
    const bench_launch *l = &launches[all->launches];
    const double seconds = bench_launch_seconds(d, info, l, flops, bytes);
    print_launch(b, l, all->launches++, flops, bytes, seconds);
    *all = (sum){all->seconds + seconds, all->flops + flops, all->bytes + bytes, all->launches};
  }
  return all->launches == count;
}

static void print_sum(const bench *b, const bench_device *d, const bench_network *n, const sum *all) {
  printf(b->json ? "{\"bench\":\"plan\",\"model\":\"%s\",\"batch\":%d,\"device\":\"%s\",\"launches\":%zu,"
                   "\"gflop\":%.3f,\"gbyte\":%.3f,\"ms\":%.3f,\"starts_ms\":%.3f,\"products\":\"%s\"}\n"
                 : "%s, batch %d on %s: %zu launches, %.1f GFLOP, %.2f GB, %.2f ms; beginning one by one %.2f ms more; "
                   "products %s\n",
         n->name, n->batch, d->name, all->launches, all->flops * 1e-9, all->bytes * 1e-9, all->seconds * 1e3,
         (double)all->launches * d->start * 1e3, d->clock > 0 ? "scaled to an H200's" : "modelled");
}

static int plan_as(const bench *b) {
  const bench_device *d = bench_device_find(b->as);
  if (!d || !d->vendor) return fprintf(stderr, "no device '%s'; there are %s\n", b->as, bench_device_names(true)), 2;
  const bench_network *known = bench_network_find(b->model ? b->model : "");
  if (!known) return 2;
  bench_network n = *known;
  if (b->batch) n.batch = b->batch;
  n.dtype = bench_dtype(b, &n.tf32);
  if ((n.tf32 || n.dtype != MICA_F32) && d->matrix == 0)
    return fprintf(stderr, "--dtype: how fast matrix units of %s are is not known\n", d->name), 2;
  if (n.channels == 3) n.classes = CLASSES;
  mica_engine *engine = NULL;
  char *dump = NULL;
  sum all = {0};
  bench_device_imagine(d);
  for (const char *const *name = b->leave_out; *name; name++) mica__choice_leave_out(*name);
  bench_ok(mica_engine_create(&(mica_engine_config){.device = "0:0", .cache_dir = ""}, &engine));
  mica_session *session = bench_network_step(engine, &n, NULL);
  run_step(engine, &n, session);
  bench_ok(mica_session_dump(session, &dump));
  if (!b->json) printf("%5s %-48s %9s   %-4s %12s %10s %9s\n", "", "kernel", "groups", "of", "MFLOP", "MB", "us");
  const bool whole = print_launches(b, d, mica_engine_device(engine), dump, &all);
  if (whole) print_sum(b, d, &n, &all);
  const bool written = !b->sources || bench_device_write_sources(mica_engine_device(engine), b->sources);
  mica_free(dump);
  mica_session_destroy(session);
  mica_engine_destroy(engine);
  bench_device_imagine(NULL);
  mica__choice_leave_out(NULL);
  if (!whole) fprintf(stderr, "the launches of a run are not those of its plan\n");
  if (!written) fprintf(stderr, "%s cannot be written\n", b->sources);
  return whole && written ? 0 : 1;
}

int bench_plan(const bench *b) {
  if (b->as) return plan_as(b);
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
