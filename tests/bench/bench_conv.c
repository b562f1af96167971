/* Convolutions: Mica and oneDNN take turns. */
#include "base/element.h"
#include "bench/bench.h"
#include "bench/peer_conv.h"
#include "ops/conv/conv.h"
#include "runtime/recording.h"

#include <mica/conv.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The distinct layers of ResNet-50, VGG-16, MobileNetV2 and of networks for images of 28x28 and 32x32. The first layer
 * of a network has no gradient with respect to its data; they are measured all the same. */
static const char default_cases[] =
    /* ResNet-50 */
    "n16 c3 h224 k64 r7 s2 p3;n16 c64 h56 k64 r1;n16 c64 h56 k64 r3 p1;n16 c64 h56 k256 r1;n16 c256 h56 k64 r1;"
    "n16 c256 h56 k128 r1;n16 c128 h56 k128 r3 s2 p1;n16 c128 h28 k512 r1;n16 c256 h56 k512 r1 s2;"
    "n16 c512 h28 k128 r1;n16 c128 h28 k128 r3 p1;n16 c512 h28 k256 r1;n16 c256 h28 k256 r3 s2 p1;"
    "n16 c256 h14 k1024 r1;n16 c512 h28 k1024 r1 s2;n16 c1024 h14 k256 r1;n16 c256 h14 k256 r3 p1;"
    "n16 c1024 h14 k512 r1;n16 c512 h14 k512 r3 s2 p1;n16 c512 h7 k2048 r1;n16 c1024 h14 k2048 r1 s2;"
    "n16 c2048 h7 k512 r1;n16 c512 h7 k512 r3 p1;"
    /* VGG-16 */
    "n4 c3 h224 k64 r3 p1;n4 c64 h224 k64 r3 p1;n4 c64 h112 k128 r3 p1;n4 c128 h112 k128 r3 p1;"
    "n4 c128 h56 k256 r3 p1;n4 c256 h56 k256 r3 p1;n4 c256 h28 k512 r3 p1;n4 c512 h28 k512 r3 p1;"
    "n4 c512 h14 k512 r3 p1;"
    /* MobileNetV2: the first layer, depthwise ones, then some that expand and project */
    "n16 c3 h224 k32 r3 s2 p1;n16 c32 h112 k32 r3 p1 g32;n16 c96 h112 k96 r3 s2 p1 g96;n16 c144 h56 k144 r3 p1 g144;"
    "n16 c144 h56 k144 r3 s2 p1 g144;n16 c192 h28 k192 r3 p1 g192;n16 c192 h28 k192 r3 s2 p1 g192;"
    "n16 c384 h14 k384 r3 p1 g384;n16 c576 h14 k576 r3 p1 g576;n16 c576 h14 k576 r3 s2 p1 g576;"
    "n16 c960 h7 k960 r3 p1 g960;n16 c32 h112 k16 r1;n16 c16 h112 k96 r1;n16 c96 h56 k24 r1;n16 c24 h56 k144 r1;"
    "n16 c192 h28 k32 r1;n16 c32 h28 k192 r1;n16 c64 h14 k384 r1;n16 c384 h14 k64 r1;n16 c576 h14 k96 r1;"
    "n16 c160 h7 k960 r1;n16 c960 h7 k320 r1;n16 c320 h7 k1280 r1;"
    /* 28x28: LeNet, a small network; 32x32: ResNet-18 with a stem of 3x3, and with that of ImageNet */
    "n64 c1 h28 k6 r5 p2;n64 c6 h14 k16 r5;n64 c1 h28 k32 r3 p1;n64 c32 h14 k64 r3 p1;"
    "n64 c3 h32 k64 r3 p1;n64 c64 h32 k64 r3 p1;n64 c64 h32 k128 r3 s2 p1;n64 c64 h32 k128 r1 s2;"
    "n64 c128 h16 k128 r3 p1;n64 c128 h16 k256 r3 s2 p1;n64 c256 h8 k256 r3 p1;n64 c256 h8 k512 r3 s2 p1;"
    "n64 c512 h4 k512 r3 p1;n64 c3 h32 k64 r7 s2 p3;n64 c64 h8 k64 r3 p1;n64 c128 h4 k128 r3 p1;"
    "n64 c256 h2 k256 r3 p1;n64 c512 h1 k512 r3 p1;"
    /* 32x32: MobileNetV2's depthwise layers */
    "n32 c32 h16 k32 r3 p1 g32;n32 c96 h16 k96 r3 s2 p1 g96;n32 c144 h8 k144 r3 p1 g144;n32 c144 h8 k144 r3 s2 p1 g144;"
    "n32 c192 h4 k192 r3 p1 g192;n32 c192 h4 k192 r3 s2 p1 g192;n32 c384 h2 k384 r3 p1 g384;"
    "n32 c576 h2 k576 r3 p1 g576;n32 c576 h2 k576 r3 s2 p1 g576;n32 c960 h1 k960 r3 p1 g960";

