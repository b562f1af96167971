/* Training steps against PyTorch's, alternately: the same network, batch, optimiser and kind of data on the same
 * cores. */
#include "bench/bench.h"
#include "bench/detector.h"
#include "bench/peer_train.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Batches that lie ready, and seconds that a round of each side takes at least. */
#define READY 8
#define ROUND_SECONDS 0.4
/* Until the peer's threads have stopped spinning. */
#define REST 0.02

typedef struct task {
  const char *name;
  int batch, side, channels;
  mica_optimizer optimizer;
  double momentum, rate;
  int64_t width, classes; /* 0: the network's own, and 10 */
  bool pixels;            /* a class each */
  bool boxes;             /* the task detect, its loss too */
  const char *dtype;      /* the peer's name of it */
} task;

static const task tasks[] = {{"mlp", 64, 28, 1, MICA_OPTIMIZER_ADAM, 0, 1e-3, 0, 0, false, false, NULL},
                             {"cnn", 64, 28, 1, MICA_OPTIMIZER_ADAM, 0, 1e-3, 0, 0, false, false, NULL},
                             {"resnet18", 32, 32, 3, MICA_OPTIMIZER_SGD, 0.9, 1e-2, 0, 0, false, false, NULL},
                             {"resnet50", 32, 32, 3, MICA_OPTIMIZER_SGD, 0.9, 1e-2, 0, 0, false, false, NULL},
                             {"mobilenetv2", 32, 32, 3, MICA_OPTIMIZER_SGD, 0.9, 1e-2, 0, 0, false, false, NULL},
                             {"unet", 4, 128, 1, MICA_OPTIMIZER_ADAM, 0, 1e-3, 16, 2, true, false, NULL},
                             {"detector", 8, 256, 3, MICA_OPTIMIZER_ADAMW, 0, 2e-3, 0, 0, false, true, NULL}};

/* Tensors of a batch at most. */
#define TENSORS 3

typedef struct own {
  mica_trainer *trainer;
  detector detector; /* whose trainer it is, of boxes */
  mica_batch batches[READY];
  mica_tensor *kept[READY][TENSORS];
  mica_feed tensors[READY][TENSORS];
  int at;
} own;

/* Roughly normal: the sum of four uniform numbers. */
static float number(uint32_t *state) {
  float sum = 0;
  for (int i = 0; i < 4; i++) {
    *state = *state * 1664525u + 1013904223u;
    sum += (float)(int32_t)*state * 0x1p-31f;
  }
  return sum * 0.866f;
}

static void add_tensor(const bench *b, own *o, int k, const char *name, mica_dtype dtype, mica_shape shape,
                       const void *data) {
  const size_t at = o->batches[k].tensor_count++;
  bench_ok(mica_tensor_create_from(b->engine, dtype, shape, data, &o->kept[k][at]));
  o->tensors[k][at] = (mica_feed){name, o->kept[k][at]};
}

static mica_shape label_shape(const task *t) {
  if (t->boxes) return MICA_SHAPE(t->batch, DETECTOR_BOXES);
  return t->pixels ? MICA_SHAPE(t->batch, t->side, t->side) : MICA_SHAPE(t->batch);
}

static void make_batches(const bench *b, const task *t, own *o) {
  const size_t count = (size_t)(t->batch * t->channels * t->side * t->side);
  const int boxes = t->batch * DETECTOR_BOXES, classes = t->boxes     ? DETECTOR_CLASSES
                                                         : t->classes ? (int)t->classes
                                                                      : 10;
  const mica_shape shape = label_shape(t);
  int64_t labels = 0;
  bench_ok(mica_shape_count(shape, &labels));
  float *x = malloc(count * sizeof *x), *corners = malloc((size_t)boxes * 4 * sizeof *corners);
  int32_t *y = malloc((size_t)labels * sizeof *y);
  uint32_t state = 1;
  uint64_t box_state = 1;
  for (int k = 0; k < READY; k++) {
    o->batches[k] = (mica_batch){.count = t->batch, .tensors = o->tensors[k]};
    for (size_t i = 0; i < count; i++) x[i] = number(&state);
    for (int64_t i = 0; i < labels; i++) y[i] = (int32_t)((number(&state) + 4) * 1000) % classes;
    add_tensor(b, o, k, "image", MICA_F32, MICA_SHAPE(t->batch, t->channels, t->side, t->side), x);
    add_tensor(b, o, k, "label", MICA_I32, shape, y);
    if (!t->boxes) continue;
    detector_boxes(corners, boxes, t->side, &box_state);
    add_tensor(b, o, k, "boxes", MICA_F32, MICA_SHAPE(t->batch, DETECTOR_BOXES, 4), corners);
  }
  free(x);
  free(y);
  free(corners);
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value x = mica_batch_value(batch, "image"), y = mica_batch_value(batch, "label");
  mica_value z = mica_model_build(nn, x, config);
  out->loss = mica_cross_entropy(z, y, NULL);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
}

