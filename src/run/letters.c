/* Letters as classes and as UTF-8. */
#include "run/letters.h"
#include "run/fields.h"

#include <stdlib.h>
#include <string.h>

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
