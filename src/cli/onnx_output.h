/* cli/onnx_output.h: what a run of a model gave, for people and for programs. */
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
  const mica_onnx *texts; /* the model, if its output `index` holds texts; else NULL */
  size_t index;
} cli_onnx_output;

/* The text of element i, without control characters; "?" for an index outside the list. Valid until the next call. */
const char *cli_onnx_output_text(const cli_onnx_output *output, int64_t i);

/* One line: name, dtype, shape and the first elements; if there are more also the least, the greatest and the mean,
 * and how many are NaN, which those leave out. */
void cli_onnx_output_print(const cli_onnx_output *output);
/* Adds "name", "dtype", "shape", "min", "max", "mean" (null for none), "nan" and, of at most 16 elements, "values" to a
 * list. Values that are not finite are null. Texts have "values" alone, all
 * of them. */
void cli_onnx_output_add(cli_json *json, cJSON *list, const cli_onnx_output *output);

#endif
