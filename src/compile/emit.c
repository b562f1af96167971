#include "compile/emit.h"

#include "base/element.h"

#include <string.h>

static mica__node *node_at(const mica__emission *e, int32_t id) { return mica__graph_node(e->graph, id); }

static bool reduces(const mica__node *reduce, int32_t axis) {
  return ((const mica__reduce_attrs *)reduce->attrs)->axes >> axis & 1;
}

static bool is_member(const mica__emission *e, int32_t id) { return e->group[id - 1] == e->own || e->inlined[id - 1]; }

/* Adds an instruction, the value of node id at this access. Returns its number; -1 if the kernel is full. */
static int32_t add_instr(mica__emission *e, const mica__fused_instr *instr, int32_t id, const mica__access *access) {
  if (e->fused->count == MICA__FUSED_INSTRS) return -1;
  e->memo_node[e->fused->count] = id;
  e->memo_access[e->fused->count] = *access;
  e->fused->instrs[e->fused->count] = *instr;
  return e->fused->count++;
}

static int32_t add_operand(mica__emission *e, int32_t id, bool store) {
  for (int32_t k = 0; k < e->fused->operand_count && !store; k++)
    if (e->operands[k] == id && !(e->stores >> k & 1)) return k;
  if (e->fused->operand_count == MICA__FUSED_OPERANDS) return -1;
  int32_t k = e->fused->operand_count++;
  e->operands[k] = id;
  e->fused->operand_dtype[k] = node_at(e, id)->type.dtype;
  if (store) e->stores |= 1u << k;
  return k;
}

static int32_t add_load(mica__emission *e, int32_t id, const mica__access *access) {
  mica__fused_instr instr = {.kind = MICA__FUSED_LOAD, .dtype = node_at(e, id)->type.dtype, .access = *access};
  instr.operand = add_operand(e, id, false);
  return instr.operand < 0 ? -1 : add_instr(e, &instr, id, access);
}

static int32_t add_store(mica__emission *e, int32_t id, int32_t value, const mica__access *access) {
  mica__fused_instr instr = {.kind = MICA__FUSED_STORE, .dtype = node_at(e, id)->type.dtype, .access = *access};
  instr.args[0] = value;
  instr.arg_count = 1;
  instr.operand = add_operand(e, id, true);
  return instr.operand < 0 ? -1 : add_instr(e, &instr, 0, access);
}

static int32_t emit_value(mica__emission *e, int32_t id, const mica__access *access);

/* True for a constant of one element, or with one value everywhere, that a double represents exactly. */
static bool is_number(const mica__node *node, double *value) {
  if (node->op == &mica__op_full)
    *value = mica__full_value(node);
  else if (node->op == &mica__op_constant && mica__node_count(node) == 1)
    *value = mica__element_get(node->type.dtype, node->data, 0);
  else
    return false;
  return mica__element_is_exact(node->type.dtype, *value);
}

static int32_t emit_number(mica__emission *e, int32_t id, double value) {
  mica__fused_instr instr = {.kind = MICA__FUSED_VALUE, .dtype = node_at(e, id)->type.dtype, .value = value};
  static const mica__access nowhere = {0};
  for (int32_t i = 0; i < e->fused->count; i++)
    if (e->memo_node[i] == id) return i;
  return add_instr(e, &instr, id, &nowhere);
}

/* True if the kernel can load the value from memory, because other kernels have computed it. If the value is a view,
 * this must hold for all views down to the viewed value, and for that value. */
static bool is_made_before(const mica__emission *e, int32_t id) {
  for (; node_at(e, id)->op->kind == MICA__OP_VIEW; id = node_at(e, id)->inputs[0])
    if (e->group[id - 1] == e->own) return false;
  return !is_member(e, id);
}

/* Emits the value of a view as an expression of the viewed value. If no single access expresses that, loads the view
 * from memory, if it is stored there. */
static int32_t emit_view(mica__emission *e, int32_t id, const mica__access *access) {
  const mica__node *node = node_at(e, id);
  mica__access inner, both;
  if (node->op->view(node, node_at(e, node->inputs[0])->type.shape, &inner) &&
      mica__access_compose(e->space, access, node->type.shape, &inner, &both))
    return emit_value(e, node->inputs[0], &both);
  return is_made_before(e, id) ? add_load(e, id, access) : -1;
}

