/* Decodes tokens one at a time: the text that each adds to the text before it. */
#include "run/token_texts.h"
#include "base/error.h"

#include <mica/nodes.h>

#include <stdlib.h>
#include <string.h>

/* Gets the text that the token `id` adds after the token `before`, or at the beginning of a text if before is -1.
 * *bytes is 0 if the token adds no text. The caller frees *text with mica_free. */
static mica_status text_behind(const mica_tokenizer *t, int32_t before, int32_t id, char **text, size_t *bytes) {
  const int32_t both[] = {before, id};
  char *first = NULL;
  size_t first_bytes = 0;
  *text = NULL;
  *bytes = 0;
  if (!mica_tokenizer_token(t, id)) return MICA_OK;
  if (before < 0 || !mica_tokenizer_token(t, before)) return mica_tokenizer_decode(t, &id, 1, true, text, bytes);
  MICA_TRY(mica_tokenizer_decode(t, &before, 1, true, &first, &first_bytes));
  mica_status status = mica_tokenizer_decode(t, both, 2, true, text, bytes);
  /* Keeps only what follows the text of `before`. If the decoder writes `before` differently when another token
   * follows, decodes `id` alone instead. */
  if (status == MICA_OK && *bytes >= first_bytes && !memcmp(*text, first, first_bytes)) {
    memmove(*text, *text + first_bytes, *bytes - first_bytes);
    *bytes -= first_bytes;
  } else if (status == MICA_OK) {
    mica_free(*text);
    status = mica_tokenizer_decode(t, &id, 1, true, text, bytes);
  }
  mica_free(first);
  return status;
}

/* Finds a token that has a text, or returns -1. Other tokens are decoded after this one, because some lose their
 * leading space if they are decoded alone. */
static int32_t token_with_text(const mica_tokenizer *t) {
  for (int32_t i = 0; i < mica_tokenizer_size(t); i++) {
    char *text = NULL;
    size_t bytes = 0;
    const bool has = text_behind(t, -1, i, &text, &bytes) == MICA_OK && bytes > 0;
    mica_free(text);
    if (has) return i;
  }
  return -1;
}

mica_value mica__token_lengths(const mica_tokenizer *t, mica_graph *graph) {
  const int32_t before = token_with_text(t);
  const int32_t vocabulary = mica_tokenizer_size(t);
  float *lengths = malloc(((size_t)vocabulary + 1) * sizeof *lengths);
  mica_value value = {0};
  bool good = lengths != NULL;
  for (int32_t i = 0; good && i < vocabulary; i++) {
    char *text = NULL;
    size_t bytes = 0;
    good = text_behind(t, before, i, &text, &bytes) == MICA_OK;
    mica_free(text);
    lengths[i] = (float)bytes;
  }
  if (good) value = mica_constant(graph, MICA_F32, MICA_SHAPE(vocabulary), lengths);
  free(lengths);
  return value;
}

mica_status mica__token_write(const mica_tokenizer *t, const mica_run_texts *texts, size_t prompt, int32_t before,
                              int32_t id, bool *goes_on) {
  const char byte = (char)id;
  char *text = NULL;
  size_t bytes = 0;
  if (!t) {
    *goes_on = texts->text(texts->user, prompt, &byte, 1);
    return MICA_OK;
  }
  MICA_TRY(text_behind(t, before, id, &text, &bytes));
  if (bytes) *goes_on = texts->text(texts->user, prompt, text, bytes);
  mica_free(text);
  return MICA_OK;
}
