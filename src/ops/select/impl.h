/* ops/select/impl.h: the implementations of an op, as an ordered list with the reference last.
 *
 * An op describes what it must compute as a problem: its own struct, checked and complete. An implementation looks at
 * problem and device, plans how to divide the work, and takes the problem or declines it with a reason. The op chooses
 * the first one that takes it, unless a tuner has measured a better one. The reference never declines.
 *
 * Variants in quarantine are not used: a check or a tuner found their results wrong on this device, or they could not
 * be built (runtime/tuning.h). */
#ifndef MICA_OPS_SELECT_IMPL_H
#define MICA_OPS_SELECT_IMPL_H

#include "runtime/kernel.h"

#include <stddef.h>
#include <string.h>

#define MICA__PLAN_BYTES 768

/* A problem for an implementation, and its plan: blocking, launch geometry, sizes of workspaces. A plan is made once,
 * then read by `decline` and `launch`. */
typedef struct mica__task {
  const void *problem; /* the op's struct, such as mica__gemm or mica__conv */
  const mica_device_info *device;
  /* NULL for a device that need not be present; which variants are in quarantine is then unknown. */
  mica_engine *engine;
  const mica__variant *variant; /* of the implementation's kernel; if NULL, the implementation chooses */
  union {
    max_align_t align;
    unsigned char bytes[MICA__PLAN_BYTES];
  } plan;
} mica__task;

/* Defines keep_plan and plan_of, which write and read a task's plan of the given type. An implementation's file uses it
 * after the struct of its plan. */
#define MICA__TASK_PLAN(type)                                                                                          \
  _Static_assert(sizeof(type) <= MICA__PLAN_BYTES, "a task has room for the plan");                                    \
  static void keep_plan(mica__task *task, type made) { memcpy(task->plan.bytes, &made, sizeof made); }                 \
  static const type *plan_of(const mica__task *task) { return (const type *)(const void *)task->plan.bytes; }

typedef struct mica__impl {
  const char *name;
  /* The kernel whose variants it can run with; NULL if the kernels are another library's (then only_tuned). */
  const mica__kernel_desc *kernel;
  /* A second kernel that launches need, such as one that packs the weights; may be NULL. While its variant for the
   * device is in quarantine, the implementation is not used. */
  const mica__kernel_desc *helper;
  /* Returns NULL if launch can compute the problem at all, on any device and however slowly. Otherwise returns the
   * reason in a few words: "the filter is not 3 x 3". Checks run every problem that is allowed here. If `unable` is
   * NULL, the implementation computes everything. */
  const char *(*unable)(const void *problem);
  /* Fills task->plan from the rest of the task, for a problem that the implementation can compute. NULL if the
   * implementation plans nothing. */
  void (*plan)(mica__task *task);
  /* Returns NULL if the implementation takes a planned task on its device. Otherwise returns the reason, a property of
   * the problem or the device in a few words: "the matrices are large". Builds and allocates nothing. If `decline` is
   * NULL, the implementation takes every task. */
  const char *(*decline)(const mica__task *task);
  /* Never chosen by its place in the list, only if a tuner found it best. */
  bool only_tuned;
  /* Queues the kernels of a planned task; does not wait. Does not call decline, so that tests and the doctor can run
   * GPU kernels on a CPU. */
  mica_status (*launch)(mica_queue *queue, const mica__task *task);
  /* For each of `count` elements of the result, writes the sum of the absolute values of the terms that the
   * implementation adds. Checks and tuners derive tolerances from it. Fast algorithms, which add and subtract before
   * they multiply, have other terms than the plain sum; for other implementations this is NULL.
   *
   * `at` has the indices of the elements in the result's memory; if it is NULL, they are the first `count`. a and b are
   * the operands in the reference's order. variant is as in a task. */
  void (*magnitude)(const void *problem, const mica__variant *variant, const double *a, const double *b,
                    const int64_t *at, int64_t count, double *magnitude);
} mica__impl;

/* Plans and queues a problem that the implementation can compute, with a variant or NULL, without calling decline. */
mica_status mica__impl_launch(mica_queue *queue, const mica__impl *impl, const void *problem,
                              const mica__variant *variant);

/* For `decline`: NULL if the device runs kernels for CPUs (mica__needs_cpu) or for GPUs (mica__needs_gpu), otherwise
 * the reason. */
static inline const char *mica__needs_cpu(const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_CPU ? NULL : "it runs on CPUs only";
}
static inline const char *mica__needs_gpu(const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_GPU ? NULL : "it runs on GPUs only";
}

#endif
