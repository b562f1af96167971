/* run/config.h: config.json, which a run is opened from. */
#ifndef MICA_RUN_CONFIG_H
#define MICA_RUN_CONFIG_H

#include "base/text.h"
#include "run/facts.h"

mica_status mica__run_write_config(const mica_run *run);
/* The text of config.json, with `data` as the place of the data. */
void mica__run_config_text(const mica_run *run, const char *data, mica__text *json);
/* The texts or numbers of a fact as a list. */
void mica__fact_text(mica__text *json, const mica__fact *fact);
/* Sets task, data, settings and facts. MICA_E_NOT_FOUND if the folder has no run. */
mica_status mica__run_read_config(mica_run *run);
/* Parses config.json from a text; `path` appears in messages. */
mica_status mica__run_parse_config(mica_run *run, const char *path, const char *text);
/* Prefixes this thread's message with "the run in FOLDER is damaged: " if a file of the run is wrong (MICA_E_FORMAT);
 * `path` stands for a run without a folder. Returns the status. Other failures, such as MICA_E_NOMEM, are passed on
 * unchanged. */
mica_status mica__run_damaged(const mica_run *run, const char *path, mica_status status);

#endif
