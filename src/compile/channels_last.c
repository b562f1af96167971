/* Chooses between channels first and channels last for values of the graph. Convolutions on matrix units read their
 * operands with channels last, and can write their results with channels last.
 *
 *   - A value that is made with channels first is copied for such a convolution. Convolutions that may share the copy
 *     use the same one.
 *   - A convolution writes its result with channels last if another convolution reads the result so, or if it adds an
 *     operand that has channels last.
 *   - Pointwise ops and reductions keep the layout of their operands.
 *   - Ops that need channels first read a transposed view. */
#include "compile/template.h"
#include "ops/select/registry.h"
#include "runtime/kernel_desc.h"

#include <mica/device.h>
#include <mica/nodes.h>
#include <stdlib.h>

/* Maximum number of operands that an op reads with channels last. */
#define MOST_OPERANDS 2

typedef struct choosing {
  const mica_graph *graph;
  mica_graph *out;
  const mica__template *template;
  bool *needed, *wanted; /* by id - 1; wanted: an output or an assigned value */
  bool *asked;           /* by id - 1: a launch that uses the value can read it with channels last */
  mica__layouts *layouts;
  bool *is_last; /* by id - 1: the value is made with channels last */
  int32_t *map;  /* by id - 1: the node in out, in the layout in which it is made */
  int32_t *view; /* by id - 1: the node in out that views the value in the other layout; 0: none yet */
  /* At 2 (id - 1): the value's last copy in out for launches that do not share copies; at 2 (id - 1) + 1: the last copy
   * for launches that do (mica__op.lends). 0: none. A forward convolution does not share its copy of x with the
   * backward pass, because the copy would stay in memory until the filter's gradient is computed. */
  int32_t *copies;
} choosing;

static mica__node *node_at(const choosing *c, int32_t id) { return mica__graph_node(c->graph, id); }

/* Converts the number of an axis of a shape with channels first to its number with channels last. */
static int32_t axis_last(int32_t axis, int32_t rank) { return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1; }

static mica_shape shape_last(mica_shape first) {
  mica_shape last = first;
  for (int32_t i = 0; i < first.rank; i++) last.dim[axis_last(i, first.rank)] = first.dim[i];
  return last;
}

static uint32_t axes_last(uint32_t axes, int32_t rank) {
  uint32_t last = 0;
  for (int32_t i = 0; i < rank; i++)
    if (axes >> i & 1) last |= 1u << axis_last(i, rank);
  return last;
}

/* --- needed values, and launches that read channels last --- */

static bool has_images(const mica__node *node) { return node->type.shape.rank >= 3 && node->type.shape.rank <= 5; }

/* True if no attribute of the op depends on the order of axes. axes: sets of axes, as bits, are allowed, because
 * exchange_axes can convert them. */
static bool has_plain_attrs(const mica__op *op, bool axes) {
  for (int32_t i = 0; op->attrs && i < op->attrs->count; i++) {
    const mica__attr_kind kind = op->attrs->rows[i].kind;
    const bool plain = kind == MICA__ATTR_REAL || kind == MICA__ATTR_BOOL || kind == MICA__ATTR_DTYPE ||
                       kind == MICA__ATTR_ENUM || (axes && kind == MICA__ATTR_AXES);
    if (!plain) return false;
  }
  return true;
}

/* True if the op computes the same in either layout of its operands. */
static bool is_flexible(const choosing *c, const mica__node *node) {
  const mica__op *op = node->op;
  if (op->kind == MICA__OP_POINTWISE) return has_images(node) && has_plain_attrs(op, false);
  if (node->input_count == 0 || !has_images(node_at(c, node->inputs[0]))) return false;
  const bool in_order = op->join != MICA__JOIN_NONE && op->join != MICA__JOIN_ARGMAX && op->join != MICA__JOIN_ARGMIN;
  if (op->kind == MICA__OP_REDUCE) return in_order && node->input_count == 1;
  return op->kind == MICA__OP_VIEW && op->attrs && has_plain_attrs(op, true) &&
         node_at(c, node->inputs[0])->type.shape.rank == node->type.shape.rank;
}

static void find_needed(const choosing *c) {
  for (int32_t i = 0; i < c->template->output_count; i++) c->wanted[c->template->outputs[i] - 1] = true;
  for (int32_t i = 0; i < c->template->assignment_count; i++) c->wanted[c->template->assignments[i].value - 1] = true;
  for (int32_t id = c->graph->count; id >= 1; id--) {
    const mica__node *node = node_at(c, id);
    c->needed[id - 1] = c->needed[id - 1] || c->wanted[id - 1];
    for (int32_t k = 0; c->needed[id - 1] && k < node->input_count; k++) c->needed[node->inputs[k] - 1] = true;
  }
}

