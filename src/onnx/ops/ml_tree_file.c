/* Reads trees from the attributes of a file. */
#include "onnx/ops/ml_trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits on the nodes and on the levels of an ensemble. Each level becomes several operations of the graph. */
#define MOST_NODES (1 << 24)
#define MOST_LEVELS 1000

static bool refuse(mica__lowering *l, const mica__onnx_node *node, const char *what, int64_t value) {
  mica__lower_fail(l, node, MICA_E_FORMAT, "%s %lld", what, (long long)value);
  return false;
}

/* What the list `name` has one number for. */
static const char *unit_of(const char *name) {
  if (!strncmp(name, "nodes_", 6)) return "node";
  if (!strncmp(name, "leaf_", 5)) return "leaf";
  return !strncmp(name, "class_", 6) ? "number in class_ids" : "number in target_ids";
}

/* Reads a list of `count` integers. If `optional` is set, the list may be absent, and *out is then NULL. Returns false,
 * with an error recorded, if the list has another number of integers. */
static bool integers(mica__lowering *l, const mica__onnx_node *node, const char *name, int64_t count, bool optional,
                     const int64_t **out) {
  mica__integers list;
  mica__onnx_ints(node, name, &list);
  *out = list.count ? list.values : NULL;
  if (list.count == count || (optional && !list.count)) return true;
  mica__lower_fail(l, node, MICA_E_FORMAT, "%s has %lld numbers, but must have %lld, one per %s%s", name,
                   (long long)list.count, (long long)count, unit_of(name), optional ? ", or none" : "");
  return false;
}

static bool reals(mica__lowering *l, const mica__onnx_node *node, const char *name, const char *tensor, int64_t count,
                  const double **out) {
  mica__reals list;
  if (!mica__ml_reals(l, node, name, tensor, &list)) return false;
  *out = list.values;
  if (list.count == count) return true;
  mica__lower_fail(l, node, MICA_E_FORMAT, "%s has %lld numbers, but must have %lld, one per %s",
                   tensor && mica__onnx_attr(node, tensor) ? tensor : name, (long long)list.count, (long long)count,
                   unit_of(name));
  return false;
}

/* --- questions --- */

enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF, KINDS };

/* Rewrites a comparison as one of mica__tree_mode. If it is the negation of a mode, as x > v is the negation of x <= v,
 * the branches are exchanged, so that the old `yes` branch is now `no`.
 *
 * In the file a NaN takes the `no` branch, because comparisons with it are false. It takes the `yes` branch if the node
 * tracks missing values or if the comparison is !=. In a node with exchanged branches these must still be the targets
 * of a NaN:
 *
 * - >= and >: tracks_true is negated.
 * - !=: the old `yes` branch is now `no`, which a NaN takes if tracks_true is false. */
static void ask(mica__tree_node *at, int32_t kind) {
  static const int32_t modes[KINDS] = {MICA__TREE_AT_MOST, MICA__TREE_BELOW, MICA__TREE_BELOW, MICA__TREE_AT_MOST,
                                       MICA__TREE_IS,      MICA__TREE_IS,    MICA__TREE_IS,    MICA__TREE_LEAF};
  at->mode = modes[kind];
  if (kind != GTE && kind != GT && kind != NEQ) return;
  const int32_t yes = at->yes;
  at->yes = at->no;
  at->no = yes;
  at->tracks_true = kind != NEQ && !at->tracks_true;
}

static void make_leaf(mica__tree_node *at, int32_t self) {
  *at = (mica__tree_node){.mode = MICA__TREE_LEAF, .yes = self, .no = self};
}

/* True if an index that the list `name` contains is 0 to count - 1; false, with an error recorded, otherwise. */
static bool within(mica__lowering *l, const mica__onnx_node *node, const char *name, int64_t index, int64_t count) {
  if (index >= 0 && index < count) return true;
  mica__lower_fail(l, node, MICA_E_FORMAT, "%s contains %lld, but its numbers must be at least 0 and below %lld", name,
                   (long long)index, (long long)count);
  return false;
}

