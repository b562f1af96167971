/* ops/select/impl.h: the ways in which an op can be computed, as an ordered list with the reference last.
 *
 * An op describes what is asked of it as a problem, a struct of its own, checked and complete. An implementation looks
 * at problem and device and declines with a reason, or takes it; the first that takes it is the op's choice, until a
 * tuner that has measured says otherwise. The reference declines nothing. */
#ifndef MICA_OPS_SELECT_IMPL_H
#define MICA_OPS_SELECT_IMPL_H

#include "runtime/kernel.h"

typedef struct mica__impl {
  const char *name;
  /* The kernel whose variants it can be run with; NULL where the kernels are another library's (then only_tuned). */
  const mica__kernel_desc *kernel;
  /* NULL when launch can compute the problem at all, on whatever device and however slowly; else why not, in a few
   * words: "the filter is not 3 x 3". May itself be NULL: it computes everything. Checks run what is able. */
  const char *(*unable)(const void *problem);
  /* NULL when it takes a problem, one that it is able to compute, on this device; else why not, in a few words: "the
   * matrices are large". Builds and allocates nothing. */
  const char *(*decline)(const void *problem, const mica_device_info *device);
  /* Not by itself the choice for anything, only where a tuner has found it best. */
  bool only_tuned;
  /* Bytes of device memory that launch takes from the pool beside its operands; NULL for none. */
  size_t (*workspace)(const void *problem, const mica_device_info *device);
  /* Queues the kernels; does not wait. variant is one of kernel's, or NULL for the one that suits problem and device.
   * Does not ask decline, so that tests and the doctor can run GPU kernels on a CPU. */
  mica_status (*launch)(mica_queue *queue, const void *problem, const mica__variant *variant);
  /* For checks and tuners: writes for `count` elements of the result the sum of the absolute values that each is made
   * of, where that is another than the plain sum's (fast algorithms that add and subtract before they multiply). at:
   * the elements, in the result's order in memory; NULL for the first `count`. a and b are the operands, as the op's
   * reference takes them; variant as launch takes it. NULL: the plain sum's. */
  void (*magnitude)(const void *problem, const mica__variant *variant, const double *a, const double *b,
                    const int64_t *at, int64_t count, double *magnitude);
} mica__impl;

/* For `decline`: NULL on a device of that class. */
static inline const char *mica__needs_cpu(const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_CPU ? NULL : "it is for CPUs";
}
static inline const char *mica__needs_gpu(const mica_device_info *device) {
  return mica__kernel_class(device) == MICA__ON_GPU ? NULL : "it is for GPUs";
}

#endif
