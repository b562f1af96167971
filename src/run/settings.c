/* Tasks by name, the settings of a run and their values, and checks of values that need no data. */
#include "run/state/settings.h"
#include "base/number.h"
#include "run/columns/scale.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/shared_settings.h"
#include "run/state/parts.h"
#include "run/suggest.h"
#include "run/tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <mica/optim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- tasks --- */

const mica__task_row *mica__task_at(size_t i) {
  size_t count = 0;
  while (mica__tasks[count]) count++;
  return i < count ? mica__tasks[i] : NULL;
}

const char *mica_task_name(size_t i) {
  const mica__task_row *task = mica__task_at(i);
  return task ? task->name : NULL;
}

const char *mica_task_text(size_t i) {
  const mica__task_row *task = mica__task_at(i);
  return task ? task->text : NULL;
}

static const mica__task_row *find_task(const char *name) {
  for (size_t i = 0; name && mica__tasks[i]; i++)
    if (!strcmp(mica__tasks[i]->name, name)) return mica__tasks[i];
  return NULL;
}

const mica__task_row *mica__task_find(const char *name) {
  mica__text list = {0};
  const mica__task_row *task = find_task(name);
  if (task) return task;
  const char *meant = name ? mica__suggest(mica_task_name, name) : NULL;
  for (size_t i = 0; mica__tasks[i]; i++) mica__text_addf(&list, i ? ", %s" : "%s", mica__tasks[i]->name);
  if (meant)
    mica__fail(MICA_E_INVALID, "there is no task \"%s\"; did you mean %s?", name, meant);
  else
    mica__fail(MICA_E_INVALID, "there is no task \"%s\"; choose from %s", name ? name : "",
               list.data ? list.data : "some");
  mica__text_free(&list);
  return NULL;
}

const mica_task_metric *mica_task_metrics(const char *name) {
  static const mica_task_metric common[] = {{"loss", true, "value that training minimises; less is better", true}, {0}};
  const mica__task_row *task = find_task(name);
  return task ? task->metrics : name ? NULL : common;
}

/* True for a network that some task builds itself, such as one that outputs maps. Other tasks cannot use it. */
static bool is_of_task(const char *network) {
  for (size_t i = 0; mica__tasks[i]; i++)
    for (const char *const *name = mica__tasks[i]->input->networks; name && *name; name++)
      if (!strcmp(*name, network)) return true;
  return false;
}

const char *mica_task_network(const char *name, size_t index) {
  const mica__task_row *task = find_task(name);
  for (size_t i = 0; task && task->input->networks && i <= index; i++)
    if (i == index || !task->input->networks[i]) return task->input->networks[i];
  for (size_t i = 0; task && mica_model_name(i); i++)
    if (mica_model_family_of(i) != MICA_MODEL_FAMILY_TOKENS && !is_of_task(mica_model_name(i)) && index-- == 0)
      return mica_model_name(i);
  return NULL;
}

mica_status mica__task_check_network(const mica_run *run) {
  const char *const *names = run->task->input->networks, *model = mica__common_settings_of(run).model;
  mica__text list = {0};
  for (size_t i = 0; names[i]; i++) {
    if (!strcmp(names[i], model)) {
      mica__text_free(&list);
      return MICA_OK;
    }
    mica__text_addf(&list, "%s%s", !i ? "" : names[i + 1] ? ", " : " and ", names[i]);
  }
  mica__fail(MICA_E_INVALID, "the task %s takes the network%s %s, not %s", run->task->name, names[1] ? "s" : "",
             list.data ? list.data : names[0], model);
  mica__text_free(&list);
  return MICA_E_INVALID;
}

mica_status mica__task_share_width(int64_t width, int64_t heads, bool rotary) {
  if (width % heads)
    return mica__fail(MICA_E_INVALID,
                      "a width of %lld cannot be shared by %lld heads: width must be a multiple of heads",
                      (long long)width, (long long)heads);
  if (!rotary || width / heads % 2 == 0) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "rotary positions rotate pairs, so width (%lld) divided by heads (%lld) must be even",
                    (long long)width, (long long)heads);
}

/* Heads of cnn_gru if no setting gives another number (mica/model.h). */
#define CNN_GRU_HEADS 4

