/* cli/standard_input.h: all of standard input. */
#ifndef MICA_CLI_STANDARD_INPUT_H
#define MICA_CLI_STANDARD_INPUT_H

#include "cli/command.h"

/* All of standard input, the caller's to free; NULL after an error message on failure, and if it is empty. */
char *cli_read_standard_input(const cli_command *self);

#endif
