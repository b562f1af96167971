/* cli/metric_meaning.h: what the metrics of a report measure. */
#ifndef MICA_CLI_METRIC_MEANING_H
#define MICA_CLI_METRIC_MEANING_H

/* The meaning of a task's metric, in a few words; NULL if the metric is not known. For the metric of a class, such as
 * "f1_cat", it is the meaning of "f1", and *suffix points to "cat"; for other metrics *suffix is NULL. */
const char *cli_metric_meaning(const char *task, const char *metric, const char **suffix);

#endif
