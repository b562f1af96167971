/* labels: device slow, shards: 4
 *
 * Every op's own check, on the full grid: each variant of each kernel against the naive reference; a case an op. Where
 * MICA_TEST_SMALL is set sizes are those of the doctor; where MICA_TEST_VENDORS is, too, and only kernels are run that
 * the device might choose, of ops that have variants for some vendors: all others are run without a vendor.
 * MICA_TEST_ALL names what passed, too. */
#include "ops/select/check.h"
#include "ops/select/registry.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(void *user, const mica_doctor_line *line) {
  *(bool *)user |= !strcmp(line->message, MICA__NO_CASE);
  if (line->status != MICA_OK || getenv("MICA_TEST_ALL"))
    printf("%s %s %s (%s): %s %s\n", line->op, line->kernel, line->variant, line->cases, mica_status_name(line->status),
           line->message);
}

START_TEST(op_is_right) {
  mica_doctor_summary summary = {0};
  mica__check_level level = getenv("MICA_TEST_VENDORS") ? MICA__CHECK_OWN
                            : getenv("MICA_TEST_SMALL") ? MICA__CHECK_SMALL
                                                        : MICA__CHECK_FULL;
  bool no_case = false;
  ck_ok(mica__check_run(test_engine(), mica__ops[_i], level, report, &no_case, &summary));
  ck_assert_msg(!no_case, "no case runs an implementation");
  ck_assert_uint_eq(summary.failed, 0);
  ck_assert_uint_gt(summary.passed, 0);
}
END_TEST

static bool differs_by_vendor(const mica__op *op) {
  for (const mica__kernel_desc *const *kernel = op->kernels; kernel && *kernel; kernel++)
    for (int v = 0; v < (*kernel)->variant_count; v++)
      if ((*kernel)->variants[v].vendors) return true;
  return false;
}

static const char *name_of(int i) {
  size_t checked = 0;
  for (int k = 0; k < i; k++) checked += mica__ops[k]->check != NULL;
  const bool wanted = !getenv("MICA_TEST_VENDORS") || differs_by_vendor(mica__ops[i]);
  return mica__ops[i]->check && test_in_shard(checked) && wanted ? mica__ops[i]->name : NULL;
}

TESTS(DEVICE, NULL, NULL, BY_NAME(op_is_right, name_of, mica__op_count))
