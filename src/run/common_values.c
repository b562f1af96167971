/* Values of the settings that all tasks have, by their index. */
#include "run/common_values.h"
#include "run/settings.h"

#include "base/text.h"

static const char *name_of(mica__common_setting setting) { return mica__common_setting_list.rows[setting].name; }

const char *mica__common_typed(const mica_run *run, mica__common_setting setting) {
  return mica_run_setting(run, name_of(setting));
}

bool mica__common_is_set(const mica_run *run, mica__common_setting setting) {
  return mica__run_is_set(run, name_of(setting));
}

const char *mica__common_given(const mica_run *run, mica__common_setting setting) {
  return mica__run_given(run, name_of(setting));
}

mica_status mica__common_set(mica_run *run, mica__common_setting setting, const char *value) {
  return mica__run_set(run, name_of(setting), value);
}

mica_status mica__common_set_number(mica_run *run, mica__common_setting setting, double value) {
  mica__text text = {0};
  mica__text_addf(&text, "%.15g", value);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica__common_set(run, setting, text.data);
  mica__text_free(&text);
  return status;
}
