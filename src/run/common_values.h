/* run/common_values.h: values of the settings that all tasks have, by their index: MICA__SETTING_epochs. */
#ifndef MICA_RUN_COMMON_VALUES_H
#define MICA_RUN_COMMON_VALUES_H

#include "base/error.h"
#include "run/common_fields.h"

#define MICA__SETTING_INDEX(owner, kind, field, ...) MICA__SETTING_##field,
typedef enum mica__common_setting { COMMON_SETTINGS(MICA__SETTING_INDEX, ) MICA__COMMON_SETTINGS } mica__common_setting;

/* The value as typed, such as "0.10"; the default if it was not set. */
const char *mica__common_typed(const mica_run *run, mica__common_setting setting);
/* See mica__run_is_set, mica__run_given and mica__run_set (run/settings.h). */
bool mica__common_is_set(const mica_run *run, mica__common_setting setting);
const char *mica__common_given(const mica_run *run, mica__common_setting setting);
mica_status mica__common_set(mica_run *run, mica__common_setting setting, const char *value);
mica_status mica__common_set_number(mica_run *run, mica__common_setting setting, double value);

#endif
