/* cli/speeds.h: batches divided by the speeds of devices, given or measured. */
#ifndef MICA_CLI_SPEEDS_H
#define MICA_CLI_SPEEDS_H

#include "cli/ranks.h"

#include <mica/run.h>
#include <stdio.h>

/* Reads "3,1", a number a rank; count 0: any number of them is looked at alone. Returns an exit status; what is wrong
 * has been said. */
int cli_speeds_parse(const cli_command *self, const char *text, int32_t count, double *speeds);

/* Decides by what was measured which devices are worth their part: keeps[r] is false of one that would get no whole
 * sample, or, of all but the fastest, where that alone takes as many samples a second. Says so on out, unless NULL.
 * Returns how many are kept. */
size_t cli_speeds_decide(FILE *out, const cli_ranks *ranks, double batch, const double *speeds,
                         const mica_run_speeds *found, bool *keeps);

#endif
