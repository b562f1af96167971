/* Operators that the caller defines. */
#include "onnx/lowering.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct mica_onnx_call {
  mica__lowering *l;
  const mica__onnx_node *node;
};

const mica__onnx_defined *mica__onnx_defined_find(const mica_onnx *model, const char *domain, const char *op) {
  for (size_t i = 0; i < model->defined_count; i++)
    if (!strcmp(model->defined[i].op, op) && !strcmp(model->defined[i].domain, domain)) return &model->defined[i];
  return NULL;
}

mica_status mica_onnx_define(mica_onnx *model, const char *domain, const char *op, mica_onnx_define_fn *define,
                             void *user) {
  if (!model || !domain || !op || !define)
    return mica__fail(MICA_E_INVALID, "mica_onnx_define: model, domain, op or define is NULL");
  bool used = false;
  for (size_t i = 0; i < model->operator_count; i++) {
    mica_onnx_operator *at = &model->operators[i];
    used = used || (!strcmp(at->name, op) && !strcmp(at->domain, domain));
  }
  if (!used)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no node with the operator %s%s%s", model->name, domain,
                      *domain ? "." : "", op);
  mica__onnx_defined *list = realloc(model->defined, (model->defined_count + 1) * sizeof *list);
  if (!list) return mica__fail_nomem("an operator");
  model->defined = list;
  mica__onnx_defined *own = &list[model->defined_count];
  *own = (mica__onnx_defined){mica__strdup(domain), mica__strdup(op), define, user};
  if (!own->domain || !own->op) {
    free(own->domain);
    free(own->op);
    return mica__fail_nomem("an operator");
  }
  model->defined_count++;
  for (size_t i = 0; i < model->operator_count; i++) {
    mica_onnx_operator *at = &model->operators[i];
    if (!strcmp(at->name, op) && !strcmp(at->domain, domain)) at->supported = true;
  }
  return MICA_OK;
}

mica_status mica__lower_defined(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_defined *defined) {
  mica_onnx_call call = {l, node};
  return defined->define(defined->user, &call);
}

mica_graph *mica_onnx_call_graph(mica_onnx_call *call) { return call->l->graph; }

size_t mica_onnx_call_operand_count(const mica_onnx_call *call) { return (size_t)call->node->input_count; }

mica_value mica_onnx_call_operand(mica_onnx_call *call, size_t index) {
  if (index >= (size_t)call->node->input_count || !mica__lower_has(call->l, call->node, (int32_t)index))
    return (mica_value){0};
  return mica__lower_operand(call->l, call->node, (int32_t)index);
}

bool mica_onnx_call_integers(mica_onnx_call *call, size_t index, const int64_t **values, size_t *count) {
  mica__integers list = {0};
  bool known =
      index >= (size_t)call->node->input_count || mica__lower_integers(call->l, call->node, (int32_t)index, &list);
  *values = list.values;
  *count = (size_t)list.count;
  return known;
}

int64_t mica_onnx_call_integer(const mica_onnx_call *call, const char *name, int64_t standard) {
  return mica__onnx_int(call->node, name, standard);
}

double mica_onnx_call_real(const mica_onnx_call *call, const char *name, double standard) {
  return mica__onnx_real(call->node, name, standard);
}

size_t mica_onnx_call_list(const mica_onnx_call *call, const char *name, const int64_t **values) {
  mica__integers list;
  mica__onnx_ints(call->node, name, &list);
  *values = list.values;
  return (size_t)list.count;
}

bool mica_onnx_call_is(const mica_onnx_call *call, const char *name, const char *text) {
  return mica__onnx_is(call->node, name, text);
}

void mica_onnx_call_result(mica_onnx_call *call, size_t index, mica_value value) {
  if (index < (size_t)call->node->output_count) mica__lower_result(call->l, call->node, (int32_t)index, value);
}

mica_status mica_onnx_call_fail(mica_onnx_call *call, mica_status status, const char *sentence) {
  return mica__lower_fail(call->l, call->node, status, "%s", sentence);
}
