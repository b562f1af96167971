/* run/predict/texts.h: functions for mica__input.samples, for inputs that read one column of texts. */
#ifndef MICA_RUN_PREDICT_TEXTS_H
#define MICA_RUN_PREDICT_TEXTS_H

#include "run/sample.h"

/* What a run reads: a column of texts, and at most `length` tokens of each text. */
typedef struct mica__text_samples {
  const char *column;
  int64_t length;
} mica__text_samples;

/* Calls fn for each sample and the network's output for it. Samples are the lines of files or of a text, the rows of
 * tables, or the samples of a dataset. Their true answers may be missing. */
mica_status mica__text_samples_visit(mica_run *run, const mica__text_samples *from, const mica_run_input *given,
                                     mica__sample_fn *fn, void *user);
/* Calls fn for the first samples of a dataset (at most 5000), so that a report can choose which of them to show. */
mica_status mica__text_samples_look(mica_run *run, const mica__text_samples *from, const mica_dataset *data,
                                    mica__sample_fn *fn, void *user);
/* Adds the beginning of a sample's text to the report. */
mica_status mica__text_samples_show(const mica__text_samples *from, mica_report *report, const mica_dataset *data,
                                    uint64_t sample, const char *caption);

#endif
