/* mica/compare.h: runs of one task side by side on the same data: how good they are and what they cost.
 *
 *   mica_run *runs[] = {whole, small};
 *   mica_compared results[2];
 *   mica_runs_compare(runs, 2, &(mica_compare_config){.data = "fashion-mnist", .part = MICA_PART_TEST}, results);
 *
 * Threads: one thread at a time uses the runs. */
#ifndef MICA_COMPARE_H
#define MICA_COMPARE_H

#include <mica/run.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_compare_config {
  const char *data; /* a path, as mica_run_evaluate takes it; NULL: what all runs were trained on */
  mica_part part;
  int64_t samples; /* whose answers are compared, at most; 0: 500 */
  int64_t repeats; /* predictions of each run that are timed, at most; 0: 200 */
  double seconds;  /* that these may take a run, but at least 20 are timed; 0: 5 */
  /* Called before and after each row of timed predictions of a run: for a counter of energy. NULL: none. */
  void (*around)(void *user, size_t run, bool begins);
  void *user;
} mica_compare_config;

typedef struct mica_compared {
  mica_metrics metrics;
  int64_t parameters;  /* elements of all weights */
  uint64_t file_bytes; /* of model.safetensors */
  double flops;        /* of a prediction for one sample, as far as its launches say; NaN where a search answers */
  uint64_t memory;     /* planned for that in bytes (0 where flops is NaN): weights, temporaries, workspace, outputs */
  double median, p95;  /* seconds of a prediction for one sample, from its call to its end on the device; of
                          translations and transcripts the whole search, in `flops` one pass */
  int64_t timed;       /* how many were timed */
  /* The share of answers that are those of the first run: of classes the same likeliest one, of masks the pixels, of
   * boxes 2 m / (a + b) with m pairs of one class that overlap by half, of texts equal ones, of numbers 1 - sum (a -
   * b)^2 / sum (a - mean a)^2 (of forecasts the mean over series), of language models the positions at which both
   * expect the same token next. NaN where predictions hold no answers, and where tokens are not the same. */
  double agreement;
  int64_t answers; /* samples whose answers were compared */
} mica_compared;

/* Evaluates and times the runs on the data. They are timed in turns, a row of predictions each, so that a change of the
 * machine's speed hits all alike. results has `count` elements. MICA_E_INVALID: no run, or runs of different tasks or,
 * without data, of different data or with other samples held out, which are named; else as mica_run_evaluate.
 * Blocks. */
MICA_API MICA_CHECKED mica_status mica_runs_compare(mica_run *const *runs, size_t count,
                                                    const mica_compare_config *config, mica_compared *results);

MICA_END_DECLS

#endif
