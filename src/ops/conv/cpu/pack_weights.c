/* Weights in the order of register tiles (cl/conv/cpu/pack_weights.cl). */
#include "ops/conv/cpu/pack_weights.h"

#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of w", MICA__CONV_TYPES),
    MICA__INT("PART", "rows of a tile that are packed at a time", 1, 2, 4, 6, 8),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 8)};
const mica__kernel_desc mica__conv_cpu_pack_weights_kernel = {
    MICA__KERNEL("conv_cpu_pack_weights", "conv/cpu/pack_weights.cl", params, variants)};

MICA__FIELDS(size_fields, PACK_WEIGHTS_SIZE);

bool mica__conv_packing_is_bad(mica_engine *engine) {
  return mica__variant_is_bad(engine, &mica__conv_cpu_pack_weights_kernel, &variants[0]);
}

int64_t mica__conv_packed_count(const mica__conv_phase *w, int64_t rows) {
  return w->groups * mica__ceil_div(w->k, rows) * rows * w->c * mica__product3(w->taps);
}

mica_status mica__conv_cpu_pack_weights(mica_queue *queue, const mica__conv *conv, const mica__conv_phase *w,
                                        int32_t rows, int64_t block, mica_buffer *packed, int64_t first) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(&mica__conv_cpu_pack_weights_kernel, &variants[0], values);
  mica__kernel_set(&mica__conv_cpu_pack_weights_kernel, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(&mica__conv_cpu_pack_weights_kernel, values, "PART", rows < 8 ? rows : 8);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &mica__conv_cpu_pack_weights_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, conv->w);
  const int64_t *taps = w->taps;
  const size_fields s = {
      .CG = w->c, .KG = w->k, .TAPS0 = taps[0], .TAPS1 = taps[1], .TAPS2 = taps[2], .CB = block, .MR = rows};
  mica__launch_long(&launch, w->w_at);
  mica__launch_sizes(&launch, s.values);
  mica__conv_push_strides(&launch, w, mica_tensor_count(conv->w) - w->w_at);
  mica__launch_buffer(&launch, packed, first);
  const int64_t groups[] = {mica__ceil_div(w->c, block) * mica__ceil_div(w->k, rows), w->groups, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, 2 * (double)mica__conv_packed_count(w, rows) * sizeof(float));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__conv_cpu_launch_packed(mica_queue *queue, const mica__task *task, const mica__conv_phase *w,
                                         int32_t rows, mica__conv_packed_launch *launch) {
  const mica__conv *conv = task->problem;
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_buffer *packed = NULL;
  const int64_t count = mica__conv_packed_count(w, rows);
  MICA_TRY(mica__workspace_create(packer, (size_t)(count + 1) * sizeof(float), &packed));
  mica_status status = count > 0 ? mica__conv_cpu_pack_weights(packer, conv, w, rows, w->c, packed, 0) : MICA_OK;
  if (status == MICA_OK) status = launch(queue, task, packed);
  mica_buffer_destroy(packed);
  return status;
}
