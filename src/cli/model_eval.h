/* cli/model_eval.h: the perplexity of a text for a published model. */
#ifndef MICA_CLI_MODEL_EVAL_H
#define MICA_CLI_MODEL_EVAL_H

#include "cli/command.h"

#include <stdint.h>

/* Prints the perplexity of the text file data, or a JSON object with it. adapter: a file or folder, or NULL. window:
 * tokens per window, 0 for the default. Returns an exit status, after an error message on failure. */
int cli_model_eval(const cli_command *self, const char *path, const char *adapter, const char *data, const char *device,
                   int64_t window, bool json);

#endif
