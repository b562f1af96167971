/* The table of all tasks, by which runs know them. */
#include "task/tasks.h"

const mica__task_row *const mica__tasks[] = {
#define TASK(name) &mica__task_##name,
#include "task/tasks.def"
#undef TASK
    NULL,
};