static void make(const bench *b, const task *t, own *o) {
  make_batches(b, t, o);
  if (t->boxes) {
    detector_begin(b, t->batch, t->side, &o->detector);
    o->trainer = o->detector.trainer;
    return;
  }
  mica_model_config model = {.name = t->name, .stem = MICA_STEM_LARGE, .width = t->width, .classes = t->classes};
  const mica_batch_column columns[] = {{"image", MICA_F32, {4, {MICA_DYNAMIC, t->channels, t->side, t->side}}},
                                       {"label", MICA_I32, {t->pixels ? 3 : 1, {MICA_DYNAMIC, t->side, t->side}}}};
  bool tf32 = false;
  mica_trainer_config c = {.step = step,
                           .step_config = &model,
                           .columns = columns,
                           .column_count = 2,
                           .dtype = bench_dtype(b, &tf32),
                           .optimizer = mica_optimizer_config_default(t->optimizer),
                           .schedule = {.rate = t->rate}};
  c.allow_tf32 = tf32;
  c.optimizer.momentum = t->momentum;
  if (c.dtype == MICA_F16) c.optimizer.loss_scale = 65536;
  bench_ok(mica_trainer_create(b->engine, &c, &o->trainer));
}

static double steps_of(const bench *b, own *o, int steps) {
  double begin = bench_now();
  for (int i = 0; i < steps; i++) bench_ok(mica_trainer_step(o->trainer, &o->batches[o->at++ % READY]));
  bench_ok(mica_queue_finish(b->queue));
  return bench_now() - begin;
}

static int steps_for(double seconds_a_step) {
  return seconds_a_step >= ROUND_SECONDS ? 1 : (int)(ROUND_SECONDS / seconds_a_step) + 1;
}

static void print_profile(const bench *b, own *o) {
  mica_profile_row rows[64];
  size_t count = 0;
  double total = 0;
  bench_ok(mica_profile_start(b->engine));
  steps_of(b, o, 10);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, 64, &count));
  for (size_t i = 0; i < count; i++) total += rows[i].seconds;
  for (size_t i = 0; i < count && i < 20; i++)
    fprintf(stderr, "%5.1f %% %8.1f us %5.1f launches %6.1f GFLOP/s %6.1f GB/s  %s\n", 100 * rows[i].seconds / total,
            rows[i].seconds * 1e5, (double)rows[i].count / 10, rows[i].flops / rows[i].seconds * 1e-9,
            rows[i].bytes / rows[i].seconds * 1e-9, rows[i].kernel);
}

/* PyTorch, over all rounds of a task. */
typedef struct rival {
  bool missing; /* it has been said */
  double seconds, rss, weights;
  char version[32];
} rival;

static void report(const bench *b, const task *t, const mica_stats *spent, int steps, double seconds,
                   const rival *peer) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double rate = t->batch / seconds, rss = (double)usage.ru_maxrss * 1024;
  mica_stats now = mica_engine_stats(b->engine);
  if (!b->json) {
    printf("%-12s batch %d: %9.0f samples/s, %8.3f ms a step, %llu launches", t->name, t->batch, rate, seconds * 1e3,
           (unsigned long long)spent->launches / (unsigned long long)steps);
    if (!peer->missing)
      printf("; PyTorch %s %.0f samples/s, ratio %.2f", peer->version, t->batch / peer->seconds,
             peer->seconds / seconds);
    printf("\n");
    return;
  }
  /* The batches lie on the device: there is no loader here whose share could be measured. */
  printf("{\"bench\":\"train\",\"model\":\"%s\",\"batch\":%d,\"samples_per_s\":%.1f,\"step_ms\":%.4f,\"launches\":%.1f,"
         "\"host_waits\":%.3f,\"builds_after_first\":%llu,\"allocations\":%llu,\"data_wait_share\":null,"
         "\"peak_device_bytes\":%llu,\"peak_rss_bytes\":%.0f,\"peers\":{",
         t->name, t->batch, rate, seconds * 1e3, (double)spent->launches / steps, (double)spent->host_waits / steps,
         (unsigned long long)spent->kernel_builds, (unsigned long long)spent->allocations,
         (unsigned long long)now.bytes_peak, rss);
  if (peer->missing)
    printf("},\"peer_rss_bytes\":{},\"ratio\":{},\"versions\":{}}\n");
  else
    printf("\"pytorch\":%.1f},\"peer_rss_bytes\":{\"pytorch\":%.0f},\"ratio\":{\"pytorch\":%.3f},"
           "\"versions\":{\"pytorch\":\"%s\"}}\n",
           t->batch / peer->seconds, peer->rss, peer->seconds / seconds, peer->version);
}

