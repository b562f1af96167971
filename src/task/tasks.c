/* The table of all tasks, in which runs find the row of a task. */
#include "task/tasks.h"

const mica__task_row *const mica__tasks[] = {
#define TASK(name) &mica__task_##name,
#include "task/tasks.def"
#undef TASK
    NULL,
};