#define SAMPLE_SECONDS 2.5e-3 /* a sample lasts at least about this long */
#define WARM_UP_SECONDS 10e-3
#define MAX_TIMES 256

static const char *const pass_names[PEER_CONV_PASSES] = {"fwd", "bwd_data", "bwd_filter"};

/* One case's data, and what was measured of one pass. */
typedef struct subject {
  peer_conv conv;
  char text[96];
  mica_conv_config config;
  mica_shape shapes[3];
  mica_dtype dtype;
  float *data[3]; /* x, w, y */
  mica_tensor *tensors[3];
  mica__recording *recording;
  const char *kernel;
  double seconds, peer_seconds;
} subject;

static mica_status parse_case(const char *text, subject *s) {
  peer_conv c = {.n = 1, .groups = 1, .stride = 1, .r = 1};
  const char *at = text;
  bool good = true;
  while (good && *at) {
    char *rest = NULL;
    while (*at == ' ') at++;
    if (!*at) break;
    long value = strtol(at + 1, &rest, 10);
    int *const known[] = {&c.n, &c.c, &c.h, &c.k, &c.r, &c.stride, &c.pad, &c.groups, &c.dilation};
    const char *letter = strchr("nchkrspgd", *at);
    good = letter && rest != at + 1 && value >= 0 && value < 1 << 20;
    if (good) *known[letter - "nchkrspgd"] = (int)value;
    at = rest;
  }
  good = good && c.n > 0 && c.c > 0 && c.h > 0 && c.k > 0 && c.r > 0 && c.stride > 0 && c.groups > 0;
  if (c.dilation == 0) c.dilation = 1;
  if (good) c.p = (c.h + 2 * c.pad - (c.r - 1) * c.dilation - 1) / c.stride + 1;
  if (!good || c.p < 1 || c.c % c.groups || c.k % c.groups)
    return mica__fail(MICA_E_INVALID,
                      "\"%s\" is no case; wanted nN cC hH kK [rR] [sSTRIDE] [pPAD] [gGROUPS] [dDILATION]", text);
  s->conv = c;
  snprintf(s->text, sizeof s->text, "n%d c%d h%d k%d r%d s%d p%d", c.n, c.c, c.h, c.k, c.r, c.stride, c.pad);
  size_t end = strlen(s->text);
  if (c.groups > 1) end += (size_t)snprintf(s->text + end, sizeof s->text - end, " g%d", c.groups);
  if (c.dilation > 1) snprintf(s->text + end, sizeof s->text - end, " d%d", c.dilation);
  s->config = (mica_conv_config){
      .stride = {c.stride, c.stride}, .pad = {c.pad, c.pad}, .dilation = {c.dilation, c.dilation}, .groups = c.groups};
  s->shapes[0] = MICA_SHAPE(c.n, c.c, c.h, c.h);
  s->shapes[1] = MICA_SHAPE(c.k, c.c / c.groups, c.r, c.r);
  s->shapes[2] = MICA_SHAPE(c.n, c.k, c.p, c.p);
  return MICA_OK;
}

