/* Makes a model's graphs: resolves the functions that nodes call, counts the operators, and sorts the nodes
 * topologically. ONNX demands this order, but some files are not sorted. */
#include "onnx/model.h"
#include "onnx/ops/table.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of different operators in a model. ONNX has about 200. */
#define MOST_OPERATORS 2000

int64_t mica__onnx_version(Onnx__OperatorSetIdProto *const *imports, size_t count, const char *domain) {
  for (size_t i = 0; i < count; i++) {
    const char *name = mica__onnx_text(imports[i]->domain);
    if (!strcmp(!strcmp(name, "ai.onnx") ? "" : name, domain)) return imports[i]->version;
  }
  return 1;
}

void mica__onnx_graph_free(mica__onnx_graph *graph) {
  for (int32_t i = 0; i < graph->count; i++) {
    for (int32_t k = 0; k < graph->nodes[i].body_count; k++) mica__onnx_graph_free(&graph->nodes[i].bodies[k]);
    free(graph->nodes[i].bodies);
  }
  free(graph->nodes);
  *graph = (mica__onnx_graph){0};
}

/* --- functions --- */

const mica__onnx_function *mica__onnx_function_find(const mica_onnx *model, const char *domain, const char *name,
                                                    const char *overload) {
  for (int32_t i = 0; i < model->function_count; i++) {
    const Onnx__FunctionProto *f = model->functions[i].proto;
    if (!strcmp(mica__onnx_text(f->name), name) && !strcmp(mica__onnx_text(f->domain), domain) &&
        !strcmp(mica__onnx_text(f->overload), overload))
      return &model->functions[i];
  }
  return NULL;
}

/* --- order --- */

/* Finds an order in which each node comes after the nodes that make its operands.
 *
 *   waits[n]          the number of operands of node n that are not made yet
 *   first[n]          the start of a linked list of the nodes that use node n: its first pair, or -1 if it is empty
 *   user[p], next[p]  pair p of such a list: a node, and the number of the next pair, or -1 at the end */
typedef struct ordering {
  const mica_onnx *model;
  Onnx__NodeProto *const *nodes;
  int32_t count;
  mica__name_table makers; /* value -> the node that makes it */
  int32_t *waits, *first, *next, *user;
  int32_t pairs, capacity;
  bool in_order;
} ordering;

static mica_status note_makers(ordering *o) {
  for (int32_t i = 0; i < o->count; i++)
    for (size_t k = 0; k < o->nodes[i]->n_output; k++) {
      const char *name = o->nodes[i]->output[k];
      if (!*name) continue;
      if (mica__name_table_find(&o->makers, name) >= 0)
        return mica__fail(MICA_E_FORMAT, "%s: two nodes make the value '%.80s'", o->model->name, name);
      MICA_TRY(mica__name_table_add(&o->makers, name, i));
    }
  return MICA_OK;
}

static mica_status note_use(ordering *o, int32_t node, const char *name) {
  int32_t maker = *name ? mica__name_table_find(&o->makers, name) : -1;
  if (maker < 0) return MICA_OK;
  if (maker >= node) o->in_order = false;
  if (o->pairs == o->capacity) {
    int32_t capacity = o->capacity ? 2 * o->capacity : 256;
    int32_t *next = realloc(o->next, (size_t)capacity * sizeof *next);
    if (next) o->next = next;
    int32_t *user = next ? realloc(o->user, (size_t)capacity * sizeof *user) : NULL;
    if (!user) return mica__fail_nomem("a model");
    o->user = user;
    o->capacity = capacity;
  }
  o->user[o->pairs] = node;
  o->next[o->pairs] = o->first[maker];
  o->first[maker] = o->pairs++;
  o->waits[node]++;
  return MICA_OK;
}

/* The names that a body defines. `outer` has the names of the body around it; NULL for the node's own bodies. */
typedef struct body_names {
  const struct body_names *outer;
  mica__name_table own;
} body_names;

static bool is_own(const body_names *names, const char *name) {
  for (; names; names = names->outer)
    if (mica__name_table_find(&names->own, name) >= 0) return true;
  return false;
}

