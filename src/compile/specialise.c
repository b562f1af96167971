/* Makes a copy of a session's template in which all shapes are known. A single sweep infers types again and, if the
 * caller wants it, folds constants, merges equal values and applies exact identities; written-out forms are replaced at
 * the end. A value's inputs are simplified before the value itself. */
#include "base/element.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/template.h"
#include "compile/without.h"
#include "ops/select/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sweep {
  const mica_graph *source;
  mica_graph *out;
  int32_t *map; /* from source ids to ids of out */
  bool simplify;
  int32_t *table; /* open addressing: ids of out by content */
  size_t table_size;
} sweep;

/* A node that may be added. */
typedef struct draft {
  const mica__op *op;
  const int32_t *inputs;
  int32_t input_count;
  void *attrs;
  mica__type types[MICA__MAX_RESULTS];
  int32_t pass;
  const void *data; /* of a constant */
} draft;

#define IN_SHAPE_ATTRS(X, S) X(S, SHAPE, shape, 0, "the result's")
MICA__ATTR_STRUCT(in_shape, IN_SHAPE_ATTRS);
static MICA__ATTR_TABLE(in_shape, IN_SHAPE_ATTRS);

static mica_status infer_kept(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  *out = (mica__type){inputs[0].dtype, ((const mica__in_shape_attrs *)attrs)->shape};
  return MICA_OK;
}

static bool view_in_order(const mica__node *node, mica_shape input, mica__access *access) {
  (void)input;
  *access = mica__access_row_major(node->type.shape);
  return true;
}

/* A view that shows the elements of a value, in order, in another shape. */
static const mica__op op_in_shape = {.name = "in_shape",
                                     .kind = MICA__OP_VIEW,
                                     .min_inputs = 1,
                                     .max_inputs = 1,
                                     .attrs = &mica__in_shape_attr_list,
                                     .infer = infer_kept,
                                     .view = view_in_order};

static mica__hash hash_draft(const draft *d) {
  mica__hash hash = mica__hash_bytes((mica__hash){0}, &d->op, sizeof d->op);
  hash = mica__hash_bytes(hash, d->inputs, (size_t)d->input_count * sizeof *d->inputs);
  hash = mica__attrs_hash(hash, d->op->attrs, d->attrs);
  return mica__hash_bytes(hash, d->types[0].shape.dim, sizeof d->types[0].shape.dim);
}

static bool is_draft(const mica__node *node, const draft *d) {
  if (node->op != d->op || node->input_count != d->input_count || node->pass != d->pass ||
      node->type.dtype != d->types[0].dtype || !mica_shape_equal(node->type.shape, d->types[0].shape) ||
      !mica__attrs_equal(d->op->attrs, node->attrs, d->attrs))
    return false;
  if (d->input_count && memcmp(node->inputs, d->inputs, (size_t)d->input_count * sizeof *d->inputs)) return false;
  return !d->data || !memcmp(node->data, d->data, mica__node_bytes(node));
}

/* The draft's slot in the table: the slot of an equal node, or a free one. */
static int32_t *find_slot(sweep *s, const draft *d) {
  size_t at = (size_t)hash_draft(d).low % s->table_size;
  while (s->table[at] && !is_draft(mica__graph_node(s->out, s->table[at]), d)) at = (at + 1) % s->table_size;
  return &s->table[at];
}

/* Adds the draft or, when simplifying, finds an equal node. Inputs and parameters are never merged: two of the same
 * type still hold different tensors. */
static mica_status put(sweep *s, const draft *d, int32_t *id) {
  bool merge = s->simplify && d->op != &mica__op_input && d->op != &mica__op_parameter;
  int32_t *slot = merge ? find_slot(s, d) : NULL, results = d->op->results ? d->op->results : 1;
  if (slot && *slot) {
    for (int32_t r = 0; r < results; r++) id[r] = *slot + r;
    return MICA_OK;
  }
  *id = mica__graph_put(s->out, d->op, d->inputs, d->input_count, d->attrs, d->types);
  if (!*id) return s->out->status;
  mica__node *node = mica__graph_node(s->out, *id);
  for (int32_t r = 0; r < results; r++) {
    id[r] = *id + r;
    node[r].pass = d->pass;
  }
  if (d->data) {
    size_t bytes = mica__node_bytes(node);
    node->data = malloc(bytes + 1);
    if (!node->data) return mica__fail_nomem("a constant");
    memcpy(node->data, d->data, bytes);
  }
  if (slot) *slot = *id;
  return MICA_OK;
}

