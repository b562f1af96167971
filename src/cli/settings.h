/* cli/settings.h: the library's settings of runs as options of commands. */
#ifndef MICA_CLI_SETTINGS_H
#define MICA_CLI_SETTINGS_H

#include "cli/command.h"

/* The rows of all tasks, then those of each task; NULL past the end. *task (may be NULL): whose it is, NULL: of all. */
const mica_setting_row *cli_setting_at(size_t index, const char **task);
/* The first row of a name of so many bytes; NULL when there is none. */
const mica_setting_row *cli_setting_find(const char *name, size_t length);

#endif