static mica_status add_own(body_names *names, const char *name) {
  return mica__name_table_find(&names->own, name) >= 0 ? MICA_OK : mica__name_table_add(&names->own, name, 0);
}

static mica_status list_own(body_names *names, const Onnx__GraphProto *body) {
  for (size_t i = 0; i < body->n_input; i++) MICA_TRY(add_own(names, mica__onnx_text(body->input[i]->name)));
  for (size_t i = 0; i < body->n_initializer; i++)
    MICA_TRY(add_own(names, mica__onnx_text(body->initializer[i]->name)));
  for (size_t i = 0; i < body->n_node; i++)
    for (size_t k = 0; k < body->node[i]->n_output; k++) MICA_TRY(add_own(names, body->node[i]->output[k]));
  return MICA_OK;
}

/* Notes the names that a node reads: its operands, and the outer names that its bodies read.
 * NOLINTNEXTLINE(misc-no-recursion): as deep as messages are nested, which the guard limits. */
static mica_status note_uses(ordering *o, int32_t at, const Onnx__NodeProto *node, const body_names *names) {
  for (size_t k = 0; k < node->n_input; k++)
    if (!is_own(names, node->input[k])) MICA_TRY(note_use(o, at, node->input[k]));
  for (size_t a = 0; a < node->n_attribute; a++) {
    const Onnx__GraphProto *body = node->attribute[a]->g;
    if (!body) continue;
    body_names inside = {.outer = names};
    mica_status status = list_own(&inside, body);
    for (size_t i = 0; status == MICA_OK && i < body->n_node; i++) status = note_uses(o, at, body->node[i], &inside);
    for (size_t i = 0; status == MICA_OK && i < body->n_output; i++)
      if (!is_own(&inside, mica__onnx_text(body->output[i]->name)))
        status = note_use(o, at, mica__onnx_text(body->output[i]->name));
    mica__name_table_free(&inside.own);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* Appends each node to the order as soon as all its operands are made, by the method of Kahn (1962). MICA_E_FORMAT if
 * there is a cycle. */
static mica_status sort(ordering *o, int32_t *order) {
  int32_t made = 0;
  for (int32_t i = 0; i < o->count; i++)
    if (!o->waits[i]) order[made++] = i;
  for (int32_t at = 0; at < made; at++)
    for (int32_t p = o->first[order[at]]; p >= 0; p = o->next[p])
      if (--o->waits[o->user[p]] == 0) order[made++] = o->user[p];
  for (int32_t i = 0; made < o->count && i < o->count; i++)
    if (o->waits[i])
      return mica__fail(MICA_E_FORMAT, "%s: node '%.80s' (%.80s) is part of a cycle or depends on one", o->model->name,
                        mica__onnx_text(o->nodes[i]->name), mica__onnx_text(o->nodes[i]->op_type));
  return MICA_OK;
}

static mica_status find_order(ordering *o, int32_t *order) {
  size_t count = (size_t)o->count + 1;
  o->in_order = true;
  o->waits = calloc(count, sizeof *o->waits);
  o->first = calloc(count, sizeof *o->first);
  if (!o->waits || !o->first) return mica__fail_nomem("a model");
  for (int32_t i = 0; i < o->count; i++) o->first[i] = -1;
  MICA_TRY(note_makers(o));
  for (int32_t i = 0; i < o->count; i++) MICA_TRY(note_uses(o, i, o->nodes[i], NULL));
  for (int32_t i = 0; i < o->count; i++) order[i] = i;
  return o->in_order ? MICA_OK : sort(o, order);
}

/* --- nodes --- */

/* NOLINTNEXTLINE(misc-no-recursion): see note_uses. */
static mica_status make_bodies(mica_onnx *model, const Onnx__NodeProto *proto, Onnx__OperatorSetIdProto *const *imports,
                               size_t import_count, mica__onnx_node *node) {
  size_t count = 0;
  for (size_t a = 0; a < proto->n_attribute; a++) count += proto->attribute[a]->g != NULL;
  if (!count) return MICA_OK;
  node->bodies = calloc(count, sizeof *node->bodies);
  if (!node->bodies) return mica__fail_nomem("a model");
  for (size_t a = 0; a < proto->n_attribute; a++) {
    const Onnx__GraphProto *body = proto->attribute[a]->g;
    if (!body) continue;
    mica__onnx_graph *graph = &node->bodies[node->body_count++];
    graph->proto = body;
    MICA_TRY(mica__onnx_graph_make(model, body->node, body->n_node, imports, import_count, graph));
  }
  return MICA_OK;
}

/* Writers of proto3 omit a number 0 and an empty text. If the attribute's type says that it has such a value, marks the
 * value as present. */
static void fill_attributes(const Onnx__NodeProto *proto) {
  for (size_t i = 0; i < proto->n_attribute; i++) {
    Onnx__AttributeProto *a = proto->attribute[i];
    if (!a->has_type || a->has_f || a->has_i || a->has_s || *mica__onnx_text(a->ref_attr_name)) continue;
    a->has_f = a->type == MICA__ONNX_FLOAT;
    a->has_i = a->type == MICA__ONNX_INT;
    a->has_s = a->type == MICA__ONNX_STRING;
  }
}

/* Counts the node's operator in the model's list. */
static mica_status note_operator(mica_onnx *model, const mica__onnx_node *node) {
  for (size_t i = 0; i < model->operator_count; i++) {
    mica_onnx_operator *used = &model->operators[i];
    if (used->version != node->version || strcmp(used->name, node->op) || strcmp(used->domain, node->domain)) continue;
    used->count++;
    return MICA_OK;
  }
  if (model->operator_count == MOST_OPERATORS)
    return mica__fail(MICA_E_FORMAT, "%s has more than %d different operators", model->name, MOST_OPERATORS);
  if (model->operator_count == model->operator_capacity) {
    size_t capacity = model->operator_capacity ? 2 * model->operator_capacity : 32;
    mica_onnx_operator *operators = realloc(model->operators, capacity * sizeof *operators);
    if (!operators) return mica__fail_nomem("a model");
    model->operators = operators;
    model->operator_capacity = capacity;
  }
  model->operators[model->operator_count++] =
      (mica_onnx_operator){.domain = node->domain, .name = node->op, .version = node->version, .count = 1};
  return MICA_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): see note_uses. */
static mica_status make_node(mica_onnx *model, const Onnx__NodeProto *proto, Onnx__OperatorSetIdProto *const *imports,
                             size_t import_count, mica__onnx_node *node) {
  const char *domain = mica__onnx_text(proto->domain);
  *node = (mica__onnx_node){.op = mica__onnx_text(proto->op_type),
                            .domain = !strcmp(domain, "ai.onnx") ? "" : domain,
                            .name = mica__onnx_text(proto->name),
                            .inputs = proto->input,
                            .input_count = (int32_t)proto->n_input,
                            .outputs = proto->output,
                            .output_count = (int32_t)proto->n_output,
                            .attrs = proto->attribute,
                            .attr_count = (int32_t)proto->n_attribute};
  node->version = mica__onnx_version(imports, import_count, node->domain);
  node->function = mica__onnx_function_find(model, node->domain, node->op, mica__onnx_text(proto->overload));
  fill_attributes(proto);
  MICA_TRY(make_bodies(model, proto, imports, import_count, node));
  return node->function ? MICA_OK : note_operator(model, node);
}

/* NOLINTNEXTLINE(misc-no-recursion): see note_uses. */
mica_status mica__onnx_graph_make(mica_onnx *model, Onnx__NodeProto *const *nodes, size_t count,
                                  Onnx__OperatorSetIdProto *const *imports, size_t import_count,
                                  mica__onnx_graph *graph) {
  ordering o = {.model = model, .nodes = nodes, .count = (int32_t)count};
  int32_t *order = calloc(count + 1, sizeof *order);
  graph->nodes = calloc(count + 1, sizeof *graph->nodes);
  mica_status status = order && graph->nodes ? find_order(&o, order) : mica__fail_nomem("a model");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    status = make_node(model, nodes[order[i]], imports, import_count, &graph->nodes[i]);
    graph->count = (int32_t)i + 1;
  }
  mica__name_table_free(&o.makers);
  free(o.waits);
  free(o.first);
  free(o.next);
  free(o.user);
  free(order);
  return status;
}
