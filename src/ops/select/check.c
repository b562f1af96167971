#include "ops/select/check.h"

#include "base/checked.h"
#include "base/element.h"
#include "base/error.h"
#include "base/number.h"
#include "ir/op.h"
#include "runtime/compiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 256
#define GUARD_PATTERN 0xa5
#define SEED UINT64_C(0x9e3779b97f4a7c15)

void mica__check_tell(mica__check *check, const char *kernel, const char *variant) {
  mica__doctor_watch *watch = check->watch;
  if (!watch) return;
  snprintf(watch->position.kernel, sizeof watch->position.kernel, "%s", kernel);
  snprintf(watch->position.variant, sizeof watch->position.variant, "%s", variant);
  watch->at(watch->user, &watch->position);
}

/* Called when an outermost group begins. If the driver crashed an earlier process in this group, sets check->ended and
 * names the group after the kernel and variant that ran then. Otherwise tells the watching process that the group
 * begins. */
static void find_end(mica__check *check, mica__check_group *group, const char *cases) {
  mica__doctor_watch *watch = check->watch;
  char *name = watch->position.group;
  snprintf(name, sizeof watch->position.group, "%s %s %s %s", check->op, group->kernel, group->variant, cases);
  for (size_t i = 0; !check->ended && i < watch->end_count; i++)
    if (!strcmp(watch->ends[i].position.group, name)) check->ended = &watch->ends[i];
  if (!check->ended) {
    mica__check_tell(check, group->kernel, group->variant);
    return;
  }
  check->was_ended = true;
  group->kernel = check->ended->position.kernel;
  group->variant = check->ended->position.variant;
}

mica__check_group mica__check_begin(mica__check *check, const char *kernel, const char *variant, const char *cases) {
  mica__check_group group = {.check = check, .kernel = kernel, .variant = variant};
  if (check->open++ == 0 && check->watch) find_end(check, &group, cases);
  check->groups++;
  snprintf(group.cases, sizeof group.cases, "%s", cases);
  return group;
}

bool mica__check_note(mica__check_group *group, mica_status status, const char *where, ...) {
  group->case_count++;
  if (status == MICA_OK) return true;
  char which[128];
  va_list args;
  va_start(args, where);
  mica__vsnprintf(which, sizeof which, where, args);
  va_end(args);
  group->status = status;
  snprintf(group->message, sizeof group->message, "%s: %s", which, mica_error_message());
  return false;
}

static void report(mica__check *check, mica_doctor_line line) {
  line.op = check->op;
  if (line.status == MICA_OK)
    check->summary.passed++;
  else if (line.status == MICA_E_UNSUPPORTED)
    check->summary.skipped++;
  else
    check->summary.failed++;
  if (check->fn) check->fn(check->user, &line);
}

mica_status mica__check_end(mica__check_group *group) {
  mica__check *check = group->check;
  char cases[160];
  if (--check->open == 0) check->ended = NULL;
  if (group->case_count == 0) return MICA_OK;
  snprintf(cases, sizeof cases, "%s, %zu case%s", group->cases, group->case_count, group->case_count == 1 ? "" : "s");
  check->cases += group->case_count;
  mica__text_addf(&check->run, "\n%s.%s\n", group->kernel, group->variant);
  report(check, (mica_doctor_line){.kernel = group->kernel,
                                   .variant = group->variant,
                                   .cases = cases,
                                   .status = group->status,
                                   .message = group->message,
                                   .worst = group->worst});
  bool of_the_kernel = group->status == MICA_OK || group->status == MICA_E_NUMERIC || group->status == MICA_E_BUILD ||
                       group->status == MICA_E_UNSUPPORTED;
  return of_the_kernel ? MICA_OK
                       : mica__fail(group->status, "%s.%s: %s", group->kernel, group->variant, group->message);
}

void mica__check_skip(mica__check *check, const char *name, const mica__kernel_desc *kernel,
                      const mica__variant *variant, const char *cases, bool tried) {
  const char *fault = kernel ? mica__compiler_fault(mica_engine_device(check->engine), kernel, variant) : NULL;
  report(check,
         (mica_doctor_line){.kernel = name,
                            .variant = variant ? variant->name : "any",
                            .cases = cases,
                            .status = MICA_E_UNSUPPORTED,
                            .message = fault              ? fault
                                       : !tried           ? "it does not run on this device"
                                       : check->was_ended ? "the driver ended the process in another kernel of the op"
                                                          : MICA__NO_CASE});
}