static int32_t emit_pointwise(mica__emission *e, int32_t id, const mica__access *access) {
  const mica__node *node = node_at(e, id);
  mica__fused_instr instr = {.kind = MICA__FUSED_OP, .op = node->op, .attrs = node->attrs, .dtype = node->type.dtype};
  if (node->input_count > 4) return -1;
  instr.arg_count = node->input_count;
  for (int32_t k = 0; k < node->input_count; k++) {
    mica__access both, inner = mica__access_broadcast(node_at(e, node->inputs[k])->type.shape, node->type.shape);
    if (!mica__access_compose(e->space, access, node->type.shape, &inner, &both)) return -1;
    instr.args[k] = emit_value(e, node->inputs[k], &both);
    if (instr.args[k] < 0) return -1;
  }
  return add_instr(e, &instr, id, access);
}

/* Finds the access at which a reduction reads its operand. Outside the row, it follows `access`, at which the result is
 * read; along the row, it steps through the reduced axes. False if no single access does that. */
static bool operand_access(const mica__emission *e, const mica__node *node, const mica__access *access,
                           mica__access *out) {
  mica_shape x = node_at(e, node->inputs[0])->type.shape, kept = x, axes = {0}, row = {.rank = e->fused->reduced};
  mica__access steps = mica__access_row_major(x), kept_steps = steps, axis_steps = {0}, within, in_order;
  int32_t outer = e->space.rank - row.rank;
  int64_t extent = 1, expected = 1;
  for (int32_t i = 0; i < row.rank; i++) {
    row.dim[i] = e->space.dim[outer + i];
    expected *= row.dim[i];
    if (row.dim[i] > 1 && access->stride[outer + i] != 0) return false;
  }
  for (int32_t i = 0; i < x.rank; i++) {
    if (!reduces(node, i)) continue;
    axes.dim[axes.rank] = x.dim[i];
    axis_steps.stride[axes.rank++] = steps.stride[i];
    extent *= x.dim[i];
    kept.dim[i] = 1;
    kept_steps.stride[i] = 0;
  }
  if (extent != expected || !mica__access_compose(e->space, access, kept, &kept_steps, out)) return false;
  in_order = mica__access_row_major(row);
  if (!mica__access_compose(row, &in_order, axes, &axis_steps, &within)) return false;
  for (int32_t i = 0; i < row.rank; i++) out->stride[outer + i] = within.stride[i];
  return true;
}

static bool joins_something(const mica__emission *e, const mica__node *reduce) {
  for (int32_t i = 0; i < node_at(e, reduce->inputs[0])->type.shape.rank; i++)
    if (reduces(reduce, i)) return true;
  return false;
}

/* A reduction along no axes: each element is its own result, and its index is 0. */
static int32_t emit_unjoined(mica__emission *e, int32_t id, const mica__access *access) {
  const mica__node *node = node_at(e, id);
  bool index = node->op->join == MICA__JOIN_ARGMAX || node->op->join == MICA__JOIN_ARGMIN;
  return index ? emit_number(e, id, 0) : emit_value(e, node->inputs[0], access);
}

static int32_t emit_reduce(mica__emission *e, int32_t id, const mica__access *access) {
  const mica__node *node = node_at(e, id);
  mica__fused_instr instr = {
      .kind = MICA__FUSED_REDUCE, .op = node->op, .attrs = node->attrs, .arg_count = 1, .dtype = node->type.dtype};
  mica__access operand;
  if (!joins_something(e, node)) return emit_unjoined(e, id, access);
  if (e->fused->reduced == 0 || node->op->join == MICA__JOIN_NONE) return -1;
  if (!operand_access(e, node, access, &operand)) return -1;
  instr.args[0] = emit_value(e, node->inputs[0], &operand);
  return instr.args[0] < 0 ? -1 : add_instr(e, &instr, id, access);
}

