/* labels: device slow, shards: 5
 *
 * Attention on matrix units: the emulation of each unit against the reference in double, under masks, lengths, windows,
 * dropout and for shared heads; and what the choice for a GPU with such units takes and declines. */
#include "ops/attention/attention.h"
#include "ops/emulation.h"
#include "ops/select/check.h"
#include "ops/select/mma.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>

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
                       .op = "attention",
                       .fn = report,
                       .random = 1};
  const mica__variant *variant = test_emulation(&mica__attention_mma_kernel, _i);
  ck_assert_ptr_nonnull(variant);
  ck_ok(mica__attention_check_variant(&check, &mica__op_attention, &mica__op_attention, MICA__ATTENTION_FORWARD,
                                      &mica__attention_mma, variant));
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_eq(check.summary.passed, 1);
  ck_assert_uint_ge(check.cases, 3);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("attention_mma");
  TCase *right = tcase_create("emulation");
  tcase_set_timeout(right, 0);
  tcase_add_loop_test(right, emulations_are_right, 0, MICA__MMA_UNITS);
  suite_add_tcase(suite, right);
  return suite;
}
