/* Settings that all tasks, or several, have, as typed fields. */
#include "run/common_fields.h"
#include "run/shared_settings.h"

MICA__SETTINGS_TABLE(common, COMMON_SETTINGS);
static MICA__SETTINGS_TABLE(shared, SHARED_SETTINGS);

mica__common_settings mica__common_settings_of(const mica_run *run) {
  mica__common_settings settings;
  mica__settings_read(run, &mica__common_setting_list, &settings);
  return settings;
}

mica__shared_settings mica__shared_settings_of(const mica_run *run) {
  mica__shared_settings settings;
  mica__settings_read(run, &mica__shared_setting_list, &settings);
  return settings;
}
