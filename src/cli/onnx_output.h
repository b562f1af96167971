/* cli/onnx_output.h: prints the outputs of a model, as text or as JSON. */
#ifndef MICA_CLI_ONNX_OUTPUT_H
#define MICA_CLI_ONNX_OUTPUT_H

#include "cli/json.h"

#include <mica/onnx.h>

/* Elements on the host, in C order. */
typedef struct cli_onnx_output {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const void *data;
  const mica_onnx *texts; /* the model, if its output number `index` contains texts; else NULL */
  size_t index;
} cli_onnx_output;

/* The text of element i, without control characters; "?" for an index that is out of range. Valid until the next
 * call. */
const char *cli_onnx_output_text(const cli_onnx_output *output, int64_t i);

/* Prints one line: name, dtype, shape and the first elements. If there are further elements, also prints the minimum,
 * maximum and mean of all elements that are not NaN, and the number of NaNs. */
void cli_onnx_output_print(const cli_onnx_output *output);
/* Adds an object to a list: "name", "dtype", "shape", "min", "max", "mean" (null if all elements are NaN), "nan" and,
 * for at most 16 elements, "values". Values that are not finite become null. Texts have "name", "dtype", "shape" and,
 * however many elements they have, "values". */
void cli_onnx_output_add(cli_json *json, cJSON *list, const cli_onnx_output *output);

#endif
