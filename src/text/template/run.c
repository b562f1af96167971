/* Runs statements of a template. */
#include "text/template/run.h"

#include <stdlib.h>
#include <string.h>

static mica_status run_body(mica__render *run, const mica__syntax *body);
static mica_status recurse(mica__render *run, const mica__loop *loop, const mica__object *iterated,
                           mica__object *result);

/* --- names --- */

/* Assigns to a name, to a member of a namespace, or item by item to a tuple of names. */
static mica_status assign(mica__render *run, const mica__syntax *target, const mica__object *value) {
  const mica__object *items = NULL;
  size_t count = 0, wanted = 0;
  if (target->kind == MICA__NODE_NAME) return mica__render_set(run, run->scope, target->name, value);
  if (target->kind == MICA__NODE_ATTRIBUTE) {
    mica__object of;
    MICA_TRY(mica__render_evaluate(run, target->a, &of));
    if (of.kind != MICA__OBJECT_NAMESPACE)
      return mica__fail(MICA_E_FORMAT, "only a namespace has attributes that can be set; '%.*s' is of type %s",
                        mica__text_shown(target->a->value.count), target->a->value.as.text, mica__object_type(&of));
    MICA_TRY(mica__check_member(&target->value));
    return mica__dict_set(&run->arena, of.as.dict, &target->value, value);
  }
  for (const mica__syntax *name = target->a; name; name = name->next) wanted++;
  MICA_TRY(mica__render_items(run, value, &items, &count));
  if (count != wanted)
    return mica__fail(MICA_E_FORMAT, "the number of names is %zu, but the number of values is %zu", wanted, count);
  for (const mica__syntax *name = target->a; name; name = name->next)
    MICA_TRY(mica__render_set(run, run->scope, name->name, items++));
  return MICA_OK;
}

/* --- output --- */

static mica_status print_value(mica__render *run, const mica__object *value) {
  mica__object text;
  MICA_TRY(mica__render_text(run, value, &text));
  return mica__render_print(run, text.as.text, text.count);
}

mica_status mica__render_capture(mica__render *run, const mica__syntax *body, mica__scope *scope, mica__object *text) {
  mica__text made = {0}, *out = run->out;
  mica__scope *outer = run->scope;
  const size_t captured = run->captured;
  run->captured += out->length;
  run->out = &made;
  run->scope = scope;
  mica_status status = run_body(run, body);
  run->out = out;
  run->scope = outer;
  run->captured = captured;
  if (status == MICA_OK) return mica__render_keep(run, &made, text);
  mica__text_free(&made);
  return status;
}

/* --- macros --- */

/* Sets a parameter to its argument, which can be given by position or by name. Without an argument, sets it to its
 * default or, if it has none, to an undefined value. Adds 1 to *named if the argument is given by name. */
static mica_status bind_parameter(mica__render *run, const mica__syntax *parameter, size_t index,
                                  const mica__arguments *call, size_t *named) {
  mica__object value;
  const mica__object *given = index < call->count ? &call->items[index] : NULL;
  for (size_t i = 0; i < call->named; i++) {
    if (call->names[i].count != parameter->value.count ||
        memcmp(call->names[i].as.text, parameter->value.as.text, parameter->value.count) != 0)
      continue;
    if (given)
      return mica__fail(MICA_E_FORMAT, "the argument '%.*s' of a macro is given twice",
                        mica__text_shown(parameter->value.count), parameter->value.as.text);
    given = &call->values[i];
    ++*named;
  }
  if (given) return mica__render_set(run, run->scope, parameter->name, given);
  if (parameter->a)
    MICA_TRY(mica__render_evaluate(run, parameter->a, &value));
  else
    MICA_TRY(mica__render_make_undefined(run, &value, "parameter '%.*s' was not provided",
                                         mica__text_shown(parameter->value.count), parameter->value.as.text));
  return mica__render_set(run, run->scope, parameter->name, &value);
}

