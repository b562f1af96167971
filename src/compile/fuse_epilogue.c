/* Fuses pointwise ops into the launch that stores their operand (bias, activation, residual of a matrix product), and
 * casts of its operands into the launch that reads them, also through views of the cast value. */
#include "compile/template.h"

#include <stdlib.h>
#include <string.h>

typedef struct fusing {
  mica_graph *graph;
  bool *needed, *wanted;
  void *attrs;   /* room for the attributes of a fused op */
  int32_t *uses; /* by id - 1: number of uses by needed nodes; a use through views counts for the viewed node */
  bool *narrow;  /* by id - 1: see find_narrow */
} fusing;

static mica__node *node_at(const fusing *a, int32_t id) { return mica__graph_node(a->graph, id); }

static int32_t bottom_of(const fusing *a, int32_t id) {
  while (node_at(a, id)->op->kind == MICA__OP_VIEW) id = node_at(a, id)->inputs[0];
  return id;
}

static void count_uses(fusing *a, const mica__template *template) {
  for (int32_t i = 0; i < template->output_count; i++) a->wanted[template->outputs[i] - 1] = true;
  for (int32_t i = 0; i < template->assignment_count; i++) a->wanted[template->assignments[i].value - 1] = true;
  for (int32_t id = a->graph->count; id >= 1; id--) {
    const mica__node *node = node_at(a, id);
    a->needed[id - 1] = a->needed[id - 1] || a->wanted[id - 1];
    for (int32_t k = 0; a->needed[id - 1] && k < node->input_count; k++) {
      a->needed[node->inputs[k] - 1] = true;
      if (node->op->kind != MICA__OP_VIEW) a->uses[bottom_of(a, node->inputs[k]) - 1]++;
    }
  }
}

/* Returns the launch into which `user` could be fused: the launch whose whole result, in the same order, is the user's
 * operand k. NULL if the operand is no such result, if something else uses the result too, if the user belongs to
 * another pass, or if the last axes of the two results differ in extent. */
static mica__node *launch_behind(const fusing *a, const mica__node *user, int32_t k) {
  int32_t base = 0, id = user->inputs[k];
  mica_shape space = node_at(a, id)->type.shape;
  mica__access access = mica__template_look(a->graph, id, &base);
  mica__node *node = node_at(a, base);
  if (!node->op->fuse_epilogue || a->uses[base - 1] != 1 || a->wanted[base - 1] || node->pass != user->pass)
    return NULL;
  int64_t count = mica__node_count(node);
  bool whole = mica__access_is_row_major(space, &access) && mica__node_count(node_at(a, id)) == count &&
               mica__node_count(user) == count;
  if (!whole || node->type.shape.rank == 0 || user->type.shape.rank == 0) return NULL;
  int64_t columns = node->type.shape.dim[node->type.shape.rank - 1];
  return columns == user->type.shape.dim[user->type.shape.rank - 1] ? node : NULL;
}

/* Replaces the user by the fused launch `op`. Its operands are those of the launch `node` and, unless 0, `other`. The
 * launch `node` is then unused. */
static mica_status take_over(fusing *a, mica__node *user, mica__node *node, int32_t other, const mica__op *op,
                             const void *given) {
  void *attrs = NULL;
  int32_t *inputs = calloc((size_t)node->input_count + 1, sizeof *inputs);
  mica_status status = inputs ? mica__attrs_copy(op->attrs, given, &attrs) : mica__fail_nomem("a session");
  if (status != MICA_OK) {
    free(inputs);
    return status;
  }
  memcpy(inputs, node->inputs, (size_t)node->input_count * sizeof *inputs);
  if (other) inputs[node->input_count] = other;
  free(user->inputs);
  user->inputs = inputs;
  user->input_count = node->input_count + (other != 0);
  user->op = op;
  free(user->attrs);
  user->attrs = attrs;
  a->uses[node - a->graph->nodes] = 0;
  return MICA_OK;
}

/* --- half precision that is only widened for launches --- */

static bool takes_halves(const mica__node *node, int32_t k) { return k < 32 && node->op->takes_halves >> k & 1; }

/* Sets narrow[id - 1] for views that are read only as operands that launches take in half precision, directly or
 * through views. */
