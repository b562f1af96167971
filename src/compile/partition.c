/* Decides which nodes share a kernel. Nodes are visited from the last to the first. Each begins a group, and merges its
 * users' groups into it while the union is one kernel, forms no cycle, and computes nothing expensive more often than
 * before. So a value joins its users rather than its operands: the derivative of an activation is computed where the
 * backward pass uses it, not stored by the forward pass. */
#include "compile/partition.h"
#include "compile/without.h"

#include <stdlib.h>
#include <string.h>

/* The highest cost per element at which a broadcast value of a smaller shape is computed again for every element, and
 * of a chain that is recomputed where it is used. */
#define CHEAP_AGAIN 2
/* The most values in a chain that are recomputed together. A value is small beside another if the other has at least
 * SMALL_SHARE times as many bytes. */
#define AGAIN_NODES 4
#define SMALL_SHARE 16
/* FEW_ROWS and LONG_ROW limit reductions. A kernel with fewer than FEW_ROWS rows, each longer than LONG_ROW elements,
 * has too little parallel work to store elements as well as results per row. */
#define FEW_ROWS 16
#define LONG_ROW 16384

typedef struct group {
  int32_t *ids; /* ascending */
  int32_t count;
  bool fused; /* may be joined with others */
} group;

typedef struct work {
  const mica_graph *graph;
  const mica__composites *composites;
  int32_t count;         /* nodes */
  bool *needed, *wanted; /* wanted: an output or an assigned value */
  int32_t *group_of;     /* by id - 1: the group, from 1; 0 for sources and views */
  group *groups;         /* groups[g - 1]; count is 0 once merged into another */
  int32_t group_count;
  /* by id - 1: the nodes that read it, directly or through views; the views themselves are not among them */
  int32_t **users, *user_count;
  int32_t *trial; /* by id - 1: 1 for members of the union being tried */
  bool *stored, *inlined;
  bool *kept; /* by id - 1: must be stored, because a recomputation reads it */
  int32_t *stack;
  int32_t *seen, stamp; /* by group: the last search that met it; the number of searches so far */
  mica__emission emission;
} work;

bool mica__node_is_launched(const mica__node *node) {
  return node->op->kind == MICA__OP_LAUNCH || (node->op->kind == MICA__OP_REDUCE && node->op->join == MICA__JOIN_NONE);
}

static mica__node *node_at(const work *w, int32_t id) { return mica__graph_node(w->graph, id); }

static int32_t bottom_of(const mica_graph *graph, int32_t id) {
  while (mica__graph_node(graph, id)->op->kind == MICA__OP_VIEW) id = mica__graph_node(graph, id)->inputs[0];
  return id;
}

static bool reads_input(const mica__node *node, int32_t k) {
  bool shape_only = k < 32 && node->op->shape_only >> k & 1;
  return !shape_only && (node->op->kind != MICA__OP_VIEW || k == 0);
}

mica__access mica__partition_operand(const mica_graph *graph, const mica__node *node, int32_t k, int32_t *base) {
  int32_t id = node->inputs[k];
  mica_shape space = mica__graph_node(graph, id)->type.shape;
  mica__access access = mica__template_look(graph, id, base);
  bool takes = k < 32 && node->op->takes_strides >> k & 1;
  for (int32_t i = 0; i < space.rank; i++) takes = takes && access.stride[i] >= 0;
  if (takes || mica__access_is_row_major(space, &access)) return access;
  /* A launch may begin to read at any element. So it reads a contiguous part of another launch's result, or of an
   * input, in place. It cannot do so with a result of a generated kernel, which may never be stored. */
  mica__access begins = access;
  begins.offset = 0;
  const mica__op *from = mica__graph_node(graph, *base)->op;
  if (node->op->launch && (from->launch || from == &mica__op_input) && mica__access_is_row_major(space, &begins))
    return access;
  *base = id;
  return mica__access_row_major(space);
}

/* The input that result number `result` is an update of (mica__op.updates); -1: none. */
static int32_t updated_input(const mica__op *op, int32_t result) {
  if (op->kind != MICA__OP_LAUNCH || result >= MICA__UPDATES) return -1;
  for (int32_t k = 0, count = 0; k < 32; k++)
    if (op->updates >> k & 1 && count++ == result) return k;
  return -1;
}

