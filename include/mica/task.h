/* mica/task.h: the tasks that a run can learn (classify, detect, forecast, ...), with their settings and metrics.
 *
 * Threads: every function may be called from any thread. What they return is constant. */
#ifndef MICA_TASK_H
#define MICA_TASK_H

#include <mica/api.h>

#include <stdbool.h>
#include <stddef.h>

MICA_BEGIN_DECLS

/* A setting as a user types it: {"augment", "flip"}. The value of a FLAG is "true" or "false". */
typedef struct mica_setting {
  const char *name, *value;
} mica_setting;

#define MICA_SETTING_KIND_LIST(X)                                                                                      \
  X(FLAG, "flag")                                                                                                      \
  X(INT, "integer")                                                                                                    \
  X(REAL, "number")                                                                                                    \
  X(TEXT, "text")                                                                                                      \
  X(CHOICE, "choice")                                                                                                  \
  X(PATH, "path")

typedef enum mica_setting_kind {
#define MICA_SETTING_KIND_ENUM(name, text) MICA_SETTING_KIND_##name,
  MICA_SETTING_KIND_LIST(MICA_SETTING_KIND_ENUM)
#undef MICA_SETTING_KIND_ENUM
} mica_setting_kind;

/* One row of a table of settings. Help, completion, checks and config.json all use this table. */
typedef struct mica_setting_row {
  const char *name;
  mica_setting_kind kind;
  const char *value;                  /* default; "": none, or the run chooses a value */
  const char *hint;                   /* placeholder for the value in help: "RATE" */
  const char *text;                   /* help text */
  double low, high;                   /* INT, REAL: inclusive range */
  const char *(*names)(size_t index); /* CHOICE: the values; TEXT: values to list in help. NULL after the last one */
  bool fixed;                         /* cannot change when a run is resumed */
  /* Decides the network's structure, its tokens or its first weights. mica_run_prune keeps the run's value. */
  bool structure;
  /* When the setting has an effect. "loss=focal|huber": if the setting `loss` has one of these values. "join=*": if
   * `join` is not empty. "model=gat;join=*": if one of these conditions holds. NULL: always. */
  const char *of;
} mica_setting_row;

typedef struct mica_task_metric {
  const char *name;
  bool falling;     /* a lower value is better */
  const char *text; /* its meaning, in a few words */
  bool minor;       /* reports have no curve of it, and progress does not show it */
} mica_task_metric;

/* Name of task number `index`, and a line about it. NULL after the last one. */
MICA_API const char *mica_task_name(size_t index);
MICA_API const char *mica_task_text(size_t index);
/* Settings that a task adds to the common ones, and its metrics. task NULL: settings and metrics that all tasks have in
 * common. The lists end with a NULL name. NULL if there is no such task.
 *
 * The metric by which the best epoch is chosen comes first, the minor ones last. Some metrics are also reported per
 * class, with names such as "f1_cat", which are not in the list. */
MICA_API const mica_setting_row *mica_task_settings(const char *task);
MICA_API const mica_task_metric *mica_task_metrics(const char *task);
/* Name of network number `index` that the task trains, a value of its setting "model". NULL after the last one, and if
 * there is no such task. */
MICA_API const char *mica_task_network(const char *task, size_t index);
/* Common settings for which the task has other defaults. The value "" means that the run chooses a value.
 * The list ends with a NULL name. NULL if there is no such task. */
MICA_API const mica_setting *mica_task_defaults(const char *task);

MICA_END_DECLS

#endif
