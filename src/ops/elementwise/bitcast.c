/* Reinterprets the bytes of elements as another type: the cast kernel copies them as integers of their size. */
#include "base/error.h"
#include "ir/graph.h"
#include "ops/common/operand.h"
#include "ops/elementwise/pointwise.h"

#include <mica/nodes.h>
#include <mica/ops.h>

/* MICA_E_DTYPE unless elements of both types have the same size and any bytes of the first type are valid in the
 * second: a bool must be 0 or 1. */
static mica_status check_types(mica_dtype from, mica_dtype to) {
  if (to == MICA_BOOL && from != MICA_BOOL)
    return mica__fail(
        MICA_E_DTYPE,
        "bytes of %s may be neither 0 nor 1, so they cannot become bools; compare the values with 0 instead",
        mica_dtype_name(from));
  if (mica_dtype_size(from) == mica_dtype_size(to)) return MICA_OK;
  return mica__fail(MICA_E_DTYPE, "%s has %d bytes, but %s has %d; both must have the same size", mica_dtype_name(from),
                    (int)mica_dtype_size(from), mica_dtype_name(to), (int)mica_dtype_size(to));
}

static mica_dtype integer_of(size_t size) {
  return size == 1 ? MICA_I8 : size == 2 ? MICA_I16 : size == 4 ? MICA_I32 : MICA_I64;
}

static mica_status launch(mica_queue *queue, const mica__variant *variant, const mica_tensor *x, const mica_tensor *y) {
  mica__launch launch;
  int64_t n = mica_tensor_count(y);
  mica_dtype type = integer_of(mica_dtype_size(mica_tensor_dtype(x)));
  MICA_TRY(mica__pointwise_launch(queue, &mica__cast_kernel, variant, type, type, n, &launch));
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_long(&launch, n);
  mica__launch_cost(&launch, 0, 2 * (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica_op_bitcast(mica_queue *queue, const mica_tensor *x, mica_tensor *y) {
  MICA_TRY(mica__operand_check(queue, "bitcast", "x", x));
  MICA_TRY(mica__operand_check(queue, "bitcast", "y", y));
  MICA_TRY(mica__operand_same_shape("bitcast", x, y));
  MICA_TRY(mica__operand_apart("bitcast", "y", y, "x", x));
  mica_status status = check_types(mica_tensor_dtype(x), mica_tensor_dtype(y));
  return status == MICA_OK ? launch(queue, NULL, x, y) : mica__fail_in(status, "bitcast");
}

/* --- in graphs --- */

#define BITCAST_ATTRS(X, S) X(S, DTYPE, to, MICA_F32, "the result's dtype")
MICA__ATTR_STRUCT(bitcast, BITCAST_ATTRS);
static MICA__ATTR_TABLE(bitcast, BITCAST_ATTRS);

static mica_status infer_bitcast(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__bitcast_attrs *bitcast_attrs = attrs;
  if (!mica_dtype_is_valid(bitcast_attrs->to))
    return mica__fail(MICA_E_DTYPE, "%d is not a dtype to cast to", (int)bitcast_attrs->to);
  *out = (mica__type){bitcast_attrs->to, inputs[0].shape};
  return check_types(inputs[0].dtype, bitcast_attrs->to);
}

static mica_status launch_bitcast(const mica__exec *exec) {
  return launch(exec->queue, NULL, exec->inputs[0], exec->output);
}

/* Constants are not folded: a NaN would lose its bits in a double. */
const mica__op mica__op_bitcast = {.name = "bitcast",
                                   .kind = MICA__OP_LAUNCH,
                                   .min_inputs = 1,
                                   .max_inputs = 1,
                                   .attrs = &mica__bitcast_attr_list,
                                   .infer = infer_bitcast,
                                   .launch = launch_bitcast,
                                   .may_alias = 1};

mica_value mica_bitcast(mica_value x, mica_dtype dtype) {
  return mica__graph_add(&mica__op_bitcast, &x, 1, &(mica__bitcast_attrs){dtype});
}
