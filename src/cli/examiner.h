/* cli/examiner.h: examining kernels in a process of their own, so that a driver that ends the process takes that one
 * down and not the report: the cases that it died of are one line, and another process goes on with the next. */
#ifndef MICA_CLI_EXAMINER_H
#define MICA_CLI_EXAMINER_H

#include "cli/command.h"

#include <mica/doctor.h>

/* What is told of an examination, in this order. user is the first argument of both. */
typedef struct cli_examination {
  const char *device; /* the selector; may be NULL */
  const cli_words *ops;
  void (*begin)(void *user, const mica_device_info *device); /* id, name, platform and driver */
  mica_doctor_fn *line;
  void *user;
  mica_doctor_summary summary; /* results, from zeros on */
  mica_stats stats;            /* sums over the processes, as far as they told */
} cli_examination;

/* Examines ops, or all of them. Returns an exit status; CLI_FAILED if the examination ended early, having said why. */
int cli_examine(const cli_command *self, cli_examination *e);

/* Such a process: examines what standard input asks for, and tells it on standard output. Returns an exit status. */
int cli_examine_serve(const cli_command *self, const char *device, const cli_words *ops);

#endif
