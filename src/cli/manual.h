/* cli/manual.h: the manual page and shell completions, from the tables that --help is made from. */
#ifndef MICA_CLI_MANUAL_H
#define MICA_CLI_MANUAL_H

#include "cli/command.h"

/* An environment variable that the command reads. */
typedef struct cli_variable {
  const char *name, *meaning;
} cli_variable;

/* All variables; the last row has no name. */
extern const cli_variable cli_variables[];

/* Prints the page mica(1) with roff's man macros. */
void cli_print_man(void);
/* Prints a completion script for a shell, "bash", "zsh" or "fish"; false for others. */
bool cli_print_completion(const char *shell);

#endif
