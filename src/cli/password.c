#include "cli/password.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#include <termios.h>
#endif

void cli_wipe(char *password, size_t room) {
  volatile char *at = password;
  while (room--) *at++ = 0;
}

/* Reads a line, including the character that ends it. On a terminal (`hidden`), the character that cli_read_password
 * sets as VEOL also ends the line. */
static bool read_line(char *password, size_t room, bool hidden) {
  if (!hidden) return fgets(password, (int)room, stdin) != NULL;
  const ssize_t count = read(STDIN_FILENO, password, room - 1);
  password[count > 0 ? count : 0] = '\0';
  return count > 0;
}

bool cli_read_password(const char *prompt, char *password, size_t room) {
  const bool terminal = isatty(STDIN_FILENO);
  bool hidden = false;
  if (terminal) fprintf(stderr, "%s: ", prompt);
#ifndef _WIN32
  struct termios before, quiet;
  hidden = terminal && tcgetattr(STDIN_FILENO, &before) == 0;
  sigset_t stops, mask;
  if (hidden) {
    /* If a signal ended the process here, the terminal would stay without echo. So signals are blocked until the line
     * is read, and Ctrl-C is made a character that ends the line. */
    sigemptyset(&stops);
    const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sigaddset(&stops, all[i]);
    pthread_sigmask(SIG_BLOCK, &stops, &mask);
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    quiet.c_cc[VEOL] = before.c_cc[VINTR];
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
#endif
  bool whole = read_line(password, room, hidden);
#ifndef _WIN32
  if (hidden) {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
  }
#endif
  if (terminal) fputc('\n', stderr);
  const size_t n = whole ? strcspn(password, "\r\n") : 0;
  whole = whole && (password[n] || n + 1 < room);
#ifndef _WIN32
  if (hidden && n && before.c_cc[VINTR] && password[n - 1] == (char)before.c_cc[VINTR]) whole = false;
#endif
  if (whole)
    password[n] = '\0';
  else
    cli_wipe(password, room);
  return whole;
}
