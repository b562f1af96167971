/* cli/worker.h: measures a tuner's candidates in a separate process. If a driver hangs or crashes on a candidate, only
 * that process is lost, not the tuning. */
#ifndef MICA_CLI_WORKER_H
#define MICA_CLI_WORKER_H

#include "cli/command.h"

#include <mica/tune.h>
#include <sys/types.h>

typedef struct cli_worker {
  const char *device; /* the device selector for the process; may be NULL */
  pid_t process;      /* 0 if none runs */
  int to, from;       /* its standard input and output */
} cli_worker;

typedef enum cli_measured {
  CLI_MEASURED,       /* *seconds is set */
  CLI_MEASURED_WRONG, /* wrong, crashed or hung, as reason says: quarantine the candidate */
  CLI_MEASURED_NOT,   /* cannot be launched, or no process could be started; reason says why */
} cli_measured;

/* Lets the worker measure a candidate of a problem ("gemm 64,64,64"); starts a worker if none runs. Takes at most
 * `limit` seconds more than the budget. */
cli_measured cli_worker_measure(cli_worker *worker, const char *problem, const char *candidate, double budget,
                                double limit, double *seconds, char reason[256]);

/* Ends the process, if one runs, and waits until it has ended. */
void cli_worker_stop(cli_worker *worker);

/* Runs the worker process: measures candidates from standard input until the input ends or the device is lost. Returns
 * an exit status. */
int cli_worker_serve(const cli_command *self, mica_engine *engine);

#endif
