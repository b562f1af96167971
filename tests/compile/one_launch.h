/* compile/one_launch.h: for tests of several launches that become one: where they do, where they do not, and what they
 * compute. Numbers are multiples of an eighth and small, so that sums are exact in any order. A test defines
 * LEAST_VECTOR: the fewest bytes of a CPU's vector register with which they do. */
#ifndef COMPILE_ONE_LAUNCH_H
#define COMPILE_ONE_LAUNCH_H

#include "compile/without.h"
#include "runtime/tuning.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <string.h>

#define MOST_NUMBERS (1 << 15)
#define MOST (1 << 15)

static mica_value input; /* the graph's only input, of f32 */
static uint32_t state;

static void setup(void) {
  state = 1;
  graph_setup();
}

static void teardown(void) {
  mica__compile_without(0);
  graph_teardown();
}

static mica_value numbers(mica_shape shape) {
  static float values[MOST_NUMBERS];
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  ck_assert_int_le(count, (int64_t)(sizeof values / sizeof *values));
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)((int)(state >> 29) - 4) / 8;
  }
  return mica_constant(graph, MICA_F32, shape, values);
}

/* Runs the outputs (graph_launches) on numbers of both signs. */
static size_t run_on(const mica_value *outputs, size_t count, const mica_session_config *config, float *got) {
  static float data[MOST];
  int64_t elements = 0;
  ck_ok(mica_shape_count(mica_value_shape(input), &elements));
  ck_assert_int_le(elements, MOST);
  for (int64_t i = 0; i < elements; i++) data[i] = (float)(i * 7 % 17 - 8) / 4;
  return graph_launches(outputs, count, config, mica_value_shape(input), data, got);
}

/* Checks that the outputs are those of a session made with `config` without some of the passes (compile/without.h), and
 * that `spared` launches are spared where the device is one that the kernel is for. */
static void expect_spared_beside(const mica_session_config *config, unsigned passes, const mica_value *outputs,
                                 size_t count, size_t spared) {
  static float want[2 * MOST], got[2 * MOST];
  const mica_device_info *device = mica_engine_device(test_engine());
  const bool meant = device->device_class == MICA_DEVICE_CLASS_CPU && device->vector_bytes >= LEAST_VECTOR;
  memset(want, 0, sizeof want);
  memset(got, 0, sizeof got);
  mica__compile_without(passes);
  run_on(outputs, count, config, want);
  mica__compile_without(0);
  size_t with = run_on(outputs, count, NULL, got);
  for (size_t i = 0; i < 2 * MOST; i++)
    ck_assert_msg(got[i] == want[i], "element %zu: %g, not %g", i, (double)got[i], (double)want[i]);
  mica__compile_without(MICA__WITHOUT_REWRITE);
  size_t without = run_on(outputs, count, NULL, got);
  mica__compile_without(0);
  if (meant) ck_assert_uint_eq(without - with, spared);
}

/* Compares with one launch per op. */
static inline void expect_spared(const mica_value *outputs, size_t count, size_t spared) {
  expect_spared_beside(&(mica_session_config){.no_fusion = true}, 0, outputs, count, spared);
}

/* Checks that no launch is spared while this variant of a kernel, such as "tile.cpu", is in quarantine. */
static inline void expect_none_spared_without(const char *kernel, const mica_value *outputs, size_t count) {
  ck_ok(mica__tuning_avoid(test_engine(), kernel, "a test says so"));
  expect_spared(outputs, count, 0);
  ck_ok(mica__tuning_unquarantine(test_engine(), kernel));
}

#endif