/* Adds a constant. When simplifying, adds it as `full` if all its elements are the same number, which a double holds
 * exactly. */
static mica_status put_constant(sweep *s, mica__type type, const void *data, int32_t *id) {
  draft d = {.op = &mica__op_constant, .types = {type}, .data = data};
  size_t size = mica_dtype_size(type.dtype);
  int64_t count = 0, same = 1;
  MICA_TRY(mica_shape_count(type.shape, &count));
  while (same < count && !memcmp(data, (const char *)data + (size_t)same * size, size)) same++;
  double value = count ? mica__element_get(type.dtype, data, 0) : 0;
  bool exact = mica__element_is_exact(type.dtype, value) && !isnan(value); /* NaNs differ in their bits */
  if (!s->simplify || same < count || !exact) return put(s, &d, id);
  d = (draft){.op = &mica__op_full, .types = {type}, .attrs = &(mica__full_attrs){value}};
  return put(s, &d, id);
}

static mica_status put_values(sweep *s, mica__type type, const double *values, int32_t *id) {
  int64_t count = 0;
  MICA_TRY(mica_shape_count(type.shape, &count));
  void *data = malloc((size_t)count * mica_dtype_size(type.dtype) + 1);
  if (!data) return mica__fail_nomem("a constant");
  for (int64_t i = 0; i < count; i++) mica__element_set(type.dtype, data, i, values[i]);
  mica_status status = put_constant(s, type, data, id);
  free(data);
  return status;
}

static bool same_type(mica__type a, mica__type b) { return a.dtype == b.dtype && mica_shape_equal(a.shape, b.shape); }

/* True if the value is `unit` everywhere. For floats, the sign of a zero must match too. */
static bool is_unit(const mica__node *node, double unit) {
  if (node->op != &mica__op_full) return false;
  double value = mica__full_value(node);
  if (value != unit) return false;
  return mica_dtype_kind_of(node->type.dtype) != MICA_DTYPE_KIND_FLOAT || signbit(value) == signbit(unit);
}

/* The existing value that a pointwise draft equals; 0: none. */
static int32_t same_value(const sweep *s, const draft *d) {
  const mica__node *first = mica__graph_node(s->out, d->inputs[0]);
  if (d->op->identity && same_type(first->type, d->types[0])) return d->inputs[0];
  if (d->op->involution && first->op == d->op) return first->inputs[0];
  for (int32_t k = 0; d->input_count == 2 && k < 2; k++)
    if (d->op->units >> k & 1 && is_unit(mica__graph_node(s->out, d->inputs[k]), d->op->unit) &&
        same_type(mica__graph_node(s->out, d->inputs[1 - k])->type, d->types[0]))
      return d->inputs[1 - k];
  return 0;
}

/* The value that a chain of views shows unchanged; otherwise the view itself. */
static int32_t same_look(const sweep *s, int32_t id) {
  int32_t base = 0;
  mica_shape space = mica__graph_node(s->out, id)->type.shape;
  mica__access access = mica__template_look(s->out, id, &base);
  bool same = same_type(mica__graph_node(s->out, base)->type, mica__graph_node(s->out, id)->type);
  return same && mica__access_is_row_major(space, &access) ? base : id;
}

/* True if a sum, product, maximum or minimum joins single elements only, so that it just drops or keeps dimensions of
 * extent 1. */
static bool joins_nothing(const sweep *s, const draft *d) {
  mica__type x = mica__graph_node(s->out, d->inputs[0])->type;
  mica__join join = d->op->join;
  if (d->op->kind != MICA__OP_REDUCE || x.dtype != d->types[0].dtype) return false;
  if (join != MICA__JOIN_SUM && join != MICA__JOIN_PROD && join != MICA__JOIN_MAX && join != MICA__JOIN_MIN)
    return false;
  const mica__reduce_attrs *reduce = d->attrs;
  for (int32_t i = 0; i < x.shape.rank; i++)
    if (reduce->axes >> i & 1 && x.shape.dim[i] != 1) return false;
  return true;
}

