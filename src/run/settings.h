/* run/settings.h: the settings of a run and the table of its task. */
#ifndef MICA_RUN_SETTINGS_H
#define MICA_RUN_SETTINGS_H

#include "run/task.h"

/* Checks settings of a task and of tasks that stand for it; without a task, settings of any task. */
mica_status mica__settings_check(const char *task, const mica_setting *settings, size_t count);
/* Takes only the settings of the run's own task. */
mica_status mica__run_check_settings(const mica_run *run);
/* Gives the run its task once the data are known, with the task's table of settings and the values that the
 * configuration gives for them. */
mica_status mica__run_take_task(mica_run *run, const mica__task_row *task);
/* True for a name in mica__task_row.stands_for. */
bool mica__task_stands_for(const mica__task_row *task, const char *name);
/* The task of this name; NULL, with a message that lists all tasks. */
const mica__task_row *mica__task_find(const char *name);
/* MICA_E_INVALID if the run's task builds its own networks and has none of the name in the setting "model". */
mica_status mica__task_check_network(const mica_run *run);
/* MICA_E_INVALID if the heads of an attention cannot share the width evenly; if positions are rotary, also if a head's
 * share is odd. */
mica_status mica__task_share_width(int64_t width, int64_t heads, bool rotary);
/* MICA_E_INVALID if the attention of the model cannot share its features among the heads: `width` features in encoder,
 * 2 * width in cnn_gru; other models have no heads. heads = 0: cnn_gru's own number, which no setting changes. */
mica_status mica__task_check_heads(const char *model, int64_t width, int64_t heads);
const mica__task_row *mica__task_at(size_t index);
/* Sets the run's table of settings: the settings of all tasks, then its own task's. */
void mica__run_take_rows(mica_run *run);
/* Takes the settings of the configuration; those that are fixed for a resumed run may not change. */
mica_status mica__run_take_settings(mica_run *run);
/* Before the task is known, takes those settings of the configuration that all tasks have. */
mica_status mica__run_take_common(mica_run *run);
/* The value that the caller gave for a setting of any task; NULL if none. */
const char *mica__run_given(const mica_run *run, const char *name);
/* Sets a setting to a value that was found or typed. */
mica_status mica__run_set(mica_run *run, const char *name, const char *value);
/* True if the setting was typed, read from config.json, or found before. */
bool mica__run_is_set(const mica_run *run, const char *name);
/* The first function sets each of these settings to its value, unless it is set already or the value is "". The list
 * ends with a name NULL. The second does the same with the defaults of the task. */
mica_status mica__run_set_unset(mica_run *run, const mica_setting *settings);
mica_status mica__run_set_defaults(mica_run *run);
/* The setting "precision". */
mica_dtype mica__run_precision(const mica_run *run);
/* Reads the setting "size" as height and width: the run's if its task is known, else the caller's. False if it was not
 * given, is not a size, or the task does not scale pictures (mica__input.traits.sized). */
bool mica__run_size(const mica_run *run, int32_t sides[2]);
/* True if the setting of this row does nothing: no condition of mica_setting_row.of holds. */
bool mica__run_is_idle(const mica_run *run, size_t row);
/* True for equal texts and for equal numbers: 0.1 and 0.10. */
bool mica__equal_values(const char *a, const char *b);
/* Remarks on settings that have no effect because of others. */
mica_status mica__run_remark_idle(mica_run *run);

#endif
