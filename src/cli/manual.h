/* cli/manual.h: the manual page and completions of shells, from the tables that --help is made from. */
#ifndef MICA_CLI_MANUAL_H
#define MICA_CLI_MANUAL_H

#include "cli/command.h"

/* mica(1) in roff's man macros. */
void cli_print_man(void);
/* A script for the shell of that name, one of "bash", "zsh", "fish"; false for others. */
bool cli_print_completion(const char *shell);

#endif
