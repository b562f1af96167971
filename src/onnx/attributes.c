#include "onnx/attributes.h"

#include "base/text.h"
#include "onnx/ops/table.h"

#include <stdio.h>
#include <string.h>

static const char *const types[] = {"UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
                                    "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
                                    "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
#define TYPES ((int32_t)(sizeof types / sizeof *types))

const char *mica__onnx_attr_type_name(int32_t type) { return type >= 0 && type < TYPES ? types[type] : "unknown"; }

int32_t mica__onnx_attr_type(const Onnx__AttributeProto *a) {
  if (a->has_type && a->type) return a->type;
  if (a->has_f) return MICA__ONNX_FLOAT;
  if (a->has_i) return MICA__ONNX_INT;
  if (a->has_s) return MICA__ONNX_STRING;
  if (a->t) return MICA__ONNX_TENSOR;
  if (a->g) return MICA__ONNX_GRAPH;
  if (a->n_floats) return MICA__ONNX_FLOATS;
  if (a->n_ints) return MICA__ONNX_INTS;
  if (a->n_strings) return MICA__ONNX_STRINGS;
  if (a->n_tensors) return MICA__ONNX_TENSORS;
  if (a->n_graphs) return MICA__ONNX_GRAPHS;
  return a->sparse_tensor ? MICA__ONNX_SPARSE_TENSOR : 0;
}

/* True if the attribute has a value of this type. A list of floats, integers or texts may be empty, but the attribute
 * must not have elements in another of these lists. Attributes of further types are not checked. */
static bool is_whole(const Onnx__AttributeProto *a, int32_t type) {
  switch (type) {
  case MICA__ONNX_FLOAT: return a->has_f;
  case MICA__ONNX_INT: return a->has_i;
  case MICA__ONNX_STRING: return a->has_s;
  case MICA__ONNX_TENSOR: return a->t != NULL;
  case MICA__ONNX_GRAPH: return a->g != NULL;
  case MICA__ONNX_SPARSE_TENSOR: return a->sparse_tensor != NULL;
  case MICA__ONNX_FLOATS: return !a->n_ints && !a->n_strings;
  case MICA__ONNX_INTS: return !a->n_floats && !a->n_strings;
  case MICA__ONNX_STRINGS: return !a->n_floats && !a->n_ints;
  default: return true;
  }
}

static bool is_list(int32_t type) { return type >= MICA__ONNX_FLOATS && type <= MICA__ONNX_GRAPHS; }

bool mica__onnx_attr_fits(int32_t type, const Onnx__AttributeProto *attr, int32_t expected) {
  if (type == expected) return true;
  if (type == 0) return is_list(expected); /* an empty list in an old file */
  return type == MICA__ONNX_INT && expected == MICA__ONNX_FLOAT &&
         (!attr || (attr->i >= -(1 << 24) && attr->i <= 1 << 24));
}

/* --- one attribute --- */

typedef struct checking {
  const mica_onnx *model;
  const mica__onnx_node *node;
  const mica__onnx_attribute *rows;
  int32_t count;
} checking;

static mica_status refuse(const checking *c, mica_status status, const char *name, const char *what) {
  return mica__fail(status, "%s: node '%.80s' (%.80s): attribute '%.80s' %s", c->model->name,
                    mica__onnx_node_title(c->node), c->node->op, name, what);
}

static bool holds(const mica__onnx_attribute *row, int64_t version) {
  return row->name && row->first <= version && version <= row->last;
}

/* Finds the table's row for the attribute `name` in the node's version of its operator. Returns NULL if this version
 * has no such attribute; then *other is a row of the attribute for other versions, or NULL if no version has it. */
static const mica__onnx_attribute *find_row(const checking *c, const char *name, const mica__onnx_attribute **other) {
  *other = NULL;
  for (int32_t i = 0; i < c->count; i++) {
    const mica__onnx_attribute *row = &c->rows[i];
    if (!row->name || strcmp(row->name, name) != 0) continue;
    if (holds(row, c->node->version)) return row;
    *other = row;
  }
  return NULL;
}

static mica_status refuse_unknown(const checking *c, const char *name, const mica__onnx_attribute *other) {
  mica__text text = {0};
  if (other && other->last < c->node->version)
    mica__text_addf(&text, "is of versions %d to %d of the operator; the model imports version %lld", (int)other->first,
                    (int)other->last, (long long)c->node->version);
  else if (other)
    mica__text_addf(&text, "is known since version %d of the operator; the model imports version %lld",
                    (int)other->first, (long long)c->node->version);
  bool any = false;
  for (int32_t i = 0; !other && i < c->count; i++) {
    if (!holds(&c->rows[i], c->node->version)) continue;
    mica__text_addf(&text, "%s%s", any ? ", " : "is unknown; the operator has: ", c->rows[i].name);
    any = true;
  }
  if (!other && !any) mica__text_addf(&text, "is unknown; the operator has no attributes");
  mica_status status = refuse(c, MICA_E_UNSUPPORTED, name, text.failed || !text.data ? "is unknown" : text.data);
  mica__text_free(&text);
  return status;
}

static mica_status check_attribute(const checking *c, int32_t at) {
  const Onnx__AttributeProto *attr = c->node->attrs[at];
  const char *name = mica__onnx_text(attr->name);
  const mica__onnx_attribute *other, *row = find_row(c, name, &other);
  char text[128];
  for (int32_t i = 0; i < at; i++)
    if (!strcmp(mica__onnx_text(c->node->attrs[i]->name), name))
      return refuse(c, MICA_E_FORMAT, name, "is given twice");
  if (!row) return refuse_unknown(c, name, other);
  const bool refers = *mica__onnx_text(attr->ref_attr_name) != '\0';
  const int32_t type = mica__onnx_attr_type(attr);
  if (refers && type == 0) return MICA_OK;
  if (!refers && !is_whole(attr, type))
    return refuse(c, MICA_E_FORMAT, name, "lacks a value of its declared type, or has values of other types");
  if (!mica__onnx_attr_fits(type, refers ? NULL : attr, row->type)) {
    snprintf(text, sizeof text, "is of type %s, but must be %s", mica__onnx_attr_type_name(type),
             mica__onnx_attr_type_name(row->type));
    return refuse(c, MICA_E_FORMAT, name, text);
  }
  if (!row->is_only || refers || attr->i == row->only) return MICA_OK;
  snprintf(text, sizeof text, "is %lld; only %lld is supported", (long long)attr->i, (long long)row->only);
  return refuse(c, MICA_E_UNSUPPORTED, name, text);
}

static bool is_given(const mica__onnx_node *node, const char *name) {
  for (int32_t i = 0; i < node->attr_count; i++)
    if (!strcmp(mica__onnx_text(node->attrs[i]->name), name)) return true;
  return false;
}

/* --- nodes --- */

static mica_status check_set(const mica_onnx *model, const char *domain, const char *op, int64_t version) {
  const int64_t newest = mica__onnx_newest(domain);
  if (version <= newest || mica__onnx_defined_find(model, domain, op) || !mica__onnx_op_find(domain, op, version))
    return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED,
                    "%s uses version %lld of the operator set %s (for %.60s); Mica supports versions up to %lld",
                    model->name, (long long)version, *domain ? domain : "ai.onnx", op, (long long)newest);
}

