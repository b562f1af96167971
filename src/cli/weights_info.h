/* cli/weights_info.h: describes the files of a published model: the keys and tensors of a GGUF or safetensors file. */
#ifndef MICA_CLI_WEIGHTS_INFO_H
#define MICA_CLI_WEIGHTS_INFO_H

#include "cli/command.h"

#include <mica/dtype.h>
#include <mica/shape.h>
#include <stdbool.h>

/* True for a GGUF file, an index of safetensors files, or a folder with weights that is not a run of Mica's. */
bool cli_weights_are(const char *path);
/* Prints keys and tensors. Returns CLI_OK or an exit status. */
int cli_weights_info(const cli_command *self, const char *path, bool json);

/* Prints a line about a tensor; returns its number of elements. */
int64_t cli_print_tensor(const char *name, const char *type, mica_shape shape);

#endif
