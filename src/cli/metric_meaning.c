#include "cli/metric_meaning.h"

#include <mica/task.h>
#include <stddef.h>
#include <string.h>

/* Finds the metric with this name, or the metric whose name and a suffix after "_" make up `name`: "f1_cat" finds "f1".
 * If several match, returns the one with the longest name; NULL if none matches. */
static const mica_task_metric *longest(const mica_task_metric *list, const char *name) {
  const mica_task_metric *found = NULL;
  for (; list && list->name; list++) {
    const size_t length = strlen(list->name);
    if (strncmp(name, list->name, length) != 0 || (name[length] && name[length] != '_')) continue;
    if (!found || length > strlen(found->name)) found = list;
  }
  return found;
}

const char *cli_metric_meaning(const char *task, const char *metric, const char **suffix) {
  const mica_task_metric *found = longest(mica_task_metrics(task), metric);
  if (!found) found = longest(mica_task_metrics(NULL), metric);
  const size_t length = found ? strlen(found->name) : 0;
  *suffix = found && metric[length] ? metric + length + 1 : NULL;
  return found ? found->text : NULL;
}
