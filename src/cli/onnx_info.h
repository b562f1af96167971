/* cli/onnx_info.h: what is in a model in ONNX. */
#ifndef MICA_CLI_ONNX_INFO_H
#define MICA_CLI_ONNX_INFO_H

#include "cli/command.h"

/* True if the path's name ends as models in ONNX do. */
bool cli_onnx_is_model(const char *path);
/* Prints the model's inputs, outputs, operators and weights, and what a run on inputs of a shape NAME=1x3x224x224 takes
 * (NULL: open dimensions are 1). CLI_OK or an exit status. */
int cli_onnx_info(const cli_command *self, const char *path, const char *shape, bool json);

#endif
