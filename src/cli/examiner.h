/* cli/examiner.h: examines kernels in a separate process. If a driver ends that process, its group of cases becomes one
 * line of the report, and another process continues with the next group; if the driver ends a second process in the
 * same group, with the next op. */
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

/* Examines the ops of e->ops, or all ops if it is empty. Returns CLI_OK if all were examined, also if cases failed;
 * else CLI_FAILED, after a message. */
int cli_examine(const cli_command *self, cli_examination *e);

/* Runs in the process that examines: reads a request from standard input and writes the results to standard output.
 * Returns an exit status. */
int cli_examine_serve(const cli_command *self, const char *device, const cli_words *ops);

#endif
