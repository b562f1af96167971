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
