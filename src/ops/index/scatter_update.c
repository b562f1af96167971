/* A scatter whose result is its base's own memory: cl/index/scatter_update.cl. */
#include "base/error.h"
#include "ops/index/index.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"

/* Every index is compared with all others; above this many, sorting them takes less time. */
#define MOST_INDICES 64

static const mica__kernel_param params[] = {
    MICA__DTYPE("U_T", "type of the updates and the result", MICA__DTYPES),
    MICA__DTYPE("I_T", "type of the indices", MICA_I64, MICA_I32),
    MICA__INT("JOIN", "0 the last stays, 1 sum, 2 product, 3 largest, 4 smallest", 0, 1, 2, 3, 4),
    MICA__INT("EACH", "1: an index for every element, not for every row", 0, 1),
    MICA__INT("VW", "elements a work-item makes", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_I64, MICA_SCATTER_SET, 0, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I64, MICA_SCATTER_SET, 0, 1),
};
const mica__kernel_desc mica__scatter_update_kernel = {
    MICA__KERNEL("scatter_update", "index/scatter_update.cl", params, variants)};

bool mica__scatter_takes_update(const mica__exec *exec, const mica__index_view *v) {
  return v->m <= MOST_INDICES && mica__tensor_same_memory(exec->inputs[0], exec->output);
}

mica_status mica__scatter_update(const mica__exec *exec, const mica__index_view *v, bool elements, int32_t join) {
  const mica__kernel_desc *desc = &mica__scatter_update_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "U_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(desc, values, "I_T", (int32_t)mica_tensor_dtype(exec->inputs[1]));
  mica__kernel_set(desc, values, "JOIN", join);
  mica__kernel_set(desc, values, "EACH", elements);
  int64_t width = elements ? 1 : values[mica__kernel_param_index(desc, "VW")];
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[2]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_tensor(&launch, exec->inputs[1]);
  mica__launch_size(&launch, v->outer);
  mica__launch_size(&launch, v->n);
  mica__launch_size(&launch, v->m);
  mica__launch_size(&launch, v->inner);
  mica__launch_range1(&launch, v->outer * v->m * ((v->inner + width - 1) / width), MICA__RANGE_GROUP);
  /* The updates are read, and as much is written; what is joined with the old elements reads these too. */
  double bytes = (double)mica_tensor_bytes(exec->inputs[2]);
  mica__launch_cost(&launch, join == MICA_SCATTER_SET ? 0 : (double)mica_tensor_count(exec->inputs[2]),
                    (join == MICA_SCATTER_SET ? 2 : 3) * bytes + (double)mica_tensor_bytes(exec->inputs[1]));
  return mica__queue_submit(exec->queue, &launch);
}
