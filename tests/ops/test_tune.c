/* labels: device
 *
 * The tuner: what it lists, measures, keeps and refuses. */
#include "ops/matmul/gemm.h"
#include "ops/select/choice.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/tune.h>
#include <stdio.h>
#include <string.h>

/* An engine without a cache directory, so that tests beside this one choose as shipped. */
static mica_engine *engine;

static void open_engine(void) { ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine)); }

static void close_engine(void) {
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

START_TEST(problems_are_parsed) {
  static const char *const good[] = {"gemm 1,1,1", "gemm 5,6,7,tt", "gemm 8,9,10,nt,f16", "gemm 3,3,3,x4,bf16",
                                     "gemm 17,5,33,tn,x2,i8"};
  static const char *const bad[] = {"",          "gemm",          "gemm 1,2",       "gemm 0,1,1",    "gemm 1,2,3,4",
                                    "conv 1,2",  "gemm 1,2,3,no", "gemm 1,2,3,,nn", "gemm 1;2;3",    "gemm 1,2,3,x0",
                                    "gem 1,2,3", "gemm 1,2,-3",   "gemm 1,2,3,f99", "gemm 1,2,3,x1y"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    mica_tuner *tuner = NULL;
    double seconds = 0;
    ck_ok(mica_tuner_create(engine, good[i], &tuner));
    ck_assert_uint_gt(mica_tuner_count(tuner), 0);
    ck_assert_double_gt(mica_tuner_flops(tuner), 0);
    ck_ok(mica_tuner_measure(tuner, 0, 1e-3, &seconds));
    ck_assert_double_gt(seconds, 0);
    mica_tuner_destroy(tuner);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mica_tuner *tuner = NULL;
    ck_assert_msg(mica_tuner_create(engine, bad[i], &tuner) == MICA_E_FORMAT, "\"%s\"", bad[i]);
  }
}
END_TEST

START_TEST(the_best_is_chosen_afterwards) {
  mica_tuner *tuner = NULL;
  size_t naive = 0;
  ck_ok(mica_tuner_create(engine, "gemm 40,41,42", &tuner));
  /* The slowest, which the list alone would not choose. */
  ck_ok(mica_tuner_add(tuner, "gemm_naive any", &naive));
  ck_ok(mica_tuner_keep(tuner, naive, 1e-3));
  char known[MICA__TUNING_TEXT];
  ck_assert(mica__tuning_best(engine, mica_tuner_key(tuner), known));
  ck_assert_str_eq(known, "gemm_naive any");
  /* In quarantine it is not chosen, whatever was kept; nor listed. */
  ck_ok(mica_tuner_quarantine(tuner, naive, "a test says so"));
  ck_assert_int_eq(mica_tuner_add(tuner, "gemm_naive any", &naive), MICA_E_NOT_FOUND);
  mica_tuner_destroy(tuner);
}
END_TEST

START_TEST(candidates_are_listed_once_and_widened) {
  mica_tuner *tuner = NULL;
  ck_ok(mica_tuner_create(engine, "gemm 64,64,64", &tuner));
  for (size_t i = 0; i < mica_tuner_count(tuner); i++) {
    size_t index = 0, before = mica_tuner_count(tuner);
    ck_ok(mica_tuner_add(tuner, mica_tuner_candidate(tuner, i), &index));
    ck_assert_uint_eq(index, i);
    ck_assert_uint_eq(mica_tuner_count(tuner), before);
    ck_ok(mica_tuner_widen(tuner, i));
    if (mica_tuner_count(tuner) > 40) break;
  }
  ck_assert_ptr_null(mica_tuner_candidate(tuner, mica_tuner_count(tuner)));
  ck_assert_int_eq(mica_tuner_add(tuner, "gemm_naive any NO=1", &(size_t){0}), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_tuner_add(tuner, "no_such any", &(size_t){0}), MICA_E_NOT_FOUND);
  mica_tuner_destroy(tuner);
}
END_TEST

START_TEST(an_engine_may_tune_by_itself) {
  mica_engine *tuning = NULL;
  float data[20 * 20] = {0};
  char known[MICA__TUNING_TEXT];
  mica_tensor *a = NULL, *d = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = "", .tune = true}, &tuning));
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = (float)i / 400;
  ck_ok(mica_tensor_create_from(tuning, MICA_F32, MICA_SHAPE(20, 20), data, &a));
  ck_ok(mica_tensor_create(tuning, MICA_F32, MICA_SHAPE(20, 20), &d));
  ck_ok(mica_op_gemm(mica_engine_queue(tuning), NULL, a, a, NULL, NULL, d));
  ck_assert(mica__tuning_best(tuning, "gemm f32*f32>f32 m20 n20 k20 nn x1", known));
  mica_tensor_destroy(a);
  mica_tensor_destroy(d);
  mica_engine_destroy(tuning);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("tune");
  TCase *tuner = tcase_create("tuner");
  tcase_add_checked_fixture(tuner, open_engine, close_engine);
  tcase_add_test(tuner, problems_are_parsed);
  tcase_add_test(tuner, the_best_is_chosen_afterwards);
  tcase_add_test(tuner, candidates_are_listed_once_and_widened);
  tcase_add_test(tuner, an_engine_may_tune_by_itself);
  suite_add_tcase(suite, tuner);
  return suite;
}
