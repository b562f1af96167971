/* Symbolic gradients by reverse accumulation: the gradient of every value is an ordinary value of the graph. The
 * backward pass is therefore simplified, fused and planned like the forward pass, and a gradient can be differentiated
 * again. */
#include "ir/graph.h"
#include "ops/select/registry.h"

#include <mica/nodes.h>
#include <stdlib.h>

typedef struct backward {
  mica_graph *graph;
  int32_t count;     /* nodes before the backward pass */
  mica_value *grads; /* by id - 1: d loss / d node so far; null if none yet */
  bool *depends;     /* by id - 1: depends on a value with respect to which the gradients are taken */
  bool *again;       /* by id - 1: recomputed instead of kept (gradient checkpointing) */
  int32_t *copies;   /* by id - 1: the recomputed node; 0 if it has not been needed yet */
  bool *marked;      /* scratch memory of usable() */
  int32_t pass;
} backward;

static mica__node *node_at(const backward *b, int32_t id) { return mica__graph_node(b->graph, id); }

static mica_value value_of(const backward *b, int32_t id) { return (mica_value){b->graph, id}; }

/* Finds the nodes to recompute: nodes from which a checkpoint is computed, and that are not checkpoints or sources. */
static void find_again(backward *b, int32_t loss) {
  for (int32_t id = loss; id >= 1; id--) {
    const mica__node *node = node_at(b, id);
    if (!node->checkpoint && !b->again[id - 1]) continue;
    for (int32_t k = 0; k < node->input_count; k++) b->again[node->inputs[k] - 1] = true;
  }
  for (int32_t id = loss; id >= 1; id--)
    if (node_at(b, id)->checkpoint || node_at(b, id)->op->kind == MICA__OP_SOURCE) b->again[id - 1] = false;
  /* If a node is recomputed, all its results are recomputed. */
  for (int32_t id = 1; id <= b->count; id++)
    if (node_at(b, id)->result) b->again[id - 1] = b->again[node_at(b, id)->inputs[0] - 1];
}

static int32_t copy_or_self(const backward *b, int32_t id) { return b->again[id - 1] ? b->copies[id - 1] : id; }

static mica_status recompute_node(backward *b, int32_t id) {
  /* Copies the node, because adding nodes may move the graph's array of nodes. */
  const mica__node node = *node_at(b, id);
  mica__type types[MICA__MAX_RESULTS];
  int32_t results = mica__node_results(&node);
  if (node.result) return MICA_OK;
  for (int32_t r = 0; r < results; r++) types[r] = node_at(b, id + r)->type;
  int32_t copy = mica__graph_put(b->graph, node.op, node.inputs, node.input_count, node.attrs, types);
  if (!copy) return b->graph->status;
  for (int32_t k = 0; k < node.input_count; k++) node_at(b, copy)->inputs[k] = copy_or_self(b, node.inputs[k]);
  for (int32_t r = 0; r < results; r++) {
    node_at(b, copy + r)->pass = b->pass;
    b->copies[id - 1 + r] = copy + r;
  }
  return MICA_OK;
}

/* Sets *value to the value as the backward pass may use it: the value itself or, if it is not kept, nodes that
 * recompute it from the last checkpoints. Adds these nodes if they do not exist yet. */
static mica_status usable(backward *b, int32_t id, mica_value *value) {
  if (b->again[id - 1] && !b->copies[id - 1]) {
    b->marked[id - 1] = true;
    for (int32_t i = id; i >= 1; i--) {
      const mica__node *node = node_at(b, i);
      for (int32_t k = 0; b->marked[i - 1] && k < node->input_count; k++) {
        int32_t input = node->inputs[k] - 1;
        b->marked[input] = b->marked[input] || (b->again[input] && !b->copies[input]);
      }
    }
    for (int32_t i = 1; i <= id; i++) {
      if (b->marked[i - 1]) MICA_TRY(recompute_node(b, i));
      b->marked[i - 1] = false;
    }
  }
  *value = value_of(b, copy_or_self(b, id));
  return MICA_OK;
}

/* True if the shapes differ only in extents that are open in one of them. */
static bool may_be_equal(mica_shape a, mica_shape b) {
  if (a.rank != b.rank) return false;
  for (int32_t k = 0; k < a.rank; k++)
    if (a.dim[k] != b.dim[k] && a.dim[k] != MICA_DYNAMIC && b.dim[k] != MICA_DYNAMIC) return false;
  return true;
}

