#include "cli/run.h"

#include "cli/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "config.json"
#define LARGEST_FILE (16 << 20)
#define LARGEST_ROW (1 << 20)

void cli_run_begin(cli_run *run) {
  *run = (cli_run){0};
#define SET_TEXT(name, initial) snprintf(run->name, sizeof run->name, "%s", initial);
#define SET_NUMBER(name, initial) run->name = initial;
  CLI_RUN_FIELDS(SET_TEXT, SET_NUMBER, SET_NUMBER)
#undef SET_TEXT
#undef SET_NUMBER
}

static void free_data(cli_run *run) {
  for (int32_t i = 0; run->class_names && i < run->classes; i++) free(run->class_names[i]);
  free(run->class_names);
  free(run->mean);
  free(run->deviation);
  run->class_names = NULL;
  run->mean = run->deviation = NULL;
}

void cli_run_free(cli_run *run) { free_data(run); }

/* Room for what belongs to the data, all of it zero. */
static bool make_data(cli_run *run, mica_shape input, int32_t classes) {
  free_data(run);
  run->input = input;
  run->classes = classes;
  size_t row = (size_t)input.dim[0];
  run->mean = calloc(row, sizeof *run->mean);
  run->deviation = calloc(row, sizeof *run->deviation);
  run->class_names = calloc((size_t)classes + 1, sizeof *run->class_names);
  return run->mean && run->deviation && run->class_names;
}

static bool set_class_name(cli_run *run, int32_t i, const char *name) {
  run->class_names[i] = malloc(strlen(name) + 1);
  return run->class_names[i] && strcpy(run->class_names[i], name);
}

bool cli_run_take_data(cli_run *run, const mica_dataset *dataset, const float *mean, const float *deviation) {
  mica_shape input = mica_dataset_shape(dataset);
  int32_t classes = mica_dataset_classes(dataset);
  if (!make_data(run, input, classes)) return false;
  memcpy(run->mean, mean, (size_t)input.dim[0] * sizeof *mean);
  memcpy(run->deviation, deviation, (size_t)input.dim[0] * sizeof *deviation);
  for (int32_t i = 0; i < classes; i++)
    if (!set_class_name(run, i, mica_dataset_class_name(dataset, i))) return false;
  return true;
}

int cli_run_check_input(const cli_run *run, const cli_command *self, const mica_dataset *dataset) {
  char shape[MICA_SHAPE_TEXT], wanted[MICA_SHAPE_TEXT];
  if (mica_shape_equal(mica_dataset_shape(dataset), run->input)) return CLI_OK;
  return cli_fail(self, "%s has inputs of %s, the network was trained on %s", mica_dataset_name(dataset),
                  mica_shape_format(mica_dataset_shape(dataset), shape), mica_shape_format(run->input, wanted));
}

bool cli_run_path(char path[CLI_PATH], const char *folder, const char *name) {
  return snprintf(path, CLI_PATH, "%s/%s", folder, name) < CLI_PATH;
}

/* --- writing --- */

static char *format(const cli_run *run) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "mica", mica_version());
#define ADD_TEXT(name, initial) cli_json_text(&json, json.root, #name, run->name);
#define ADD_INTEGER(name, initial) cli_json_integer(&json, json.root, #name, (uint64_t)run->name);
#define ADD_REAL(name, initial) cli_json_real(&json, json.root, #name, run->name);
  CLI_RUN_FIELDS(ADD_TEXT, ADD_INTEGER, ADD_REAL)
#undef ADD_TEXT
#undef ADD_INTEGER
#undef ADD_REAL
  cJSON *input = cli_json_array(&json, json.root, "input"), *mean = cli_json_array(&json, json.root, "mean");
  cJSON *deviation = cli_json_array(&json, json.root, "deviation");
  cJSON *classes = cli_json_array(&json, json.root, "classes");
  for (int32_t i = 0; i < run->input.rank; i++) cli_json_integer(&json, input, NULL, (uint64_t)run->input.dim[i]);
  for (int64_t i = 0; i < run->input.dim[0]; i++) {
    cli_json_real(&json, mean, NULL, (double)run->mean[i]);
    cli_json_real(&json, deviation, NULL, (double)run->deviation[i]);
  }
  for (int32_t i = 0; i < run->classes; i++) cli_json_text(&json, classes, NULL, run->class_names[i]);
  char *text = json.failed ? NULL : cJSON_Print(json.root);
  cJSON_Delete(json.root);
  return text;
}

