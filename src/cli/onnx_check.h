/* cli/onnx_check.h: checks models against recorded inputs and outputs, in folders test_data_set_<n> as in ONNX's own
 * tests. */
#ifndef MICA_CLI_ONNX_CHECK_H
#define MICA_CLI_ONNX_CHECK_H

#include "cli/command.h"

#include <mica/onnx.h>

/* Checks the model on the folders test_data_set_0, test_data_set_1 and so on of a folder, or on the folder itself if it
 * has none and is such a set. Prints how many sets are right, and the first failure. CLI_OK only if all are right. */
int cli_onnx_check_model(const cli_command *self, mica_engine *engine, mica_onnx *model, const char *folder, bool json);

/* Checks the folder if it contains a model.onnx, else all such folders below it, at most eight levels deep, and counts
 * results by family: a file scope.tsv in the folder or its parent names a test's family; without an entry there, the
 * family is the test's parent folder. CLI_OK only if all are right. */
int cli_onnx_check_all(const cli_command *self, mica_engine *engine, const char *folder, bool json);

#endif
