/* labels: device
 *
 * Every op's own check, on the full grid: each variant of each kernel against the naive reference. */
#include "ops/check.h"
#include "ops/registry.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>

static void report(void *user, const mica_doctor_line *line) {
  (void)user;
  if (line->status != MICA_OK)
    printf("%s %s %s (%s): %s %s\n", line->op, line->kernel, line->variant, line->cases, mica_status_name(line->status),
           line->message);
}

START_TEST(op_is_right) {
  if (!mica__ops[_i]->check) return;
  mica_doctor_summary summary = {0};
  ck_ok(mica__check_run(test_engine(), mica__ops[_i], MICA__CHECK_FULL, report, NULL, &summary));
  ck_assert_uint_eq(summary.failed, 0);
  ck_assert_uint_gt(summary.passed, 0);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("checks");
  TCase *each = tcase_create("each_op");
  tcase_add_loop_test(each, op_is_right, 0, (int)mica__op_count);
  suite_add_tcase(suite, each);
  return suite;
}
