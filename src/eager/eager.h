/* eager/eager.h: operations on tensors without kernels of their own. Each is a small graph, compiled once for its
 * shapes and kept with the engine as a session, which later calls replay. */
#ifndef MICA_EAGER_EAGER_H
#define MICA_EAGER_EAGER_H

#include "ir/attr.h"

#include <mica/graph.h>
#include <mica/tensor.h>

#define MICA__EAGER_OPERANDS 6
#define MICA__EAGER_RESULTS 3

/* An operand or a result of a call. */
typedef struct mica__eager_tensor {
  const char *name; /* NULL ends a list */
  const mica_tensor *tensor;
  bool optional; /* tensor may be NULL */
} mica__eager_tensor;

#define MICA__TENSOR(t)                                                                                                \
  { .name = #t, .tensor = (t) }
#define MICA__OPTIONAL(t)                                                                                              \
  { .name = #t, .tensor = (t), .optional = true }

typedef struct mica__eager_call mica__eager_call;

/* Builds results from operands; operands without a tensor are null values. */
typedef void mica__eager_build(const mica__eager_call *call, const mica_value *in, mica_value *out);

struct mica__eager_call {
  const char *op; /* a literal: "softmax_fwd" */
  mica__eager_build *build;
  /* A backward pass: build makes y = out[0] from all operands but the last, which is dy; result i is the gradient of
   * sum(y dy) with respect to operand i. If operand i has no tensor but result i has one, the operand counts as ones
   * of the result's shape. */
  bool backward;
  bool in_place; /* element k of a result depends only on element k of operands, so a result may be an operand */
  /* Arguments, and the table that describes them; calls with equal arguments, shapes and dtypes share a session. */
  const mica__attr_list *attr_list;
  const void *attrs;
  mica__eager_tensor in[MICA__EAGER_OPERANDS + 1];
  mica__eager_tensor out[MICA__EAGER_RESULTS + 1]; /* written to, although their pointers are const */
};

/* Checks the tensors (of the queue's engine, contiguous, results apart from operands and from each other) and queues
 * the call. If arguments, shapes and queue are among the last 64 different ones, it waits for nothing, builds nothing
 * and allocates no device memory. */
mica_status mica__eager_run(mica_queue *queue, const mica__eager_call *call);

/* The fields of mica_pool_config, which serves as its own struct of arguments. */
extern const mica__attr_list mica__pool_config_list;

#endif
