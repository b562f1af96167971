/* Settings that all or several tasks have, as typed fields. */
#include "run/common_fields.h"
#include "run/fields.h"
#include "run/shared_settings.h"

MICA__SETTINGS_TABLE(common, COMMON_SETTINGS);
static MICA__SETTINGS_TABLE(shared, SHARED_SETTINGS);

MICA__SETTINGS_READER(common, mica__common_settings_of);

MICA__SETTINGS_READER(shared, mica__shared_settings_of);
