#include "cli/terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True for a terminal that supports escape sequences. */
static bool is_terminal(int file) {
  const char *term = getenv("TERM");
  return isatty(file) && term && strcmp(term, "dumb") != 0;
}

const char *cli_colour_code(cli_colour colour) {
  static const char *const codes[] = {
      [CLI_PLAIN] = "\033[0m", [CLI_BOLD] = "\033[1m",    [CLI_GREEN] = "\033[32m",
      [CLI_RED] = "\033[31m",  [CLI_YELLOW] = "\033[33m",
  };
  const char *no_colour = getenv("NO_COLOR");
  return is_terminal(STDOUT_FILENO) && !(no_colour && *no_colour) ? codes[colour] : "";
}

void cli_progress_end(void) {
  if (is_terminal(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

void cli_progress(const char *format, ...) {
  if (!is_terminal(STDERR_FILENO)) return;
  cli_progress_end();
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fflush(stderr);
}
