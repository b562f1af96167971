/* data/sound/letters.h: letters of a transcript as code points. */
#ifndef MICA_DATA_SOUND_LETTERS_H
#define MICA_DATA_SOUND_LETTERS_H

#include "base/error.h"
#include "base/text.h"

#include <mica/data.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at the beginning of a UTF-8 text, its length in *bytes; -1 if there is none. */
int32_t mica__letter_at(const char *text, size_t size, size_t *bytes);
/* Appends a code point as UTF-8; skips a space at the beginning or after another space. */
void mica__letter_add(mica__text *text, int32_t letter);
/* Adds the text of a sample, from the code points in the column "tokens". */
mica_status mica__letters_take(const mica_dataset *data, uint64_t sample, mica__text *text);

#endif
