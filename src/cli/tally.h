/* cli/tally.h: counts predicted samples, and how often each class was predicted. */
#ifndef MICA_CLI_TALLY_H
#define MICA_CLI_TALLY_H

#include "cli/command.h"

#include <mica/report.h>

/* Must be zero at first. Free it with cli_tally_free. */
typedef struct cli_tally {
  char **classes;
  size_t *counts;
  size_t class_count;
  size_t samples, judged, right; /* all samples; samples with a known class; samples predicted correctly */
  size_t infinite;               /* samples for which a number that is not finite was predicted */
  bool failed;                   /* memory ran out */
} cli_tally;

/* Counts the samples of a prediction, which are its sections. */
void cli_tally_add(cli_tally *tally, const mica_report *prediction);
/* Prints a line on stderr, the most frequent classes first. Call it only once, because it clears counts. Returns false,
 * and prints nothing, if there are no samples or memory ran out. */
bool cli_tally_print(const cli_command *self, cli_tally *tally);
/* If numbers that are not finite were predicted, prints on stderr for how many samples. */
void cli_tally_say_infinite(const cli_command *self, const cli_tally *tally);
void cli_tally_free(cli_tally *tally);

#endif
