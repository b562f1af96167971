/* run/config.h: config.json, which a run is opened from. */
#ifndef MICA_RUN_CONFIG_H
#define MICA_RUN_CONFIG_H

#include "base/text.h"
#include "run/facts.h"

mica_status mica__run_write_config(const mica_run *run);
/* Appends the text of config.json, with `data` as the path of the data. */
void mica__run_config_text(const mica_run *run, const char *data, mica__text *json);
/* Appends the texts or numbers of a stored value as a JSON list. */
void mica__fact_text(mica__text *json, const mica__fact *fact);
/* Reads config.json and sets the run's task, data, settings and stored values. MICA_E_NOT_FOUND if the folder has no
 * run. */
mica_status mica__run_read_config(mica_run *run);
/* Parses config.json from a text; `path` appears in messages. */
mica_status mica__run_parse_config(mica_run *run, const char *path, const char *text);
/* If a file of the run is wrong (MICA_E_FORMAT), prefixes this thread's message with "the run in FOLDER is damaged: ";
 * `path` takes the place of FOLDER if the run has no folder. Leaves the message of other failures, such as
 * MICA_E_NOMEM, unchanged. Returns the status. */
mica_status mica__run_damaged(const mica_run *run, const char *path, mica_status status);

#endif
