/* ops/select/launch_check.h: the check of ops that launch kernels of their own: the launch of every device class's
 * variants against the op's reference on whole tensors. */
#ifndef MICA_OPS_SELECT_LAUNCH_CHECK_H
#define MICA_OPS_SELECT_LAUNCH_CHECK_H

#include "ir/graph.h"
#include "ops/select/check.h"
#include "ops/select/choice.h"

#define MICA__CHECK_INPUTS 16

typedef struct mica__launch_case {
  const void *attrs; /* as a builder gives them; NULL for the defaults */
  mica__type inputs[MICA__CHECK_INPUTS];
  int32_t input_count;
  double bound
      [MICA__CHECK_INPUTS]; /* inputs are random from -bound to bound; integers are cut towards zero. 0 stands for 2 */
  /* How many terms a result is the sum of, for its tolerance; 0 if elements are moved or counted exactly. */
  double terms;
  /* The bound is that of a sum whose terms add up to the largest element of the result, for ops that are no sums: what
   * the reference makes of magnitudes bounds nothing there. */
  bool normwise;
  const char *variants[2]; /* mica__exec.variant, as on a CPU and as on a GPU */
  uint32_t unwanted;       /* bit k: the launch gets no tensor for result k */
  uint32_t whole;          /* bit k: input k is floating, but its values are whole numbers from 0 on */
  /* Bit k: the `count` values of input k come from `fill`, not from a bound. */
  uint32_t filled;
  void (*fill)(mica__check *check, const struct mica__launch_case *c, int32_t input, double *values, int64_t count);
} mica__launch_case;

/* All cases for each class, as one line of the report for each kernel and variant that their launches took. A case that
 * is wrong speaks against every kernel of its launch. Fails only when the checking itself cannot go on. */
mica_status mica__check_launches(mica__check *check, const mica__op *op, const char *cases,
                                 const mica__launch_case *list, size_t count);

/* The values of a kernel for these tensors: the variant of exec->classes, or what mica__kernel_choose finds, which
 * leaves out what is in quarantine. MICA_E_UNSUPPORTED if nothing is left. */
MICA_CHECKED mica_status mica__exec_values(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values);

/* The values of this variant, which the launch has chosen by itself. */
MICA_CHECKED mica_status mica__exec_variant(const mica__exec *exec, const mica__kernel_desc *desc,
                                            const mica__variant *variant, int32_t *values);

/* For an op with several kernels for the same: whether the launch may take this one, a variant of which suits
 * exec->classes, or the device and is not in quarantine. */
bool mica__exec_takes(const mica__exec *exec, const mica__kernel_desc *desc);

/* Chooses among implementations and queues: mica__choose_and_launch, or for a check mica__choose_for_check. */
MICA_CHECKED mica_status mica__exec_choose(const mica__exec *exec, const mica__impl *const *list, const void *problem,
                                           const char *key);

/* MICA__ON_CPU or MICA__ON_GPU: the class of kernels that a launch takes. */
unsigned mica__exec_class(const mica__exec *exec);

/* For mica__impl.decline of a launch with `exec`, NULL for mica__route: NULL if a variant of the kernel suits. */
const char *mica__exec_declines(const mica__exec *exec, const mica__task *task, const mica__kernel_desc *desc);

/* The kernels and variants of a launch, noted by mica__exec_values. */
#define MICA__LAUNCH_NOTES 8
typedef struct mica__launch_notes {
  struct {
    const mica__kernel_desc *kernel;
    const mica__variant *variant;
  } list[MICA__LAUNCH_NOTES];
  size_t count;
  struct mica__check *check; /* notified of each launch; may be NULL */
} mica__launch_notes;

#endif
