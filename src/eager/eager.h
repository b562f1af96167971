/* eager/eager.h: runs operations that have no kernels of their own on tensors. Each operation is built as a small graph
 * and compiled to a session. The engine caches sessions by op, shapes, dtypes, arguments and queue, so later calls of
 * the same kind only run the session again. */
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
  const char *op; /* a string literal such as "softmax_fwd"; its address is part of the cache's key */
  mica__eager_build *build;
  /* A backward pass. The last operand is dy. `build` makes y = out[0] from the other operands, and result i is the
   * gradient of sum(y dy) with respect to operand i. If result i has a tensor but operand i has none, the operand is
   * taken as ones of the result's shape. */
  bool backward;
  bool in_place; /* element k of a result depends only on element k of operands, so a result may be an operand */
  /* The op's arguments, and the table that describes their fields. Calls of an op on one queue share a session if their
   * arguments, shapes and dtypes are equal. */
  const mica__attr_list *attr_list;
  const void *attrs;
  mica__eager_tensor in[MICA__EAGER_OPERANDS + 1];
  mica__eager_tensor out[MICA__EAGER_RESULTS + 1]; /* written to, although their pointers are const */
};

/* Checks the tensors and queues the call. Tensors must belong to the queue's engine and be contiguous. A result must
 * not overlap an operand or another result; with in_place it may be the same tensor as an operand.
 *
 * The engine caches the sessions of the 64 most recently used combinations of op, arguments, shapes, dtypes and queue.
 * A call whose session is cached waits for nothing, builds nothing and allocates no device memory. */
mica_status mica__eager_run(mica_queue *queue, const mica__eager_call *call);

/* Describes the fields of mica_pool_config, so that a mica_pool_config can be a call's `attrs`. */
extern const mica__attr_list mica__pool_config_list;

#endif
