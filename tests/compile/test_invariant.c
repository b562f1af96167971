/* labels: device single
 *
 * What stays as it is from run to run: made once, and again when a parameter that it is made of has changed. */
#include "ir/graph.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void upload(const char *name, const float *data) {
  mica_tensor *tensor = mica_session_parameter(graph_session, name);
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
}

static void feed(const float *data, size_t count) {
  mica_tensor *x = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE((int64_t)count), data, &x));
  ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", x}, 1));
  mica_tensor_destroy(x);
}

/* p p is stored by the kernel that writes the output, in each run: what reads it cannot come before the first. */
START_TEST(what_an_output_is_made_with_is_made_by_each_run) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3)), square = mica_mul(p, p);
  mica_value back = mica_gather(square, mica_constant(graph, MICA_I32, MICA_SHAPE(2), (int32_t[]){2, 1}), 0);
  mica_value outputs[] = {mica_affine(square, 1, 1), mica_add(back, mica_input(graph, "x", MICA_F32, MICA_SHAPE(2)))};
  graph_compile(outputs, 2);
  upload("p", (float[]){1, 2, 3});
  feed((float[]){0, 1}, 2);
  graph_expect(mica_session_output(graph_session, 0), (float[]){2, 5, 10}, 3);
  graph_expect(mica_session_output(graph_session, 1), (float[]){9, 5}, 2);
}
END_TEST

/* --- beside what runs assign --- */

#define WIDTH 192
#define CACHE 64

/* Numbers of a sort in (-0.5, 0.5), a different sequence for each seed. */
static void fill(mica_tensor *tensor, uint32_t seed) {
  size_t count = mica_tensor_bytes(tensor) / sizeof(float);
  float *data = malloc(count * sizeof *data);
  ck_assert_ptr_nonnull(data);
  for (size_t i = 0; i < count; i++) data[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, count * sizeof *data));
  free(data);
}

static uint64_t launches_of_a_run(mica_session *of, mica_tensor *x) {
  uint64_t before = mica_engine_stats(test_engine()).launches;
  ck_ok(mica_session_run(of, test_queue(), &(mica_feed){"x", x}, 1));
  return mica_engine_stats(test_engine()).launches - before;
}

static uint64_t launches_recorded(mica_session *of) {
  mica_session_report report;
  ck_ok(mica_session_describe(of, &report));
  return report.launches;
}

/* What a run moves, and by kernels whose name holds `pack` how often. */
static double bytes_of_a_run(mica_tensor *x, uint64_t *packings) {
  mica_profile_row rows[32];
  mica_profile_total total;
  size_t count = 0;
  ck_ok(mica_profile_start(test_engine()));
  ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", x}, 1));
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_sum(test_engine(), &total));
  ck_ok(mica_profile_rows(test_engine(), rows, 32, &count));
  *packings = 0;
  for (size_t i = 0; i < count; i++)
    if (strstr(rows[i].kernel, "pack")) *packings += rows[i].count;
  return total.bytes;
}

/* Two dense layers, the last row of whose result goes into a cache. */
static mica_value layers_beside_a_cache(mica_value x) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(WIDTH, WIDTH));
  mica_value u = mica_parameter(graph, "u", MICA_F32, MICA_SHAPE(WIDTH, WIDTH));
  mica_value cache = mica_parameter(graph, "cache", MICA_F32, MICA_SHAPE(CACHE, WIDTH));
  mica_value y = mica_matmul(mica_relu(mica_matmul(x, w)), u);
  mica_value next = mica_slice_assign(cache, mica_slice(y, 0, 0, 1, 1), 0, 3, 1);
  mica_assign(cache, next);
  return mica_add(y, mica_sum(next, MICA_AXES(0), false));
}

START_TEST(weights_beside_a_cache_are_packed_once) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(32, WIDTH)), y = layers_beside_a_cache(x);
  mica_tensor *fed = NULL;
  uint64_t packings = 0;
  graph_compile(&y, 1);
  fill(mica_session_parameter(graph_session, "w"), 1);
  fill(mica_session_parameter(graph_session, "u"), 2);
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(32, WIDTH), &fed));
  fill(fed, 3);
  uint64_t first = launches_of_a_run(graph_session, fed), each = launches_recorded(graph_session);
  ck_assert_msg(first > each, "a first run of %llu launches packs nothing", (unsigned long long)first);
  for (int i = 0; i < 3; i++) ck_assert_uint_eq(launches_of_a_run(graph_session, fed), each);
  double bytes = bytes_of_a_run(fed, &packings);
  ck_assert_uint_eq(packings, 0);
  fill(mica_session_parameter(graph_session, "w"), 4);
  double more = bytes_of_a_run(fed, &packings);
  ck_assert_uint_gt(packings, 0);
  printf("a run beside a cache: %.0f bytes, with weights packed anew %.0f\n", bytes, more);
  ck_assert(more >= bytes + 2.0 * WIDTH * WIDTH * sizeof(float));
  ck_assert_uint_eq(launches_of_a_run(graph_session, fed), each);
  mica_tensor_destroy(fed);
}
END_TEST