static mica_status bind_parameters(mica__render *run, const mica__macro *macro, const mica__object *caller,
                                   const mica__arguments *call) {
  size_t index = 0, named = 0;
  if (caller) MICA_TRY(mica__render_set(run, run->scope, run->t->caller, caller));
  for (const mica__syntax *parameter = macro->node->a; parameter; parameter = parameter->next)
    MICA_TRY(bind_parameter(run, parameter, index++, call, &named));
  if (call->count > index)
    return mica__fail(MICA_E_FORMAT,
                      "a macro is called with too many arguments: %zu, but it has parameters for at most %zu",
                      call->count, index);
  if (call->named > named)
    return mica__fail(MICA_E_FORMAT, "a macro is called with an argument that has the name of no parameter");
  return MICA_OK;
}

static mica_status call_macro(mica__render *run, const mica__macro *macro, const mica__object *caller,
                              const mica__arguments *call, mica__object *result) {
  mica__scope *outer = run->scope, *scope = NULL;
  if (run->calls == MICA__MOST_TEMPLATE_DEPTH)
    return mica__fail(MICA_E_FORMAT, "calls of macros and recursive loops are nested deeper than %d levels",
                      MICA__MOST_TEMPLATE_DEPTH);
  MICA_TRY(mica__render_scope(run, macro->scope, &scope));
  run->calls++;
  run->scope = scope;
  mica_status status = bind_parameters(run, macro, caller, call);
  if (status == MICA_OK) status = mica__render_capture(run, macro->node->body, scope, result);
  run->scope = outer;
  run->calls--;
  return status;
}

static mica_status make_macro(mica__render *run, const mica__syntax *node, mica__object *value) {
  mica__macro *macro = NULL;
  MICA_TRY(mica__arena_take(&run->arena, 1, sizeof *macro, &macro));
  *macro = (mica__macro){node, run->scope, call_macro};
  *value = (mica__object){.kind = MICA__OBJECT_MACRO, .as.other = macro};
  return MICA_OK;
}

static mica_status run_call_block(mica__render *run, const mica__syntax *node) {
  mica__object caller, callee, result;
  mica__arguments call;
  MICA_TRY(make_macro(run, node, &caller));
  MICA_TRY(mica__render_evaluate(run, node->b->a, &callee));
  MICA_TRY(mica__render_arguments(run, node->b->b, &call));
  MICA_TRY(mica__render_call(run, &callee, &call, &caller, &result));
  return print_value(run, &result);
}

/* --- loops --- */

/* Keeps the items that satisfy the loop's filter. */
static mica_status filter_items(mica__render *run, const mica__syntax *node, const mica__object **items,
                                size_t *count) {
  mica__object *kept = NULL, holds;
  mica__scope *outer = run->scope, *scope = NULL;
  size_t n = 0;
  MICA_TRY(mica__arena_take(&run->arena, *count, sizeof *kept, &kept));
  mica_status status = MICA_OK;
  for (size_t i = 0; i < *count && status == MICA_OK; i++) {
    status = mica__render_scope(run, outer, &scope);
    if (status == MICA_OK) {
      run->scope = scope;
      status = assign(run, node->a, &(*items)[i]);
    }
    if (status == MICA_OK) status = mica__render_evaluate(run, node->c, &holds);
    if (status == MICA_OK && mica__object_is_true(&holds)) kept[n++] = (*items)[i];
  }
  run->scope = outer;
  *items = kept;
  *count = n;
  return status;
}

