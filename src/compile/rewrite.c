/* Replaces written-out forms by the ops that they express: x sigmoid(x) becomes silu, three convolutions become a block
 * of MobileNetV2. Also lets launches fuse the nodes that compute their operands. The ops find the forms
 * (mica__op.match, match_launches, fuse_operands); this file checks that no other node needs a value inside a form. */
#include "compile/template.h"
#include "ops/select/registry.h"

#include <stdlib.h>
#include <string.h>

/* The most nodes in a tree that is compared with the form of an op. A larger tree is not replaced. */
#define MOST_INSIDE 64

typedef struct rewriting {
  mica_graph *graph;
  const mica__template *template;
  mica_engine *engine; /* NULL in the pass before epilogues are fused, which finds only forms that suit every device */
  bool *needed;
  int32_t *users;
  void *attrs; /* room for the attributes of a found op */
} rewriting;

static mica__node *node_at(const rewriting *r, int32_t id) { return mica__graph_node(r->graph, id); }

static void count_users(rewriting *r) {
  size_t nodes = (size_t)r->graph->count;
  memset(r->needed, 0, nodes * sizeof *r->needed);
  memset(r->users, 0, nodes * sizeof *r->users);
  for (int32_t i = 0; i < r->template->output_count; i++) r->users[r->template->outputs[i] - 1]++;
  for (int32_t i = 0; i < r->template->assignment_count; i++) r->users[r->template->assignments[i].value - 1]++;
  for (int32_t id = r->graph->count; id >= 1; id--) {
    const mica__node *node = node_at(r, id);
    r->needed[id - 1] = r->users[id - 1] > 0;
    for (int32_t k = 0; r->needed[id - 1] && k < node->input_count; k++) r->users[node->inputs[k] - 1]++;
  }
}

/* The nodes of a tree from its root to its operands, which are not included. */
typedef struct inside {
  int32_t id[MOST_INSIDE], uses[MOST_INSIDE];
  int32_t count;
} inside;

static bool is_among(const int32_t *ids, int32_t count, int32_t id) {
  for (int32_t i = 0; i < count; i++)
    if (ids[i] == id) return true;
  return false;
}

/* Counts a use of the node by the tree; false if the tree has too many nodes. */
static bool note_use(inside *in, int32_t id) {
  int32_t at = 0;
  while (at < in->count && in->id[at] != id) at++;
  if (at == MOST_INSIDE) return false;
  if (at == in->count) {
    in->id[at] = id;
    in->uses[at] = 0;
    in->count++;
  }
  in->uses[at]++;
  return true;
}

/* True if the tree can be removed: all its nodes except sources belong to the root's pass, and nodes outside the tree
 * need no value inside it except the root's. Sources, views and nodes of ops with mica__op.kept may have users outside,
 * because they cost nothing. */
static bool may_vanish(const rewriting *r, int32_t root, const int32_t *inputs, int32_t count) {
  inside in = {.id = {root}, .uses = {r->users[root - 1]}, .count = 1};
  for (int32_t i = 0; i < in.count; i++) {
    const mica__node *node = node_at(r, in.id[i]);
    if (node->op->kind == MICA__OP_SOURCE) continue;
    if (node->pass != node_at(r, root)->pass) return false;
    for (int32_t k = 0; k < node->input_count; k++)
      if (!is_among(inputs, count, node->inputs[k]) && !note_use(&in, node->inputs[k])) return false;
  }
  for (int32_t i = 1; i < in.count; i++) {
    mica__op_kind kind = node_at(r, in.id[i])->op->kind;
    bool free_of_cost = kind == MICA__OP_SOURCE || kind == MICA__OP_VIEW || node_at(r, in.id[i])->op->kept;
    if (!free_of_cost && in.uses[i] != r->users[in.id[i] - 1]) return false;
  }
  return true;
}

/* True if only the first result of the node is needed. */
static bool needs_one_result(const rewriting *r, int32_t id) {
  for (int32_t k = 1; k < mica__node_results(node_at(r, id)); k++)
    if (r->needed[id - 1 + k]) return false;
  return true;
}