static bool find_layouts(const choosing *c, mica_engine *engine) {
  bool found = false;
  for (int32_t id = 1; id <= c->graph->count; id++) {
    const mica__node *node = node_at(c, id);
    mica__layouts *own = &c->layouts[id - 1];
    mica__type types[MICA__MATCH_INPUTS];
    if (!c->needed[id - 1]) continue;
    if (!node->op->layouts || node->input_count > MICA__MATCH_INPUTS) continue;
    for (int32_t k = 0; k < node->input_count; k++) types[k] = node_at(c, node->inputs[k])->type;
    node->op->layouts(node, types, engine, own);
    for (int32_t k = 0; k < MOST_OPERANDS; k++)
      if (own->takes >> k & 1) c->asked[node->inputs[k] - 1] = true;
    found = found || own->copies;
  }
  return found;
}

/* --- values in the layout that a user needs --- */

static mica_status put_transposed(const choosing *c, int32_t from, bool to_last, int32_t pass, int32_t *id) {
  const int32_t rank = mica__graph_node(c->out, from)->type.shape.rank;
  mica_axes axes = {.count = rank};
  for (int32_t i = 0; i < rank; i++) {
    const int32_t last = axis_last(i, rank);
    axes.axis[to_last ? last : i] = to_last ? i : last;
  }
  *id = mica_transpose((mica_value){c->out, from}, axes).id;
  if (!*id) return c->out->status;
  mica__graph_node(c->out, *id)->pass = pass;
  return MICA_OK;
}

/* Gets a view of the value in the layout in which it was not made; adds the view if it does not exist yet. */
static mica_status other_view(const choosing *c, int32_t id, int32_t *out) {
  if (!c->view[id - 1])
    MICA_TRY(put_transposed(c, c->map[id - 1], !c->is_last[id - 1], node_at(c, id)->pass, &c->view[id - 1]));
  *out = c->view[id - 1];
  return MICA_OK;
}

static mica_status first_of(const choosing *c, int32_t id, int32_t *out) {
  *out = c->map[id - 1];
  return c->is_last[id - 1] ? other_view(c, id, out) : MICA_OK;
}

/* True if the value is made with channels last, and the channels of a pixel take a multiple of 16 bytes, because
 * launches read 16 bytes at a time. A reduction over channels or a cast to a smaller type can give a value for which
 * this is not so. */
static bool is_whole(const choosing *c, int32_t id) {
  const mica__type *type = &node_at(c, id)->type;
  return c->is_last[id - 1] && type->shape.dim[1] % (16 / (int64_t)mica_dtype_size(type->dtype)) == 0;
}

/* Gets operand k of a launch with channels last: the value itself if is_whole is true for it, else a copy of it. Uses
 * the copy that was made for an earlier launch of the same pass, or adds a new one. */
static mica_status copy_of(const choosing *c, const mica__node *node, int32_t k, int32_t *out) {
  const int32_t id = node->inputs[k];
  int32_t *copy = &c->copies[2 * (id - 1) + (int32_t)(node->op->lends >> k & 1)];
  mica__type type = {0};
  *out = c->map[id - 1];
  if (is_whole(c, id)) return MICA_OK;
  if (!*copy || mica__graph_node(c->out, *copy)->pass != node->pass) {
    int32_t first = 0;
    MICA_TRY(first_of(c, id, &first));
    MICA_TRY(mica__op_infer(&mica__op_channels_last, &node_at(c, id)->type, 1, NULL, &type));
    *copy = mica__graph_put(c->out, &mica__op_channels_last, &first, 1, NULL, &type);
    if (!*copy) return c->out->status;
    mica__graph_node(c->out, *copy)->pass = node->pass;
  }
  *out = *copy;
  return MICA_OK;
}

/* Gets operand k of a pointwise op whose result has channels last: the value itself if it has one element or channels
 * last too, else a view of it with channels last. */