/* How many numbers are trained. */
static double weights_of(const own *o) {
  const mica_nn *nn = mica_trainer_network(o->trainer);
  double sum = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    int64_t count = 0;
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    bench_ok(mica_shape_count(mica_value_shape(info->value), &count));
    sum += (double)count;
  }
  return sum;
}

/* Seconds a step of the peer, 0 where there is none. Each round is a process of its own: how a system puts the
 * peer's threads on the cores lasts as long as these, and decides by a factor of up to four how fast it is. */
static double peer_round(const task *t, int steps, rival *r) {
  peer_train peer;
  if (r->missing) return 0;
  if (!peer_train_start(&peer, t->name, t->batch, t->side, t->dtype)) {
    r->missing = true;
    return 0;
  }
  r->weights = peer_train_weights(&peer);
  peer_train_steps(&peer, steps);
  const double seconds = peer_train_steps(&peer, steps) / steps, most = peer_train_end(&peer);
  if (most > r->rss) r->rss = most;
  snprintf(r->version, sizeof r->version, "%s", peer.version);
  return seconds > 0 ? seconds : 0;
}

static void measure(const bench *b, const task *t, rival *r) {
  own o = {0};
  double *mine = calloc((size_t)b->rounds, sizeof *mine), *theirs = calloc((size_t)b->rounds, sizeof *theirs);
  const double peer = peer_round(t, 2, r);
  make(b, t, &o);
  if (!r->missing && r->weights != weights_of(&o)) {
    fprintf(stderr, "mica-bench: %s trains %.0f numbers, PyTorch's %.0f: not the same network\n", t->name,
            weights_of(&o), r->weights);
    exit(1);
  }
  steps_of(b, &o, 2);
  const int steps = b->steps ? b->steps : steps_for(steps_of(b, &o, 2) / 2);
  const int peer_steps = b->steps ? b->steps : steps_for(peer);
  steps_of(b, &o, steps);
  mica_stats before = mica_engine_stats(b->engine), spent = {0};
  for (int i = 0; i < b->rounds; i++) {
    theirs[i] = peer_round(t, peer_steps, r);
    bench_rest(REST);
    mine[i] = steps_of(b, &o, steps) / steps;
  }
  mica_stats after = mica_engine_stats(b->engine);
  spent.launches = after.launches - before.launches;
  /* The wait for a round's end is not a step's. */
  spent.host_waits = after.host_waits - before.host_waits - (uint64_t)b->rounds;
  spent.kernel_builds = after.kernel_builds - before.kernel_builds;
  spent.allocations = after.allocations - before.allocations;
  r->seconds = bench_median(theirs, (size_t)b->rounds);
  report(b, t, &spent, b->rounds * steps, bench_median(mine, (size_t)b->rounds), r);
  fflush(stdout); /* the profile, on stderr, follows its network */
  if (b->profile) print_profile(b, &o);
  if (t->boxes)
    detector_end(&o.detector);
  else
    mica_trainer_destroy(o.trainer);
  for (int k = 0; k < READY; k++)
    for (int i = 0; i < TENSORS; i++) mica_tensor_destroy(o.kept[k][i]);
  free(mine);
  free(theirs);
}

int bench_train(const bench *b) {
  bool found = false, tf32 = false;
  const mica_dtype dtype = bench_dtype(b, &tf32);
  /* Beside a GPU stands PyTorch on the GPU: peers/torch_cuda.py. */
  rival r = {.missing = tf32 || mica_engine_device(b->engine)->device_class == MICA_DEVICE_CLASS_GPU};
  /* A peer that dies is noticed by what it does not answer. */
  signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    task t = tasks[i];
    t.dtype = mica_dtype_name(dtype);
    if (b->model && strcmp(b->model, t.name) != 0) continue;
    if (b->batch) t.batch = b->batch;
    if (b->side) t.side = b->side;
    r.rss = 0;
    measure(b, &t, &r);
    fflush(stdout);
    found = true;
  }
  if (!found)
    fprintf(stderr, "no task '%s'; there are mlp, cnn, resnet18, resnet50, mobilenetv2, unet, detector\n", b->model);
  return found ? 0 : 2;
}
