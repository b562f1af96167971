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
  char names[CLI_MOST_DEVICES][CLI_DEVICE_NAME];
} cli_ranks;

/* Makes them from --device or --devices (either may be NULL) and the launcher's variables. Returns an exit status; what
 * failed has been said. */
int cli_ranks_begin(const cli_command *self, const char *device, const char *devices, double timeout,
                    const volatile int *stop, cli_ranks *ranks);
void cli_ranks_end(cli_ranks *ranks);

/* Calls run for each rank of this process, in threads, the first one in this. Returns the first one's exit status, or
 * that of another that failed where the first one did not. */
int cli_ranks_run(const cli_ranks *ranks, int (*run)(const cli_ranks *ranks, size_t index, void *user), void *user);

/* True in a process that a launcher started as another rank than 0: it says nothing. */
bool cli_ranks_is_follower(void);

#endif
