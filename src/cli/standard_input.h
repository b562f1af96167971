/* cli/standard_input.h: all of standard input. */
#ifndef MICA_CLI_STANDARD_INPUT_H
#define MICA_CLI_STANDARD_INPUT_H

#include "cli/command.h"

/* Reads all of standard input; the caller frees it. NULL after an error message on failure, or if it is empty. */
char *cli_read_standard_input(const cli_command *self);

#endif
