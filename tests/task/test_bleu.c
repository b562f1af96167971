/* labels: null single
 *
 * BLEU against sacrebleu's, of sentences and of corpora (golden values beside the project). */
#include "support/check_main.h"
#include "support/files.h"
#include "support/golden.h"

#include <mica/metric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

#define MOST 256
/* The golden values are doubles, and sums of few logarithms. */
#define CLOSE 1e-9

static cJSON *sentences[MOST], *corpora;
static int sentence_count;

static const char *golden(const char *name) {
  char file[256];
  snprintf(file, sizeof file, "golden/bleu/%s", name);
  return test_data(file);
}

static void read_golden(void) {
  size_t size = 0;
  char *content = (char *)files_read(golden("sentences.jsonl"), &size), *save = NULL;
  content[size - 1] = '\0'; /* the last line's end */
  for (char *line = strtok_r(content, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    ck_assert_int_lt(sentence_count, MOST);
    sentences[sentence_count] = cJSON_Parse(line);
    ck_assert_ptr_nonnull(sentences[sentence_count++]);
  }
  free(content);
  content = (char *)files_read(golden("corpora.json"), &size);
  corpora = cJSON_ParseWithLength(content, size);
  ck_assert_ptr_nonnull(corpora);
  free(content);
}

static const cJSON *field(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  ck_assert_msg(item != NULL, "no %s", name);
  return item;
}

static double number(const cJSON *object, const char *name) { return field(object, name)->valuedouble; }

static void add_sentence(mica_bleu *sums, const cJSON *s, const mica_bleu_config *config) {
  const char *references[2] = {NULL, NULL};
  size_t n = 0;
  for (const cJSON *r = field(s, "references")->child; r; r = r->next) references[n++] = r->valuestring;
  ck_assert_int_eq(mica_bleu_add(sums, field(s, "hypothesis")->valuestring, references, n, config), MICA_OK);
}

static void check_near(double got, double wanted, const char *what, const char *name) {
  ck_assert_msg(got >= wanted - CLOSE && got <= wanted + CLOSE, "%s of %s: %.12g, not %.12g", what, name, got, wanted);
}

static void check_sums(const mica_bleu *sums, const cJSON *wanted, const char *name) {
  const cJSON *counts = field(wanted, "counts"), *totals = field(wanted, "totals");
  for (int i = 0; i < MICA_BLEU_ORDER; i++)
    ck_assert_msg(sums->counts[i] == cJSON_GetArrayItem(counts, i)->valueint &&
                      sums->totals[i] == cJSON_GetArrayItem(totals, i)->valueint,
                  "%s, order %d: %d of %d", name, i + 1, (int)sums->counts[i], (int)sums->totals[i]);
  ck_assert_msg(sums->length == (int64_t)number(wanted, "length") &&
                    sums->reference_length == (int64_t)number(wanted, "reference_length"),
                "%s: %d words for %d", name, (int)sums->length, (int)sums->reference_length);
}

static void check_sentence(const cJSON *s) {
  static const mica_bleu_config one = {.effective_order = true}, four = {.effective_order = false},
                                lower = {.effective_order = true, .lowercase = true};
  const char *name = field(s, "hypothesis")->valuestring;
  double precisions[MICA_BLEU_ORDER];
  mica_bleu sums = {.length = 0};
  add_sentence(&sums, s, &one);
  check_sums(&sums, s, name);
  check_near(mica_bleu_score(&sums, &one, precisions), number(s, "bleu"), "BLEU", name);
  check_near(mica_bleu_score(&sums, &four, NULL), number(s, "bleu_order_4"), "BLEU of four orders", name);
  check_near(mica_bleu_brevity(&sums), number(s, "brevity_penalty"), "the brevity penalty", name);
  for (int i = 0; i < MICA_BLEU_ORDER; i++)
    check_near(precisions[i], cJSON_GetArrayItem(field(s, "precisions"), i)->valuedouble, "a precision", name);
#if MICA_WITH_UTF8PROC
  sums = (mica_bleu){.length = 0};
  add_sentence(&sums, s, &lower);
  check_near(mica_bleu_score(&sums, &lower, NULL), number(s, "bleu_lowercase"), "BLEU in lower case", name);
#else
  const char *reference = "";
  ck_assert_int_eq(mica_bleu_add(&sums, "", &reference, 1, &lower), MICA_E_UNSUPPORTED);
#endif
}

START_TEST(sentences_are_scored_as_by_sacrebleu) {
  ck_assert_int_eq(sentence_count, 222);
  for (int i = 0; i < sentence_count; i++) check_sentence(sentences[i]);
}
END_TEST

static mica_bleu_config config_of(const cJSON *settings) {
  mica_bleu_config config = {0};
  const cJSON *smooth = cJSON_GetObjectItemCaseSensitive(settings, "smooth_method");
  config.lowercase = cJSON_HasObjectItem(settings, "lowercase");
  config.untokenised = cJSON_HasObjectItem(settings, "tokenize");
  if (!smooth) return config;
  config.smoothing = !strcmp(smooth->valuestring, "none")    ? MICA_BLEU_SMOOTHING_NONE
                     : !strcmp(smooth->valuestring, "floor") ? MICA_BLEU_SMOOTHING_FLOOR
                                                             : MICA_BLEU_SMOOTHING_ADD;
  return config;
}

START_TEST(corpora_are_scored_as_by_sacrebleu) {
  int count = 0;
  for (const cJSON *c = field(corpora, "corpora")->child; c; c = c->next, count++) {
    const char *name = field(c, "name")->valuestring;
    const mica_bleu_config config = config_of(field(c, "settings"));
    mica_bleu sums = {.length = 0};
#if !MICA_WITH_UTF8PROC
    if (config.lowercase) continue;
#endif
    for (const cJSON *row = field(c, "rows")->child; row; row = row->next)
      add_sentence(&sums, sentences[row->valueint], &config);
    /* sacrebleu's counts have what its smoothing adds. */
    if (config.smoothing != MICA_BLEU_SMOOTHING_ADD) check_sums(&sums, c, name);
    check_near(mica_bleu_score(&sums, &config, NULL), number(c, "bleu"), "BLEU", name);
    check_near(mica_bleu_brevity(&sums), number(c, "brevity_penalty"), "the brevity penalty", name);
  }
  ck_assert_int_eq(count, 17);
}
END_TEST

#endif

/* The bytes of no character are words' bytes too, and nothing is read behind a text. */
START_TEST(texts_that_are_not_utf8_are_counted) {
  const char *reference = "ein \xff\xfe Hund \xe2\x82";
  mica_bleu sums = {.length = 0};
  ck_assert_int_eq(mica_bleu_add(&sums, "ein \xff\xfe Hund \xe2\x82", &reference, 1, NULL), MICA_OK);
  ck_assert_int_eq(sums.counts[0], 4);
  ck_assert_int_eq(sums.counts[3], 1);
  ck_assert_double_eq_tol(mica_bleu_score(&sums, NULL, NULL), 100, 1e-9);
#if MICA_WITH_UTF8PROC
  ck_assert_int_eq(
      mica_bleu_add(&sums, "EIN \xff\xfe HUND \xe2\x82", &reference, 1, &(mica_bleu_config){.lowercase = true}),
      MICA_OK);
  ck_assert_int_eq(sums.counts[3], 2);
#endif
}
END_TEST

START_TEST(wrong_operands) {
  const char *references[2] = {"a", NULL};
  mica_bleu sums = {.length = 0};
  ck_assert_int_eq(mica_bleu_add(NULL, "a", references, 1, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_bleu_add(&sums, NULL, references, 1, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_bleu_add(&sums, "a", NULL, 1, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_bleu_add(&sums, "a", references, 0, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_bleu_add(&sums, "a", references, 2, NULL), MICA_E_INVALID);
  ck_assert_int_eq(sums.length, 0);
  ck_assert_double_eq(mica_bleu_score(&sums, NULL, NULL), 0);
}
END_TEST

#if MICA_WITH_CJSON
static const char *lacks_golden(void) { return golden("corpora.json") ? NULL : "no golden/bleu in MICA_TEST_DATA"; }

TEST_GROUPS(lacks_golden(),
            ONCE(read_golden, NULL, sentences_are_scored_as_by_sacrebleu, corpora_are_scored_as_by_sacrebleu),
            EACH(NULL, NULL, texts_that_are_not_utf8_are_counted, wrong_operands))
#else
TESTS(ANYWHERE, NULL, NULL, texts_that_are_not_utf8_are_counted, wrong_operands)
#endif
