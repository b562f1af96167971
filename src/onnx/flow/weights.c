/* The runner's weights, and the list of its model's cuts. */
#include "onnx/flow/runner.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

mica_status mica__runner_weight(mica_onnx_runner *r, const Onnx__TensorProto *tensor, mica_tensor **memory) {
  for (size_t i = 0; i < r->weight_count; i++)
    if (r->weights[i].tensor == tensor) {
      *memory = r->weights[i].memory;
      return MICA_OK;
    }
  if (r->weight_count == r->weight_capacity) {
    size_t capacity = r->weight_capacity ? 2 * r->weight_capacity : 64;
    mica__weight *weights = realloc(r->weights, capacity * sizeof *weights);
    if (!weights) return mica__fail_nomem("a runner");
    r->weights = weights;
    r->weight_capacity = capacity;
  }
  mica__onnx_tensor read = {0};
  mica_status status = mica__onnx_tensor_read(&r->external, tensor, &read);
  if (status != MICA_OK) return mica__fail_in(status, r->model->name);
  status = mica_tensor_create_from(r->engine, read.dtype, read.shape, read.data, memory);
  mica__onnx_tensor_free(&read);
  if (status == MICA_OK) r->weights[r->weight_count++] = (mica__weight){tensor, *memory};
  return status;
}

mica_status mica__runner_note_cut(mica_onnx_runner *r, const mica__onnx_node *node, const char *why) {
  const char *name = mica__onnx_node_title(node);
  for (size_t i = 0; i < r->cut_count; i++)
    if (!strcmp(r->cuts[i].node, name) && !strcmp(r->cuts[i].op, node->op) && !strcmp(r->cuts[i].why, why))
      return MICA_OK;
  mica_onnx_cut *cuts = realloc(r->cuts, (r->cut_count + 1) * sizeof *cuts);
  char *text = mica__strdup(why);
  if (cuts) r->cuts = cuts;
  if (!cuts || !text) {
    free(text);
    return mica__fail_nomem("a runner");
  }
  cuts[r->cut_count++] = (mica_onnx_cut){name, node->op, text};
  return MICA_OK;
}
