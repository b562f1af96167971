#include "ops/select/launch_check.h"

#include "base/error.h"
#include "ops/common/tolerance.h"
#include "runtime/compiler.h"
#include "runtime/launch.h"

#include <math.h>
#include <mica/ops.h>
#include <stdio.h>
#include <stdlib.h>

static mica_status note(mica__launch_notes *notes, const mica__kernel_desc *desc, const mica__variant *variant,
                        const char *fault) {
  for (size_t i = 0; i < notes->count; i++)
    if (notes->list[i].kernel == desc && notes->list[i].variant == variant) {
      notes->list[i].fault = fault; /* an implementation that failed before may have asked for it, too */
      return MICA_OK;
    }
  if (notes->count == MICA__LAUNCH_NOTES)
    return mica__fail(MICA_E_STATE,
                      "a case of an op launches more than %d kernels and variants, the most that can be checked",
                      MICA__LAUNCH_NOTES);
  notes->list[notes->count].kernel = desc;
  notes->list[notes->count].fault = fault;
  notes->list[notes->count++].variant = variant;
  if (notes->check) mica__check_tell(notes->check, desc->name, variant->name);
  return MICA_OK;
}

/* Returns the first variant of these classes whose vectors and instructions the device has. If the device has them for
 * none of these variants, or if `device` is NULL, returns the first variant of these classes. NULL if the kernel has no
 * variant of these classes. */
static const mica__variant *of_classes(const mica__kernel_desc *desc, unsigned classes,
                                       const mica_device_info *device) {
  const mica__variant *first = NULL;
  for (int v = 0; v < desc->variant_count; v++) {
    const mica__variant *variant = &desc->variants[v];
    if (!(variant->classes & classes)) continue;
    if (!device || (variant->vector_bytes <= device->vector_bytes &&
                    (!variant->has_instruction || variant->has_instruction(device))))
      return variant;
    if (!first) first = variant;
  }
  return first;
}

mica_status mica__exec_values(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values) {
  mica_engine *engine = mica__queue_engine(exec->queue);
  const mica__variant *variant = of_classes(desc, exec->classes, mica_engine_device(engine));
  if (!variant) MICA_TRY(mica__kernel_choose(engine, desc, &variant));
  return mica__exec_variant(exec, desc, variant, values);
}

mica_status mica__exec_variant(const mica__exec *exec, const mica__kernel_desc *desc, const mica__variant *variant,
                               int32_t *values) {
  const char *fault = mica__compiler_fault(mica_engine_device(mica__queue_engine(exec->queue)), desc, variant);
  if (exec->notes) MICA_TRY(note(exec->notes, desc, variant, fault));
  if (fault) return mica__fail(MICA_E_UNSUPPORTED, "kernel %s.%s is declined: %s", desc->name, variant->name, fault);
  mica__kernel_values(desc, variant, values);
  return MICA_OK;
}

bool mica__exec_takes(const mica__exec *exec, const mica__kernel_desc *desc) {
  mica_engine *engine = mica__queue_engine(exec->queue);
  if (exec->classes) return of_classes(desc, exec->classes, NULL) != NULL;
  for (int v = 0; v < desc->variant_count; v++)
    if (mica__variant_fits(desc, &desc->variants[v], mica_engine_device(engine)) &&
        !mica__variant_is_bad(engine, desc, &desc->variants[v]))
      return true;
  return false;
}

mica_status mica__exec_choose(const mica__exec *exec, const mica__impl *const *list, const void *problem,
                              const char *key) {
  if (!exec->classes) return mica__choose_and_launch(exec->queue, list, problem, key);
  return mica__choose_for_check(exec->queue, list, problem, exec->variant, exec->notes);
}

unsigned mica__exec_class(const mica__exec *exec) {
  return exec->classes ? exec->classes : mica__kernel_class(mica_engine_device(mica__queue_engine(exec->queue)));
}

