/* How long a launch takes on a device that does not exist. */
#include "bench/device.h"

#include "base/arith.h"
#include "cl/conv/fields.clh"
#include "ops/conv/conv.h"
#include "ops/matmul/gemm.h"
#include "ops/select/mma.h"
#include "runtime/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Launches shorter than this are not over sooner: the way of a load there and back, and a wave of groups. */
#define SHORTEST 2e-6
/* Bytes that a work-item has under way, and cycles until they are there: with few groups a device waits for them. */
#define UNDER_WAY 16.0
#define LATENCY 550.0
/* Shares of the peak of kernels that are no tiles: a depthwise convolution's work-item executes 500 instructions for 36
 * multiply-adds, its gradient's 168 for 9. An SM of sm_80 begins twice as many of them as it has multiply-adds, other
 * units as many. */
#define DEPTHWISE_SHARE (36.0 / 500)
#define DEPTHWISE_WGRAD_SHARE (9.0 / 168)
#define OTHER_SHARE 0.25

/* A kernel of tiles, which of its arguments tell the depth that each of its groups walks over, and the multiply-adds a
 * second that it reached on the device that was measured (device.h) of those that the model of its schedulers gives it.
 * The model plays what clang and ptxas make of the main loop. Loops that are nearly all multiply-adds (88 to 92 % in
 * products) are as fast as played. Those with offsets and bounds between them are not, the implicit product of 62 to
 * 85 % less so than the weight gradient of 54 to 73 %: the driver's own compiler may make something else of gathers,
 * which nobody has looked at. Fitted to steps of ResNet-18 and -50 and cubes of 4,096 (RESULTS.md, "Steps on a GPU that
 * is not there"). */
typedef struct tiled {
  const mica__tile_kernel *kernel;
  int64_t (*depth)(const mica__tile *tile, const bench_launch *launch);
  double reached;
} tiled;

static int64_t product_depth(const mica__tile *t, const bench_launch *l) {
  const int64_t batches = l->ints[0][0], m = l->ints[1][0], n = l->ints[2][0], k = l->ints[3][0];
  const int64_t tiles = mica__ceil_div(m, t->m) * mica__ceil_div(n, t->n) * batches;
  const int64_t parts = tiles > 0 ? mica__max(1, (int64_t)l->groups / tiles) : 1;
  return mica__ceil_div(mica__ceil_div(k, t->k), parts) * t->k;
}

/* Eight ints of a launch by the names that its kernel has for them. */
MICA__FIELDS(phase_fields, PHASE_SIZE);
MICA__FIELDS(own_fields, PHASE_OWN);
MICA__FIELDS(mma_fields, GPU_MMA_SIZE);
MICA__FIELDS(size_fields, CONV_SIZE);
MICA__FIELDS(extent_fields, CONV_EXTENT);
MICA__FIELDS(split_fields, GPU_WGRAD_SPLIT);
#define NAMED(fields, list)                                                                                            \
  (fields) {                                                                                                           \
    .values = {(list)[0], (list)[1], (list)[2], (list)[3], (list)[4], (list)[5], (list)[6], (list)[7] }                \
  }

/* What a launch of up to four phases has first: PHASE_SIZE, PHASE_OWN of the first, two more, that of the others, and
 * PHASE_BEGINS. */
enum { OWN_FIRST = 1, OWN_OTHERS = 3, BEGINS = 7, MMA_SIZE = 8 };

static int64_t phase_depth(const mica__tile *t, const bench_launch *l) {
  const int32_t *begins = l->ints[BEGINS], *depths = begins + 4;
  int64_t steps = 0, groups = (int64_t)l->groups;
  for (int i = 3; i >= 0; i--) {
    if (begins[i] >= groups) continue;
    steps += (groups - begins[i]) * (depths[i] / t->k);
    groups = begins[i];
  }
  return mica__ceil_div(steps, mica__max(1, (int64_t)l->groups)) * t->k;
}

static int64_t pixel_depth(const mica__tile *t, const bench_launch *l) {
  const size_fields s = NAMED(size_fields, l->ints[0]);
  const extent_fields e = NAMED(extent_fields, l->ints[1]);
  const split_fields split = NAMED(split_fields, l->ints[3]);
  return mica__ceil_div(mica__ceil_div(s.N * e.O0 * e.O1 * e.O2, t->k), mica__max(1, split.SPLITS)) * t->k;
}

static const tiled kernels[] = {{&mica__gemm_gpu_tiles, product_depth, 0.95},
                                {&mica__conv_gpu_implicit_gemm_tiles, phase_depth, 0.6},
                                {&mica__conv_gpu_wgrad_implicit_gemm_tiles, pixel_depth, 0.83}};

/* Kernels on matrix units, and the steps of a tile that each of their groups takes. */
typedef struct united {
  const mica__kernel_desc *desc;
  int64_t (*steps)(const bench_launch *launch, int64_t piece);
} united;

static int64_t product_steps(const bench_launch *l, int64_t piece) {
  return mica__ceil_div(l->ints[3][0], MICA__MMA_STEP * piece);
}

