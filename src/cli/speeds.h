/* cli/speeds.h: reads the speeds of ranks, by which batches are divided, and decides from measured ones which devices
 * to use. */
#ifndef MICA_CLI_SPEEDS_H
#define MICA_CLI_SPEEDS_H

#include "cli/ranks.h"

#include <mica/run.h>
#include <stdio.h>

/* Reads "3,1", a number per rank. count 0: only checks the text, with any number of speeds. Returns an exit status,
 * after a message on failure. */
int cli_speeds_parse(const cli_command *self, const char *text, int32_t count, double *speeds);

/* Decides from measurements which devices to use. keeps[r] is false for a device that would get less than one sample of
 * a batch. If the fastest device alone is at least as fast as all together, keeps is true only for it. Ranks that
 * mpirun started are all kept. Prints the decision on out, unless out is NULL. Returns the number of devices to use. */
size_t cli_speeds_decide(FILE *out, const cli_ranks *ranks, double batch, const double *speeds,
                         const mica_run_speeds *found, bool *keeps);

#endif
