#include "compile/fused_split.h"
#include "runtime/kernel_bundle.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#include <mica/tensor.h>
#include <stdlib.h>

/* Adds an index as an argument, as wide as the kernel's index_t. */
static void push_index(mica__launch *launch, const mica__fused_plan *plan, int64_t value) {
  if (plan->wide)
    mica__launch_long(launch, value);
  else
    mica__launch_size(launch, value);
}

void mica__fused_push_arg(mica__launch *launch, const mica__fused *fused, const mica__fused_plan *plan,
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
    mica__launch_buffer(launch, mica__tensor_buffer(operands[instr->operand]),
                        mica__tensor_first(operands[instr->operand]) + instr->access.offset);
    break;
  case MICA__FUSED_ARG_STRIDE: mica__launch_long(launch, instr->access.stride[arg->index]); break;
  case MICA__FUSED_ARG_LOW: mica__launch_long(launch, instr->low[arg->index]); break;
  case MICA__FUSED_ARG_HIGH: mica__launch_long(launch, instr->high[arg->index]); break;
  case MICA__FUSED_ARG_VALUE:
    mica__launch_scalar(launch, instr->kind == MICA__FUSED_LOAD ? fused->operand_dtype[instr->operand] : instr->dtype,
                        instr->value);
    break;
  case MICA__FUSED_ARG_ATTR:
    mica__launch_scalar(launch, first, mica__attr_number(&instr->op->attrs->rows[arg->index], instr->attrs));
    break;
  case MICA__FUSED_ARG_CACHE: {
    /* OpenCL refuses a local argument of 0 bytes. */
    int64_t n = fused->extent[plan->lane];
    mica__launch_local(launch, (size_t)(n ? n : 1) * (mica_dtype_size(instr->dtype) == 8 ? 8 : 4));
    break;
  }
  }
}

/* The bytes that must move, for the profile: each access counts once. */
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

/* The state of a launch, allocated because it is too large for the stack. */
typedef struct work {
  mica_queue *queue;
  int32_t own;                 /* operands from this number on are workspace between passes, not the caller's */
  mica__kernel_bundle *bundle; /* if not NULL, the kernels are put into it and nothing is launched */
  mica__fused whole, pass;
  mica__fused_plan plan, pass_plan;
} work;

static mica_status launch_kernel(const work *w, const mica__fused *fused, mica__fused_plan *plan,
                                 const mica_tensor *const *operands) {
  mica__text source = {0};
  mica__kernel *kernel = NULL;
  char name[MICA__FUSED_NAME];
  mica__fused_name(fused, name);
  mica__fused_see_memory(fused, w->own, operands, plan);
  mica_status status = mica__fused_write(fused, plan, &source);
  if (status == MICA_OK && w->bundle)
    status = mica__kernel_bundle_add(w->bundle, name, source.data);
  else if (status == MICA_OK)
    status = mica__kernel_get_generated(mica__queue_engine(w->queue), name, source.data, &kernel);
  mica__text_free(&source);
  if (status != MICA_OK || w->bundle) return status;
  mica__launch launch = mica__launch_of(kernel);
  for (int32_t i = 0; i < plan->arg_count; i++) mica__fused_push_arg(&launch, fused, plan, &plan->args[i], operands);
  int64_t items = plan->group > 1 ? plan->units * plan->group : (plan->units + plan->per - 1) / plan->per;
  mica__launch_range1(&launch, items, (size_t)plan->local);
  double ops = 0, elements = 1;
  for (int32_t k = 0; k < fused->count; k++)
    ops += fused->instrs[k].kind == MICA__FUSED_OP || fused->instrs[k].kind == MICA__FUSED_REDUCE;
  for (int32_t d = 0; d < fused->rank; d++) elements *= (double)fused->extent[d];
  mica__launch_cost(&launch, ops * elements, bytes_of(fused, plan));
  return mica__queue_submit(w->queue, &launch);
}

/* Plans and launches w->pass. */
static mica_status launch_pass(work *w, const mica_tensor *const *operands) {
  /* A pass over pieces was made from a simplified list. It must not be simplified again, because `split` is the number
   * of one of its dimensions. */
  if (!w->pass.chunk) mica__fused_simplify(&w->pass);
  MICA_TRY(mica__fused_plan_make(&w->pass, &w->plan.target, &w->pass_plan));
  return w->pass_plan.units > 0 ? launch_kernel(w, &w->pass, &w->pass_plan, operands) : MICA_OK;
}