static mica_status follow(const choosing *c, const mica__node *node, int32_t k, int32_t *out) {
  const int32_t id = node->inputs[k], rank = node->type.shape.rank;
  const mica__node *from = node_at(c, id);
  *out = c->map[id - 1];
  if (mica__node_count(from) == 1) return MICA_OK;
  if (from->type.shape.rank == rank) return c->is_last[id - 1] ? MICA_OK : other_view(c, id, out);
  /* A value of lower rank is broadcast along the first axes of the layout with channels first. So it first gets the
   * full rank in that layout, and is then transposed. */
  int32_t first = 0;
  MICA_TRY(first_of(c, id, &first));
  mica_shape shape = {.rank = rank};
  for (int32_t i = 0; i < rank; i++) shape.dim[i] = 1;
  for (int32_t i = 0; i < from->type.shape.rank; i++)
    shape.dim[rank - from->type.shape.rank + i] = from->type.shape.dim[i];
  const int32_t wide = mica_reshape((mica_value){c->out, first}, shape).id;
  if (!wide) return c->out->status;
  mica__graph_node(c->out, wide)->pass = node->pass;
  return put_transposed(c, wide, true, node->pass, out);
}

/* --- nodes --- */

/* Adds a copy of the node with these inputs to c->out. last: its result has channels last. */
static mica_status put(const choosing *c, int32_t id, const int32_t *inputs, bool last) {
  const mica__node *node = node_at(c, id);
  MICA_TRY(mica__template_copy_node(c->graph, id, c->map, c->out));
  if (node->op->kind == MICA__OP_RESULT) return MICA_OK;
  mica__node *made = mica__graph_node(c->out, c->map[id - 1]);
  for (int32_t k = 0; k < node->input_count; k++) made->inputs[k] = inputs[k];
  if (last) made->type.shape = shape_last(made->type.shape);
  c->is_last[id - 1] = last;
  return MICA_OK;
}

static bool asks_for_result(const choosing *c, int32_t id) {
  const mica__node *node = node_at(c, id);
  const int32_t addend = c->layouts[id - 1].addend;
  return c->asked[id - 1] || (addend && is_whole(c, node->inputs[addend]));
}

static mica_status visit_launch(const choosing *c, int32_t id, int32_t *inputs) {
  const mica__node *node = node_at(c, id);
  const mica__layouts *own = &c->layouts[id - 1];
  uint32_t last = own->copies;
  for (int32_t k = 0; k < MOST_OPERANDS; k++)
    if (own->takes >> k & 1 && is_whole(c, node->inputs[k])) last = own->takes;
  /* If a later launch reads the result with channels last, or the addend has them last, the operands are copied to
   * channels last, so that the launch can write its result so and the result need not be copied. */
  if (!last && own->writes && !c->wanted[id - 1] && asks_for_result(c, id)) last = own->takes;
  const bool result = last && own->writes && !c->wanted[id - 1] && asks_for_result(c, id);
  for (int32_t k = 0; k < node->input_count; k++) {
    const bool follows = result && own->addend && k == own->addend;
    MICA_TRY((k < MOST_OPERANDS && last >> k & 1) || follows ? copy_of(c, node, k, &inputs[k])
                                                             : first_of(c, node->inputs[k], &inputs[k]));
  }
  MICA_TRY(put(c, id, inputs, result));
  if (last) node->op->set_last(mica__graph_node(c->out, c->map[id - 1])->attrs, last, result);
  return MICA_OK;
}

/* True if a flexible node's result has channels last. */
static bool becomes_last(const choosing *c, const mica__node *node) {
  if (node->op->kind != MICA__OP_POINTWISE) return c->is_last[node->inputs[0] - 1];
  for (int32_t k = 0; k < node->input_count; k++) {
    const mica__node *from = node_at(c, node->inputs[k]);
    if (c->is_last[node->inputs[k] - 1] && mica_shape_equal(from->type.shape, node->type.shape)) return true;
  }
  return false;
}

/* Converts the sets of axes in the attributes of a reduction or view to channels last. rank: the operand's rank. */
static void exchange_axes(mica__node *made, int32_t rank) {
  for (int32_t i = 0; i < made->op->attrs->count; i++) {
    const mica__attr *row = &made->op->attrs->rows[i];
    if (row->kind != MICA__ATTR_AXES) continue;
    uint32_t *axes = (uint32_t *)((unsigned char *)made->attrs + row->offset);
    *axes = axes_last(*axes, rank);
  }
}

/* For a reduction that drops its axes: true if the remaining axes have the same order in both layouts, which is the
 * case if channels or all spatial axes are dropped. */