static mica_status run_rounds(mica__render *run, mica__loop *loop) {
  const mica__syntax *node = loop->node;
  const mica__object value = {.kind = MICA__OBJECT_LOOP, .as.other = loop};
  for (loop->index = 0; loop->index < loop->count; loop->index++) {
    mica__scope *scope = NULL;
    MICA_TRY(mica__render_step(run, 0));
    MICA_TRY(mica__render_scope(run, loop->scope, &scope));
    run->scope = scope;
    MICA_TRY(mica__render_set(run, scope, run->t->loop, &value));
    MICA_TRY(assign(run, node->a, &loop->items[loop->index]));
    MICA_TRY(run_body(run, node->body));
    const bool ends = run->jump == MICA__RENDER_BREAK;
    run->jump = MICA__RENDER_ON;
    if (ends) break;
  }
  return MICA_OK;
}

static mica_status run_loop(mica__render *run, const mica__syntax *node, mica__scope *around,
                            const mica__object *iterated, int depth) {
  mica__loop *loop = NULL;
  mica__scope *outer = run->scope, *scope = NULL;
  MICA_TRY(mica__arena_take(&run->arena, 1, sizeof *loop, &loop));
  *loop = (mica__loop){.node = node, .scope = around, .depth = depth, .recurse = recurse};
  MICA_TRY(mica__arena_take(&run->arena, 1, sizeof *loop->changed, &loop->changed));
  MICA_TRY(mica__render_items(run, iterated, &loop->items, &loop->count));
  run->scope = around;
  mica_status status = node->c ? filter_items(run, node, &loop->items, &loop->count) : MICA_OK;
  if (status == MICA_OK) status = run_rounds(run, loop);
  /* "else" runs if the loop had no items. */
  if (status == MICA_OK && loop->count == 0 && node->other) {
    status = mica__render_scope(run, around, &scope);
    run->scope = scope;
    if (status == MICA_OK) status = run_body(run, node->other);
  }
  run->scope = outer;
  return status;
}

static mica_status recurse(mica__render *run, const mica__loop *loop, const mica__object *iterated,
                           mica__object *result) {
  mica__text made = {0}, *out = run->out;
  const size_t captured = run->captured;
  if (run->calls == MICA__MOST_TEMPLATE_DEPTH)
    return mica__fail(MICA_E_FORMAT, "calls of macros and recursive loops are nested deeper than %d levels",
                      MICA__MOST_TEMPLATE_DEPTH);
  run->calls++;
  run->captured += out->length;
  run->out = &made;
  mica_status status = run_loop(run, loop->node, loop->scope, iterated, loop->depth + 1);
  run->out = out;
  run->captured = captured;
  run->calls--;
  if (status == MICA_OK) return mica__render_keep(run, &made, result);
  mica__text_free(&made);
  return status;
}

/* --- blocks --- */

/* Runs the first branch whose test is true. */
static mica_status run_if(mica__render *run, const mica__syntax *node) {
  for (;;) {
    mica__object test;
    MICA_TRY(mica__render_evaluate(run, node->a, &test));
    if (mica__object_is_true(&test)) return run_body(run, node->body);
    if (!node->chains) return run_body(run, node->other);
    node = node->other;
  }
}

static mica_status run_set_block(mica__render *run, const mica__syntax *node) {
  mica__object text;
  mica__scope *scope = NULL;
  MICA_TRY(mica__render_scope(run, run->scope, &scope));
  MICA_TRY(mica__render_capture(run, node->body, scope, &text));
  if (node->b) MICA_TRY(mica__render_filters(run, node->b, &text, &text));
  return assign(run, node->a, &text);
}

static mica_status run_filter_block(mica__render *run, const mica__syntax *node) {
  mica__object text;
  mica__scope *scope = NULL;
  MICA_TRY(mica__render_scope(run, run->scope, &scope));
  MICA_TRY(mica__render_capture(run, node->body, scope, &text));
  MICA_TRY(mica__render_filters(run, node->b, &text, &text));
  return print_value(run, &text);
}

static mica_status run_inside(mica__render *run, const mica__syntax *body, mica__scope *scope) {
  mica__scope *outer = run->scope;
  run->scope = scope;
  const mica_status status = run_body(run, body);
  run->scope = outer;
  return status;
}

