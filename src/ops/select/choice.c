#include "ops/select/choice.h"

#include "base/error.h"
#include "ops/select/launch_check.h"
#include "runtime/compiler.h"
#include "runtime/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mica__choice_format(const mica__choice *choice, char text[MICA__TUNING_TEXT]) {
  const mica__kernel_desc *desc = choice->impl->kernel;
  size_t at = (size_t)snprintf(text, MICA__TUNING_TEXT, "%s", choice->impl->name);
  if (!choice->base) return text;
  at += (size_t)snprintf(text + at, MICA__TUNING_TEXT - at, " %s", choice->base->name);
  for (int i = 0; i < desc->param_count && at < MICA__TUNING_TEXT; i++)
    if (choice->variant.values[i] != choice->base->values[i])
      at += (size_t)snprintf(text + at, MICA__TUNING_TEXT - at, " %s=%d", desc->params[i].macro,
                             (int)choice->variant.values[i]);
  return text;
}

/* Applies one "NAME=VALUE" to the variant. False if it is malformed, or the kernel has no such parameter or value. */
static bool apply_value(const mica__kernel_desc *desc, const char *word, mica__variant *variant) {
  const char *equals = strchr(word, '=');
  char macro[64], *rest = NULL;
  if (!equals || equals == word || (size_t)(equals - word) >= sizeof macro) return false;
  memcpy(macro, word, (size_t)(equals - word));
  macro[equals - word] = '\0';
  long value = strtol(equals + 1, &rest, 10);
  if (rest == equals + 1 || *rest || mica__kernel_choice(desc, macro, (int32_t)value) < 0) return false;
  mica__kernel_set(desc, variant->values, macro, (int32_t)value);
  return true;
}

static bool set_base(const char *name, mica__choice *choice) {
  const mica__kernel_desc *desc = choice->impl->kernel;
  for (int i = 0; desc && i < desc->variant_count; i++)
    if (!strcmp(desc->variants[i].name, name)) {
      choice->base = &desc->variants[i];
      choice->variant = desc->variants[i];
      return true;
    }
  return false;
}

bool mica__choice_parse(const mica__impl *const *list, const char *text, mica__choice *choice) {
  char copy[MICA__TUNING_TEXT], *state = NULL;
  if (strlen(text) >= sizeof copy) return false;
  memcpy(copy, text, strlen(text) + 1);
  const char *word = strtok_r(copy, " ", &state);
  while (word && *list && strcmp((*list)->name, word) != 0) list++;
  if (!word || !*list) return false;
  *choice = (mica__choice){.impl = *list};
  word = strtok_r(NULL, " ", &state);
  if (word && !set_base(word, choice)) return false;
  while ((word = strtok_r(NULL, " ", &state)))
    if (!apply_value((*list)->kernel, word, &choice->variant)) return false;
  return true;
}

static struct {
  const char *names[8];
  size_t count;
} left_out;

bool mica__choice_leave_out(const char *name) {
  if (!name) left_out.count = 0;
  if (!name) return true;
  if (left_out.count == sizeof left_out.names / sizeof *left_out.names) return false;
  left_out.names[left_out.count++] = name;
  return true;
}

static bool is_left_out(const mica__impl *impl) {
  for (size_t i = 0; i < left_out.count; i++)
    if (!strcmp(left_out.names[i], impl->name)) return true;
  return false;
}

static void plan_task(const mica__impl *impl, mica__task *task) {
  if (impl->plan) impl->plan(task);
}

static const char *decline_task(const mica__impl *impl, const mica__task *task) {
  return impl->decline ? impl->decline(task) : NULL;
}

/* True if IMPLEMENTATION.VARIANT is in quarantine, because a check or a tuner found it wrong or it could not be built.
 * An implementation with the same name as its kernel shares the kernel's entries. */
static bool is_bad_with(mica_engine *engine, const mica__impl *impl, const mica__variant *variant) {
  char name[MICA__TUNING_TEXT];
  snprintf(name, sizeof name, "%s.%s", impl->name, variant->name);
  return mica__tuning_is_bad(engine, name);
}

static bool is_helper_bad(mica_engine *engine, const mica__impl *impl) {
  const mica__variant *variant = impl->helper ? mica__kernel_variant(impl->helper, mica_engine_device(engine)) : NULL;
  return variant && mica__variant_is_bad(engine, impl->helper, variant);
}