static bool keeps_order(const choosing *c, const mica__node *node) {
  const mica__reduce_attrs *attrs = node->attrs;
  const int32_t rank = node_at(c, node->inputs[0])->type.shape.rank;
  const uint32_t images = ((1u << rank) - 1) & ~3u;
  return attrs->axes & 2 || (attrs->axes & images) == images;
}

static mica_status visit_reduction(const choosing *c, int32_t id, int32_t *inputs) {
  const mica__node *node = node_at(c, id);
  const bool keeps = node->op->kind == MICA__OP_VIEW || ((const mica__reduce_attrs *)node->attrs)->keep;
  bool last = c->is_last[node->inputs[0] - 1] && (keeps ? !c->wanted[id - 1] : keeps_order(c, node));
  for (int32_t k = 0; k < node->input_count; k++)
    if (k == 0 && last)
      inputs[0] = c->map[node->inputs[0] - 1];
    else
      MICA_TRY(first_of(c, node->inputs[k], &inputs[k]));
  MICA_TRY(put(c, id, inputs, last && keeps));
  if (last) exchange_axes(mica__graph_node(c->out, c->map[id - 1]), node_at(c, node->inputs[0])->type.shape.rank);
  return MICA_OK;
}

static mica_status visit(const choosing *c, int32_t id, int32_t *inputs) {
  const mica__node *node = node_at(c, id);
  const bool flexible = c->needed[id - 1] && is_flexible(c, node);
  if (node->op->kind == MICA__OP_RESULT) return put(c, id, inputs, false);
  if (c->layouts[id - 1].takes | c->layouts[id - 1].copies) return visit_launch(c, id, inputs);
  if (flexible && node->op->kind != MICA__OP_POINTWISE) return visit_reduction(c, id, inputs);
  const bool last = flexible && !c->wanted[id - 1] && becomes_last(c, node);
  for (int32_t k = 0; k < node->input_count; k++)
    MICA_TRY(last ? follow(c, node, k, &inputs[k]) : first_of(c, node->inputs[k], &inputs[k]));
  return put(c, id, inputs, last);
}

/* Replaces the template's graph by one with the chosen layouts. */
static mica_status rebuild(choosing *c, mica__template *template) {
  int32_t most = 1;
  for (int32_t id = 1; id <= c->graph->count; id++)
    if (node_at(c, id)->input_count > most) most = node_at(c, id)->input_count;
  int32_t *inputs = calloc((size_t)most, sizeof *inputs);
  mica_status status = inputs ? mica_graph_create(&c->out) : mica__fail_nomem("a session");
  for (int32_t id = 1; status == MICA_OK && id <= c->graph->count; id++) status = visit(c, id, inputs);
  free(inputs);
  if (status != MICA_OK) {
    mica_graph_destroy(c->out);
    return status;
  }
  for (int32_t i = 0; i < template->output_count; i++) template->outputs[i] = c->map[template->outputs[i] - 1];
  for (int32_t i = 0; i < template->assignment_count; i++) {
    mica__assignment *a = &template->assignments[i];
    *a = (mica__assignment){c->map[a->parameter - 1], c->map[a->value - 1]};
  }
  mica_graph_destroy(template->graph);
  template->graph = c->out;
  return MICA_OK;
}

mica_status mica__template_choose_layouts(mica__template *template, mica_engine *engine) {
  const size_t nodes = (size_t) template->graph->count + 1;
  if (mica__kernel_class(mica_engine_device(engine)) != MICA__ON_GPU) return MICA_OK;
  choosing c = {.graph = template->graph,
                .template = template,
                .needed = calloc(nodes, sizeof *c.needed),
                .wanted = calloc(nodes, sizeof *c.wanted),
                .asked = calloc(nodes, sizeof *c.asked),
                .layouts = calloc(nodes, sizeof *c.layouts),
                .is_last = calloc(nodes, sizeof *c.is_last),
                .map = calloc(nodes, sizeof *c.map),
                .view = calloc(nodes, sizeof *c.view),
                .copies = calloc(nodes, 2 * sizeof *c.copies)};
  const bool room = c.needed && c.wanted && c.asked && c.layouts && c.is_last && c.map && c.view && c.copies;
  mica_status status = room ? MICA_OK : mica__fail_nomem("a session");
  if (room) find_needed(&c);
  if (room && find_layouts(&c, engine)) status = rebuild(&c, template);
  void *all[] = {c.needed, c.wanted, c.asked, c.layouts, c.is_last, c.map, c.view, c.copies};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  return status;
}
