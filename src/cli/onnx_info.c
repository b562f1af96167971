#include "cli/onnx_info.h"

#include "cli/json.h"
#include "cli/onnx_feeds.h"
#include "cli/result.h"
#include "cli/text.h"

#include <inttypes.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
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
      printf("%s", *port->dim_name[i] ? cli_clean(port->dim_name[i]) : "?");
  }
  putchar(')');
}

static void print_port(const char *role, mica_onnx_port port) {
  printf("%-9s %s: ", role, cli_clean(port.name));
  if (port.kind == MICA_ONNX_KIND_TENSOR) {
    printf("%s ", cli_clean(port.type));
    print_shape(&port);
  } else {
    printf("%s", kind_name(port.kind));
  }
  putchar('\n');
  if (*port.doc) printf("          %s\n", cli_clean(port.doc));
}

/* The most class names that are printed. */
#define CLASSES_SHOWN 20
static void print_classes(const mica_onnx *model, size_t output) {
  char text[256];
  const size_t count = mica_onnx_class_count(model, output);
  if (!count) return;
  printf("          %zu classes:", count);
  for (size_t i = 0; i < count && i < CLASSES_SHOWN; i++)
    if (mica_onnx_class_name(model, output, i, text, sizeof text)) printf("%s %s", i ? "," : "", cli_clean(text));
  puts(count > CLASSES_SHOWN ? ", ..." : "");
}

/* A run of a model on the null device, which plans but computes nothing. Inputs have the values of cli_onnx_feeds_make
 * with the seed 0. Computed values are undefined. If shapes depend on data, the plan is the one for these data. */
typedef struct plan {
  mica_engine *engine;
  mica_onnx_runner *runner;
  mica_onnx_report report;
  char why[1024]; /* the reason if there is no plan, else "" */
} plan;

static int make_plan(const cli_command *self, mica_onnx *model, const char *shape, plan *p) {
  const cli_words none = {0};
  cli_onnx_feeds *feeds = calloc(1, sizeof *feeds);
  if (!feeds) return cli_fail(self, "there is not enough memory");
  int status = cli_onnx_feeds_make(feeds, self, model, none, shape, 0);
  if (status == CLI_OK) {
    mica_status made = mica_engine_create(&(mica_engine_config){.device = "null"}, &p->engine);
    if (made == MICA_OK) made = mica_onnx_runner_create(p->engine, model, NULL, &p->runner);
    if (made == MICA_OK) made = mica_onnx_run(p->runner, mica_engine_queue(p->engine), feeds->feeds, feeds->count);
    if (made == MICA_OK) made = mica_onnx_runner_describe(p->runner, &p->report);
    const char *open = made == MICA_E_SHAPE && !shape ? cli_onnx_open_input(model) : NULL;
    if (made != MICA_OK)
      snprintf(p->why, sizeof p->why, open ? "%s; give the input's length with --shape %s=1x..." : "%s",
               mica_error_message(), open);
  }
  cli_onnx_feeds_free(feeds);
  free(feeds);
  return status;
}

static void free_plan(plan *p) {
  mica_onnx_runner_destroy(p->runner);
  mica_engine_destroy(p->engine);
}

static void print_plan(const mica_onnx *model, const plan *p) {
  char size[CLI_BYTES_TEXT];
  if (*p->why) {
    printf("run       %s\n", cli_clean(p->why));
    return;
  }
  printf("run       %zu launches, %.4g GFLOP, %s planned%s\n", p->report.launches, p->report.flops * 1e-9,
         cli_format_bytes(p->report.planned_bytes, size), p->report.stages > 1 ? ", in parts:" : "");
  for (size_t i = 0; i < mica_onnx_input_count(model); i++)
    if (mica_onnx_is_bound(p->runner, mica_onnx_input(model, i).name))
      printf("bound     %s: shapes depend on its values, so other values need another plan\n",
             cli_clean(mica_onnx_input(model, i).name));
  for (size_t i = 0; i < mica_onnx_cut_count(p->runner); i++) {
    mica_onnx_cut cut = mica_onnx_cut_at(p->runner, i);
    printf("cut       at '%s' (%s): %s\n", cli_clean(cut.node), cli_clean(cut.op), cli_clean(cut.why));
  }
}

/* The most bytes of a text that are printed. */
#define METADATA_SHOWN 60
static void print_metadata(mica_onnx_text text) {
  const char *value = cli_one_line(text.value);
  size_t shown = strlen(value);
  const bool whole = shown <= METADATA_SHOWN;
  if (!whole) /* goes back to the first byte of a UTF-8 character */
    for (shown = METADATA_SHOWN; shown && ((unsigned char)value[shown] & 0xc0) == 0x80;) shown--;
  printf("metadata  %s: %.*s%s\n", cli_clean(text.key), (int)shown, value, whole ? "" : "... (--json: all of it)");
}