/* The mean over phases, as conv_gpu_mma counts them: taps times pieces of channels. */
static int64_t phase_steps(const bench_launch *l, int64_t piece) {
  const int32_t *begins = l->ints[BEGINS];
  const phase_fields s = NAMED(phase_fields, l->ints[0]);
  const mma_fields size = NAMED(mma_fields, l->ints[MMA_SIZE]);
  int64_t steps = 0, groups = (int64_t)l->groups;
  for (int i = 3; i >= 0; i--) {
    const own_fields own = NAMED(own_fields, l->ints[i ? OWN_OTHERS + i : OWN_FIRST]);
    const int64_t depth = s.TAPS0 * own.TAPS1 * own.TAPS2 * mica__ceil_div(s.CG, piece);
    if (begins[i] >= groups) continue;
    steps += (groups - begins[i]) * mica__ceil_div(mica__ceil_div(depth, MICA__MMA_STEP), mica__max(1, size.SPLITS));
    groups = begins[i];
  }
  return mica__ceil_div(steps, mica__max(1, (int64_t)l->groups));
}

static int64_t pixel_steps(const bench_launch *l, int64_t piece) {
  const split_fields split = NAMED(split_fields, l->ints[3]);
  (void)piece;
  return split.STEPS;
}

static const united unit_kernels[] = {{&mica__gemm_mma_kernel, product_steps},
                                      {&mica__conv_gpu_mma_kernel, phase_steps},
                                      {&mica__conv_gpu_wgrad_mma_kernel, pixel_steps}};

static const united *united_of(const bench_launch *l) {
  for (size_t i = 0; i < sizeof unit_kernels / sizeof *unit_kernels; i++)
    if (strcmp(unit_kernels[i].desc->name, l->name) == 0) return &unit_kernels[i];
  return NULL;
}

/* The values of a kernel's parameters in build options. */
static void read_values(const mica__kernel_desc *desc, const char *options, int32_t *values) {
  mica__kernel_values(desc, &desc->variants[0], values);
  for (int i = 0; i < desc->param_count; i++) {
    char word[64];
    int value = 0;
    snprintf(word, sizeof word, "-D%s=", desc->params[i].macro);
    const char *at = strstr(options, word);
    if (at && desc->params[i].kind != MICA__PARAM_DTYPE && sscanf(at + strlen(word), "%d", &value) == 1)
      values[i] = value;
  }
}

static bool same_tile(const mica__tile *a, const mica__tile *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->micro_m == b->micro_m && a->threads == b->threads;
}

static const tiled *tiled_of(const bench_launch *l) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (strcmp(kernels[i].kernel->desc->name, l->name) == 0) return &kernels[i];
  return NULL;
}

/* Multiply-adds that a unit could do meanwhile. */
static double tile_cost(const tiled *k, const mica_device_info *info, const bench_launch *l) {
  const mica__kernel_desc *desc = k->kernel->desc;
  int32_t values[MICA__MAX_PARAMS];
  read_values(desc, l->options, values);
  const mica__tile t = mica__tile_of(desc, values);
  const mica__tile_speed *speed = NULL;
  for (int v = 0; v < desc->variant_count && !speed; v++) {
    const mica__tile known = mica__tile_of(desc, desc->variants[v].values);
    if (same_tile(&known, &t)) speed = &k->kernel->speeds[v];
  }
  const mica__tiled product = {t.m, t.n * (int64_t)l->groups, k->depth(&t, l), 1};
  return mica__tile_cost(&t, speed, &product, 1, info);
}

static double united_seconds(const united *k, const bench_device *d, const mica_device_info *info,
                             const bench_launch *l) {
  const bool narrow = strstr(l->options, "D_T=f16") || strstr(l->options, "D_T=bf16");
  const int64_t piece = narrow ? 8 : 4;
  int32_t values[MICA__MAX_PARAMS];
  read_values(k->desc, l->options, values);
  const mica__mma_tile tile = mica__mma_tile_of(k->desc, values);
  const mica__tiled product = {tile.m, tile.n * (int64_t)l->groups, k->steps(l, piece), 1};
  const double adds = mica__mma_cost(tile, &product, 1, info) * (double)(MICA__MMA_STEP * piece);
  return adds / (d->matrix / (narrow ? 2 : 4) / d->units * d->reached[!narrow]);
}

static double share_of(const bench_device *d, const char *kernel) {
  if (!strstr(kernel, "depthwise")) return OTHER_SHARE;
  return (strstr(kernel, "wgrad") ? DEPTHWISE_WGRAD_SHARE : DEPTHWISE_SHARE) * (d->capability == 80 ? 2 : 1);
}

double bench_launch_seconds(const bench_device *d, const mica_device_info *info, const bench_launch *l, double flops,
                            double bytes) {
  const double cycles = d->megahertz * 1e6, unit = d->flops / 2 / d->units; /* multiply-adds of a unit a second */
  const double traffic = bytes / (BENCH_BYTES_SHARE * d->bytes);
  const tiled *k = tiled_of(l);
  if (k) {
    const double played = tile_cost(k, info, l) / unit;
    /* The model hides all bytes behind multiply-adds. What was measured did not: groups that start together wait, and
     * write, together. */
    const double seconds = d->clock > 0 ? played / (d->clock * k->reached) + traffic : fmax(played, traffic);
    return fmax(seconds, SHORTEST);
  }
  const united *on_units = d->matrix > 0 ? united_of(l) : NULL;
  if (on_units) {
    const double played = united_seconds(on_units, d, info, l);
    return fmax(d->clock > 0 ? played + traffic : fmax(played, traffic), SHORTEST);
  }
  const double items = (double)l->groups * (double)l->threads;
  const double waiting = bytes / (items * UNDER_WAY * cycles / LATENCY);
  return fmax(fmax(traffic, waiting), fmax(flops / (share_of(d, l->name) * d->flops), SHORTEST));
}
