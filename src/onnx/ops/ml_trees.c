/* Evaluates ensembles of decision trees: all rows descend all trees at once, one level at a time. */
#include "onnx/ops/ml_trees.h"

#include "onnx/ops/family.h"

#include <math.h>

/* Limit on the elements of a table (nodes, targets) or (trees, targets). */
#define MOST_WEIGHTS (1 << 26)

enum { AVERAGE, SUM, MIN, MAX };

typedef struct ensemble {
  mica__lowering *l;
  const mica__onnx_node *node;
  mica__trees trees;
  int64_t targets;
  int32_t aggregate;
  mica_value x; /* (N, F) */
} ensemble;

/* --- down the trees --- */

static mica_value table(const ensemble *e, int64_t count, const int32_t *values) {
  return mica_constant(mica__lower_graph(e->l), MICA_I32, MICA_SHAPE(count), values);
}

/* The fields of nodes as constants, indexed by node. */
typedef struct tables {
  mica_value mode, feature, yes, no, split,
      tracks;   /* `mode` is null if all inner nodes have the same mode, `tracks` if no node tracks missing values */
  int32_t only; /* the mode of all inner nodes if `mode` is null */
} tables;

/* Makes the tables for the `count` nodes whose indices are in `at`. If `at` is NULL, they are the first `count`
 * nodes. */
static bool make_tables(const ensemble *e, const int32_t *at, int64_t count, tables *t) {
  int32_t *ints[5], seen = 0;
  double *splits = mica__lower_room(e->l, (size_t)count + 1, sizeof *splits);
  bool tracks = false;
  for (int k = 0; k < 5; k++) ints[k] = mica__lower_room(e->l, (size_t)count + 1, sizeof *ints[k]);
  if (!splits || !ints[0] || !ints[1] || !ints[2] || !ints[3] || !ints[4]) return false;
  for (int64_t i = 0; i < count; i++) {
    const mica__tree_node *node = &e->trees.nodes[at ? at[i] : i];
    ints[0][i] = node->mode;
    ints[1][i] = node->feature;
    ints[2][i] = node->yes;
    ints[3][i] = node->no;
    ints[4][i] = node->tracks_true;
    splits[i] = node->split;
    tracks = tracks || node->tracks_true;
    if (node->mode != MICA__TREE_LEAF) seen |= 1 << node->mode;
  }
  *t = (tables){.feature = table(e, count, ints[1]), .yes = table(e, count, ints[2]), .no = table(e, count, ints[3])};
  t->split = mica__ml_constant(e->l, mica_value_dtype(e->x), MICA_SHAPE(count), splits);
  if (tracks) t->tracks = table(e, count, ints[4]);
  for (int32_t mode = 0; mode < MICA__TREE_LEAF; mode++)
    if (seen == 1 << mode) t->only = mode;
  if (seen & (seen - 1)) t->mode = table(e, count, ints[0]);
  return true;
}

static mica_value answer(int32_t mode, mica_value x, mica_value split) {
  return mode == MICA__TREE_AT_MOST ? mica_less_equal(x, split)
         : mode == MICA__TREE_BELOW ? mica_less(x, split)
                                    : mica_equal(x, split);
}

/* The next node of each row in each tree (N, T), from the features x (N, T) and the fields of the present nodes. */
static mica_value step(const tables *t, mica_value x) {
  mica_value yes = answer(t->mode.graph ? MICA__TREE_AT_MOST : t->only, x, t->split);
  if (t->mode.graph)
    for (int32_t mode = MICA__TREE_BELOW; mode <= MICA__TREE_IS; mode++)
      yes = mica_where(mica_equal(t->mode, mica__lower_number(t->mode, mode)), answer(mode, x, t->split), yes);
  if (t->tracks.graph) yes = mica_logical_or(yes, mica_logical_and(mica_isnan(x), mica_cast(t->tracks, MICA_BOOL)));
  return mica_where(yes, t->yes, t->no);
}

static mica_value rows_of(mica_value whole, mica_value at) { return whole.graph ? mica_gather(whole, at, 0) : whole; }

/* Returns the leaf of each row in each tree, (N, T). All rows start at the roots, so the tables of the first level are
 * constants. */
