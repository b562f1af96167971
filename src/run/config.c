/* Writes and reads config.json, which holds the settings of a run and the values stored about its data (run/facts.h).
 * It is written as text and read with cJSON. */
#include "run/config.h"
#include "base/json.h"
#include "base/number.h"
#include "base/signature.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/facts.h"
#include "run/state/settings.h"

#include <errno.h>
#include <mica/io.h>
#include <mica/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>
#endif

#define FILE_NAME "config.json"

char *mica__run_path(const mica_run *run, const char *name) {
  mica__text path = {0};
  mica__text_addf(&path, "%s/%s", run->folder, name);
  if (mica__text_status(&path) != MICA_OK) mica__text_free(&path);
  return path.data;
}

mica_status mica__run_make_folder(mica_run *run) {
  const char *folder = run->folder;
  int made = 0;
  MICA_TRY(mica__folder_make(folder, &made));
  run->made_folders += made;
  if (access(folder, W_OK) != 0) return mica__fail(MICA_E_IO, "%s cannot be written: %s", folder, strerror(errno));
  return MICA_OK;
}

mica_status mica__run_damaged(const mica_run *run, const char *path, mica_status status) {
  mica__text where = {0};
  if (status != MICA_E_FORMAT) return status;
  mica__text_addf(&where, "the run in %s is damaged", run->folder ? run->folder : path);
  status = mica__text_status(&where);
  if (status == MICA_OK) status = mica__fail_in(MICA_E_FORMAT, where.data);
  mica__text_free(&where);
  return status;
}

/* --- writing --- */

void mica__fact_text(mica__text *json, const mica__fact *fact) {
  mica__text_add(json, "[");
  for (size_t i = 0; i < fact->count; i++) {
    mica__text_add(json, i ? ", " : "");
    if (fact->texts)
      mica__json_string(json, fact->texts[i]);
    else
      mica__text_addf(json, "%.17g", fact->numbers[i]);
  }
  mica__text_add(json, "]");
}

/* Names and their positions. Settings and stored values are written in alphabetical order, so that a file does not
 * depend on the order of rows in a task or of values in the run. */
typedef struct named {
  const char *name;
  size_t index;
} named;

static int by_name(const void *a, const void *b) { return strcmp(((const named *)a)->name, ((const named *)b)->name); }

static void add_settings(const mica_run *run, mica__text *json) {
  named list[MICA__SETTINGS];
  for (size_t i = 0; i < run->settings->count; i++) list[i] = (named){run->settings->rows[i]->name, i};
  qsort(list, run->settings->count, sizeof *list, by_name);
  for (size_t i = 0; i < run->settings->count; i++) {
    mica__text_add(json, i ? ",\n    " : "\n    ");
    mica__json_string(json, list[i].name);
    mica__text_add(json, ": ");
    mica__json_string(json, mica_run_setting(run, list[i].name));
  }
}

static void add_facts(const mica_run *run, mica__text *json) {
  named list[MICA__FACTS];
  for (size_t i = 0; i < run->facts->count; i++) list[i] = (named){run->facts->list[i].name, i};
  qsort(list, run->facts->count, sizeof *list, by_name);
  for (size_t i = 0; i < run->facts->count; i++) {
    mica__text_add(json, i ? ",\n    " : "\n    ");
    mica__json_string(json, list[i].name);
    mica__text_add(json, ": ");
    mica__fact_text(json, &run->facts->list[list[i].index]);
  }
}

void mica__run_config_text(const mica_run *run, const char *data, mica__text *json) {
  mica__text_add(json, "{\n  \"mica\": ");
  mica__json_string(json, mica_version());
  mica__text_add(json, ",\n  \"task\": ");
  mica__json_string(json, run->task->name);
  mica__text_add(json, ",\n  \"data\": ");
  mica__json_string(json, data);
  mica__text_add(json, ",\n  \"settings\": {");
  add_settings(run, json);
  mica__text_add(json, "\n  },\n  \"facts\": {");
  add_facts(run, json);
  mica__text_add(json, "\n  }\n}\n");
}

mica_status mica__run_write_config(const mica_run *run) {
  mica__text json = {0};
  mica__run_config_text(run, run->data, &json);
  char *path = mica__run_path(run, FILE_NAME);
  mica_status status = path ? mica__text_status(&json) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica_file_write(path, json.data, json.length);
  free(path);
  mica__text_free(&json);
  return status;
}

