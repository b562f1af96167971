/* ops/select/check.h: comparing kernels with a reference, for the doctor (a quick grid, on any user's device) and for
 * the tests (a full one). An op's check function runs on it; the naive references stand beside the ops. */
#ifndef MICA_OPS_SELECT_CHECK_H
#define MICA_OPS_SELECT_CHECK_H

#include "ops/select/watch.h"
#include "runtime/kernel.h"

#include <mica/doctor.h>
#include <mica/tensor.h>
#include <stdbool.h>

/* For devices that are simulated, in the quick grid's sizes. OWN: what the device itself might choose. SMALL: all that
 * the full grid runs. */
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
  uint64_t random;               /* state of the generator; the same in every run */
  size_t groups;                 /* begun so far */
  size_t cases;                  /* of the lines so far */
  mica__text run;                /* KERNEL.VARIANT of every line with cases, each between newlines */
  bool launches;                 /* mica__check_launches was asked, which sees every kernel that it runs */
  bool dry_run;                  /* conv and gemm: cases are made and counted, not launched */
  mica__doctor_watch *watch;     /* may be NULL */
  size_t open;                   /* groups begun and not ended */
  const mica__doctor_end *ended; /* the driver ended a process in the group that is open: its cases do not run */
  bool was_ended;                /* likewise in any group of the op */
} mica__check;

/* The cases of one variant, joined into one line of the report. */
typedef struct mica__check_group {
  mica__check *check;
  const char *kernel, *variant;
  char cases[128];
  size_t case_count;
  double worst;
  mica_status status; /* of the first case that was not right */
  char message[512];
} mica__check_group;

/* Within a group, others may begin that split its cases; they end together. */
mica__check_group mica__check_begin(mica__check *check, const char *kernel, const char *variant, const char *cases);
/* Tells who watches that this is launched next. */
void mica__check_tell(mica__check *check, const char *kernel, const char *variant);
/* Notes what a case ended in: MICA_OK, or the status whose sentence is the present one; where names the case
 * ("f16 n=17"). Returns whether the group goes on: it ends at the first case that is not right. */
bool mica__check_note(mica__check_group *group, mica_status status, const char *where, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports the group, unless it has no case. A status that says nothing of the kernel (it is neither MICA_E_NUMERIC,
 * MICA_E_BUILD nor MICA_E_UNSUPPORTED) is returned: the examination cannot go on. */
MICA_CHECKED mica_status mica__check_end(mica__check_group *group);

/* Reports a kernel, or an implementation, that was not run: no case suited it, or none was tried, since it is for other
 * devices or its compiler makes it badly. The first is a defect of the check; the tests look for its sentence,
 * MICA__NO_CASE. kernel: NULL for an implementation without one; variant: NULL for all of them. */
#define MICA__NO_CASE "no case"
void mica__check_skip(mica__check *check, const char *name, const mica__kernel_desc *kernel,
                      const mica__variant *variant, const char *cases, bool tried);

/* A tensor whose content is also known to the host as doubles. Guard elements stand on both sides of it. */
typedef struct mica__check_tensor {
  mica_tensor *tensor;
  double *values;
  int64_t count;
  mica_buffer *buffer;
  size_t first_byte, bytes, total_bytes;
} mica__check_tensor;

/* Contiguous, filled with random values from -bound to bound, rounded to the dtype. */
mica_status mica__check_input(mica__check *check, mica_dtype dtype, mica_shape shape, double bound,
                              mica__check_tensor *out);
/* mica__check_input with the caller's values, rounded to the dtype. */
mica_status mica__check_input_values(mica__check *check, mica_dtype dtype, mica_shape shape, const double *values,
                                     mica__check_tensor *out);
/* Poisoned: NaN in floating types, a bit pattern in others. values is NULL. */
mica_status mica__check_output(mica__check *check, mica_dtype dtype, mica_shape shape, mica__check_tensor *out);
void mica__check_free(mica__check_tensor *t);

/* Waits for the queue and compares the tensor with want, element i being right within bound[i]; equal infinities and
 * two NaNs are right. Also sees that the guards are untouched. group->worst is raised. MICA_E_NUMERIC names the first
 * wrong element, its value, the reference and the bound. */
mica_status mica__check_compare(mica__check_group *group, const mica__check_tensor *got, const double *want,
                                const double *bound);

/* Uniform in [-1, 1). */
double mica__check_random(mica__check *check);

/* True if the device can hold tensors of this type. */
bool mica__check_has_dtype(const mica__check *check, mica_dtype dtype);

/* Runs one op's check. */
struct mica__op;
mica_status mica__check_run(mica_engine *engine, const struct mica__op *op, mica__check_level level, mica_doctor_fn *fn,
                            void *user, mica_doctor_summary *summary);
/* Likewise in the doctor's grid. watch: may be NULL. */
mica_status mica__check_watched(mica_engine *engine, const struct mica__op *op, mica__doctor_watch *watch,
                                mica_doctor_fn *fn, void *user, mica_doctor_summary *summary);
/* The lines that it would have on any device, with the numbers of cases, for an op that chooses among implementations
 * (conv, gemm): nothing is launched. */
mica_status mica__check_list(mica_engine *engine, const struct mica__op *op, mica__check_level level,
                             mica_doctor_fn *fn, void *user, mica_doctor_summary *summary);

#endif
