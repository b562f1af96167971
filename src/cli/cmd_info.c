#include "cli/json.h"
#include "cli/onnx_info.h"
#include "cli/run.h"
#include "cli/text.h"
#include "cli/trained.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct values {
  const char *model;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPERAND,
            .help = "a folder that mica train wrote, a safetensors file of any origin, or a model in ONNX"),
    CLI_ROW("json", struct values, json, .help = "write JSON"),
    {0},
};

static int64_t elements(const mica_safetensors_entry *entry) {
  int64_t count = 1;
  for (int32_t i = 0; i < entry->shape.rank; i++) count *= entry->shape.dim[i];
  return count;
}

static void print_tensors(const mica_safetensors *file) {
  int64_t all = 0;
  uint64_t bytes = 0;
  char size[CLI_BYTES_TEXT];
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *entry = mica_safetensors_at(file, i);
    char shape[MICA_SHAPE_TEXT];
    printf("  %-40s %-5s %-20s %10" PRId64 "\n", entry->name, entry->type, mica_shape_format(entry->shape, shape),
           elements(entry));
    all += elements(entry);
    bytes += entry->bytes;
  }
  printf("%zu tensors, %" PRId64 " elements, %s\n", mica_safetensors_count(file), all, cli_format_bytes(bytes, size));
  for (size_t i = 0; i < mica_safetensors_metadata_count(file); i++) {
    mica_safetensors_pair pair = mica_safetensors_metadata_at(file, i);
    printf("  %s: %s\n", pair.key, pair.value);
  }
}

static void add_tensors(cli_json *json, const mica_safetensors *file) {
  cJSON *tensors = cli_json_array(json, json->root, "tensors");
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *entry = mica_safetensors_at(file, i);
    cJSON *one = cli_json_object(json, tensors, NULL), *shape = cli_json_array(json, one, "shape");
    cli_json_text(json, one, "name", entry->name);
    cli_json_text(json, one, "type", entry->type);
    for (int32_t d = 0; d < entry->shape.rank; d++) cli_json_integer(json, shape, NULL, (uint64_t)entry->shape.dim[d]);
  }
  cJSON *metadata = cli_json_object(json, json->root, "metadata");
  for (size_t i = 0; i < mica_safetensors_metadata_count(file); i++) {
    mica_safetensors_pair pair = mica_safetensors_metadata_at(file, i);
    cli_json_text(json, metadata, pair.key, pair.value);
  }
}

static void print_run(const cli_run *run) {
  printf("model     %s, trained on %s\n", run->model, run->data);
  printf("input    ");
  for (int32_t i = 0; i < run->input.rank; i++) printf("%s %" PRId64, i ? " x" : "", run->input.dim[i]);
  printf("\nclasses   %d", (int)run->classes);
  for (int32_t i = 0; i < run->classes && i < 20; i++) printf("%s %s", i ? "," : ":", run->class_names[i]);
  printf("\ntraining  %s at %g, %s, batch %" PRId64 ", %" PRId64 " epochs, seed %" PRId64 "\n\n", run->optimizer,
         run->lr, run->schedule, run->batch, run->epochs, run->seed);
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  if (cli_onnx_is_model(v->model)) return cli_onnx_info(self, v->model, v->json);
  struct stat about;
  char path[CLI_PATH];
  cli_run trained;
  mica_safetensors *file = NULL;
  bool folder = stat(v->model, &about) == 0 && S_ISDIR(about.st_mode);
  int status = CLI_OK;
  cli_run_begin(&trained);
  if (folder) status = cli_run_read(&trained, self, v->model);
  if (status == CLI_OK && folder && !cli_run_path(path, v->model, CLI_MODEL_FILE))
    status = cli_fail(self, "the path %s is too long", v->model);
  if (status == CLI_OK && mica_safetensors_open(folder ? path : v->model, &file) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK && v->json) {
    cli_json json;
    cli_json_begin(&json);
    if (folder) cli_json_text(&json, json.root, "model", trained.model);
    add_tensors(&json, file);
    status = cli_json_print(&json, self);
  } else if (status == CLI_OK) {
    if (folder) print_run(&trained);
    print_tensors(file);
  }
  mica_safetensors_close(file);
  cli_run_free(&trained);
  return status;
}

const cli_command cli_command_info = {
    .name = "info",
    .summary = "what is in a trained network, a safetensors file or a model in ONNX",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
