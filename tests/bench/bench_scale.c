/* Data parallel steps on more devices than there are: a model of a step's time from the launches that are planned, the
 * buckets of gradients in the order in which they leave, and what collectives cost.
 *
 * A launch takes the longer of its operations and its bytes at the device's shares of its peaks, and a start. A bucket
 * is sent when the launches before it are done and the link is free; the step ends with the last bucket's update. On
 * this machine (--device here) a step of one rank is measured in place of that sum, each on a half of the device, and a
 * step of two ranks beside the prediction; with --net over a link that holds messages back as that net would. */
#include "bench/bench.h"
#include "bench/device.h"
#include "bench/link.h"
#include "bench/network.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 8192
#define MOST_BUCKETS 512

/* --- nets --- */

typedef struct net {
  double bytes, latency; /* a second; seconds of a message */
} net;

/* "100gbit,2us". */
static bool parse_net(const char *text, net *n) {
  double bits = 0, time = 0;
  char unit[8] = "", scale[8] = "";
  if (sscanf(text, "%lf%7[a-z],%lf%7[a-z]", &bits, unit, &time, scale) != 4) return false;
  const double by = !strcmp(unit, "gbit") ? 1e9 : !strcmp(unit, "mbit") ? 1e6 : 0;
  const double second = !strcmp(scale, "us") ? 1e-6 : !strcmp(scale, "ms") ? 1e-3 : 0;
  *n = (net){bits * by / 8, time * second};
  return n->bytes > 0 && n->latency > 0;
}

/* Seconds until the sum of so many bytes is on all ranks. mica: what a communicator does, all parts to their owners and
 * back at once; ring: Patarasuk and Yuan 2009; tree: up and down a binary one; groups: rings of 8 joined by a tree. */
typedef enum way { MICA_WAY, RING, TREE, GROUPS, WAYS } way;
static const char *const way_names[] = {"mica", "ring", "tree", "groups"};

static double seconds_of(way how, const net *n, double bytes, double ranks) {
  if (ranks < 2) return 0;
  const double share = 2 * (ranks - 1) / ranks * bytes / n->bytes, depth = ceil(log2(ranks));
  switch (how) {
  case RING: return share + 2 * (ranks - 1) * n->latency;
  case TREE: return 2 * depth * (bytes / n->bytes + n->latency);
  case GROUPS:
    if (ranks <= 8) return seconds_of(RING, n, bytes, ranks);
    return seconds_of(RING, n, bytes, 8) + seconds_of(TREE, n, bytes / 8, ceil(ranks / 8));
  default: return share + 2 * (n->latency + (ranks - 1) * 0.1 * n->latency); /* messages start one behind the other */
  }
}

/* --- the step --- */

typedef struct plan {
  double seconds[MOST_STEPS]; /* of launches, or 0 for a bucket */
  int bucket[MOST_STEPS];     /* -1: a launch; else the bucket that leaves, or that is waited for */
  bool leaves[MOST_STEPS];
  int count;
  double bytes[MOST_BUCKETS];
  int buckets;
  double compute; /* of all launches */
  double host;    /* the device's */
} plan;

/* "%51 f32 (8192)": the value's number and its elements. */
static bool parse_value(const char *line, int *value, double *elements) {
  const char *at = strstr(line, "-> %");
  if (!at) return false;
  *value = atoi(at + 4);
  at = strchr(at, '(');
  *elements = at ? atof(at + 1) : 0;
  return at != NULL;
}

static void add(plan *p, double seconds, int bucket, bool leaves) {
  if (p->count == MOST_STEPS) return;
  p->seconds[p->count] = seconds;
  p->bucket[p->count] = bucket;
  p->leaves[p->count++] = leaves;
  p->compute += seconds;
}

/* The lines of a session's dump. */
static void read_plan(char *text, const bench_device *d, plan *p) {
  int numbers[MOST_BUCKETS];
  char *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const bool begins = strstr(line, "on the host begins") != NULL, ends = strstr(line, "on the host ends") != NULL;
    int value = 0, bucket = -1;
    double elements = 0;
    const char *cost = strrchr(line, ';');
    double flops = 0, bytes = 0;
    if (begins || ends) {
      if (!parse_value(line, &value, &elements)) continue;
      for (int k = 0; k < p->buckets; k++)
        if (numbers[k] == value) bucket = k;
      if (bucket < 0 && p->buckets < MOST_BUCKETS) {
        bucket = p->buckets++;
        numbers[bucket] = value;
        p->bytes[bucket] = elements * 4;
      }
      add(p, 0, bucket, begins);
    } else if (cost && sscanf(cost, "; %lf flops, %lf bytes", &flops, &bytes) == 2) {
      const double work = d->flops > 0 ? flops / (BENCH_FLOPS_SHARE * d->flops) : flops;
      const double traffic = d->bytes > 0 ? bytes / (BENCH_BYTES_SHARE * d->bytes) : 0;
      add(p, fmax(work, traffic) + d->start, -1, false);
    }
  }
}

