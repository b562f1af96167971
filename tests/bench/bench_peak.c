/* What the device can do when it does nothing but multiply and add. */
#include "bench/peak.h"

#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

/* SUMS chains that do not wait for one another, as many as hide the latency of a multiply-add. */
static const char source[] = "#define UNROLL _Pragma(\"unroll\")\n"
                             "__kernel void peak(const int steps, __global float *x, const long x_at) {\n"
                             "  V sums[SUMS];\n"
                             "  const V a = (V)(x[x_at]), b = (V)(x[x_at + 1]);\n"
                             "  UNROLL for (int i = 0; i < SUMS; i++) sums[i] = (V)((float)i);\n"
                             "  for (int k = 0; k < steps; k++) UNROLL for (int i = 0; i < SUMS; i++)\n"
                             "    sums[i] = fma(sums[i], a, b);\n"
                             "  V sum = (V)(0.0f);\n"
                             "  UNROLL for (int i = 0; i < SUMS; i++) sum += sums[i];\n"
                             "  x[x_at + 16 + get_global_id(0)] = LANE(sum);\n"
                             "}\n";
#define SUMS 12

#define LAUNCHES 4 /* of a sample, so that starting and waiting do not show */

mica_status peak_create(mica_engine *engine, peak *p) {
  const mica_device_info *device = mica_engine_device(engine);
  bool cpu = mica__kernel_class(device) == MICA__ON_CPU;
  int width = !cpu ? 1 : device->vector_bytes >= 64 ? 16 : device->vector_bytes >= 32 ? 8 : 4;
  *p = (peak){.queue = mica_engine_queue(engine),
              .items = (int64_t)device->compute_units * (cpu ? 1 : 4096),
              .group = cpu ? 1 : 64,
              .steps = cpu ? 400000 : 20000};
  p->flops = 2 * SUMS * width * (double)p->steps * (double)p->items;
  char options[64];
  snprintf(options, sizeof options,
           cpu ? "-DSUMS=%d -DV=float%d -DLANE(v)=(v).s0" : "-DSUMS=%d -DV=float -DLANE(v)=(v)", SUMS, width);
  MICA_TRY(mica__kernel_get_source(engine, "peak", source, options, &p->kernel));
  MICA_TRY(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(p->items + 16), &p->x));
  return mica_op_fill(p->queue, 0.5, p->x);
}

void peak_free(peak *p) { mica_tensor_destroy(p->x); }

mica_status peak_sample(const peak *p, double *rate) {
  mica__launch launch = mica__launch_of(p->kernel);
  mica__launch_int(&launch, p->steps);
  mica__launch_tensor(&launch, p->x);
  mica__launch_range1(&launch, p->items, p->group);
  MICA_TRY(mica_queue_finish(p->queue));
  double begin = bench_now();
  for (int i = 0; i < LAUNCHES; i++) MICA_TRY(mica__queue_submit(p->queue, &launch));
  MICA_TRY(mica_queue_finish(p->queue));
  *rate = LAUNCHES * p->flops / (bench_now() - begin);
  return MICA_OK;
}

static mica_status measure(const bench *b, double *rates) {
  peak p;
  mica_status status = peak_create(b->engine, &p);
  /* Before the first round the clock settles. */
  for (int round = -2; status == MICA_OK && round < b->rounds; round++)
    status = peak_sample(&p, &rates[round < 0 ? 0 : round]);
  peak_free(&p);
  return status;
}

int bench_peak(const bench *b) {
  double *rates = calloc((size_t)b->rounds, sizeof *rates);
  bench_wait_for_quiet();
  bench_ok(rates ? measure(b, rates) : mica__fail_nomem("rates"));
  printf(b->json ? "{\"bench\":\"peak\",\"type\":\"f32\",\"gflops\":%.1f}\n" : "%.1f GFLOP/s of f32 multiply-adds\n",
         bench_median(rates, (size_t)b->rounds) / 1e9);
  free(rates);
  return 0;
}