static mica_value leaves_of(const ensemble *e) {
  const mica__trees *trees = &e->trees;
  tables first, all;
  if (!make_tables(e, trees->roots, trees->tree_count, &first)) return (mica_value){0};
  mica_value at = step(&first, mica_gather(e->x, first.feature, 1));
  if (trees->depth < 2 || !make_tables(e, NULL, trees->node_count, &all)) return at;
  for (int32_t level = 1; level < trees->depth; level++) {
    const tables here = {
        rows_of(all.mode, at),   {0},     rows_of(all.yes, at), rows_of(all.no, at), rows_of(all.split, at),
        rows_of(all.tracks, at), all.only};
    at = step(&here, mica_gather_elements(e->x, rows_of(all.feature, at), 1));
  }
  return at;
}

/* --- up from the leaves --- */

/* Sets target[i] and weight[i] to the target and value of node i's weight; target[i] is -1 if the node has no weight.
 * Returns false if a node has more than one weight. */
static bool single_targets(const ensemble *e, int32_t *target, double *weight) {
  for (int32_t i = 0; i < e->trees.node_count; i++) target[i] = -1;
  for (int64_t i = 0; i < e->trees.weight_count; i++) {
    const mica__tree_weight *w = &e->trees.weights[i];
    if (target[w->node] >= 0) return false;
    target[w->node] = w->target;
    weight[w->node] = w->weight;
  }
  return true;
}

/* Returns the target of the weights of the leaves below the root, if all of them have the same target. Returns -1 if
 * these leaves have no weights. Returns -2 if they have weights for several targets or if trees share nodes. */
static int32_t target_below(const ensemble *e, const int32_t *target, int32_t root, int32_t *stack, bool *seen) {
  int32_t found = -1, depth = 0;
  if (!seen[root]) stack[depth++] = root;
  seen[root] = true;
  while (depth) {
    const int32_t at = stack[--depth];
    const mica__tree_node *node = &e->trees.nodes[at];
    if (node->mode == MICA__TREE_LEAF && target[at] >= 0) {
      if (found >= 0 && found != target[at]) return -2;
      found = target[at];
    }
    for (int k = 0; k < 2 && node->mode != MICA__TREE_LEAF; k++) {
      const int32_t child = k ? node->no : node->yes;
      if (seen[child]) return -2; /* trees that share nodes */
      seen[child] = true;
      stack[depth++] = child;
    }
  }
  return found;
}

/* Sums the weights of the leaves by target, (N, targets). Gathers one weight per row and tree, and multiplies this
 * matrix (N, trees) by a matrix (trees, targets) of zeros and ones. Returns null if this is impossible: a node has
 * several weights, a tree has weights for several targets, or trees share nodes. With a single target, only the first
 * of these matters. Also returns null after an error. */
static mica_value sums_by_tree(const ensemble *e, mica_value leaves) {
  const mica__trees *t = &e->trees;
  int32_t *target = mica__lower_room(e->l, (size_t)t->node_count, sizeof *target);
  int32_t *stack = mica__lower_room(e->l, (size_t)t->node_count + 1, sizeof *stack);
  double *weight = mica__lower_room(e->l, (size_t)t->node_count, sizeof *weight);
  bool *seen = mica__lower_room(e->l, (size_t)t->node_count, sizeof *seen);
  const mica_dtype dtype = mica_value_dtype(e->x);
  int64_t cells = 0;
  if (!target || !stack || !weight || !seen || !single_targets(e, target, weight)) return (mica_value){0};
  if (e->targets == 1) {
    const mica_value own = mica__ml_constant(e->l, dtype, MICA_SHAPE(t->node_count), weight);
    return mica_sum(mica_gather(own, leaves, 0), MICA_AXES(1), true);
  }
  if (!mica__lower_product(e->l, e->node, t->tree_count, e->targets, MOST_WEIGHTS, &cells)) return (mica_value){0};
  double *matrix = mica__lower_room(e->l, (size_t)cells, sizeof *matrix);
  for (int32_t i = 0; matrix && i < t->tree_count; i++) {
    const int32_t counts = target_below(e, target, t->roots[i], stack, seen);
    if (counts == -2) return (mica_value){0};
    if (counts >= 0) matrix[i * e->targets + counts] = 1;
  }
  if (!matrix) return (mica_value){0};
  const mica_value own = mica__ml_constant(e->l, dtype, MICA_SHAPE(t->node_count), weight);
  return mica_matmul(mica_gather(own, leaves, 0),
                     mica__ml_constant(e->l, dtype, MICA_SHAPE(t->tree_count, e->targets), matrix));
}