/* Seconds of a step, of which *hidden (may be NULL) is the share of the sending that launches hide. */
static double step_of(const plan *p, way how, const net *n, double ranks, double *hidden) {
  double now = 0, link = 0, sending = 0, done[MOST_BUCKETS] = {0};
  for (int i = 0; i < p->count; i++) {
    const int k = p->bucket[i];
    if (k < 0) {
      now += p->seconds[i];
    } else if (p->leaves[i]) {
      const double copies = p->host > 0 && ranks > 1 ? 2 * p->bytes[k] / p->host : 0;
      const double takes = seconds_of(how, n, p->bytes[k], ranks) + copies;
      link = fmax(link, now) + takes;
      sending += takes;
      done[k] = link;
    } else {
      now = fmax(now, done[k]);
    }
  }
  if (hidden) *hidden = sending > 0 ? fmax(1 - (now - p->compute) / sending, 0) : 1;
  return now;
}

/* --- planning --- */

/* What is planned does not depend on the device: the null device plans it. */
static void make_plan(const bench_network *t, const bench_device *d, plan *p) {
  mica_engine *engine = NULL;
  mica_communicator *list[2];
  char *text = NULL;
  *p = (plan){.host = d->host};
  bench_ok(mica_communicator_local(2, NULL, list));
  bench_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  mica_session *session = bench_network_step(engine, t, list[0]);
  bench_ok(mica_session_dump(session, &text));
  read_plan(text, d, p);
  mica_free(text);
  mica_session_destroy(session);
  mica_engine_destroy(engine);
  for (int k = 0; k < 2; k++) mica_communicator_destroy(list[k]);
}

/* --- this machine --- */

typedef struct member {
  const bench_network *task;
  mica_communicator *communicator; /* NULL: alone */
  int steps, half;                 /* which half of the device */
  double seconds;                  /* a step */
  double waited;                   /* of it, for the other rank's numbers */
  uint64_t bytes;                  /* sent in it */
} member;

static void *run_member(void *user) {
  member *m = user;
  mica_engine *engine = NULL;
  mica_tensor *x = NULL, *y = NULL, *rate = NULL;
  const bench_network *t = m->task;
  const float r = 1e-3f;
  char selector[64];
  bench_half(m->half, selector);
  bench_ok(mica_engine_create(&(mica_engine_config){.device = selector}, &engine));
  mica_session *session = bench_network_step(engine, t, m->communicator);
  const size_t count = (size_t)t->batch * (size_t)(t->channels ? t->channels * t->side * t->side : t->side);
  float *data = calloc(count, sizeof *data);
  int32_t *labels = calloc((size_t)t->batch, sizeof *labels);
  for (size_t i = 0; data && i < count; i++)
    if (t->channels)
      data[i] = (float)(i * 7919 % 1000) / 500 - 1;
    else
      ((int32_t *)data)[i] = (int32_t)(i * 7919 % BENCH_VOCABULARY);
  for (int i = 0; labels && i < t->batch; i++) labels[i] = i % 10;
  bench_ok(mica_tensor_create_from(engine, t->channels ? MICA_F32 : MICA_I32, bench_network_shape(t), data, &x));
  bench_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(t->batch), labels, &y));
  bench_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &r, &rate));
  mica_queue *queue = mica_engine_queue(engine);
  const mica_feed feeds[] = {{"x", x}, {"y", y}, {MICA_LEARNING_RATE, rate}};
  double begin = 0;
  mica_communicator_stats before = {0};
  for (int i = -2; i < m->steps; i++) {
    if (i == 0) bench_ok(mica_queue_finish(queue));
    if (i == 0) begin = bench_now();
    if (i == 0) before = mica_communicator_stats_of(m->communicator);
    bench_ok(mica_session_run(session, queue, feeds, 3));
  }
  bench_ok(mica_queue_finish(queue));
  m->seconds = (bench_now() - begin) / m->steps;
  const mica_communicator_stats after = mica_communicator_stats_of(m->communicator);
  m->waited = (after.waited - before.waited) / m->steps;
  m->bytes = (after.bytes_sent - before.bytes_sent) / (uint64_t)m->steps;
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(rate);
  mica_session_destroy(session);
  mica_engine_destroy(engine);
  free(data);
  free(labels);
  return NULL;
}