mica_status mica__task_check_heads(const char *model, int64_t width, int64_t heads) {
  if (!strcmp(model, "encoder")) return mica__task_share_width(width, heads, false);
  if (strcmp(model, "cnn_gru") != 0 || 2 * width % (heads ? heads : CNN_GRU_HEADS) == 0) return MICA_OK;
  if (!heads)
    return mica__fail(MICA_E_INVALID,
                      "a width of %lld cannot be shared by the %d heads of %s: width must be a multiple of %d",
                      (long long)width, CNN_GRU_HEADS, model, CNN_GRU_HEADS / 2);
  return mica__fail(MICA_E_INVALID,
                    "a width of %lld cannot be shared by %lld heads of %s: twice the width must be a multiple of heads",
                    (long long)width, (long long)heads, model);
}

/* --- tables --- */

#define TEXT_OF(name, text) text,
const char *mica__optimizer_at(size_t i) {
  static const char *const names[] = {MICA_OPTIMIZER_LIST(TEXT_OF) NULL};
  return names[i];
}

const char *mica__schedule_at(size_t i) {
  static const char *const names[] = {MICA_SCHEDULE_LIST(TEXT_OF) NULL};
  return names[i];
}
#undef TEXT_OF

/* The library's networks, followed by those that tasks build themselves. */
const char *mica__network_at(size_t index) {
  size_t zoo = 0, found = 0;
  while (mica_model_name(zoo)) zoo++;
  if (index < zoo) return mica_model_name(index);
  for (size_t t = 0; mica__tasks[t]; t++)
    for (const char *const *name = mica__tasks[t]->input->networks; name && *name; name++) {
      bool known = false;
      for (size_t i = 0; i < zoo; i++) known = known || !strcmp(mica_model_name(i), *name);
      for (size_t s = 0; s < t; s++)
        for (const char *const *n = mica__tasks[s]->input->networks; n && *n; n++) known = known || !strcmp(*n, *name);
      if (!known && found++ == index - zoo) return *name;
    }
  return NULL;
}

const char *mica__compression_at(size_t i) {
  const char *name = mica_compression_name((mica_compression)i);
  return strcmp(name, "?") != 0 ? name : NULL;
}

const char *mica__quantize_at(size_t i) {
  static const char *const names[] = {"8", "4", NULL};
  return names[i];
}

const char *mica__missing_at(size_t i) {
  static const mica_missing known[] = {MICA_MISSING_MEAN, MICA_MISSING_MEDIAN, MICA_MISSING_MOST, MICA_MISSING_REFUSE};
  return i < sizeof known / sizeof *known ? mica_missing_name(known[i]) : NULL;
}

const char *mica__precision_at(size_t i) {
  static const char *const names[] = {"f32", "f16", "bf16", NULL};
  return names[i];
}

const mica_setting_row *mica_task_settings(const char *name) {
  static const mica_setting_row none[1];
  if (!name) return mica__common_setting_list.rows;
  const mica__task_row *task = find_task(name);
  return task ? task->settings ? task->settings->rows : none : NULL;
}

const mica_setting *mica_task_defaults(const char *name) {
  static const mica_setting none[1];
  const mica__task_row *task = name ? find_task(name) : NULL;
  return task ? task->defaults ? task->defaults : none : NULL;
}

static const mica_setting_row *find_row(const mica_setting_row *rows, const char *name) {
  for (; rows && rows->name; rows++)
    if (!strcmp(rows->name, name)) return rows;
  return NULL;
}

static const mica_setting_row *rows_of(const mica__task_row *task) {
  return task->settings ? task->settings->rows : NULL;
}

/* --- checks --- */

static mica_status wrong_choice(const mica_setting_row *row, const char *value) {
  mica__text list = {0};
  const char *meant = mica__suggest(row->names, value);
  for (size_t i = 0; row->names(i); i++) mica__text_addf(&list, i ? ", %s" : "%s", row->names(i));
  if (meant)
    mica__fail(MICA_E_INVALID, "%s cannot be \"%s\"; did you mean %s?", row->name, value, meant);
  else
    mica__fail(MICA_E_INVALID, "%s cannot be \"%s\"; choose from %s", row->name, value, list.data ? list.data : "some");
  mica__text_free(&list);
  return MICA_E_INVALID;
}