int cli_run_write(const cli_run *run, const cli_command *self, const char *folder) {
  char path[CLI_PATH];
  char *text = format(run);
  if (!text) return cli_fail(self, "the host has no memory");
  int status = CLI_OK;
  if (!cli_run_path(path, folder, FILE_NAME))
    status = cli_fail(self, "the path %s is too long", folder);
  else if (mica_file_write(path, text, strlen(text)) != MICA_OK)
    status = cli_fail_library(self);
  cJSON_free(text);
  return status;
}

/* --- reading --- */

static char *read_whole(const char *path) {
  struct stat about;
  FILE *file = fopen(path, "r");
  char *text = NULL;
  if (file && fstat(fileno(file), &about) == 0 && about.st_size <= LARGEST_FILE) {
    size_t size = (size_t)about.st_size;
    text = malloc(size + 1);
    if (text) text[fread(text, 1, size, file)] = '\0';
  }
  if (file) fclose(file);
  return text;
}

static bool take_text(const cJSON *root, const char *name, char field[CLI_RUN_TEXT]) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
  return text && snprintf(field, CLI_RUN_TEXT, "%s", text) < CLI_RUN_TEXT;
}

static bool take_number(const cJSON *root, const char *name, double *number) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
  *number = cJSON_IsNumber(item) ? item->valuedouble : 0;
  return cJSON_IsNumber(item) && *number >= 0 && *number < 9e15;
}

static bool take_shape(const cJSON *list, mica_shape *shape) {
  const cJSON *item;
  shape->rank = 0;
  cJSON_ArrayForEach(item, list) {
    if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > LARGEST_ROW || shape->rank == 4)
      return false;
    shape->dim[shape->rank++] = (int64_t)item->valuedouble;
  }
  return shape->rank > 0;
}

static bool take_reals(const cJSON *list, int64_t count, float *to) {
  int64_t i = 0;
  const cJSON *item;
  if (cJSON_GetArraySize(list) != count) return false;
  cJSON_ArrayForEach(item, list) {
    if (!cJSON_IsNumber(item)) return false;
    to[i++] = (float)item->valuedouble;
  }
  return true;
}

static bool take_data(cli_run *run, const cJSON *root) {
  const cJSON *classes = cJSON_GetObjectItemCaseSensitive(root, "classes"), *item;
  mica_shape input;
  int32_t i = 0;
  if (!cJSON_IsArray(classes) || !take_shape(cJSON_GetObjectItemCaseSensitive(root, "input"), &input)) return false;
  if (!make_data(run, input, (int32_t)cJSON_GetArraySize(classes))) return false;
  cJSON_ArrayForEach(item,
                     classes) if (!cJSON_IsString(item) || !set_class_name(run, i++, item->valuestring)) return false;
  return take_reals(cJSON_GetObjectItemCaseSensitive(root, "mean"), input.dim[0], run->mean) &&
         take_reals(cJSON_GetObjectItemCaseSensitive(root, "deviation"), input.dim[0], run->deviation);
}

static bool take(cli_run *run, const cJSON *root) {
  double number = 0;
  bool good = cJSON_IsObject(root);
#define TAKE_TEXT(name, initial) good = good && take_text(root, #name, run->name);
#define TAKE_INTEGER(name, initial)                                                                                    \
  good = good && take_number(root, #name, &number);                                                                    \
  run->name = (int64_t)number;
#define TAKE_REAL(name, initial) good = good && take_number(root, #name, &run->name);
  CLI_RUN_FIELDS(TAKE_TEXT, TAKE_INTEGER, TAKE_REAL)
#undef TAKE_TEXT
#undef TAKE_INTEGER
#undef TAKE_REAL
  return good && take_data(run, root);
}

int cli_run_read(cli_run *run, const cli_command *self, const char *folder) {
  char path[CLI_PATH];
  char *text = cli_run_path(path, folder, FILE_NAME) ? read_whole(path) : NULL;
  if (!text) return cli_fail(self, "%s holds no training run: %s", folder, strerror(errno));
  cJSON *root = cJSON_Parse(text);
  free(text);
  bool good = take(run, root);
  cJSON_Delete(root);
  return good ? CLI_OK : cli_fail(self, "%s is damaged, or not Mica's", path);
}
