/* Packs constant operands of floats into the panels that gemm_tile reads (cl/matmul/cpu/pack.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__INT("NV", "vectors in a row of a panel; 0 any panels", 0, 1, 2, 3, 4),
    MICA__INT("VW", "elements of a vector", 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("any", MICA__ON_ANY, 0, 16),
    MICA__VARIANT("cpu", MICA__ON_CPU, 4, 16),
};
const mica__kernel_desc mica__gemm_pack_kernel = {MICA__KERNEL("gemm_pack", "matmul/cpu/pack.cl", params, variants)};

/* The steps of K that a work-group packs: a large matrix then has tens of groups. */
#define BLOCK_K 128
#define VW 16

static bool in_vectors(const mica__panels *p, const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_CPU && p->pitch == p->width && p->width % VW == 0 &&
         mica__kernel_choice(&mica__gemm_pack_kernel, "NV", (int32_t)(p->width / VW)) > 0;
}

static mica_status launch_pack(mica_queue *queue, const mica__panels *p, int64_t batches, mica_tensor *packed) {
  const mica__kernel_desc *desc = &mica__gemm_pack_kernel;
  mica_engine *engine = mica__queue_engine(queue);
  bool vectors = in_vectors(p, mica_engine_device(engine));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &variants[vectors], values);
  if (vectors) mica__kernel_set(desc, values, "NV", (int32_t)(p->width / VW));
  MICA_TRY(mica__kernel_get(engine, desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const int64_t sizes[] = {batches, p->outer, p->k, p->width, p->pitch, BLOCK_K};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_tensor(&launch, p->tensor);
  mica__launch_long(&launch, p->batch_stride);
  mica__launch_long(&launch, p->outer_stride);
  mica__launch_long(&launch, p->k_stride);
  mica__launch_tensor(&launch, packed);
  const int64_t groups[] = {mica__ceil_div(p->k, BLOCK_K), mica__ceil_div(p->outer, p->width), batches};
  if (vectors)
    mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  else
    mica__launch_range1(&launch, mica_tensor_count(packed) / p->pitch, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0,
                    (double)mica_tensor_bytes(packed) +
                        (double)batches * (double)p->outer * (double)p->k * (double)sizeof(float));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__gemm_pack(mica_queue *queue, const mica__panels *p, mica_tensor **packed) {
  int64_t batches = p->batch_stride ? p->batches : 1, panels = mica__ceil_div(p->outer, p->width);
  mica_tensor *made = NULL;
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(batches, panels, p->k, p->pitch), &made));
  mica_status status = launch_pack(queue, p, batches, made);
  if (status == MICA_OK)
    *packed = made;
  else
    mica_tensor_destroy(made);
  return status;
}
