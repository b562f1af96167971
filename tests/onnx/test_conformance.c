/* labels: device slow
 *
 * ONNX's own cases, a fixed fifth of them by a hash of their names (all with MICA_TEST_ONNX=all): each family of
 * operators gives what is recorded as often as conformance.counts says, whose numbers only rise. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTS "tests/onnx/conformance.counts"
#define FAMILIES 64

/* What a family has to give, in the fifth and in all, and what it gives. */
typedef struct family {
  char name[64];
  size_t least[2], cases, right, missing;
} family;

typedef struct table {
  family families[FAMILIES];
  size_t count;
} table;

/* FNV-1a. */
static uint32_t hash(const char *text) {
  uint32_t h = 2166136261u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
  return h;
}

static family *find_family(table *t, const char *name) {
  for (size_t i = 0; i < t->count; i++)
    if (!strcmp(t->families[i].name, name)) return &t->families[i];
  ck_assert_uint_lt(t->count, FAMILIES);
  family *f = &t->families[t->count++];
  snprintf(f->name, sizeof f->name, "%s", name);
  return f;
}

static void read_counts(table *t) {
  char line[256];
  FILE *file = fopen(COUNTS, "r");
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof line, file)) {
    size_t fifth = 0, all = 0;
    int at = 0;
    if (*line == '#' || sscanf(line, "%zu %zu %n", &fifth, &all, &at) != 2 || !at) continue;
    line[strcspn(line, "\n")] = '\0';
    family *f = find_family(t, line + at);
    f->least[0] = fifth;
    f->least[1] = all;
  }
  fclose(file);
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

static void run_case(const char *kind, const char *test, family *f) {
  char folder[2200], path[2300];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  snprintf(folder, sizeof folder, "%s/%s/%s", test_data("onnx/backend"), kind, test);
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  f->cases++;
  mica_status status = mica_onnx_open(path, &model);
  if (status == MICA_OK) status = mica_onnx_runner_create(test_engine(), model, NULL, &runner);
  if (status == MICA_OK) status = check_sets(runner, folder);
  f->right += status == MICA_OK;
  f->missing += status == MICA_E_UNSUPPORTED;
  if (status != MICA_OK) printf("%s: %s\n", test, mica_error_message());
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}

/* scope.tsv: kind, test, operator, family, scope. */
static void run_cases(table *t, bool all) {
  char line[1024];
  FILE *scope = fopen(test_data("onnx/backend/scope.tsv"), "r");
  ck_assert_ptr_nonnull(scope);
  while (fgets(line, sizeof line, scope)) {
    char *columns[5] = {line};
    int count = 1;
    for (char *c = line; *c && count < 5; c++)
      if (*c == '\t') {
        *c = '\0';
        columns[count++] = c + 1;
      }
    if (count < 5 || strncmp(columns[4], "core", 4)) continue;
    const char *name = *columns[3] ? columns[3] : "converted models";
    if (all || hash(columns[1]) % 5 == 0) run_case(columns[0], columns[1], find_family(t, name));
  }
  fclose(scope);
}

START_TEST(cases_give_what_is_recorded) {
  const char *which = getenv("MICA_TEST_ONNX");
  bool all = which && !strcmp(which, "all"), fell = false;
  static table t;
  size_t cases = 0, right = 0, missing = 0;
  read_counts(&t);
  run_cases(&t, all);
  for (size_t i = 0; i < t.count; i++) {
    const family *f = &t.families[i];
    size_t least = f->least[all];
    printf("%4zu of %4zu  %s%s\n", f->right, f->cases, f->name, f->right < least ? "  FELL" : "");
    if (f->right > least) printf("      %zu more than " COUNTS " says: raise it\n", f->right - least);
    fell = fell || f->right < least;
    cases += f->cases;
    right += f->right;
    missing += f->missing;
  }
  printf("%4zu of %4zu  in all; %zu with what is not supported\n", right, cases, missing);
  ck_assert_msg(!fell, "a family gives less than " COUNTS " says");
}
END_TEST

static const char *lacks_data(void) {
  const char *source = getenv("MICA_SOURCE_DIR");
  if (!source || chdir(source)) return "no MICA_SOURCE_DIR";
  return test_data("onnx/backend/scope.tsv") ? test_lacks_device() : "no onnx/backend in MICA_TEST_DATA";
}

TESTS(BOTH(NEEDS(ONNX), lacks_data()), NULL, NULL, cases_give_what_is_recorded)
