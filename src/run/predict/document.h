/* run/predict/document.h: a file or a text that is given to predict, as bytes. */
#ifndef MICA_RUN_PREDICT_DOCUMENT_H
#define MICA_RUN_PREDICT_DOCUMENT_H

#include "base/error.h"

#include <mica/run.h>

/* A file's content, or the text given to predict, as bytes that the reader may change and frees. */
typedef struct mica__document {
  const char *name; /* for messages */
  char *content;
  size_t size;
} mica__document;
/* Reads the file `path`, or copies given->text if path is NULL. */
mica_status mica__document_read(const mica_run_input *given, const char *path, mica__document *read);

#endif
