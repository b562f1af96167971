/* cli/password.h: reads passwords from a terminal or a pipe. */
#ifndef MICA_CLI_PASSWORD_H
#define MICA_CLI_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a line from standard input, without its line end. A terminal shows the prompt but not the password. False:
 * there is no line, it is longer than room - 2 bytes, or Ctrl-C ended it; the password is then wiped. */
bool cli_read_password(const char *prompt, char *password, size_t room);
/* Overwrites a password; compilers cannot remove this as a dead store. */
void cli_wipe(char *password, size_t room);

#endif