/* True if the device has the features, the vector length and the instructions that the variant needs. */
static bool runs_on(const mica__variant *variant, const mica_device_info *device) {
  return (variant->features & ~device->features) == 0 && variant->vector_bytes <= device->vector_bytes &&
         (!variant->has_instruction || variant->has_instruction(device));
}

static bool has_run(const mica__check *check, const char *kernel, const char *variant) {
  char line[160];
  snprintf(line, sizeof line, "\n%s.%s\n", kernel, variant);
  return check->run.data && strstr(check->run.data, line);
}

/* splitmix64: short, and good enough to fill test data. */
static uint64_t next_random(mica__check *check) {
  uint64_t z = check->random += SEED;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

double mica__check_random(mica__check *check) { return (double)(int64_t)next_random(check) * 0x1p-63; }

bool mica__check_has_dtype(const mica__check *check, mica_dtype dtype) {
  return dtype != MICA_F64 || mica_engine_device(check->engine)->features & MICA_FEATURE_FP64;
}

/* Fills with poison: a NaN in every floating type, and in other types bytes 0x5a, which no test expects. */
static void poison(mica_dtype dtype, unsigned char *data, size_t bytes) {
  memset(data, mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? 0xff : 0x5a, bytes);
}

/* Makes a tensor between guard bytes. If values is given, it sets the elements, and out->values receives them as the
 * dtype rounds them. If values is NULL, the tensor is filled with poison, and out->values is NULL. Returns MICA_E_BUILD
 * if the driver crashed an earlier process in this group of cases. */
static mica_status make(mica__check *check, mica_dtype dtype, mica_shape shape, const double *values,
                        mica__check_tensor *out) {
  mica__check_tensor t = {.first_byte = GUARD_BYTES};
  if (check->ended) return mica__fail(MICA_E_BUILD, "%s", check->ended->message);
  MICA_TRY(mica_shape_count(shape, &t.count));
  if (!mica__mul_size((uint64_t)t.count, mica_dtype_size(dtype), &t.bytes) ||
      !mica__add_size(t.bytes, 2 * GUARD_BYTES, &t.total_bytes))
    return mica__fail(MICA_E_OVERFLOW, "a tensor to check with is too large");
  unsigned char *host = malloc(t.total_bytes);
  if (!host) return mica__fail_nomem("a tensor to check with");
  memset(host, GUARD_PATTERN, t.total_bytes);
  poison(dtype, host + GUARD_BYTES, t.bytes);
  /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): values has as many elements as the shape. */
  for (int64_t i = 0; values && i < t.count; i++) mica__element_set(dtype, host + GUARD_BYTES, i, values[i]);
  mica_tensor *all = NULL;
  mica_status status = mica_buffer_create(check->engine, t.total_bytes, &t.buffer);
  if (status == MICA_OK) status = mica_tensor_wrap(t.buffer, 0, MICA_U8, MICA_SHAPE((int64_t)t.total_bytes), &all);
  if (status == MICA_OK) status = mica_tensor_upload(check->queue, all, host, t.total_bytes);
  if (status == MICA_OK) status = mica_tensor_wrap(t.buffer, GUARD_BYTES, dtype, shape, &t.tensor);
  if (status == MICA_OK && values) {
    t.values = malloc(((size_t)t.count + 1) * sizeof *t.values);
    if (!t.values) status = mica__fail_nomem("a tensor to check with");
    /* Reads back from the bytes, so that the reference uses what the device uses. */
    for (int64_t i = 0; t.values && i < t.count; i++) t.values[i] = mica__element_get(dtype, host + GUARD_BYTES, i);
  }
  mica_tensor_destroy(all);
  free(host);
  if (status != MICA_OK)
    mica__check_free(&t);
  else
    *out = t;
  return status;
}

mica_status mica__check_input_values(mica__check *check, mica_dtype dtype, mica_shape shape, const double *values,
                                     mica__check_tensor *out) {
  return make(check, dtype, shape, values, out);
}

mica_status mica__check_input(mica__check *check, mica_dtype dtype, mica_shape shape, double bound,
                              mica__check_tensor *out) {
  int64_t count = 0;
  MICA_TRY(mica_shape_count(shape, &count));
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  if (!values) return mica__fail_nomem("values to check with");
  for (int64_t i = 0; i < count; i++) values[i] = bound * mica__check_random(check);
  mica_status status = make(check, dtype, shape, values, out);
  free(values);
  return status;
}