int32_t mica__partition_updated(const mica_graph *graph, int32_t id) {
  const mica__node *value = mica__graph_node(graph, id), *node = value;
  int32_t base = 0, updated = 0, readers = 0;
  if (value->op == &mica__op_result) node = mica__graph_node(graph, value->inputs[0]);
  const int32_t at = updated_input(node->op, value->result);
  if (at < 0 || at >= node->input_count) return 0;
  const mica__access access = mica__partition_operand(graph, node, at, &updated);
  const mica__node *from = mica__graph_node(graph, updated);
  if (from->type.dtype != value->type.dtype || mica__node_count(from) != mica__node_count(value) ||
      !mica__access_is_row_major(mica__graph_node(graph, node->inputs[at])->type.shape, &access))
    return 0;
  for (int32_t k = 0; k < node->input_count; k++) {
    mica__partition_operand(graph, node, k, &base);
    readers += base == updated && reads_input(node, k);
  }
  return readers == 1 ? updated : 0;
}

/* --- needed nodes and their users --- */

/* True if result r needs memory even if nothing uses it. */
static bool must_fill(const mica__node *node, int32_t r) {
  return node->op->host || node->op->begin || node->op->fills >> r & 1;
}

static void find_needed(work *w, const mica__template *template) {
  for (int32_t i = 0; i < template->output_count; i++) w->wanted[template->outputs[i] - 1] = true;
  for (int32_t i = 0; i < template->assignment_count; i++) w->wanted[template->assignments[i].value - 1] = true;
  for (int32_t id = w->count; id >= 1; id--) {
    const mica__node *node = node_at(w, id);
    w->needed[id - 1] = w->needed[id - 1] || w->wanted[id - 1];
    for (int32_t k = 0; w->needed[id - 1] && k < node->input_count; k++)
      if (reads_input(node, k)) w->needed[node->inputs[k] - 1] = true;
    for (int32_t r = 1; w->needed[id - 1] && r < mica__node_results(node); r++)
      if (must_fill(node, r)) w->needed[id - 1 + r] = true;
  }
}

static mica_status find_users(work *w) {
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t id = 1; id <= w->count; id++) {
      const mica__node *node = node_at(w, id);
      if (!w->needed[id - 1] || node->op->kind == MICA__OP_VIEW) continue;
      for (int32_t k = 0; k < node->input_count; k++) {
        if (!reads_input(node, k)) continue;
        int32_t base = bottom_of(w->graph, node->inputs[k]) - 1;
        if (pass) w->users[base][w->user_count[base]] = id;
        w->user_count[base]++;
      }
    }
    for (int32_t i = 0; !pass && i < w->count; i++) {
      if (w->user_count[i]) {
        w->users[i] = calloc((size_t)w->user_count[i], sizeof **w->users);
        if (!w->users[i]) return mica__fail_nomem("a session");
      }
      w->user_count[i] = 0;
    }
  }
  return MICA_OK;
}

/* --- whether groups may be joined --- */

/* True if a path of operands leads out of the union being tried and back into it. If the path meets another group, it
 * continues from all members of it, because the group runs as one kernel. */
static bool makes_cycle(work *w, const int32_t *ids, int32_t count) {
  int32_t top = 0;
  w->stamp++;
  for (int32_t i = 0; i < count + top; i++) {
    /* First the union's own members, then whatever is found outside it. */
    bool outside = i >= count;
    int32_t id = outside ? w->stack[i - count] : ids[i];
    const mica__node *node = node_at(w, id);
    for (int32_t k = 0; k < node->input_count; k++) {
      if (!reads_input(node, k)) continue;
      int32_t base = bottom_of(w->graph, node->inputs[k]), g = w->group_of[base - 1];
      if (w->trial[base - 1]) {
        if (outside) return true;
        continue;
      }
      if (!g || w->seen[g - 1] == w->stamp) continue;
      w->seen[g - 1] = w->stamp;
      const group *met = &w->groups[g - 1];
      for (int32_t m = 0; m < met->count; m++) w->stack[top++] = met->ids[m];
    }
  }
  return false;
}

static bool used_outside(const work *w, int32_t id) {
  if (w->wanted[id - 1] || w->kept[id - 1]) return true;
  if (w->inlined[id - 1]) return false;
  for (int32_t u = 0; u < w->user_count[id - 1]; u++)
    if (!w->trial[w->users[id - 1][u] - 1]) return true;
  return false;
}

