/* run/letters.h: texts as letters. Class 0 of a network is CTC's blank, class k the letter k - 1 of the stored value
 * "alphabet". */
#ifndef MICA_RUN_LETTERS_H
#define MICA_RUN_LETTERS_H

#include "base/error.h"
#include "base/text.h"
#include "data/sound/letters.h"

#include <mica/run.h>

int64_t mica__letters_classes(const mica_run *run);
/* The code points of the alphabet in ascending order, one fewer than there are classes; the caller frees them.
 * MICA_E_FORMAT if the stored value does not hold an alphabet. */
mica_status mica__letters_read(const mica_run *run, int32_t **letters);
/* Writes the code points of a text to `letters`, and their number to *count. `letters` must have room for one code
 * point per byte of the text. If bytes are not UTF-8, or the alphabet lacks a letter, MICA_E_INVALID with a message
 * that names them. */
mica_status mica__letters_of(const mica_run *run, const char *text, int32_t *letters, int64_t *count);
/* Appends the letters of `count` labels (classes), without a trailing space. Blanks are left out. */
mica_status mica__letters_text(const mica_run *run, const int32_t *labels, int64_t count, mica__text *text);

#endif
