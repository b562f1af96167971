/* Evaluates expressions of a template. */
#include "text/template/run.h"

#include <stdio.h>
#include <string.h>

static mica_status find_name(mica__render *run, const mica__syntax *node, mica__object *value) {
  size_t passed = 0;
  for (const mica__scope *scope = run->scope; scope; scope = scope->parent) {
    passed += scope->count + 1;
    for (size_t i = scope->count; i-- > 0;)
      if (scope->list[i].name == node->name) return *value = scope->list[i].value, mica__render_step(run, passed);
  }
  const char *name = node->value.as.text;
  const size_t bytes = node->value.count;
  const mica__native_row *function = mica__template_function(name, bytes);
  if (!function) return mica__render_make_undefined(run, value, "'%.*s' is undefined", mica__text_shown(bytes), name);
  *value = (mica__object){.kind = MICA__OBJECT_FUNCTION, .as.other = function};
  return MICA_OK;
}

/* Evaluates a list of nodes. */
static mica_status evaluate_list(mica__render *run, const mica__syntax *list, mica__object **items, size_t *count) {
  *count = 0;
  for (const mica__syntax *node = list; node; node = node->next) ++*count;
  MICA_TRY(mica__arena_take(&run->arena, *count, sizeof **items, items));
  size_t i = 0;
  for (const mica__syntax *node = list; node; node = node->next)
    MICA_TRY(mica__render_evaluate(run, node, &(*items)[i++]));
  return MICA_OK;
}

static mica_status evaluate_dict(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__dict *dict = NULL;
  MICA_TRY(mica__dict_create(&run->arena, &dict));
  for (const mica__syntax *key = node->a; key; key = key->next->next) {
    mica__object k, v;
    MICA_TRY(mica__render_evaluate(run, key, &k));
    MICA_TRY(mica__render_evaluate(run, key->next, &v));
    MICA_TRY(mica__dict_set(&run->arena, dict, &k, &v));
  }
  *value = (mica__object){.kind = MICA__OBJECT_DICT, .as.dict = dict};
  return MICA_OK;
}

/* Computes "and" or "or": the value is the first operand that decides the result, or the last one. */
static mica_status evaluate_logic(mica__render *run, const mica__syntax *node, mica__object *value) {
  for (const mica__syntax *operand = node->a; operand; operand = operand->next) {
    MICA_TRY(mica__render_evaluate(run, operand, value));
    if (mica__object_is_true(value) == (node->kind == MICA__NODE_ANY)) break;
  }
  return MICA_OK;
}

static mica_status compare(mica__render *run, mica__operator op, const mica__object *a, const mica__object *b,
                           bool *holds) {
  int order = 0;
  switch (op) {
  case MICA__OPERATOR_EQUAL: return *holds = mica__object_equal(&run->arena, a, b), MICA_OK;
  case MICA__OPERATOR_UNEQUAL: return *holds = !mica__object_equal(&run->arena, a, b), MICA_OK;
  case MICA__OPERATOR_IN: return mica__render_contains(run, b, a, holds);
  case MICA__OPERATOR_NOT_IN: MICA_TRY(mica__render_contains(run, b, a, holds)); return *holds = !*holds, MICA_OK;
  default: break;
  }
  MICA_TRY(mica__object_compare(&run->arena, a, b, &order));
  *holds = op == MICA__OPERATOR_BELOW     ? order < 0
           : op == MICA__OPERATOR_AT_MOST ? order <= 0
           : op == MICA__OPERATOR_ABOVE   ? order > 0
                                          : order >= 0;
  return MICA_OK;
}

static mica_status evaluate_comparison(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object left, right;
  bool holds = true;
  MICA_TRY(mica__render_evaluate(run, node->a, &left));
  for (const mica__syntax *part = node->b; part && holds; part = part->next) {
    MICA_TRY(mica__render_evaluate(run, part->a, &right));
    if (left.kind == MICA__OBJECT_TEXT && right.kind == MICA__OBJECT_TEXT)
      MICA_TRY(mica__render_step(run, left.count < right.count ? left.count : right.count));
    MICA_TRY(compare(run, part->op, &left, &right, &holds));
    left = right;
  }
  *value = mica__object_bool(holds);
  return MICA_OK;
}