/* True if the union is worth one kernel. The kernel must not compute a member more often than the member has elements,
 * unless the member is cheap. A kernel that reduces rows and also stores elements needs enough rows (FEW_ROWS). */
static bool is_worth_it(const work *w, const int32_t *ids, int32_t count) {
  const mica__emission *e = &w->emission;
  bool few = e->fused->reduced && e->rows < FEW_ROWS && e->elements > e->rows * LONG_ROW;
  for (int32_t i = 0; i < count; i++) {
    const mica__node *node = node_at(w, ids[i]);
    int64_t elements = mica__node_count(node);
    if (few && w->stored[ids[i] - 1] && elements == e->elements) return false;
    if (elements == e->elements || (e->fused->reduced && elements == e->rows)) continue;
    if (node->op->kind != MICA__OP_POINTWISE || node->op->cost > CHEAP_AGAIN) return false;
  }
  return true;
}

/* True if the union has nodes of both the first computation (pass 0) and a recomputation (mica_checkpoint). One kernel
 * for both would hold the recomputed values until the backward pass, so recomputing would save nothing. */
static bool mixes_passes(const work *w, const int32_t *ids, int32_t count) {
  bool first = false;
  for (int32_t i = 0; i < count; i++) {
    if (node_at(w, ids[i])->pass > 0 && first) return true;
    first = first || node_at(w, ids[i])->pass == 0;
  }
  return false;
}

/* Emits the union of ids as one kernel. False if this is impossible, makes a cycle, or is not worth it. */
static bool try_union(work *w, const int32_t *ids, int32_t count) {
  if (count > MICA__FUSED_INSTRS / 2 || mixes_passes(w, ids, count)) return false;
  for (int32_t i = 0; i < count; i++) w->trial[ids[i] - 1] = 1;
  for (int32_t i = 0; i < count; i++) w->stored[ids[i] - 1] = used_outside(w, ids[i]);
  w->emission.group = w->trial;
  w->emission.own = 1;
  bool good =
      mica__emit(&w->emission, ids, count, w->stored) && is_worth_it(w, ids, count) && !makes_cycle(w, ids, count);
  for (int32_t i = 0; i < count; i++) w->trial[ids[i] - 1] = 0;
  return good;
}

