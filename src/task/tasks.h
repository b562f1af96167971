/* task/tasks.h: the rows of all tasks, for code that belongs to one of them. */
#ifndef MICA_TASK_TASKS_H
#define MICA_TASK_TASKS_H

#include "run/task.h"

#define TASK(name) extern const mica__task_row mica__task_##name;
#include "task/tasks.def"
#undef TASK

#endif