/* Makes a table of nodes by targets. Cells without a weight hold `none`; several weights of a cell add up. */
static mica_value dense_weights(const ensemble *e, double none) {
  const mica__trees *t = &e->trees;
  int64_t cells = 0;
  if (!mica__lower_product(e->l, e->node, t->node_count, e->targets, MOST_WEIGHTS, &cells)) return (mica_value){0};
  double *weights = mica__lower_room(e->l, (size_t)cells, sizeof *weights);
  if (!weights) return (mica_value){0};
  for (int64_t i = 0; i < cells; i++) weights[i] = none;
  for (int64_t i = 0; i < t->weight_count; i++) {
    double *cell = &weights[t->weights[i].node * e->targets + t->weights[i].target];
    *cell = *cell == none ? t->weights[i].weight : *cell + t->weights[i].weight;
  }
  return mica__ml_constant(e->l, mica_value_dtype(e->x), MICA_SHAPE(t->node_count, e->targets), weights);
}

/* Aggregates the weights of each row's leaves: (N, targets). */
static mica_value aggregate(const ensemble *e, mica_value leaves) {
  if (!leaves.graph) return leaves;
  if (e->aggregate == MIN || e->aggregate == MAX) {
    const mica_value all = mica_gather(dense_weights(e, e->aggregate == MIN ? INFINITY : -INFINITY), leaves, 0);
    const mica_value y = e->aggregate == MIN ? mica_min(all, MICA_AXES(1), false) : mica_max(all, MICA_AXES(1), false);
    return mica_where(mica_isinf(y), mica__lower_number(y, 0), y);
  }
  mica_value y = sums_by_tree(e, leaves);
  if (!y.graph && mica_graph_status(mica__lower_graph(e->l)) == MICA_OK)
    y = mica_sum(mica_gather(dense_weights(e, 0), leaves, 0), MICA_AXES(1), false);
  return e->aggregate == AVERAGE ? mica_affine(y, 1 / (double)e->trees.tree_count, 0) : y;
}

/* Computes the aggregates (N, targets). Returns null after an error, for example if the rows have fewer features than
 * the trees use. */
static mica_value scores_of(ensemble *e) {
  const mica_shape shape = mica_value_shape(e->x);
  if (shape.dim[1] < e->trees.features) {
    mica__lower_fail(e->l, e->node, MICA_E_SHAPE,
                     "a tree uses feature %d, counted from 0, but the input has %lld features (-1: not known)",
                     (int)e->trees.features - 1, (long long)shape.dim[1]);
    return (mica_value){0};
  }
  int64_t cells = 0;
  if (shape.dim[0] >= 0 && !mica__lower_product(e->l, e->node, shape.dim[0], e->trees.tree_count, INT32_MAX, &cells))
    return (mica_value){0};
  return aggregate(e, leaves_of(e));
}

/* Adds base_values, one per target. */
static mica_value with_base(const ensemble *e, mica_value scores) {
  mica__reals base;
  if (!scores.graph || !mica__ml_reals(e->l, e->node, "base_values", "base_values_as_tensor", &base))
    return (mica_value){0};
  if (!base.count) return scores;
  if (base.count == e->targets)
    return mica_add(scores, mica__ml_constant(e->l, mica_value_dtype(scores), MICA_SHAPE(base.count), base.values));
  mica__lower_fail(e->l, e->node, MICA_E_FORMAT, "base_values has %lld numbers, but must have %lld, one per target",
                   (long long)base.count, (long long)e->targets);
  return (mica_value){0};
}

/* --- operators --- */