bool mica__choice_is_open(mica_engine *engine, const mica__choice *choice, const void *problem) {
  const mica_device_info *device = mica_engine_device(engine);
  char name[MICA__TUNING_TEXT];
  if (is_left_out(choice->impl)) return false;
  if (mica__tuning_is_bad(engine, mica__choice_format(choice, name))) return false;
  if (choice->base && (!mica__variant_fits(choice->impl->kernel, &choice->variant, device) ||
                       mica__variant_is_bad(engine, choice->impl->kernel, choice->base) ||
                       is_bad_with(engine, choice->impl, choice->base)))
    return false;
  if (is_helper_bad(engine, choice->impl)) return false;
  if (choice->impl->unable && choice->impl->unable(problem)) return false;
  mica__task task = {
      .problem = problem, .device = device, .engine = engine, .variant = choice->base ? &choice->variant : NULL};
  plan_task(choice->impl, &task);
  return !decline_task(choice->impl, &task);
}

/* Returns why an implementation cannot be chosen by its place in the list, regardless of quarantine. Returns NULL if it
 * can be chosen; the task is then planned. */
static const char *declines(const mica__impl *impl, mica__task *task) {
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no list of implementations is empty. */
  const char *reason = is_left_out(impl) ? "it is left out by request"
                       : impl->unable    ? impl->unable(task->problem)
                                         : NULL;
  if (!reason && impl->kernel) reason = mica__compiler_fault(task->device, impl->kernel, NULL);
  if (reason) return reason;
  plan_task(impl, task);
  reason = decline_task(impl, task);
  return !reason && impl->only_tuned ? "it is only used where tuning found it the fastest" : reason;
}

const mica__impl *mica__route(const mica__impl *const *list, const void *problem, const mica_device_info *device) {
  mica__task task = {.problem = problem, .device = device};
  while (list[1] && declines(*list, &task)) list++;
  return *list;
}

/* Returns the reason why an implementation is not used for the task on the engine's device; NULL if it is used, with
 * the task planned. If the first variant of its kernel that fits is in quarantine, the task gets the next one, whatever
 * the implementation would choose itself. */
static const char *reason_against(mica_engine *engine, const mica__impl *impl, mica__task *task) {
  task->variant = NULL;
  const char *reason = declines(impl, task);
  const mica__variant *variant = NULL, *first = NULL;
  if (reason) return reason;
  if (mica__tuning_is_bad(engine, impl->name)) return "it failed on this device before";
  if (is_helper_bad(engine, impl)) return "a second kernel that it needs is wrong on this device";
  mica__attempt_begin();
  if (mica__kernel_choose(engine, impl->kernel, &variant) != MICA_OK)
    reason = "no variant of its kernel is right on this device";
  mica__attempt_end();
  if (reason) return reason;
  if (is_bad_with(engine, impl, variant)) return "its results are wrong on this device";
  first = mica__kernel_variant(impl->kernel, task->device);
  if (!first || first == variant) return NULL;
  task->variant = variant;
  plan_task(impl, task);
  return decline_task(impl, task);
}

mica__choice mica__choose(mica_engine *engine, const mica__impl *const *list, const void *problem, const char *key) {
  char text[MICA__TUNING_TEXT];
  mica__choice choice = {0};
  if (mica__tuning_best(engine, key, text) && mica__choice_parse(list, text, &choice) &&
      mica__choice_is_open(engine, &choice, problem))
    return choice;
  choice = (mica__choice){.planned = true,
                          .task = {.problem = problem, .device = mica_engine_device(engine), .engine = engine}};
  for (; list[1]; list++) {
    const char *reason = reason_against(engine, *list, &choice.task);
    if (!reason) break;
    mica__log(MICA_LOG_LEVEL_DEBUG, "%s: %s declines: %s", key, (*list)->name, reason);
  }
  if (!list[1]) {
    choice.task.variant = NULL;
    plan_task(*list, &choice.task);
  }
  choice.impl = *list;
  return choice;
}

mica_status mica__choice_avoid(mica_engine *engine, const mica__choice *choice) {
  char text[MICA__TUNING_TEXT];
  return mica__tuning_avoid(engine, mica__choice_format(choice, text), mica_error_message());
}

mica_status mica__choice_launch(mica_queue *queue, const mica__choice *choice, const void *problem) {
  if (choice->planned && choice->task.problem == problem) return choice->impl->launch(queue, &choice->task);
  return mica__impl_launch(queue, choice->impl, problem, choice->base ? &choice->variant : NULL);
}

mica_status mica__impl_launch(mica_queue *queue, const mica__impl *impl, const void *problem,
                              const mica__variant *variant) {
  mica_engine *engine = mica__queue_engine(queue);
  mica__task task = {.problem = problem, .device = mica_engine_device(engine), .engine = engine, .variant = variant};
  plan_task(impl, &task);
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no list of implementations is empty. */
  return impl->launch(queue, &task);
}