/* A tensor's data as it was before a pass wrote over it. */
static mica_status put_data(const bench *b, const subject *s, int t) {
  const int64_t count = mica_tensor_count(s->tensors[t]);
  const size_t bytes = (size_t)count * mica_dtype_size(s->dtype);
  if (s->dtype == MICA_F32) return mica_tensor_upload(b->queue, s->tensors[t], s->data[t], bytes);
  void *narrow = malloc(bytes);
  if (!narrow) return mica__fail_nomem("a tensor");
  for (int64_t i = 0; i < count; i++) mica__element_set(s->dtype, narrow, i, (double)s->data[t][i]);
  const mica_status status = mica_tensor_upload(b->queue, s->tensors[t], narrow, bytes);
  free(narrow);
  return status;
}

static mica_status make_data(const bench *b, subject *s) {
  bool tf32 = false;
  s->dtype = bench_dtype(b, &tf32);
  s->config.allow_tf32 = tf32;
  const bool narrow = tf32 || s->dtype != MICA_F32;
  for (uint32_t t = 0; t < 3; t++) {
    int64_t count = 0;
    uint32_t seed = t + 1;
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_shape_count(s->shapes[t], &count));
    s->data[t] = malloc((size_t)count * sizeof(float));
    if (!s->data[t]) return mica__fail_nomem("a tensor");
    for (int64_t i = 0; i < count; i++) {
      seed = seed * 1664525u + 1013904223u;
      s->data[t][i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
      /* 8 bits each, which every type has, so that rounding them is no error. */
      if (narrow) s->data[t][i] = rintf(s->data[t][i] * 256) / 256;
    }
    MICA_TRY(mica_tensor_create(b->engine, s->dtype, s->shapes[t], &tensor));
    s->tensors[t] = tensor;
    MICA_TRY(put_data(b, s, (int)t));
  }
  s->conv.x = s->data[0];
  s->conv.w = s->data[1];
  s->conv.y = s->data[2];
  return MICA_OK;
}

static void free_subject(subject *s) {
  for (int t = 0; t < 3; t++) {
    mica_tensor_destroy(s->tensors[t]);
    free(s->data[t]);
  }
}

/* As a session would: forward, filters stay as they are, and what is computed from them alone is made once, here. */
static mica_status queue_pass(const bench *b, mica_queue *queue, const subject *s, peer_conv_pass pass) {
  mica_tensor *const *t = s->tensors;
  const mica__exec inference = {.queue = queue, .constant = 2, .prologue = b->queue};
  switch (pass) {
  case PEER_CONV_FWD: return mica__conv_run(&inference, MICA__CONV_FWD, 0, &s->config, t[0], t[1], NULL, t[2]);
  case PEER_CONV_BWD_DATA: return mica_op_conv_bwd_data(queue, &s->config, t[2], t[1], NULL, t[0]);
  default: return mica_op_conv_bwd_filter(queue, &s->config, t[0], t[2], t[1]);
  }
}

/* The name of the launch with the most arithmetic: others pack and transform. */
static const char *main_kernel(const mica__recording *recording) {
  const mica__launch *most = mica__recording_at(recording, 0);
  for (size_t i = 1; i < mica__recording_count(recording); i++)
    if (mica__recording_at(recording, i)->flops > most->flops) most = mica__recording_at(recording, i);
  return mica__kernel_name(most->kernel);
}

static mica_status record(const bench *b, subject *s, peer_conv_pass pass) {
  mica_queue *recorder = NULL;
  MICA_TRY(mica__recorder_create(b->engine, &recorder));
  mica_status status = queue_pass(b, recorder, s, pass);
  s->recording = mica__recorder_end(recorder);
  MICA_TRY(status);
  s->kernel = main_kernel(s->recording);
  return MICA_OK;
}

