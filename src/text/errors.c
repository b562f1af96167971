/* Edit distances, word and character error rates. */
#include "base/error.h"
#include "text/words.h"

#include <math.h>
#include <mica/speech.h>
#include <stdlib.h>
#include <string.h>

typedef mica__word token; /* a label, a word or a character */

static bool equal(const token *a, const token *b) {
  return a->count == b->count && memcmp(a->bytes, b->bytes, a->count) == 0;
}

/* Levenshtein distance; keeps one row of the table at a time. */
static mica_status distance_of(const token *a, int64_t a_count, const token *b, int64_t b_count, int64_t *distance) {
  int64_t *row = malloc(((size_t)b_count + 1) * sizeof *row);
  if (!row) return mica__fail_nomem("an edit distance");
  for (int64_t j = 0; j <= b_count; j++) row[j] = j;
  for (int64_t i = 0; i < a_count; i++) {
    int64_t corner = row[0];
    row[0] = i + 1;
    for (int64_t j = 0; j < b_count; j++) {
      int64_t best = corner + !equal(&a[i], &b[j]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
      corner = row[j + 1];
      row[j + 1] = best;
    }
  }
  *distance = row[b_count];
  free(row);
  return MICA_OK;
}

static token *tokens_of(const int32_t *labels, int64_t count) {
  token *tokens = malloc(((size_t)count + 1) * sizeof *tokens);
  for (int64_t i = 0; tokens && i < count; i++) tokens[i] = (token){(const char *)&labels[i], sizeof *labels};
  return tokens;
}

mica_status mica_edit_distance(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count,
                               int64_t *distance) {
  if ((a_count && !a) || (b_count && !b) || !distance)
    return mica__fail(MICA_E_INVALID, "mica_edit_distance: a, b or distance is NULL");
  if (a_count < 0 || b_count < 0)
    return mica__fail(MICA_E_INVALID, "mica_edit_distance: the counts are %lld and %lld, but must be 0 or above",
                      (long long)a_count, (long long)b_count);
  token *x = tokens_of(a, a_count), *y = tokens_of(b, b_count);
  mica_status status = x && y ? distance_of(x, a_count, y, b_count, distance) : mica__fail_nomem("an edit distance");
  free(x);
  free(y);
  return status;
}

/* --- texts --- */

static mica_status add(const char *reference, const char *hypothesis, bool words, int64_t *edits, int64_t *length) {
  int64_t a_count = 0, b_count = 0, distance = 0;
  token *a = mica__text_parts(reference, words, &a_count), *b = mica__text_parts(hypothesis, words, &b_count);
  mica_status status = a && b ? distance_of(a, a_count, b, b_count, &distance) : mica__fail_nomem("an edit distance");
  free(a);
  free(b);
  if (status != MICA_OK) return status;
  *edits += distance;
  *length += a_count;
  return MICA_OK;
}

mica_status mica_text_errors_add(mica_text_errors *errors, const char *reference, const char *hypothesis) {
  if (!errors || !reference || !hypothesis)
    return mica__fail(MICA_E_INVALID, "mica_text_errors_add: errors, reference or hypothesis is NULL");
  mica_text_errors sum = *errors;
  MICA_TRY(add(reference, hypothesis, true, &sum.word_edits, &sum.words));
  MICA_TRY(add(reference, hypothesis, false, &sum.character_edits, &sum.characters));
  *errors = sum;
  return MICA_OK;
}

static double rate(int64_t edits, int64_t length) { return length > 0 ? (double)edits / (double)length : NAN; }
double mica_word_error_rate(const mica_text_errors *errors) { return rate(errors->word_edits, errors->words); }
double mica_character_error_rate(const mica_text_errors *errors) {
  return rate(errors->character_edits, errors->characters);
}
