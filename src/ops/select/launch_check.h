/* ops/select/launch_check.h: the check of ops that launch kernels themselves. It launches each case with the
 * variants of every device class, and compares whole results with the op's reference. */
#ifndef MICA_OPS_SELECT_LAUNCH_CHECK_H
#define MICA_OPS_SELECT_LAUNCH_CHECK_H

#include "ir/graph.h"
#include "ops/select/check.h"
#include "ops/select/choice.h"

#define MICA__CHECK_INPUTS 16

typedef struct mica__launch_case {
  const void *attrs; /* the op's attributes, as its builder makes them; NULL for the defaults */
  mica__type inputs[MICA__CHECK_INPUTS];
  int32_t input_count;
  double bound[MICA__CHECK_INPUTS]; /* inputs are random, |x| <= bound; integers are truncated. 0 means 2 */
  /* The number of terms in a result's sum, for its tolerance; 0 if every element must be exact. */
  double terms;
  /* The allowed error is that of a sum whose terms' absolute values add up to that of the result's largest element. For
   * ops that are not sums, where the reference on absolute values would give no bound. */
  bool normwise;
  const char *variants[2]; /* mica__exec.variant, on a CPU and on a GPU */
  uint32_t unwanted;       /* bit k: the launch gets no tensor for result k */
  uint32_t whole;          /* bit k: the values of input k are whole numbers of at least 0 */
  /* Bit k: `fill` makes the `count` values of input k; its bound is not used. */
  uint32_t filled;
  void (*fill)(mica__check *check, const struct mica__launch_case *c, int32_t input, double *values, int64_t count);
} mica__launch_case;

/* Runs all cases for each device class and reports one line per kernel and variant that the launches used. A wrong
 * result counts against every kernel of its launch, a failed build only against the kernel that was asked for last.
 * Fails only if the check itself cannot go on. */
mica_status mica__check_launches(mica__check *check, const mica__op *op, const char *cases,
                                 const mica__launch_case *list, size_t count);
/* Like mica__check_launches, but only for the classes whose MICA__ON_... bits are set in `on`. For cases that name a
 * variant for one class: with another class they would test nothing new. */
mica_status mica__check_launches_on(mica__check *check, const mica__op *op, const char *cases, unsigned on,
                                    const mica__launch_case *list, size_t count);

/* Gets the values of a kernel's parameters for a launch: from its variant for exec->classes, or, if these are 0 or
 * the kernel has no variant for them, from the choice of mica__kernel_choose, which skips variants in quarantine.
 * MICA_E_UNSUPPORTED if no variant is left, or if the platform's compiler is known to fail on it. */
MICA_CHECKED mica_status mica__exec_values(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values);

/* Gets the values of a variant that the launch has chosen itself. MICA_E_UNSUPPORTED if the platform's compiler is
 * known to fail on it. */
MICA_CHECKED mica_status mica__exec_variant(const mica__exec *exec, const mica__kernel_desc *desc,
                                            const mica__variant *variant, int32_t *values);

/* For an op with several kernels for one purpose: true if the launch may use this one. One of its variants must suit
 * exec->classes or, if these are 0, fit the device and not be in quarantine. */
bool mica__exec_takes(const mica__exec *exec, const mica__kernel_desc *desc);

/* Chooses an implementation and queues it: mica__choose_and_launch, or in a check mica__choose_for_check. */
MICA_CHECKED mica_status mica__exec_choose(const mica__exec *exec, const mica__impl *const *list, const void *problem,
                                           const char *key);

/* Returns the class of kernels for a launch: MICA__ON_CPU or MICA__ON_GPU. */
unsigned mica__exec_class(const mica__exec *exec);

/* For mica__impl.decline: NULL if the launch may use the kernel (mica__exec_takes), otherwise the reason. exec is NULL
 * if mica__route asks; a variant must then fit task->device. */
const char *mica__exec_declines(const mica__exec *exec, const mica__task *task, const mica__kernel_desc *desc);

/* The kernels and variants of a launch, each once, noted by mica__exec_variant, which mica__exec_values calls too. */
#define MICA__LAUNCH_NOTES 12
typedef struct mica__launch_notes {
  struct {
    const mica__kernel_desc *kernel;
    const mica__variant *variant;
    const char *fault; /* why the kernel was declined, such as a compiler's fault; NULL if it was launched */
  } list[MICA__LAUNCH_NOTES];
  size_t count;
  struct mica__check *check; /* announces each kernel to the watching process before its launch; may be NULL */
} mica__launch_notes;

#endif