MICA__LOWER(ml_tree_regressor) {
  ensemble e = {l, node, .targets = mica__onnx_int(node, "n_targets", 1)};
  e.aggregate = mica__lower_choice(l, node, "aggregate_function", "AVERAGE SUM MIN MAX", SUM);
  e.x = mica__ml_rows(l, node, 0);
  if (!e.x.graph) return MICA_OK;
  if (e.targets < 1 || e.targets > MOST_WEIGHTS)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "n_targets is %lld, but must be 1 to %d", (long long)e.targets,
                            MOST_WEIGHTS);
  if (!mica__trees_read(l, node, "target", e.targets, &e.trees)) return MICA_OK;
  const mica_value y = with_base(&e, scores_of(&e));
  return y.graph ? give(l, node, mica__ml_transform(y, mica__ml_post_of(l, node))) : MICA_OK;
}

MICA__LOWER(ml_tree_ensemble) {
  ensemble e = {l, node, .targets = mica__onnx_int(node, "n_targets", 1)};
  const int64_t post = mica__onnx_int(node, "post_transform", 0);
  const int64_t how = mica__onnx_int(node, "aggregate_function", SUM);
  e.x = mica__ml_rows(l, node, 0);
  if (!e.x.graph) return MICA_OK;
  const struct {
    const char *name;
    int64_t value, least, most;
  } settings[] = {{"n_targets", e.targets, 1, MOST_WEIGHTS},
                  {"post_transform", post, 0, MICA__ML_PROBIT},
                  {"aggregate_function", how, AVERAGE, MAX}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (settings[i].value < settings[i].least || settings[i].value > settings[i].most)
      return mica__lower_fail(l, node, MICA_E_FORMAT, "%s is %lld, but must be %lld to %lld", settings[i].name,
                              (long long)settings[i].value, (long long)settings[i].least, (long long)settings[i].most);
  e.aggregate = (int32_t)how;
  if (!mica__trees_read_5(l, node, e.targets, &e.trees)) return MICA_OK;
  const mica_value y = scores_of(&e);
  return y.graph ? give(l, node, mica__ml_transform(y, (mica__ml_post)post)) : MICA_OK;
}

/* Computes the results of a classifier of two classes whose weights are all for the same class. The sum s of the
 * weights is the score of the second class. The score of the first class is 1 - s if no weight is negative and
 * base_values has at most one number, else -s. */
static mica_status binary(ensemble *e, const mica__ml_classes *classes, mica__ml_post post) {
  mica__reals base;
  bool shares = true;
  mica__trees *t = &e->trees;
  for (int64_t i = 0; i < t->weight_count; i++) {
    shares = shares && t->weights[i].weight >= 0;
    t->weights[i].target = 0;
  }
  e->targets = 1;
  if (!mica__ml_reals(e->l, e->node, "base_values", "base_values_as_tensor", &base)) return MICA_OK;
  if (base.count > 2)
    return mica__lower_fail(e->l, e->node, MICA_E_FORMAT,
                            "base_values has %lld numbers, but must have at most 2, one per class",
                            (long long)base.count);
  mica_value score = scores_of(e);
  if (!score.graph) return MICA_OK;
  if (base.count) score = mica_affine(score, 1, base.values[base.count - 1]);
  mica__ml_give_labels(e->l, e->node, classes, mica__ml_best(score, shares ? 0.5 : 0));
  mica__lower_result(e->l, e->node, 1, mica__ml_two(score, post, shares && base.count < 2));
  return MICA_OK;
}

MICA__LOWER(ml_tree_classifier) {
  ensemble e = {l, node, .aggregate = SUM};
  mica__ml_classes classes;
  const mica__ml_post post = mica__ml_post_of(l, node);
  e.x = mica__ml_rows(l, node, 0);
  if (!e.x.graph || !mica__ml_classes_of(l, node, "classlabels_int64s", &classes)) return MICA_OK;
  e.targets = classes.count;
  if (!mica__trees_read(l, node, "class", e.targets, &e.trees)) return MICA_OK;
  bool one = e.trees.weight_count > 0;
  for (int64_t i = 0; i < e.trees.weight_count; i++)
    one = one && e.trees.weights[i].target == e.trees.weights[0].target;
  if (one && classes.count == 2) return binary(&e, &classes, post);
  const mica_value scores = with_base(&e, scores_of(&e));
  if (!scores.graph) return MICA_OK;
  mica__ml_give_labels(l, node, &classes, mica_argmax(scores, 1, false));
  mica__lower_result(l, node, 1, mica__ml_transform(scores, post));
  return MICA_OK;
}
