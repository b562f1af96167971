/* cli/worker.h: measuring a tuner's candidates in a process of their own, so that a driver that hangs or crashes on one
 * takes that process down and not the tuning. */
#ifndef MICA_CLI_WORKER_H
#define MICA_CLI_WORKER_H

#include "cli/command.h"

#include <mica/tune.h>
#include <sys/types.h>

typedef struct cli_worker {
  const char *device; /* the selector to start it with; may be NULL */
  pid_t process;      /* 0 if none runs */
  int to, from;       /* its standard input and output */
} cli_worker;

typedef enum cli_measured {
  CLI_MEASURED,       /* *seconds holds */
  CLI_MEASURED_WRONG, /* wrong, crashed or hung; reason says which: the candidate belongs in quarantine */
  CLI_MEASURED_NOT,   /* it cannot be launched here, or no process could be started; reason says why */
} cli_measured;

/* Has the worker measure a candidate of a problem ("gemm 64,64,64"); starts one when none runs. At most `limit` seconds
 * beyond the budget. */
cli_measured cli_worker_measure(cli_worker *worker, const char *problem, const char *candidate, double budget,
                                double limit, double *seconds, char reason[256]);

/* Ends the process. */
void cli_worker_stop(cli_worker *worker);

/* The worker process: measures the candidates that it reads from standard input until that ends. Returns an exit
 * status. */
int cli_worker_serve(const cli_command *self, mica_engine *engine);

#endif
