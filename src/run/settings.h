/* run/settings.h: the settings of a run and the table of its task. */
#ifndef MICA_RUN_SETTINGS_H
#define MICA_RUN_SETTINGS_H

#include "run/task.h"

/* Checks settings of a task, and of tasks that may take its place (mica__task_row.stands_for); without a task, settings
 * of any task. */
mica_status mica__settings_check(const char *task, const mica_setting *settings, size_t count);
/* Checks the settings of the configuration. MICA_E_INVALID if one of them is not a setting of the run's own task. */
mica_status mica__run_check_settings(const mica_run *run);
/* Gives the run its task once the data are known, with the task's table of settings and the values that the
 * configuration gives for them. */
mica_status mica__run_take_task(mica_run *run, const mica__task_row *task);
/* True for a name in mica__task_row.stands_for. */
bool mica__task_stands_for(const mica__task_row *task, const char *name);
/* The task of this name; NULL if there is none, with a message that lists all tasks. */
const mica__task_row *mica__task_find(const char *name);
/* MICA_E_INVALID if the run's task builds its own networks and has none of the name in the setting "model". */
mica_status mica__task_check_network(const mica_run *run);
/* MICA_E_INVALID if the heads of an attention cannot share the width evenly; if positions are rotary, also if a head's
 * share is odd. */
mica_status mica__task_share_width(int64_t width, int64_t heads, bool rotary);
/* MICA_E_INVALID if the attention of the model cannot share its features among the heads: `width` features in encoder,
 * 2 * width in cnn_gru; other models have no heads. If heads is 0, cnn_gru has its own number, which no setting
 * changes. */
mica_status mica__task_check_heads(const char *model, int64_t width, int64_t heads);
const mica__task_row *mica__task_at(size_t index);
/* Sets the run's table of settings: the settings that every task has, then the settings of its own task. */
void mica__run_take_rows(mica_run *run);
/* Takes the settings of the configuration; those that are fixed for a resumed run may not change. */
mica_status mica__run_take_settings(mica_run *run);
/* Before the task is known, takes those settings of the configuration that all tasks have. */
mica_status mica__run_take_common(mica_run *run);
/* The value that the caller gave for a setting of any task; NULL if none. */
const char *mica__run_given(const mica_run *run, const char *name);
/* Sets a setting to a value that Mica found in the data or that the user gave. */
mica_status mica__run_set(mica_run *run, const char *name, const char *value);
/* True if the setting was given by the user, read from config.json, or found before. */
bool mica__run_is_set(const mica_run *run, const char *name);
/* mica__run_set_unset sets each of these settings to its value, unless the setting is set already or the value is "".
 * The list ends with a name NULL. mica__run_set_defaults does the same with the defaults of the task. */
mica_status mica__run_set_unset(mica_run *run, const mica_setting *settings);
mica_status mica__run_set_defaults(mica_run *run);
/* The setting "precision". */
mica_dtype mica__run_precision(const mica_run *run);
/* Reads the setting "size" as height and width. Before the run's task is known, reads what the caller gave. False if
 * the size was not given or is not a size, or if the task does not scale pictures (mica__input.traits.sized). */
bool mica__run_size(const mica_run *run, int32_t sides[2]);
/* True if the setting with this index does nothing: it has conditions (mica_setting_row.of), and none of them holds. */
bool mica__run_is_idle(const mica_run *run, size_t row);
/* True for equal texts and for equal numbers, such as 0.1 and 0.10. */
bool mica__equal_values(const char *a, const char *b);
/* Adds a remark on each setting that has no effect because of others. */
mica_status mica__run_remark_idle(mica_run *run);

#endif
