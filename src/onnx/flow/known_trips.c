/* Finds out which values of a loop's body are known in every trip, without lowering the body. */
#include "onnx/flow/body.h"

#include <stdlib.h>
#include <string.h>

typedef struct knowing {
  mica__lowering *l;
  const mica__onnx_graph *body;
  mica__name_table makers; /* name -> node of the body that makes it */
  mica__name_table inputs; /* name -> input of the body */
  bool *nodes;             /* by node: its results are known */
  bool *carried;           /* by input of the body: its value is known to the host in every trip */
} knowing;

static bool is_known_name(const knowing *k, const char *name) {
  if (!*name) return true;
  int32_t input = mica__name_table_find(&k->inputs, name), maker = mica__name_table_find(&k->makers, name);
  if (input >= 0) return k->carried[input];
  if (maker >= 0) return k->nodes[maker];
  for (size_t i = 0; i < k->body->proto->n_initializer; i++)
    if (!strcmp(mica__onnx_text(k->body->proto->initializer[i]->name), name)) return true;
  const mica__lower_value *found = mica__scope_find(k->l, name);
  return found && ((found->value.graph && mica__lower_is_known(k->l->graph, found->value.id)) || found->tensor);
}

static bool is_known_node(const knowing *k, const mica__onnx_node *node) {
  const char *op = *node->domain ? "" : node->op; /* of ONNX; other domains may use the same names */
  if (node->body_count || node->function) return false;
  if (!strcmp(op, "Shape") || !strcmp(op, "Size")) return true;
  if (!strncmp(op, "Random", 6) || !strcmp(op, "Bernoulli") || !strcmp(op, "Multinomial")) return false;
  for (int32_t i = 0; i < node->input_count; i++)
    if (!is_known_name(k, node->inputs[i])) return false;
  return true;
}

static mica_status file_names(knowing *k) {
  const Onnx__GraphProto *proto = k->body->proto;
  for (size_t i = 0; i < proto->n_input; i++) {
    const char *name = mica__onnx_text(proto->input[i]->name);
    if (mica__name_table_find(&k->inputs, name) < 0) MICA_TRY(mica__name_table_add(&k->inputs, name, (int32_t)i));
  }
  for (int32_t i = 0; i < k->body->count; i++)
    for (int32_t o = 0; o < k->body->nodes[i].output_count; o++) {
      const char *name = k->body->nodes[i].outputs[o];
      if (*name && mica__name_table_find(&k->makers, name) < 0) MICA_TRY(mica__name_table_add(&k->makers, name, i));
    }
  return MICA_OK;
}

/* Finds the carried values that are known in every trip. Starts with the values that are known before the first trip,
 * then removes each value that a trip computes from unknown ones, until nothing changes. Returns true if output `index`
 * of the body is then known. */
static bool find_known(knowing *k, size_t index, size_t carried_count) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = 0; i < k->body->count; i++) k->nodes[i] = is_known_node(k, &k->body->nodes[i]);
    for (size_t i = 0; i < carried_count; i++) {
      bool still = is_known_name(k, mica__onnx_text(k->body->proto->output[1 + i]->name));
      changed = changed || (k->carried[2 + i] && !still);
      k->carried[2 + i] = k->carried[2 + i] && still;
    }
  }
  return is_known_name(k, mica__onnx_text(k->body->proto->output[index]->name));
}

bool mica__flow_is_known(mica__lowering *l, const mica__onnx_graph *body, size_t index,
                         const mica__lower_value *carried, size_t carried_count) {
  knowing k = {.l = l,
               .body = body,
               .nodes = calloc((size_t)body->count + 1, sizeof *k.nodes),
               .carried = calloc(carried_count + 2, sizeof *k.carried)};
  bool known = false;
  mica_status status = k.nodes && k.carried ? file_names(&k) : mica__fail_nomem("building a model's graph");
  if (status != MICA_OK && l->status == MICA_OK) l->status = status;
  if (status == MICA_OK) {
    k.carried[0] = k.carried[1] = true;
    for (size_t i = 0; i < carried_count; i++)
      k.carried[2 + i] = carried[i].value.graph && mica__lower_is_known(l->graph, carried[i].value.id);
    known = find_known(&k, index, carried_count);
  }
  mica__name_table_free(&k.makers);
  mica__name_table_free(&k.inputs);
  free(k.nodes);
  free(k.carried);
  return known;
}
