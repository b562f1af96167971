/* labels: device single
 *
 * Launches in parts: which parts a range has, what is never split, and ranges that devices do not take whole. */
#include "ops/layout/strided_copy.h"
#include "runtime/kernel_table.h"
#include "runtime/split.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica__kernel kernel = {.name = "walk", .file = "walk.cl", .max_group = 1024};

static const mica_device_info gpu = {.device_class = MICA_DEVICE_CLASS_GPU, .compute_units = 20, .clock_mhz = 1000};

static mica__launch launch_of(const int64_t global[3], const size_t local[3]) {
  mica__launch launch = mica__launch_of(&kernel);
  mica__launch_range3(&launch, global, local);
  return launch;
}

/* Every work-item lies in one part, and the parts within the limits. */
static mica__split check_parts(const mica__split_limits *limits, const mica__launch *launch) {
  mica__split split;
  size_t items = 1, group = 1, parts = 1;
  ck_ok(mica__split_make(limits, launch, &split));
  for (int d = 0; d < 3; d++) {
    size_t local = launch->local[d];
    ck_assert_uint_eq(split.global[d], (launch->global[d] + local - 1) / local * local);
    ck_assert_uint_eq(split.part[d] % local, 0);
    ck_assert_uint_gt(split.part[d], 0);
    ck_assert_uint_le(split.part[d], split.global[d]);
    ck_assert_uint_le(split.part[d] / local, limits->groups[d]);
    parts *= (split.global[d] + split.part[d] - 1) / split.part[d];
    items *= split.part[d];
    group *= local;
  }
  ck_assert_uint_eq(split.count, parts);
  ck_assert(items <= limits->items || items == group);
  return split;
}

START_TEST(parts_are_within_the_limits) {
  static const struct {
    int64_t global[3];
    size_t local[3];
    size_t count;
  } cases[] = {
      {{1000, 1, 1}, {64, 1, 1}, 1},
      {{64, 65535, 65535}, {64, 1, 1}, 64},
      {{1, 65536, 1}, {1, 1, 1}, 2},
      {{64, 10000000, 1}, {64, 1, 1}, 153},
      {{640000000, 1, 1}, {64, 1, 1}, 1},
      {{8, 16, 1000000}, {8, 8, 1}, 16},
      {{(int64_t)1 << 33, 1, 1}, {256, 1, 1}, 3},
  };
  mica__split_limits limits = mica__split_limits_of(&gpu);
  limits.unknown_items = SIZE_MAX;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica__launch launch = launch_of(cases[i].global, cases[i].local);
    mica__split split = check_parts(&limits, &launch);
    ck_assert_uint_eq(split.count, cases[i].count);
  }
}
END_TEST

/* 20 units of 1 GHz at 4 operations a clock do 80 G in a second, and 4 GB pass. */
START_TEST(long_launches_are_split) {
  static const struct {
    double flops, bytes;
    size_t count;
  } cases[] = {{1e9, 1e9, 1}, {79e9, 1e9, 1}, {400e9, 1e9, 5}, {1e9, 12e9, 4}, {1e15, 1, 10000}};
  mica__split_limits limits = mica__split_limits_of(&gpu);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica__launch launch = launch_of((int64_t[]){64, 100, 100}, (size_t[]){64, 1, 1});
    mica__launch_cost(&launch, cases[i].flops, cases[i].bytes);
    mica__split split = check_parts(&limits, &launch);
    ck_assert_msg(split.count == cases[i].count, "%g flops, %g bytes: %zu parts", cases[i].flops, cases[i].bytes,
                  split.count);
  }
  /* One that says nothing, by its work-items. */
  mica__launch silent = launch_of((int64_t[]){(int64_t)1 << 26, 1, 1}, (size_t[]){64, 1, 1});
  ck_assert_uint_eq(check_parts(&limits, &silent).count, 4);
  const mica_device_info cpu = {.device_class = MICA_DEVICE_CLASS_CPU, .compute_units = 2, .clock_mhz = 1000};
  limits = mica__split_limits_of(&cpu);
  silent.flops = 1e15;
  ck_assert_uint_eq(check_parts(&limits, &silent).count, 1);
}
END_TEST

