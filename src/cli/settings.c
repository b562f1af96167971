#include "cli/settings.h"

#include <string.h>

const mica_setting_row *cli_setting_at(size_t index, const char **task) {
  const char *name = NULL;
  for (size_t t = 0;; t++) {
    const mica_setting_row *rows = mica_task_settings(name);
    for (; rows && rows->name; rows++)
      if (index-- == 0) {
        if (task) *task = name;
        return rows;
      }
    name = mica_task_name(t);
    if (!name) return NULL;
  }
}

const mica_setting_row *cli_setting_find(const char *name, size_t length) {
  const mica_setting_row *row;
  for (size_t i = 0; (row = cli_setting_at(i, NULL)); i++)
    if (strlen(row->name) == length && !strncmp(row->name, name, length)) return row;
  return NULL;
}

bool cli_setting_listed(const cli_command *self, const mica_setting_row *row) {
  const cli_option *option;
  for (size_t i = 0; (option = cli_option_at(self, i)); i++)
    if (option->role == CLI_OPTION && !strcmp(option->name, row->name)) return false;
  return !self->of_run || !row->structure;
}