const char *mica__exec_declines(const mica__exec *exec, const mica__task *task, const mica__kernel_desc *desc) {
  const bool takes = exec ? mica__exec_takes(exec, desc) : mica__kernel_variant(desc, task->device) != NULL;
  return takes ? NULL : "its kernel does not run on this device";
}

/* One case while it runs. */
typedef struct run {
  mica__check_tensor inputs[MICA__CHECK_INPUTS], outputs[MICA__MAX_RESULTS];
  double *values[MICA__CHECK_INPUTS]; /* absolute values of floating inputs; other inputs unchanged */
  double *want[MICA__MAX_RESULTS], *magnitude[MICA__MAX_RESULTS];
  mica__type types[MICA__MAX_RESULTS]; /* of the results */
  int32_t results;
  void *attrs;
} run;

static void free_run(run *r) {
  for (int i = 0; i < MICA__CHECK_INPUTS; i++) {
    mica__check_free(&r->inputs[i]);
    free(r->values[i]);
  }
  for (int i = 0; i < MICA__MAX_RESULTS; i++) {
    mica__check_free(&r->outputs[i]);
    free(r->want[i]);
  }
  free(r->attrs);
}

/* Computes the reference's result. Also computes the reference on absolute values, whose result is the magnitude from
 * which the bound of a sum's error follows. */
static mica_status evaluate(const mica__op *op, const mica__launch_case *c, run *r) {
  const double *plain[MICA__CHECK_INPUTS] = {0}, *magnitudes[MICA__CHECK_INPUTS] = {0};
  for (int32_t i = 0; i < c->input_count; i++) {
    plain[i] = r->inputs[i].values;
    magnitudes[i] = r->values[i];
  }
  mica__eval eval = {
      .attrs = r->attrs, .inputs = plain, .types = c->inputs, .input_count = c->input_count, .type = r->types};
  eval.output = r->want[0];
  eval.outputs = r->want;
  MICA_TRY(op->evaluate(&eval));
  eval.inputs = magnitudes;
  eval.output = r->magnitude[0];
  eval.outputs = r->magnitude;
  return op->evaluate(&eval);
}

/* Makes input i. If bit i of c->filled is set, c->fill computes its values. Otherwise they are random whole numbers
 * from 0 to limit. */
static mica_status make_values(mica__check *check, const mica__launch_case *c, int32_t i, double limit,
                               mica__check_tensor *input) {
  const mica__type *type = &c->inputs[i];
  int64_t count = 0;
  MICA_TRY(mica_shape_count(type->shape, &count));
  double *values = calloc((size_t)count + 1, sizeof *values);
  if (!values) return mica__fail_nomem("a reference");
  if (c->filled >> i & 1)
    c->fill(check, c, i, values, count);
  else
    for (int64_t k = 0; k < count; k++) values[k] = rint(limit * fabs(mica__check_random(check)));
  mica_status status = mica__check_input_values(check, type->dtype, type->shape, values, input);
  free(values);
  return status;
}

static mica_status make_input(mica__check *check, const mica__launch_case *c, int32_t i, run *r) {
  double limit = c->bound[i] > 0 ? c->bound[i] : 2;
  if ((c->whole | c->filled) >> i & 1)
    MICA_TRY(make_values(check, c, i, limit, &r->inputs[i]));
  else
    MICA_TRY(mica__check_input(check, c->inputs[i].dtype, c->inputs[i].shape, limit, &r->inputs[i]));
  bool floating = mica_dtype_kind_of(c->inputs[i].dtype) == MICA_DTYPE_KIND_FLOAT;
  int64_t n = r->inputs[i].count;
  r->values[i] = malloc(((size_t)n + 1) * sizeof(double));
  if (!r->values[i]) return mica__fail_nomem("a reference");
  for (int64_t k = 0; k < n; k++) r->values[i][k] = floating ? fabs(r->inputs[i].values[k]) : r->inputs[i].values[k];
  return MICA_OK;
}