static mica_status run_mica(const bench *b, const subject *s, int times) {
  for (int i = 0; i < times; i++) MICA_TRY(mica__recording_replay(s->recording, b->queue));
  return mica_queue_finish(b->queue);
}

static const int result_of[PEER_CONV_PASSES] = {2, 0, 1};

/* What is timed is also right: Mica's result and the peer's at some positions against the sum in double. */
static mica_status verify(const bench *b, const subject *s, peer_conv_pass pass, const float *peer) {
  int result = result_of[pass];
  int64_t count = mica_tensor_count(s->tensors[result]);
  const size_t bytes = (size_t)count * mica_dtype_size(s->dtype);
  void *got = malloc(bytes);
  if (!got) return mica__fail_nomem("a result");
  mica__conv_dims dims;
  mica_status status = mica__conv_dims_of(&s->config, s->shapes[0], s->shapes[1], NULL, &dims);
  if (status == MICA_OK) status = mica_tensor_download(b->queue, s->tensors[result], got, bytes);
  const float *first = s->data[pass == PEER_CONV_BWD_DATA], *second = s->data[pass == PEER_CONV_FWD ? 1 : 2];
  for (int64_t i = 0; status == MICA_OK && i < count; i += 1 + count / 61) {
    double magnitude,
        want = mica__conv_reference_at(&dims, (mica__conv_pass)pass, MICA_F32, first, second, i, &magnitude),
        bound = 3e-5 * magnitude + 1e-6, own = mica__element_get(s->dtype, got, i);
    const double rounding = s->dtype == MICA_F32 ? 0 : mica__element_roundoff(s->dtype) * fabs(want);
    if (!(fabs(own - want) <= bound + rounding))
      status = mica__fail(MICA_E_NUMERIC, "%s %s by %s: element %lld is %g, not %g", s->text, pass_names[pass],
                          s->kernel, (long long)i, own, want);
    else if (peer && !(fabs(peer[i] - want) <= bound))
      status = mica__fail(MICA_E_NUMERIC, "%s %s by onednn: element %lld is %g, not %g", s->text, pass_names[pass],
                          (long long)i, (double)peer[i], want);
  }
  free(got);
  return status;
}

static mica_status sample(const bench *b, const subject *s, peer_conv_run *peer, int times, double *seconds) {
  double begin = bench_now();
  bool right = true;
  for (int i = 0; right && i < times; i++)
    if (peer) right = peer_conv_execute(peer);
  if (peer) right = right && peer_conv_wait(peer);
  if (!right) return mica__fail(MICA_E_DEVICE, "onednn failed");
  if (!peer) MICA_TRY(run_mica(b, s, times));
  *seconds = (bench_now() - begin) / times;
  return MICA_OK;
}

/* A turn's first runs bring its own data back into the caches, and processors that slept back to their speed: without
 * them whoever comes first after a rest takes up to four times as long. They also find how many times make a sample:
 * a few short ones would measure how long a waiting thread takes to wake up. */
static mica_status warm_up(const bench *b, const subject *s, peer_conv_run *peer, int *times) {
  double begin = bench_now(), seconds;
  do {
    MICA_TRY(sample(b, s, peer, *times, &seconds));
    if (seconds * *times < SAMPLE_SECONDS && *times < MAX_TIMES) *times *= 2;
  } while (bench_now() - begin < WARM_UP_SECONDS);
  return MICA_OK;
}

