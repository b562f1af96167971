/* labels: null single
 *
 * Decoding of CTC beside all alignments of small cases; distances. */
#include "support/check_main.h"

#include <check.h>
#include <math.h>
#include <mica/mica.h>
#include <string.h>

enum { FRAMES = 6, CLASSES = 4, MOST_TEXTS = 4096 };

/* A text as a number in base 5, labels 1 to 3. */
static int number_of(const int32_t *labels, int64_t count) {
  int number = 0;
  for (int64_t i = 0; i < count; i++) number = number * CLASSES + labels[i];
  return number;
}

/* The probability of every text over all alignments; blank is class 0. */
static void sum_alignments(const float *scores, double *texts) {
  memset(texts, 0, MOST_TEXTS * sizeof *texts);
  for (int path = 0; path < 1 << 2 * FRAMES; path++) {
    double p = 1;
    int32_t labels[FRAMES], before = 0;
    int64_t count = 0;
    for (int t = 0; t < FRAMES; t++) {
      int32_t c = path >> 2 * t & 3;
      double sum = 0;
      for (int k = 0; k < CLASSES; k++) sum += exp((double)scores[t * CLASSES + k]);
      p *= exp((double)scores[t * CLASSES + c]) / sum;
      if (c && c != before) labels[count++] = c;
      before = c;
    }
    texts[number_of(labels, count)] += p;
  }
}

static uint64_t state = 3;
static void draw(float *scores, int count) {
  for (int i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    scores[i] = (float)((double)(state >> 40) / (1 << 24) * 4 - 2);
  }
}

static double longer_is_better(void *user, const int32_t *labels, int64_t count, int32_t label) {
  (void)labels;
  ++*(int *)user;
  return label == 2 ? -3 : label < 0 ? -0.5 * (double)count : 0;
}

START_TEST(wide_beam_finds_the_best_text) {
  for (int round = 0; round < 50; round++) {
    float scores[FRAMES * CLASSES];
    double texts[MOST_TEXTS], score = 0;
    int32_t labels[FRAMES];
    int64_t count = 0;
    draw(scores, FRAMES * CLASSES);
    sum_alignments(scores, texts);
    int best = 0;
    for (int i = 0; i < MOST_TEXTS; i++)
      if (texts[i] > texts[best]) best = i;
    ck_assert_int_eq(mica_ctc_beam(scores, FRAMES, CLASSES, &(mica_ctc_beam_config){.beam = 2000, .prune = 50}, labels,
                                   &count, &score),
                     MICA_OK);
    ck_assert_int_eq(number_of(labels, count), best);
    ck_assert_double_eq_tol(score, log(texts[best]), 1e-9);
  }
}
END_TEST

START_TEST(text_model_and_bonus_count) {
  for (int round = 0; round < 20; round++) {
    float scores[FRAMES * CLASSES];
    double texts[MOST_TEXTS], best = -INFINITY, score = 0;
    int32_t labels[FRAMES];
    int64_t count = 0;
    int calls = 0, which = 0;
    const mica_ctc_beam_config config = {
        .beam = 2000, .prune = 50, .text = longer_is_better, .user = &calls, .weight = 2, .bonus = 0.3};
    draw(scores, FRAMES * CLASSES);
    sum_alignments(scores, texts);
    for (int i = 0; i < MOST_TEXTS; i++) {
      int length = 0, twos = 0;
      for (int k = i; k > 0; k /= CLASSES) length++, twos += k % CLASSES == 2;
      double total = log(texts[i]) + 0.3 * length + 2 * (-3.0 * twos - 0.5 * length);
      if (texts[i] > 0 && total > best) best = total, which = i;
    }
    ck_assert_int_eq(mica_ctc_beam(scores, FRAMES, CLASSES, &config, labels, &count, &score), MICA_OK);
    ck_assert_int_eq(number_of(labels, count), which);
    ck_assert_double_eq_tol(score, best, 1e-9);
    ck_assert_int_gt(calls, 0);
  }
}
END_TEST

