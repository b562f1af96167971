/* cli/onnx_info.h: describes the contents of an ONNX model. */
#ifndef MICA_CLI_ONNX_INFO_H
#define MICA_CLI_ONNX_INFO_H

#include "cli/command.h"

/* True if the path ends in .onnx after at least one other character. */
bool cli_onnx_is_model(const char *path);
/* Prints the model's inputs, outputs, operators and weights, and what a run needs. shape: shapes of inputs, as in
 * NAME=1x3x224x224, or NULL (see cli_onnx_feeds_make). Returns an exit status. */
int cli_onnx_info(const cli_command *self, const char *path, const char *shape, bool json);

#endif
