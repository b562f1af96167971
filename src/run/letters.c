/* Converts texts in UTF-8 to classes of letters, and back. */
#include "run/letters.h"
#include "run/fields.h"

#include <stdlib.h>
#include <string.h>

/* The most letters of an alphabet that a message lists. */
#define MOST_LISTED 100

#define LETTERS_FACTS(X, S) X(S, TEXTS, alphabet, .needed = true)
MICA__FACTS(letters, LETTERS_FACTS, 0);

int64_t mica__letters_classes(const mica_run *run) { return (int64_t)facts_of(run).alphabet.count + 1; }

mica_status mica__letters_read(const mica_run *run, int32_t **letters) {
  const size_t count = facts_of(run).alphabet.count;
  const char *const *texts = facts_of(run).alphabet.list;
  int32_t *list = texts ? calloc(count + 1, sizeof *list) : NULL;
  if (!texts) return mica__fail(MICA_E_FORMAT, "\"alphabet\" is missing");
  if (!list) return mica__fail_nomem("an alphabet");
  for (size_t i = 0; i < count; i++) {
    size_t bytes = 0;
    list[i] = mica__letter_at(texts[i], strlen(texts[i]) + 1, &bytes);
    if (list[i] > 0 && !texts[i][bytes] && (!i || list[i] > list[i - 1])) continue;
    free(list);
    return mica__fail(MICA_E_FORMAT, "\"alphabet\" holds '%s', which is not a letter or is out of order", texts[i]);
  }
  *letters = list;
  return MICA_OK;
}

mica_status mica__letters_text(const mica_run *run, const int32_t *labels, int64_t count, mica__text *text) {
  const int64_t classes = mica__letters_classes(run);
  int32_t *letters = NULL;
  MICA_TRY(mica__letters_read(run, &letters));
  mica__text_add(text, "");
  for (int64_t i = 0; i < count; i++)
    if (labels[i] > 0 && labels[i] < classes) mica__letter_add(text, letters[labels[i] - 1]);
  free(letters);
  MICA_TRY(mica__text_status(text));
  if (text->length && text->data[text->length - 1] == ' ') text->data[--text->length] = '\0';
  return MICA_OK;
}

static bool is_known(const int32_t *letters, int64_t count, int32_t letter) {
  for (int64_t i = 0; i < count; i++)
    if (letters[i] == letter) return true;
  return false;
}

static mica_status fail_letter(const int32_t *known, int64_t count, int32_t letter) {
  mica__text wrong = {0}, list = {0};
  mica__text_add(&wrong, letter < ' ' ? "" : "'");
  if (letter >= ' ') mica__letter_add(&wrong, letter);
  mica__text_add(&wrong, letter < ' ' ? "" : "' ");
  mica__text_add(&list, "");
  for (int64_t i = 0; i < count && i < MOST_LISTED; i++) mica__letter_add(&list, known[i]);
  if (count > MOST_LISTED) mica__text_add(&list, "...");
  mica_status status = mica__text_status(&wrong);
  if (status == MICA_OK) status = mica__text_status(&list);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_INVALID, "the run has not learned the letter %s(U+%04X); it has learned \"%s\"",
                        wrong.data, (unsigned)letter, list.data);
  mica__text_free(&wrong);
  mica__text_free(&list);
  return status;
}

mica_status mica__letters_of(const mica_run *run, const char *text, int32_t *letters, int64_t *count) {
  const size_t size = strlen(text);
  int32_t *known = NULL;
  MICA_TRY(mica__letters_read(run, &known));
  mica_status status = MICA_OK;
  *count = 0;
  for (size_t at = 0, bytes = 0; status == MICA_OK && at < size; at += bytes) {
    const int32_t letter = mica__letter_at(text + at, size - at, &bytes);
    if (letter < 0)
      status = mica__fail(MICA_E_INVALID, "the text is not UTF-8 at byte %zu", at + 1);
    else if (!is_known(known, mica__letters_classes(run) - 1, letter))
      status = fail_letter(known, mica__letters_classes(run) - 1, letter);
    else
      letters[(*count)++] = letter;
  }
  free(known);
  return status;
}