static mica_status make_output(mica__check *check, int32_t k, run *r) {
  MICA_TRY(mica__check_output(check, r->types[k].dtype, r->types[k].shape, &r->outputs[k]));
  r->want[k] = calloc((size_t)r->outputs[k].count + 1, 2 * sizeof *r->want[k]);
  if (!r->want[k]) return mica__fail_nomem("a reference");
  r->magnitude[k] = r->want[k] + r->outputs[k].count;
  return MICA_OK;
}

/* Replaces the magnitudes of result k by the errors that are allowed. */
static void find_bounds(const mica__launch_case *c, int32_t k, run *r) {
  mica_dtype dtype = r->types[k].dtype, compute = dtype == MICA_F16 || dtype == MICA_BF16 ? MICA_F32 : dtype;
  double *bound = r->magnitude[k], largest = 0;
  for (int64_t i = 0; i < r->outputs[k].count; i++) largest = fmax(largest, fabs(r->want[k][i]));
  for (int64_t i = 0; c->normwise && i < r->outputs[k].count; i++) bound[i] = largest;
  for (int64_t i = 0; i < r->outputs[k].count; i++)
    bound[i] = c->terms > 0 ? mica__tolerance_sum(compute, dtype, c->terms, fabs(bound[i]), r->want[k][i]) : 0;
}

static mica_status run_case(mica__check_group *group, const mica__op *op, const mica__launch_case *c, unsigned classes,
                            mica__launch_notes *notes, run *r) {
  mica__check *check = group->check;
  const mica_tensor *inputs[MICA__CHECK_INPUTS] = {0};
  mica_tensor *outputs[MICA__MAX_RESULTS] = {0};
  r->results = op->results ? op->results : 1;
  MICA_TRY(mica__attrs_copy(op->attrs, c->attrs, &r->attrs));
  MICA_TRY(mica__op_infer(op, c->inputs, c->input_count, r->attrs, r->types));
  for (int32_t i = 0; i < c->input_count; i++) {
    MICA_TRY(make_input(check, c, i, r));
    inputs[i] = r->inputs[i].tensor;
  }
  for (int32_t k = 0; k < r->results; k++) {
    MICA_TRY(make_output(check, k, r));
    if (!(c->unwanted >> k & 1)) outputs[k] = r->outputs[k].tensor;
  }
  MICA_TRY(evaluate(op, c, r));
  mica__exec exec = {.queue = check->queue,
                     .attrs = r->attrs,
                     .inputs = inputs,
                     .input_count = c->input_count,
                     .output = outputs[0],
                     .outputs = outputs,
                     .classes = classes,
                     .variant = c->variants[classes == MICA__ON_GPU],
                     .notes = notes};
  MICA_TRY(op->launch(&exec));
  for (int32_t k = 0; k < r->results; k++) {
    find_bounds(c, k, r);
    if (outputs[k]) MICA_TRY(mica__check_compare(group, &r->outputs[k], r->want[k], r->magnitude[k]));
  }
  if (!(op->updates & 1)) return MICA_OK;
  /* The op may overwrite its first operand with the result, so it is launched once more with that operand in the
   * result's memory. */
  MICA_TRY(mica_op_copy(check->queue, inputs[0], outputs[0]));
  inputs[0] = outputs[0];
  MICA_TRY(op->launch(&exec));
  return mica__check_compare(group, &r->outputs[0], r->want[0], r->magnitude[0]);
}

/* The groups of one device class: one per kernel and variant; the first is for launches that fail before any kernel. */
typedef struct class_groups {
  mica__check_group list[1 + MICA__LAUNCH_NOTES];
  const mica__variant *variants[1 + MICA__LAUNCH_NOTES];
  size_t count;
} class_groups;

static mica_status find_group(class_groups *groups, const mica__kernel_desc *kernel, const mica__variant *variant,
                              mica__check_group **out) {
  size_t at = 1;
  while (at < groups->count && (groups->variants[at] != variant || groups->list[at].kernel != kernel->name)) at++;
  if (at == 1 + MICA__LAUNCH_NOTES)
    return mica__fail(MICA_E_STATE,
                      "the cases of an op launch more than %d kernels and variants, the most that can be checked",
                      MICA__LAUNCH_NOTES);
  if (at == groups->count) {
    groups->variants[groups->count++] = variant;
    groups->list[at] = mica__check_begin(groups->list[0].check, kernel->name, variant->name, groups->list[0].cases);
  }
  *out = &groups->list[at];
  return MICA_OK;
}

