/* cli/sample_names.h: names for the files that are written per sample. */
#ifndef MICA_CLI_SAMPLE_NAMES_H
#define MICA_CLI_SAMPLE_NAMES_H

#include "cli/command.h"

#include <mica/report.h>

/* A name per sample, for the files that are written for it. */
typedef struct cli_sample_names {
  char **list;
  size_t count;
} cli_sample_names;

/* Appends one name per sample of a prediction: the name of its file without the ending or, if numbered, a number,
 * because the samples have no files. Each name differs from all names before it, if necessary by a suffix such as "-1".
 * Returns an exit status. */
int cli_sample_names_add(const cli_command *self, const mica_report *prediction, bool numbered,
                         cli_sample_names *names);
void cli_sample_names_free(cli_sample_names *names);

#endif
