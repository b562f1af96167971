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
  const char *(*name_of)(int i);
} loops[128];
static size_t loop_count;

bool test_in_shard(size_t index) { return index % shards == shard - 1; }

bool test_in_range(size_t index, size_t count) {
  return sample ? test_in_shard(index) : index * shards / count == shard - 1;
}

const char *test_lacks_device(void) { return test_engine() ? NULL : "no device"; }

const TTest test_none = {0};

bool test_is_listed(void) { return listed; }

const TTest *test_loop(const TTest *test, int first, int end, const char *(*name_of)(int i)) {
  if (loop_count == sizeof loops / sizeof *loops) {
    fprintf(stderr, "more than %zu LOOPs\n", loop_count);
    exit(1);
  }
  loops[loop_count].test = *test;
  loops[loop_count].first = first;
  loops[loop_count].end = end;
  loops[loop_count].name_of = name_of;
  return &loops[loop_count++].test;
}

int test_seed(const char *variable, int otherwise) {
  const char *given = getenv(variable);
  return given ? atoi(given) : otherwise;
}

static TCase *add_case(Suite *suite, const char *name, const test_group *group) {
  TCase *tcase = tcase_create(name);
  tcase_set_timeout(tcase, 0); /* ctest has time limits */
  suite_add_tcase(suite, tcase);
  (group->once ? tcase_add_unchecked_fixture : tcase_add_checked_fixture)(tcase, group->setup, group->teardown);
  return tcase;
}

/* Adds the test with _i = first to end - 1, as a case of that name if it is wanted. *shared: the case that all tests
 * of a group have. */
static void add_rounds(Suite *suite, const test_group *group, const TTest *test, const char *name, int first, int end,
                       TCase **shared) {
  if (listed) {
    printf("%s\n", name);
    return;
  }
  if (only && strcmp(only, name) != 0) return;
  found = found || only;
  if (!*shared) *shared = add_case(suite, group->once && !only ? ALL : name, group);
  tcase_add_loop_test(*shared, test, first, end);
  if (!group->once) *shared = NULL;
}

/* A case for each test, so that one can be run by its name. Tests with a common fixture share one. */
static void add_group(Suite *suite, const test_group *group) {
  TCase *shared = NULL;
  for (const TTest *const *test = group->tests; *test; test++) {
    size_t k = 0;
    while (k < loop_count && *test != &loops[k].test) k++;
    if (*test == &test_none) continue;
    if (k == loop_count)
      add_rounds(suite, group, *test, (*test)->name, 0, 1, &shared);
    else if (!loops[k].name_of)
      add_rounds(suite, group, *test, (*test)->name, loops[k].first, loops[k].end, &shared);
    else
      for (int i = loops[k].first; i < loops[k].end; i++)
        if (loops[k].name_of(i)) add_rounds(suite, group, *test, loops[k].name_of(i), i, i + 1, &shared);
  }
}

Suite *test_groups(const char *lacks, const test_group *groups) {
  if (lacks) {
    printf("SKIP: %s\n", lacks);
    return NULL;
  }
  Suite *suite = suite_create("tests");
  for (; groups->tests; groups++) add_group(suite, groups);
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
  Suite *suite = test_suite();
  if (listed) return 0;
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
