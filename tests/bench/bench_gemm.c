/* Matrix products: Mica, its peers and the device's limit take turns. */
#include "base/element.h"
#include "base/large.h"
#include "bench/bench.h"
#include "bench/peak.h"
#include "bench/peers.h"
#include "ops/matmul/gemm.h"
#include "runtime/recording.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Powers of two, small ones, convolutions of image networks as products, vectors, layers of transformers, odd ones. */
#define CUBE(n) n "," n "," n ";" n "," n "," n ",nt;" n "," n "," n ",tn;" n "," n "," n ",tt;"
static const char default_shapes[] = CUBE("64") CUBE("128") CUBE("256") CUBE("512") CUBE("1024") CUBE(
    "2048") "64,128,784;64,10,128;784,128,64;128,784,64;64,3136,576;128,784,1152;512,49,4608;32,50176,27;"
            "1,4096,4096;4096,1,4096;8,4096,4096;4096,64,4096;64,4096,4096;197,768,768;197,3072,768;512,512,64,nn,8;"
            "127,129,131;1000,1001,999";

#define MAX_PEERS 4
#define SAMPLE_SECONDS 2.5e-3 /* a sample lasts about this long, so that starting and waiting do not show */
#define MAX_TIMES 1024

typedef struct shape {
  int m, n, k, batches;
  char trans[3];
  mica_dtype dtype;
  bool tf32;
} shape;

static mica_dtype result_type(const shape *s) { return s->dtype == MICA_I8 ? MICA_I32 : s->dtype; }

/* None for other types than f32. */
static const peer *rivals = bench_peers;
static const peer no_rivals[] = {{.name = NULL}};

/* One shape's data and what was measured. */
typedef struct subject {
  shape s;
  peer_gemm gemm;
  float *a, *b, *d;
  mica_tensor *ta, *tb, *td, *view_a, *view_b;
  mica__recording *recording;
  const char *kernel;                             /* that of the launch with most to compute */
  double seconds, peer_seconds[MAX_PEERS], limit; /* which is in operations a second */
} subject;

static mica_status parse_shape(const char *text, shape *s) {
  *s = (shape){.batches = 1, .trans = "nn"};
  char first[8] = "nn", second[8] = "";
  int got = sscanf(text, " %d,%d,%d,%7[^,;],%7[^,;]", &s->m, &s->n, &s->k, first, second);
  if (got >= 4 && strlen(first) == 2 && strspn(first, "ntNT") == 2)
    memcpy(s->trans, first, 2);
  else if (got == 4)
    s->batches = atoi(first);
  if (got == 5) s->batches = atoi(second);
  if (got >= 3 && s->m > 0 && s->n > 0 && s->k > 0 && s->batches > 0) return MICA_OK;
  return mica__fail(
      MICA_E_INVALID,
      "\"%s\" is no shape; wanted M,N,K[,nn|nt|tn|tt][,BATCH], with N or T for an operand that stays as it is", text);
}

/* In memory of the kind that Mica's own buffers have: pages are not what is compared. */
static float *random_floats(const shape *s, size_t count, uint32_t seed) {
  const bool narrow = s->tf32 || s->dtype != MICA_F32;
  float *values = mica__alloc_large((count + 1) * sizeof *values);
  for (size_t i = 0; values && i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    /* 8 bits each, which every type has, so that rounding them is no error. */
    if (narrow) values[i] = rintf(values[i] * 254) / (s->dtype == MICA_I8 ? 1 : 256);
  }
  return values;
}

static mica_status make_tensor(mica_engine *engine, mica_dtype dtype, mica_shape sides, const float *data,
                               mica_tensor **tensor) {
  if (dtype == MICA_F32) return mica_tensor_create_from(engine, dtype, sides, data, tensor);
  int64_t count = 0;
  MICA_TRY(mica_shape_count(sides, &count));
  void *narrow = malloc((size_t)count * mica_dtype_size(dtype));
  if (!narrow) return mica__fail_nomem("matrices");
  for (int64_t i = 0; i < count; i++) mica__element_set(dtype, narrow, i, (double)data[i]);
  const mica_status status = mica_tensor_create_from(engine, dtype, sides, narrow, tensor);
  free(narrow);
  return status;
}

