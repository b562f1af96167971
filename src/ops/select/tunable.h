/* ops/select/tunable.h: what an op provides for a tuner. */
#ifndef MICA_OPS_SELECT_TUNABLE_H
#define MICA_OPS_SELECT_TUNABLE_H

#include "ops/select/choice.h"

#include <mica/tensor.h>

/* An element of the result that is compared; `at` is its index in memory. */
typedef struct mica__trial_sample {
  int64_t at;
  double want, magnitude; /* the sum in double, and the sum of its terms' absolute values */
} mica__trial_sample;

/* An operand on the device and, in its dtype, on the host. */
typedef struct mica__trial_operand {
  mica_tensor *tensor;
  unsigned char *data;
} mica__trial_operand;

/* A problem with its operands in device memory and its reference on the host. */
typedef struct mica__trial mica__trial;
struct mica__trial {
  mica_engine *engine;
  const void *problem; /* what the implementations take */
  char key[MICA__TUNING_TEXT];
  double flops;
  mica__trial_operand a, b; /* in the order in which the op's reference takes them */
  mica_tensor *result;
  mica_dtype acc; /* acc is the type in which sums are computed, depth the number of terms of a sum */
  double depth;
  /* Returns element `at` of the result, by index in memory, and the sum of its terms' absolute values. */
  double (*reference)(const mica__trial *trial, int64_t at, double *magnitude);
  mica__trial_sample *samples; /* made at the first comparison */
  size_t sample_count;
  uint64_t random;
};

typedef struct mica__tunable {
  const char *summary;         /* "matrix products" */
  const char *syntax;          /* how a problem is written: "M,N,K[,nn|nt|tn|tt][,f16][,x8]" */
  const char *const *problems; /* typical problems, from layers of networks and from users of a library; ends in NULL */
  /* Makes a trial from the text after the op's name. MICA_E_FORMAT if it does not describe a problem. */
  mica_status (*open)(mica_engine *engine, const char *text, mica__trial **trial);
  void (*close)(mica__trial *trial);
  /* The list of the op's implementations, the reference last; ends in NULL. */
  const mica__impl *const *(*impls)(const mica__trial *trial);
} mica__tunable;

/* For `open`: creates an operand and fills it with random numbers from -1 to 1 (integers: from -100 to 100). */
mica_status mica__trial_operand_create(mica__trial *trial, mica_dtype dtype, mica_shape shape,
                                       mica__trial_operand *operand);
/* For `close`: destroys the content of a trial, but not the trial. */
void mica__trial_clear(mica__trial *trial);

/* mica__trial_poison fills the result with NaN, or an unlikely number if it is not floating, so that elements that a
 * launch does not write are noticed. mica__trial_verify compares samples of the result with the reference, within the
 * bound of the choice that wrote it, and looks for NaN in all elements; MICA_E_NUMERIC if anything is wrong. */
mica_status mica__trial_poison(mica__trial *trial);
mica_status mica__trial_verify(mica__trial *trial, const mica__choice *choice);

/* Measures the shipped choices for a problem ("gemm 64,64,64") in this process and keeps the fastest. Choices with
 * wrong results go into quarantine (choice.h). MICA_E_UNSUPPORTED if none ran and gave the right result. */
mica_status mica__tune(mica_engine *engine, const char *problem);
/* Calls mica__tune if tuning is on for the engine and it has no result for `key` yet. If this fails, logs it; the
 * order of the implementations then decides. */
void mica__tune_first_time(mica_engine *engine, const char *key, const char *problem);

#endif
