/* labels: null single
 *
 * Text models of files beside scores by hand, and what is wrong with files; a search that takes scores bit by bit
 * beside one that takes them at once. */
#include "support/check_main.h"

#include <check.h>
#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

static const int32_t letters[] = {' ', 'a', 'b'};
enum { SPACE = 1, A, B };

static const char words[] =
    "A note.\n\\data\\\nngram 1=6\nngram 2=4\nngram 3=1\n\n"
    "\\1-grams:\n-2\t<unk>\n-99\t<s>\t-0.25\n-1.5\t</s>\n-1\ta\t-0.5\n-0.5\tab\t-0.125\n-0.75\tb\n\n"
    "\\2-grams:\n-0.1\t<s> a\t-0.05\n-0.2\ta ab\t-0.3\n-0.3\tab </s>\n-0.4\tab b\n\n"
    "\\3-grams:\n-0.01\t<s> a ab\n\n\\end\\\n";

static mica_text_model *read_model(const char *content) {
  const mica_text_model_config config = {.letters = letters, .count = 3};
  mica_text_model *model = NULL;
  ck_assert_msg(mica_text_model_read("file", content, strlen(content), &config, &model) == MICA_OK, "%s",
                mica_error_message());
  return model;
}

static void scores(mica_text_model *m, const int32_t *labels, int64_t count, int32_t label, double log10_wanted) {
  ck_assert_double_eq_tol(mica_text_model_score(m, labels, count, label), log10_wanted * log(10), 1e-6);
}

START_TEST(words_count_where_they_end) {
  mica_text_model *m = read_model(words);
  const int32_t text[] = {A, SPACE, A, B, SPACE, B, B, SPACE, B};
  scores(m, text, 0, A, 0);
  scores(m, text, 0, SPACE, 0);
  scores(m, text, 1, B, 0);
  scores(m, text, 1, SPACE, -0.1);
  scores(m, text, 2, SPACE, 0);
  scores(m, text, 4, SPACE, -0.01);
  /* ab behind <s> a, and the end behind a ab: a ab </s> is unknown, whose context loses 0.3. */
  scores(m, text, 4, -1, -0.01 - 0.3 - 0.3);
  /* bb is unknown: a ab loses 0.3, ab 0.125. */
  scores(m, text, 7, SPACE, -0.3 - 0.125 - 2);
  /* b behind ab and what is unknown, which lose nothing. */
  scores(m, text, 9, SPACE, -0.75);
  /* An end where nothing was said: <s> loses 0.25. */
  scores(m, text, 0, -1, -0.25 - 1.5);
  scores(m, text, 5, -1, -0.3 - 0.3);
  ck_assert_int_eq(mica_text_model_context(m), 120);
  mica_text_model_destroy(m);
}
END_TEST

START_TEST(letters_are_words_of_their_own) {
  mica_text_model *m = read_model("\\data\\\nngram 1=5\nngram 2=3\n\\1-grams:\n-9 <s> -0.5\n-1 </s>\n-0.5 a -0.25\n"
                                  "-0.6 b\n-0.7 | -0.1\n\\2-grams:\n-0.2 <s> a\n-0.3 a |\n-0.4 | b\n\\end\\\n");
  const int32_t text[] = {A, SPACE, B};
  scores(m, text, 0, A, -0.2);
  scores(m, text, 0, B, -0.5 - 0.6);
  scores(m, text, 1, SPACE, -0.3);
  scores(m, text, 2, SPACE, 0);
  scores(m, text, 2, B, -0.4);
  scores(m, text, 1, B, -0.25 - 0.6);
  scores(m, text, 3, -1, -1);
  ck_assert_int_eq(mica_text_model_context(m), 1);
  mica_text_model_destroy(m);
}
END_TEST

/* A plain text counts as its lines do: other characters part words. */
START_TEST(plain_texts_are_counted) {
  mica_text_model *m = read_model(" ab-b\n\nxa\r\n");
  mica_ngram *n = NULL;
  const int32_t first[] = {A, B, SPACE, B}, second[] = {A};
  ck_assert_int_eq(mica_ngram_create(6, 3, &n), MICA_OK);
  ck_assert_int_eq(mica_ngram_add(n, first, 4), MICA_OK);
  ck_assert_int_eq(mica_ngram_add(n, second, 1), MICA_OK);
  for (int64_t count = 0; count <= 4; count++)
    for (int32_t label = -1; label <= 3; label++) {
      if (!label || (label == SPACE && (!count || count == 3))) continue;
      ck_assert_double_eq(mica_text_model_score(m, first, count, label), mica_ngram_score(n, first, count, label));
    }
  ck_assert_int_eq(mica_text_model_context(m), 5);
  mica_ngram_destroy(n);
  mica_text_model_destroy(m);
}
END_TEST