/* Both lists are ascending. */
static void merge_ids(const group *a, const group *b, int32_t *out) {
  int32_t i = 0, j = 0;
  for (int32_t n = 0; n < a->count + b->count; n++)
    /* Both lists have `count` ids. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    out[n] = j == b->count || (i < a->count && a->ids[i] < b->ids[j]) ? a->ids[i++] : b->ids[j++];
}

/* Merges group b into group a if together they form one kernel. If `elements` is not 0, the kernel must also have that
 * many elements. */
static mica_status join(work *w, int32_t a, int32_t b, int64_t elements) {
  group *into = &w->groups[a - 1], *from = &w->groups[b - 1];
  int32_t count = into->count + from->count;
  int32_t *ids = calloc((size_t)count, sizeof *ids);
  if (!ids) return mica__fail_nomem("a session");
  merge_ids(into, from, ids);
  if (!try_union(w, ids, count) || (elements && w->emission.elements != elements)) {
    free(ids);
    return MICA_OK;
  }
  for (int32_t i = 0; i < from->count; i++) w->group_of[from->ids[i] - 1] = a;
  free(into->ids);
  free(from->ids);
  *into = (group){ids, count, true};
  *from = (group){0};
  return MICA_OK;
}

static mica_status begin_group(work *w, int32_t id, bool fused) {
  int32_t count = mica__node_results(node_at(w, id));
  int32_t *ids = calloc((size_t)count, sizeof *ids);
  if (!ids) return mica__fail_nomem("a session");
  w->groups[w->group_count++] = (group){ids, count, fused};
  for (int32_t r = 0; r < count; r++) {
    ids[r] = id + r;
    w->group_of[id - 1 + r] = w->group_count;
  }
  return MICA_OK;
}

/* Lists the groups of a node's users that may be joined, each once, in the order of the users. Lists at most
 * MOST_CANDIDATES of them and returns their number. */
#define MOST_CANDIDATES 8
static int32_t user_groups(const work *w, int32_t id, int32_t groups[MOST_CANDIDATES]) {
  int32_t count = 0;
  for (int32_t u = 0; u < w->user_count[id - 1] && count < MOST_CANDIDATES; u++) {
    int32_t g = w->group_of[w->users[id - 1][u] - 1];
    bool known = !g || !w->groups[g - 1].fused;
    for (int32_t i = 0; i < count; i++) known = known || groups[i] == g;
    if (!known) groups[count++] = g;
  }
  return count;
}

static mica_status visit(work *w, int32_t id, bool fusion) {
  const mica__node *node = node_at(w, id);
  int32_t groups[MOST_CANDIDATES];
  mica__op_kind kind = node->op->kind;
  if (kind == MICA__OP_SOURCE || kind == MICA__OP_VIEW || kind == MICA__OP_RESULT) return MICA_OK;
  bool launched = mica__node_is_launched(node);
  MICA_TRY(begin_group(w, id, !launched));
  int32_t own = w->group_count;
  if (launched && fusion && node->op->window && !(w->composites && w->composites->joined[id - 1])) {
    /* A launch with mica__op.window, such as a concatenation, copies each operand to a part of its result. It runs as a
     * generated kernel of its own, unless that kernel would have too many arguments. */
    launched = !try_union(w, &id, 1);
    w->groups[own - 1].fused = !launched;
  }
  if (launched || !fusion) return MICA_OK;
  int32_t count = user_groups(w, id, groups);
  for (int32_t i = 0; i < count; i++)
    if (w->groups[groups[i] - 1].count) MICA_TRY(join(w, own, groups[i], 0));
  return MICA_OK;
}

/* Joins groups that read value `id`, so that it is read once. Their kernel must have as many elements as the value. */
static mica_status join_readers(work *w, int32_t id) {
  int32_t groups[MOST_CANDIDATES], count = user_groups(w, id, groups);
  for (int32_t i = 1; i < count; i++) {
    int32_t first = groups[0], other = groups[i];
    MICA_TRY(join(w, first, other, mica__node_count(node_at(w, id))));
    /* If the groups were not joined, tries the next group with `other` instead. */
    if (w->groups[other - 1].count) groups[0] = other;
  }
  return MICA_OK;
}

/* --- values that are computed again where they are used --- */

/* True if group g still forms one kernel that stores the values that other groups use. *stores receives the number of
 * these, which may be 0. */
static bool still_emits(work *w, const group *g, int32_t *stores) {
  *stores = 0;
  for (int32_t i = 0; i < g->count; i++) w->trial[g->ids[i] - 1] = 1;
  for (int32_t i = 0; i < g->count; i++) *stores += w->stored[g->ids[i] - 1] = used_outside(w, g->ids[i]);
  w->emission.group = w->trial;
  w->emission.own = 1;
  bool good = *stores == 0 || mica__emit(&w->emission, g->ids, g->count, w->stored);
  for (int32_t i = 0; i < g->count; i++) w->trial[g->ids[i] - 1] = 0;
  return good;
}

/* True if the node is stored in any case, so that recomputing from it stores nothing more. One of these holds: it is in
 * no fused group, it is an output or assigned, `kept` marks it, or another group reads it and does not recompute it. */
static bool is_stored_anyway(work *w, int32_t id) {
  int32_t g = w->group_of[id - 1];
  if (!g || !w->groups[g - 1].fused || w->wanted[id - 1] || w->kept[id - 1]) return true;
  for (int32_t u = 0; u < w->user_count[id - 1]; u++)
    if (w->group_of[w->users[id - 1][u] - 1] != g) return !w->inlined[id - 1];
  return false;
}

/* A value to recompute. ids[0] is the value; the other ids are the operands, direct or indirect, that are not in memory
 * and are recomputed with it. `small` are the small values that all these read. */
typedef struct again {
  int32_t ids[AGAIN_NODES], small[4 * AGAIN_NODES];
  int32_t count, small_count, cost;
  size_t bytes; /* of the values in memory that a recomputation reads, without small ones */
} again;

/* True if storing `id` costs almost nothing compared with `beside`: a mean per row beside the elements of the row. */
static bool is_small(const work *w, int32_t id, int32_t beside) {
  return mica__node_bytes(node_at(w, id)) * SMALL_SHARE <= mica__node_bytes(node_at(w, beside));
}

/* Adds the value `id`, which is ids[0] or is needed to compute ids[0], and then its operands that are not in memory.
 * False if they cannot be recomputed cheaply. */
static bool note_again(work *w, int32_t id, again *a) {
  const mica__node *node = node_at(w, id);
  if (node->op->kind != MICA__OP_POINTWISE || w->wanted[id - 1] || a->count == AGAIN_NODES) return false;
  a->cost += node->op->cost;
  a->ids[a->count++] = id;
  if (a->cost > CHEAP_AGAIN || node->pass != node_at(w, a->ids[0])->pass) return false;
  for (int32_t k = 0; k < node->input_count; k++) {
    int32_t base = bottom_of(w->graph, node->inputs[k]);
    if (!reads_input(node, k) || node_at(w, base)->op == &mica__op_full) continue;
    if (a->small_count == (int32_t)(sizeof a->small / sizeof *a->small)) return false;
    if (w->inlined[base - 1] && !is_small(w, base, a->ids[0])) return false;
    if (is_small(w, base, a->ids[0]) && !w->inlined[base - 1])
      a->small[a->small_count++] = base;
    else if (is_stored_anyway(w, base))
      a->bytes += mica__node_bytes(node_at(w, base));
    else if (!w->inlined[base - 1] && !note_again(w, base, a))
      return false;
  }
  return true;
}

/* True if recomputing a value is cheap:
 * - the computation takes little time,
 * - it reads small values, which are then stored, and values in memory anyway, which have no more bytes than the value,
 * - all users of the value are kernels that can recompute it. */
static bool is_cheap_again(work *w, int32_t id, again *a) {
  const mica__node *node = node_at(w, id);
  bool elsewhere = false;
  *a = (again){.count = 0};
  if (!note_again(w, id, a)) return false;
  for (int32_t u = 0; u < w->user_count[id - 1]; u++) {
    int32_t user = w->users[id - 1][u], g = w->group_of[user - 1];
    if (!w->groups[g - 1].fused || node_at(w, user)->pass != node->pass) return false;
    elsewhere = elsewhere || g != w->group_of[id - 1];
  }
  return elsewhere && a->bytes <= mica__node_bytes(node);
}

static void try_inlining(work *w, int32_t id) {
  int32_t own = w->group_of[id - 1], stores = 0;
  again a;
  if (!own || !is_cheap_again(w, id, &a)) return;
  bool kept[4 * AGAIN_NODES];
  for (int32_t i = 0; i < a.count; i++) w->inlined[a.ids[i] - 1] = true;
  for (int32_t i = 0; i < a.small_count; i++) {
    kept[i] = w->kept[a.small[i] - 1];
    w->kept[a.small[i] - 1] = true;
  }
  bool good = still_emits(w, &w->groups[own - 1], &stores);
  bool empty = stores == 0;
  for (int32_t u = 0; good && u < w->user_count[id - 1]; u++)
    good = still_emits(w, &w->groups[w->group_of[w->users[id - 1][u] - 1] - 1], &stores);
  for (int32_t i = 0; !good && i < a.count; i++) w->inlined[a.ids[i] - 1] = false;
  for (int32_t i = a.small_count - 1; !good && i >= 0; i--) w->kept[a.small[i] - 1] = kept[i];
  if (!good || !empty) return;
  free(w->groups[own - 1].ids);
  w->groups[own - 1] = (group){0};
}

/* --- from groups to steps --- */

static bool note_read(mica__step *step, int32_t id) {
  for (int32_t i = 0; i < step->read_count; i++)
    if (step->reads[i] == id) return false;
  step->reads[step->read_count++] = id;
  return true;
}

static mica_status want_view(work *w, int32_t id) {
  if (node_at(w, id)->op->kind != MICA__OP_VIEW || w->group_of[id - 1]) return MICA_OK;
  return begin_group(w, id, true);
}

static bool stores_result(const work *w, int32_t id, int32_t r) {
  const mica__node *node = node_at(w, id);
  bool used = mica__node_results(node) == 1 || w->wanted[id - 1 + r] || must_fill(node, r);
  for (int32_t u = 0; !used && u < w->user_count[id - 1 + r]; u++)
    used = node_at(w, w->users[id - 1 + r][u])->op != &mica__op_result;
  return used;
}

static mica_status step_of_launch(work *w, const group *g, mica__step *step) {
  const mica__node *node = node_at(w, g->ids[0]);
  for (int32_t r = 0; r < g->count; r++)
    if (stores_result(w, g->ids[0], r)) step->stores |= 1u << r;
  step->reads = calloc((size_t)node->input_count + 1, sizeof *step->reads);
  if (!step->reads) return mica__fail_nomem("a session");
  for (int32_t k = 0; k < node->input_count; k++) {
    int32_t base = 0;
    if (!reads_input(node, k)) continue;
    mica__partition_operand(w->graph, node, k, &base);
    if (note_read(step, base)) MICA_TRY(want_view(w, base));
  }
  return MICA_OK;
}

static mica_status step_of_kernel(work *w, const group *g, mica__step *step) {
  step->reads = calloc(MICA__FUSED_OPERANDS + 1, sizeof *step->reads);
  if (!step->reads) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < g->count; i++) {
    w->trial[g->ids[i] - 1] = 1;
    w->stored[g->ids[i] - 1] = true;
  }
  for (int32_t i = 0; g->count > 1 && i < g->count; i++) w->stored[g->ids[i] - 1] = used_outside(w, g->ids[i]);
  w->emission.group = w->trial;
  w->emission.own = 1;
  bool good = mica__emit(&w->emission, g->ids, g->count, w->stored);
  for (int32_t i = 0; i < g->count; i++) w->trial[g->ids[i] - 1] = 0;
  if (!good)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: a kernel cannot be generated for this op",
                      node_at(w, g->ids[0])->op->name);
  step->fused = malloc(mica__fused_bytes(w->emission.fused));
  if (!step->fused) return mica__fail_nomem("a session");
  mica__fused_copy(step->fused, w->emission.fused);
  memcpy(step->operands, w->emission.operands, sizeof step->operands);
  step->stores = w->emission.stores;
  for (int32_t k = 0; k < step->fused->operand_count; k++) {
    if (step->stores >> k & 1) continue;
    note_read(step, step->operands[k]);
    MICA_TRY(want_view(w, step->operands[k]));
  }
  return MICA_OK;
}

