/* ops/conv/all_types.h: what the tests of an implementation's convolutions begin with. */
#ifndef MICA_TESTS_OPS_CONV_ALL_TYPES_H
#define MICA_TESTS_OPS_CONV_ALL_TYPES_H

#include "ops/conv/conv.h"
#include "ops/select/check.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <stdio.h>

static void report_failure(void *user, const mica_doctor_line *line) {
  (void)user;
  if (line->status == MICA_OK) return;
  printf("%s %s (%s): %s %s\n", line->kernel, line->variant, line->cases, mica_status_name(line->status),
         line->message);
}

/* A pass of a convolution, and an implementation of it. */
typedef struct impl_pass {
  const mica__impl *impl;
  mica__conv_pass pass;
} impl_pass;

/* The last variant, which is the smallest or, on matrix units, NVIDIA's emulation. */
static inline const mica__variant *last_variant(const mica__impl *impl) {
  return &impl->kernel->variants[impl->kernel->variant_count - 1];
}

/* A variant in every type over the whole grid of the check, under a sanitizer over the smaller one; once: with one
 * epilogue per type. */
static void expect_all_types_right(const impl_pass *p, const mica__variant *variant, bool once) {
  mica__check check = {.engine = test_engine(),
                       .queue = test_queue(),
                       .level = TEST_FAULTS_ALONE ? MICA__CHECK_SMALL : MICA__CHECK_FULL,
                       .op = "conv",
                       .fn = report_failure,
                       .random = 1};
  ck_ok(mica__conv_check_variant(&check, p->impl, variant, p->pass, once));
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_gt(check.summary.passed, 0);
  mica__text_free(&check.run);
}

#endif