static bool set_feature(mica__lowering *l, const mica__onnx_node *node, int64_t feature, mica__tree_node *at) {
  if (feature < 0 || feature >= INT32_MAX)
    return refuse(l, node, "nodes_featureids must be 0 to 2^31 - 2, but contains", feature);
  at->feature = (int32_t)feature;
  return true;
}

/* --- checks of the whole ensemble --- */

/* Visits parents first (Kahn 1962) and finds the longest path to each node. parents[i] is the number of branches that
 * lead to node i; it is counted down. Returns false, with an error recorded, if there is a cycle or a tree is too
 * deep. */
static bool find_depth(mica__lowering *l, const mica__onnx_node *node, int32_t *parents, mica__trees *t) {
  int32_t *order = mica__lower_room(l, (size_t)t->node_count + 1, sizeof *order), found = 0;
  int32_t *level = mica__lower_room(l, (size_t)t->node_count + 1, sizeof *level);
  if (!order || !level) return false;
  for (int32_t i = 0; i < t->node_count; i++)
    if (!parents[i]) order[found++] = i;
  for (int32_t i = 0; i < found; i++) {
    const mica__tree_node *at = &t->nodes[order[i]];
    if (level[order[i]] > t->depth) t->depth = level[order[i]];
    for (int k = 0; k < 2 && at->mode != MICA__TREE_LEAF; k++) {
      const int32_t child = k ? at->no : at->yes;
      if (level[order[i]] + 1 > level[child]) level[child] = level[order[i]] + 1;
      if (!--parents[child]) order[found++] = child;
    }
  }
  if (found < t->node_count)
    return refuse(l, node, "branches of trees must not form cycles; the number of nodes in or below cycles is",
                  t->node_count - found);
  if (t->depth <= MOST_LEVELS) return true;
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "a tree of %d levels is too deep; the limit is %d", (int)t->depth,
                   MOST_LEVELS);
  return false;
}

/* Finds the root of each tree, the only node with parents[i] == 0. tree_of[i] is the tree of node i, in ascending
 * order. Returns false, with an error recorded, if a tree does not have exactly one root. */
static bool find_roots(mica__lowering *l, const mica__onnx_node *node, const int64_t *tree_of, const int32_t *parents,
                       mica__trees *t) {
  t->roots = mica__lower_room(l, (size_t)t->node_count + 1, sizeof *t->roots);
  if (!t->roots) return false;
  for (int32_t i = 0, end; i < t->node_count; i = end) {
    int32_t root = -1;
    for (end = i; end < t->node_count && tree_of[end] == tree_of[i]; end++) {
      if (parents[end]) continue;
      if (root >= 0) {
        mica__lower_fail(l, node, MICA_E_FORMAT,
                         "tree %lld has several roots (nodes to which no branch leads), but must have one",
                         (long long)tree_of[i]);
        return false;
      }
      root = end;
    }
    if (root < 0) return refuse(l, node, "every node has a parent, so no node is the root of tree", tree_of[i]);
    t->roots[t->tree_count++] = root;
  }
  return true;
}

bool mica__trees_finish(mica__lowering *l, const mica__onnx_node *node, const int64_t *tree_of, mica__trees *t) {
  int32_t *parents = mica__lower_room(l, (size_t)t->node_count + 1, sizeof *parents);
  if (!parents) return false;
  for (int32_t i = 0; i < t->node_count; i++) {
    const mica__tree_node *at = &t->nodes[i];
    if (at->mode == MICA__TREE_LEAF) continue;
    parents[at->yes]++;
    parents[at->no]++;
    if (at->feature >= t->features) t->features = at->feature + 1;
  }
  if (tree_of && !find_roots(l, node, tree_of, parents, t)) return false;
  return find_depth(l, node, parents, t);
}

/* --- nodes with names: regressors and classifiers --- */

/* A node is identified by its tree's number and its own. */
typedef struct named {
  int64_t tree, id;
  int64_t at; /* its index in the file */
} named;

