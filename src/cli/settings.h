/* cli/settings.h: the library's settings of runs, as options of commands. */
#ifndef MICA_CLI_SETTINGS_H
#define MICA_CLI_SETTINGS_H

#include "cli/command.h"

/* Setting number index: the settings of all tasks come first, then each task's; NULL past the end. *task (may be NULL):
 * the task of the setting, NULL: all tasks. */
const mica_setting_row *cli_setting_at(size_t index, const char **task);
/* The first setting whose name is these `length` bytes; NULL: none. */
const mica_setting_row *cli_setting_find(const char *name, size_t length);

#endif
