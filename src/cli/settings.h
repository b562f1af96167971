/* cli/settings.h: the library's settings of runs, as options of commands. */
#ifndef MICA_CLI_SETTINGS_H
#define MICA_CLI_SETTINGS_H

#include "cli/command.h"

/* Setting number `index`, NULL past the end. Settings that all tasks have in common come first, then the settings of
 * each task. *task (task may be NULL) receives the task of the setting, or NULL for a common one. */
const mica_setting_row *cli_setting_at(size_t index, const char **task);
/* The first setting whose name equals the first `length` bytes of name; NULL if there is no such setting. */
const mica_setting_row *cli_setting_find(const char *name, size_t length);
/* False if help leaves out the setting: an option of the command has the same name, or the run keeps its own value. */
bool cli_setting_listed(const cli_command *self, const mica_setting_row *row);

#endif
