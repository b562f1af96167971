#include "cli/speeds.h"

#include "cli/number.h"

#include <stdio.h>
#include <stdlib.h>

int cli_speeds_parse(const cli_command *self, const char *text, int32_t count, double *speeds) {
  int32_t read = 0;
  char *end = NULL;
  for (const char *word = text; word; word = *end == ',' ? end + 1 : NULL) {
    const double speed = strtod(word, &end);
    if (!cli_is_plain(text) || end == word || (*end && *end != ',') || !(speed > 0 && speed < 1e18) ||
        (count && read == count)) {
      char ranks[32] = "each rank";
      if (count) snprintf(ranks, sizeof ranks, "each of %d ranks", (int)count);
      cli_fail(self, "--speeds must be \"measured\" or have a number above 0 and below 1e18 for %s, as in 3,1, not %s",
               ranks, text);
      return CLI_USAGE;
    }
    if (count) speeds[read++] = speed;
  }
  if (!count || read == count) return CLI_OK;
  cli_fail(self, "--speeds %s needs a number for each of the %d ranks, but has %d", text, (int)count, (int)read);
  return CLI_USAGE;
}

/* The name of a rank: its device if all ranks are threads of this process, else its number. */
static const char *name_of(const cli_ranks *ranks, int32_t rank, char text[32]) {
  if (ranks->count > 1 && ranks->device[rank]) return ranks->device[rank];
  snprintf(text, 32, "rank %d", (int)rank);
  return text;
}

size_t cli_speeds_decide(FILE *out, const cli_ranks *ranks, double batch, const double *speeds,
                         const mica_run_speeds *found, bool *keeps) {
  const int32_t count = ranks->communicator[0]->ranks;
  char name[32], best[32];
  double all = 0;
  size_t kept = 0;
  for (int32_t r = 0; r < count; r++) all += speeds[r];
  /* Assumes the worst case: gradients are summed only after a step. */
  const double together = batch / (batch / all + found->summing);
  for (int32_t r = 0; r < count; r++) {
    const bool some = speeds[r] / all * batch >= 1, alone = found->alone >= together && r != found->best;
    if (out)
      fprintf(out, "%s%s takes %.0f samples a second", r ? ", " : "speeds    ", name_of(ranks, r, name), speeds[r]);
    keeps[r] = ranks->count == 1 || (some && !alone);
    kept += keeps[r];
  }
  if (out) fprintf(out, " with all at work; %s alone %.0f\n", name_of(ranks, found->best, best), found->alone);
  for (int32_t r = 0; out && r < count; r++)
    if (!keeps[r])
      fprintf(out, "          %s is left out: %s\n", name_of(ranks, r, name),
              speeds[r] / all * batch < 1 ? "it would get less than a sample of a batch" : "it would slow the others");
  return kept;
}
