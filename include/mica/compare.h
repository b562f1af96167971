/* mica/compare.h: compare runs of one task on the same data: quality and cost.
 *
 *   mica_run *runs[] = {whole, small};
 *   mica_compared results[2];
 *   mica_runs_compare(runs, 2, &(mica_compare_config){.data = "fashion-mnist", .part = MICA_PART_TEST}, results);
 *
 * Threads: no other thread may use the runs during the call. */
#ifndef MICA_COMPARE_H
#define MICA_COMPARE_H

#include <mica/run.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_compare_config {
  const char *data; /* see mica_run_evaluate; NULL: the data that all runs were trained on */
  mica_part part;
  int64_t samples; /* maximum number of samples whose answers are compared; 0: 500 */
  int64_t repeats; /* maximum number of timed predictions per run; 0: 200 */
  /* Seconds per run for timed predictions; 0: 5. At least 20 predictions (or `repeats`, if that is less) are timed,
   * even if that takes longer. */
  double seconds;
  /* Called before and after each series of timed predictions of a run, for example to read an energy counter. NULL:
   * none. */
  void (*around)(void *user, size_t run, bool begins);
  void *user;
} mica_compare_config;

typedef struct mica_compared {
  mica_metrics metrics;
  int64_t parameters;  /* elements of all weights */
  uint64_t file_bytes; /* size of model.safetensors */
  double flops;        /* operations per prediction, as stated by the kernels; NaN: a search gives the answer */
  /* bytes planned for a prediction: weights, temporaries, workspace, outputs; 0 if flops is NaN */
  uint64_t memory;
  /* Seconds per prediction of one sample, from the call to its end on the device. For translations and transcripts they
   * include the whole search. */
  double median, p95;
  int64_t timed; /* number of timed predictions */
  /* Agreement with the first run's answers:
   *
   *   classes           share of samples with the same likeliest class; several labels: mean share of equal labels
   *   masks             share of pixels with the same class
   *   boxes             2 m / (a + b) for a and b boxes and m pairs of one class with an IoU of at least 0.5
   *   texts             share of equal texts
   *   numbers           1 - sum (a - b)^2 / sum (a - mean a)^2; forecasts: its mean over series
   *   language models   share of positions with the same likeliest next token
   *
   * NaN if no answers can be compared, for example because predictions hold none or the tokens differ. */
  double agreement;
  int64_t answers; /* number of samples whose answers were compared */
} mica_compared;

/* Evaluates and times runs on the data. A short series of predictions of each run is timed, then the next series of
 * each, and so on, so that a change of the machine's speed affects all runs. results has `count` elements. Blocks.
 *
 * MICA_E_INVALID: there is no run, a run has no folder, samples, repeats or seconds is negative, part is unknown, the
 * runs have different tasks, or data is NULL and the runs have no data of their own, different data or different
 * held-out samples; the message names them. It can also fail as mica_run_evaluate does. */
MICA_API MICA_CHECKED mica_status mica_runs_compare(mica_run *const *runs, size_t count,
                                                    const mica_compare_config *config, mica_compared *results);

MICA_END_DECLS

#endif
