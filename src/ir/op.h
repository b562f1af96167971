/* ir/op.h: an op as data. Everything the layers above know about an op, they know through its descriptor. */
#ifndef MICA_IR_OP_H
#define MICA_IR_OP_H

#include <mica/status.h>

struct mica__kernel_desc; /* runtime/kernel.h */
struct mica__check;       /* ops/check.h */

typedef struct mica__op {
  const char *name;
  /* Every kernel it may launch, with its parameters and shipped variants; ends in NULL. The doctor, the tuner and the
   * vendor compilers work through this list. */
  const struct mica__kernel_desc *const *kernels;
  /* Runs every variant of every kernel on the device over a grid of cases and compares with the naive reference in
   * double precision; reports each through mica__check_report. Fails only when the checking itself cannot go on. */
  mica_status (*check)(struct mica__check *check);
} mica__op;

#endif
