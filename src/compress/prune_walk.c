/* Walks through a graph to find channels that must be removed together (DepGraph, Fang et al. 2023). For each op a rule
 * says how the axes of its result come from its operands. Axes without a rule stay. */
#include "compress/prune.h"
#include "ops/attention/attention.h"
#include "ops/common/build.h"
#include "ops/rnn/rnn.h"

#include <stdlib.h>
#include <string.h>

int32_t mica__prune_root(const mica_pruning *p, int32_t atom) {
  while (p->parent[atom] != atom) atom = p->parent[atom];
  return atom;
}

static void join(mica_pruning *p, int32_t a, int32_t b) {
  a = mica__prune_root(p, a);
  b = mica__prune_root(p, b);
  /* The smaller atom becomes the root, so atom 0 is the root of everything joined to it. */
  if (a < b)
    p->parent[b] = a;
  else
    p->parent[a] = b;
}

static void fix(mica_pruning *p, const int32_t *labels, int64_t count) {
  for (int64_t i = 0; labels && i < count; i++) join(p, 0, labels[i]);
}

/* Makes two axes of equal extent agree. If one has no labels, neither can be cut. */
static void agree(mica_pruning *p, const int32_t *a, const int32_t *b, int64_t count) {
  if (!a || !b) {
    fix(p, a ? a : b, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) join(p, a[i], b[i]);
}

/* Allocates labels; the pruning owns them. NULL if memory is short. */
static int32_t *block(mica_pruning *p, int64_t count) {
  if (p->block_count == p->block_capacity) {
    const size_t wider = p->block_capacity ? 2 * p->block_capacity : 64;
    void **grown = realloc(p->blocks, wider * sizeof *grown);
    if (!grown) return NULL;
    p->blocks = grown;
    p->block_capacity = wider;
  }
  int32_t *labels = calloc((size_t)count + 1, sizeof *labels);
  if (labels) p->blocks[p->block_count++] = labels;
  return labels;
}

/* --- a node and its operands --- */

typedef struct visit {
  mica_pruning *p;
  const mica__node *node;
  const mica__node *in[4]; /* in: the first operands; of: their labels */
  const mica__labels *of[4];
  mica__labels *out;
  bool short_of_memory;
} visit;

static mica_shape shape_of(const mica__node *node) { return node->type.shape; }

static int64_t attribute(const mica__node *node, const char *name) {
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  return attr ? (int64_t)mica__attr_number(attr, node->attrs) : 0;
}

static const int64_t *attribute_list(const mica__node *node, const char *name) {
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  return attr ? (const int64_t *)((const char *)node->attrs + attr->offset) : NULL;
}

static void fix_axis(visit *v, const mica__node *node, const mica__labels *labels, int32_t axis) {
  fix(v->p, labels->axis[axis], shape_of(node).dim[axis]);
}

static void fix_all(visit *v) {
  for (int32_t k = 0; k < v->node->input_count; k++) {
    const mica__node *node = mica__graph_node(v->p->graph, v->node->inputs[k]);
    for (int32_t a = 0; a < shape_of(node).rank; a++) fix_axis(v, node, &v->p->labels[v->node->inputs[k] - 1], a);
  }
}

/* --- rules --- */

/* True if all elements are equal, so the shape does not matter. */
static bool is_uniform(const mica__node *node) { return node->op == &mica__op_full || node->op == &mica__op_full_like; }

static void visit_pointwise(visit *v) {
  const mica_shape out = shape_of(v->node);
  for (int32_t a = 0; a < out.rank; a++) {
    int32_t *first = NULL;
    bool stays = false;
    for (int pass = 0; pass < 2; pass++)
      for (int32_t k = 0; k < v->node->input_count; k++) {
        const mica__node *in = mica__graph_node(v->p->graph, v->node->inputs[k]);
        const int32_t at = a - (out.rank - shape_of(in).rank);
        if (at < 0) continue;
        int32_t *labels = v->p->labels[v->node->inputs[k] - 1].axis[at];
        /* A broadcast axis has one index for all channels, so it must stay. */
        if (shape_of(in).dim[at] != out.dim[a]) fix_axis(v, in, &v->p->labels[v->node->inputs[k] - 1], at);
        if (shape_of(in).dim[at] != out.dim[a] || (out.dim[a] == 1 && !labels)) continue;
        if (!labels && is_uniform(in)) continue;
        if (!pass && !first) first = labels;
        if (!pass) stays = stays || !labels;
        if (pass && first && labels && labels != first) agree(v->p, first, labels, out.dim[a]);
      }
    if (first && stays) fix(v->p, first, out.dim[a]);
    v->out->axis[a] = first;
  }
}

/* A sum over channels changes if some of them are removed, so a reduced axis cannot be cut. */
static void visit_reduce(visit *v) {
  const mica__reduce_attrs *attrs = v->node->attrs;
  int32_t to = 0;
  for (int32_t a = 0; a < shape_of(v->in[0]).rank; a++) {
    const bool reduced = attrs->axes >> a & 1;
    if (reduced) fix_axis(v, v->in[0], v->of[0], a);
    if (!reduced) v->out->axis[to++] = v->of[0]->axis[a];
    if (reduced && attrs->keep) to++;
  }
}

static void visit_transpose(visit *v) {
  const int64_t *axes = attribute_list(v->node, "axes");
  for (int32_t a = 0; a < shape_of(v->node).rank; a++) v->out->axis[a] = v->of[0]->axis[axes[a]];
}

/* Merges axes [from, to) of the operand into one axis of the result. If more than one of them has labels, or an extent
 * is open, all of them stay. If the result's axis has index i, the labelled axis has index i / behind % its extent,
 * where `behind` is the product of the extents after it. */
static void merge(visit *v, int32_t from, int32_t to, int32_t axis) {
  const mica_shape in = shape_of(v->in[0]), out = shape_of(v->node);
  int32_t labelled = -1, count = 0;
  int64_t behind = 1;
  for (int32_t a = from; a < to; a++) {
    if (v->of[0]->axis[a]) labelled = a, count++;
    if (in.dim[a] == MICA_DYNAMIC) count = 2;
  }
  if (count != 1 || out.dim[axis] == MICA_DYNAMIC) {
    for (int32_t a = from; a < to; a++) fix_axis(v, v->in[0], v->of[0], a);
    return;
  }
  for (int32_t a = labelled + 1; a < to; a++) behind *= in.dim[a];
  int32_t *labels = block(v->p, out.dim[axis]);
  v->short_of_memory = v->short_of_memory || !labels;
  for (int64_t i = 0; labels && i < out.dim[axis]; i++)
    labels[i] = v->of[0]->axis[labelled][i / behind % in.dim[labelled]];
  v->out->axis[axis] = labels;
}

/* Splits columns (B, T, n * size) into heads (B, T, n, size). A head can only be removed whole. */
static void split_heads(visit *v) {
  const mica_shape in = shape_of(v->in[0]), out = shape_of(v->node);
  const int64_t n = out.dim[2], size = out.dim[3];
  const int32_t *from = v->of[0]->axis[2];
  v->out->axis[0] = v->of[0]->axis[0];
  v->out->axis[1] = v->of[0]->axis[1];
  if (!from || n * size != in.dim[2]) {
    fix_axis(v, v->in[0], v->of[0], 2);
    return;
  }
  int32_t *labels = block(v->p, n);
  v->short_of_memory = v->short_of_memory || !labels;
  for (int64_t i = 0; labels && i < n * size; i++) {
    if (i % size == 0) labels[i / size] = from[i];
    join(v->p, from[i], labels[i / size]);
  }
  v->out->axis[2] = labels;
}

/* True if the node has this mark (ir/graph.h). A marked reshape or slice adapts to removed channels: when the pruned
 * network is built, its number of heads, or the size of its section of columns, is computed from the smaller weight. */
static bool is_marked(const mica__node *node, const char *name) {
  return node->mark && !strcmp(node->mark->name, name);
}

/* Matches axes [from, to) of the operand with axes [first, last) of the result; both have the same elements in the same
 * order. Axes of extent 1 are not matched; the operand's axes of extent 1 stay. One to one: the result's axis gets the
 * operand's labels; many to one: the axes are merged; otherwise: the operand's axes cannot be cut. */
static void match(visit *v, int32_t from, int32_t to, int32_t first, int32_t last) {
  const mica_shape in = shape_of(v->in[0]), out = shape_of(v->node);
  const mica_shape in_single = v->p->types[v->node->inputs[0] - 1].shape;
  const mica_shape out_single = v->p->types[v->out - v->p->labels].shape;
  while (from < to && in_single.dim[from] == 1) fix_axis(v, v->in[0], v->of[0], from++);
  while (to > from && in_single.dim[to - 1] == 1) fix_axis(v, v->in[0], v->of[0], --to);
  while (first < last && out_single.dim[first] == 1) first++;
  while (last > first && out_single.dim[last - 1] == 1) last--;
  if (to - from == 1 && last - first == 1 && in.dim[from] == out.dim[first])
    v->out->axis[first] = v->of[0]->axis[from];
  else if (last - first == 1)
    merge(v, from, to, first);
  else
    for (int32_t a = from; a < to; a++) fix_axis(v, v->in[0], v->of[0], a);
}

/* Matches the operand's axes with the result's axes, for a batch of one sample. Collects a run of axes of each, from
 * left to right, until the two runs have the same number of elements. match() handles the two runs, and then the next
 * runs begin. */
static void visit_reshape(visit *v) {
  if (is_marked(v->node, MICA__MARK_HEADS)) {
    split_heads(v);
    return;
  }
  const mica_shape in = v->p->types[v->node->inputs[0] - 1].shape, out = v->p->types[v->out - v->p->labels].shape;
  int64_t of_in = 0, of_out = 0;
  if (mica_shape_count(in, &of_in) != MICA_OK || mica_shape_count(out, &of_out) != MICA_OK || of_in != of_out) {
    fix_all(v);
    return;
  }
  for (int32_t i = 0, k = 0; i < in.rank || k < out.rank;) {
    const int32_t from = i, first = k;
    int64_t a = 1, b = 1;
    do {
      if (i < in.rank && (a <= b || k == out.rank))
        a *= in.dim[i++];
      else
        b *= out.dim[k++];
    } while (a != b && (i < in.rank || k < out.rank));
    match(v, from, i, first, k);
  }
}

static void visit_slice(visit *v) {
  const int64_t *start = attribute_list(v->node, "start"), *step = attribute_list(v->node, "step");
  const mica_shape in = shape_of(v->in[0]), out = shape_of(v->node);
  for (int32_t a = 0; a < out.rank; a++) {
    const int32_t *from = v->of[0]->axis[a];
    if (!from) continue;
    const int64_t begin = start[a] < 0 ? start[a] + in.dim[a] : start[a];
    int32_t *labels = block(v->p, out.dim[a]);
    v->short_of_memory = v->short_of_memory || !labels;
    for (int64_t i = 0; labels && i < out.dim[a]; i++) labels[i] = from[begin + i * step[a]];
    v->out->axis[a] = labels;
    /* The function that builds the network slices this axis at fixed positions, which removed channels would shift. */
    if (out.dim[a] != in.dim[a] && !is_marked(v->node, MICA__MARK_SECTION)) fix(v->p, from, in.dim[a]);
  }
}

static void visit_concat(visit *v) {
  const int64_t axis = attribute(v->node, "axis");
  const mica_shape out = shape_of(v->node);
  int32_t *labels = out.dim[axis] == MICA_DYNAMIC ? NULL : block(v->p, out.dim[axis]);
  int64_t at = 0;
  bool some = false;
  for (int32_t k = 0; k < v->node->input_count; k++) {
    const mica__labels *of = &v->p->labels[v->node->inputs[k] - 1];
    const mica_shape in = shape_of(mica__graph_node(v->p->graph, v->node->inputs[k]));
    for (int32_t a = 0; a < out.rank; a++)
      if (a != axis && k)
        agree(v->p, v->out->axis[a], of->axis[a], out.dim[a]);
      else if (a != axis)
        v->out->axis[a] = of->axis[a];
    for (int64_t i = 0; labels && i < in.dim[axis]; i++) labels[at++] = of->axis[axis] ? of->axis[axis][i] : 0;
    some = some || of->axis[axis];
  }
  v->short_of_memory = v->short_of_memory || (!labels && out.dim[axis] != MICA_DYNAMIC);
  v->out->axis[axis] = some ? labels : NULL;
}

/* Adds a share of the node's FLOPs for these channels. Products without labels, such as counts of a metric, are left
 * out: they have no weight whose channels could be removed. */
static void add_share(visit *v, double share, const int32_t *out, int64_t outs, const int32_t *in, int64_t ins) {
  mica__type types[4];
  if (!out && !in) return;
  mica__node node = *v->node;
  node.type = v->p->types[v->out - v->p->labels];
  for (int32_t k = 0; k < node.input_count && k < 4; k++) types[k] = v->p->types[node.inputs[k] - 1];
  const double flops = share * node.op->flops(&node, types);
  v->p->costs[v->p->cost_count++] = (mica__prune_cost){.flops = flops, .out = out, .outs = outs, .in = in, .ins = ins};
}

static void add_cost(visit *v, const int32_t *out, int64_t outs, const int32_t *in, int64_t ins) {
  add_share(v, 1, out, outs, in, ins);
}

/* Fixes the spatial axes of operand k. */
static void fix_spatial(visit *v, int32_t k) {
  for (int32_t a = 2; a < shape_of(v->in[k]).rank; a++) fix_axis(v, v->in[k], v->of[k], a);
}

static void fix_window(visit *v) {
  fix_spatial(v, 0);
  fix_spatial(v, 1);
}

/* In a grouped convolution, channel j of every group is multiplied by channel j of the weight, so the channels j of all
 * groups are removed together. Likewise, the filters j of all groups are removed together. In a depthwise convolution,
 * a channel is removed together with its own filters. */
static void visit_conv(visit *v) {
  const int64_t groups = attribute(v->node, "groups");
  const mica_shape w = shape_of(v->in[1]);
  const int64_t channels = shape_of(v->in[0]).dim[1], filters = w.dim[0], each = filters / groups;
  const int32_t *x = v->of[0]->axis[1], *out = v->of[1]->axis[0], *in = v->of[1]->axis[1];
  const bool depthwise = groups > 1 && w.dim[1] == 1;
  fix_window(v);
  if (groups == 1) agree(v->p, x, in, channels);
  for (int64_t c = 0; depthwise && c < channels; c++)
    for (int64_t k = 0; k < each; k++) join(v->p, x ? x[c] : 0, out ? out[c * each + k] : 0);
  for (int64_t c = 0; groups > 1 && !depthwise && c < channels; c++)
    join(v->p, x ? x[c] : 0, in ? in[c % w.dim[1]] : 0);
  for (int64_t k = 0; groups > 1 && !depthwise && out && k < filters; k++) join(v->p, out[k], out[k % each]);
  v->out->axis[1] = v->of[1]->axis[0];
  add_cost(v, out, filters, groups == 1 ? in : NULL, w.dim[1]);
}

static void visit_conv_transpose(visit *v) {
  const mica_shape w = shape_of(v->in[1]);
  if (attribute(v->node, "groups") != 1) {
    fix_all(v);
    return;
  }
  fix_window(v);
  agree(v->p, v->of[0]->axis[1], v->of[1]->axis[0], w.dim[0]);
  v->out->axis[1] = v->of[1]->axis[1];
  add_cost(v, v->of[1]->axis[1], w.dim[1], v->of[1]->axis[0], w.dim[0]);
}

static void visit_matmul(visit *v) {
  const mica_shape a = shape_of(v->in[0]), b = shape_of(v->in[1]), out = shape_of(v->node);
  const int64_t sum = a.dim[a.rank - 1];
  if (a.rank < 2 || b.rank != 2) {
    fix_all(v);
    return;
  }
  agree(v->p, v->of[0]->axis[a.rank - 1], v->of[1]->axis[0], sum);
  for (int32_t i = 0; i + 1 < out.rank; i++) v->out->axis[i] = v->of[0]->axis[i];
  v->out->axis[out.rank - 1] = v->of[1]->axis[1];
  add_cost(v, v->of[1]->axis[1], b.dim[1], v->of[1]->axis[0], sum);
}

/* Heads of queries are removed together with the head of keys and values that they share. Features of heads stay. Heads
 * also stay if a mask has values per head, or if there is only one head of keys and values. */
static void visit_attention(visit *v) {
  const mica_shape q = shape_of(v->in[0]), k = shape_of(v->in[1]);
  const int64_t heads = q.dim[1], groups = k.dim[1];
  int32_t *of_q = v->of[0]->axis[1];
  const int32_t *of_k = v->of[1]->axis[1], *of_v = v->of[2]->axis[1];
  const int32_t mask = mica__attention_input(v->node->attrs, false, MICA__ATTENTION_OF_MASK);
  /* All axes stay except the heads of queries, keys and values. */
  for (int32_t i = 0; i < v->node->input_count; i++) {
    const mica__node *in = mica__graph_node(v->p->graph, v->node->inputs[i]);
    for (int32_t a = 0; a < shape_of(in).rank; a++)
      if (i > 2 || a != 1) fix_axis(v, in, &v->p->labels[v->node->inputs[i] - 1], a);
  }
  bool stays = !of_q || !of_k || !of_v || groups < 2;
  if (mask >= 0) stays = stays || shape_of(mica__graph_node(v->p->graph, v->node->inputs[mask])).dim[1] != 1;
  for (int64_t h = 0; !stays && h < heads; h++) {
    join(v->p, of_q[h], of_k[h * groups / heads]);
    join(v->p, of_q[h], of_v[h * groups / heads]);
  }
  for (int32_t i = 0; stays && i < 3; i++) fix_axis(v, v->in[i], v->of[i], 1);
  v->out->axis[2] = of_q;
  add_cost(v, of_q, heads, NULL, 0);
}

/* Joins the units with their rows of the weight in every gate. If the rows stay, so do the units. */
static void join_gates(visit *v, const int32_t *rows, int64_t count, const int32_t *units, int64_t hidden) {
  if (!rows) fix(v->p, units, hidden);
  for (int64_t i = 0; rows && i < count; i++) join(v->p, rows[i], units[i % hidden]);
}

/* A unit of a recurrent layer has a row per gate, a column of the recurrent weight, and the states of all directions.
 * In a layer with initial states or peepholes, all units stay. */
static void visit_rnn(visit *v) {
  const int64_t present = attribute(v->node, "present");
  const mica_shape w = shape_of(v->in[MICA__RNN_W]);
  const int64_t hidden = shape_of(v->in[MICA__RNN_R]).dim[2], rows = w.dim[1], inputs = w.dim[2];
  const int32_t *units = v->of[MICA__RNN_R]->axis[2], *in = v->of[MICA__RNN_W]->axis[2];
  const int32_t b = mica__present_index(present, MICA__RNN_B);
  agree(v->p, v->of[MICA__RNN_X]->axis[2], in, inputs);
  if (!units || mica__present_index(present, MICA__RNN_H0) >= 0 || mica__present_index(present, MICA__RNN_C0) >= 0 ||
      mica__present_index(present, MICA__RNN_PEEPHOLES) >= 0) {
    fix_all(v);
    return;
  }
  join_gates(v, v->of[MICA__RNN_W]->axis[1], rows, units, hidden);
  join_gates(v, v->of[MICA__RNN_R]->axis[1], rows, units, hidden);
  if (b >= 0) join_gates(v, v->of[b]->axis[1], 2 * rows, units, hidden);
  v->out[MICA__RNN_Y].axis[3] = v->out[MICA__RNN_H].axis[2] = v->of[MICA__RNN_R]->axis[2];
  if (attribute(v->node, "kind") == MICA__RNN_LSTM) v->out[MICA__RNN_C].axis[2] = v->of[MICA__RNN_R]->axis[2];
  add_share(v, (double)inputs / (double)(inputs + hidden), units, hidden, in, inputs);
  add_share(v, (double)hidden / (double)(inputs + hidden), units, hidden, units, hidden);
}

/* Windows along spatial axes keep channels separate. */
static void visit_windows(visit *v) {
  fix_spatial(v, 0);
  v->out->axis[1] = shape_of(v->node).rank >= 3 ? v->of[0]->axis[1] : NULL;
}

static void visit_copy(visit *v) { *v->out = *v->of[0]; }

/* Rows of a table stay; the elements of a row are channels. */
static void visit_gather(visit *v) {
  if (attribute(v->node, "axis") != 0 || shape_of(v->in[0]).rank != 2 || shape_of(v->node).rank < 2) {
    fix_all(v);
    return;
  }
  fix_axis(v, v->in[0], v->of[0], 0);
  v->out->axis[shape_of(v->node).rank - 1] = v->of[0]->axis[1];
}

static const struct {
  const char *op;
  void (*visit)(visit *v);
} rules[] = {{"transpose", visit_transpose}, {"reshape", visit_reshape},  {"slice", visit_slice},
             {"concat", visit_concat},       {"conv", visit_conv},        {"conv_transpose", visit_conv_transpose},
             {"matmul", visit_matmul},       {"max_pool", visit_windows}, {"resample", visit_windows},
             {"stop_gradient", visit_copy},  {"gather", visit_gather},    {"expand", visit_pointwise},
             {"attention", visit_attention}, {"rnn", visit_rnn}};

static void visit_node(visit *v) {
  const mica__op *op = v->node->op;
  /* Values that depend only on shapes are recomputed by the function that builds the network. */
  if (op->kind == MICA__OP_SOURCE && op != &mica__op_full_like) return;
  if (op == &mica__op_full_like) {
    visit_copy(v);
    return;
  }
  /* The further results of a node were labelled when the node was visited. */
  if (op->kind == MICA__OP_SHAPE || op == &mica__op_result) return;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (!strcmp(op->name, rules[i].op)) {
      rules[i].visit(v);
      return;
    }
  if (op->kind == MICA__OP_POINTWISE)
    visit_pointwise(v);
  else if (op->kind == MICA__OP_REDUCE)
    visit_reduce(v);
  else
    fix_all(v);
}

/* Labels parameters; other values without operands have no labels. */
static mica_status label_parameters(mica_pruning *p) {
  for (size_t i = 0; i < p->parameter_count; i++) {
    const mica__prune_parameter *parameter = &p->parameters[i];
    for (int32_t a = 0; a < parameter->shape.rank; a++) {
      int32_t *labels = parameter->shape.dim[a] > 1 ? block(p, parameter->shape.dim[a]) : NULL;
      if (parameter->shape.dim[a] > 1 && !labels) return mica__fail_nomem("pruning groups");
      /* An axis of extent 1 is broadcast, belongs to a depthwise filter, or has the last remaining channel, so it
       * stays. */
      if (parameter->shape.dim[a] == 1) join(p, 0, parameter->first[a]);
      for (int64_t k = 0; labels && k < parameter->shape.dim[a]; k++) labels[k] = parameter->first[a] + (int32_t)k;
      p->labels[parameter->id - 1].axis[a] = labels;
    }
  }
  return MICA_OK;
}

static void fix_value(mica_pruning *p, int32_t id) {
  const mica_shape shape = shape_of(mica__graph_node(p->graph, id));
  for (int32_t a = 0; a < shape.rank; a++) fix(p, p->labels[id - 1].axis[a], shape.dim[a]);
}

/* If outputs are unknown, unused values count as outputs, except unused results of an op with another result in use. */
static mica_status fix_unread(mica_pruning *p) {
  bool *read = calloc((size_t)p->graph->count + 1, sizeof *read);
  if (!read) return mica__fail_nomem("pruning groups");
  for (int32_t id = 1; id <= p->graph->count; id++) {
    const mica__node *node = mica__graph_node(p->graph, id);
    for (int32_t k = 0; node->op != &mica__op_result && k < node->input_count; k++) read[node->inputs[k]] = true;
  }
  for (int pass = 0; pass < 2; pass++) /* pass 0: a node is read if a result of it is; pass 1: so are all its results */
    for (int32_t id = 1; id <= p->graph->count; id++) {
      const int32_t maker = id - mica__graph_node(p->graph, id)->result;
      if (read[pass ? maker : id]) read[pass ? id : maker] = true;
    }
  for (int32_t id = 1; id <= p->graph->count; id++)
    if (!read[id]) fix_value(p, id);
  free(read);
  return MICA_OK;
}

static mica_status fix_outputs(mica_pruning *p) {
  if (!p->outputs) return fix_unread(p);
  for (size_t i = 0; i < p->output_count; i++) fix_value(p, p->outputs[i].id);
  for (int32_t id = 1; id <= p->graph->count; id++)
    if (mica__graph_node(p->graph, id)->assigned) fix_value(p, mica__graph_node(p->graph, id)->assigned);
  return MICA_OK;
}

mica_status mica__prune_walk(mica_pruning *p) {
  MICA_TRY(label_parameters(p));
  MICA_TRY(mica__graph_single_types(p->graph, p->types));
  for (int32_t id = 1; id <= p->graph->count; id++) {
    const mica__node *node = mica__graph_node(p->graph, id);
    visit v = {.p = p, .node = node, .out = &p->labels[id - 1]};
    for (int32_t k = 0; k < node->input_count && k < 4; k++) {
      v.in[k] = mica__graph_node(p->graph, node->inputs[k]);
      v.of[k] = &p->labels[node->inputs[k] - 1];
    }
    visit_node(&v);
    if (v.short_of_memory) return mica__fail_nomem("pruning groups");
  }
  return fix_outputs(p);
}
