/* Operands of floats that stay as they are, packed beforehand into the panels that gemm_tile reads
 * (cl/matmul/gemm_pack.cl). */
#include "base/error.h"
#include "ops/matmul/gemm.h"

static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, 0)};
const mica__kernel_desc mica__gemm_pack_kernel = {
    .name = "gemm_pack", .file = "matmul/gemm_pack.cl", .variants = variants, .variant_count = 1};

static mica_status launch_pack(mica_queue *queue, const mica__panels *p, int64_t batches, mica_tensor *packed) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(&mica__gemm_pack_kernel, &variants[0], values);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &mica__gemm_pack_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const int64_t sizes[] = {batches, p->outer, p->k, p->width, p->pitch};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_tensor(&launch, p->tensor);
  mica__launch_long(&launch, p->batch_stride);
  mica__launch_long(&launch, p->outer_stride);
  mica__launch_long(&launch, p->k_stride);
  mica__launch_tensor(&launch, packed);
  mica__launch_range1(&launch, mica_tensor_count(packed) / p->pitch, 64);
  mica__launch_cost(&launch, 0,
                    (double)mica_tensor_bytes(packed) +
                        (double)batches * (double)p->outer * (double)p->k * (double)sizeof(float));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__gemm_pack(mica_queue *queue, const mica__panels *p, mica_tensor **packed) {
  int64_t batches = p->batch_stride ? p->batches : 1, panels = (p->outer + p->width - 1) / p->width;
  mica_tensor *made = NULL;
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(batches, panels, p->k, p->pitch), &made));
  mica_status status = launch_pack(queue, p, batches, made);
  if (status == MICA_OK)
    *packed = made;
  else
    mica_tensor_destroy(made);
  return status;
}