/* Two members at once, over a net, or NULL: through memory. Without communicators each works for itself: what sharing
 * the machine costs. Returns the slower one. */
static member run_pair(const bench_network *t, int steps, bool joined, const net *over) {
  mica_communicator *list[2] = {NULL, NULL};
  member members[2];
  pthread_t threads[2];
  if (joined && over)
    bench_link(over->bytes, over->latency, list);
  else if (joined)
    bench_ok(mica_communicator_local(2, NULL, list));
  for (int k = 0; k < 2; k++) {
    members[k] = (member){.task = t, .communicator = list[k], .steps = steps, .half = k};
    if (pthread_create(&threads[k], NULL, run_member, &members[k])) exit(1);
  }
  for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  for (int k = 0; joined && k < 2; k++) mica_communicator_destroy(list[k]);
  return members[members[1].seconds > members[0].seconds];
}

typedef struct pinger {
  mica_communicator *communicator;
  int64_t count;
  int rounds;
} pinger;

static void *sum_on(void *user) {
  const pinger *p = user;
  float *data = calloc((size_t)p->count, sizeof *data);
  for (int i = 0; data && i < p->rounds; i++)
    bench_ok(mica_communicator_run(p->communicator, &(mica_transfer){.data = data, .count = p->count}));
  free(data);
  return NULL;
}

/* Seconds of a sum of so many numbers over two threads. */
static double sum_seconds(int64_t count, int rounds) {
  mica_communicator *list[2];
  pinger p[2];
  pthread_t other;
  bench_ok(mica_communicator_local(2, NULL, list));
  for (int k = 0; k < 2; k++) p[k] = (pinger){list[k], count, rounds};
  const double begin = bench_now();
  if (pthread_create(&other, NULL, sum_on, &p[1])) exit(1);
  sum_on(&p[0]);
  pthread_join(other, NULL);
  const double seconds = (bench_now() - begin) / rounds;
  for (int k = 0; k < 2; k++) mica_communicator_destroy(list[k]);
  return seconds;
}

static net measure_net(void) {
  const double small = sum_seconds(16, 200), large = sum_seconds((int64_t)1 << 21, 8);
  return (net){(double)((int64_t)1 << 23) / fmax(large - small, 1e-9), small / 2.2};
}

/* Seconds of the core's time that a rank's sums take: on this machine those who compute also add up and copy, to the
 * host and back, which nothing hides. */
static double core_seconds(const plan *p, const net *memory) {
  const size_t bytes = (size_t)1 << 25;
  char *from = malloc(bytes), *to = malloc(bytes);
  double seconds = 0, begin = 0;
  if (!from || !to) exit(1);
  for (int i = 0; i < 4; i++) {
    if (i == 1) begin = bench_now(); /* the first time finds the pages */
    memset(from, i, bytes);
    memcpy(to, from, bytes);
  }
  const double copy = (bench_now() - begin) / 3 / (double)(2 * bytes);
  for (int k = 0; k < p->buckets; k++) seconds += seconds_of(MICA_WAY, memory, p->bytes[k], 2) + 2 * p->bytes[k] * copy;
  free(from);
  free(to);
  return seconds;
}

/* Steps alone and together alternate, since the machine's speed changes. */
#define ROUNDS 3

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *list) {
  qsort(list, ROUNDS, sizeof *list, by_value);
  return list[ROUNDS / 2];
}

static void check_here(const bench *b, const bench_network *t, plan *p) {
  const int steps = b->steps ? b->steps : 5;
  const net memory = measure_net();
  net n = memory;
  double alone[ROUNDS], together[ROUNDS], waiting[ROUNDS], hidden = 0;
  uint64_t bytes = 0;
  if (b->net && !parse_net(b->net, &n)) exit(2);
  for (int k = 0; k < ROUNDS; k++) {
    const member apart = run_pair(t, steps, false, NULL), joined = run_pair(t, steps, true, b->net ? &n : NULL);
    alone[k] = apart.seconds;
    together[k] = joined.seconds;
    waiting[k] = joined.waited;
    bytes = joined.bytes;
  }
  const double apart = median(alone), joined = median(together), waited = median(waiting);
  const double by = p->compute > 0 ? apart / p->compute : 0, sending = (double)bytes / n.bytes;
  for (int i = 0; i < p->count; i++) p->seconds[i] *= by;
  p->compute *= by;
  const double cores = core_seconds(p, &memory), link = b->net ? step_of(p, MICA_WAY, &n, 2, &hidden) : p->compute;
  const double predicted = link + cores;
  printf(b->json
             ? "{\"bench\":\"scale\",\"model\":\"%s\",\"device\":\"here\",\"batch\":%d,\"apart_ms\":%.3f,"
               "\"predicted_ms\":%.3f,\"measured_ms\":%.3f,\"ratio\":%.3f,\"efficiency\":%.3f,\"net_gbit\":%.2f,"
               "\"latency_us\":%.1f,\"sending_ms\":%.2f,\"waited_ms\":%.2f,\"hidden\":%.3f}\n"
             : "%-12s batch %d here: two apart %.2f ms a step; two joined: predicted %.2f, measured %.2f, ratio %.2f, "
               "efficiency %.3f; sums at %.1f Gbit/s, %.0f us: sent in %.2f ms, waited for %.2f, hidden %.3f\n",
         t->name, t->batch, apart * 1e3, predicted * 1e3, joined * 1e3, predicted / joined, apart / joined,
         n.bytes * 8e-9, n.latency * 1e6, sending * 1e3, waited * 1e3, sending > 0 ? fmax(1 - waited / sending, 0) : 1);
}

