/* cli/report_page.h: the page report.html of a classifier's (or a regression's) training run. */
#ifndef MICA_CLI_REPORT_PAGE_H
#define MICA_CLI_REPORT_PAGE_H

#include "cli/command.h"

#include <mica/history.h>
#include <mica/shape.h>

typedef struct cli_report_fact {
  const char *name, *value;
} cli_report_fact;

/* A sample that the network takes for another class. */
typedef struct cli_report_mistake {
  const uint8_t *pixels; /* (C, H, W), C 1 or 3; NULL where the sample is no picture */
  mica_shape shape;
  int32_t label, predicted;
  double confidence; /* the probability of the predicted class */
} cli_report_mistake;

/* Any part may be absent (NULL and 0). */
typedef struct cli_report_page {
  const char *title;
  const cli_report_fact *facts; /* a table of two columns at the top */
  size_t fact_count;
  const mica_history_row *history;
  size_t epochs;
  int32_t classes;
  const char *const *class_names; /* NULL: classes are shown as numbers */
  const int64_t *confusion;       /* classes x classes counts, row the label, column the prediction */
  const cli_report_mistake *mistakes;
  size_t mistake_count;
} cli_report_page;

/* Writes one page that loads nothing else: the facts, curves of loss and accuracy, the confusion matrix with precision,
 * recall and F1 of each class, and the mistakes (as pictures where the build has libpng). Returns an exit status; what
 * failed has been said. */
int cli_report_page_write(const cli_command *self, const char *path, const cli_report_page *page);

#endif
