/* run/state/settings.h: the settings of a run. Only the functions of run/settings.h change them. */
#ifndef MICA_RUN_STATE_SETTINGS_H
#define MICA_RUN_STATE_SETTINGS_H

#include <mica/run.h>

/* The most settings of a run: the common ones and its own task's together. */
#define MICA__SETTINGS 96

typedef struct mica__run_settings {
  const mica_setting_row *rows[MICA__SETTINGS];
  char *values[MICA__SETTINGS]; /* NULL for the row's default */
  size_t count;
  const char *changed;   /* the first setting whose value changed when the run was resumed, or NULL */
  const char *precision; /* for an opened run, replaces the setting; NULL if the setting applies */
  double depth_scale;    /* likewise; 0 if the setting applies */
  double epochs_before;  /* the setting "epochs", before a resumed run changed it */
} mica__run_settings;

#endif
