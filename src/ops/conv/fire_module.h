/* ops/conv/fire_module.h: fire modules, with or without max pooling of their results, as one launch
 * (cl/conv/cpu/fire_module.cl). */
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
  mica__max_pool_attrs window; /* rows, then columns; without pooling, windows have one element */
  int64_t pooled[2];           /* rows and columns of the result */
} mica__fire;

/* Describes a module without pooling, from the types of its operands; the caller may set `pools`, `window` and `pooled`
 * afterwards. MICA_E_SHAPE: an operand has an open dimension, or the operands do not fit together. */
mica_status mica__fire_of(const mica__type *types, int32_t count, double low, double high, mica__fire *fire);
/* The type of the concatenated result, before pooling. */
mica__type mica__fire_type(const mica__fire *fire, mica_dtype dtype);

/* True if node `concat` concatenates the results of a fire module; the caller checks the axis, by the shape of the
 * result. Then inputs receives the module's operands (MICA__FIRE_X to MICA__FIRE_B3), and low and high the range to
 * which its convolutions clamp. */
bool mica__fire_find(const mica_graph *graph, int32_t concat, int32_t *inputs, double *low, double *high);
/* True if one launch computes the module faster than several do. */
bool mica__fire_pays(const mica__fire *fire, mica_engine *engine);

/* mica__fire_launch queues the module as one launch. If the kernel cannot compute it, sets *done to false, queues
 * nothing and returns MICA_OK. mica__fire_launch_apart launches the convolutions one by one; y receives the
 * concatenation, before pooling. */
mica_status mica__fire_launch(const mica__exec *exec, const mica__fire *fire, bool *done);
mica_status mica__fire_launch_apart(const mica__exec *exec, const mica__fire *fire, mica_tensor *y);
/* Computes the concatenation, before pooling, on the host. */
mica_status mica__fire_evaluate(const mica__eval *eval, const mica__fire *fire, double *y);
double mica__fire_flops(const mica__fire *fire);

extern const mica__kernel_desc mica__fire_module_kernel;

#endif
