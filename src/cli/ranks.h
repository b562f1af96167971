/* cli/ranks.h: the ranks of a training: processes that mpirun started, or a thread per device of this process. */
#ifndef MICA_CLI_RANKS_H
#define MICA_CLI_RANKS_H

#include "cli/command.h"

#include <mica/dist.h>

#define CLI_MOST_DEVICES 64
#define CLI_DEVICE_NAME 160

typedef struct cli_ranks {
  mica_communicator *communicator[CLI_MOST_DEVICES]; /* of this process's ranks; [0] NULL: there is only one rank */
  const char *device[CLI_MOST_DEVICES];              /* one per rank; NULL: the default */
  size_t count;                                      /* at least 1 */
  bool differ;                                       /* devices of this process are of several kinds */
  double timeout;                                    /* of the watchdog; 0: the default */
  const volatile int *stop;
  bool hangs;                  /* a thread has not returned: the process must end without waiting for it */
  bool lost[CLI_MOST_DEVICES]; /* the rank's device has failed or does not answer; each rank sets its own */
  char names[CLI_MOST_DEVICES][CLI_DEVICE_NAME];
} cli_ranks;

/* Makes the ranks from --device or --devices (either may be NULL) and the launcher's variables. Returns an exit status,
 * after a message on failure. */
int cli_ranks_begin(const cli_command *self, const char *device, const char *devices, double timeout,
                    const volatile int *stop, cli_ranks *ranks);
void cli_ranks_end(cli_ranks *ranks);
/* Keeps only the ranks of this process for which `keeps` is true, at least one, and creates new communicators for them.
 * Returns an exit status. */
int cli_ranks_keep(const cli_command *self, cli_ranks *ranks, const bool *keeps);

/* Calls run for each rank of this process; several ranks have a thread each. Returns the exit status of the first rank
 * that failed, or CLI_OK. A rank that does not return after another one's failure is lost, with a message, and sets
 * ranks->hangs; the process can then only call cli_ranks_restart or _exit. */
int cli_ranks_run(const cli_command *self, cli_ranks *ranks, int (*run)(cli_ranks *ranks, size_t index, void *user),
                  void *user);

/* If some devices are lost and others remain, replaces this process (execv) by the same command with the remaining
 * devices. A new process is needed because a failed driver cannot be trusted, and a thread may hang in it. Returns if
 * no device is lost, if no device remains or if the process cannot be replaced. */
void cli_ranks_restart(const cli_command *self, const cli_ranks *ranks);

/* True in a process that a launcher started as a rank other than 0, which prints nothing. */
bool cli_ranks_is_follower(void);
/* For commands that run in one process: returns CLI_USAGE after a message if mpirun started this process, else CLI_OK.
 */
int cli_refuse_ranks(const cli_command *self);

#endif