static int compare_named(const void *a, const void *b) {
  const named *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

/* The index of a node in the sorted list; -1 if it is not there. */
static int32_t index_of(const named *list, int64_t count, int64_t tree, int64_t id) {
  const named key = {tree, id, 0};
  const named *found = bsearch(&key, list, (size_t)count, sizeof *list, compare_named);
  return found ? (int32_t)(found - list) : -1;
}

static int32_t kind_of(ProtobufCBinaryData text) {
  static const char *const kinds[KINDS] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                           "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (int32_t i = 0; i < KINDS; i++)
    if (i != MEMBER && strlen(kinds[i]) == text.len && !memcmp(kinds[i], text.data, text.len)) return i;
  return -1;
}

typedef struct lists {
  int64_t count;
  const int64_t *trees, *ids, *features, *yes, *no, *missing;
  const double *splits;
  const Onnx__AttributeProto *modes;
} lists;

static bool read_lists(mica__lowering *l, const mica__onnx_node *node, lists *f) {
  mica__integers list;
  mica__onnx_ints(node, "nodes_treeids", &list);
  if (list.count < 1 || list.count > MOST_NODES)
    return refuse(l, node, "the number of nodes must be 1 to 2^24, but is", list.count);
  f->count = list.count;
  f->trees = list.values;
  f->modes = mica__onnx_attr(node, "nodes_modes");
  if (!f->modes || f->modes->n_strings != (size_t)f->count) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "nodes_modes has %zu words, but must have %lld, one per node",
                     f->modes ? f->modes->n_strings : 0, (long long)f->count);
    return false;
  }
  return integers(l, node, "nodes_nodeids", f->count, false, &f->ids) &&
         integers(l, node, "nodes_featureids", f->count, false, &f->features) &&
         integers(l, node, "nodes_truenodeids", f->count, false, &f->yes) &&
         integers(l, node, "nodes_falsenodeids", f->count, false, &f->no) &&
         integers(l, node, "nodes_missing_value_tracks_true", f->count, true, &f->missing) &&
         reals(l, node, "nodes_values", "nodes_values_as_tensor", f->count, &f->splits);
}

static bool read_node(mica__lowering *l, const mica__onnx_node *node, const lists *f, const named *sorted, int32_t i,
                      mica__tree_node *at) {
  const int64_t from = sorted[i].at;
  const int32_t kind = kind_of(f->modes->strings[from]);
  if (kind < 0) {
    const ProtobufCBinaryData word = f->modes->strings[from];
    mica__lower_fail(l, node, MICA_E_FORMAT,
                     "nodes_modes has the unknown word '%.*s' for node %lld (from 0); the known words are BRANCH_LEQ, "
                     "BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ and LEAF",
                     word.len < 40 ? (int)word.len : 40, word.len ? (const char *)word.data : "", (long long)from);
    return false;
  }
  if (kind == LEAF) {
    make_leaf(at, i);
    return true;
  }
  *at = (mica__tree_node){.split = f->splits[from], .tracks_true = f->missing && f->missing[from]};
  at->yes = index_of(sorted, f->count, sorted[i].tree, f->yes[from]);
  at->no = index_of(sorted, f->count, sorted[i].tree, f->no[from]);
  if (at->yes < 0 || at->no < 0) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "a branch of node %lld leads to node %lld, which tree %lld does not have",
                     (long long)sorted[i].id, (long long)(at->yes < 0 ? f->yes[from] : f->no[from]),
                     (long long)sorted[i].tree);
    return false;
  }
  ask(at, kind);
  return set_feature(l, node, f->features[from], at);
}

/* Reads the weights of leaves. Weights of inner nodes are skipped, because no row ends there. */
static bool read_weights(mica__lowering *l, const mica__onnx_node *node, const char *leaf, int64_t targets,
                         const named *sorted, mica__trees *t) {
  char names[5][40];
  const int64_t *trees, *ids, *classes;
  const double *weights;
  mica__integers list;
  static const char *const ends[] = {"treeids", "nodeids", "ids", "weights", "weights_as_tensor"};
  for (int i = 0; i < 5; i++) snprintf(names[i], sizeof names[i], "%s_%s", leaf, ends[i]);
  mica__onnx_ints(node, names[2], &list);
  if (list.count > INT32_MAX) return refuse(l, node, "the number of weights must be below 2^31, but is", list.count);
  if (!integers(l, node, names[0], list.count, false, &trees) ||
      !integers(l, node, names[1], list.count, false, &ids) ||
      !integers(l, node, names[2], list.count, false, &classes) ||
      !reals(l, node, names[3], names[4], list.count, &weights))
    return false;
  t->weights = mica__lower_room(l, (size_t)list.count + 1, sizeof *t->weights);
  for (int64_t i = 0; t->weights && i < list.count; i++) {
    const int32_t at = index_of(sorted, t->node_count, trees[i], ids[i]);
    if (at < 0) {
      mica__lower_fail(l, node, MICA_E_FORMAT, "a weight belongs to node %lld, which tree %lld does not have",
                       (long long)ids[i], (long long)trees[i]);
      return false;
    }
    if (!within(l, node, names[2], classes[i], targets)) return false;
    if (t->nodes[at].mode == MICA__TREE_LEAF)
      t->weights[t->weight_count++] = (mica__tree_weight){at, (int32_t)classes[i], weights[i]};
  }
  return t->weights != NULL;
}

