/* mica/task.h: the tasks that a run can learn (classify, detect, forecast, ...), with their settings and metrics.
 *
 * Threads: every function may be called from any thread. What they return is constant. */
#ifndef MICA_TASK_H
#define MICA_TASK_H

#include <mica/api.h>

#include <stdbool.h>
#include <stddef.h>

MICA_BEGIN_DECLS

/* A setting as it is typed: {"augment", "flip"}. A FLAG's value is "true" or "false". */
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

/* A row of a table of settings: help, completion, checks and config.json are made from it. */
typedef struct mica_setting_row {
  const char *name;
  mica_setting_kind kind;
  const char *value;                  /* the default; "" where the run finds one */
  const char *hint;                   /* how help calls a value: "RATE" */
  const char *text;                   /* help */
  double low, high;                   /* of INT and REAL, inclusive */
  const char *(*names)(size_t index); /* CHOICE: the values; TEXT: names to list in help. NULL behind the last */
  bool fixed;                         /* stays as it is when a run is resumed */
  /* "loss=focal|huber": it does nothing where that setting has none of these values, "join=*": or where it is empty;
   * NULL: it always does something. */
  const char *of;
} mica_setting_row;

typedef struct mica_task_metric {
  const char *name;
  bool falling; /* lower is better */
} mica_task_metric;

/* The tasks in order: name, a line about it; NULL behind the last. */
MICA_API const char *mica_task_name(size_t index);
MICA_API const char *mica_task_text(size_t index);
/* Settings of all tasks (task NULL), and those that a task adds; its metrics, the watched one first. The lists end with
 * a NULL name; NULL for no task of the name. */
MICA_API const mica_setting_row *mica_task_settings(const char *task);
MICA_API const mica_task_metric *mica_task_metrics(const char *task);
/* Settings of all tasks for which a task has defaults of its own, "" for one that is found from the data. The list ends
 * with a NULL name; NULL for no task of the name. */
MICA_API const mica_setting *mica_task_defaults(const char *task);

MICA_END_DECLS

#endif