/* --- reading --- */

#if MICA_WITH_CJSON

static const char *text_of(const cJSON *root, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
}

/* Stores a list of texts or of numbers with the run, under `name`; false if `list` is anything else. */
static bool take_fact(mica_run *run, const char *name, const cJSON *list, mica_status *status) {
  const int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;
  if (count < 0 || !name) return false;
  const bool texts = count && cJSON_IsString(list->child);
  const char **strings = calloc((size_t)count + 1, sizeof *strings);
  double *numbers = calloc((size_t)count + 1, sizeof *numbers);
  bool good = true;
  size_t i = 0;
  const cJSON *item;
  *status = strings && numbers ? MICA_OK : mica__fail_nomem("a run");
  if (*status == MICA_OK) {
    cJSON_ArrayForEach(item, list) {
      good = good && (texts ? cJSON_IsString(item) : cJSON_IsNumber(item));
      strings[i] = item->valuestring;
      numbers[i++] = item->valuedouble;
    }
    if (good) *status = texts ? mica__run_note(run, name, strings, i) : mica__run_note_numbers(run, name, numbers, i);
  }
  free(strings);
  free(numbers);
  return good;
}

/* Converts a value that older versions accepted to today's form, and appends it. Lists (class-weights, augment) lose
 * blanks and a comma at the end. Any other value that is one number, perhaps in hexadecimal or after blanks, becomes a
 * decimal number. Appends nothing for other values, nor for a list that has nothing left. */
static void modernise(const char *name, const char *value, mica__text *text) {
  const bool list = !strcmp(name, "class-weights") || !strcmp(name, "augment");
  char *end = NULL;
  const double number = mica__strtod(value, &end);
  if (!list && end != value && !*end) mica__text_addf(text, "%.17g", number);
  for (const char *at = value; list && *at; at++)
    if (!strchr(" \t", *at) && (*at != ',' || at[1])) mica__text_addf(text, "%c", *at);
}

/* True if the run's task accepts this value of the setting. Sets *status to MICA_E_NOMEM if memory is short, and
 * otherwise leaves it alone. */
static bool is_right(const mica_run *run, const char *name, const char *value, mica_status *status) {
  const mica_status is = mica__settings_check(run->task->name, &(mica_setting){name, value}, 1);
  if (is == MICA_E_NOMEM) *status = is;
  return is == MICA_OK;
}

/* True if an empty value is allowed: for a text or a path, or where the default is empty. False for an unknown
 * setting. */
static bool may_be_empty(const mica_run *run, const char *name) {
  size_t i = 0;
  while (i < run->settings->count && strcmp(run->settings->rows[i]->name, name) != 0) i++;
  if (i == run->settings->count) return false;
  const mica_setting_row *row = run->settings->rows[i];
  return !*row->value || row->kind == MICA_SETTING_KIND_TEXT || row->kind == MICA_SETTING_KIND_PATH;
}

/* Takes a setting from config.json. Settings and values that this version does not know are skipped, except that any
 * value of init and teacher is taken. Values in an older form are modernised. */
static mica_status take_setting(mica_run *run, const char *name, const char *value) {
  mica__text modern = {0};
  mica_status status = MICA_OK;
  mica__attempt_begin();
  if (value && (!is_right(run, name, value, &status) || !strcmp(name, "class-weights")))
    modernise(name, value, &modern);
  if (status == MICA_OK) status = mica__text_status(&modern);
  if (status == MICA_OK && modern.length) value = modern.data;
  if (status == MICA_OK && value &&
      (is_right(run, name, value, &status) || (!*value && may_be_empty(run, name)) || !strcmp(name, "init") ||
       !strcmp(name, "teacher")))
    status = mica__run_set(run, name, value);
  mica__attempt_end();
  mica__text_free(&modern);
  return status == MICA_E_NOMEM ? mica__fail_nomem("a run") : MICA_OK;
}

static mica_status damaged(const char *path) {
  return mica__fail(MICA_E_FORMAT, "%s is damaged, or was not written by Mica", path);
}

