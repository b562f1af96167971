/* Error messages, on stderr. */
#include "cli/command.h"

#include <mica/status.h>
#include <stdarg.h>
#include <stdio.h>

int cli_fail(const cli_command *self, const char *format, ...) {
  fprintf(stderr, self ? "mica %s: " : "mica: ", self ? self->name : "");
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  return CLI_FAILED;
}

int cli_fail_library(const cli_command *self) { return cli_fail(self, "%s", mica_error_message()); }