START_TEST(greedy_joins_repeats) {
  const int classes[] = {0, 1, 1, 0, 1, 2, 2, 0, 0, 3};
  const int32_t want[] = {1, 1, 2, 3}, begins[] = {1, 4, 5, 9};
  float scores[40] = {0};
  int32_t labels[10], at[10];
  for (int t = 0; t < 10; t++) scores[t * 4 + classes[t]] = 1;
  ck_assert_int_eq(mica_ctc_greedy(scores, 10, 4, 0, labels, at), 4);
  ck_assert_mem_eq(labels, want, sizeof want);
  ck_assert_mem_eq(at, begins, sizeof begins);
  ck_assert_int_eq(mica_ctc_greedy(scores, 0, 4, 0, labels, NULL), 0);
}
END_TEST

START_TEST(wrong_searches_are_refused) {
  float scores[8] = {0};
  int32_t labels[2];
  int64_t count;
  const mica_ctc_beam_config configs[] = {{.beam = -1}, {.blank = 4}, {.blank = -1}, {.prune = -2}};
  for (size_t k = 0; k < sizeof configs / sizeof *configs; k++) {
    ck_assert_int_eq(mica_ctc_beam(scores, 2, 4, &configs[k], labels, &count, NULL), MICA_E_INVALID);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "CTC search: "));
  }
  ck_assert_int_eq(mica_ctc_beam(NULL, 2, 4, NULL, labels, &count, NULL), MICA_E_INVALID);
  scores[1] = NAN;
  scores[0] = scores[2] = scores[3] = -INFINITY;
  ck_assert_int_eq(mica_ctc_beam(scores, 1, 4, NULL, labels, &count, NULL), MICA_E_INVALID);
  scores[0] = scores[2] = scores[3] = 0;
  ck_assert_int_eq(mica_ctc_beam(scores, 1, 4, NULL, labels, &count, NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "not a number"));
}
END_TEST

START_TEST(distances) {
  const int32_t a[] = {1, 2, 3, 4}, b[] = {2, 3, 5, 4, 6};
  int64_t distance = -1;
  ck_assert_int_eq(mica_edit_distance(a, 4, b, 5, &distance), MICA_OK);
  ck_assert_int_eq(distance, 3);
  ck_assert_int_eq(mica_edit_distance(NULL, 0, b, 5, &distance), MICA_OK);
  ck_assert_int_eq(distance, 5);
  ck_assert_int_eq(mica_edit_distance(a, 4, a, 4, &distance), MICA_OK);
  ck_assert_int_eq(distance, 0);
  ck_assert_int_eq(mica_edit_distance(a, -1, b, 5, &distance), MICA_E_INVALID);
}
END_TEST

START_TEST(rates_of_nothing) {
  mica_text_errors errors = {0};
  ck_assert(isnan(mica_word_error_rate(&errors)) && isnan(mica_character_error_rate(&errors)));
  ck_assert_int_eq(mica_text_errors_add(&errors, "  ", " a b "), MICA_OK);
  ck_assert_int_eq(errors.word_edits, 2);
  ck_assert_int_eq(errors.character_edits, 3);
  ck_assert_int_eq(errors.words + errors.characters, 0);
  ck_assert_int_eq(mica_text_errors_add(&errors, "\xff\xc3(", "\xff("), MICA_OK);
  ck_assert_int_eq(errors.characters, 3);
  ck_assert_int_eq(errors.character_edits, 4);
  ck_assert_int_eq(mica_text_errors_add(&errors, NULL, ""), MICA_E_INVALID);
}
END_TEST

/* Witten and Bell's estimate by hand, of two texts "1 2" and "1 1" and the end, -1: of 6 labels that follow the empty
 * context 3 are 1, 1 is 2, 2 are ends, 3 kinds; behind a 1 come 1, 2 and an end, 3 kinds. */