static bool has_no_axes(const draft *d) {
  return d->op == &mica__op_sum && ((const mica__reduce_attrs *)d->attrs)->axes == 0;
}

/* True if a sum has equal elements and is exact: the device would compute it without rounding or wrapping. */
static bool sums_equal_elements(const sweep *s, const draft *d, double *sum) {
  const mica__node *x = mica__graph_node(s->out, d->inputs[0]);
  unsigned char element[8] = {0};
  if (d->op->kind != MICA__OP_REDUCE || d->op->join != MICA__JOIN_SUM || x->op != &mica__op_full) return false;
  const mica__reduce_attrs *reduce = d->attrs;
  double n = 1, value = mica__full_value(x);
  for (int32_t i = 0; i < x->type.shape.rank; i++)
    if (reduce->axes >> i & 1) n *= (double)x->type.shape.dim[i];
  *sum = n * value;
  if (x->type.dtype != d->types[0].dtype || rint(value) != value || fabs(*sum) > 0x1p24) return false;
  mica__element_set(x->type.dtype, element, 0, *sum);
  return mica_dtype_kind_of(x->type.dtype) == MICA_DTYPE_KIND_FLOAT ||
         mica__element_get(x->type.dtype, element, 0) == *sum;
}

/* True for a product of two vectors. Quantised operands are left alone, because other ops match them. */
static bool is_dot(const sweep *s, const draft *d) {
  if (!d->op->is_dot || d->input_count != 2 || d->pass != 0) return false;
  const mica__node *a = mica__graph_node(s->out, d->inputs[0]), *b = mica__graph_node(s->out, d->inputs[1]);
  const mica__node node = {.op = d->op, .attrs = d->attrs, .type = d->types[0]};
  if (a->op->kept || b->op->kept || a->type.dtype != MICA_F32 || mica__node_count(&node) != 1) return false;
  return mica__node_count(a) == mica__node_count(b) && d->op->is_dot(&node, (const mica__type[]){a->type, b->type});
}

static mica_status make(sweep *s, const draft *d, int32_t *id);

/* Makes a view of the elements of a value in another shape. */
static mica_status in_shape(sweep *s, int32_t value, mica__type type, int32_t pass, int32_t *id) {
  draft view = {.op = &op_in_shape, .inputs = &value, .input_count = 1, .types = {type}, .pass = pass};
  view.attrs = &(mica__in_shape_attrs){type.shape};
  return make(s, &view, id);
}

static mica_status make_dot(sweep *s, const draft *d, int32_t *id) {
  int32_t operands[2], product = 0, sum = 0;
  const mica__type flat = {d->types[0].dtype, MICA_SHAPE(mica__node_count(mica__graph_node(s->out, d->inputs[0])))};
  for (int k = 0; k < 2; k++) MICA_TRY(in_shape(s, d->inputs[k], flat, d->pass, &operands[k]));
  draft mul = {.op = &mica__op_mul, .inputs = operands, .input_count = 2, .types = {flat}, .pass = d->pass};
  MICA_TRY(make(s, &mul, &product));
  draft all = {.op = &mica__op_sum,
               .inputs = &product,
               .input_count = 1,
               .types = {{flat.dtype, MICA_SCALAR}},
               .pass = d->pass,
               .attrs = &(mica__reduce_attrs){.axes = 1}};
  MICA_TRY(make(s, &all, &sum));
  return in_shape(s, sum, d->types[0], d->pass, id);
}