static mica_status measure(const bench *b, subject *s, peer_conv_pass pass, peer_conv_run *peer, double *samples) {
  size_t rounds = (size_t)b->rounds;
  double once = 0;
  MICA_TRY(sample(b, s, NULL, 1, &once));
  float *peer_result = peer ? peer_conv_result(peer) : NULL;
  mica_status status = verify(b, s, pass, peer_result);
  free(peer_result);
  MICA_TRY(status);
  int times = 1, peer_times = 1;
  for (size_t round = 0; round < rounds; round++) {
    bench_wait_for_quiet();
    MICA_TRY(warm_up(b, s, NULL, &times));
    MICA_TRY(sample(b, s, NULL, times, &samples[round]));
    if (!peer) continue;
    MICA_TRY(warm_up(b, s, peer, &peer_times));
    MICA_TRY(sample(b, s, peer, peer_times, &samples[rounds + round]));
    bench_rest(PEER_CONV_REST);
  }
  s->seconds = bench_median(samples, rounds);
  s->peer_seconds = peer ? bench_median(samples + rounds, rounds) : 0;
  return MICA_OK;
}

/* Where the time of a pass goes: packing, transforms, products. */
static mica_status print_profile(const bench *b, const subject *s) {
  mica_profile_row rows[8];
  size_t count = 0;
  MICA_TRY(mica_profile_start(b->engine));
  mica_status status = run_mica(b, s, b->rounds);
  MICA_TRY(mica_profile_stop(b->engine));
  MICA_TRY(status);
  MICA_TRY(mica_profile_rows(b->engine, rows, sizeof rows / sizeof *rows, &count));
  for (size_t i = 0; i < count; i++)
    fprintf(stderr, "  %10.1f us %8.1f GFLOP/s %6.1f GB/s  %s\n", rows[i].seconds / b->rounds * 1e6,
            rows[i].flops / rows[i].seconds * 1e-9, rows[i].bytes / rows[i].seconds * 1e-9, rows[i].kernel);
  return MICA_OK;
}

typedef struct summary {
  double logs, least;
  size_t count;
} summary;

static void print_subject(const bench *b, const subject *s, peer_conv_pass pass, summary *all) {
  const peer_conv *c = &s->conv;
  double flops = 2.0 * c->n * c->k * (c->c / c->groups) * c->r * c->r * c->p * c->p;
  double own = flops / s->seconds / 1e9, peer = s->peer_seconds > 0 ? flops / s->peer_seconds / 1e9 : 0;
  double ratio = s->peer_seconds / s->seconds;
  if (b->json) {
    printf("{\"bench\":\"conv\",\"case\":\"%s\",\"pass\":\"%s\",\"impl\":\"%s\",\"gflops\":%.1f,\"peers\":{", s->text,
           pass_names[pass], s->kernel, own);
    if (peer > 0)
      printf("\"onednn\":%.1f},\"ratio\":{\"onednn\":%.3f},\"versions\":{\"onednn\":\"%s\"}}\n", peer, ratio,
             peer_conv_version());
    else
      printf("},\"ratio\":{},\"versions\":{}}\n");
  } else {
    printf("%-34s %-10s %-28s %8.1f %8.1f %7.2f  %s%s\n", s->text, pass_names[pass], s->kernel, own, peer, ratio,
           peer > 0 ? "onednn " : "no onednn", peer > 0 ? peer_conv_version() : "");
  }
  fflush(stdout);
  if (peer <= 0) return;
  all->logs += log(ratio);
  if (all->count == 0 || ratio < all->least) all->least = ratio;
  all->count++;
}

static void print_summary(const bench *b, const summary all[PEER_CONV_PASSES]) {
  for (int pass = 0; pass < PEER_CONV_PASSES; pass++) {
    double mean = exp(all[pass].logs / (double)all[pass].count);
    if (all[pass].count == 0) continue;
    if (b->json)
      printf("{\"bench\":\"conv\",\"summary\":true,\"pass\":\"%s\",\"cases\":%zu,\"geomean_ratio\":{\"onednn\":%.3f},"
             "\"min_ratio\":{\"onednn\":%.3f},\"versions\":{\"onednn\":\"%s\"}}\n",
             pass_names[pass], all[pass].count, mean, all[pass].least, peer_conv_version());
    else
      printf("%s against onednn %s: geometric mean of the ratio %.3f, least %.3f, over %zu cases\n", pass_names[pass],
             peer_conv_version(), mean, all[pass].least, all[pass].count);
  }
}

