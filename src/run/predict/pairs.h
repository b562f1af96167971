/* run/predict/pairs.h: functions for mica__input.samples, for inputs that read texts in two languages and translate
 * one. */
#ifndef MICA_RUN_PREDICT_PAIRS_H
#define MICA_RUN_PREDICT_PAIRS_H

#include "data/text/texts.h"
#include "run/sample.h"
#include "run/tokens.h"

/* What a run reads: the columns of the two languages, and the most tokens of a text. */
typedef struct mica__pair_samples {
  const char *from, *to;
  int64_t length;
  /* Adds a text's ids. `name` appears in messages. */
  mica_status (*add)(const mica_run *run, const char *name, const char *text, size_t bytes, mica_encoding *work,
                     mica__ids *ids);
} mica__pair_samples;

/* Which pairs of a dataset are visited: the first ones, evenly spaced ones, or this rank's share of the evenly
 * spaced ones. */
typedef enum mica__pair_choice {
  MICA__PAIR_CHOICE_FIRST,
  MICA__PAIR_CHOICE_EVEN,
  MICA__PAIR_CHOICE_OWN
} mica__pair_choice;
/* Visits at most `most` pairs of data, or all if `most` is 0. Samples have texts and ids, but no outputs. */
mica_status mica__pair_samples_walk(mica_run *run, const mica__pair_samples *pairs, const mica_dataset *data,
                                    uint64_t most, mica__pair_choice which, mica__sample_fn *fn, void *user);
/* Visits the lines of files or of a text, the rows of tables, or pairs of data. */
mica_status mica__pair_samples_visit(mica_run *run, const mica__pair_samples *pairs, const mica_run_input *given,
                                     mica__sample_fn *fn, void *user);
/* Visits evenly spaced pairs of data: those that a report shows. */
mica_status mica__pair_samples_look(mica_run *run, const mica__pair_samples *pairs, const mica_dataset *data,
                                    mica__sample_fn *fn, void *user);

#endif