/* Makes the draft's results in their simplest form; id has room for all results. */
static mica_status make(sweep *s, const draft *d, int32_t *id) {
  double sum = 0, *values[MICA__MAX_RESULTS] = {NULL};
  *id = s->simplify && d->op->kind == MICA__OP_POINTWISE ? same_value(s, d) : 0;
  if (*id) return MICA_OK;
  if ((s->simplify || has_no_axes(d)) && joins_nothing(s, d))
    return in_shape(s, d->inputs[0], d->types[0], d->pass, id);
  if (s->simplify && is_dot(s, d)) return make_dot(s, d, id);
  if (s->simplify && sums_equal_elements(s, d, &sum)) {
    draft full = {.op = &mica__op_full, .types = {d->types[0]}, .attrs = &(mica__full_attrs){sum}};
    return put(s, &full, id);
  }
  if (s->simplify || d->op->kind == MICA__OP_SHAPE) {
    mica__node node = {.op = d->op, .inputs = (int32_t *)d->inputs, .input_count = d->input_count, .attrs = d->attrs};
    node.type = d->types[0];
    MICA_TRY(mica__template_fold(s->out, &node, d->types, values));
    if (values[0]) {
      mica_status status = MICA_OK;
      for (int32_t r = 0; r < mica__node_results(&node); r++) {
        if (status == MICA_OK) status = put_values(s, d->types[r], values[r], &id[r]);
        free(values[r]);
      }
      return status;
    }
  }
  char text[MICA__TYPE_TEXT];
  if (d->op->kind == MICA__OP_SHAPE)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "the result of %s, %s, cannot be computed: it has more than 2^25 elements, or an element that its type "
        "cannot hold",
        d->op->name, mica__type_format(d->types[0], text));
  MICA_TRY(put(s, d, id));
  if (s->simplify && d->op->kind == MICA__OP_VIEW) *id = same_look(s, *id);
  return MICA_OK;
}

static mica_status infer_again(const sweep *s, draft *d) {
  mica__type *types = calloc((size_t)d->input_count, sizeof *types);
  if (!types) return mica__fail_nomem("a session");
  for (int32_t k = 0; k < d->input_count; k++) types[k] = mica__graph_node(s->out, d->inputs[k])->type;
  mica_status status = mica__op_infer(d->op, types, d->input_count, d->attrs, d->types);
  free(types);
  return status == MICA_OK ? MICA_OK : mica__fail_in(status, d->op->name);
}

/* If an op uses only the shape of an input that is not a source, replaces the input by a constant of that shape, so
 * that its elements are never computed. This is also done without simplification, because such an input may get no
 * memory that a kernel could read. */
static mica_status drop_unread(sweep *s, const mica__op *op, int32_t *inputs, int32_t input_count) {
  for (int32_t k = 0; k < input_count; k++) {
    const mica__node *node = mica__graph_node(s->out, inputs[k]);
    if (k >= 32 || !(op->shape_only >> k & 1) || node->op->kind == MICA__OP_SOURCE) continue;
    draft full = {.op = &mica__op_full, .types = {node->type}, .attrs = &(mica__full_attrs){0}};
    MICA_TRY(put(s, &full, &inputs[k]));
  }
  return MICA_OK;
}

static mica_status visit_op(sweep *s, const mica__node *node, int32_t *inputs, int32_t *id) {
  draft d = {.op = node->op, .input_count = node->input_count, .pass = node->pass};
  for (int32_t k = 0; k < node->input_count; k++) inputs[k] = s->map[node->inputs[k] - 1];
  d.inputs = inputs;
  MICA_TRY(mica__attrs_copy(d.op->attrs, node->attrs, &d.attrs));
  mica_status status = infer_again(s, &d);
  /* A sum may have a second operand, of which it uses only the shape. infer_again has written that shape into the
   * attributes, so the operand is dropped. */
  if (d.op == &mica__op_sum) d.input_count = 1;
  if (status == MICA_OK) status = drop_unread(s, d.op, inputs, d.input_count);
  if (status == MICA_OK) status = make(s, &d, id);
  free(d.attrs);
  return status;
}