static mica_status evaluate_arithmetic(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object right, result;
  MICA_TRY(mica__render_evaluate(run, node->a, value));
  for (const mica__syntax *part = node->b; part; part = part->next) {
    MICA_TRY(mica__render_evaluate(run, part->a, &right));
    MICA_TRY(mica__render_operate(run, part->op, value, &right, &result));
    *value = result;
  }
  return MICA_OK;
}

static mica_status evaluate_concatenation(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object *parts = NULL, text;
  size_t count;
  MICA_TRY(evaluate_list(run, node->a, &parts, &count));
  *value = mica__object_text("", 0);
  for (size_t i = 0; i < count; i++) {
    MICA_TRY(mica__render_text(run, &parts[i], &text));
    text.safe = false;
    MICA_TRY(mica__render_join(run, value, &text, value));
  }
  return MICA_OK;
}

static mica_status evaluate_sign(mica__render *run, const mica__syntax *node, mica__object *value) {
  const mica__object zero = mica__object_integer(0);
  mica__object operand;
  MICA_TRY(mica__render_evaluate(run, node->a, &operand));
  if (operand.kind == MICA__OBJECT_FLOAT) {
    *value = mica__object_float(node->kind == MICA__NODE_NEGATIVE ? -operand.as.number : operand.as.number);
    return MICA_OK;
  }
  return mica__render_operate(run, node->kind == MICA__NODE_NEGATIVE ? MICA__OPERATOR_SUBTRACT : MICA__OPERATOR_ADD,
                              &zero, &operand, value);
}

static mica_status evaluate_item(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object of, index, parts[3];
  const mica__object *given[3] = {NULL, NULL, NULL};
  MICA_TRY(mica__render_evaluate(run, node->a, &of));
  if (node->b->kind != MICA__NODE_SLICE) {
    MICA_TRY(mica__render_evaluate(run, node->b, &index));
    return mica__render_item(run, &of, &index, value);
  }
  const mica__syntax *const nodes[3] = {node->b->a, node->b->b, node->b->c};
  for (int i = 0; i < 3; i++) {
    if (!nodes[i]) continue;
    MICA_TRY(mica__render_evaluate(run, nodes[i], &parts[i]));
    given[i] = &parts[i];
  }
  return mica__render_slice(run, &of, given, value);
}

mica_status mica__render_arguments(mica__render *run, const mica__syntax *list, mica__arguments *call) {
  mica__object *items = NULL, *names = NULL, *values = NULL;
  *call = (mica__arguments){0};
  for (const mica__syntax *node = list; node; node = node->next)
    *(node->kind == MICA__NODE_KEYWORD ? &call->named : &call->count) += 1;
  MICA_TRY(mica__arena_take(&run->arena, call->count, sizeof *items, &items));
  MICA_TRY(mica__arena_take(&run->arena, call->named, sizeof *names, &names));
  MICA_TRY(mica__arena_take(&run->arena, call->named, sizeof *values, &values));
  size_t item = 0, name = 0;
  for (const mica__syntax *node = list; node; node = node->next) {
    if (node->kind != MICA__NODE_KEYWORD) {
      if (name > 0) return mica__fail(MICA_E_FORMAT, "an argument without a name cannot follow one with a name");
      MICA_TRY(mica__render_evaluate(run, node, &items[item++]));
    } else {
      names[name] = node->value;
      MICA_TRY(mica__render_evaluate(run, node->a, &values[name++]));
    }
  }
  call->items = items;
  call->names = names;
  call->values = values;
  return MICA_OK;
}

mica_status mica__render_call(mica__render *run, const mica__object *callee, const mica__arguments *call,
                              const mica__object *caller, mica__object *result) {
  switch (callee->kind) {
  case MICA__OBJECT_UNDEFINED: return mica__render_undefined(callee);
  case MICA__OBJECT_MACRO: {
    const mica__macro *macro = callee->as.other;
    return macro->call(run, macro, caller, call, result);
  }
  case MICA__OBJECT_FUNCTION: return mica__native_call(run, callee->as.other, NULL, call, result);
  case MICA__OBJECT_METHOD: {
    const mica__bound *bound = callee->as.other;
    return mica__native_call(run, bound->row, &bound->self, call, result);
  }
  case MICA__OBJECT_LOOP: {
    const mica__loop *loop = callee->as.other;
    if (!loop->node->recursive)
      return mica__fail(MICA_E_FORMAT, "loop() can be called only in a loop that is marked 'recursive'");
    if (call->count != 1 || call->named)
      return mica__fail(MICA_E_FORMAT, "loop() needs exactly one argument, without a name");
    return loop->recurse(run, loop, &call->items[0], result);
  }
  default: return mica__fail(MICA_E_FORMAT, "a value of type %s cannot be called", mica__object_type(callee));
  }
}

