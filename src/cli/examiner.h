/* cli/examiner.h: examines kernels in a separate process. If a driver ends that process, the report goes on: the cases
 * at which it died become one line, and another process continues with the next case. */
#ifndef MICA_CLI_EXAMINER_H
#define MICA_CLI_EXAMINER_H

#include "cli/command.h"

#include <mica/doctor.h>

/* An examination. begin is called once, then line for each line of the report; `user` is their first argument. */
typedef struct cli_examination {
  const char *device; /* the selector; may be NULL */
  const cli_words *ops;
  void (*begin)(void *user, const mica_device_info *device); /* id, name, platform and driver */
  mica_doctor_fn *line;
  void *user;
  mica_doctor_summary summary; /* the results; must be zero at first */
  mica_stats stats;            /* sums over the processes, as far as they reported */
} cli_examination;

/* Examines ops, or all ops. Returns an exit status; CLI_FAILED, after a message, if the examination ended early. */
int cli_examine(const cli_command *self, cli_examination *e);

/* Runs in the process that examines: reads a request from standard input and writes the results to standard output.
 * Returns an exit status. */
int cli_examine_serve(const cli_command *self, const char *device, const cli_words *ops);

#endif
