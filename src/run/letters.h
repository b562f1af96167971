/* run/letters.h: texts as letters. Class 0 of a network is CTC's blank, class k the letter k - 1 of the fact
 * "alphabet". */
#ifndef MICA_RUN_LETTERS_H
#define MICA_RUN_LETTERS_H

#include "base/error.h"
#include "base/text.h"
#include "data/sound/letters.h"

#include <mica/run.h>

int64_t mica__letters_classes(const mica_run *run);
/* The code points of the alphabet in ascending order, one fewer than there are classes; the caller frees them.
 * MICA_E_FORMAT if the fact does not hold an alphabet. */
mica_status mica__letters_read(const mica_run *run, int32_t **letters);
/* The code points of a text, *count of them; letters has room for as many as the text has bytes. MICA_E_INVALID names
 * bytes that are not UTF-8, or a letter that the alphabet lacks. */
mica_status mica__letters_of(const mica_run *run, const char *text, int32_t *letters, int64_t *count);
/* The text of labels (classes without blanks), without a trailing space. */
mica_status mica__letters_text(const mica_run *run, const int32_t *labels, int64_t count, mica__text *text);

#endif