/* Adds a case to the groups of the kernels that it launched. Sets *right to false if checking must not continue. */
static mica_status add_case(class_groups *groups, const mica__launch_notes *notes, mica_status status, double worst,
                            size_t number, bool *right) {
  /* If a kernel cannot be built or is declined, it is the last one that the launch asked for. The status says nothing
   * about the launch's other kernels, which later cases cover. */
  const bool declined = status == MICA_E_UNSUPPORTED && notes->count > 0;
  size_t first = (status == MICA_E_BUILD || declined) && notes->count > 0 ? notes->count - 1 : 0;
  *right = status == MICA_OK || declined;
  if (notes->count == 0 && status != MICA_OK) mica__check_note(&groups->list[0], status, "case %zu", number);
  for (size_t n = first; n < notes->count; n++) {
    mica__check_group *group = NULL;
    MICA_TRY(find_group(groups, notes->list[n].kernel, notes->list[n].variant, &group));
    /* If the kernel was declined and the launch went on with another implementation, this kernel did not run. */
    const char *fault = status == MICA_OK ? notes->list[n].fault : NULL;
    if (!fault && worst > group->worst) group->worst = worst;
    mica__check_note(group, fault ? mica__fail(MICA_E_UNSUPPORTED, "%s", fault) : status, "case %zu of %s", number,
                     groups->list[0].cases);
  }
  return MICA_OK;
}

static mica_status check_class(mica__check *check, const mica__op *op, const mica__launch_case *list, size_t count,
                               unsigned class, class_groups *groups) {
  bool right = true;
  for (size_t i = 0; right && i < count; i++) {
    run r = {0};
    mica__launch_notes notes = {.check = check};
    mica__check_group now = {.check = check};
    bool wanted = true;
    for (int32_t t = 0; t < list[i].input_count; t++)
      wanted = wanted && mica__check_has_dtype(check, list[i].inputs[t].dtype);
    mica_status status = wanted ? run_case(&now, op, &list[i], class, &notes, &r) : MICA_OK;
    free_run(&r);
    MICA_TRY(add_case(groups, &notes, status, now.worst, i, &right));
  }
  return MICA_OK;
}

mica_status mica__check_launches_on(mica__check *check, const mica__op *op, const char *cases, unsigned on,
                                    const mica__launch_case *list, size_t count) {
  static const struct {
    const char *name;
    unsigned bit;
  } classes[] = {
      {"cpu", MICA__ON_CPU},
      {"gpu", MICA__ON_GPU},
  };
  mica_status status = MICA_OK;
  check->launches = true;
  for (size_t k = 0; status == MICA_OK && k < sizeof classes / sizeof *classes; k++) {
    class_groups groups = {.count = 1};
    char text[96];
    if (!(classes[k].bit & on)) continue;
    snprintf(text, sizeof text, "%s as on a %s", cases, classes[k].name);
    groups.list[0] = mica__check_begin(check, op->name, classes[k].name, text);
    mica__kernels_imitate_gpu(check->engine, classes[k].bit == MICA__ON_GPU);
    status = check_class(check, op, list, count, classes[k].bit, &groups);
    mica__kernels_imitate_gpu(check->engine, false);
    for (size_t g = 0; g < groups.count; g++) {
      mica_status ended = mica__check_end(&groups.list[g]);
      if (status == MICA_OK) status = ended;
    }
  }
  return status;
}

mica_status mica__check_launches(mica__check *check, const mica__op *op, const char *cases,
                                 const mica__launch_case *list, size_t count) {
  return mica__check_launches_on(check, op, cases, MICA__ON_ANY, list, count);
}