/* True if the op, on these operands, has results of the same number and types as the root; may normalise r->attrs. */
static bool gives_type(const rewriting *r, const mica__op *op, int32_t root, const int32_t *inputs, int32_t count) {
  mica__type types[MICA__MATCH_INPUTS], results[MICA__MAX_RESULTS] = {0};
  const int32_t wanted = mica__node_results(node_at(r, root));
  for (int32_t k = 0; k < count; k++) types[k] = node_at(r, inputs[k])->type;
  if (count < op->min_inputs || count > op->max_inputs || (op->results ? op->results : 1) != wanted) return false;
  mica__attempt_begin();
  bool inferred = mica__op_infer(op, types, count, r->attrs, results) == MICA_OK;
  mica__attempt_end();
  for (int32_t k = 0; inferred && k < wanted; k++) {
    const mica__type *want = &node_at(r, root + k)->type;
    if (results[k].dtype != want->dtype || !mica_shape_equal(results[k].shape, want->shape)) return false;
  }
  return inferred;
}

static mica_status put(rewriting *r, const mica__op *op, int32_t root, const int32_t *inputs, int32_t count) {
  mica__node *node = node_at(r, root);
  void *attrs = NULL;
  int32_t *own = calloc((size_t)count + 1, sizeof *own);
  mica_status status = own ? mica__attrs_copy(op->attrs, r->attrs, &attrs) : mica__fail_nomem("a session");
  if (status != MICA_OK) {
    free(own);
    return status;
  }
  memcpy(own, inputs, (size_t)count * sizeof *own);
  free(node->inputs);
  free(node->attrs);
  node->op = op;
  node->inputs = own;
  node->input_count = count;
  node->attrs = attrs;
  count_users(r);
  return MICA_OK;
}

static bool finds(const rewriting *r, const mica__op *op, int32_t root, int32_t *inputs, int32_t *count) {
  const mica__match match = {r->graph, r->users};
  if (op->attrs) mica__attrs_set_defaults(op->attrs, r->attrs);
  if (r->engine) return op->match_launches(&match, r->engine, root, inputs, count, r->attrs);
  return op->match(&match, root, inputs, count, r->attrs);
}

/* Lets a launch fuse the nodes that compute its operands (mica__op.fuse_operands). */
static mica_status visit_operands(rewriting *r, int32_t root) {
  const mica__node *node = node_at(r, root);
  const mica__match match = {r->graph, r->users};
  int32_t inputs[MICA__MATCH_INPUTS] = {0}, count = node->input_count;
  if (!r->engine || !node->op->fuse_operands || count > MICA__MATCH_INPUTS) return MICA_OK;
  memcpy(inputs, node->inputs, (size_t)count * sizeof *inputs);
  if (node->op->attrs) memcpy(r->attrs, node->attrs, node->op->attrs->bytes);
  if (!node->op->fuse_operands(&match, r->engine, root, inputs, &count, r->attrs)) return MICA_OK;
  return may_vanish(r, root, inputs, count) ? put(r, node->op, root, inputs, count) : MICA_OK;
}

static mica_status visit(rewriting *r, int32_t root) {
  const mica__op *own = node_at(r, root)->op;
  if (own->kind == MICA__OP_SOURCE || own->kind == MICA__OP_RESULT || !needs_one_result(r, root)) return MICA_OK;
  for (size_t i = 0; i < mica__op_count; i++) {
    const mica__op *op = mica__ops[i];
    int32_t inputs[MICA__MATCH_INPUTS] = {0}, count = 0;
    if (!(r->engine ? op->match_launches != NULL : op->match != NULL) || op == own) continue;
    if (!finds(r, op, root, inputs, &count)) continue;
    if (may_vanish(r, root, inputs, count) && gives_type(r, op, root, inputs, count))
      return put(r, op, root, inputs, count);
  }
  return MICA_OK;
}

mica_status mica__template_rewrite(mica__template *template, mica_engine *engine) {
  rewriting r = {.graph = template->graph, .template = template, .engine = engine};
  size_t nodes = (size_t)r.graph->count + 1;
  r.needed = calloc(nodes, sizeof *r.needed);
  r.users = calloc(nodes, sizeof *r.users);
  r.attrs = calloc(1, MICA__ATTRS_MOST);
  mica_status status = r.needed && r.users && r.attrs ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK) count_users(&r);
  for (int32_t id = r.graph->count; status == MICA_OK && id >= 1; id--)
    if (r.needed[id - 1]) {
      status = visit(&r, id);
      if (status == MICA_OK) status = visit_operands(&r, id);
    }
  free(r.needed);
  free(r.users);
  free(r.attrs);
  return status;
}
