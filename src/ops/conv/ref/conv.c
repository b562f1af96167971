/* The reference implementation: any device and size, one work-item per element (cl/conv/ref/conv.cl). */
#include "ops/conv/conv.h"
#include "base/error.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES, MICA_F64),
    MICA__CASE("PASS", "0 forward, 1 backward data, 2 backward filter", 0, 1, 2),
};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__CONV_VALUES, 0)};
const mica__kernel_desc mica__conv_ref_kernel = {MICA__KERNEL("conv_ref", "conv/ref/conv.cl", params, variants)};

static const char *decline(const mica__task *task) {
  (void)task;
  return NULL;
}

static mica_status launch_reference(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__conv_ref_kernel, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(&mica__conv_ref_kernel, values, "PASS", (int32_t)conv->pass);
  MICA_TRY(mica__epilogue_begin(queue, &mica__conv_ref_kernel, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, &conv->dims);
  mica__launch_tensor(&launch, conv->pass == MICA__CONV_BWD_DATA ? conv->y : conv->x);
  mica__launch_tensor(&launch, conv->pass == MICA__CONV_BWD_FILTER ? conv->y : conv->w);
  mica__launch_range1(&launch, mica_tensor_count(conv->epilogue.d.tensor), MICA__RANGE_GROUP);
  return mica__conv_end(queue, &launch, conv);
}

const mica__impl mica__conv_ref = {
    .name = "conv_ref", .kernel = &mica__conv_ref_kernel, .decline = decline, .launch = launch_reference};