START_TEST(text_models_count_what_follows) {
  static const int32_t texts[][2] = {{1, 2}, {1, 1}};
  mica_ngram *ngram = NULL;
  ck_assert_int_eq(mica_ngram_create(0, 2, &ngram), MICA_E_INVALID);
  ck_assert_int_eq(mica_ngram_create(2, 0, &ngram), MICA_E_INVALID);
  ck_assert_int_eq(mica_ngram_create(2, 2, &ngram), MICA_OK);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(mica_ngram_add(ngram, texts[i], 2), MICA_OK);
  const double third = 1.0 / 3, one = (3 + 3 * third) / 9, two = (1 + 3 * third) / 9, end = (2 + 3 * third) / 9;
  ck_assert_double_eq_tol(mica_ngram_score(ngram, NULL, 0, 1), log(one), 1e-12);
  ck_assert_double_eq_tol(mica_ngram_score(ngram, texts[0], 1, 1), log((1 + 3 * one) / 6), 1e-12);
  ck_assert_double_eq_tol(mica_ngram_score(ngram, texts[0], 1, 2), log((1 + 3 * two) / 6), 1e-12);
  ck_assert_double_eq_tol(mica_ngram_score(ngram, texts[0], 1, -1), log((1 + 3 * end) / 6), 1e-12);
  /* Behind a 2 an end alone was seen. */
  ck_assert_double_eq_tol(mica_ngram_score(ngram, texts[0], 2, -1), log((1 + end) / 2), 1e-12);
  mica_ngram_destroy(ngram);
  mica_ngram_destroy(NULL);
  /* Many contexts: the table grows, and shares still add up to 1. */
  int32_t long_text[5000];
  uint32_t number = 7;
  for (int i = 0; i < 5000; i++) long_text[i] = 1 + (int32_t)((number = number * 1664525 + 1013904223) >> 16) % 9;
  ck_assert_int_eq(mica_ngram_create(4, 9, &ngram), MICA_OK);
  ck_assert_int_eq(mica_ngram_add(ngram, long_text, 5000), MICA_OK);
  for (int i = 0; i < 100; i++) {
    double sum = exp(mica_ngram_score(ngram, long_text, 40 * i, -1));
    for (int32_t label = 1; label <= 9; label++) sum += exp(mica_ngram_score(ngram, long_text, 40 * i, label));
    ck_assert_double_eq_tol(sum, 1, 1e-9);
  }
  mica_ngram_destroy(ngram);
}
END_TEST

/* Scores that cannot tell 1 from 2 behind a 1: the text model does. */
START_TEST(text_models_decide_in_the_beam) {
  static const int32_t text[] = {1, 2, 1, 2, 1, 2, 1, 2};
  const float scores[3 * 3] = {-9, 0, -9, 0, -9, -9, -9, 0.1f, 0};
  int32_t labels[3];
  int64_t count = 0;
  mica_ngram *ngram = NULL;
  ck_assert_int_eq(mica_ngram_create(3, 2, &ngram), MICA_OK);
  ck_assert_int_eq(mica_ngram_add(ngram, text, 8), MICA_OK);
  ck_assert_int_eq(mica_ctc_beam(scores, 3, 3, NULL, labels, &count, NULL), MICA_OK);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(labels[1], 1);
  const mica_ctc_beam_config config = {.text = mica_ngram_score, .user = ngram};
  ck_assert_int_eq(mica_ctc_beam(scores, 3, 3, &config, labels, &count, NULL), MICA_OK);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(labels[1], 2);
  mica_ngram_destroy(ngram);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, wide_beam_finds_the_best_text, text_model_and_bonus_count, greedy_joins_repeats,
      wrong_searches_are_refused, distances, rates_of_nothing, text_models_count_what_follows,
      text_models_decide_in_the_beam)