static mica_status run_with(mica__render *run, const mica__syntax *node) {
  mica__scope *scope = NULL;
  mica__object value;
  MICA_TRY(mica__render_scope(run, run->scope, &scope));
  const mica__syntax *expression = node->b;
  for (const mica__syntax *name = node->a; name; name = name->next, expression = expression->next) {
    MICA_TRY(mica__render_evaluate(run, expression, &value));
    MICA_TRY(mica__render_set(run, scope, name->name, &value));
  }
  return run_inside(run, node->body, scope);
}

/* Runs a generation block. Records the span of its text if the text goes directly to the output of the run. */
static mica_status run_generation(mica__render *run, const mica__syntax *node) {
  mica__scope *scope = NULL;
  const size_t begin = run->out->length;
  MICA_TRY(mica__render_scope(run, run->scope, &scope));
  MICA_TRY(run_inside(run, node->body, scope));
  if (run->out != &run->text) return MICA_OK;
  if (run->span_count == run->span_room) {
    const size_t room = run->span_room ? 2 * run->span_room : 16;
    mica_text_span *grown = realloc(run->spans, room * sizeof *grown);
    if (!grown) return mica__fail_nomem("a chat template");
    run->spans = grown;
    run->span_room = room;
  }
  run->spans[run->span_count++] = (mica_text_span){begin, run->out->length};
  return MICA_OK;
}

static mica_status run_statement(mica__render *run, const mica__syntax *node) {
  mica__object value;
  switch (node->kind) {
  case MICA__NODE_DATA: return mica__render_print(run, node->value.as.text, node->value.count);
  case MICA__NODE_OUTPUT: MICA_TRY(mica__render_evaluate(run, node->a, &value)); return print_value(run, &value);
  case MICA__NODE_FOR:
    MICA_TRY(mica__render_evaluate(run, node->b, &value));
    return run_loop(run, node, run->scope, &value, 1);
  case MICA__NODE_IF: return run_if(run, node);
  case MICA__NODE_SET: MICA_TRY(mica__render_evaluate(run, node->b, &value)); return assign(run, node->a, &value);
  case MICA__NODE_SET_BLOCK: return run_set_block(run, node);
  case MICA__NODE_MACRO:
    MICA_TRY(make_macro(run, node, &value));
    return mica__render_set(run, run->scope, node->name, &value);
  case MICA__NODE_CALL_BLOCK: return run_call_block(run, node);
  case MICA__NODE_FILTER_BLOCK: return run_filter_block(run, node);
  case MICA__NODE_WITH: return run_with(run, node);
  case MICA__NODE_GENERATION: return run_generation(run, node);
  case MICA__NODE_BREAK: return run->jump = MICA__RENDER_BREAK, MICA_OK;
  case MICA__NODE_CONTINUE: return run->jump = MICA__RENDER_CONTINUE, MICA_OK;
  default: return mica__fail(MICA_E_FORMAT, "a statement is of an unknown kind (an error in Mica)");
  }
}

/* Runs the statements of a body to its end, or until a break or a continue. */
static mica_status run_body(mica__render *run, const mica__syntax *body) {
  mica_status status = MICA_OK;
  if (++run->depth > MICA__MOST_RUN_DEPTH)
    status = mica__fail(MICA_E_FORMAT, "the template is nested more than %d levels deep", MICA__MOST_RUN_DEPTH);
  for (const mica__syntax *node = body; node && status == MICA_OK && run->jump == MICA__RENDER_ON; node = node->next) {
    status = mica__render_step(run, 0);
    if (status == MICA_OK) status = run_statement(run, node);
    if (status == MICA_OK) continue;
    if (!run->located) mica__template_fail_at(run->t, node->at, status);
    run->located = true;
  }
  run->depth--;
  return status;
}

mica_status mica__render_template(mica__render *run) { return run_body(run, run->t->body); }