static mica_status make_operand(mica_engine *engine, mica_dtype dtype, const float *data, int batches, int rows,
                                int cols, bool transposed, mica_tensor **tensor, mica_tensor **view) {
  mica_shape as_stored = transposed ? MICA_SHAPE(batches, cols, rows) : MICA_SHAPE(batches, rows, cols);
  MICA_TRY(make_tensor(engine, dtype, as_stored, data, tensor));
  return transposed ? mica_tensor_transpose(*tensor, view) : mica_tensor_view(*tensor, as_stored, NULL, 0, view);
}

/* As a session would; what is prepacked is done once, here. */
static mica_status record(mica_engine *engine, subject *x) {
  mica__exec exec = {.constant = (isupper(x->s.trans[0]) ? 1u : 0u) | (isupper(x->s.trans[1]) ? 2u : 0u)};
  if (exec.constant) exec.prologue = mica_engine_queue(engine);
  mica_gemm_config config = mica_gemm_config_default();
  config.allow_tf32 = x->s.tf32;
  MICA_TRY(mica__recorder_create(engine, &exec.queue));
  mica_status status = mica__gemm_run(&exec, &config, x->view_a, x->view_b, NULL, NULL, x->td);
  x->recording = mica__recorder_end(exec.queue);
  MICA_TRY(status);
  const mica__launch *product = mica__recording_at(x->recording, 0);
  for (size_t i = 1; i < mica__recording_count(x->recording); i++)
    if (mica__recording_at(x->recording, i)->flops > product->flops) product = mica__recording_at(x->recording, i);
  x->kernel = mica__kernel_name(product->kernel);
  return MICA_OK;
}

