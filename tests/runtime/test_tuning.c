/* labels: null
 *
 * What was measured and what was found wrong, kept in a text file. */
#include "base/file.h"
#include "runtime/tuning.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/mica-tuning-XXXXXX";

static mica_engine *open_engine(const char *cache_dir) {
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = cache_dir}, &engine));
  return engine;
}

START_TEST(facts_outlive_the_engine) {
  char choice[MICA__TUNING_TEXT] = "";
  mica_engine *engine = open_engine(directory);
  ck_assert(!mica__tuning_best(engine, "gemm 1 2 3", choice));
  ck_ok(mica__tuning_keep(engine, "gemm 1 2 3", "tile MR=8", 0.5));
  ck_ok(mica__tuning_keep(engine, "gemm 1 2 3", "tile MR=12", 0.25));
  ck_ok(mica__tuning_quarantine(engine, "tile.gpu", "element\t3 is\nwrong"));
  mica_engine_destroy(engine);
  engine = open_engine(directory);
  ck_assert(mica__tuning_best(engine, "gemm 1 2 3", choice));
  ck_assert_str_eq(choice, "tile MR=12");
  ck_assert(mica__tuning_is_bad(engine, "tile.gpu"));
  ck_assert(!mica__tuning_is_bad(engine, "tile"));
  ck_ok(mica__tuning_unquarantine(engine, "tile.gpu"));
  mica_engine_destroy(engine);
  engine = open_engine(directory);
  ck_assert(!mica__tuning_is_bad(engine, "tile.gpu"));
  ck_assert(mica__tuning_best(engine, "gemm 1 2 3", choice));
  mica_engine_destroy(engine);
}
END_TEST

START_TEST(two_engines_keep_each_others_facts) {
  char choice[MICA__TUNING_TEXT] = "";
  mica_engine *a = open_engine(directory), *b = open_engine(directory);
  ck_assert(!mica__tuning_best(b, "p", choice) && !mica__tuning_best(a, "q", choice));
  ck_ok(mica__tuning_keep(a, "p", "x", 1));
  ck_ok(mica__tuning_keep(b, "q", "y", 1));
  mica_engine_destroy(a);
  mica_engine_destroy(b);
  a = open_engine(directory);
  ck_assert(mica__tuning_best(a, "p", choice) && mica__tuning_best(a, "q", choice));
  mica_engine_destroy(a);
}
END_TEST

START_TEST(without_a_directory_facts_last_as_long_as_the_engine) {
  char choice[MICA__TUNING_TEXT] = "";
  mica_engine *engine = open_engine("");
  ck_ok(mica__tuning_keep(engine, "p", "x", 1));
  ck_assert(mica__tuning_best(engine, "p", choice));
  mica_engine_destroy(engine);
}
END_TEST

START_TEST(a_directory_that_cannot_be_is_an_error_and_the_fact_still_holds) {
  char choice[MICA__TUNING_TEXT] = "";
  mica_engine *engine = open_engine("/dev/null/nowhere");
  ck_assert_int_eq(mica__tuning_keep(engine, "p", "x", 1), MICA_E_IO);
  ck_assert(mica__tuning_best(engine, "p", choice));
  mica_engine_destroy(engine);
}
END_TEST

START_TEST(lines_that_do_not_parse_are_passed_over) {
  static const char text[] = "# comment\nbest\tp\tx\t0.5\nbest\tq\tx\tfast\nbest\tr\tx\t-1\nbad\t\treason\nbad\tz\n"
                             "best\ts\tx\t1\textra\nnonsense\nbad\tw\tno newline";
  mica__tuning tuning;
  ck_ok(mica__tuning_init(&tuning));
  ck_ok(mica__tuning_parse(&tuning, text, sizeof text - 1));
  ck_assert_uint_eq(tuning.count, 2);
  ck_assert_str_eq(tuning.facts[0].subject, "p");
  ck_assert_str_eq(tuning.facts[1].subject, "w");
  mica__tuning_destroy(&tuning);
}
END_TEST

static void make_directory(void) { ck_assert_ptr_nonnull(mkdtemp(directory)); }

TEST_GROUPS(ANYWHERE, ONCE(make_directory, NULL, facts_outlive_the_engine, two_engines_keep_each_others_facts,
                           without_a_directory_facts_last_as_long_as_the_engine,
                           a_directory_that_cannot_be_is_an_error_and_the_fact_still_holds,
                           lines_that_do_not_parse_are_passed_over))