static mica_status take_data(mica_run *run, const char *path, const cJSON *root) {
  const char *data = text_of(root, "data");
  if (!data) return damaged(path);
  free(run->data);
  run->data = mica__strdup(data);
  return run->data ? MICA_OK : mica__fail_nomem("a run");
}

/* Checks that the values which the task needs are there and that sizes and ranges are right. */
static mica_status check_facts(const mica_run *run, const char *path, bool old) {
  mica_status status = mica__run_check_facts(run, old);
  if (status == MICA_OK) return MICA_OK;
  return mica__run_damaged(run, path, mica__fail_in(status, FILE_NAME));
}

/* Refuses a setting whose value has the wrong kind: its default would silently replace it. Numbers out of range and
 * unknown choices are left to take_setting, since another version may know them. */
static mica_status check_kind(const mica_run *run, const cJSON *item) {
  size_t i = 0;
  while (i < run->settings->count && strcmp(run->settings->rows[i]->name, item->string) != 0) i++;
  if (i == run->settings->count) return MICA_OK;
  const mica_setting_kind kind = run->settings->rows[i]->kind;
  const bool number = kind == MICA_SETTING_KIND_INT || kind == MICA_SETTING_KIND_REAL;
  const char *value = cJSON_GetStringValue(item);
  char *end = NULL;
  if (!value)
    return mica__fail(MICA_E_FORMAT, "the setting %s must be a text in quotes, as all settings are", item->string);
  if (number) mica__strtod(value, &end);
  if (number && *value && (end == value || *end))
    return mica__fail(MICA_E_FORMAT, "the setting %s must be a number, not \"%s\"", item->string, value);
  if (kind == MICA_SETTING_KIND_FLAG && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
    return mica__fail(MICA_E_FORMAT, "the setting %s must be true or false, not \"%s\"", item->string, value);
  return MICA_OK;
}

/* Adds a remark if a newer version wrote the run. */
static mica_status remark_version(mica_run *run, const char *path, const char *version) {
  int wrote[3] = {0}, reads[3] = {0}, k = 0;
  if (!version || sscanf(version, "%9d.%9d.%9d", &wrote[0], &wrote[1], &wrote[2]) != 3 ||
      sscanf(mica_version(), "%9d.%9d.%9d", &reads[0], &reads[1], &reads[2]) != 3)
    return MICA_OK;
  while (k < 2 && wrote[k] == reads[k]) k++;
  if (wrote[k] <= reads[k]) return MICA_OK;
  return mica__run_remark(run, "%s was written by Mica %d.%d.%d; Mica %s leaves out the settings that it does not know",
                          path, wrote[0], wrote[1], wrote[2], mica_version());
}

/* Takes a config.json in the form of this version. */
static mica_status take(mica_run *run, const char *path, const cJSON *root) {
  const cJSON *settings = cJSON_GetObjectItemCaseSensitive(root, "settings"), *item;
  const cJSON *facts = cJSON_GetObjectItemCaseSensitive(root, "facts");
  mica_status status = MICA_OK;
  if (!cJSON_IsObject(settings) || !cJSON_IsObject(facts)) return damaged(path);
  run->task = mica__task_find(text_of(root, "task"));
  if (!run->task) return mica__fail_in(MICA_E_FORMAT, path);
  mica__run_take_rows(run);
  MICA_TRY(take_data(run, path, root));
  MICA_TRY(remark_version(run, path, text_of(root, "mica")));
  mica_status kinds = MICA_OK;
  cJSON_ArrayForEach(item, settings) if (kinds == MICA_OK) kinds = check_kind(run, item);
  if (kinds != MICA_OK) return mica__run_damaged(run, path, mica__fail_in(kinds, FILE_NAME));
  cJSON_ArrayForEach(item, settings) MICA_TRY(take_setting(run, item->string, cJSON_GetStringValue(item)));
  cJSON_ArrayForEach(item, facts) {
    if (!take_fact(run, item->string, item, &status)) return damaged(path);
    MICA_TRY(status);
  }
  return check_facts(run, path, false);
}

/* Takes the setting `was` of Mica 0.2 as the setting `name`. */
static mica_status take_old_setting(mica_run *run, const cJSON *root, const char *was, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, was);
  if (cJSON_IsString(item) && *item->valuestring) return take_setting(run, name, item->valuestring);
  mica__text text = {0};
  if (cJSON_IsNumber(item)) mica__text_addf(&text, "%.15g", item->valuedouble);
  mica_status status = take_setting(run, name, text.data);
  mica__text_free(&text);
  return status;
}

