#include "cli/password.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifndef _WIN32
#include <termios.h>
#endif

bool cli_read_password(const char *prompt, char *password, size_t room) {
  const bool terminal = isatty(STDIN_FILENO);
  if (terminal) fprintf(stderr, "%s: ", prompt);
#ifndef _WIN32
  struct termios before, quiet;
  const bool hidden = terminal && tcgetattr(STDIN_FILENO, &before) == 0;
  if (hidden) {
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
#endif
  const char *line = fgets(password, (int)room, stdin);
#ifndef _WIN32
  if (hidden) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
#endif
  if (terminal) fputc('\n', stderr);
  if (!line) return false;
  const size_t n = strcspn(password, "\r\n");
  const bool whole = password[n] || n + 1 < room;
  password[n] = '\0';
  return whole;
}
