/* mica/kernel.h: kernels of the user's own, launched like Mica's. */
#include "base/checked.h"
#include "base/error.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"

#include <mica/kernel.h>
#include <string.h>

mica_status mica_kernel_build(mica_engine *engine, const char *name, const char *source, const char *options,
                              mica_kernel **kernel) {
  if (!engine || !name || !source || !kernel) return mica__fail(MICA_E_INVALID, "mica_kernel_build: a pointer is NULL");
  return mica__kernel_get_source(engine, name, source, options ? options : "", kernel);
}

static mica_status pack(mica__launch *launch, const mica_engine *engine, const mica_arg *arg, size_t index) {
  const char *name = mica__kernel_name(launch->kernel);
  switch (arg->kind) {
  case MICA_ARG_KIND_TENSOR:
    if (!arg->value.tensor || mica_tensor_engine(arg->value.tensor) != engine)
      return mica__fail(MICA_E_INVALID, "kernel %s: args[%zu] is %s", name, index,
                        arg->value.tensor ? "a tensor of another engine" : "NULL");
    mica__launch_tensor(launch, arg->value.tensor);
    return MICA_OK;
  case MICA_ARG_KIND_INT: mica__launch_size(launch, arg->value.integer); return MICA_OK;
  case MICA_ARG_KIND_LONG: mica__launch_long(launch, arg->value.integer); return MICA_OK;
  case MICA_ARG_KIND_FLOAT: mica__launch_float(launch, (float)arg->value.real); return MICA_OK;
  case MICA_ARG_KIND_LOCAL:
    if (arg->value.integer <= 0)
      return mica__fail(MICA_E_INVALID, "kernel %s: args[%zu] has %lld bytes of local memory, but must have at least 1",
                        name, index, (long long)arg->value.integer);
    mica__launch_local(launch, (size_t)arg->value.integer);
    return MICA_OK;
  }
  return mica__fail(MICA_E_INVALID, "kernel %s: args[%zu] has the unknown kind %d", name, index, (int)arg->kind);
}

mica_status mica_kernel_run(mica_queue *queue, mica_kernel *kernel, const mica_arg *args, size_t count,
                            const size_t global[3], const size_t local[3]) {
  if (!queue || !kernel || (count && !args) || !global || !local)
    return mica__fail(MICA_E_INVALID, "mica_kernel_run: a pointer is NULL");
  mica__launch launch = mica__launch_of(kernel);
  int64_t sizes[3];
  for (int d = 0; d < 3; d++) {
    if (local[d] == 0)
      return mica__fail(MICA_E_INVALID, "kernel %s: local[%d] is 0, but must be at least 1", mica__kernel_name(kernel),
                        d);
    if (!mica__fits_i64(global[d]))
      return mica__fail(MICA_E_OVERFLOW, "kernel %s: global[%d] is 2^63 or more", mica__kernel_name(kernel), d);
    sizes[d] = (int64_t)global[d];
  }
  for (size_t i = 0; i < count; i++) MICA_TRY(pack(&launch, mica__queue_engine(queue), &args[i], i));
  mica__launch_range3(&launch, sizes, local);
  memcpy(launch.local, local, sizeof launch.local); /* exactly the caller's sizes, or failure */
  return mica__queue_submit(queue, &launch);
}