/* A result of this shape is read at `access`. Narrows the bounds of a LOAD so that the index along axis a of the result
 * lies in [begin, end). False if that index does not follow one dimension of the kernel's index space in steps of 1 or
 * -1, or if it is constant and outside. */
static bool bound(const mica__emission *e, mica_shape shape, const mica__access *access, int32_t a, int64_t begin,
                  int64_t end, mica__fused_instr *load) {
  mica__access index = {0}, steps;
  int32_t along = -1;
  index.stride[a] = 1;
  if (!mica__access_compose(e->space, access, shape, &index, &steps)) return false;
  for (int32_t d = 0; d < e->space.rank; d++) {
    if (steps.stride[d] == 0 || e->space.dim[d] == 1) continue;
    if (along >= 0 || (steps.stride[d] != 1 && steps.stride[d] != -1)) return false;
    along = d;
  }
  if (along < 0) return steps.offset >= begin && steps.offset < end;
  bool forwards = steps.stride[along] > 0;
  int64_t low = forwards ? begin - steps.offset : steps.offset - end + 1;
  int64_t high = forwards ? end - steps.offset : steps.offset - begin + 1;
  if (low > load->low[along]) load->low[along] = low;
  if (high < load->high[along]) load->high[along] = high;
  return true;
}

/* The result of `node`, which contains operand k in a window, is read at `access`. Sets the access and the bounds of a
 * LOAD that reads the elements of operand k. *base receives the node whose memory is read. False if no single LOAD can
 * do that. */
static bool window_access(const mica__emission *e, const mica__node *node, int32_t k, const mica__access *access,
                          mica__fused_instr *load, int32_t *base) {
  mica_shape shape = node->type.shape, part = node_at(e, node->inputs[k])->type.shape;
  mica__access inner = mica__template_look(e->graph, node->inputs[k], base);
  mica__inset window;
  node->op->window(e->graph, node, k, &window, &load->value);
  for (int32_t d = 0; d < MICA_MAX_RANK; d++) load->high[d] = e->space.dim[d];
  for (int32_t a = 0; a < shape.rank; a++) {
    int64_t step = part.dim[a] == 1 ? 1 : window.step[a], begin = window.start[a];
    if (step != 1 && step != -1) return false;
    inner.stride[a] *= step;
    inner.offset -= window.start[a] * inner.stride[a];
    if (step < 0) begin -= part.dim[a] - 1;
    if (part.dim[a] != shape.dim[a] && !bound(e, shape, access, a, begin, begin + part.dim[a], load)) return false;
  }
  return mica__access_compose(e->space, access, shape, &inner, &load->access);
}

/* Emits a result that contains its operands in windows, such as a concatenation, as a chain of bounded LOADs, one per
 * operand. Outside its bounds, a LOAD gives the value of the LOAD before it. */
static int32_t emit_windows(mica__emission *e, int32_t id, const mica__access *access) {
  const mica__node *node = node_at(e, id);
  int32_t value = -1, base = 0;
  for (int32_t k = 0; k < node->input_count; k++) {
    mica__fused_instr load = {.kind = MICA__FUSED_LOAD, .dtype = node->type.dtype, .bounded = true};
    if (mica__node_count(node_at(e, node->inputs[k])) == 0) continue;
    if (!window_access(e, node, k, access, &load, &base) || !is_made_before(e, base)) return -1;
    load.args[0] = value;
    load.arg_count = value >= 0;
    load.operand = add_operand(e, base, false);
    value = load.operand < 0 ? -1 : add_instr(e, &load, id, access);
    if (value < 0) return -1;
    e->memo_node[value] = 0; /* only the last LOAD of the chain has the node's value */
  }
  if (value >= 0) e->memo_node[value] = id;
  return value;
}

