#include "onnx/flow/host.h"

#include "base/element.h"
#include "compile/template.h"
#include "onnx/flow/cut.h"

#include <stdlib.h>
#include <string.h>

#define MOST 8

int64_t *mica__host_integers(mica__host_array *result, mica_shape shape) {
  int64_t count = 0;
  if (mica_shape_count(shape, &count) != MICA_OK) return NULL;
  int64_t *data = calloc((size_t)count + 1, sizeof *data);
  *result = (mica__host_array){MICA_I64, shape, count, data};
  return data;
}

double *mica__host_reals(const mica__host_array *operand) {
  double *reals = malloc(((size_t)operand->count + 1) * sizeof *reals);
  for (int64_t i = 0; reals && i < operand->count; i++) reals[i] = mica__element_get(operand->dtype, operand->data, i);
  return reals;
}

static void free_arrays(mica__host_array *arrays, size_t count) {
  for (size_t i = 0; i < count; i++) free(arrays[i].data);
}

/* --- during lowering --- */

static mica_status known(const mica__lowering *l, mica_value value, mica__host_array *out) {
  const mica__node *node = mica__graph_node(l->graph, value.id);
  *out = (mica__host_array){node->type.dtype, node->type.shape, mica__node_count(node), NULL};
  size_t bytes = (size_t)out->count * mica_dtype_size(out->dtype);
  out->data = malloc(bytes + 1);
  if (!out->data) return mica__fail_nomem("an operand");
  if (node->op == &mica__op_full)
    for (int64_t i = 0; i < out->count; i++) mica__element_set(out->dtype, out->data, i, mica__full_value(node));
  else
    memcpy(out->data, node->data, bytes);
  return MICA_OK;
}

static mica_status at_once(mica__lowering *l, mica__host_fn *compute, const void *config, const mica_value *operands,
                           size_t count, mica_value *results, size_t result_count) {
  mica__host_array in[MOST] = {{0}}, out[MOST] = {{0}};
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < count; i++) status = known(l, operands[i], &in[i]);
  if (status == MICA_OK) status = compute(config, in, out);
  for (size_t i = 0; status == MICA_OK && i < result_count; i++)
    results[i] = mica_constant(l->graph, out[i].dtype, out[i].shape, out[i].data);
  free_arrays(in, count);
  free_arrays(out, result_count);
  return status;
}

/* --- during a run, between two stages --- */

typedef struct host_call {
  mica__call call;
  mica_engine *engine;
  mica__host_fn *compute;
  void *config;
  size_t operand_count;
  mica_tensor *tensors[MOST]; /* results */
} host_call;

static mica_status give(host_call *c, mica_queue *queue, size_t i, const mica__host_array *array) {
  mica_tensor *tensor = c->tensors[i];
  if (!tensor || mica_tensor_dtype(tensor) != array->dtype ||
      !mica_shape_equal(mica_tensor_shape(tensor), array->shape)) {
    mica_tensor_destroy(tensor);
    c->tensors[i] = NULL;
    MICA_TRY(mica_tensor_create(c->engine, array->dtype, array->shape, &c->tensors[i]));
    tensor = c->tensors[i];
  }
  c->call.results[i] = tensor;
  return array->count ? mica_tensor_upload(queue, tensor, array->data, mica_tensor_bytes(tensor)) : MICA_OK;
}

static mica_status run(mica__call *call, mica_queue *queue, const mica_tensor *const *operands) {
  host_call *c = (host_call *)call;
  mica__host_array in[MOST] = {{0}}, out[MOST] = {{0}};
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < c->operand_count; i++) {
    size_t bytes = mica_tensor_bytes(operands[i]);
    in[i] = (mica__host_array){mica_tensor_dtype(operands[i]), mica_tensor_shape(operands[i]),
                               mica_tensor_count(operands[i]), malloc(bytes + 1)};
    if (!in[i].data) status = mica__fail_nomem("an operand");
    if (status == MICA_OK && bytes) status = mica_tensor_download(queue, operands[i], in[i].data, bytes);
  }
  if (status == MICA_OK) status = c->compute(c->config, in, out);
  for (size_t i = 0; status == MICA_OK && i < call->result_count; i++) status = give(c, queue, i, &out[i]);
  free_arrays(in, c->operand_count);
  free_arrays(out, call->result_count);
  return status;
}

static void destroy(mica__call *call) {
  host_call *c = (host_call *)call;
  for (size_t i = 0; i < call->result_count; i++) mica_tensor_destroy(c->tensors[i]);
  free(c->config);
}

static mica_status make(mica__lowering *l, mica__host_fn *compute, const void *config, size_t bytes,
                        size_t operand_count, size_t result_count, mica__call **out) {
  host_call *c = calloc(1, sizeof *c);
  void *own = malloc(bytes + 1);
  if (!c || !own || mica__call_init(&c->call, result_count) != MICA_OK) {
    free(c);
    free(own);
    return mica__fail_nomem("a call");
  }
  if (bytes) memcpy(own, config, bytes);
  c->call.run = run;
  c->call.destroy = destroy;
  c->engine = l->trace->program->function->runner->engine;
  c->compute = compute;
  c->config = own;
  c->operand_count = operand_count;
  *out = &c->call;
  return MICA_OK;
}

mica_status mica__lower_host(mica__lowering *l, const mica__onnx_node *node, const char *why, mica__host_fn *compute,
                             const void *config, size_t bytes, const mica_value *operands, size_t operand_count,
                             mica_value *results, size_t result_count) {
  bool all = true, bindable = true;
  if (l->status != MICA_OK || l->demands) return l->status;
  for (size_t i = 0; i < operand_count; i++) {
    bool is = mica__lower_is_known(l->graph, operands[i].id);
    all = all && is;
    bindable = bindable && (is || mica__lower_can_bind(l, operands[i], false));
  }
  if (all) {
    mica_status status = at_once(l, compute, config, operands, operand_count, results, result_count);
    return status == MICA_OK ? MICA_OK : mica__lower_fail(l, node, status, "%s", mica_error_message());
  }
  for (size_t i = 0; bindable && i < operand_count; i++)
    if (!mica__lower_is_known(l->graph, operands[i].id)) mica__lower_can_bind(l, operands[i], true);
  if (bindable) return l->status;
  if (!l->trace) return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "%s", why);
  mica__call *call = NULL;
  if (!mica__cut_is_replayed(l)) MICA_TRY(make(l, compute, config, bytes, operand_count, result_count, &call));
  return mica__cut_call(l, node, why, call, operands, operand_count, results, result_count);
}