static bool is_reference(const mica__impl *const *list, const mica__impl *impl) {
  while (list[1]) list++;
  return *list == impl;
}

mica_status mica__choose_and_launch(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                    const char *key) {
  mica_engine *engine = mica__queue_engine(queue);
  for (;;) {
    mica__choice choice = mica__choose(engine, list, problem, key);
    mica__attempt_begin();
    mica_status status = mica__choice_launch(queue, &choice, problem);
    /* If a driver cannot compile or start the preferred kernel, a slower one gives the result. */
    bool lame = status == MICA_E_BUILD || status == MICA_E_UNSUPPORTED, last = is_reference(list, choice.impl);
    if (lame && !last) {
      mica__log(MICA_LOG_LEVEL_WARNING, "%s is left out: %s", choice.impl->name, mica_error_message());
      status = mica__choice_avoid(engine, &choice);
      if (status == MICA_OK) {
        mica__attempt_end();
        continue;
      }
    }
    if (status != MICA_OK) return mica__attempt_pass(status);
    mica__attempt_end();
    return MICA_OK;
  }
}

static mica_status launch_named(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                const char *name) {
  for (; *list; list++)
    for (int v = 0; (*list)->kernel && v < (*list)->kernel->variant_count; v++)
      if (!strcmp((*list)->kernel->variants[v].name, name))
        return mica__impl_launch(queue, *list, problem, &(*list)->kernel->variants[v]);
  return mica__fail(MICA_E_UNSUPPORTED, "no implementation of the op has a variant \"%s\"", name);
}

/* Marks the kernels from number `first` on as declined: their launch failed, and another implementation goes on. */
static void note_declined(mica__launch_notes *notes, size_t first) {
  for (size_t n = first; notes && n < notes->count; n++)
    if (!notes->list[n].fault) notes->list[n].fault = "its launch is not supported on this device";
}

mica_status mica__choose_for_check(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                   const char *variant, mica__launch_notes *notes) {
  mica_engine *engine = mica__queue_engine(queue);
  if (variant) return launch_named(queue, list, problem, variant);
  for (;; list++) {
    const size_t noted = notes ? notes->count : 0;
    mica__task task = {.problem = problem, .device = mica_engine_device(engine), .engine = engine};
    if (list[1] && declines(*list, &task)) continue;
    mica__attempt_begin();
    const mica_status status = mica__impl_launch(queue, *list, problem, NULL);
    if (status != MICA_OK && (status != MICA_E_UNSUPPORTED || !list[1])) return mica__attempt_pass(status);
    mica__attempt_end();
    if (status == MICA_OK) return status;
    note_declined(notes, noted);
  }
}

static mica_status append(mica__choice **choices, size_t *count, const mica__choice *choice) {
  mica__choice *grown = realloc(*choices, (*count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a list of choices");
  *choices = grown;
  grown[(*count)++] = *choice;
  return MICA_OK;
}

mica_status mica__choices_of(mica_engine *engine, const mica__impl *const *list, const void *problem,
                             mica__choice **choices, size_t *count) {
  mica_status status = MICA_OK;
  *choices = NULL;
  *count = 0;
  for (; *list && status == MICA_OK; list++) {
    mica__choice choice = {.impl = *list};
    if (!mica__choice_is_open(engine, &choice, problem)) continue;
    status = append(choices, count, &choice);
    for (int i = 0; status == MICA_OK && (*list)->kernel && i < (*list)->kernel->variant_count; i++) {
      choice.base = &(*list)->kernel->variants[i];
      choice.variant = *choice.base;
      if (mica__choice_is_open(engine, &choice, problem)) status = append(choices, count, &choice);
    }
  }
  if (status != MICA_OK) free(*choices);
  return status;
}

mica_status mica__choice_neighbours(const mica__choice *choice, mica__choice **choices, size_t *count) {
  const mica__kernel_desc *desc = choice->impl->kernel;
  mica_status status = MICA_OK;
  *choices = NULL;
  *count = 0;
  if (!choice->base) return MICA_OK;
  for (int p = 0; p < desc->param_count; p++) {
    const mica__kernel_param *param = &desc->params[p];
    if (param->kind != MICA__PARAM_INT) continue;
    for (int c = 0; status == MICA_OK && c < param->choice_count; c++) {
      mica__choice neighbour = *choice;
      if (param->choices[c] == choice->variant.values[p]) continue;
      neighbour.variant.values[p] = param->choices[c];
      status = append(choices, count, &neighbour);
    }
  }
  if (status != MICA_OK) free(*choices);
  return status;
}