/* The accumulators of an evaluation are assigned; norms go into the filters all the same. */
START_TEST(an_evaluation_folds_norms) {
  static const char *const names[] = {"scale", "shift", "mean", "variance"};
  mica_value p[4], x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, 5, 5));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(4, 3, 3, 3));
  for (int i = 0; i < 4; i++) p[i] = mica_parameter(graph, names[i], MICA_F32, MICA_SHAPE(4));
  mica_value y = mica_batch_norm(mica_conv(x, w, (mica_value){0}, NULL), p[0], p[1], p[2], p[3], 1e-3);
  mica_value loss = mica_sum(y, MICA_ALL_AXES, false), seen = mica_parameter(graph, "seen", MICA_F32, MICA_SCALAR);
  mica_assign(seen, mica_add(seen, loss));
  mica_tensor *fed = NULL;
  float got = 0, wanted = 0;
  graph_compile(NULL, 0);
  mica_session *plain = NULL;
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, &(mica_session_config){.no_simplify = true}, &plain));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 3, 5, 5), &fed));
  fill(fed, 9);
  for (uint32_t seed = 10; seed < 13; seed++) {
    mica_session *const both[] = {graph_session, plain};
    float zero = 0;
    for (int s = 0; s < 2; s++) {
      ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(both[s], "seen"), &zero, sizeof zero));
      fill(mica_session_parameter(both[s], "w"), seed);
      for (uint32_t i = 0; i < 3; i++) fill(mica_session_parameter(both[s], names[i]), seed + i);
      float variances[] = {1, 2, 3, 4};
      ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(both[s], "variance"), variances, sizeof variances));
      ck_ok(mica_session_run(both[s], test_queue(), &(mica_feed){"x", fed}, 1));
    }
    ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(graph_session, "seen"), &got, sizeof got));
    ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(plain, "seen"), &wanted, sizeof wanted));
    ck_assert_msg(got - wanted < 1e-4f && wanted - got < 1e-4f, "%g, not %g", (double)got, (double)wanted);
  }
  /* The convolution, and the sum. */
  ck_assert_uint_eq(launches_recorded(graph_session), 2);
  ck_assert_uint_eq(launches_of_a_run(graph_session, fed), 2);
  mica_session_destroy(plain);
  mica_tensor_destroy(fed);
}
END_TEST

/* The bytes that a session of x W keeps beside its parameters, for x of `rows` rows and a W of 256 x 256 f32. */
#define SIDE 256
static uint64_t kept_bytes(mica_value w, int64_t rows) {
  mica_value y = mica_matmul(mica_input(graph, "x", MICA_F32, MICA_SHAPE(rows, SIDE)), w);
  mica_session_report report;
  graph_compile(&y, 1);
  ck_ok(mica_session_describe(graph_session, &report));
  return report.workspace_bytes;
}

/* A softmax of a parameter and a product with it, held and not. */
START_TEST(nothing_that_is_made_of_a_held_weight_is_kept) {
  const bool held = _i & 1, half = _i >= 4;
  mica_value p = mica_parameter(graph, "w", half ? MICA_F16 : MICA_F32, MICA_SHAPE(SIDE, SIDE));
  if (held) mica__graph_hold(p);
  mica_value w = half ? mica_cast(p, MICA_F32) : p;
  if (_i & 2) w = mica_softmax(w, -1);
  const uint64_t kept = kept_bytes(w, 64);
  /* The product of a plain f16 weight reads it as it is. */
  const bool made = !held && (_i & 2 || !half);
  const bool cpu = mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU;
  if (made && cpu) ck_assert_uint_ge(kept, SIDE * SIDE * 4);
  if (held) ck_assert_uint_lt(kept, SIDE * SIDE * 2);
}
END_TEST

/* Numbers of blocks are not kept either, whoever owns the blocks. */
START_TEST(numbers_of_blocks_are_not_kept) {
  mica_value p = mica_parameter(graph, "w", MICA_U8, MICA_SHAPE(SIDE, SIDE / 32 * 34));
  ck_assert_uint_lt(kept_bytes(mica_unblock(p, MICA_BLOCK_Q8_0, SIDE, MICA_F32), 64), SIDE * SIDE * 2);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, what_an_output_is_made_with_is_made_by_each_run,
      weights_beside_a_cache_are_packed_once, LOOP(nothing_that_is_made_of_a_held_weight_is_kept, 0, 8),
      numbers_of_blocks_are_not_kept, an_evaluation_folds_norms)
