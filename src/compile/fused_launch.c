#include "compile/fused_plan.h"

#include "runtime/kernel_source.h"

#include <mica/tensor.h>
#include <stdlib.h>

/* Indices are as wide as the kernel's index_t. */
static void push_index(mica__launch *launch, const mica__fused_plan *plan, int64_t value) {
  if (plan->wide)
    mica__launch_long(launch, value);
  else
    mica__launch_size(launch, value);
}

static void push_int(mica__launch *launch, mica_dtype dtype, int64_t value) {
  if (dtype == MICA_I64)
    mica__launch_long(launch, value);
  else
    mica__launch_scalar(launch, dtype, (double)value);
}

static void push_arg(mica__launch *launch, const mica__fused *fused, const mica__fused_plan *plan,
                     const mica__fused_arg *arg, const mica_tensor *const *operands) {
  const mica__fused_instr *instr = &fused->instrs[arg->instr];
  mica_dtype first = instr->arg_count ? fused->instrs[instr->args[0]].dtype : instr->dtype;
  switch (arg->kind) {
  case MICA__FUSED_ARG_UNITS: push_index(launch, plan, plan->units); break;
  case MICA__FUSED_ARG_PER: push_index(launch, plan, plan->per); break;
  case MICA__FUSED_ARG_CHUNK: push_index(launch, plan, plan->chunk); break;
  case MICA__FUSED_ARG_CHUNKS: push_index(launch, plan, plan->chunks); break;
  case MICA__FUSED_ARG_EXTENT: push_index(launch, plan, fused->extent[arg->index]); break;
  case MICA__FUSED_ARG_POINTER:
    mica__launch_tensor(launch, operands[instr->operand]);
    if (launch->status == MICA_OK) launch->args[launch->arg_count - 1].value.i64 += instr->access.offset;
    break;
  case MICA__FUSED_ARG_STRIDE: mica__launch_long(launch, instr->access.stride[arg->index]); break;
  case MICA__FUSED_ARG_LOW: mica__launch_long(launch, instr->low[arg->index]); break;
  case MICA__FUSED_ARG_HIGH: mica__launch_long(launch, instr->high[arg->index]); break;
  case MICA__FUSED_ARG_VALUE:
    mica__launch_scalar(launch, instr->kind == MICA__FUSED_LOAD ? fused->operand_dtype[instr->operand] : instr->dtype,
                        instr->value);
    break;
  case MICA__FUSED_ARG_REAL: mica__launch_scalar(launch, first, instr->attrs.reals[arg->index]); break;
  case MICA__FUSED_ARG_INT: push_int(launch, first, instr->attrs.ints[arg->index]); break;
  case MICA__FUSED_ARG_CACHE: {
    /* Never of 0 bytes, which OpenCL refuses. */
    int64_t n = fused->extent[plan->lane];
    mica__launch_local(launch, (size_t)(n ? n : 1) * (instr->dtype == MICA_F64 || instr->dtype == MICA_I64 ? 8 : 4));
    break;
  }
  }
}

/* What must move, for the profile: every access once. */
static double bytes_of(const mica__fused *fused, const mica__fused_plan *plan) {
  double bytes = 0;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_LOAD && instr->kind != MICA__FUSED_STORE) continue;
    double elements = 1;
    for (int32_t d = 0; d < fused->rank; d++)
      if (plan->depends[k] >> d & 1) elements *= (double)fused->extent[d];
    bytes += elements * (double)mica_dtype_size(fused->operand_dtype[instr->operand]);
  }
  return bytes;
}

static mica_status launch_kernel(mica_queue *queue, const mica__fused *fused, const mica__fused_plan *plan,
                                 const mica_tensor *const *operands) {
  mica__text source = {0}, expanded = {0};
  mica__kernel *kernel = NULL;
  char name[MICA__FUSED_NAME];
  mica__fused_name(fused, name);
  mica_status status = mica__fused_write(fused, plan, &source);
  if (status == MICA_OK) status = mica__kernel_source_expand_text(name, source.data, source.length, &expanded);
  if (status == MICA_OK)
    status = mica__kernel_get_source(mica__queue_engine(queue), name, expanded.data, NULL, &kernel);
  mica__text_free(&source);
  mica__text_free(&expanded);
  if (status != MICA_OK) return status;
  mica__launch launch = mica__launch_of(kernel);
  for (int32_t i = 0; i < plan->arg_count; i++) push_arg(&launch, fused, plan, &plan->args[i], operands);
  int64_t items = plan->group > 1 ? plan->units * plan->group : (plan->units + plan->per - 1) / plan->per;
  mica__launch_range1(&launch, items, (size_t)plan->local);
  double ops = 0, elements = 1;
  for (int32_t k = 0; k < fused->count; k++)
    ops += fused->instrs[k].kind == MICA__FUSED_OP || fused->instrs[k].kind == MICA__FUSED_REDUCE;
  for (int32_t d = 0; d < fused->rank; d++) elements *= (double)fused->extent[d];
  mica__launch_cost(&launch, ops * elements, bytes_of(fused, plan));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__fused_launch_as(mica_queue *queue, unsigned device_class, const mica__fused *fused,
                                  const mica_tensor *const *operands) {
  mica__fused *simple = malloc(sizeof *simple);
  mica__fused_plan *plan = malloc(sizeof *plan);
  mica_status status = simple && plan ? MICA_OK : mica__fail_nomem("a fused kernel");
  if (status == MICA_OK) {
    *simple = *fused;
    mica__fused_simplify(simple);
    status = mica__fused_plan_make(simple, device_class, plan);
  }
  if (status == MICA_OK && plan->units > 0) status = launch_kernel(queue, simple, plan, operands);
  free(plan);
  free(simple);
  return status;
}

mica_status mica__fused_launch(mica_queue *queue, const mica__fused *fused, const mica_tensor *const *operands) {
  unsigned device_class = mica__kernel_class(mica_engine_device(mica__queue_engine(queue)));
  return mica__fused_launch_as(queue, device_class, fused, operands);
}
