/* ops/select/tunable.h: what an op tells a tuner of itself. */
#ifndef MICA_OPS_SELECT_TUNABLE_H
#define MICA_OPS_SELECT_TUNABLE_H

#include "ops/select/choice.h"

#include <mica/tensor.h>

/* An element of the result that is compared. */
typedef struct mica__trial_sample {
  int64_t at;
  double want, magnitude; /* the sum in double, and that of its terms' absolute values */
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
  mica_dtype acc; /* type of its sums, and how many terms they have */
  double depth;
  /* Element `at` of the result, in its order in memory, and the sum of its terms' absolute values. */
  double (*reference)(const mica__trial *trial, int64_t at, double *magnitude);
  mica__trial_sample *samples; /* made at the first comparison */
  size_t sample_count;
  uint64_t random;
};

typedef struct mica__tunable {
  const char *summary;         /* "matrix products" */
  const char *syntax;          /* of a problem: "M,N,K[,nn|nt|tn|tt][,f16][,x8]" */
  const char *const *problems; /* what networks' layers and a library's users ask for; ends in NULL */
  /* Makes a trial from what follows the op's name in a problem's text. MICA_E_FORMAT when that says no problem. */
  mica_status (*open)(mica_engine *engine, const char *text, mica__trial **trial);
  void (*close)(mica__trial *trial);
  /* The implementations that may take it. */
  const mica__impl *const *(*impls)(const mica__trial *trial);
} mica__tunable;

/* For `open`: an operand filled with random numbers from -1 to 1 (of integers, from -100 to 100). */
mica_status mica__trial_operand_create(mica__trial *trial, mica_dtype dtype, mica_shape shape,
                                       mica__trial_operand *operand);
/* For `close`: destroys what a trial holds, but not the trial. */
void mica__trial_clear(mica__trial *trial);

/* Fills the result with poison; and afterwards compares it with the reference, within the bound of the implementation
 * that wrote it: MICA_E_NUMERIC. */
mica_status mica__trial_poison(mica__trial *trial);
mica_status mica__trial_verify(mica__trial *trial, const mica__choice *choice);

/* Measures the shipped choices for a problem ("gemm 64,64,64") in this process and keeps the best. */
mica_status mica__tune(mica_engine *engine, const char *problem);
/* Does so where the engine was asked to tune and knows nothing of `key` yet. What cannot be measured is logged, and
 * left to the order of the implementations. */
void mica__tune_first_time(mica_engine *engine, const char *key, const char *problem);

#endif
