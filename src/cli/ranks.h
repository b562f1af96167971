/* cli/ranks.h: the ranks of a training: processes that mpirun started, or devices of this process, a thread each. */
#ifndef MICA_CLI_RANKS_H
#define MICA_CLI_RANKS_H

#include "cli/command.h"

#include <mica/dist.h>

#define CLI_MOST_DEVICES 64
#define CLI_DEVICE_NAME 160

typedef struct cli_ranks {
  mica_communicator *communicator[CLI_MOST_DEVICES]; /* of this process's ranks; [0] NULL: there is one rank alone */
  const char *device[CLI_MOST_DEVICES];              /* of each; NULL: by default */
  size_t count;                                      /* at least 1 */
  bool differ;                                       /* devices of this process that are not of one kind */
  double timeout;                                    /* the watchdog's, 0: by default */
  const volatile int *stop;
  bool hangs;                  /* a thread has not come back: the process is to end without waiting for it */
  bool lost[CLI_MOST_DEVICES]; /* whose device has failed, or does not answer: set while ranks run, each by its own */
  char names[CLI_MOST_DEVICES][CLI_DEVICE_NAME];
} cli_ranks;

/* Makes them from --device or --devices (either may be NULL) and the launcher's variables. Returns an exit status; what
 * failed has been said. */
int cli_ranks_begin(const cli_command *self, const char *device, const char *devices, double timeout,
                    const volatile int *stop, cli_ranks *ranks);
void cli_ranks_end(cli_ranks *ranks);
/* Goes on, with new communicators, with those devices of this process that are kept; at least one. */
int cli_ranks_keep(const cli_command *self, cli_ranks *ranks, const bool *keeps);

/* Calls run for each rank of this process, of several in a thread each. Returns the first one's exit status, or that of
 * another that failed where the first one did not. A rank that does not come back once others have failed is lost and
 * says so; the process cannot go on then, but for cli_ranks_restart. */
int cli_ranks_run(const cli_command *self, cli_ranks *ranks, int (*run)(cli_ranks *ranks, size_t index, void *user),
                  void *user);

/* If some devices are lost and others remain, starts this command again with those, in place of this process: a failed
 * driver cannot be trusted, and a thread may hang in it. Returns if no device remains. */
void cli_ranks_restart(const cli_command *self, const cli_ranks *ranks);

/* True in a process that a launcher started as another rank than 0: it says nothing. */
bool cli_ranks_is_follower(void);
/* CLI_USAGE, having said so, where a launcher started several processes of a command that is for one. */
int cli_refuse_ranks(const cli_command *self);

#endif
