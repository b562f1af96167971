/* cli/standard_input.h: reads standard input as one text. */
#ifndef MICA_CLI_STANDARD_INPUT_H
#define MICA_CLI_STANDARD_INPUT_H

#include "cli/command.h"

/* Reads all of standard input. The caller frees the result. Returns NULL, after a message, on failure and if the input
 * is empty. */
char *cli_read_standard_input(const cli_command *self);

#endif
