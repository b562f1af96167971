#include "support/check_main.h"

#include "support/engine.h"
#include "support/files.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t launch_count;
static unsigned shard = 1, shards = 1;
static bool sample, listed;
static const char *only; /* the case to run; NULL: all */
static bool found;       /* test_groups has taken that case alone */

/* The name of a case with all tests of a group ONCE. */
#define ALL ""

/* The tests of LOOPs, by copies that tell them apart. */
static struct {
  TTest test;
  int first, end;
} loops[128];
static size_t loop_count;

Suite *test_skip(const char *reason) {
  printf("SKIP: %s\n", reason);
  return NULL;
}

bool test_in_shard(size_t index) { return index % shards == shard - 1; }

bool test_in_range(size_t index, size_t count) {
  return sample ? test_in_shard(index) : index * shards / count == shard - 1;
}

const char *test_lacks_device(void) { return test_engine() ? NULL : "no device"; }

const TTest test_none = {0};

bool test_is_listed(void) { return listed; }

const TTest *test_loop(const TTest *test, int first, int end) {
  if (loop_count == sizeof loops / sizeof *loops) {
    fprintf(stderr, "more than %zu LOOPs\n", loop_count);
    exit(1);
  }
  loops[loop_count].test = *test;
  loops[loop_count].first = first;
  loops[loop_count].end = end;
  return &loops[loop_count++].test;
}

static void add(TCase *tcase, const TTest *test) {
  for (size_t i = 0; i < loop_count; i++)
    if (test == &loops[i].test) {
      tcase_add_loop_test(tcase, test, loops[i].first, loops[i].end);
      return;
    }
  tcase_add_test(tcase, test);
}

/* A case for each test, so that one can be run by its name. Tests with a common fixture share one. */
static void add_group(Suite *suite, const test_group *group) {
  TCase *tcase = NULL;
  for (const TTest *const *test = group->tests; *test; test++) {
    if (*test == &test_none || (only && strcmp(only, (*test)->name) != 0)) continue;
    found = found || only;
    if (!tcase || !group->once) {
      tcase = tcase_create(group->once && !only ? ALL : (*test)->name);
      tcase_set_timeout(tcase, 0); /* ctest has time limits */
      suite_add_tcase(suite, tcase);
      if (group->once)
        tcase_add_unchecked_fixture(tcase, group->setup, group->teardown);
      else
        tcase_add_checked_fixture(tcase, group->setup, group->teardown);
    }
    add(tcase, *test);
  }
}

Suite *test_groups(const char *lacks, const test_group *groups) {
  if (lacks) return test_skip(lacks);
  Suite *suite = listed ? NULL : suite_create("tests");
  for (; groups->tests; groups++) {
    for (const TTest *const *test = groups->tests; listed && *test; test++)
      if (*test != &test_none) printf("%s\n", (*test)->name);
    if (!listed) add_group(suite, groups);
  }
  return suite;
}

void test_count_launches(uint64_t launches) { launch_count += launches; }

/* One short write in append mode, so that programs running side by side do not mix their lines. */
static int log_launches(const char *program) {
  const char *path = getenv("MICA_TEST_LAUNCH_LOG");
  const char *slash = strrchr(program, '/');
  if (!path || launch_count == 0) return 0;
  FILE *log = fopen(path, "a");
  if (!log) return -1;
  int written = fprintf(log, "%s %" PRIu64 "\n", slash ? slash + 1 : program, launch_count);
  return fclose(log) == 0 && written > 0 ? 0 : -1;
}

static void print_reproducers(SRunner *runner, const char *program) {
  int failed = srunner_ntests_failed(runner);
  TestResult **failures = srunner_failures(runner);
  for (int i = 0; i < failed; i++) {
    int seen = 0;
    for (int j = 0; j < i; j++) seen |= strcmp(tr_tcname(failures[i]), tr_tcname(failures[j])) == 0;
    if (!seen) printf("reproduce: %s %s\n", program, tr_tcname(failures[i])); /* ALL: the whole program */
  }
  free(failures);
}

/* As ctest sets it, so that the line after "reproduce:" does the same. */
static void set_environment(void) {
  static const char *const variables[] = {TEST_ENVIRONMENT};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *equals = strchr(variables[i], '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(equals - variables[i]), variables[i]);
    setenv(name, equals + 1, 0);
  }
}

/* The one case to run, or all of a shard or sample. */
static bool parse_arguments(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--list") == 0)
    listed = true;
  else if (argc == 2)
    only = argv[1];
  if (argc <= 2) return true;
  sample = strcmp(argv[1], "--sample") == 0;
  return argc == 3 && (sample || strcmp(argv[1], "--shard") == 0) && sscanf(argv[2], "%u/%u", &shard, &shards) == 2 &&
         shard >= 1 && shard <= shards;
}

int main(int argc, char **argv) {
  set_environment();
  const char *locale = getenv("MICA_TEST_LOCALE");
  if (locale && !setlocale(LC_ALL, locale)) {
    fprintf(stderr, "there is no locale %s\n", locale);
    return 2;
  }
  if (!parse_arguments(argc, argv)) {
    fprintf(stderr, "usage: %s [CASE | --shard PART/PARTS | --sample PART/PARTS | --list]\n", argv[0]);
    return 2;
  }
  if (listed && test_list) {
    test_list();
    return 0;
  }
  Suite *suite = test_suite();
  if (listed) {
    if (suite) fprintf(stderr, "this program has neither TESTS nor test_list\n");
    return suite ? 1 : 0;
  }
  if (!suite) return 77;
  setenv("CK_MAX_MSG_SIZE", "100000", 0); /* a compiler's log may be long; Check would end the program */
  SRunner *runner = srunner_create(suite);
  if (!getenv("CK_FORK")) srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run(runner, NULL, found ? NULL : only, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  int run = srunner_ntests_run(runner);
  print_reproducers(runner, argv[0]);
  srunner_free(runner);
  files_remove();
  test_count_launches(test_engine_close());
  if (run == 0) fprintf(stderr, "no case of this name\n");
  if (log_launches(argv[0]) != 0) {
    fprintf(stderr, "cannot write MICA_TEST_LAUNCH_LOG\n");
    return 1;
  }
  return failed == 0 && run > 0 ? 0 : 1;
}
