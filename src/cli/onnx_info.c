#include "cli/onnx_info.h"

#include "cli/json.h"
#include "cli/text.h"

#include <inttypes.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <string.h>

bool cli_onnx_is_model(const char *path) {
  size_t n = strlen(path);
  return n > 5 && !strcmp(path + n - 5, ".onnx");
}

static const char *kind_name(mica_onnx_kind kind) {
  static const char *const names[] = {"tensor", "sequence", "optional", "other"};
  return names[kind];
}

/* "(batch, 3, 224, ?)" */
static void print_shape(const mica_onnx_port *port) {
  if (!port->has_shape) {
    printf("of any shape");
    return;
  }
  putchar('(');
  for (int32_t i = 0; i < port->shape.rank; i++) {
    printf("%s", i ? ", " : "");
    if (port->shape.dim[i] >= 0)
      printf("%" PRId64, port->shape.dim[i]);
    else
      printf("%s", *port->dim_name[i] ? port->dim_name[i] : "?");
  }
  putchar(')');
}

static void print_port(const char *role, mica_onnx_port port) {
  printf("%-9s %s: ", role, port.name);
  if (port.kind == MICA_ONNX_KIND_TENSOR) {
    printf("%s ", port.type);
    print_shape(&port);
  } else {
    printf("%s", kind_name(port.kind));
  }
  putchar('\n');
}

static void print_text(const mica_onnx *model) {
  mica_onnx_info info = mica_onnx_describe(model);
  char size[CLI_BYTES_TEXT];
  size_t missing = 0;
  printf("model     operator set %" PRId64 ", IR version %" PRId64 "%s%s %s\n", info.opset, info.ir_version,
         *info.producer ? ", by " : "", info.producer, info.producer_version);
  for (size_t i = 0; i < mica_onnx_input_count(model); i++) print_port("input", mica_onnx_input(model, i));
  for (size_t i = 0; i < mica_onnx_output_count(model); i++) print_port("output", mica_onnx_output_port(model, i));
  printf("weights   %zu, %" PRIu64 " elements, %s\n", info.weights, info.weight_elements,
         cli_format_bytes(info.weight_bytes, size));
  printf("nodes     %zu, %zu deep", info.nodes, info.depth);
  if (info.functions) printf(", %zu functions", info.functions);
  putchar('\n');
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++) {
    mica_onnx_operator op = mica_onnx_operator_at(model, i);
    printf("  %5zu  %s%s%s%s\n", op.count, op.domain, *op.domain ? "." : "", op.name,
           op.supported ? "" : "  is not supported");
    missing += !op.supported;
  }
  if (missing)
    printf("%zu of %zu operators are not supported: the model cannot run\n", missing, mica_onnx_operator_count(model));
}

static void add_port(cli_json *json, cJSON *list, mica_onnx_port port) {
  cJSON *one = cli_json_object(json, list, NULL);
  cli_json_text(json, one, "name", port.name);
  cli_json_text(json, one, "kind", kind_name(port.kind));
  if (port.kind == MICA_ONNX_KIND_TENSOR) cli_json_text(json, one, "type", port.type);
  if (!port.has_shape) return;
  cJSON *shape = cli_json_array(json, one, "shape");
  for (int32_t i = 0; i < port.shape.rank; i++)
    if (port.shape.dim[i] >= 0)
      cli_json_integer(json, shape, NULL, (uint64_t)port.shape.dim[i]);
    else
      cli_json_text(json, shape, NULL, *port.dim_name[i] ? port.dim_name[i] : "?");
}

static int print_json(const cli_command *self, const mica_onnx *model) {
  mica_onnx_info info = mica_onnx_describe(model);
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "producer", info.producer);
  cli_json_text(&json, json.root, "producer_version", info.producer_version);
  cli_json_integer(&json, json.root, "ir_version", (uint64_t)info.ir_version);
  cli_json_integer(&json, json.root, "opset", (uint64_t)info.opset);
  cJSON *inputs = cli_json_array(&json, json.root, "inputs"), *outputs = cli_json_array(&json, json.root, "outputs");
  for (size_t i = 0; i < mica_onnx_input_count(model); i++) add_port(&json, inputs, mica_onnx_input(model, i));
  for (size_t i = 0; i < mica_onnx_output_count(model); i++) add_port(&json, outputs, mica_onnx_output_port(model, i));
  cli_json_integer(&json, json.root, "weights", info.weights);
  cli_json_integer(&json, json.root, "weight_elements", info.weight_elements);
  cli_json_integer(&json, json.root, "weight_bytes", info.weight_bytes);
  cli_json_integer(&json, json.root, "nodes", info.nodes);
  cli_json_integer(&json, json.root, "depth", info.depth);
  cli_json_integer(&json, json.root, "functions", info.functions);
  cJSON *operators = cli_json_array(&json, json.root, "operators");
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++) {
    mica_onnx_operator op = mica_onnx_operator_at(model, i);
    cJSON *one = cli_json_object(&json, operators, NULL);
    cli_json_text(&json, one, "domain", op.domain);
    cli_json_text(&json, one, "name", op.name);
    cli_json_integer(&json, one, "version", (uint64_t)op.version);
    cli_json_integer(&json, one, "count", op.count);
    cli_json_bool(&json, one, "supported", op.supported);
  }
  return cli_json_print(&json, self);
}

int cli_onnx_info(const cli_command *self, const char *path, bool json) {
  mica_onnx *model = NULL;
  int status = CLI_OK;
  if (mica_onnx_open(path, &model) != MICA_OK) return cli_fail_library(self);
  if (json)
    status = print_json(self, model);
  else
    print_text(model);
  mica_onnx_close(model);
  return status;
}