static void find_narrow(const fusing *a) {
  for (int32_t id = 1; id <= a->graph->count; id++)
    a->narrow[id - 1] = a->needed[id - 1] && !a->wanted[id - 1] && node_at(a, id)->op->kind == MICA__OP_VIEW;
  for (int32_t id = a->graph->count; id >= 1; id--) {
    const mica__node *user = node_at(a, id);
    for (int32_t k = 0; a->needed[id - 1] && k < user->input_count; k++)
      if (!takes_halves(user, k) && !a->narrow[id - 1]) a->narrow[user->inputs[k] - 1] = false;
  }
}

/* If the value is a cast from half precision to f32, returns the cast's operand, else 0. Also returns 0 if the cast
 * belongs to another pass than its user, unless its operand is a source, such as a weight. */
static int32_t widened(const fusing *a, int32_t id, int32_t pass) {
  const mica__node *cast = node_at(a, id);
  if (cast->op->kind != MICA__OP_POINTWISE || !cast->op->identity || cast->type.dtype != MICA_F32) return 0;
  const mica__node *from = node_at(a, cast->inputs[0]);
  if (from->type.dtype != MICA_F16 && from->type.dtype != MICA_BF16) return 0;
  return cast->pass == pass || from->op->kind == MICA__OP_SOURCE ? cast->inputs[0] : 0;
}

/* Makes a view of a widened value a view of the value in half precision. */
static void look_at_halves(const fusing *a, int32_t id) {
  mica__node *view = node_at(a, id);
  if (!a->narrow[id - 1] || view->type.dtype != MICA_F32) return;
  const int32_t halves = widened(a, view->inputs[0], view->pass);
  if (halves) view->inputs[0] = halves;
  view->type.dtype = node_at(a, view->inputs[0])->type.dtype;
}

/* Makes a launch read operands in half precision directly, without their casts to f32. */
static void take_halves(const fusing *a, mica__node *node) {
  for (int32_t k = 0; k < node->input_count; k++) {
    const int32_t halves = takes_halves(node, k) ? widened(a, node->inputs[k], node->pass) : 0;
    if (halves) node->inputs[k] = halves;
  }
}

/* True if the operand `other` is as large as the result and would be stored in memory only so that the fused launch can
 * read it. Fusing is then not worth it, because without it one kernel computes `other`, the user and later ops without
 * storing `other`. An example is an optimiser's momentum, which is followed by the update. */
static bool is_stored_for_it(const fusing *a, const mica__node *user, int32_t other) {
  const int32_t base = bottom_of(a, other);
  const mica__node *node = node_at(a, base);
  return node->op->kind == MICA__OP_POINTWISE && a->uses[base - 1] == 1 && !a->wanted[base - 1] &&
         mica__node_count(node) == mica__node_count(user);
}

static mica_status visit(fusing *a, mica__node *user) {
  look_at_halves(a, (int32_t)(user - a->graph->nodes) + 1);
  take_halves(a, user);
  if (user->op->kind != MICA__OP_POINTWISE || user->input_count > 2) return MICA_OK;
  for (int32_t k = 0; k < user->input_count; k++) {
    mica__node *node = launch_behind(a, user, k);
    int32_t other = user->input_count == 2 ? user->inputs[1 - k] : 0;
    if (!node || (other && is_stored_for_it(a, user, other))) continue;
    mica__epilogue_fusion fusion = {.node = node, .user = user, .attrs = a->attrs};
    if (other) {
      fusion.other = &node_at(a, other)->type;
      fusion.access = mica__access_broadcast(fusion.other->shape, user->type.shape);
    }
    if (node->op->fuse_epilogue(&fusion)) return take_over(a, user, node, other, fusion.op, a->attrs);
  }
  return MICA_OK;
}

mica_status mica__template_fuse_epilogues(mica__template *template) {
  fusing a = {.graph = template->graph};
  size_t nodes = (size_t)a.graph->count + 1;
  a.needed = calloc(nodes, sizeof *a.needed);
  a.wanted = calloc(nodes, sizeof *a.wanted);
  a.uses = calloc(nodes, sizeof *a.uses);
  a.narrow = calloc(nodes, sizeof *a.narrow);
  a.attrs = malloc(MICA__ATTRS_MOST);
  const bool room = a.needed && a.wanted && a.uses && a.narrow && a.attrs;
  mica_status status = room ? MICA_OK : mica__fail_nomem("a session");
  if (room) count_uses(&a, template);
  if (room) find_narrow(&a);
  for (int32_t id = 1; status == MICA_OK && id <= a.graph->count; id++)
    if (a.needed[id - 1]) status = visit(&a, node_at(&a, id));
  free(a.needed);
  free(a.wanted);
  free(a.uses);
  free(a.narrow);
  free(a.attrs);
  return status;
}
