/* ops/select/check.h: compares kernels with a reference, for the doctor (a quick grid, on any user's device) and for
 * tests (a full grid). An op's check (mica__op.check) and its naive reference are in the op's folder. */
#ifndef MICA_OPS_SELECT_CHECK_H
#define MICA_OPS_SELECT_CHECK_H

#include "ops/select/watch.h"
#include "runtime/kernel.h"

#include <mica/doctor.h>
#include <mica/tensor.h>
#include <stdbool.h>

/* OWN and SMALL are for simulated devices, with the cases of the quick grid. OWN runs only the kernels that the
 * device itself might choose; SMALL runs all kernels that the full grid runs. */
typedef enum mica__check_level {
  MICA__CHECK_QUICK,
  MICA__CHECK_OWN,
  MICA__CHECK_SMALL,
  MICA__CHECK_FULL
} mica__check_level;

typedef struct mica__check {
  mica_engine *engine;
  mica_queue *queue;
  mica__check_level level;
  const char *op;
  mica_doctor_fn *fn;
  void *user;
  mica_doctor_summary summary;
  uint64_t random;               /* state of the random generator, which starts with the same value in every run */
  size_t groups;                 /* begun so far */
  size_t cases;                  /* in the lines reported so far */
  mica__text run;                /* KERNEL.VARIANT of every line with cases, each between newlines */
  bool launches;                 /* mica__check_launches ran: variants that no case ran are then reported as skipped */
  bool dry_run;                  /* conv and gemm: cases are made and counted, not launched */
  mica__doctor_watch *watch;     /* may be NULL */
  size_t open;                   /* groups begun and not ended */
  const mica__doctor_end *ended; /* how the driver ended an earlier process in the open group, whose cases now fail
                                  * with MICA_E_BUILD; or NULL */
  bool was_ended;                /* `ended` was set in any group of the op */
} mica__check;

/* The cases of one variant, combined into one line of the report. */
typedef struct mica__check_group {
  mica__check *check;
  const char *kernel, *variant;
  char cases[128];
  size_t case_count;
  double worst;
  mica_status status; /* of the last case that failed */
  char message[512];
} mica__check_group;

/* Begins a group. Further groups may begin before it ends, to report its cases by kernel and variant (launch_check.c).
 * Only the outermost group is compared with those in which the driver ended an earlier process. */
mica__check_group mica__check_begin(mica__check *check, const char *kernel, const char *variant, const char *cases);
/* Tells the watching process, if there is one, that this variant is launched next. */
void mica__check_tell(mica__check *check, const char *kernel, const char *variant);
/* Records the result of a case: MICA_OK, or a status whose message is the thread's current one. `where` names the case
 * ("f16 n=17"). Returns true if the case was right; most checks end the group at the first wrong one. */
bool mica__check_note(mica__check_group *group, mica_status status, const char *where, ...)
    __attribute__((format(printf, 3, 4)));
/* Ends the group and reports it, unless it has no cases. MICA_E_NUMERIC, MICA_E_BUILD and MICA_E_UNSUPPORTED are
 * findings about the kernel: it then returns MICA_OK, and the examination goes on. Any other failure of the group is
 * returned, and the examination must stop. */
MICA_CHECKED mica_status mica__check_end(mica__check_group *group);

/* Reports as skipped a kernel or an implementation that ran no case. The reason is the first of these that holds:
 *
 *    the compiler is known to fail on it
 *    `tried` is false: it does not run on this device
 *    the driver ended the process in another kernel of the op
 *    MICA__NO_CASE: a defect of the check, for which the tests look
 *
 * kernel is NULL for an implementation without one. variant is NULL if the line is for all variants. */
#define MICA__NO_CASE "no case"
void mica__check_skip(mica__check *check, const char *name, const mica__kernel_desc *kernel,
                      const mica__variant *variant, const char *cases, bool tried);

/* A tensor on the device, between guard bytes, and its elements on the host as doubles (NULL for an output). Freed
 * with mica__check_free. */
typedef struct mica__check_tensor {
  mica_tensor *tensor;
  double *values;
  int64_t count;
  mica_buffer *buffer;
  size_t first_byte, bytes, total_bytes;
} mica__check_tensor;

/* Makes a contiguous tensor of random values from -bound to bound, rounded to the dtype. */
mica_status mica__check_input(mica__check *check, mica_dtype dtype, mica_shape shape, double bound,
                              mica__check_tensor *out);
/* Makes a contiguous tensor of the caller's values, rounded to the dtype. */
mica_status mica__check_input_values(mica__check *check, mica_dtype dtype, mica_shape shape, const double *values,
                                     mica__check_tensor *out);
/* Makes a tensor full of poison: NaN in floating types, a bit pattern in others. out->values is NULL. */
mica_status mica__check_output(mica__check *check, mica_dtype dtype, mica_shape shape, mica__check_tensor *out);
void mica__check_free(mica__check_tensor *t);

/* Waits for the queue and compares the tensor with `want`: element i may be bound[i] off; equal infinities and two NaNs
 * are right. Also checks that the guards are untouched. Raises group->worst to the largest error, as a share of its
 * bound; infinity if an element is wrong.
 *
 * If something is wrong, MICA_E_NUMERIC. The message names the first wrong element, its value, the reference and the
 * bound, or if all elements are right, the first byte of a guard that was overwritten. */
mica_status mica__check_compare(mica__check_group *group, const mica__check_tensor *got, const double *want,
                                const double *bound);

/* Returns a random number, uniform from -1 to 1. */
double mica__check_random(mica__check *check);

/* True if the device can compute with this type: for f64 it needs MICA_FEATURE_FP64. */
bool mica__check_has_dtype(const mica__check *check, mica_dtype dtype);

/* Runs one op's check and adds the numbers of lines that passed, failed and were skipped to *summary. */
struct mica__op;
mica_status mica__check_run(mica_engine *engine, const struct mica__op *op, mica__check_level level, mica_doctor_fn *fn,
                            void *user, mica_doctor_summary *summary);
/* Runs one op's check on the doctor's quick grid. `watch` may be NULL. */
mica_status mica__check_watched(mica_engine *engine, const struct mica__op *op, mica__doctor_watch *watch,
                                mica_doctor_fn *fn, void *user, mica_doctor_summary *summary);
/* Reports the lines, with their numbers of cases, that a check would have on any device, without launching anything.
 * Only for ops whose check obeys mica__check.dry_run (conv, gemm). */
mica_status mica__check_list(mica_engine *engine, const struct mica__op *op, mica__check_level level,
                             mica_doctor_fn *fn, void *user, mica_doctor_summary *summary);

#endif
