#include "cli/json.h"
#include "cli/onnx_info.h"
#include "cli/result.h"
#include "cli/text.h"
#include "cli/weights_info.h"

#include <mica/mica.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct values {
  const char *model, *shape;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPERAND,
            .help = "folder of a run or of a published model; safetensors, GGUF or ONNX file; or name of a network, "
                    "such as resnet18"),
    CLI_ROW("shape", struct values, shape, .value = "NAME=1x3x224x224",
            .help = "ONNX: shape of an input, or of several separated by commas (default: dimensions that the model "
                    "leaves open are 1; sounds last one second)"),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

static void print_tensors(const mica_safetensors *file) {
  int64_t all = 0;
  uint64_t bytes = 0;
  char size[CLI_BYTES_TEXT];
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *entry = mica_safetensors_at(file, i);
    all += cli_print_tensor(entry->name, entry->type, entry->shape);
    bytes += entry->bytes;
  }
  printf("%zu tensors, %" PRId64 " elements, %s\n", mica_safetensors_count(file), all, cli_format_bytes(bytes, size));
  for (size_t i = 0; i < mica_safetensors_metadata_count(file); i++) {
    mica_safetensors_pair pair = mica_safetensors_metadata_at(file, i);
    printf("  %s: %s\n", cli_clean(pair.key), cli_one_line(pair.value));
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

/* --- runs --- */

/* For data that are not a table: calls take with the name of each column of a sample. The run's stored value "columns"
 * (mica_run_fact) has an entry "NAME TYPE DIM..." per column. Columns NAME.length, which hold lengths of other columns,
 * are omitted. */
static void each_named(const mica_run *run, void (*take)(void *user, const char *kind, const char *name), void *user) {
  size_t count = 0;
  const char *const *columns = mica_run_fact(run, "columns", &count);
  for (size_t i = 0; i < count; i++) {
    char name[256];
    snprintf(name, sizeof name, "%s", columns[i]);
    char *end = strrchr(name, ' ');
    while (end && (end[1] == '-' || (end[1] >= '0' && end[1] <= '9'))) *end = '\0', end = strrchr(name, ' ');
    if (end) *end = '\0';
    const char *dot = strrchr(name, '.');
    if (!dot || strcmp(dot, ".length") != 0) take(user, "", name);
  }
}

/* Calls take for each column of the data that a run was trained on. If the run has the stored value "table"
 * (mica_run_fact), its entries already begin with the kind of column, as in "number age" or "class colour". Older runs
 * have one stored value per kind instead. */
static void each_column(const mica_run *run, void (*take)(void *user, const char *kind, const char *name), void *user) {
  static const char *const facts[][2] = {{"table", ""},
                                         {"numbers", "number "},
                                         {"categories", "class "},
                                         {"text_column", "text "},
                                         {"series_column", "series "},
                                         {"picture_column", "picture "},
                                         {"sound_column", "recording "},
                                         {"label_name", "label "}};
  size_t taken = 0;
  for (size_t f = 0; f < sizeof facts / sizeof *facts && (f == 0 || !mica_run_fact(run, "table", NULL)); f++) {
    size_t count = 0;
    const char *const *names = mica_run_fact(run, facts[f][0], &count);
    if (!strcmp(facts[f][0], "label_name") && !taken) continue;
    for (size_t i = 0; i < count; i++, taken++) take(user, facts[f][1], names[i]);
  }
  if (!taken && !mica_run_fact_numbers(run, "input", NULL)) each_named(run, take, user);
}

/* Stored values (mica_run_fact) that are lists of names, and the maximum number of names printed per list. */
static const char *const lists[] = {"classes", "speakers", "alphabet"};
enum { LISTS = sizeof lists / sizeof *lists, PRINTED = 20 };

static void print_column(void *user, const char *kind, const char *name) {
  size_t *count = user;
  printf("%s%s%s", (*count)++ ? ", " : "\ncolumns   ", kind, cli_clean(name));
}

typedef struct column_list {
  cli_json *json;
  cJSON *list;
} column_list;

static void add_column(void *user, const char *kind, const char *name) {
  const column_list *l = user;
  char text[300];
  snprintf(text, sizeof text, "%s%s", kind, name);
  cli_json_text(l->json, l->list, NULL, text);
}

static void add_run(cli_json *json, const mica_run *run) {
  size_t rank = 0;
  const double *input = mica_run_fact_numbers(run, "input", &rank), *rate = mica_run_fact_numbers(run, "rate", NULL);
  cli_json_text(json, json->root, "task", mica_run_task(run));
  cli_json_text(json, json->root, "model", mica_run_setting(run, "model"));
  cJSON *shape = cli_json_array(json, json->root, "input");
  for (size_t i = 0; i < rank; i++) cli_json_integer(json, shape, NULL, (uint64_t)input[i]);
  if (rate) cli_json_real(json, json->root, "rate", *rate);
  for (size_t k = 0; k < LISTS; k++) {
    size_t count = 0;
    const char *const *names = mica_run_fact(run, lists[k], &count);
    cJSON *list = count || !k ? cli_json_array(json, json->root, lists[k]) : NULL;
    for (size_t i = 0; i < count; i++) cli_json_text(json, list, NULL, names[i]);
  }
  each_column(run, add_column, &(column_list){json, cli_json_array(json, json->root, "columns")});
}

static void print_list(const mica_run *run, const char *fact) {
  size_t count = 0;
  const char *const *names = mica_run_fact(run, fact, &count);
  if (!count || (count == 1 && !*names[0])) return;
  printf("\n%-9s %zu", fact, count);
  for (size_t i = 0; i < count && i < PRINTED; i++)
    printf(strcmp(names[i], " ") ? "%s %s" : "%s '%s'", i ? "," : ":", cli_clean(names[i]));
  if (count > PRINTED) printf(", ...");
}

static void print_run(const mica_run *run) {
  size_t rank = 0, columns = 0;
  const double *input = mica_run_fact_numbers(run, "input", &rank), *rate = mica_run_fact_numbers(run, "rate", NULL);
  printf("task      %s\nmodel     %s", mica_run_task(run), mica_run_setting(run, "model"));
  if (rank) printf("\ninput    ");
  for (size_t i = 0; i < rank; i++) printf("%s %.0f", i ? " x" : "", input[i]);
  if (rate) printf("\nrate      %g Hz", *rate);
  each_column(run, print_column, &columns);
  for (size_t k = 0; k < LISTS; k++) print_list(run, lists[k]);
  printf("\ntraining  %s at %s, %s, batch %s, %s epochs, seed %s\n\n", mica_run_setting(run, "optimizer"),
         mica_run_setting(run, "lr"), mica_run_setting(run, "schedule"), mica_run_setting(run, "batch"),
         mica_run_setting(run, "epochs"), mica_run_setting(run, "seed"));
}

static int show_file(const cli_command *self, const char *path, const mica_run *run, bool as_json) {
  mica_safetensors *file = NULL;
  if (mica_safetensors_open(path, &file) != MICA_OK) return cli_fail_library(self);
  int status = CLI_OK;
  if (as_json) {
    cli_json json;
    cli_json_begin(&json);
    if (run) add_run(&json, run);
    add_tensors(&json, file);
    status = cli_json_print(&json, self);
  } else {
    if (run) print_run(run);
    print_tensors(file);
  }
  mica_safetensors_close(file);
  return status;
}

/* Describes a run; opens it on the null device, which computes nothing. */
static int show_run(const cli_command *self, const char *folder, bool as_json) {
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/model.safetensors", folder) >= (int)sizeof path)
    return cli_fail(self, "the path %s is too long", folder);
  int status = CLI_OK;
  if (mica_engine_create(&(mica_engine_config){.device = "null"}, &engine) != MICA_OK ||
      mica_run_open(engine, folder, &run) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) cli_say_unfinished(self, run);
  if (status == CLI_OK) status = show_file(self, path, run, as_json);
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

/* --- networks of the zoo --- */

static size_t zoo_index(const char *name) {
  size_t i = 0;
  while (mica_model_name(i) && strcmp(mica_model_name(i), name) != 0) i++;
  return i;
}

static int show_network(const cli_command *self, const char *name, bool as_json) {
  const size_t index = zoo_index(name);
  mica_engine *engine = NULL;
  mica_model *model = NULL;
  char *text = NULL;
  int status = CLI_OK;
  if (mica_engine_create(&(mica_engine_config){.device = "null"}, &engine) != MICA_OK ||
      mica_model_create(engine, name, &(mica_model_config){.blank = true}, &model) != MICA_OK ||
      mica_nn_summary(mica_model_network(model), &text) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK && as_json) {
    cli_json json;
    cli_json_begin(&json);
    cli_json_text(&json, json.root, "model", name);
    cli_json_text(&json, json.root, "text", mica_model_text(index));
    cli_json_text(&json, json.root, "family", mica_model_family_name(mica_model_family_of(index)));
    cli_json_integer(&json, json.root, "parameters", (uint64_t)mica_nn_element_count(mica_model_network(model), false));
    status = cli_json_print(&json, self);
  } else if (status == CLI_OK) {
    printf("model     %s: %s\nfamily    %s, ten classes here\n\n%s", name, mica_model_text(index),
           mica_model_family_name(mica_model_family_of(index)), text);
  }
  mica_free(text);
  mica_model_destroy(model);
  mica_engine_destroy(engine);
  return status;
}

/* --- what a path or name is --- */

static bool is_network(const char *path) {
  struct stat about;
  return stat(path, &about) != 0 && mica_model_name(zoo_index(path));
}

static bool is_any(const char *path) { return path != NULL; }

/* Says that the path is neither a file nor a network, and lists the networks. */
static int fail_unknown(const cli_command *self, const char *path) {
  char list[1024] = "";
  size_t at = 0;
  for (size_t i = 0; mica_model_name(i) && at < sizeof list; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", mica_model_name(i));
  return cli_fail(self, "there is no file or network %s; the networks are %s", path, list);
}

static int show_safetensors(const cli_command *self, const char *path, bool as_json) {
  struct stat about;
  cli_guess guess = {.word = path};
  for (size_t i = 0; mica_model_name(i); i++) cli_guess_consider(&guess, mica_model_name(i));
  if (guess.best && stat(path, &about) != 0)
    return cli_fail(self, "there is no file or network %s; did you mean %s?", path, guess.best);
  if (stat(path, &about) != 0) return fail_unknown(self, path);
  return show_file(self, path, NULL, as_json);
}

static int show_onnx(const cli_command *self, const struct values *v) {
  return cli_onnx_info(self, v->model, v->shape, v->json);
}

/* How to show each kind of path or name, except ONNX models. The first row whose `is` returns true is used. */
static const struct kind {
  bool (*is)(const char *path);
  int (*show)(const cli_command *self, const char *path, bool as_json);
} kinds[] = {{cli_weights_are, cli_weights_info},
             {cli_is_folder, show_run},
             {is_network, show_network},
             {is_any, show_safetensors}};

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  const struct kind *kind = kinds;
  while (!kind->is(v->model)) kind++;
  if (!cli_is_folder(v->model) && cli_onnx_is_model(v->model)) return show_onnx(self, v);
  if (v->shape) {
    cli_fail(self, "--shape is for models in ONNX; %s is not one", v->model);
    return CLI_USAGE;
  }
  return kind->show(self, v->model, v->json);
}

const cli_command cli_command_info = {
    .name = "info",
    .summary = "describe a run, a model file or folder, or a network by name",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