static mica_status evaluate_call(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object callee;
  mica__arguments call;
  MICA_TRY(mica__render_evaluate(run, node->a, &callee));
  if (callee.kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(&callee);
  MICA_TRY(mica__render_arguments(run, node->b, &call));
  return mica__render_call(run, &callee, &call, NULL, value);
}

static mica_status apply_native(mica__render *run, const mica__syntax *node, const mica__object *operand,
                                mica__object *value) {
  mica__arguments call;
  if (!node->native) return mica__template_unknown(node);
  MICA_TRY(mica__render_arguments(run, node->b, &call));
  return mica__native_call(run, node->native, operand, &call, value);
}

mica_status mica__render_filters(mica__render *run, const mica__syntax *filter, const mica__object *text,
                                 mica__object *value) {
  mica__object operand = *text;
  if (filter->a) MICA_TRY(mica__render_filters(run, filter->a, text, &operand));
  return apply_native(run, filter, &operand, value);
}

static mica_status evaluate_condition(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object test;
  MICA_TRY(mica__render_evaluate(run, node->a, &test));
  const mica__syntax *chosen = mica__object_is_true(&test) ? node->b : node->c;
  if (chosen) return mica__render_evaluate(run, chosen, value);
  return mica__render_make_undefined(run, value, "an inline if was false and has no else");
}

static mica_status evaluate(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object operand, *items = NULL;
  size_t count;
  switch (node->kind) {
  case MICA__NODE_LITERAL: return *value = node->value, MICA_OK;
  case MICA__NODE_NAME: return find_name(run, node, value);
  case MICA__NODE_LIST:
  case MICA__NODE_TUPLE:
    MICA_TRY(evaluate_list(run, node->a, &items, &count));
    *value = mica__object_list(items, count);
    if (node->kind == MICA__NODE_TUPLE) value->kind = MICA__OBJECT_TUPLE;
    return MICA_OK;
  case MICA__NODE_DICT: return evaluate_dict(run, node, value);
  case MICA__NODE_ALL:
  case MICA__NODE_ANY: return evaluate_logic(run, node, value);
  case MICA__NODE_NOT:
    MICA_TRY(mica__render_evaluate(run, node->a, &operand));
    return *value = mica__object_bool(!mica__object_is_true(&operand)), MICA_OK;
  case MICA__NODE_COMPARE: return evaluate_comparison(run, node, value);
  case MICA__NODE_ARITHMETIC: return evaluate_arithmetic(run, node, value);
  case MICA__NODE_CONCAT: return evaluate_concatenation(run, node, value);
  case MICA__NODE_NEGATIVE:
  case MICA__NODE_POSITIVE: return evaluate_sign(run, node, value);
  case MICA__NODE_ATTRIBUTE:
    MICA_TRY(mica__render_evaluate(run, node->a, &operand));
    return mica__render_attribute(run, &operand, node->value.as.text, node->value.count, value);
  case MICA__NODE_ITEM: return evaluate_item(run, node, value);
  case MICA__NODE_CALL: return evaluate_call(run, node, value);
  case MICA__NODE_FILTER:
  case MICA__NODE_TEST:
    MICA_TRY(mica__render_evaluate(run, node->a, &operand));
    return apply_native(run, node, &operand, value);
  case MICA__NODE_CONDITION: return evaluate_condition(run, node, value);
  default: return mica__fail(MICA_E_FORMAT, "an expression is missing");
  }
}

mica_status mica__render_evaluate(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__object made = {0};
  run->depth++;
  mica_status status = mica__render_step(run, 0);
  if (status == MICA_OK && run->depth > MICA__MOST_RUN_DEPTH)
    status = mica__fail(MICA_E_FORMAT, "the template is nested more than %d levels deep", MICA__MOST_RUN_DEPTH);
  if (status == MICA_OK) status = evaluate(run, node, &made);
  run->depth--;
  if (status == MICA_OK) return *value = made, MICA_OK;
  if (!run->located) mica__template_fail_at(run->t, node->at, status);
  run->located = true;
  return status;
}
