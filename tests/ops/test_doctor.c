/* labels: device
 *
 * The doctor's quarantine: a variant found wrong is not chosen again until it is found right. */
#include "ops/reduce/reduce.h"
#include "runtime/kernel.h"
#include "runtime/tuning.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/doctor.h>
#include <stdio.h>

START_TEST(a_variant_in_quarantine_is_not_chosen) {
  /* An engine without a cache directory, so that tests beside this one do not see the quarantine. */
  mica_engine *engine = NULL;
  const mica__variant *first = NULL, *other = NULL;
  char name[MICA__TUNING_TEXT];
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  ck_ok(mica__kernel_choose(engine, &mica__reduce_rows, &first));
  snprintf(name, sizeof name, "reduce_rows.%s", first->name);
  ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
  ck_ok(mica__kernel_choose(engine, &mica__reduce_rows, &other));
  ck_assert_ptr_ne(first, other);
  /* The other class's variant does the work, and rightly. */
  const float x_data[3] = {1, 2, 4};
  float sum = 0;
  mica_tensor *x = NULL, *y = NULL;
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(3), x_data, &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1), &y));
  ck_ok(mica_op_reduce(mica_engine_queue(engine), MICA_REDUCTION_SUM, x, 0, y));
  ck_ok(mica_tensor_download(mica_engine_queue(engine), y, &sum, sizeof sum));
  ck_assert_float_eq(sum, 7);
  for (int v = 0; v < mica__reduce_rows.variant_count; v++) {
    snprintf(name, sizeof name, "reduce_rows.%s", mica__reduce_rows.variants[v].name);
    ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
  }
  ck_assert_int_eq(mica__kernel_choose(engine, &mica__reduce_rows, &other), MICA_E_UNSUPPORTED);
  ck_assert_int_eq(mica_op_reduce(mica_engine_queue(engine), MICA_REDUCTION_SUM, x, 0, y), MICA_E_UNSUPPORTED);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_engine_destroy(engine);
}
END_TEST

static void look(void *user, const mica_doctor_line *line) {
  ck_assert_msg(line->status == MICA_OK || line->status == MICA_E_UNSUPPORTED, "%s", line->message);
  ++*(size_t *)user;
}

START_TEST(an_examination_passes_and_acquits) {
  mica_doctor_summary summary = {0};
  size_t lines = 0;
  /* Not the default on a CPU; on a GPU tests beside this one take the other variant meanwhile. */
  const char *name = "reduce_rows.gpu";
  ck_ok(mica__tuning_quarantine(test_engine(), name, "a test says so"));
  ck_ok(mica_doctor_run(test_engine(), "reduce", look, &lines, &summary));
  ck_assert_uint_eq(summary.failed, 0);
  ck_assert_int_eq(mica_doctor_run(test_engine(), "no_such_op", look, &lines, &summary), MICA_E_NOT_FOUND);
  ck_assert_uint_gt(summary.passed, 0);
  ck_assert_uint_eq(lines, summary.passed + summary.skipped);
  ck_assert(!mica__tuning_is_bad(test_engine(), name));
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("doctor");
  TCase *quarantine = tcase_create("quarantine");
  tcase_add_test(quarantine, a_variant_in_quarantine_is_not_chosen);
  tcase_add_test(quarantine, an_examination_passes_and_acquits);
  suite_add_tcase(suite, quarantine);
  return suite;
}
