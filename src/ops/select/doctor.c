/* The doctor runs every op's check on the quick grid. It puts variants that are wrong or do not build into quarantine,
 * so that no launch chooses them (runtime/tuning.h), and releases those that pass now or have no line of their own. */
#include "base/text.h"
#include "ops/select/check.h"
#include "ops/select/registry.h"
#include "ops/select/watch.h"
#include "runtime/build_ahead.h"
#include "runtime/builder.h"
#include "runtime/drivers.h"
#include "runtime/tuning.h"

#include <mica/doctor.h>
#include <stdio.h>
#include <string.h>

typedef struct examination {
  mica_engine *engine;
  mica_doctor_fn *fn;
  void *user;
  mica__text named, passed, failed; /* KERNEL.VARIANT of lines, each between newlines */
} examination;

static void variant_name(char name[MICA__TUNING_TEXT], const char *kernel, const char *variant) {
  snprintf(name, MICA__TUNING_TEXT, "%s.%s", kernel, variant);
}

static bool holds(const mica__text *names, const char *name) {
  char line[MICA__TUNING_TEXT + 2];
  snprintf(line, sizeof line, "\n%s\n", name);
  return names->data && strstr(names->data, line);
}

/* Logs a finding that could not be saved, for example if the cache directory is read-only. The examination goes on. */
static void log_unless_ok(mica_status status) {
  if (status != MICA_OK)
    mica__log(MICA_LOG_LEVEL_INFO, "could not save what the doctor found: %s", mica_error_message());
}

/* Receives a line of the check and passes it on to the caller. Wrong results and failed builds put the variant into
 * quarantine; other failures, such as a lack of memory, do not. */
static void take_note(void *user, const mica_doctor_line *line) {
  examination *e = user;
  char name[MICA__TUNING_TEXT];
  bool bad = line->status == MICA_E_NUMERIC || line->status == MICA_E_BUILD;
  variant_name(name, line->kernel, line->variant);
  mica__text_addf(&e->named, "\n%s\n", name);
  if (line->status == MICA_OK) mica__text_addf(&e->passed, "\n%s\n", name);
  if (bad) {
    mica__text_addf(&e->failed, "\n%s\n", name);
    mica__attempt_begin();
    log_unless_ok(mica__tuning_quarantine(e->engine, name, line->message));
    mica__attempt_end();
  }
  if (e->fn) e->fn(e->user, line);
}

static void unquarantine(examination *e, const char *name) {
  if (!holds(&e->failed, name) && mica__tuning_is_bad(e->engine, name))
    log_unless_ok(mica__tuning_unquarantine(e->engine, name));
}

/* Releases variants that an earlier examination put into quarantine, perhaps with another driver, and that did not fail
 * now. These either passed now, or have no line of their own, because their kernels run only inside implementations and
 * the lines name the implementations. */
static void release(examination *e, const mica__op *op) {
  for (const mica__kernel_desc *const *kernel = op->kernels; kernel && *kernel; kernel++)
    for (int v = 0; v < (*kernel)->variant_count; v++) {
      char name[MICA__TUNING_TEXT];
      variant_name(name, (*kernel)->name, (*kernel)->variants[v].name);
      if (!holds(&e->named, name)) unquarantine(e, name);
    }
  for (const char *at = e->passed.data; at && *at;) {
    char name[MICA__TUNING_TEXT];
    size_t n = strcspn(at, "\n");
    if (n > 0 && n < sizeof name) {
      memcpy(name, at, n);
      name[n] = '\0';
      unquarantine(e, name);
    }
    at += n + (at[n] == '\n');
  }
}

/* True if the op or one of its kernels has this name. */
static bool is_named(const mica__op *op, const char *name) {
  if (!strcmp(op->name, name)) return true;
  for (const mica__kernel_desc *const *kernel = op->kernels; kernel && *kernel; kernel++)
    if (!strcmp((*kernel)->name, name)) return true;
  return false;
}

static mica_status examine(examination *e, const mica__op *op, mica__doctor_watch *watch, mica_doctor_summary *total) {
  mica_status status = mica__check_watched(e->engine, op, watch, take_note, e, total);
  if (status == MICA_OK) {
    mica__attempt_begin();
    release(e, op);
    mica__attempt_end();
  }
  mica__text_free(&e->named);
  mica__text_free(&e->passed);
  mica__text_free(&e->failed);
  return status;
}

static mica_status fail_unknown(const char *name) {
  mica__text names = {0};
  for (size_t i = 0; i < mica__op_count; i++)
    if (mica__ops[i]->check) mica__text_addf(&names, "%s%s", names.length ? ", " : "", mica__ops[i]->name);
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_NOT_FOUND, "there is no op or kernel %s to examine; choose from: %s", name, names.data);
  mica__text_free(&names);
  return status;
}

mica_status mica__doctor_find(const char *name) {
  for (size_t i = 0; i < mica__op_count; i++)
    if (mica__ops[i]->check && is_named(mica__ops[i], name)) return MICA_OK;
  return fail_unknown(name);
}

mica_status mica_doctor_run(mica_engine *engine, const char *name, mica_doctor_fn *fn, void *user,
                            mica_doctor_summary *summary) {
  return mica__doctor_run_watched(engine, name, NULL, fn, user, summary);
}

mica_status mica__doctor_run_watched(mica_engine *engine, const char *name, mica__doctor_watch *watch,
                                     mica_doctor_fn *fn, void *user, mica_doctor_summary *summary) {
  if (!engine || !summary) return mica__fail(MICA_E_INVALID, "mica_doctor_run: engine or summary is NULL");
  if (mica_engine_device(engine)->device_class == MICA_DEVICE_CLASS_NULL)
    return mica__fail(MICA_E_UNSUPPORTED, "the null device runs no kernels; there is nothing to examine");
  mica_doctor_summary total = {0};
  mica_status status = MICA_OK;
  bool found = false;
  mica__builder ahead;
  bool helped =
      !name && mica__builds_ahead(engine) && mica__usable_cores() > 1 && mica__builder_start_doctor(&ahead, engine);
  for (size_t i = 0; status == MICA_OK && i < mica__op_count; i++) {
    const mica__op *op = mica__ops[i];
    if (!op->check || (name && !is_named(op, name))) continue;
    examination e = {.engine = engine, .fn = fn, .user = user};
    found = true;
    if (watch && i < watch->first_op) continue;
    if (watch) {
      watch->position = (mica__doctor_position){.op = i};
      watch->at(watch->user, &watch->position);
    }
    status = examine(&e, op, watch, &total);
  }
  if (helped) mica__builder_end_doctor(&ahead);
  if (!found) return fail_unknown(name ? name : "");
  if (status == MICA_OK) *summary = total;
  return status;
}

mica_status mica_doctor_ahead(mica_engine *engine, mica_doctor_fn *fn, void *user) {
  if (!engine) return mica__fail(MICA_E_INVALID, "mica_doctor_ahead: engine is NULL");
  mica_doctor_summary total = {0};
  mica_status status = MICA_OK;
  for (size_t i = mica__op_count; status == MICA_OK && i-- > 0;)
    if (mica__ops[i]->check) status = mica__check_run(engine, mica__ops[i], MICA__CHECK_QUICK, fn, user, &total);
  return status;
}
