/* labels: device slow
 *
 * Every variant, type and layout of the matrix products for GPUs, run on the device there is. The whole grid takes a
 * CPU's compiler the better part of an hour, so that each state of the kernels has a few groups of its own.
 * MICA_TEST_ALL=1 runs all, MICA_TEST_ALL=2/16 the second of sixteen parts; a failure names the one group. */
#include "ops/matmul/gemm.h"
#include "ops/select/check.h"
#include "runtime/kernel_source.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define GROUPS_AT_ONCE 3

static mica__check check_of(mica_doctor_fn *fn) {
  return (mica__check){
      .engine = test_engine(), .queue = test_queue(), .level = MICA__CHECK_FULL, .op = "gemm", .fn = fn, .random = 1};
}

static void report(void *user, const mica_doctor_line *line) {
  (void)user;
  printf("%s %s (%s): %s %s\n", line->kernel, line->variant, line->cases, mica_status_name(line->status),
         line->status == MICA_OK ? "" : line->message);
}

START_TEST(gpu_variants_are_right) {
  mica__check check = check_of(report);
  size_t count = 0, part = 0;
  ck_ok(mica__gemm_check_grid(&check, 0, 0, &count));
  size_t parts = count / GROUPS_AT_ONCE;
  unsigned long wanted = 1, of = 1;
  const char *all = getenv("MICA_TEST_ALL");
  if (all && sscanf(all, "%lu/%lu", &wanted, &of) >= 1 && wanted >= 1 && wanted <= of)
    parts = of, part = wanted - 1;
  else
    part = (size_t)(mica__kernel_source_hash().low % parts);
  printf("part %zu of %zu of %zu groups: MICA_TEST_ALL=%zu/%zu\n", part + 1, parts, count, part + 1, parts);
  ck_ok(mica__gemm_check_grid(&check, part, parts, &count));
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_gt(check.summary.passed, 0);
  mica__text_free(&check.run);
}
END_TEST

TESTS(DEVICE, NULL, NULL, gpu_variants_are_right)