static mica_status visit(sweep *s, int32_t source_id, const mica_shape *shapes) {
  const mica__node *node = mica__graph_node(s->source, source_id);
  int32_t *id = &s->map[source_id - 1];
  if (node->op->kind == MICA__OP_RESULT) {
    /* Nothing to do: the result was made with its node. */
  } else if (node->op->kind != MICA__OP_SOURCE) {
    int32_t *inputs = calloc((size_t)node->input_count, sizeof *inputs);
    if (!inputs) return mica__fail_nomem("a session");
    mica_status status = visit_op(s, node, inputs, id);
    free(inputs);
    MICA_TRY(status);
  } else if (node->op == &mica__op_constant) {
    MICA_TRY(put_constant(s, node->type, node->data, id));
  } else {
    draft d = {.op = node->op, .attrs = node->attrs, .types = {node->type}};
    if (node->op == &mica__op_input) d.types[0].shape = shapes[source_id - 1];
    MICA_TRY(put(s, &d, id));
  }
  mica__node *made = mica__graph_node(s->out, *id);
  MICA_TRY(mica__mark_copy(node, s->map, made));
  if (!node->name || made->name) return MICA_OK;
  made->name = mica__strdup(node->name);
  return made->name ? MICA_OK : mica__fail_nomem("a name");
}

/* An output or assigned value is written to memory of its own, so it needs a computed node that is no other output or
 * assigned value. If it has none, adds a copy (stop_gradient) of it. */
static mica_status claim(sweep *s, bool *claimed, int32_t *id) {
  const mica__node *node = mica__graph_node(s->out, *id);
  mica__op_kind kind = node->op->kind;
  if (kind != MICA__OP_SOURCE && kind != MICA__OP_VIEW && !claimed[*id - 1]) {
    claimed[*id - 1] = true;
    return MICA_OK;
  }
  const mica__type type = node->type;
  *id = mica__graph_put(s->out, &mica__op_stop_gradient, id, 1, NULL, &type);
  return *id ? MICA_OK : s->out->status;
}

/* If a chain of views shows all elements of a value in their order, returns that value; otherwise the view itself. */
static int32_t same_elements(const sweep *s, int32_t id) {
  int32_t base = 0;
  const mica__node *node = mica__graph_node(s->out, id);
  mica__access access = mica__template_look(s->out, id, &base);
  bool same = mica__access_is_row_major(node->type.shape, &access) &&
              mica__node_count(mica__graph_node(s->out, base)) == mica__node_count(node);
  return same ? base : id;
}

static mica_status claim_results(sweep *s, const mica__template *source, mica__template *template) {
  bool *claimed = calloc((size_t)s->out->count + 1, sizeof *claimed);
  if (!claimed) return mica__fail_nomem("a session");
  mica_status status = MICA_OK;
  for (int32_t i = 0; status == MICA_OK && i < source->assignment_count; i++) {
    mica__assignment a = source->assignments[i];
    /* Only the order of the elements matters for an assignment, so the value may have another shape than the
     * parameter. */
    a = (mica__assignment){s->map[a.parameter - 1], same_elements(s, s->map[a.value - 1])};
    status = claim(s, claimed, &a.value);
    template->assignments[template->assignment_count++] = a;
  }
  for (int32_t i = 0; status == MICA_OK && i < source->output_count; i++) {
    int32_t id = s->map[source->outputs[i] - 1];
    status = claim(s, claimed, &id);
    template->outputs[template->output_count++] = id;
  }
  free(claimed);
  return status;
}

mica_status mica__template_specialise(const mica__template *source, const mica_shape *shapes, bool simplify,
                                      mica__template *template) {
  *template = (mica__template){0};
  MICA_TRY(mica_graph_create(&template->graph));
  sweep s = {.source = source->graph, .out = template->graph, .simplify = simplify};
  int32_t count = source->graph->count;
  s.table_size = (size_t)count * 8 + 64;
  s.table = calloc(s.table_size, sizeof *s.table);
  s.map = calloc((size_t)count + 1, sizeof *s.map);
  template->outputs = calloc((size_t)source->output_count + 1, sizeof *template->outputs);
  template->assignments = calloc((size_t)source->assignment_count + 1, sizeof *template->assignments);
  mica_status status =
      s.table && s.map && template->outputs && template->assignments ? MICA_OK : mica__fail_nomem("a session");
  for (int32_t id = 1; status == MICA_OK && id <= count; id++) status = visit(&s, id, shapes);
  if (status == MICA_OK) status = claim_results(&s, source, template);
  if (status == MICA_OK && simplify && !mica__is_without(MICA__WITHOUT_REWRITE))
    status = mica__template_rewrite(template, NULL);
  free(s.table);
  free(s.map);
  if (status != MICA_OK) mica__template_free(template);
  return status;
}