/* If a step reads a view from memory, a group for the view is added at the end of the list. */
static mica_status make_steps(work *w, mica__partition *partition) {
  partition->steps = calloc((size_t)w->count + 1, sizeof *partition->steps);
  if (!partition->steps) return mica__fail_nomem("a session");
  for (int32_t g = 0; g < w->group_count; g++) {
    group *from = &w->groups[g];
    if (from->count == 0) continue;
    mica__step *step = &partition->steps[partition->count++];
    MICA_TRY(from->fused ? step_of_kernel(w, from, step) : step_of_launch(w, from, step));
    from = &w->groups[g];
    step->members = from->ids;
    step->count = from->count;
    from->ids = NULL;
    from->count = 0;
    mica__step_note_stores(partition, partition->count - 1);
  }
  return MICA_OK;
}

/* Makes a step not invariant if it reads a value that is computed in every run. An invariant value is computed in every
 * run if the kernel that stores it also stores an output. */
static void mark_readers(mica__partition *partition) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t s = 0; s < partition->count; s++) {
      mica__step *step = &partition->steps[s];
      for (int32_t r = 0; step->invariant && r < step->read_count; r++) {
        int32_t from = partition->step_of[step->reads[r] - 1];
        step->invariant = from < 0 || partition->steps[from].invariant;
        changed = changed || !step->invariant;
      }
    }
  }
}