static mica_status bench_pass(const bench *b, subject *s, peer_conv_pass pass, summary *all) {
  double *samples = calloc(2 * (size_t)b->rounds, sizeof *samples);
  if (!samples) return mica__fail_nomem("times");
  /* Before Mica writes its result over the data that both begin with. */
  const bool alone = s->dtype != MICA_F32 || s->config.allow_tf32;
  peer_conv_run *peer = alone ? NULL : peer_conv_create(&s->conv, pass);
  mica_status status = record(b, s, pass);
  if (status == MICA_OK) status = measure(b, s, pass, peer, samples);
  if (status == MICA_OK) print_subject(b, s, pass, all);
  if (status == MICA_OK && b->profile) status = print_profile(b, s);
  /* The operands of the next pass are what they were. */
  int result = result_of[pass];
  if (status == MICA_OK) status = put_data(b, s, result);
  mica__recording_destroy(s->recording);
  s->recording = NULL;
  peer_conv_destroy(peer);
  free(samples);
  return status;
}

/* The implementation that takes a pass, with those left out that are. */
static mica_status chosen(const bench *b, const subject *s, peer_conv_pass pass, const char **name) {
  mica__conv conv;
  char key[MICA__TUNING_TEXT];
  MICA_TRY(mica__conv_problem(b->queue, (mica__conv_pass)pass, &s->config, s->tensors[0], s->tensors[1], s->tensors[2],
                              NULL, &conv));
  mica__conv_key(&conv, key);
  *name = mica__choose(b->engine, mica__conv_impls[pass], &conv, key).impl->name;
  return MICA_OK;
}

/* Both recordings take turns, and both results are right. */
static mica_status measure_both(const bench *b, subject *s, peer_conv_pass pass, mica__recording *const both[2],
                                double *samples) {
  size_t rounds = (size_t)b->rounds;
  int times[2] = {1, 1};
  double once;
  for (int i = 0; i < 2; i++) {
    s->recording = both[i];
    MICA_TRY(sample(b, s, NULL, 1, &once));
    MICA_TRY(verify(b, s, pass, NULL));
  }
  for (size_t round = 0; round < rounds; round++) {
    bench_wait_for_quiet();
    for (int i = 0; i < 2; i++) {
      s->recording = both[i];
      MICA_TRY(warm_up(b, s, NULL, &times[i]));
      MICA_TRY(sample(b, s, NULL, times[i], &samples[(size_t)i * rounds + round]));
    }
  }
  return MICA_OK;
}

/* Times of 0 were not measured. */
static void report_gain(const bench *b, const subject *s, peer_conv_pass pass, const char *own, const char *other,
                        double with, double without) {
  double gain = with > 0 ? without / with : INFINITY;
  if (!b->json)
    printf("%-34s %-10s %-28s %-28s %9.1f %6.2f\n", s->text, pass_names[pass], own, other, with * 1e6, gain);
  else
    printf("{\"bench\":\"conv\",\"case\":\"%s\",\"pass\":\"%s\",\"impl\":\"%s\",\"instead\":\"%s\",\"us\":%.1f,"
           "\"gain\":%.3f}\n",
           s->text, pass_names[pass], own, other, with * 1e6, with > 0 ? gain : 0);
  fflush(stdout);
}

