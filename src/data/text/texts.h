/* data/text/texts.h: texts of a dataset, one after another. */
#ifndef MICA_DATA_TEXT_TEXTS_H
#define MICA_DATA_TEXT_TEXTS_H

#include "base/error.h"

#include <mica/data.h>

/* A walk over the texts of a column of kind TEXT, or CLASS, whose texts are the class names. */
typedef struct mica__texts {
  const mica_dataset *data;
  size_t column;
  uint64_t at; /* the sample to read next */
  char *text;  /* the text read last */
  size_t bytes, capacity;
} mica__texts;

/* The text of sample texts->at, which is then incremented; the text ends with a NUL. */
mica_status mica__texts_read(mica__texts *texts);
/* Checks that the text read last is UTF-8 if it belongs to a table. MICA_E_FORMAT names the line and the byte. */
mica_status mica__texts_check(const mica__texts *texts);
/* Reads and checks the next text. A mica_text_fn, whose user object is a mica__texts. */
mica_status mica__texts_next(void *texts, const char **text, size_t *bytes);
void mica__texts_free(mica__texts *texts);

/* The name of a column; for the labels of a table, which its dataset calls "label", the name in the table (of the first
 * label if there are several). */
const char *mica__column_given_name(const mica_dataset *data, const mica_column *column);
/* A walk over the texts of the column of that name; "label" means the column of labels. */
mica__texts mica__texts_of(const mica_dataset *data, const char *name);

#endif