static mica_status check_number(const mica_setting_row *row, const char *value) {
  const bool whole = row->kind == MICA_SETTING_KIND_INT;
  char *end = NULL;
  const double number = mica__strtod(value, &end);
  /* The number may have neither leading blanks nor hexadecimal digits. */
  const bool plain = !strpbrk(value, " \t\n\v\f\rxX");
  const bool right =
      end != value && !*end && number >= row->low && number <= row->high && (!whole || number == floor(number));
  if (right && plain && (!whole || !strpbrk(value, ".eExX"))) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s wants a %snumber from %.15g to %.15g, not \"%s\"%s", row->name,
                    whole ? "whole " : "", row->low, row->high, value, right ? "; write it in plain digits" : "");
}

static mica_status check_value(const mica_setting_row *row, const char *value) {
  mica_augment_config augment;
  switch (row->kind) {
  case MICA_SETTING_KIND_FLAG:
    if (!strcmp(value, "true") || !strcmp(value, "false")) return MICA_OK;
    return mica__fail(MICA_E_INVALID, "%s must be true or false, not \"%s\"", row->name, value);
  case MICA_SETTING_KIND_INT:
  case MICA_SETTING_KIND_REAL: return check_number(row, value);
  case MICA_SETTING_KIND_CHOICE:
    for (size_t i = 0; row->names(i); i++)
      if (!strcmp(row->names(i), value)) return MICA_OK;
    return wrong_choice(row, value);
  case MICA_SETTING_KIND_PATH:
    if (access(value, R_OK) == 0) return MICA_OK;
    return mica__fail(MICA_E_INVALID, "%s: cannot read %s: %s", row->name, value, strerror(errno));
  case MICA_SETTING_KIND_TEXT: break;
  }
  if (!strcmp(row->name, "mean") || !strcmp(row->name, "deviation")) return mica__scale_check(row->name, value);
  if (row->names == mica__tokenizer_kind_at) return mica__tokens_check(value);
  if (row->names == mica__kind_at) return mica__kinds_check(value);
  if (row->names == mica_augment_name) return mica_augment_parse(value, &augment);
  if (row->names != mica__network_at || !strcmp(value, "onnx") || !strcmp(value, "published")) return MICA_OK;
  for (size_t i = 0; mica__network_at(i); i++)
    if (!strcmp(mica__network_at(i), value)) return MICA_OK;
  return wrong_choice(row, value);
}

bool mica__task_stands_for(const mica__task_row *task, const char *name) {
  for (const char *const *other = task->stands_for; other && *other; other++)
    if (!strcmp(*other, name)) return true;
  return false;
}

/* The most tasks that a message lists. */
#define LISTED_TASKS 4

static mica_status fail_unknown(const mica__task_row *task, const char *name) {
  mica__text others = {0};
  size_t count = 0;
  if (!task) return mica__fail(MICA_E_INVALID, "there is no setting %s", name);
  for (size_t i = 0; mica__tasks[i]; i++)
    if (find_row(rows_of(mica__tasks[i]), name) && count++ < LISTED_TASKS)
      mica__text_addf(&others, count == 1 ? "%s" : ", %s", mica__tasks[i]->name);
  mica_status status = mica__text_status(&others);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_INVALID, "there is no setting %s of the task %s%s%s%s%s", name, task->name,
                        count == 1 ? "; the task "
                        : count    ? "; the tasks "
                                   : "",
                        count ? others.data : "", count > LISTED_TASKS ? ", ..." : "",
                        count == 1 ? " has it"
                        : count    ? " have it"
                                   : "");
  mica__text_free(&others);
  return status;
}

/* Checks the value against the task's row for the setting. If the task has no such row and `alone` is false, uses the
 * row of a task that may take its place (mica__task_row.stands_for). Without a task, any task's row may accept the
 * value. */
static mica_status check_setting(const mica__task_row *task, const mica_setting *setting, bool alone) {
  const mica_setting_row *row = find_row(mica__common_setting_list.rows, setting->name);
  mica_status status = MICA_E_INVALID;
  bool found = row != NULL;
  if (row && task && task->input->networks && !strcmp(row->name, "model")) return MICA_OK;
  if (!row && task) row = find_row(rows_of(task), setting->name);
  if (row) return check_value(row, setting->value);
  for (size_t i = 0; mica__tasks[i] && status != MICA_OK; i++) {
    if (task && (alone || !mica__task_stands_for(mica__tasks[i], task->name))) continue;
    row = find_row(rows_of(mica__tasks[i]), setting->name);
    found = found || row;
    if (row) status = check_value(row, setting->value);
  }
  if (found) return status;
  return fail_unknown(task, setting->name);
}