bool mica__trees_read(mica__lowering *l, const mica__onnx_node *node, const char *leaf, int64_t targets,
                      mica__trees *t) {
  lists f = {0};
  *t = (mica__trees){0};
  if (!read_lists(l, node, &f)) return false;
  named *sorted = mica__lower_room(l, (size_t)f.count, sizeof *sorted);
  int64_t *tree_of = mica__lower_room(l, (size_t)f.count, sizeof *tree_of);
  t->nodes = mica__lower_room(l, (size_t)f.count, sizeof *t->nodes);
  t->node_count = (int32_t)f.count;
  if (!sorted || !tree_of || !t->nodes) return false;
  for (int64_t i = 0; i < f.count; i++) sorted[i] = (named){f.trees[i], f.ids[i], i};
  qsort(sorted, (size_t)f.count, sizeof *sorted, compare_named);
  for (int32_t i = 0; i < t->node_count; i++) {
    if (i && !compare_named(&sorted[i - 1], &sorted[i])) {
      mica__lower_fail(l, node, MICA_E_FORMAT, "two nodes of tree %lld have the id %lld", (long long)sorted[i].tree,
                       (long long)sorted[i].id);
      return false;
    }
    if (!read_node(l, node, &f, sorted, i, &t->nodes[i])) return false;
    tree_of[i] = sorted[i].tree;
  }
  return read_weights(l, node, leaf, targets, sorted, t) && mica__trees_finish(l, node, tree_of, t);
}

/* --- version 5: branches hold indices of nodes, and leaves have their own lists --- */

typedef struct lists_5 {
  int64_t count, leaves;
  const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *missing, *targets;
  const double *splits, *modes, *weights;
  mica__reals members;
  int64_t member; /* index in `members` of the next value to read */
} lists_5;

static bool read_lists_5(mica__lowering *l, const mica__onnx_node *node, lists_5 *f) {
  mica__integers list, leaves;
  mica__onnx_ints(node, "nodes_featureids", &list);
  mica__onnx_ints(node, "leaf_targetids", &leaves);
  f->count = list.count;
  f->leaves = leaves.count;
  f->features = list.values;
  f->targets = leaves.values;
  if (list.count < 1 || list.count > MOST_NODES)
    return refuse(l, node, "the number of nodes must be 1 to 2^24, but is", list.count);
  if (leaves.count < 1 || leaves.count > MOST_NODES)
    return refuse(l, node, "the number of leaves must be 1 to 2^24, but is", leaves.count);
  return integers(l, node, "nodes_truenodeids", f->count, false, &f->yes) &&
         integers(l, node, "nodes_falsenodeids", f->count, false, &f->no) &&
         integers(l, node, "nodes_trueleafs", f->count, false, &f->yes_leaf) &&
         integers(l, node, "nodes_falseleafs", f->count, false, &f->no_leaf) &&
         integers(l, node, "nodes_missing_value_tracks_true", f->count, true, &f->missing) &&
         reals(l, node, "nodes_splits", "nodes_splits", f->count, &f->splits) &&
         reals(l, node, "nodes_modes", "nodes_modes", f->count, &f->modes) &&
         reals(l, node, "leaf_weights", "leaf_weights", f->leaves, &f->weights) &&
         mica__ml_reals(l, node, "membership_values", "membership_values", &f->members);
}

