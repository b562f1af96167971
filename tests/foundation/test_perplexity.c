/* labels: device
 *
 * Perplexity of twelve tokens, in windows of several sizes, against the logits of transformers (make_models.py). */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 12, V = 131, CONTEXT = 64 };

static mica_foundation *model;
static int32_t ids[T];
static float logits[T][V];

static void setup(void) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/llama/ids.txt", root ? root : ".");
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  for (int t = 0; t < T; t++) ck_assert_int_eq(fscanf(file, "%d", &ids[t]), 1);
  fclose(file);
  strcpy(strrchr(path, '/'), "/logits.f32");
  file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(logits, sizeof(float), T * V, file), T * V);
  fclose(file);
  *strrchr(path, '/') = '\0';
  ck_ok(mica_foundation_open(path, NULL, &model));
}

static void teardown(void) {
  mica_foundation_close(model);
  model = NULL;
}

/* -log softmax(row)[target] in double precision. */
static double nll_of(const float *row, int32_t target) {
  double most = (double)row[0], sum = 0;
  for (int v = 1; v < V; v++) most = fmax(most, (double)row[v]);
  for (int v = 0; v < V; v++) sum += exp((double)row[v] - most);
  return most + log(sum) - (double)row[target];
}

static mica_perplexity score(const int32_t *tokens, size_t count, int64_t window) {
  mica_perplexity p = {0};
  ck_ok(
      mica_foundation_perplexity(test_engine(), model, tokens, count, &(mica_perplexity_config){.window = window}, &p));
  return p;
}

/* The file has the logits of one whole text, so they hold for the first window. Mica's are within 1e-4 of them
 * (test_logits.c), so a loss is within 2e-4. */
static const double loss_error = 2e-4;

START_TEST(one_window_is_the_loss_of_the_golden_logits) {
  for (size_t count = 2; count <= T; count++) {
    double want = 0;
    for (size_t t = 0; t + 1 < count; t++) want += nll_of(logits[t], ids[t + 1]);
    const double tokens = (double)(count - 1);
    const mica_perplexity p = score(ids, count, T);
    ck_assert_int_eq(p.tokens, (int64_t)count - 1);
    ck_assert_int_eq(p.window, (int64_t)count);
    ck_assert_double_eq_tol(p.nll, want, tokens * loss_error);
    ck_assert_double_eq_tol(p.perplexity, exp(want / tokens), 2 * loss_error * exp(want / tokens));
  }
}
END_TEST

/* Each window is a text of its own: the sum is the sum of their scores, and a window's first token has no score. */
START_TEST(windows_are_scored_apart) {
  static const int64_t sizes[] = {2, 5, 6, 7, 11};
  double first = 0;
  for (size_t t = 0; t < 5; t++) first += nll_of(logits[t], ids[t + 1]);
  ck_assert_double_eq_tol(score(ids, 6, 6).nll, first, 5 * loss_error);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    double want = 0;
    int64_t tokens = 0;
    for (int64_t at = 0; at + 1 < T; at += sizes[k]) {
      const int64_t size = T - at < sizes[k] ? T - at : sizes[k];
      const mica_perplexity alone = score(ids + at, (size_t)size, T);
      want += alone.nll;
      tokens += alone.tokens;
    }
    const mica_perplexity p = score(ids, T, sizes[k]);
    ck_assert_int_eq(p.window, sizes[k]);
    ck_assert_int_eq(p.tokens, tokens);
    ck_assert_double_eq_tol(p.nll, want, (double)tokens * 1e-5);
    ck_assert_double_eq_tol(p.perplexity, exp(want / (double)tokens), 1e-4 * exp(want / (double)tokens));
  }
  /* Twelve tokens in one window have context that two of six lack. */
  ck_assert_double_gt(fabs(score(ids, T, 6).perplexity - score(ids, T, T).perplexity), 1e-3);
}
END_TEST

START_TEST(the_standard_window_is_the_context) {
  int32_t tokens[CONTEXT + 10];
  for (int t = 0; t < CONTEXT + 10; t++) tokens[t] = (7 * t * t + 3) % V;
  mica_perplexity p, zero;
  ck_ok(mica_foundation_perplexity(test_engine(), model, tokens, CONTEXT + 10, NULL, &p));
  zero = score(tokens, CONTEXT + 10, 0);
  ck_assert_int_eq(p.window, CONTEXT);
  ck_assert_int_eq(p.tokens, CONTEXT - 1 + 9);
  ck_assert_double_eq(p.nll, zero.nll);
  /* A last window of one token has no score. */
  ck_assert_int_eq(score(tokens, CONTEXT + 1, 0).tokens, CONTEXT - 1);
}
END_TEST

static void refuse(const int32_t *tokens, size_t count, int64_t window, const char *sentence) {
  mica_perplexity p = {.tokens = 77};
  const mica_perplexity_config config = {.window = window};
  ck_assert_int_eq(mica_foundation_perplexity(test_engine(), model, tokens, count, &config, &p), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());
  ck_assert_int_eq(p.tokens, 77);
}

START_TEST(arguments_are_checked) {
  int32_t wrong[T];
  refuse(ids, 0, 0, "count is 0");
  refuse(ids, 1, 0, "count is 1");
  refuse(ids, T, 1, "the window is 1 tokens, but must be from 2 to 64");
  refuse(ids, T, -1, "the window is -1 tokens");
  refuse(ids, T, CONTEXT + 1, "the window is 65 tokens");
  refuse(NULL, T, 0, "NULL");
  memcpy(wrong, ids, sizeof wrong);
  wrong[11] = V;
  refuse(wrong, T, 0, "token 11 is 131");
  wrong[11] = -1;
  refuse(wrong, T, 0, "token 11 is -1");
  mica_perplexity p;
  ck_assert_int_eq(mica_foundation_perplexity(NULL, model, ids, T, NULL, &p), MICA_E_INVALID);
  ck_assert_int_eq(mica_foundation_perplexity(test_engine(), NULL, ids, T, NULL, &p), MICA_E_INVALID);
  ck_assert_int_eq(mica_foundation_perplexity(test_engine(), model, ids, T, NULL, NULL), MICA_E_INVALID);
}
END_TEST

/* CLIP gives vectors of texts; they are not logits. */
START_TEST(models_that_do_not_write_have_no_perplexity) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  mica_foundation *clip = NULL;
  mica_perplexity p;
  snprintf(path, sizeof path, "%s/tests/golden/foundation/clip", root ? root : ".");
  ck_ok(mica_foundation_open(path, NULL, &clip));
  ck_assert_int_eq(mica_foundation_perplexity(test_engine(), clip, ids, T, NULL, &p), MICA_E_UNSUPPORTED);
  mica_foundation_close(clip);
}
END_TEST

TESTS(DEVICE, setup, teardown, one_window_is_the_loss_of_the_golden_logits, windows_are_scored_apart,
      the_standard_window_is_the_context, arguments_are_checked, models_that_do_not_write_have_no_perplexity)
