/* tests/support/run_configs.h: a run of each task as its config.json tells of it, for tests and fuzzers of readers. */
#ifndef MICA_TESTS_SUPPORT_RUN_CONFIGS_H
#define MICA_TESTS_SUPPORT_RUN_CONFIGS_H

#include <mica/tokenizer.h>

#include <stddef.h>

/* The text of run `index`; NULL after the last. Runs with tokens have the tokenizer.json of run_config_tokenizer.
 * Valid until the next call. */
const char *run_config(size_t index);
/* The task of that run. */
const char *run_config_task(size_t index);
/* The tokeniser that the runs know; the caller's to destroy. NULL where this build has none. */
mica_tokenizer *run_config_tokenizer(void);

#endif