#define HEAD "\\data\\\nngram 1=1\n\\1-grams:\n"
static const struct {
  const char *content, *sentence;
} wrong[] = {
    {"", "file has no letter that the network recognises"},
    {"xyz\n", "file has no letter that the network recognises"},
    {"a\377", "file is not an ARPA model, and as a text it is not UTF-8 at byte 2"},
    {"\\data\\\n", "file:1: the model ends before its first list"},
    {"\\data\\\nngrams\n", "file:2: a line of the head must look like"},
    {"\\data\\\nngram 2=3\n", "file:2: expected ngram 1=COUNT, but found ngram 2=COUNT"},
    {"\\data\\\nngram 1=-3\n", "file:2: a line of the head must look like"},
    {"\\data\\\n\\1-grams:\n", "file:2: the head must count n-grams"},
    {HEAD "-1 a\n", "file:4: the model ends without the line \\end\\"},
    {HEAD "-1 a\n-1 b\n\\end\\\n", "file:6: there are 2 1-grams, but the head says 1"},
    {HEAD "-1 a\n\\2-grams:\n", "file:5: the line must be \\end\\"},
    {"\\data\\\nngram 1=1\n\\2-grams:\n", "file:3 must be the line \\1-grams:"},
    {HEAD "a -1\n\\end\\\n", "file:4: a line must begin with the log10"},
    {HEAD "1 a\n\\end\\\n", "file:4: a line must begin with the log10"},
    {HEAD "nan a\n\\end\\\n", "file:4: a line must begin with the log10"},
    {HEAD "-1\n\\end\\\n", "file:4: the line has too few words: 0 instead of 1"},
    {HEAD "-1 a b\n\\end\\\n", "file:4: the number of words after the probability must be 1"},
    {HEAD "-1 a -1 b\n\\end\\\n", "file:4: the number of words after the probability must be 1"},
    {HEAD "-1 a\n-1 a\n\\end\\\n", "file:5: these words are listed twice"},
    {HEAD "-1 \377\n\\end\\\n", "file:4: a word is not UTF-8"},
    {HEAD "-1 ABC\n\\end\\\n", "file: none of the model's 1 words consists of letters that the network recognises"},
};

START_TEST(wrong_files_are_named) {
  const mica_text_model_config config = {.letters = letters, .count = 3};
  const char *content = wrong[_i].content;
  mica_text_model *m = NULL;
  ck_assert_int_eq(mica_text_model_read("file", content, strlen(content), &config, &m), MICA_E_FORMAT);
  ck_assert_msg(!strncmp(mica_error_message(), wrong[_i].sentence, strlen(wrong[_i].sentence)), "%s",
                mica_error_message());
  ck_assert_ptr_null(m);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
  static const int32_t falling[] = {'b', 'a'};
  const mica_text_model_config configs[] = {{.letters = falling, .count = 2},
                                            {.letters = letters},
                                            {.count = 3},
                                            {.letters = letters, .count = 3, .order = 13}};
  mica_text_model *m = NULL;
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
    ck_assert_int_eq(mica_text_model_read("file", "a", 1, &configs[i], &m), MICA_E_INVALID);
  ck_assert_int_eq(mica_text_model_open("no/such/file", &configs[1], &m), MICA_E_NOT_FOUND);
  mica_text_model_destroy(NULL);
}
END_TEST

/* --- bit by bit --- */

enum { FRAMES = 3000, CLASSES = 4 };

static uint64_t state = 7;
static double draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 40) / (1 << 24);
}

/* Without a text model, by words, by letters that are counted: so many frames that prefixes are swept. */
START_TEST(bits_are_the_whole) {
  static const char *const contents[] = {NULL, words, "ab a b bab\nb a\n"};
  mica_text_model *model = contents[_i] ? read_model(contents[_i]) : NULL;
  const mica_ctc_beam_config config = {.beam = 12,
                                       .text = model ? mica_text_model_score : NULL,
                                       .user = model,
                                       .context = mica_text_model_context(model),
                                       .bonus = 0.1};
  float *scores = malloc(FRAMES * CLASSES * sizeof *scores);
  int32_t *whole = malloc(FRAMES * sizeof *whole), *part = malloc(FRAMES * sizeof *part);
  ck_assert(scores && whole && part);
  for (int i = 0; i < FRAMES * CLASSES; i++) scores[i] = (float)(draw() * 6);
  int64_t count = 0, stable = 0;
  double score = 0, other = 0;
  ck_assert_int_eq(mica_ctc_beam(scores, FRAMES, CLASSES, &config, whole, &count, &score), MICA_OK);
  ck_assert_int_gt(count, FRAMES / 4);
  mica_ctc_search *search = NULL;
  ck_assert_int_eq(mica_ctc_search_create(CLASSES, &config, &search), MICA_OK);
  for (int round = 0; round < 2; round++) {
    for (int64_t at = 0, n; at < FRAMES; at += n) {
      n = (int64_t)(draw() * draw() * 200);
      if (n > FRAMES - at) n = FRAMES - at;
      ck_assert_int_eq(mica_ctc_search_push(search, scores + at * CLASSES, n), MICA_OK);
      stable = mica_ctc_search_stable(search, part);
      ck_assert_int_le(stable, count);
      ck_assert_mem_eq(part, whole, (size_t)stable * sizeof *part);
    }
    ck_assert_int_eq(mica_ctc_search_frames(search), FRAMES);
    ck_assert_int_gt(stable, count / 2);
    ck_assert_int_eq(mica_ctc_search_best(search, part, &other), count);
    ck_assert_mem_eq(part, whole, (size_t)count * sizeof *part);
    ck_assert_double_eq(score, other);
    mica_ctc_search_reset(search);
  }
  ck_assert_int_eq(mica_ctc_search_push(search, scores, -1), MICA_E_INVALID);
  ck_assert_int_eq(mica_ctc_search_push(search, NULL, 1), MICA_E_INVALID);
  ck_assert_int_eq(mica_ctc_search_create(CLASSES, &(mica_ctc_beam_config){.context = -1}, &search), MICA_E_INVALID);
  mica_ctc_search_destroy(search);
  mica_ctc_search_destroy(NULL);
  mica_text_model_destroy(model);
  free(scores);
  free(whole);
  free(part);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, words_count_where_they_end, letters_are_words_of_their_own, plain_texts_are_counted,
      LOOP(wrong_files_are_named, 0, sizeof wrong / sizeof *wrong), wrong_calls_are_refused,
      LOOP(bits_are_the_whole, 0, 3))