static int32_t emit_value(mica__emission *e, int32_t id, const mica__access *access) {
  const mica__node *node = node_at(e, id);
  double number = 0;
  for (int32_t i = 0; i < e->fused->count; i++)
    if (e->memo_node[i] == id && mica__access_equal(e->space, &e->memo_access[i], access)) return i;
  if (is_number(node, &number)) return emit_number(e, id, number);
  if (node->op->kind == MICA__OP_VIEW && (e->group[id - 1] == 0 || e->group[id - 1] == e->own))
    return emit_view(e, id, access);
  if (!is_member(e, id)) return add_load(e, id, access);
  if (node->op->window) return emit_windows(e, id, access);
  if (node->op->kind == MICA__OP_POINTWISE) return emit_pointwise(e, id, access);
  return node->op->kind == MICA__OP_REDUCE ? emit_reduce(e, id, access) : -1;
}

/* The accesses over the kernel's index space of nodes with one value per element, and with one per row. */
typedef struct layout {
  mica__access element, row;
} layout;

/* Sets the index space of a kernel with this reduction: the kept dimensions come first, then the reduced ones as the
 * row. Returns the accesses for it. */
static layout layout_of_reduce(mica__emission *e, const mica__node *reduce) {
  mica_shape x = node_at(e, reduce->inputs[0])->type.shape, kept = x;
  mica__access steps = mica__access_row_major(x), kept_steps;
  layout made = {0};
  for (int32_t i = 0; i < x.rank; i++)
    if (reduces(reduce, i)) kept.dim[i] = 1;
  kept_steps = mica__access_row_major(kept);
  for (int reduced = 0; reduced < 2; reduced++)
    for (int32_t i = 0; i < x.rank; i++) {
      if (reduces(reduce, i) != (reduced != 0)) continue;
      int32_t at = e->space.rank++;
      e->space.dim[at] = x.dim[i];
      made.element.stride[at] = steps.stride[i];
      made.row.stride[at] = reduced ? 0 : kept_steps.stride[i];
      e->fused->reduced += reduced;
      e->elements *= x.dim[i];
      e->rows *= reduced ? 1 : x.dim[i];
    }
  return made;
}

/* The node that determines the index space: the first reduction, else the last of the stored nodes with the most
 * dimensions. */
static int32_t leader_of(const mica__emission *e, const int32_t *members, int32_t count, const bool *stored) {
  int32_t leader = 0, rank = -1;
  for (int32_t i = 0; i < count; i++) {
    const mica__node *node = node_at(e, members[i]);
    if (node->op->kind == MICA__OP_REDUCE && joins_something(e, node)) return members[i];
    if (!stored[members[i] - 1] || node->type.shape.rank < rank) continue;
    leader = members[i];
    rank = node->type.shape.rank;
  }
  return leader;
}

static layout choose_space(mica__emission *e, const mica__node *leader) {
  layout made = {0};
  e->elements = e->rows = 1;
  e->space = (mica_shape){0};
  if (leader->op->kind == MICA__OP_REDUCE && joins_something(e, leader)) {
    made = layout_of_reduce(e, leader);
  } else {
    e->space = leader->type.shape;
    e->elements = e->rows = mica__node_count(leader);
    made.element = made.row = mica__access_row_major(e->space);
  }
  e->fused->rank = e->space.rank;
  memcpy(e->fused->extent, e->space.dim, sizeof e->fused->extent);
  return made;
}

bool mica__emit(mica__emission *e, const int32_t *members, int32_t count, const bool *stored) {
  int32_t leader = leader_of(e, members, count, stored);
  /* Resets only these fields. Clearing all instructions would take long, and the partition tries many sets of nodes. */
  e->fused->rank = e->fused->reduced = e->fused->count = e->fused->operand_count = e->fused->split = 0;
  e->fused->chunk = 0;
  e->stores = 0;
  if (!leader) return false;
  layout lay = choose_space(e, node_at(e, leader));
  for (int32_t i = 0; i < count; i++) {
    if (!stored[members[i] - 1]) continue;
    int64_t elements = mica__node_count(node_at(e, members[i]));
    if (elements != e->elements && elements != e->rows) return false;
    /* Compares with rows first: if there are no rows, both counts are 0, and a joined value must not be stored as an
     * element. */
    const mica__access *access = elements == e->rows ? &lay.row : &lay.element;
    int32_t value = emit_value(e, members[i], access);
    if (value < 0 || add_store(e, members[i], value, access) < 0) return false;
  }
  return mica__fused_fits(e->fused, e->scratch);
}
