#include "ops/select/launch_check.h"

#include "base/error.h"
#include "ops/common/tolerance.h"
#include "runtime/launch.h"

#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>

void mica__exec_values(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values) {
  const mica__variant *variant = NULL;
  for (int v = 0; exec->classes && !variant && v < desc->variant_count; v++)
    if (desc->variants[v].classes & exec->classes) variant = &desc->variants[v];
  if (!variant) variant = mica__kernel_variant(desc, mica_engine_device(mica__queue_engine(exec->queue)));
  mica__kernel_values(desc, variant, values);
}

/* One case as it runs. */
typedef struct run {
  mica__check_tensor inputs[MICA__CHECK_INPUTS], outputs[MICA__MAX_RESULTS];
  double *values[MICA__CHECK_INPUTS]; /* the magnitudes of floating inputs, the values of others */
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

/* The reference, and the same of the magnitudes, which bounds the error of sums. */
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

static mica_status make_input(mica__check *check, const mica__launch_case *c, int32_t i, run *r) {
  MICA_TRY(mica__check_input(check, c->inputs[i].dtype, c->inputs[i].shape, c->bound[i] > 0 ? c->bound[i] : 2,
                             &r->inputs[i]));
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

/* The bounds of a result, in the place of its magnitudes. */
static void find_bounds(const mica__launch_case *c, int32_t k, run *r) {
  mica_dtype dtype = r->types[k].dtype, compute = dtype == MICA_F16 || dtype == MICA_BF16 ? MICA_F32 : dtype;
  double *bound = r->magnitude[k];
  for (int64_t i = 0; i < r->outputs[k].count; i++)
    bound[i] = c->terms > 0 ? mica__tolerance_sum(compute, dtype, c->terms, fabs(bound[i]), r->want[k][i]) : 0;
}

static mica_status run_case(mica__check_group *group, const mica__op *op, const mica__launch_case *c, unsigned classes,
                            run *r) {
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
                     .classes = classes};
  MICA_TRY(op->launch(&exec));
  for (int32_t k = 0; k < r->results; k++) {
    find_bounds(c, k, r);
    if (outputs[k]) MICA_TRY(mica__check_compare(group, &r->outputs[k], r->want[k], r->magnitude[k]));
  }
  if (!(op->updates & 1)) return MICA_OK;
  /* Launched again with the first operand in the result's memory. */
  MICA_TRY(mica_op_copy(check->queue, inputs[0], outputs[0]));
  inputs[0] = outputs[0];
  MICA_TRY(op->launch(&exec));
  return mica__check_compare(group, &r->outputs[0], r->want[0], r->magnitude[0]);
}

mica_status mica__check_launches(mica__check *check, const mica__op *op, const char *cases,
                                 const mica__launch_case *list, size_t count) {
  static const struct {
    const char *name;
    unsigned bit;
  } classes[] = {
      {"cpu", MICA__ON_CPU},
      {"gpu", MICA__ON_GPU},
  };
  for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
    mica__check_group group = mica__check_begin(check, op->name, classes[k].name, cases);
    for (size_t i = 0; i < count; i++) {
      run r = {0};
      bool wanted = true;
      for (int32_t t = 0; t < list[i].input_count; t++)
        wanted = wanted && mica__check_has_dtype(check, list[i].inputs[t].dtype);
      mica_status status = wanted ? run_case(&group, op, &list[i], classes[k].bit, &r) : MICA_OK;
      free_run(&r);
      if (!mica__check_note(&group, status, "case %zu of %s", i, cases)) break;
    }
    mica__check_end(&group);
  }
  return MICA_OK;
}
