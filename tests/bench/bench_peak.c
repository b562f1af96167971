/* What the device can do when it does nothing but multiply and add. */
#include "bench/bench.h"
#include "runtime/launch.h"

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

static mica_status measure(const bench *b, double *flops) {
  const mica_device_info *device = mica_engine_device(b->engine);
  bool cpu = mica__kernel_class(device) == MICA__ON_CPU;
  int64_t items = (int64_t)device->compute_units * (cpu ? 1 : 4096);
  int width = !cpu ? 1 : device->vector_bytes >= 64 ? 16 : device->vector_bytes >= 32 ? 8 : 4;
  int32_t steps = cpu ? 400000 : 20000;
  mica_queue *queue = mica_engine_queue(b->engine);
  mica__kernel *kernel = NULL;
  mica_tensor *x = NULL;
  char options[64];
  snprintf(options, sizeof options,
           cpu ? "-DSUMS=%d -DV=float%d -DLANE(v)=(v).s0" : "-DSUMS=%d -DV=float -DLANE(v)=(v)", SUMS, width);
  mica_status status = mica__kernel_get_source(b->engine, "peak", source, options, &kernel);
  if (status == MICA_OK) status = mica_tensor_create(b->engine, MICA_F32, MICA_SHAPE(items + 16), &x);
  if (status == MICA_OK) status = mica_op_fill_fwd(queue, 0.5, x);
  if (status == MICA_OK) status = mica_queue_finish(queue);
  double *seconds = calloc((size_t)b->rounds, sizeof *seconds);
  if (status == MICA_OK && !seconds) status = mica__fail_nomem("times");
  /* Before the first round: compile, and let the clock settle. */
  for (int round = -2; status == MICA_OK && round < b->rounds; round++) {
    mica__launch launch = mica__launch_of(kernel);
    mica__launch_int(&launch, steps);
    mica__launch_tensor(&launch, x);
    mica__launch_range1(&launch, items, cpu ? 1 : 64);
    double begin = bench_now();
    status = mica__queue_submit(queue, &launch);
    if (status == MICA_OK) status = mica_queue_finish(queue);
    if (round >= 0) seconds[round] = bench_now() - begin;
  }
  if (status == MICA_OK)
    *flops = 2 * SUMS * width * (double)steps * (double)items / bench_median(seconds, (size_t)b->rounds);
  free(seconds);
  mica_tensor_destroy(x);
  return status;
}

int bench_peak(const bench *b) {
  double flops = 0;
  bench_wait_for_quiet();
  bench_ok(measure(b, &flops));
  printf(b->json ? "{\"bench\":\"peak\",\"type\":\"f32\",\"gflops\":%.1f}\n" : "%.1f GFLOP/s of f32 multiply-adds\n",
         flops / 1e9);
  return 0;
}