/* What a layer's implementation is worth: the time that others take without it, over its own. */
static mica_status bench_without(const bench *b, subject *s, peer_conv_pass pass, const char *own, double *samples) {
  mica__recording *both[2] = {NULL, NULL};
  const char *other = NULL;
  mica_status status = record(b, s, pass);
  both[0] = s->recording;
  for (const char *const *name = b->leave_out; *name; name++)
    mica__choice_leave_out(!strcmp(*name, "each") ? own : *name);
  if (status == MICA_OK) status = chosen(b, s, pass, &other);
  s->recording = NULL;
  /* Nobody waits for the reference: beside it any implementation is worth its place. */
  bool alone = status == MICA_OK && !strcmp(other, "conv_ref");
  if (alone) report_gain(b, s, pass, own, other, 0, 0);
  if (status == MICA_OK && !alone && strcmp(own, other) != 0) status = record(b, s, pass);
  both[1] = s->recording;
  mica__choice_leave_out(NULL);
  if (status == MICA_OK && both[1]) {
    status = measure_both(b, s, pass, both, samples);
    double with = bench_median(samples, (size_t)b->rounds);
    double without = bench_median(samples + b->rounds, (size_t)b->rounds);
    if (status == MICA_OK) report_gain(b, s, pass, own, other, with, without);
  }
  for (int i = 0; i < 2; i++) mica__recording_destroy(both[i]);
  s->recording = NULL;
  return status;
}

static mica_status bench_leave_out(const bench *b, subject *s, peer_conv_pass pass) {
  const char *own = NULL;
  double *samples = calloc(2 * (size_t)b->rounds, sizeof *samples);
  if (!samples) return mica__fail_nomem("times");
  mica_status status = chosen(b, s, pass, &own);
  if (status == MICA_OK) status = bench_without(b, s, pass, own, samples);
  int result = result_of[pass];
  if (status == MICA_OK) status = put_data(b, s, result);
  free(samples);
  return status;
}

static mica_status bench_case(const bench *b, const char *text, summary all[PEER_CONV_PASSES]) {
  subject s = {.text = ""};
  MICA_TRY(parse_case(text, &s));
  mica_status status = make_data(b, &s);
  for (int pass = 0; status == MICA_OK && pass < PEER_CONV_PASSES; pass++)
    if (!b->pass || !strcmp(b->pass, "all") || !strcmp(b->pass, pass_names[pass]))
      status = b->leave_out[0] ? bench_leave_out(b, &s, (peer_conv_pass)pass)
                               : bench_pass(b, &s, (peer_conv_pass)pass, &all[pass]);
  free_subject(&s);
  return status;
}

/* Mica's side is a recording that is replayed, as a session does it: forward as one that only infers, with filters that
 * stay as they are; backward to the data as one that trains, which transforms them each time. The peer has its blocked
 * formats in both, and reorders outside its timing. Figures are medians over the rounds. */
int bench_conv(const bench *b) {
  bool known = !b->pass || !strcmp(b->pass, "all");
  for (int pass = 0; pass < PEER_CONV_PASSES; pass++) known = known || !strcmp(b->pass, pass_names[pass]);
  if (!known) {
    fprintf(stderr, "mica-bench: there is no --pass '%s'; there are fwd, bwd_data, bwd_filter, all\n", b->pass);
    return 2;
  }
  if (!peer_conv_version()) bench_peer_missing("oneDNN", BENCH_NOT_LINKED);
  summary all[PEER_CONV_PASSES] = {{.count = 0}};
  char *cases = strdup(b->cases ? b->cases : default_cases), *rest = NULL;
  mica_status status = cases ? MICA_OK : mica__fail_nomem("cases");
  if (status == MICA_OK && !b->json && b->leave_out[0])
    printf("%-34s %-10s %-28s %-28s %9s   gain\n", "case", "pass", "impl", "instead", "us");
  else if (status == MICA_OK && !b->json)
    printf("%-34s %-10s %-28s  GFLOP/s   onednn   ratio\n", "case", "pass", "impl");
  for (char *text = status == MICA_OK ? strtok_r(cases, ";", &rest) : NULL; text && status == MICA_OK;
       text = strtok_r(NULL, ";", &rest))
    status = bench_case(b, text, all);
  if (status == MICA_OK) print_summary(b, all);
  free(cases);
  bench_ok(status);
  return 0;
}
