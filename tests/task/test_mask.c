/* labels: device
 *
 * Masked runs: which weights become 0, and that nothing else changes. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_rows(const char *name) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("a,b,c,y\n", file);
  for (int i = 0; i < 60; i++) fprintf(file, "%d,%d,%d,%d.5\n", i % 7, i % 5, i % 3, i % 7 + i % 5);
  fclose(file);
}

static mica_run *train(const char *folder) {
  static char data[4096], to[4096];
  snprintf(data, sizeof data, "%s", files_path("rows.csv"));
  snprintf(to, sizeof to, "%s", files_path(folder));
  const mica_setting epochs = {"epochs", "1"};
  const mica_run_config config = {
      .task = "regress", .data = data, .folder = to, .settings = &epochs, .setting_count = 1};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  return run;
}

static mica_safetensors *weights_of(const char *folder) {
  char name[256];
  mica_safetensors *file = NULL;
  snprintf(name, sizeof name, "%s/model.safetensors", folder);
  ck_ok(mica_safetensors_open(files_path(name), &file));
  return file;
}

/* A matrix has floor(share n) weights that are 0, all others as they were, and no zero was larger than what stays. */
static int64_t check_matrix(const mica_safetensors_entry *is, const mica_safetensors_entry *was, double share) {
  const float *x = is->data, *w = was->data;
  const int64_t n = (int64_t)(is->bytes / sizeof(float));
  double largest_gone = 0, least_left = INFINITY;
  int64_t gone = 0;
  for (int64_t i = 0; i < n; i++) {
    if (x[i] == 0) {
      gone++;
      largest_gone = fmax(largest_gone, fabs((double)w[i]));
    } else {
      ck_assert_float_eq(x[i], w[i]);
      least_left = fmin(least_left, fabs((double)w[i]));
    }
  }
  ck_assert_int_eq(gone, (int64_t)((double)n * share));
  ck_assert_msg(largest_gone <= least_left, "%s: %g is gone, %g is left", is->name, largest_gone, least_left);
  return gone;
}

START_TEST(the_least_of_each_matrix_become_0) {
  static const double shares[] = {0.1, 0.5, 0.93};
  const double share = shares[_i];
  int64_t zeros = 0, weights = 0, gone = 0, all = 0;
  char to[4096];
  size_t matrices = 0;
  write_rows("rows.csv");
  mica_run *run = train("whole");
  snprintf(to, sizeof to, "%s", files_path("masked"));
  ck_ok(mica_run_mask(run, &(mica_mask_config){.share = share, .folder = to}, &zeros, &weights));
  mica_safetensors *was = weights_of("whole"), *is = weights_of("masked");
  ck_assert_uint_eq(mica_safetensors_count(is), mica_safetensors_count(was));
  for (size_t i = 0; i < mica_safetensors_count(was); i++) {
    const mica_safetensors_entry *before = mica_safetensors_at(was, i);
    const mica_safetensors_entry *after = mica_safetensors_find(is, before->name);
    ck_assert_ptr_nonnull(after);
    ck_assert_uint_eq(after->bytes, before->bytes);
    if (before->shape.rank < 2) {
      ck_assert_mem_eq(after->data, before->data, before->bytes);
      continue;
    }
    matrices++;
    gone += check_matrix(after, before, share);
    all += (int64_t)(before->bytes / sizeof(float));
  }
  ck_assert_uint_ge(matrices, 2);
  ck_assert_int_eq(zeros, gone);
  ck_assert_int_eq(weights, all);
  mica_safetensors_close(was);
  mica_safetensors_close(is);
  mica_run_destroy(run);
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, files_remove, LOOP(the_least_of_each_matrix_become_0, 0, 3))