mica_status mica__settings_check(const char *name, const mica_setting *settings, size_t count) {
  const mica__task_row *task = name ? mica__task_find(name) : NULL;
  if (name && !task) return MICA_E_INVALID;
  for (size_t i = 0; i < count; i++) {
    if (!settings[i].name || !settings[i].value)
      return mica__fail(MICA_E_INVALID, "the name or the value of a setting is NULL");
    MICA_TRY(check_setting(task, &settings[i], false));
  }
  return MICA_OK;
}

mica_status mica__run_check_settings(const mica_run *run) {
  for (size_t i = 0; i < run->config.setting_count; i++)
    MICA_TRY(check_setting(run->task, &run->config.settings[i], true));
  return MICA_OK;
}

/* --- values --- */

void mica__run_take_rows(mica_run *run) {
  run->settings->count = 0;
  for (const mica_setting_row *row = mica__common_setting_list.rows; row->name && run->settings->count < MICA__SETTINGS;
       row++)
    run->settings->rows[run->settings->count++] = row;
  if (!run->task || !run->task->settings) return;
  for (const mica_setting_row *row = run->task->settings->rows; row->name && run->settings->count < MICA__SETTINGS;
       row++)
    run->settings->rows[run->settings->count++] = row;
}

mica_status mica__run_take_task(mica_run *run, const mica__task_row *task) {
  size_t common = 0;
  while (mica__common_setting_list.rows[common].name) common++;
  for (size_t i = common; i < MICA__SETTINGS; i++) {
    free(run->settings->values[i]);
    run->settings->values[i] = NULL;
  }
  run->task = task;
  mica__run_take_rows(run);
  MICA_TRY(mica__run_check_settings(run));
  return mica__run_take_settings(run);
}

static size_t index_of(const mica_run *run, const char *name) {
  size_t i = 0;
  while (i < run->settings->count && strcmp(run->settings->rows[i]->name, name) != 0) i++;
  return i;
}

mica_status mica__run_set(mica_run *run, const char *name, const char *value) {
  const size_t i = index_of(run, name);
  if (i == run->settings->count)
    return mica__fail(MICA_E_INVALID, "there is no setting %s of the task %s", name, run->task ? run->task->name : "?");
  char *copy = mica__strdup(value);
  if (!copy) return mica__fail_nomem("a setting");
  free(run->settings->values[i]);
  run->settings->values[i] = copy;
  return MICA_OK;
}

bool mica__equal_values(const char *a, const char *b) {
  char *end_a = NULL, *end_b = NULL;
  const double x = mica__strtod(a, &end_a), y = mica__strtod(b, &end_b);
  return !strcmp(a, b) || (*a && *b && !*end_a && !*end_b && x == y);
}

/* Takes the settings of the configuration; those that are fixed for a resumed run may not change. */
mica_status mica__run_take_settings(mica_run *run) {
  run->settings->epochs_before = (double)mica__common_settings_of(run).epochs;
  for (size_t i = 0; i < run->config.setting_count; i++) {
    const mica_setting *s = &run->config.settings[i];
    for (size_t k = 0; run->resumed && k < run->settings->count; k++)
      if (run->settings->rows[k]->fixed && !strcmp(run->settings->rows[k]->name, s->name) &&
          !mica__equal_values(mica_run_setting(run, s->name), s->value))
        return mica__fail(MICA_E_INVALID,
                          "%s is \"%s\" in the resumed run and cannot become \"%s\"; begin a new run for that, if "
                          "need be with these weights: --init %s --out NEW",
                          s->name, mica_run_setting(run, s->name), s->value, run->folder ? run->folder : "RUN");
    if (run->resumed && !run->settings->changed && strcmp(s->name, "epochs") != 0 &&
        !mica__equal_values(mica_run_setting(run, s->name), s->value))
      run->settings->changed = s->name;
    /* Until the data are open, a setting may belong to a task that will take the place of this one
     * (mica__task_row.stands_for). */
    if (index_of(run, s->name) == run->settings->count && !run->parts->whole) continue;
    MICA_TRY(mica__run_set(run, s->name, s->value));
  }
  return MICA_OK;
}