static mica_status launch_passes(work *w, int32_t split, int64_t chunk, const mica_tensor *const *operands) {
  int64_t pieces = mica__fused_split_pieces(&w->whole, split, chunk);
  int32_t levels = 0;
  for (int32_t k = 0; k < w->whole.count; k++)
    if (w->whole.instrs[k].kind == MICA__FUSED_REDUCE && w->plan.level[k] > levels) levels = w->plan.level[k];
  for (int32_t level = 1; level <= levels; level++) {
    mica__fused_split_pieces_pass(&w->whole, &w->plan, level, split, chunk, &w->pass);
    MICA_TRY(launch_pass(w, operands));
    mica__fused_split_join_pass(&w->whole, &w->plan, level, pieces, level == levels, &w->pass);
    MICA_TRY(launch_pass(w, operands));
  }
  return mica__fused_split_rest_pass(&w->whole, &w->plan, &w->pass) ? launch_pass(w, operands) : MICA_OK;
}

/* Launches all passes of a split kernel. Allocates workspace for the values that one pass stores for the next. It may
 * be freed after launching, because the memory pool keeps it until the device has finished. */
static mica_status launch_split(work *w, int32_t split, int64_t chunk, const mica_tensor *const *operands) {
  mica_tensor *own[MICA__FUSED_OPERANDS] = {NULL};
  const mica_tensor *all[MICA__FUSED_OPERANDS] = {NULL};
  int64_t rows = 1, pieces = mica__fused_split_pieces(&w->whole, split, chunk);
  int32_t count = w->whole.operand_count;
  mica_status status = MICA_OK;
  for (int32_t o = 0; o < count; o++) all[o] = operands[o];
  if (w->bundle) return launch_passes(w, split, chunk, all);
  for (int32_t d = 0; d < w->whole.rank - w->whole.reduced; d++) rows *= w->whole.extent[d];
  for (int32_t k = 0; k < w->whole.count && status == MICA_OK; k++) {
    mica_dtype dtype = w->whole.instrs[k].dtype;
    if (w->whole.instrs[k].kind != MICA__FUSED_REDUCE) continue;
    if (dtype == MICA_F16 || dtype == MICA_BF16) dtype = MICA_F32;
    for (int i = 0; i < 2 && status == MICA_OK; i++, count++) {
      status = mica__workspace_tensor(w->queue, dtype, MICA_SHAPE(rows, i ? 1 : pieces), &own[count]);
      all[count] = own[count];
    }
  }
  if (status == MICA_OK) status = launch_passes(w, split, chunk, all);
  for (int32_t o = 0; o < MICA__FUSED_OPERANDS; o++) mica_tensor_destroy(own[o]);
  return status;
}

/* MICA_E_UNSUPPORTED if a step computes in double precision, which the device lacks. */
static mica_status check_doubles(const mica__fused *fused, const mica_device_info *device) {
  for (int32_t k = 0; k < fused->count && !(device->features & MICA_FEATURE_FP64); k++)
    if (fused->instrs[k].dtype == MICA_F64)
      return mica__fail(MICA_E_UNSUPPORTED, "the graph has f64 values, but %s has no double precision", device->name);
  return MICA_OK;
}

/* Launches on the queue, or puts the kernels into the bundle. */
static mica_status run(mica_engine *engine, mica_queue *queue, unsigned device_class, const mica__fused *fused,
                       const mica_tensor *const *operands, mica__kernel_bundle *bundle) {
  MICA_TRY(check_doubles(fused, mica_engine_device(engine)));
  work *w = malloc(sizeof *w);
  if (!w) return mica__fail_nomem("a fused kernel");
  int32_t split = 0;
  int64_t chunk = 0;
  w->queue = queue;
  w->bundle = bundle;
  mica__fused_copy(&w->whole, fused);
  w->own = fused->operand_count;
  mica__fused_simplify(&w->whole);
  const mica_device_info *device = mica_engine_device(engine);
  const mica__fused_target target = {device_class, device->max_group, device->local_bytes};
  mica_status status = mica__fused_plan_make(&w->whole, &target, &w->plan);
  if (status == MICA_OK && mica__fused_split_choose(&w->whole, &w->plan, &split, &chunk))
    status = launch_split(w, split, chunk, operands);
  else if (status == MICA_OK && w->plan.units > 0)
    status = launch_kernel(w, &w->whole, &w->plan, operands);
  free(w);
  return status;
}

mica_status mica__fused_launch_as(mica_queue *queue, unsigned device_class, const mica__fused *fused,
                                  const mica_tensor *const *operands) {
  return run(mica__queue_engine(queue), queue, device_class, fused, operands, NULL);
}

mica_status mica__fused_launch(mica_queue *queue, const mica__fused *fused, const mica_tensor *const *operands) {
  unsigned device_class = mica__kernel_class(mica_engine_device(mica__queue_engine(queue)));
  return mica__fused_launch_as(queue, device_class, fused, operands);
}

mica_status mica__fused_collect(mica_engine *engine, const mica__fused *fused, const mica_tensor *const *operands,
                                mica__kernel_bundle *bundle) {
  return run(engine, NULL, mica__kernel_class(mica_engine_device(engine)), fused, operands, bundle);
}
