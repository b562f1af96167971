/* task/tasks.h: the rows of all tasks, for code that needs the row of a certain task. */
#ifndef MICA_TASK_TASKS_H
#define MICA_TASK_TASKS_H

#include "run/task.h"

#define TASK(name) extern const mica__task_row mica__task_##name;
#include "task/tasks.def"
#undef TASK

#endif