/* Finds the invariant steps. Every run writes outputs, assigned values and the parameters that they are assigned to. */
static mica_status find_invariant(work *w, const mica__template *template, mica__partition *partition) {
  bool *invariant = calloc((size_t)w->count + 1, sizeof *invariant);
  if (!invariant) return mica__fail_nomem("a session");
  for (int32_t a = 0; a < template->assignment_count; a++) w->wanted[template->assignments[a].parameter - 1] = true;
  mica__template_find_invariant(w->graph, w->wanted, invariant);
  for (int32_t s = 0; s < partition->count; s++) {
    mica__step *step = &partition->steps[s];
    step->invariant = !mica__is_without(MICA__WITHOUT_INVARIANT);
    for (int32_t i = 0; i < step->count; i++) step->invariant = step->invariant && invariant[step->members[i] - 1];
  }
  mark_readers(partition);
  free(invariant);
  return MICA_OK;
}

static mica_status allocate(work *w, mica__partition *partition) {
  size_t n = (size_t)w->count + 1;
  partition->step_of = calloc(n, sizeof *partition->step_of);
  w->needed = calloc(n, sizeof *w->needed);
  w->wanted = calloc(n, sizeof *w->wanted);
  w->group_of = calloc(n, sizeof *w->group_of);
  w->groups = calloc(n, sizeof *w->groups);
  w->users = calloc(n, sizeof *w->users);
  w->user_count = calloc(n, sizeof *w->user_count);
  w->trial = calloc(n, sizeof *w->trial);
  w->stored = calloc(n, sizeof *w->stored);
  w->inlined = calloc(n, sizeof *w->inlined);
  w->kept = calloc(n, sizeof *w->kept);
  w->stack = calloc(n, sizeof *w->stack);
  w->seen = calloc(n, sizeof *w->seen);
  w->emission.fused = malloc(sizeof *w->emission.fused);
  w->emission.scratch = malloc(sizeof *w->emission.scratch);
  w->emission.graph = w->graph;
  w->emission.inlined = w->inlined;
  bool good = partition->step_of && w->needed && w->wanted && w->group_of && w->groups && w->users && w->user_count &&
              w->trial && w->stored && w->inlined && w->kept && w->stack && w->seen && w->emission.fused &&
              w->emission.scratch;
  return good ? MICA_OK : mica__fail_nomem("a session");
}

