/* ops/select/impl.h: the ways in which an op can be computed, as an ordered list with the reference last.
 *
 * An op describes what is asked of it as a problem, a struct of its own, checked and complete. An implementation looks
 * at problem and device, plans how it would cut the work, and declines with a reason or takes it; the first that takes
 * it is the op's choice, until a tuner that has measured says otherwise. The reference declines nothing. */
#ifndef MICA_OPS_SELECT_IMPL_H
#define MICA_OPS_SELECT_IMPL_H

#include "runtime/kernel.h"

#include <stddef.h>
#include <string.h>

#define MICA__PLAN_BYTES 768

/* A problem for an implementation, and its plan: blocking, launch geometry, sizes of workspaces. A plan is made once,
 * and read by `decline` and `launch`. */
typedef struct mica__task {
  const void *problem; /* the op's struct: mica__gemm, mica__conv */
  const mica_device_info *device;
  mica_engine *engine;          /* NULL for a device that need not be there: what is in quarantine is not known then */
  const mica__variant *variant; /* of the implementation's kernel; NULL for the one that suits problem and device */
  union {
    max_align_t align;
    unsigned char bytes[MICA__PLAN_BYTES];
  } plan;
} mica__task;

/* In an implementation's file, after its struct: keep_plan and plan_of, for a task's plan of that type. */
#define MICA__TASK_PLAN(type)                                                                                          \
  _Static_assert(sizeof(type) <= MICA__PLAN_BYTES, "a task has room for the plan");                                    \
  static void keep_plan(mica__task *task, type made) { memcpy(task->plan.bytes, &made, sizeof made); }                 \
  static const type *plan_of(const mica__task *task) { return (const type *)(const void *)task->plan.bytes; }

typedef struct mica__impl {
  const char *name;
  /* The kernel whose variants it can be run with; NULL if the kernels are another library's (then only_tuned). */
  const mica__kernel_desc *kernel;
  /* NULL when launch can compute the problem at all, on whatever device and however slowly; else why not, in a few
   * words: "the filter is not 3 x 3". May itself be NULL: it computes everything. Checks run what is able. */
  const char *(*unable)(const void *problem);
  /* Fills task->plan for a problem that it is able to compute, from the rest of the task. NULL: nothing to plan. */
  void (*plan)(mica__task *task);
  /* NULL when it takes a planned task on this device; else why not, in a few words that name a property of the problem
   * or the device: "the matrices are large". Builds and allocates nothing. */
  const char *(*decline)(const mica__task *task);
  /* Not by itself the choice for anything, only where a tuner has found it best. */
  bool only_tuned;
  /* Queues the kernels of a planned task; does not wait. Does not ask decline, so that tests and the doctor can run
   * GPU kernels on a CPU. */
  mica_status (*launch)(mica_queue *queue, const mica__task *task);
  /* For checks and tuners: writes for `count` elements of the result the sum of the absolute values that each is made
   * of, where that is another than the plain sum's (fast algorithms that add and subtract before they multiply). at:
   * the elements, in the result's order in memory; NULL for the first `count`. a and b are the operands, as the op's
   * reference takes them; variant as a task has it. NULL: the plain sum's. */
  void (*magnitude)(const void *problem, const mica__variant *variant, const double *a, const double *b,
                    const int64_t *at, int64_t count, double *magnitude);
} mica__impl;

/* Plans and queues a problem that the implementation is able to compute, with a variant or NULL, asking nothing. */
mica_status mica__impl_launch(mica_queue *queue, const mica__impl *impl, const void *problem,
                              const mica__variant *variant);

/* For `decline`: NULL on a device of that class. */
static inline const char *mica__needs_cpu(const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_CPU ? NULL : "it is for CPUs";
}
static inline const char *mica__needs_gpu(const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_GPU ? NULL : "it is for GPUs";
}

#endif