START_TEST(some_launches_stay_whole) {
  mica__split_limits limits = mica__split_limits_of(&gpu);
  mica__split split;
  static mica__kernel own = {.name = "own", .max_group = 1024};
  mica__launch launch = launch_of((int64_t[]){64, 100, 1}, (size_t[]){64, 1, 1});
  launch.flops = 1e15;
  mica__launch_whole(&launch);
  ck_ok(mica__split_make(&limits, &launch, &split));
  ck_assert_uint_eq(split.count, 1);
  launch.global[1] = 65536;
  ck_assert_int_eq(mica__split_make(&limits, &launch, &split), MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "kernel walk"));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "65536"));
  launch = launch_of((int64_t[]){1, 1, 65536}, (size_t[]){1, 1, 1});
  launch.kernel = &own;
  ck_assert_int_eq(mica__split_make(&limits, &launch, &split), MICA_E_UNSUPPORTED);
}
END_TEST

enum { ROWS = 10000000 };

/* Sums of pairs of columns, a group of the third dimension for each of ten million, and a copy of narrow rows, on a GPU
 * that takes 65,535 groups there as NVIDIA's do. */
START_TEST(ten_million_groups) {
  mica_engine *engine = NULL;
  ck_assert(limited_install("class=gpu vendor=NVIDIA groups=65535"));
  ck_ok(mica_engine_create(NULL, &engine));
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL, *sums = NULL, *copy = NULL;
  int32_t *data = malloc(4 * (size_t)ROWS * sizeof *data), *got = malloc(2 * (size_t)ROWS * sizeof *got);
  size_t wrong = 0;
  ck_assert(data && got);
  for (size_t i = 0; i < 4 * (size_t)ROWS; i++) data[i] = (int32_t)(i * 2654435761u >> 13 & 0xffffff);
  ck_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(ROWS, 2, 2), data, &x));
  ck_ok(mica_tensor_create(engine, MICA_I32, MICA_SHAPE(ROWS, 2), &sums));
  ck_ok(mica_op_reduce(queue, MICA_REDUCTION_SUM, x, 1, sums));
  ck_ok(mica_tensor_download(queue, sums, got, 2 * (size_t)ROWS * sizeof *got));
  for (size_t r = 0; r < ROWS; r++)
    for (size_t c = 0; c < 2; c++) wrong += got[2 * r + c] != data[4 * r + c] + data[4 * r + 2 + c];
  ck_assert_uint_eq(wrong, 0);
  /* The first two of every four. */
  const mica__access from = {.stride = {4, 1}}, to = {.stride = {2, 1}};
  ck_ok(mica_tensor_create(engine, MICA_I32, MICA_SHAPE(ROWS, 2), &copy));
  ck_ok(mica__strided_copy(queue, NULL, MICA_SHAPE(ROWS, 2), x, &from, copy, &to));
  ck_ok(mica_tensor_download(queue, copy, got, 2 * (size_t)ROWS * sizeof *got));
  for (size_t i = 0; i < 2 * (size_t)ROWS; i++) wrong += got[i] != data[i / 2 * 4 + i % 2];
  ck_assert_uint_eq(wrong, 0);
  mica_tensor *all[] = {x, sums, copy};
  for (int i = 0; i < 3; i++) mica_tensor_destroy(all[i]);
  free(data);
  free(got);
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}
END_TEST

static int device_runs(void) {
  mica_device_info info;
  return mica_device_find(NULL, &info) == MICA_OK;
}

TESTS(ANYWHERE, NULL, NULL, parts_are_within_the_limits, long_launches_are_split, some_launches_stay_whole,
      device_runs() ? ten_million_groups : &test_none)