/* Prints the model; true if all its operators are supported. */
static bool print_text(const mica_onnx *model) {
  mica_onnx_info info = mica_onnx_describe(model);
  char size[CLI_BYTES_TEXT];
  size_t missing = 0;
  printf("model     operator set %" PRId64 ", IR version %" PRId64 "%s%s %s\n", info.opset, info.ir_version,
         *info.producer ? ", by " : "", cli_clean(info.producer), cli_clean(info.producer_version));
  for (size_t i = 0; i < mica_onnx_input_count(model); i++) print_port("input", mica_onnx_input(model, i));
  for (size_t i = 0; i < mica_onnx_output_count(model); i++) {
    print_port("output", mica_onnx_output_port(model, i));
    print_classes(model, i);
  }
  printf("weights   %zu, %" PRIu64 " elements, %s\n", info.weights, info.weight_elements,
         cli_format_bytes(info.weight_bytes, size));
  for (size_t i = 0; mica_onnx_metadata_at(model, i).key; i++) print_metadata(mica_onnx_metadata_at(model, i));
  printf("nodes     %zu, %zu deep", info.nodes, info.depth);
  if (info.functions) printf(", %zu functions", info.functions);
  putchar('\n');
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++) {
    mica_onnx_operator op = mica_onnx_operator_at(model, i);
    printf("  %5zu  %s%s%s%s\n", op.count, cli_clean(op.domain), *op.domain ? "." : "", cli_clean(op.name),
           op.supported ? "" : "  is not supported");
    missing += !op.supported;
  }
  if (missing)
    printf("%zu of %zu operators are not supported: the model cannot run\n", missing, mica_onnx_operator_count(model));
  return !missing;
}

static cJSON *add_port(cli_json *json, cJSON *list, mica_onnx_port port) {
  cJSON *one = cli_json_object(json, list, NULL);
  cli_json_text(json, one, "name", port.name);
  cli_json_text(json, one, "kind", kind_name(port.kind));
  if (port.kind == MICA_ONNX_KIND_TENSOR) cli_json_text(json, one, "type", port.type);
  if (*port.doc) cli_json_text(json, one, "doc", port.doc);
  if (!port.has_shape) return one;
  cJSON *shape = cli_json_array(json, one, "shape");
  for (int32_t i = 0; i < port.shape.rank; i++)
    if (port.shape.dim[i] >= 0)
      cli_json_integer(json, shape, NULL, (uint64_t)port.shape.dim[i]);
    else
      cli_json_text(json, shape, NULL, *port.dim_name[i] ? port.dim_name[i] : "?");
  return one;
}

static void add_classes(cli_json *json, cJSON *port, const mica_onnx *model, size_t output) {
  char text[256];
  const size_t count = mica_onnx_class_count(model, output);
  cJSON *list = count ? cli_json_array(json, port, "classes") : NULL;
  for (size_t i = 0; i < count; i++)
    if (mica_onnx_class_name(model, output, i, text, sizeof text)) cli_json_text(json, list, NULL, text);
}

static void add_plan(cli_json *json, const mica_onnx *model, const plan *p) {
  cJSON *run = cli_json_object(json, json->root, "run");
  if (*p->why) {
    cli_json_text(json, run, "error", p->why);
    return;
  }
  cli_json_integer(json, run, "launches", p->report.launches);
  cli_json_real(json, run, "flops", p->report.flops);
  cli_json_integer(json, run, "planned_bytes", p->report.planned_bytes);
  cli_json_integer(json, run, "parts", p->report.stages);
  cJSON *bound = cli_json_array(json, run, "bound"), *cuts = cli_json_array(json, run, "cuts");
  for (size_t i = 0; i < mica_onnx_input_count(model); i++)
    if (mica_onnx_is_bound(p->runner, mica_onnx_input(model, i).name))
      cli_json_text(json, bound, NULL, mica_onnx_input(model, i).name);
  for (size_t i = 0; i < mica_onnx_cut_count(p->runner); i++) {
    mica_onnx_cut cut = mica_onnx_cut_at(p->runner, i);
    cJSON *one = cli_json_object(json, cuts, NULL);
    cli_json_text(json, one, "node", cut.node);
    cli_json_text(json, one, "op", cut.op);
    cli_json_text(json, one, "why", cut.why);
  }
}

static int print_json(const cli_command *self, const mica_onnx *model, const plan *p) {
  mica_onnx_info info = mica_onnx_describe(model);
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "producer", info.producer);
  cli_json_text(&json, json.root, "producer_version", info.producer_version);
  cli_json_integer(&json, json.root, "ir_version", (uint64_t)info.ir_version);
  cli_json_integer(&json, json.root, "opset", (uint64_t)info.opset);
  cJSON *inputs = cli_json_array(&json, json.root, "inputs"), *outputs = cli_json_array(&json, json.root, "outputs");
  for (size_t i = 0; i < mica_onnx_input_count(model); i++) add_port(&json, inputs, mica_onnx_input(model, i));
  for (size_t i = 0; i < mica_onnx_output_count(model); i++)
    add_classes(&json, add_port(&json, outputs, mica_onnx_output_port(model, i)), model, i);
  cli_json_integer(&json, json.root, "weights", info.weights);
  cli_json_integer(&json, json.root, "weight_elements", info.weight_elements);
  cli_json_integer(&json, json.root, "weight_bytes", info.weight_bytes);
  cli_json_integer(&json, json.root, "nodes", info.nodes);
  cli_json_integer(&json, json.root, "depth", info.depth);
  cli_json_integer(&json, json.root, "functions", info.functions);
  cJSON *metadata = cli_json_object(&json, json.root, "metadata");
  for (size_t i = 0; mica_onnx_metadata_at(model, i).key; i++)
    cli_json_text(&json, metadata, mica_onnx_metadata_at(model, i).key, mica_onnx_metadata_at(model, i).value);
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
  add_plan(&json, model, p);
  return cli_json_print(&json, self);
}

int cli_onnx_info(const cli_command *self, const char *path, const char *shape, bool json) {
  mica_onnx *model = NULL;
  plan p = {0};
  if (mica_onnx_open(path, &model) != MICA_OK) return cli_fail_library(self);
  int status = make_plan(self, model, shape, &p);
  if (status == CLI_OK && json) {
    status = print_json(self, model, &p);
  } else if (status == CLI_OK && print_text(model)) {
    print_plan(model, &p);
  }
  free_plan(&p);
  mica_onnx_close(model);
  return status;
}
