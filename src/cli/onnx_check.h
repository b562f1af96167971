/* cli/onnx_check.h: models beside recorded inputs and outputs, in folders test_data_set_<n> as ONNX's own tests have
 * them. */
#ifndef MICA_CLI_ONNX_CHECK_H
#define MICA_CLI_ONNX_CHECK_H

#include "cli/command.h"

#include <mica/onnx.h>

/* Checks the model on every folder test_data_set_<n> of a folder, or on that folder itself where it is one; says which
 * are right. CLI_OK only when all are. */
int cli_onnx_check_model(const cli_command *self, mica_engine *engine, mica_onnx *model, const char *folder, bool json);

/* Checks every folder below this one that holds a model.onnx, and counts by family: what a file scope.tsv in the folder
 * or the one above says of a test, else the folder that the test stands in. CLI_OK only when all are right. */
int cli_onnx_check_all(const cli_command *self, mica_engine *engine, const char *folder, bool json);

#endif
