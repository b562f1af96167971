/* labels: device slow, shards: 5
 *
 * Attention and its gradients on matrix units: the emulation of each unit against the reference in double, under masks,
 * lengths, windows, dropout and for shared heads. */
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

static void check_emulation(const mica__kernel_desc *desc, int n, mica__attention_pass pass) {
  const mica__op *op = pass == MICA__ATTENTION_FORWARD ? &mica__op_attention : &mica__op_attention_grad;
  mica__check check = {.engine = test_engine(),
                       .queue = test_queue(),
                       .level = MICA__CHECK_FULL,
                       .op = op->name,
                       .fn = report,
                       .random = 1};
  const mica__variant *variant = test_emulation(desc, n);
  ck_assert_ptr_nonnull(variant);
  const mica__impl *impl = pass == MICA__ATTENTION_FORWARD ? &mica__attention_mma : &mica__attention_mma_grad;
  ck_ok(mica__attention_check_variant(&check, &mica__op_attention, op, pass, impl, variant));
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_eq(check.summary.passed, 1);
  ck_assert_uint_eq(check.cases, 6);
}

START_TEST(emulations_are_right) {
  if (test_in_shard((size_t)_i)) check_emulation(&mica__attention_mma_kernel, _i, MICA__ATTENTION_FORWARD);
}
END_TEST

START_TEST(gradients_are_right) {
  if (test_in_shard((size_t)_i)) check_emulation(&mica__attention_mma_grad_kernel, _i, MICA__ATTENTION_BACKWARD);
}
END_TEST

/* Emulations are compiled without optimisation. */
static const char *lacks(void) {
  test_emulate_unoptimised();
  return DEVICE;
}

TESTS(lacks(), NULL, NULL, LOOP(emulations_are_right, 0, MICA__MMA_UNITS), LOOP(gradients_are_right, 0, 3))