static void release(work *w) {
  for (int32_t i = 0; w->users && i < w->count; i++) free(w->users[i]);
  for (int32_t i = 0; w->groups && i < w->group_count; i++) free(w->groups[i].ids);
  void *all[] = {w->needed, w->wanted,  w->group_of, w->groups, w->users, w->user_count,     w->trial,
                 w->stored, w->inlined, w->kept,     w->stack,  w->seen,  w->emission.fused, w->emission.scratch};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

mica_status mica__partition_make(const mica__template *template, bool fusion, const mica__composites *composites,
                                 mica__partition *partition) {
  work w = {.graph = template->graph, .composites = composites, .count = template->graph->count};
  *partition = (mica__partition){.graph = template->graph, .composites = composites};
  mica_status status = allocate(&w, partition);
  for (int32_t i = 0; status == MICA_OK && i < w.count; i++) partition->step_of[i] = -1;
  if (status == MICA_OK) {
    find_needed(&w, template);
    status = find_users(&w);
  }
  for (int32_t id = w.count; status == MICA_OK && id >= 1; id--)
    if (w.needed[id - 1]) status = visit(&w, id, fusion);
  for (int32_t id = w.count; fusion && status == MICA_OK && id >= 1; id--)
    if (w.user_count[id - 1] > 1 && mica__node_count(node_at(&w, id)) > 1) status = join_readers(&w, id);
  const bool inlining = fusion && !mica__is_without(MICA__WITHOUT_AGAIN);
  for (int32_t id = 1; inlining && status == MICA_OK && id <= w.count; id++)
    if (w.needed[id - 1]) try_inlining(&w, id);
  if (status == MICA_OK) status = make_steps(&w, partition);
  if (status == MICA_OK) status = find_invariant(&w, template, partition);
  release(&w);
  if (status != MICA_OK) mica__partition_free(partition);
  return status;
}

void mica__step_note_stores(mica__partition *partition, int32_t at) {
  const mica__step *step = &partition->steps[at];
  int32_t count = step->fused ? step->fused->operand_count : step->count;
  for (int32_t k = 0; k < count; k++)
    if (step->stores >> k & 1) partition->step_of[(step->fused ? step->operands : step->members)[k] - 1] = at;
}

void mica__partition_free(mica__partition *partition) {
  for (int32_t i = 0; partition->steps && i < partition->count; i++) {
    free(partition->steps[i].members);
    free(partition->steps[i].reads);
    free(partition->steps[i].fused);
  }
  free(partition->steps);
  free(partition->step_of);
  *partition = (mica__partition){0};
}