/* Reads the config.json of Mica 0.2, whose runs have pictures or rows with classes, or with numbers that were not
 * standardised. */
static mica_status take_old(mica_run *run, const char *path, const cJSON *root) {
  static const char *const names[][2] = {{"model", "model"},
                                         {"epochs", "epochs"},
                                         {"batch", "batch"},
                                         {"optimizer", "optimizer"},
                                         {"lr", "lr"},
                                         {"schedule", "schedule"},
                                         {"augment", "augment"},
                                         {"seed", "seed"},
                                         {"precision", "precision"},
                                         {"validation", "validation"},
                                         {"weight_decay", "weight-decay"},
                                         {"label_smoothing", "label-smoothing"}};
  static const char *const facts[] = {"input", "mean", "deviation", "classes"};
  const cJSON *classes = cJSON_GetObjectItemCaseSensitive(root, "classes");
  const cJSON *input = cJSON_GetObjectItemCaseSensitive(root, "input");
  mica_status status = MICA_OK;
  if (!cJSON_IsArray(classes) || !cJSON_IsArray(input)) return damaged(path);
  run->task = mica__task_find(cJSON_GetArraySize(classes) ? "classify" : "regress");
  if (!run->task) return MICA_E_FORMAT;
  mica__run_take_rows(run);
  MICA_TRY(take_data(run, path, root));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    MICA_TRY(take_old_setting(run, root, names[i][0], names[i][1]));
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, facts[i]);
    if (cJSON_IsArray(list) && !cJSON_GetArraySize(list)) continue;
    if (!take_fact(run, facts[i], list, &status)) return damaged(path);
    MICA_TRY(status);
  }
  MICA_TRY(check_facts(run, path, true));
  MICA_TRY(mica__run_note_text(run, "input_column", cJSON_GetArraySize(input) == 3 ? "image" : "x"));
  MICA_TRY(mica__run_note_text(run, "label_column", "label"));
  return mica__run_note_text(run, "version", "0.2");
}

mica_status mica__run_parse_config(mica_run *run, const char *path, const char *text) {
  cJSON *root = cJSON_Parse(text);
  mica_status status = !cJSON_IsObject(root)    ? damaged(path)
                       : text_of(root, "task")  ? take(run, path, root)
                       : text_of(root, "model") ? take_old(run, path, root)
                                                : damaged(path);
  cJSON_Delete(root);
  return status;
}

#else
mica_status mica__run_parse_config(mica_run *run, const char *path, const char *text) {
  (void)run, (void)text;
  return mica__fail_lacks(path, "cJSON");
}
#endif

static bool holds_adapter(const mica_run *run) {
  struct stat about;
  char *path = mica__run_path(run, "adapter_config.json");
  const bool holds = path && stat(path, &about) == 0;
  free(path);
  return holds;
}

static mica_status read_config(mica_run *run, const char *path) {
  unsigned char *text = NULL;
  size_t size = 0;
  struct stat about;
  mica_status status = mica__file_read_signed(path, &text, &size);
  if (status == MICA_E_NOT_FOUND && stat(run->folder, &about) != 0 && (errno == ENOENT || errno == ENOTDIR))
    return mica__fail(MICA_E_NOT_FOUND, "there is no file or folder %s", run->folder);
  if (status == MICA_E_NOT_FOUND && holds_adapter(run))
    return mica__fail(MICA_E_NOT_FOUND, "%s holds an adapter, not a training run: mica chat MODEL --adapter %s uses it",
                      run->folder, run->folder);
  if (status == MICA_E_NOT_FOUND)
    return mica__fail(MICA_E_NOT_FOUND, "%s holds no training run: there is no %s", run->folder, FILE_NAME);
  MICA_TRY(status);
  status = mica__run_parse_config(run, path, (const char *)text);
  free(text);
  return status;
}

mica_status mica__run_read_config(mica_run *run) {
  char *path = mica__run_path(run, FILE_NAME);
  mica_status status = path ? read_config(run, path) : mica__fail_nomem("a run");
  free(path);
  return status;
}
