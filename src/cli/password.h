/* cli/password.h: passwords, which are typed or piped. */
#ifndef MICA_CLI_PASSWORD_H
#define MICA_CLI_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a line from standard input, without its end. A terminal shows the prompt and not what is typed. False if there
 * is no line, it is longer than room - 1, or Ctrl-C ends it. */
bool cli_read_password(const char *prompt, char *password, size_t room);
/* Overwrites a password, also if nobody reads it again. */
void cli_wipe(char *password, size_t room);

#endif
