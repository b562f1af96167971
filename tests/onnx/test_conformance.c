/* labels: device slow
 *
 * ONNX's own cases, a fixed fifth of them by a hash of their names (all with MICA_TEST_ONNX=all): a model whose
 * operators are supported gives what is recorded, and at least as many as RIGHT_OF_HUNDRED of a hundred are
 * supported. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* May only rise. */
#define RIGHT_OF_HUNDRED 98
#define CASES "../shared/onnx/backend"

typedef struct tally {
  size_t cases, right, missing, wrong;
} tally;

/* FNV-1a. */
static uint32_t hash(const char *text) {
  uint32_t h = 2166136261u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
  return h;
}

static mica_status check_sets(mica_onnx_runner *runner, const char *folder) {
  char set[2300];
  struct stat about;
  for (int i = 0;; i++) {
    snprintf(set, sizeof set, "%s/test_data_set_%d", folder, i);
    if (stat(set, &about)) return MICA_OK;
    mica_status status = mica_onnx_check(runner, test_queue(), set, 0, 0);
    if (status != MICA_OK) return status;
  }
}

static void run_case(const char *kind, const char *test, tally *t) {
  char folder[2200], path[2300];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  snprintf(folder, sizeof folder, CASES "/%s/%s", kind, test);
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  t->cases++;
  mica_status status = mica_onnx_open(path, &model);
  if (status == MICA_OK) status = mica_onnx_runner_create(test_engine(), model, NULL, &runner);
  if (status == MICA_OK) status = check_sets(runner, folder);
  t->right += status == MICA_OK;
  t->missing += status == MICA_E_UNSUPPORTED;
  if (status != MICA_OK && status != MICA_E_UNSUPPORTED) {
    t->wrong++;
    printf("%s: %s\n", test, mica_error_message());
  }
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}

/* scope.tsv: kind, test, operator, family, scope. */
START_TEST(cases_give_what_is_recorded) {
  const char *which = getenv("MICA_TEST_ONNX");
  bool all = which && !strcmp(which, "all");
  FILE *scope = fopen(CASES "/scope.tsv", "r");
  ck_assert_ptr_nonnull(scope);
  char line[1024];
  tally t = {0};
  while (fgets(line, sizeof line, scope)) {
    char *kind = line, *test = strchr(line, '\t'), *core = strrchr(line, '\t');
    if (!test || strncmp(core, "\tcore", 5)) continue;
    *test++ = '\0';
    *strchr(test, '\t') = '\0';
    if (all || hash(test) % 5 == 0) run_case(kind, test, &t);
  }
  fclose(scope);
  printf("%zu cases: %zu right, %zu with what is not supported, %zu wrong\n", t.cases, t.right, t.missing, t.wrong);
  ck_assert_uint_eq(t.wrong, 0);
  ck_assert_uint_ge(100 * t.right, RIGHT_OF_HUNDRED * t.cases);
}
END_TEST

Suite *test_suite(void) {
  struct stat about;
  const char *source = getenv("MICA_SOURCE_DIR");
  mica_onnx *none = NULL;
  if (mica_onnx_open("", &none) == MICA_E_UNSUPPORTED) return test_skip("this build has no protobuf-c");
  if (!test_engine()) return test_skip("no device");
  if (!source || chdir(source) || stat(CASES, &about)) return test_skip("no " CASES);
  Suite *suite = suite_create("conformance");
  TCase *tests = tcase_create("conformance");
  tcase_add_test(tests, cases_give_what_is_recorded);
  suite_add_tcase(suite, tests);
  return suite;
}