static mica_status check_node(const mica_onnx *model, const mica__onnx_node *node) {
  const mica__onnx_op *op = mica__onnx_op_find(node->domain, node->op, node->version);
  if (node->function || mica__onnx_defined_find(model, node->domain, node->op) || !op) return MICA_OK;
  MICA_TRY(check_set(model, node->domain, node->op, node->version));
  checking c = {.model = model, .node = node};
  c.rows = mica__onnx_op_attributes(op, &c.count);
  for (int32_t i = 0; i < node->attr_count; i++) MICA_TRY(check_attribute(&c, i));
  for (int32_t i = 0; i < c.count; i++) {
    if (!c.rows[i].needed || !holds(&c.rows[i], node->version) || is_given(node, c.rows[i].name)) continue;
    return refuse(&c, MICA_E_FORMAT, c.rows[i].name, "is missing; the operator needs it");
  }
  return MICA_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as bodies are nested, which the guard limits. */
static mica_status check_graph(const mica_onnx *model, const mica__onnx_graph *graph) {
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    MICA_TRY(check_node(model, node));
    for (int32_t k = 0; k < node->body_count; k++) MICA_TRY(check_graph(model, &node->bodies[k]));
  }
  return MICA_OK;
}

mica_status mica__onnx_check_attributes(const mica_onnx *model) {
  MICA_TRY(check_graph(model, &model->graph));
  for (int32_t i = 0; i < model->function_count; i++) MICA_TRY(check_graph(model, &model->functions[i].body));
  return MICA_OK;
}

mica_status mica__onnx_check_operators(const mica_onnx *model) {
  mica__text missing = {0};
  for (size_t i = 0; i < model->operator_count; i++) {
    const mica_onnx_operator *used = &model->operators[i];
    MICA_TRY(check_set(model, used->domain, used->name, used->version));
  }
  for (size_t i = 0; i < model->operator_count; i++) {
    const mica_onnx_operator *used = &model->operators[i];
    if (used->supported) continue;
    mica__text_addf(&missing, "%s%s%s%.60s (version %lld)", missing.length ? ", " : "", used->domain,
                    *used->domain ? "." : "", used->name, (long long)used->version);
  }
  mica_status status = missing.length ? mica__fail(MICA_E_UNSUPPORTED, "%s needs operators that are not supported: %s",
                                                   model->name, missing.failed ? "..." : missing.data)
                                      : MICA_OK;
  mica__text_free(&missing);
  return status;
}