mica_status mica__check_output(mica__check *check, mica_dtype dtype, mica_shape shape, mica__check_tensor *out) {
  return make(check, dtype, shape, NULL, out);
}

void mica__check_free(mica__check_tensor *t) {
  mica_tensor_destroy(t->tensor);
  mica_buffer_destroy(t->buffer);
  free(t->values);
  *t = (mica__check_tensor){0};
}

static mica_status compare_guards(const mica__check_tensor *got, const unsigned char *host) {
  for (size_t i = 0; i < got->total_bytes; i++) {
    bool inside = i >= got->first_byte && i < got->first_byte + got->bytes;
    if (!inside && host[i] != GUARD_PATTERN)
      return mica__fail(MICA_E_NUMERIC,
                        "byte %lld, counted from the start of the output and outside of it, was overwritten",
                        (long long)i - (long long)got->first_byte);
  }
  return MICA_OK;
}

static mica_status compare_values(mica__check_group *group, const mica__check_tensor *got, const unsigned char *data,
                                  const double *want, const double *bound) {
  mica_dtype dtype = mica_tensor_dtype(got->tensor);
  for (int64_t i = 0; i < got->count; i++) {
    double value = mica__element_get(dtype, data, i);
    if (value == want[i] || (isnan(value) && isnan(want[i]))) continue;
    double error = fabs(value - want[i]);
    double share = bound[i] > 0 ? error / bound[i] : (double)INFINITY;
    if (!(share <= 1)) {
      group->worst = (double)INFINITY;
      return mica__fail(MICA_E_NUMERIC, "element %lld is %.9g, but must be %.9g within %.3g", (long long)i, value,
                        want[i], bound[i]);
    }
    if (share > group->worst) group->worst = share;
  }
  return MICA_OK;
}

mica_status mica__check_compare(mica__check_group *group, const mica__check_tensor *got, const double *want,
                                const double *bound) {
  unsigned char *host = malloc(got->total_bytes);
  if (!host) return mica__fail_nomem("a result to check");
  mica_tensor *all = NULL;
  mica_status status = mica_tensor_wrap(got->buffer, 0, MICA_U8, MICA_SHAPE((int64_t)got->total_bytes), &all);
  if (status == MICA_OK) status = mica_tensor_download(group->check->queue, all, host, got->total_bytes);
  if (status == MICA_OK) status = compare_values(group, got, host + got->first_byte, want, bound);
  if (status == MICA_OK) status = compare_guards(got, host);
  mica_tensor_destroy(all);
  free(host);
  return status;
}

static mica_status run(mica_engine *engine, const mica__op *op, mica__check_level level, bool dry,
                       mica__doctor_watch *watch, mica_doctor_fn *fn, void *user, mica_doctor_summary *summary) {
  mica__check check = {.engine = engine,
                       .queue = mica_engine_queue(engine),
                       .level = level,
                       .op = op->name,
                       .fn = fn,
                       .user = user,
                       .random = SEED,
                       .dry_run = dry,
                       .watch = watch};
  mica_status status = op->check(&check);
  for (const mica__kernel_desc *const *kernel = op->kernels; status == MICA_OK && check.launches && kernel && *kernel;
       kernel++)
    for (int v = 0; v < (*kernel)->variant_count; v++)
      if (!has_run(&check, (*kernel)->name, (*kernel)->variants[v].name))
        mica__check_skip(&check, (*kernel)->name, *kernel, &(*kernel)->variants[v], op->name,
                         runs_on(&(*kernel)->variants[v], mica_engine_device(engine)));
  if (status == MICA_OK) status = mica__text_status(&check.run);
  mica__text_free(&check.run);
  summary->passed += check.summary.passed;
  summary->failed += check.summary.failed;
  summary->skipped += check.summary.skipped;
  return status;
}

mica_status mica__check_run(mica_engine *engine, const mica__op *op, mica__check_level level, mica_doctor_fn *fn,
                            void *user, mica_doctor_summary *summary) {
  return run(engine, op, level, false, NULL, fn, user, summary);
}

mica_status mica__check_watched(mica_engine *engine, const mica__op *op, mica__doctor_watch *watch, mica_doctor_fn *fn,
                                void *user, mica_doctor_summary *summary) {
  return run(engine, op, MICA__CHECK_QUICK, false, watch, fn, user, summary);
}

mica_status mica__check_list(mica_engine *engine, const mica__op *op, mica__check_level level, mica_doctor_fn *fn,
                             void *user, mica_doctor_summary *summary) {
  return run(engine, op, level, true, NULL, fn, user, summary);
}