/* --- curves --- */

static void print_curve(const bench *b, const bench_network *t, const bench_device *d, const net *n, const plan *p) {
  double gradient = 0;
  int bends = 0;
  for (int k = 0; k < p->buckets; k++) gradient += p->bytes[k];
  if (!b->json)
    printf("%s, batch %d a rank, on %s: %.3f ms of launches, %d buckets of %.1f MB in all\n%8s", t->name, t->batch,
           d->name, p->compute * 1e3, p->buckets, gradient * 1e-6, "ranks");
  for (int w = 0; w < WAYS && !b->json; w++) printf(" %10s ms  share", way_names[w]);
  if (!b->json) puts("  hidden");
  for (int ranks = 1; ranks <= b->ranks; ranks *= 2) {
    double hidden = 0;
    if (!b->json) printf("%8d", ranks);
    for (int w = 0; w < WAYS; w++) {
      const double seconds = step_of(p, (way)w, n, ranks, w == MICA_WAY ? &hidden : NULL);
      if (b->json)
        printf("{\"bench\":\"scale\",\"model\":\"%s\",\"device\":\"%s\",\"way\":\"%s\",\"ranks\":%d,\"step_ms\":%.4f,"
               "\"efficiency\":%.4f}\n",
               t->name, d->name, way_names[w], ranks, seconds * 1e3, p->compute / seconds);
      else
        printf(" %13.3f %6.3f", seconds * 1e3, p->compute / seconds);
      if (w == MICA_WAY && !bends && p->compute / seconds < 0.9) bends = ranks;
    }
    if (!b->json) printf(" %7.2f\n", hidden);
  }
  if (b->json) return;
  if (!bends) {
    printf("below 0.9 nowhere up to %d ranks\n", b->ranks);
    return;
  }
  double traffic = 0, starts = 0, copies = p->host > 0 ? 2 * gradient / p->host : 0;
  for (int k = 0; k < p->buckets; k++) {
    traffic += seconds_of(MICA_WAY, &(net){n->bytes, 1e-15}, p->bytes[k], bends);
    starts += seconds_of(MICA_WAY, n, 0, bends);
  }
  printf("below 0.9 from %d ranks on: gradients take %.3f ms on the link and %.3f to the host and back, starts of "
         "messages %.3f, launches %.3f\n",
         bends, traffic * 1e3, copies * 1e3, starts * 1e3, p->compute * 1e3);
}

int bench_scale(const bench *b) {
  static plan p;
  const char *wanted = b->device ? b->device : "a100";
  const bench_device *d = bench_device_find(wanted);
  net n = {0, 0};
  bench own = *b;
  if (!own.ranks) own.ranks = 1024;
  if (!d) {
    fprintf(stderr, "no device '%s'; there are %s\n", wanted, bench_device_names(false));
    return 2;
  }
  if (b->model && !bench_network_find(b->model)) return 2;
  if (!parse_net(b->net ? b->net : "100gbit,2us", &n)) {
    fprintf(stderr, "'%s' is no net such as 100gbit,2us\n", b->net);
    return 2;
  }
  for (size_t i = 0; i < bench_network_count; i++) {
    bench_network t = bench_networks[i];
    const bool here = !strcmp(d->name, "here");
    if (b->model ? strcmp(b->model, t.name) != 0 : here && t.side > 100) continue;
    if (b->batch) t.batch = b->batch;
    make_plan(&t, d, &p);
    if (here)
      check_here(&own, &t, &p);
    else
      print_curve(&own, &t, d, &n, &p);
    fflush(stdout);
  }
  return 0;
}
