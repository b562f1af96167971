/* Settings of a run as typed structs. */
#include "run/setting_fields.h"

#include <math.h>
#include <string.h>

static int32_t choice_of(const mica_setting_row *row, const char *value) {
  for (size_t i = 0; row->names(i); i++)
    if (!strcmp(row->names(i), value)) return (int32_t)i;
  return -1;
}

void mica__settings_read(const mica_run *run, const mica__setting_list *list, void *settings) {
  for (size_t i = 0; list->rows[i].name; i++) {
    const mica_setting_row *row = &list->rows[i];
    const char *value = mica_run_setting(run, row->name);
    void *field = (char *)settings + list->offsets[i];
    const double number = mica_run_number(run, row->name);
    switch (row->kind) {
    case MICA_SETTING_KIND_FLAG: *(bool *)field = !strcmp(value, "true"); break;
    case MICA_SETTING_KIND_INT: *(int64_t *)field = isnan(number) ? 0 : (int64_t)number; break;
    case MICA_SETTING_KIND_REAL: *(double *)field = number; break;
    case MICA_SETTING_KIND_CHOICE: *(int32_t *)field = choice_of(row, value); break;
    case MICA_SETTING_KIND_TEXT:
    case MICA_SETTING_KIND_PATH: *(const char **)field = value; break;
    }
  }
}
