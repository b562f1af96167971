/* cli/predict_published.h: mica predict with a published model that classifies texts. */
#ifndef MICA_CLI_PREDICT_PUBLISHED_H
#define MICA_CLI_PREDICT_PUBLISHED_H

#include "cli/command.h"

/* Bytes of a buffer for a class's name, including the NUL; longer names are truncated. */
#define CLASS_NAME 256

typedef struct cli_published {
  const char *model, *device;
  const char *text; /* one text, or NULL */
  char *lines;      /* texts, one per line, or NULL; cli_predict_published overwrites the line ends */
  int64_t top;      /* classes to show */
  bool json;
} cli_published;

/* Prints the classes of the texts. Returns an exit status, after an error message on failure. */
int cli_predict_published(const cli_command *self, const cli_published *job);

#endif