/* Reshapes `share`, a contribution to the gradient of an operand, to the extents of the operand. */
static mica_value fitted(mica_value share, mica_value operand) {
  const mica_shape shape = mica_value_shape(operand);
  int32_t open = 0;
  if (mica_shape_equal(mica_value_shape(share), shape)) return share;
  for (int32_t k = 0; k < shape.rank; k++) open += shape.dim[k] == MICA_DYNAMIC;
  /* If one extent is open, it follows from the number of elements. If more are open, the reshape reads the extents of
   * the operand in each run. */
  if (open <= 1) return mica_reshape(share, shape);
  return mica__graph_add(&mica__op_reshape, (mica_value[]){share, operand}, 2, NULL);
}

/* Adds d, which a gradient rule computed, to the gradient of operand `id`. If an axis of this operand is open and the
 * same axis of another operand is fixed, d may have the fixed extent. Both extents are equal in every run, so d is
 * reshaped to the operand's own extents. */
static mica_status accumulate(backward *b, const mica__op *op, int32_t id, mica_value d) {
  char want[MICA__TYPE_TEXT], got[MICA__TYPE_TEXT];
  mica__type type = node_at(b, id)->type, is = {mica_value_dtype(d), mica_value_shape(d)};
  if (is.dtype != type.dtype || !may_be_equal(is.shape, type.shape))
    return mica__fail(MICA_E_STATE, "the gradient of %s for an operand is %s, but the operand is %s (an error in Mica)",
                      op->name, mica__type_format(is, got), mica__type_format(type, want));
  d = fitted(d, value_of(b, id));
  mica_value *sum = &b->grads[id - 1];
  *sum = sum->graph ? mica_add(*sum, d) : d;
  return b->graph->status;
}

/* Calls the gradient rule of a node's op, which adds nodes to the graph, and adds the results to the gradients of the
 * node's operands. inputs, shares: scratch memory, one value per operand. */
static mica_status visit_operands(backward *b, int32_t id, mica_value *inputs, mica_value *shares) {
  const mica__node node = *node_at(b, id);
  mica_value results[MICA__MAX_RESULTS];
  mica__grad grad = {.dy = b->grads[id - 1],
                     .results = results,
                     .dresults = &b->grads[id - 1],
                     .inputs = inputs,
                     .input_count = node.input_count,
                     .dinputs = shares};
  if (!node.op->grad)
    return mica__fail(MICA_E_UNSUPPORTED, "%s has no gradient, but the loss depends on its result %%%d '%s'",
                      node.op->name, (int)id, node.name ? node.name : "");
  for (int32_t k = 0; k < node.input_count; k++) MICA_TRY(usable(b, node.inputs[k], &inputs[k]));
  for (int32_t r = 0; r < mica__node_results(&node); r++) MICA_TRY(usable(b, id + r, &results[r]));
  grad.y = results[0];
  MICA_TRY(node.op->grad(&grad));
  MICA_TRY(b->graph->status);
  for (int32_t k = 0; k < node.input_count; k++)
    if (shares[k].graph && b->depends[node.inputs[k] - 1]) MICA_TRY(accumulate(b, node.op, node.inputs[k], shares[k]));
  return MICA_OK;
}

static mica_status visit(backward *b, int32_t id) {
  const mica__node *node = node_at(b, id);
  int32_t count = node->input_count;
  bool arrived = false;
  for (int32_t r = 0; r < mica__node_results(node); r++) arrived = arrived || b->grads[id - 1 + r].graph;
  if (count == 0 || node->result || !arrived || !b->depends[id - 1]) return MICA_OK;
  mica_value *values = calloc(2 * (size_t)count, sizeof *values);
  if (!values) return mica__fail_nomem("a gradient");
  mica_status status = visit_operands(b, id, values, values + count);
  free(values);
  return status;
}

/* If users of the node may read its operand instead of the rounded result (mica__op.is_stream), returns that operand,
 * else 0. */
static int32_t behind(const backward *b, int32_t id) {
  const mica__node *node = node_at(b, id);
  return node->op->is_stream && node->op->is_stream(node->attrs) ? node->inputs[0] : 0;
}

/* The gradient of the value, as far as it has been summed. If users may read the operand instead of the value (see
 * behind), the operand's gradient is included. */