mica_status mica__run_take_common(mica_run *run) {
  for (size_t i = 0; i < run->config.setting_count; i++)
    if (find_row(mica__common_setting_list.rows, run->config.settings[i].name))
      MICA_TRY(mica__run_set(run, run->config.settings[i].name, run->config.settings[i].value));
  return MICA_OK;
}

const char *mica__run_given(const mica_run *run, const char *name) {
  for (size_t i = run->config.setting_count; i-- > 0;)
    if (!strcmp(run->config.settings[i].name, name) && *run->config.settings[i].value)
      return run->config.settings[i].value;
  return NULL;
}

const char *mica__given_mask_values(const mica_run *run) { return mica__run_given(run, "mask-values"); }
double mica__given_depth_scale(const mica_run *run) {
  const char *given = mica__run_given(run, "depth-scale");
  char *end = NULL;
  const double scale = given ? mica__strtod(given, &end) : 0;
  return scale > 0 && isfinite(scale) ? scale : 0; /* the task refuses any other value */
}
const char *mica__given_size(const mica_run *run) { return mica__run_given(run, "size"); }

/* True if a list as in "focal|huber" has the value; a semicolon ends it. */
static bool has_value(const char *list, const char *value) {
  const size_t length = strlen(value);
  for (;;) {
    const size_t entry = strcspn(list, "|;");
    if (entry == length && !strncmp(list, value, length)) return true;
    if (list[entry] != '|') return false;
    list += entry + 1;
  }
}

/* True if the condition at `of`, as in "model=gat|gin" or "teacher=*", does not hold; `other` is the setting in it. */
static bool is_idle_for(const mica_run *run, const char *of, char other[32]) {
  const char *values = strchr(of, '=') + 1;
  snprintf(other, 32, "%.*s", (int)(values - 1 - of), of);
  const char *value = mica_run_setting(run, other);
  return *values == '*' ? !*value : *value && !has_value(values, value);
}

/* Returns NULL if the row has no conditions or if one of them holds. Otherwise its setting does nothing; writes the
 * name of the setting in the first condition to `other` and returns it. */
static const char *idle_for(const mica_run *run, const mica_setting_row *row, char other[32]) {
  char name[32];
  if (!row->of || !is_idle_for(run, row->of, other)) return NULL;
  for (const char *at = strchr(row->of, ';'); at; at = strchr(at + 1, ';'))
    if (!is_idle_for(run, at + 1, name)) return NULL;
  return other;
}

bool mica__run_is_idle(const mica_run *run, size_t row) {
  char other[32];
  return idle_for(run, run->settings->rows[row], other) != NULL;
}

mica_status mica__run_remark_idle(mica_run *run) {
  for (size_t i = 0; i < run->settings->count; i++) {
    const mica_setting_row *row = run->settings->rows[i];
    const char *given = mica__run_given(run, row->name);
    char text[32];
    const char *other = given && !mica__equal_values(given, row->value) ? idle_for(run, row, text) : NULL;
    if (!other) continue;
    const char *value = mica_run_setting(run, other);
    MICA_TRY(*value ? mica__run_remark(run, "%s does nothing: %s is %s", row->name, other, value)
                    : mica__run_remark(run, "%s does nothing: there is no %s", row->name, other));
  }
  return MICA_OK;
}

bool mica__run_is_set(const mica_run *run, const char *name) {
  const size_t i = index_of(run, name);
  return i < run->settings->count && run->settings->values[i];
}

mica_status mica__run_set_unset(mica_run *run, const mica_setting *settings) {
  for (const mica_setting *s = settings; s && s->name; s++)
    if (*s->value && !mica__run_is_set(run, s->name)) MICA_TRY(mica__run_set(run, s->name, s->value));
  return MICA_OK;
}

mica_status mica__run_set_defaults(mica_run *run) { return mica__run_set_unset(run, run->task->defaults); }

const char *mica_run_setting(const mica_run *run, const char *name) {
  const size_t i = run && name ? index_of(run, name) : 0;
  if (!run || !name || i == run->settings->count) return "";
  return run->settings->values[i] ? run->settings->values[i] : run->settings->rows[i]->value;
}

double mica_run_number(const mica_run *run, const char *name) {
  const char *text = mica_run_setting(run, name);
  char *end = NULL;
  const double number = mica__strtod(text, &end);
  return *text && !*end ? number : (double)NAN;
}