static mica_status make_subject(mica_engine *engine, const shape *s, subject *x) {
  *x = (subject){.s = *s};
  bool ta = tolower(s->trans[0]) == 't', tb = tolower(s->trans[1]) == 't';
  size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k, batches = (size_t)s->batches;
  x->a = random_floats(s, batches * m * k, 1);
  x->b = random_floats(s, batches * k * n, 2);
  x->d = random_floats(s, batches * m * n, 3);
  if (!x->a || !x->b || !x->d) return mica__fail_nomem("matrices");
  /* x keeps them, though its members' addresses are given away. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
  MICA_TRY(make_operand(engine, s->dtype, x->a, s->batches, s->m, s->k, ta, &x->ta, &x->view_a));
  MICA_TRY(make_operand(engine, s->dtype, x->b, s->batches, s->k, s->n, tb, &x->tb, &x->view_b));
  MICA_TRY(make_tensor(engine, result_type(s), MICA_SHAPE(s->batches, s->m, s->n), x->d, &x->td));
  x->gemm = (peer_gemm){
      s->m, s->n, s->k, s->batches, ta, tb, x->a, x->b, x->d, x->ta, x->tb, x->td, mica_engine_queue(engine)};
  return record(engine, x);
}

static void free_subject(subject *x) {
  mica__recording_destroy(x->recording);
  mica_tensor_destroy(x->view_a);
  mica_tensor_destroy(x->view_b);
  mica_tensor_destroy(x->ta);
  mica_tensor_destroy(x->tb);
  mica_tensor_destroy(x->td);
  free(x->a);
  free(x->b);
  free(x->d);
}

static mica_status run_mica(const subject *x, int times) {
  for (int i = 0; i < times; i++) MICA_TRY(mica__recording_replay(x->recording, x->gemm.queue));
  return mica_queue_finish(x->gemm.queue);
}

/* Some elements of the result in double: what is timed is also right. */
static mica_status verify(const subject *x) {
  const shape *s = &x->s;
  size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k, count = (size_t)s->batches * m * n;
  const mica_dtype dtype = result_type(s);
  const size_t size = mica_dtype_size(dtype);
  void *got = malloc(count * size);
  if (!got) return mica__fail_nomem("a result");
  mica_status status = mica_tensor_download(x->gemm.queue, x->td, got, count * size);
  for (size_t e = 0; status == MICA_OK && e < count; e += 1 + count / 97) {
    size_t z = e / (m * n), i = e / n % m, j = e % n;
    double sum = 0, magnitude = 0;
    for (size_t l = 0; l < k; l++) {
      double left = (double)x->a[z * m * k + (x->gemm.a_transposed ? l * m + i : i * k + l)];
      double right = (double)x->b[z * k * n + (x->gemm.b_transposed ? j * k + l : l * n + j)];
      sum += left * right;
      magnitude += fabs(left * right);
    }
    const double value = mica__element_get(dtype, got, (int64_t)e);
    const double rounding = dtype == MICA_F32 || dtype == MICA_I32 ? 0 : mica__element_roundoff(dtype) * fabs(sum);
    const double summing = dtype == MICA_I32 ? 0 : 1e-6 * (4 + sqrt((double)k)) * magnitude;
    if (!(fabs(value - sum) <= summing + rounding))
      status = mica__fail(MICA_E_NUMERIC, "%d,%d,%d,%s: element %zu is %g and should be %g", s->m, s->n, s->k, s->trans,
                          e, value, sum);
  }
  free(got);
  return status;
}

/* Seconds for one product, after a first round that brings the clock to its speed. */
static mica_status sample_mica(const subject *x, int times, double *seconds) {
  double begin = bench_now();
  do MICA_TRY(run_mica(x, 1));
  while (bench_now() - begin < SAMPLE_SECONDS);
  begin = bench_now();
  MICA_TRY(run_mica(x, times));
  *seconds = (bench_now() - begin) / times;
  return MICA_OK;
}

static mica_status sample_peer(const peer *p, const subject *x, int times, double *seconds) {
  double begin = bench_now();
  bool right = true;
  do right = p->run(&x->gemm, 1);
  while (right && bench_now() - begin < SAMPLE_SECONDS);
  begin = bench_now();
  if (!right || !p->run(&x->gemm, times)) return mica__fail(MICA_E_DEVICE, "%s failed", p->name);
  *seconds = (bench_now() - begin) / times;
  return MICA_OK;
}

/* How many products a sample takes: a few of them would measure how long a waiting thread takes to wake up. */
static mica_status calibrate(const subject *x, int *times) {
  double once = 0;
  *times = 1;
  MICA_TRY(sample_mica(x, *times, &once));
  while (*times < MAX_TIMES && once * *times < SAMPLE_SECONDS / 2) {
    *times *= 2;
    MICA_TRY(sample_mica(x, *times, &once));
  }
  return MICA_OK;
}

static mica_status measure(const bench *b, const peak *limit, subject *x, double *times_memory) {
  size_t rounds = (size_t)b->rounds;
  double *limits = times_memory + (MAX_PEERS + 1) * rounds;
  int times = 1;
  MICA_TRY(calibrate(x, &times));
  MICA_TRY(verify(x));
  for (size_t round = 0; round < rounds; round++) {
    bench_wait_for_quiet();
    MICA_TRY(sample_mica(x, times, &times_memory[round]));
    MICA_TRY(peak_sample(limit, &limits[round]));
    for (size_t p = 0; rivals[p].name; p++) {
      /* A peer that is far slower need not do as many. */
      double *samples = times_memory + (p + 1) * rounds, guess = round ? samples[round - 1] : times_memory[round];
      int fewer = 1 + (int)(8 * SAMPLE_SECONDS / guess);
      MICA_TRY(sample_peer(&rivals[p], x, fewer < times ? fewer : times, &samples[round]));
      bench_rest(rivals[p].rest);
    }
  }
  x->seconds = bench_median(times_memory, rounds);
  for (size_t p = 0; rivals[p].name; p++) x->peer_seconds[p] = bench_median(times_memory + (p + 1) * rounds, rounds);
  x->limit = bench_median(limits, rounds);
  return MICA_OK;
}

/* "name":value for every peer. */
static void print_peers(const char *label, const double *values, const char *format) {
  printf("\"%s\":{", label);
  for (size_t p = 0; rivals[p].name; p++) {
    printf("%s\"%s\":", p ? "," : "", rivals[p].name);
    printf(format, values[p]);
  }
  printf("}");
}

/* Which peers these were: "versions":{...}, or "openblas 0.3.21, clblast 1.5.3". */
static void print_versions(bool json) {
  if (json) printf("\"versions\":{");
  for (size_t p = 0; rivals[p].name; p++)
    printf(json ? "%s\"%s\":\"%s\"" : "%s%s %s", !p ? "" : json ? "," : ", ", rivals[p].name, rivals[p].version());
  if (json) printf("}");
}

static void print_subject(const bench *b, const subject *x) {
  const shape *s = &x->s;
  double flops = 2.0 * s->m * s->n * s->k * s->batches, rate = flops / x->seconds, rates[MAX_PEERS] = {0},
         ratios[MAX_PEERS] = {0};
  for (size_t p = 0; rivals[p].name; p++) {
    rates[p] = flops / x->peer_seconds[p] / 1e9;
    ratios[p] = x->peer_seconds[p] / x->seconds;
  }
  if (b->json) {
    printf(
        "{\"bench\":\"gemm\",\"m\":%d,\"n\":%d,\"k\":%d,\"batch\":%d,\"trans\":\"%s\",\"impl\":\"%s\",\"gflops\":%.1f,"
        "\"of_peak\":%.3f,",
        s->m, s->n, s->k, s->batches, s->trans, x->kernel, rate / 1e9, rate / x->limit);
    print_peers("peers", rates, "%.1f");
    printf(",");
    print_peers("ratio", ratios, "%.3f");
    printf(",");
    print_versions(true);
    printf("}\n");
  } else {
    printf("%6d %6d %6d %s %3d  %-10s %8.1f  %6.2f", s->m, s->n, s->k, s->trans, s->batches, x->kernel, rate / 1e9,
           rate / x->limit);
    for (size_t p = 0; rivals[p].name; p++) printf("  %8.1f %7.2f", rates[p], ratios[p]);
    printf("  ");
    print_versions(false);
    printf("\n");
  }
  fflush(stdout);
}

/* Ratios over all shapes: sums of logarithms, and the least. */
typedef struct summary {
  double logs[MAX_PEERS], least[MAX_PEERS];
  size_t count;
} summary;

static void print_summary(const bench *b, const summary *all) {
  double means[MAX_PEERS] = {0};
  for (size_t p = 0; rivals[p].name; p++) means[p] = exp(all->logs[p] / (double)all->count);
  if (b->json) {
    printf("{\"bench\":\"gemm\",\"summary\":true,");
    print_peers("geomean_ratio", means, "%.3f");
    printf(",");
    print_peers("min_ratio", all->least, "%.3f");
    printf(",");
    print_versions(true);
    printf("}\n");
    return;
  }
  for (size_t p = 0; rivals[p].name; p++)
    printf("%s %s: geometric mean of the ratio %.3f, least %.3f, over %zu shapes\n", rivals[p].name,
           rivals[p].version(), means[p], all->least[p], all->count);
}

static mica_status bench_shape(const bench *b, const peak *limit, const char *text, summary *all,
                               double *times_memory) {
  shape s;
  subject x;
  MICA_TRY(parse_shape(text, &s));
  s.dtype = bench_dtype(b, &s.tf32);
  mica_status status = make_subject(b->engine, &s, &x);
  if (status == MICA_OK) status = measure(b, limit, &x, times_memory);
  if (status == MICA_OK) {
    print_subject(b, &x);
    for (size_t p = 0; rivals[p].name; p++) {
      double ratio = x.peer_seconds[p] / x.seconds;
      all->logs[p] += log(ratio);
      if (all->count == 0 || ratio < all->least[p]) all->least[p] = ratio;
    }
    all->count++;
  }
  free_subject(&x);
  return status;
}

/* Mica's side is a recording that is replayed, as a session does it. What the device can do when it multiplies and adds
 * and does nothing else is measured in every round, too: clocks drift. Small products are called many times between two
 * waits, on every side. Figures are medians over the rounds. */
int bench_gemm(const bench *b) {
  bool tf32 = false;
  if (bench_dtype(b, &tf32) != MICA_F32 || tf32) rivals = no_rivals;
#ifndef BENCH_WITH_OPENBLAS
  bench_peer_missing("OpenBLAS", BENCH_NOT_LINKED);
#endif
#ifndef MICA_WITH_CLBLAST
  bench_peer_missing("CLBlast", BENCH_NOT_LINKED);
#endif
  summary all = {.count = 0};
  char *shapes = strdup(b->shapes ? b->shapes : default_shapes), *rest = NULL;
  double *times_memory = calloc((size_t)b->rounds * (MAX_PEERS + 2), sizeof *times_memory);
  peak limit = {0};
  mica_status status = shapes && times_memory ? peak_create(b->engine, &limit) : mica__fail_nomem("times");
  if (status == MICA_OK && !b->json) {
    printf("     m      n      k op batch impl     GFLOP/s  of peak");
    for (size_t p = 0; rivals[p].name; p++) printf("  %8s   ratio", rivals[p].name);
    printf("\n");
  }
  for (char *text = status == MICA_OK ? strtok_r(shapes, ";", &rest) : NULL; text && status == MICA_OK;
       text = strtok_r(NULL, ";", &rest))
    status = bench_shape(b, &limit, text, &all, times_memory);
  if (status == MICA_OK && all.count) print_summary(b, &all);
  peak_free(&limit);
  free(times_memory);
  free(shapes);
  bench_ok(status);
  return 0;
}
