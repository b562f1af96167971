/* ops/conv/fire_module.h: fire modules and what pools their results, as one launch (cl/conv/cpu/fire_module.cl). */
#ifndef MICA_OPS_CONV_FIRE_MODULE_H
#define MICA_OPS_CONV_FIRE_MODULE_H

#include "ops/conv/block.h"

enum {
  MICA__FIRE_X,
  MICA__FIRE_W1,
  MICA__FIRE_B1,
  MICA__FIRE_W2,
  MICA__FIRE_B2,
  MICA__FIRE_W3,
  MICA__FIRE_B3,
  MICA__FIRE_OPERANDS
};

/* The three convolutions of a module and the pooling of its result. */
typedef struct mica__fire {
  mica__conv_dims squeeze, expand[2];
  double low, high; /* results of the convolutions are clamped to this */
  bool pools;
  mica__max_pool_attrs window; /* first the rows', then the columns'; without pooling of one element each */
  int64_t pooled[2];           /* rows and columns of the result */
} mica__fire;

/* Sets all but `pools`, `window` and `pooled` from the operands' types, and these for no pooling; MICA_E_SHAPE. */
mica_status mica__fire_of(const mica__type *types, int32_t count, double low, double high, mica__fire *fire);
/* The type of the concatenated result, before pooling. */
mica__type mica__fire_type(const mica__fire *fire, mica_dtype dtype);

/* True if a concatenation is a module's. Then inputs and the bounds are the module's. */
bool mica__fire_find(const mica_graph *graph, int32_t concat, int32_t *inputs, double *low, double *high);
/* True if one launch computes it faster than several do. */
bool mica__fire_pays(const mica__fire *fire, mica_engine *engine);

/* Queues the one launch. *done: false, with MICA_OK, if there is no kernel for it; then mica__fire_launch_apart
 * computes the concatenation. */
mica_status mica__fire_launch(const mica__exec *exec, const mica__fire *fire, bool *done);
mica_status mica__fire_launch_apart(const mica__exec *exec, const mica__fire *fire, mica_tensor *y);
/* The concatenation on the host. */
mica_status mica__fire_evaluate(const mica__eval *eval, const mica__fire *fire, double *y);
double mica__fire_flops(const mica__fire *fire);

extern const mica__kernel_desc mica__fire_module_kernel;

#endif
