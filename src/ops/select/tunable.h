/* ops/select/tunable.h: what an op tells a tuner of itself. */
#ifndef MICA_OPS_SELECT_TUNABLE_H
#define MICA_OPS_SELECT_TUNABLE_H

#include "ops/select/choice.h"

/* A problem with its operands in device memory and its reference on the host. */
typedef struct mica__trial {
  mica_engine *engine;
  const void *problem; /* what the implementations take */
  char key[MICA__TUNING_TEXT];
  double flops;
} mica__trial;

typedef struct mica__tunable {
  const mica__impl *const *impls;
  /* Makes a trial from what follows the op's name in a problem's text. MICA_E_FORMAT when that says no problem. */
  mica_status (*open)(mica_engine *engine, const char *text, mica__trial **trial);
  void (*close)(mica__trial *trial);
  /* Fills the output with poison, and afterwards compares it with the reference: MICA_E_NUMERIC. */
  mica_status (*poison)(mica__trial *trial);
  mica_status (*verify)(mica__trial *trial);
} mica__tunable;

/* Measures the shipped choices for a problem ("gemm 64,64,64") in this process and keeps the best. */
mica_status mica__tune(mica_engine *engine, const char *problem);

#endif
