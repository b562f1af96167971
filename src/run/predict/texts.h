/* run/predict/texts.h: members `samples` of inputs that read one column of texts. */
#ifndef MICA_RUN_PREDICT_TEXTS_H
#define MICA_RUN_PREDICT_TEXTS_H

#include "run/sample.h"

/* What a run reads: the column of texts in its data, and how many tokens of each. */
typedef struct mica__text_samples {
  const char *column;
  int64_t length;
} mica__text_samples;

/* Visits the lines of files or of a text, the rows of tables, or samples of data; they may lack answers. */
mica_status mica__text_samples_visit(mica_run *run, const mica__text_samples *from, const mica_run_input *given,
                                     mica__sample_fn *fn, void *user);
/* Visits the first samples of data. */
mica_status mica__text_samples_look(mica_run *run, const mica__text_samples *from, const mica_dataset *data,
                                    mica__sample_fn *fn, void *user);
/* Shows the beginning of a text. */
mica_status mica__text_samples_show(const mica__text_samples *from, mica_report *report, const mica_dataset *data,
                                    uint64_t sample, const char *caption);

#endif
