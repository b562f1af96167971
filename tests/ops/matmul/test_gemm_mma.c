/* labels: device slow, shards: 6
 *
 * Products on matrix units: the emulation of each unit in all types and layouts, and the trial product by which a
 * device's own unit is trusted. */
#include "ops/emulation.h"
#include "ops/matmul/gemm.h"
#include "ops/select/check.h"
#include "ops/select/mma.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mica_dtype types[] = {MICA_F32, MICA_F16, MICA_BF16, MICA_I8};
#define TYPES (int)(sizeof types / sizeof *types)

static void report(void *user, const mica_doctor_line *line) {
  (void)user;
  printf("%s %s (%s): %s %s\n", line->kernel, line->variant, line->cases, mica_status_name(line->status),
         line->status == MICA_OK ? "" : line->message);
}

START_TEST(emulations_are_right) {
  if (!test_in_shard((size_t)_i)) return;
  mica__check check = {.engine = test_engine(),
                       .queue = test_queue(),
                       .level = MICA__CHECK_FULL,
                       .op = "gemm",
                       .fn = report,
                       .random = 1};
  const mica__variant *variant = test_emulation(&mica__gemm_mma_kernel, _i);
  ck_assert_ptr_nonnull(variant);
  ck_ok(mica__gemm_check_variant(&check, &mica__gemm_mma, variant));
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_gt(check.summary.passed, 0);
  mica__text_free(&check.run);
}
END_TEST

/* What is compiled for a device that has the unit is optimised. */
START_TEST(emulations_alone_are_not_optimised) {
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  for (int v = 0; v < desc->variant_count; v++) {
    const bool native = mica__kernel_value(desc, desc->variants[v].values, "MMA_NATIVE") == 1;
    char *options = mica__kernel_options(desc, desc->variants[v].values, false);
    ck_assert_ptr_nonnull(options);
    ck_assert_msg(!strstr(options, "-cl-opt-disable") == native, "%s: %s", desc->variants[v].name, options);
    free(options);
  }
}
END_TEST

START_TEST(trials_are_right) {
  const mica__variant *variant = test_emulation(&mica__mma_trial_kernel, _i);
  ck_assert_ptr_nonnull(variant);
  for (int t = 0; t < TYPES; t++)
    if (mica__mma_takes(&mica__mma_trial_kernel, variant, types[t]))
      ck_ok(mica__mma_try(test_engine(), variant, types[t]));
}
END_TEST

/* Emulations are compiled without optimisation. */
static const char *lacks(void) {
  test_emulate_unoptimised();
  return DEVICE;
}

/* One per unit, and NVIDIA's with half the depth. */
TESTS(lacks(), NULL, NULL, LOOP(emulations_are_right, 0, MICA__MMA_UNITS + 1), emulations_alone_are_not_optimised,
      LOOP(trials_are_right, 0, MICA__MMA_UNITS - 1))
