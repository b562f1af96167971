/* cli/metric_meaning.h: what the metrics of a report measure. */
#ifndef MICA_CLI_METRIC_MEANING_H
#define MICA_CLI_METRIC_MEANING_H

/* The meaning of a task's metric, in a few words. "f1_cat" has the meaning of "f1" and its class; `suffix` then points
 * to "cat", else it is NULL. NULL if the metric is not known. */
const char *cli_metric_meaning(const char *task, const char *metric, const char **suffix);

#endif
