/* data/text/contexts.h: a stream of tokens as samples of equal length. */
#ifndef MICA_DATA_TEXT_CONTEXTS_H
#define MICA_DATA_TEXT_CONTEXTS_H

#include "base/error.h"

#include <mica/data.h>

/* Tokens one after another. A U8 stream is a text's bytes. */
typedef struct mica__tokens {
  const void *tokens; /* U8 or I32, none below 0 or beyond the vocabulary */
  mica_dtype dtype;
  uint64_t count;
  int32_t vocabulary;
  void *owner; /* owner of the tokens; released with the dataset, or at once if no dataset is made */
  void (*release)(void *owner);
} mica__tokens;

/* Makes a dataset with one column "tokens", i32 (length + 1): a context and the token after it. If `samples` is 0,
 * contexts follow one another, and the last token of each sample is the first of the next. Otherwise there are
 * `samples` contexts, evenly spaced over the stream. MICA_E_FORMAT, naming both numbers, if the stream is too short for
 * one. */
mica_status mica__dataset_of_contexts(const char *name, const mica__tokens *tokens, int64_t length, uint64_t samples,
                                      mica_dataset **dataset);

#endif
