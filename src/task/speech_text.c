/* Letters of the task speech, as classes and as UTF-8. */
#include "task/speech.h"

#include <stdlib.h>
#include <string.h>

int32_t mica__speech_letter(const char *text, size_t size, size_t *bytes) {
  const unsigned char *s = (const unsigned char *)text;
  const size_t more = s[0] < 0x80 ? 0 : s[0] < 0xc2 ? 4 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : s[0] < 0xf5 ? 3 : 4;
  static const unsigned char masks[] = {0x7f, 0x1f, 0x0f, 0x07};
  if (more > 3 || more >= size) return -1;
  int32_t code = s[0] & masks[more];
  for (size_t i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80) return -1;
    code = code << 6 | (s[i] & 0x3f);
  }
  *bytes = more + 1;
  const bool short_form = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
  return short_form || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? -1 : code;
}

void mica__speech_add_letter(mica__text *text, int32_t letter) {
  char bytes[5] = {0};
  if (letter == ' ' && (!text->length || text->data[text->length - 1] == ' ')) return;
  if (letter < 0x80) {
    bytes[0] = (char)letter;
  } else if (letter < 0x800) {
    bytes[0] = (char)(0xc0 | letter >> 6);
    bytes[1] = (char)(0x80 | (letter & 0x3f));
  } else if (letter < 0x10000) {
    bytes[0] = (char)(0xe0 | letter >> 12);
    bytes[1] = (char)(0x80 | (letter >> 6 & 0x3f));
    bytes[2] = (char)(0x80 | (letter & 0x3f));
  } else {
    bytes[0] = (char)(0xf0 | letter >> 18);
    bytes[1] = (char)(0x80 | (letter >> 12 & 0x3f));
    bytes[2] = (char)(0x80 | (letter >> 6 & 0x3f));
    bytes[3] = (char)(0x80 | (letter & 0x3f));
  }
  mica__text_add(text, bytes);
}

int64_t mica__speech_classes(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "alphabet", &count);
  return (int64_t)count + 1;
}

mica_status mica__speech_alphabet(const mica_run *run, int32_t **letters) {
  size_t count = 0;
  const char *const *texts = mica_run_fact(run, "alphabet", &count);
  int32_t *list = texts ? calloc(count + 1, sizeof *list) : NULL;
  if (!texts) return mica__fail(MICA_E_FORMAT, "\"alphabet\" is missing");
  if (!list) return mica__fail_nomem("an alphabet");
  for (size_t i = 0; i < count; i++) {
    size_t bytes = 0;
    list[i] = mica__speech_letter(texts[i], strlen(texts[i]) + 1, &bytes);
    if (list[i] > 0 && !texts[i][bytes] && (!i || list[i] > list[i - 1])) continue;
    free(list);
    return mica__fail(MICA_E_FORMAT, "\"alphabet\" holds '%s', which is no letter, or not behind those before it",
                      texts[i]);
  }
  *letters = list;
  return MICA_OK;
}

mica_status mica__speech_text_of(const mica_run *run, const int32_t *labels, int64_t count, mica__text *text) {
  int32_t *letters = NULL;
  MICA_TRY(mica__speech_alphabet(run, &letters));
  mica__text_add(text, "");
  for (int64_t i = 0; i < count; i++)
    if (labels[i] > 0 && labels[i] < mica__speech_classes(run)) mica__speech_add_letter(text, letters[labels[i] - 1]);
  free(letters);
  MICA_TRY(mica__text_status(text));
  if (text->length && text->data[text->length - 1] == ' ') text->data[--text->length] = '\0';
  return MICA_OK;
}
