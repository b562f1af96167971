/* cli/predict_published.h: mica predict with a published model that classifies texts. */
#ifndef MICA_CLI_PREDICT_PUBLISHED_H
#define MICA_CLI_PREDICT_PUBLISHED_H

#include "cli/command.h"

/* The most bytes of a class's name that are shown, with a NUL. */
#define CLASS_NAME 256

typedef struct cli_published {
  const char *model, *device;
  const char *text; /* one text, or NULL */
  char *lines;      /* texts, one per line; they are split in memory; NULL: none */
  int64_t top;      /* classes to show */
  bool json;
} cli_published;

/* Prints the classes of the texts. Returns an exit status, after an error message on failure. */
int cli_predict_published(const cli_command *self, const cli_published *job);

#endif
