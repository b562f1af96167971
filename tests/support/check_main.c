#include "support/check_main.h"

#include "support/engine.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t launch_count;
static unsigned shard = 1, shards = 1;
static bool sample;

Suite *test_skip(const char *reason) {
  printf("SKIP: %s\n", reason);
  return NULL;
}

bool test_in_shard(size_t index) { return index % shards == shard - 1; }

bool test_in_range(size_t index, size_t count) {
  return sample ? test_in_shard(index) : index * shards / count == shard - 1;
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
    if (!seen) printf("reproduce: %s %s\n", program, tr_tcname(failures[i]));
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
static bool parse_arguments(int argc, char **argv, const char **only) {
  if (argc == 2) *only = argv[1];
  if (argc <= 2) return true;
  sample = strcmp(argv[1], "--sample") == 0;
  return argc == 3 && (sample || strcmp(argv[1], "--shard") == 0) && sscanf(argv[2], "%u/%u", &shard, &shards) == 2 &&
         shard >= 1 && shard <= shards;
}

int main(int argc, char **argv) {
  set_environment();
  const char *only = NULL, *locale = getenv("MICA_TEST_LOCALE");
  if (locale && !setlocale(LC_ALL, locale)) {
    fprintf(stderr, "there is no locale %s\n", locale);
    return 2;
  }
  if (!parse_arguments(argc, argv, &only)) {
    fprintf(stderr, "usage: %s [CASE | --shard PART/PARTS | --sample PART/PARTS | --list]\n", argv[0]);
    return 2;
  }
  if (only && !strcmp(only, "--list") && test_list) {
    test_list();
    return 0;
  }
  Suite *suite = test_suite();
  if (!suite) return 77;
  SRunner *runner = srunner_create(suite);
  if (!getenv("CK_FORK")) srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run(runner, NULL, only, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  int run = srunner_ntests_run(runner);
  print_reproducers(runner, argv[0]);
  srunner_free(runner);
  test_count_launches(test_engine_close());
  if (run == 0) fprintf(stderr, "no case of this name\n");
  if (log_launches(argv[0]) != 0) {
    fprintf(stderr, "cannot write MICA_TEST_LAUNCH_LOG\n");
    return 1;
  }
  return failed == 0 && run > 0 ? 0 : 1;
}