static bool set_branch(mica__lowering *l, const mica__onnx_node *node, const lists_5 *f, int64_t to, int64_t is_leaf,
                       int32_t *branch) {
  const int64_t count = is_leaf ? f->leaves : f->count;
  if (to < 0 || to >= count) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "a branch leads to %s %lld, but must lead to one from 0 to %lld",
                     is_leaf ? "leaf" : "node", (long long)to, (long long)count - 1);
    return false;
  }
  *branch = (int32_t)(is_leaf ? f->count + to : to);
  return true;
}

/* Expands a node's set of members to a chain of IS nodes. The last one leads to the node's `no` branch. In
 * membership_values a NaN ends each set. */
static bool read_members(mica__lowering *l, const mica__onnx_node *node, lists_5 *f, int32_t i, mica__trees *t) {
  mica__tree_node *at = &t->nodes[i];
  const int32_t no = at->no;
  bool any = false;
  for (; f->member < f->members.count; f->member++) {
    const double value = f->members.values[f->member];
    if (value != value) break;
    if (any) {
      at->no = t->node_count;
      t->nodes[t->node_count] = *at;
      at = &t->nodes[t->node_count++];
      at->no = no;
    }
    at->split = value;
    any = true;
  }
  f->member++;
  return any || refuse(l, node, "membership_values has no value for node", i);
}

static bool read_node_5(mica__lowering *l, const mica__onnx_node *node, lists_5 *f, int32_t i, mica__trees *t) {
  mica__tree_node *at = &t->nodes[i];
  const double kind = f->modes[i];
  if (!(kind >= 0 && kind <= MEMBER)) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "nodes_modes is %g for node %d, but must be 0 to 6", kind, (int)i);
    return false;
  }
  *at = (mica__tree_node){.split = f->splits[i], .tracks_true = f->missing && f->missing[i]};
  if (!set_branch(l, node, f, f->yes[i], f->yes_leaf[i], &at->yes) ||
      !set_branch(l, node, f, f->no[i], f->no_leaf[i], &at->no) || !set_feature(l, node, f->features[i], at))
    return false;
  ask(at, (int32_t)kind);
  return (int32_t)kind != MEMBER || read_members(l, node, f, i, t);
}

bool mica__trees_read_5(mica__lowering *l, const mica__onnx_node *node, int64_t targets, mica__trees *t) {
  lists_5 f = {0};
  mica__integers roots;
  *t = (mica__trees){0};
  if (!read_lists_5(l, node, &f)) return false;
  const int64_t own = f.count + f.leaves, most = own + f.members.count;
  mica__onnx_ints(node, "tree_roots", &roots);
  if (most > MOST_NODES)
    return refuse(
        l, node, "the numbers of nodes, leaves and membership_values must add up to at most 2^24, but add up to", most);
  if (roots.count < 1 || roots.count > MOST_NODES)
    return refuse(l, node, "the number of trees must be 1 to 2^24, but is", roots.count);
  t->nodes = mica__lower_room(l, (size_t)most, sizeof *t->nodes);
  t->weights = mica__lower_room(l, (size_t)f.leaves, sizeof *t->weights);
  t->roots = mica__lower_room(l, (size_t)roots.count, sizeof *t->roots);
  t->node_count = (int32_t)own;
  if (!t->nodes || !t->weights || !t->roots) return false;
  for (int32_t i = (int32_t)f.count; i < (int32_t)own; i++) make_leaf(&t->nodes[i], i);
  for (int32_t i = 0; i < (int32_t)f.count; i++)
    if (!read_node_5(l, node, &f, i, t)) return false;
  for (int64_t i = 0; i < f.leaves; i++) {
    if (!within(l, node, "leaf_targetids", f.targets[i], targets)) return false;
    t->weights[t->weight_count++] = (mica__tree_weight){(int32_t)(f.count + i), (int32_t)f.targets[i], f.weights[i]};
  }
  for (int64_t i = 0; i < roots.count; i++) {
    if (!within(l, node, "tree_roots", roots.values[i], f.count)) return false;
    t->roots[t->tree_count++] = (int32_t)roots.values[i];
  }
  return mica__trees_finish(l, node, NULL, t);
}
