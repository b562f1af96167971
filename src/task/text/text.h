/* task/text/text.h: what training on texts and showing predictions of them have in common. */
#ifndef MICA_TASK_TEXT_TEXT_H
#define MICA_TASK_TEXT_TEXT_H

#include "run/run.h"

/* Classes of lines, of files of lines and tables, and of a dataset's part. */
mica_status mica__text_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
/* Scores of each class, confusion, and the texts that were mistaken with the most confidence. */
mica_status mica__text_report(mica_run *run, mica_report *report);

#endif