static mica_value arrived_at(const backward *b, int32_t id) {
  mica_value d = b->grads[id - 1];
  const int32_t source = behind(b, id);
  if (!source || !b->grads[source - 1].graph) return d;
  const mica_value unrounded = mica_cast(b->grads[source - 1], node_at(b, id)->type.dtype);
  return d.graph ? mica_add(d, unrounded) : unrounded;
}

static mica_status run(backward *b, mica_value loss, const mica_value *wrt, size_t count, mica_value *grads) {
  for (size_t i = 0; i < count; i++) {
    const int32_t source = behind(b, wrt[i].id);
    b->depends[wrt[i].id - 1] = true;
    if (source) b->depends[source - 1] = true;
    grads[i] = (mica_value){0};
  }
  for (int32_t id = 1; id <= b->count; id++) {
    const mica__node *node = node_at(b, id);
    b->pass = node->pass > b->pass ? node->pass : b->pass;
    for (int32_t k = 0; k < node->input_count; k++)
      b->depends[id - 1] = b->depends[id - 1] || b->depends[node->inputs[k] - 1];
  }
  b->pass++;
  find_again(b, loss.id);
  b->grads[loss.id - 1] = mica_full_like(loss, 1);
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): check() has seen the graph. */
  for (int32_t id = loss.id; id >= 1 && b->graph->status == MICA_OK; id--) {
    for (size_t i = 0; i < count; i++)
      if (wrt[i].id == id) grads[i] = arrived_at(b, id);
    MICA_TRY(visit(b, id));
  }
  for (size_t i = 0; i < count; i++) {
    if (!grads[i].graph) grads[i] = mica_full_like(wrt[i], 0);
  }
  return b->graph->status; /* NOLINT(clang-analyzer-core.NullDereference) */
}

static mica_status check(mica_value loss, const mica_value *wrt, size_t count, const mica_value *grads) {
  char text[MICA__TYPE_TEXT];
  if (!loss.graph || (count && (!wrt || !grads)))
    return mica__fail(MICA_E_INVALID, "mica_gradients: loss is the null value, or wrt or grads is NULL");
  MICA_TRY(loss.graph->status);
  bool known = loss.id >= 1 && loss.id <= loss.graph->count;
  for (size_t i = 0; i < count; i++)
    known = known && wrt[i].graph == loss.graph && wrt[i].id >= 1 && wrt[i].id <= loss.graph->count;
  if (!known) return mica__fail(MICA_E_INVALID, "mica_gradients: loss and wrt must be values of one graph");
  mica__type type = mica__graph_node(loss.graph, loss.id)->type;
  int64_t elements = 1;
  for (int32_t i = 0; i < type.shape.rank; i++) elements *= type.shape.dim[i];
  if (elements != 1)
    return mica__fail(MICA_E_SHAPE, "mica_gradients: the loss %%%d '%s' is %s, but must have one element", (int)loss.id,
                      mica_value_name(loss), mica__type_format(type, text));
  if (mica_dtype_kind_of(type.dtype) == MICA_DTYPE_KIND_FLOAT) return MICA_OK;
  return mica__fail(MICA_E_DTYPE, "mica_gradients: the loss %%%d '%s' is %s, but must be of a floating type",
                    (int)loss.id, mica_value_name(loss), mica__type_format(type, text));
}

mica_status mica_gradients(mica_value loss, const mica_value *wrt, size_t count, mica_value *grads) {
  mica_status status = check(loss, wrt, count, grads);
  size_t nodes = loss.graph ? (size_t)loss.graph->count + 1 : 1;
  backward b = {.graph = loss.graph, .count = (int32_t)nodes - 1};
  if (status == MICA_OK) {
    b.grads = calloc(nodes, sizeof *b.grads);
    b.depends = calloc(nodes, sizeof *b.depends);
    b.again = calloc(nodes, sizeof *b.again);
    b.copies = calloc(nodes, sizeof *b.copies);
    b.marked = calloc(nodes, sizeof *b.marked);
    bool good = b.grads && b.depends && b.again && b.copies && b.marked;
    status = good ? run(&b, loss, wrt, count, grads) : mica__fail_nomem("a gradient");
  }
  free(b.grads);
  free(b.depends);
  free(b.again);
  free(b.copies);
  free(b.marked);
  if (status == MICA_OK) return MICA_OK;
  for (size_t i = 0; grads && i < count; i++) grads[i] = (mica_value){0};
  if (loss.graph) mica__graph_fail_with(loss.graph, status);
  return status;
}
