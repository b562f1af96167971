/* ops/impl.h: the ways in which an op can be computed, as an ordered list with the reference last.
 *
 * An op describes what is asked of it as a problem, a struct of its own, checked and complete. An implementation looks
 * at problem and device and declines with a reason, or takes it; the first that takes it is the op's choice, until a
 * tuner that has measured says otherwise. The reference declines nothing. */
#ifndef MICA_OPS_IMPL_H
#define MICA_OPS_IMPL_H

#include "runtime/kernel.h"

typedef struct mica__impl {
  const char *name;
  /* The kernel whose variants it can be run with. */
  const mica__kernel_desc *kernel;
  /* NULL when it takes the problem on this device; else why not, in a few words: "the matrices are large". Builds and
   * allocates nothing. */
  const char *(*decline)(const void *problem, const mica_device_info *device);
  /* Bytes of device memory that launch takes from the pool beside its operands; NULL for none. */
  size_t (*workspace)(const void *problem, const mica_device_info *device);
  /* Queues the kernels; does not wait. variant is one of kernel's, or NULL for the one that suits problem and device.
   * Does not ask decline, so that tests and the doctor can run GPU kernels on a CPU. */
  mica_status (*launch)(mica_queue *queue, const void *problem, const mica__variant *variant);
} mica__impl;

#endif
