/* The doctor: every op's check on the quick grid, and what follows for the choice of variants. */
#include "base/text.h"
#include "ops/select/check.h"
#include "ops/select/registry.h"
#include "runtime/tuning.h"

#include <mica/doctor.h>
#include <stdio.h>
#include <string.h>

typedef struct examination {
  mica_engine *engine;
  mica_doctor_fn *fn;
  void *user;
  mica__text failed; /* names of variants, each between newlines */
} examination;

static void variant_name(char name[MICA__TUNING_TEXT], const char *kernel, const char *variant) {
  snprintf(name, MICA__TUNING_TEXT, "%s.%s", kernel, variant);
}

/* A directory that cannot be written costs the memory of it, not the examination. */
static void log_unless_ok(mica_status status) {
  if (status != MICA_OK) mica__log(MICA_LOG_LEVEL_INFO, "the doctor's finding is not kept: %s", mica_error_message());
}

static void take_note(void *user, const mica_doctor_line *line) {
  examination *e = user;
  if (line->status != MICA_OK && line->status != MICA_E_UNSUPPORTED) {
    char name[MICA__TUNING_TEXT];
    variant_name(name, line->kernel, line->variant);
    mica__text_addf(&e->failed, "\n%s\n", name);
    mica__attempt_begin();
    log_unless_ok(mica__tuning_quarantine(e->engine, name, line->message));
    mica__attempt_end();
  }
  if (e->fn) e->fn(e->user, line);
}

static bool has_failed(const examination *e, const char *name) {
  char line[MICA__TUNING_TEXT + 2];
  snprintf(line, sizeof line, "\n%s\n", name);
  return e->failed.data && strstr(e->failed.data, line);
}

/* Variants that an earlier examination found wrong, with another driver or a broken kernel, and this one did not. */
static void unquarantine(examination *e, const mica__op *op) {
  for (const mica__kernel_desc *const *kernel = op->kernels; *kernel; kernel++)
    for (int v = 0; v < (*kernel)->variant_count; v++) {
      char name[MICA__TUNING_TEXT];
      variant_name(name, (*kernel)->name, (*kernel)->variants[v].name);
      if (mica__tuning_is_bad(e->engine, name) && !has_failed(e, name))
        log_unless_ok(mica__tuning_unquarantine(e->engine, name));
    }
}

mica_status mica_doctor_run(mica_engine *engine, const char *op_name, mica_doctor_fn *fn, void *user,
                            mica_doctor_summary *summary) {
  if (!engine || !summary) return mica__fail(MICA_E_INVALID, "mica_doctor_run: a pointer is NULL");
  if (mica_engine_device(engine)->device_class == MICA_DEVICE_CLASS_NULL)
    return mica__fail(MICA_E_UNSUPPORTED, "the null device runs no kernels; there is nothing to examine");
  mica_doctor_summary total = {0};
  examination e = {.engine = engine, .fn = fn, .user = user};
  mica_status status = MICA_OK;
  bool found = false;
  for (size_t i = 0; status == MICA_OK && i < mica__op_count; i++) {
    const mica__op *op = mica__ops[i];
    if (!op->check || (op_name && strcmp(op->name, op_name) != 0)) continue;
    found = true;
    status = mica__check_run(engine, op, MICA__CHECK_QUICK, take_note, &e, &total);
    mica__attempt_begin();
    if (status == MICA_OK) unquarantine(&e, op);
    mica__attempt_end();
  }
  mica__text_free(&e.failed);
  if (!found) return mica__fail(MICA_E_NOT_FOUND, "there is no op %s with kernels to examine", op_name ? op_name : "");
  if (status == MICA_OK) *summary = total;
  return status;
}
