/* run/state/settings.h: the settings of a run. They change by the functions of run/settings.h. */
#ifndef MICA_RUN_STATE_SETTINGS_H
#define MICA_RUN_STATE_SETTINGS_H

#include <mica/run.h>

/* Rows of the table of all tasks' settings and of a task's own at most. */
#define MICA__SETTINGS 96

typedef struct mica__run_settings {
  const mica_setting_row *rows[MICA__SETTINGS];
  char *values[MICA__SETTINGS]; /* NULL: the row's default */
  size_t count;
  const char *changed;   /* the first setting that a resumed run gets another value of; NULL: none */
  const char *precision; /* of a run that was opened, in place of the setting; NULL: the setting */
  double epochs_before;  /* the setting, before a resumed run got another one */
} mica__run_settings;

#endif
