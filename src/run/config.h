/* run/config.h: config.json, which a run is opened from. */
#ifndef MICA_RUN_CONFIG_H
#define MICA_RUN_CONFIG_H

#include "base/text.h"
#include "run/facts.h"

mica_status mica__run_write_config(const mica_run *run);
/* The text of config.json, with `data` as where they were found. */
void mica__run_config_text(const mica_run *run, const char *data, mica__text *json);
/* A fact's texts or numbers as a list. */
void mica__fact_text(mica__text *json, const mica__fact *fact);
/* Sets task, data, settings and facts. MICA_E_NOT_FOUND where the folder holds no run. */
mica_status mica__run_read_config(mica_run *run);
/* Does so from a text; path is for sentences. */
mica_status mica__run_parse_config(mica_run *run, const char *path, const char *text);
/* Puts "the run in FOLDER is damaged: " before this thread's sentence where a file of the run is wrong (MICA_E_FORMAT);
 * path stands for a run without a folder. Returns the status: others, such as MICA_E_NOMEM, are passed on as they are.
 */
mica_status mica__run_damaged(const mica_run *run, const char *path, mica_status status);

#endif
