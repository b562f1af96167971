/* Parses statements of a template. */
#include "text/template/parse.h"

#include <stdlib.h>
#include <string.h>

static mica_status parse_body(mica__parser *p, mica__syntax **body);

/* True if this token is "{%" and the next one is the word. */
static bool begins_block(const mica__parser *p, const char *word) {
  mica__parser behind = *p;
  if (p->tokens[p->at].kind != MICA__TOKEN_BLOCK_BEGIN) return false;
  behind.at++;
  return mica__parser_is(&behind, word);
}

static mica_status expect_block_end(mica__parser *p) {
  if (p->tokens[p->at].kind != MICA__TOKEN_BLOCK_END) return mica__fail(MICA_E_FORMAT, "'%%}' is missing");
  p->at++;
  return MICA_OK;
}

/* Parses the body of a block up to "{% word %}". */
static mica_status parse_until(mica__parser *p, const char *word, mica__syntax **body) {
  MICA_TRY(expect_block_end(p));
  MICA_TRY(parse_body(p, body));
  if (!begins_block(p, word)) {
    const mica__lexeme *token = &p->tokens[p->at];
    if (token->kind == MICA__TOKEN_END)
      return mica__fail(MICA_E_FORMAT, "expected {%% %s %%}, but the template ends", word);
    p->at++;
    return mica__fail(MICA_E_FORMAT, "expected '%s', but found '%.*s'", word,
                      mica__text_shown(p->tokens[p->at].end - p->tokens[p->at].begin),
                      p->t->source + p->tokens[p->at].begin);
  }
  p->at += 2;
  return MICA_OK;
}

/* Parses a name that is assigned to. */
static mica_status parse_name(mica__parser *p, mica__node_kind kind, mica__syntax **node) {
  const mica__lexeme *token = &p->tokens[p->at];
  if (token->kind != MICA__TOKEN_NAME) return mica__fail(MICA_E_FORMAT, "a name is missing");
  if (mica__parser_is(p, "true") || mica__parser_is(p, "false") || mica__parser_is(p, "none") ||
      mica__parser_is(p, "True") || mica__parser_is(p, "False") || mica__parser_is(p, "None"))
    return mica__fail(MICA_E_FORMAT, "a constant cannot be assigned to");
  MICA_TRY(mica__parser_node(p, kind, node));
  (*node)->value = mica__object_text(p->t->source + token->begin, token->end - token->begin);
  MICA_TRY(mica__template_name(p->t, (*node)->value.as.text, (*node)->value.count, &(*node)->name));
  p->at++;
  return MICA_OK;
}

/* Parses a name, "namespace.name" if `member`, or a tuple of names. */
static mica_status parse_target(mica__parser *p, bool member, mica__syntax **node) {
  mica__syntax *made = NULL;
  const bool brackets = mica__parser_take(p, "(");
  MICA_TRY(parse_name(p, MICA__NODE_NAME, node));
  if (member && mica__parser_take(p, ".")) {
    const mica__lexeme *token = &p->tokens[p->at];
    if (token->kind != MICA__TOKEN_NAME) return mica__fail(MICA_E_FORMAT, "a name after '.' is missing");
    MICA_TRY(mica__parser_node(p, MICA__NODE_ATTRIBUTE, &made));
    made->a = *node;
    made->value = mica__object_text(p->t->source + token->begin, token->end - token->begin);
    *node = made;
    p->at++;
    return MICA_OK;
  }
  if (mica__parser_is(p, ",")) {
    MICA_TRY(mica__parser_node(p, MICA__NODE_TUPLE, &made));
    made->a = *node;
    for (mica__syntax **tail = &made->a->next; mica__parser_take(p, ","); tail = &(*tail)->next) {
      if (p->tokens[p->at].kind != MICA__TOKEN_NAME || mica__parser_is(p, "in")) break;
      MICA_TRY(parse_name(p, MICA__NODE_NAME, tail));
    }
    *node = made;
  }
  return brackets ? mica__parser_expect(p, ")") : MICA_OK;
}

/* --- blocks --- */

static mica_status parse_for(mica__parser *p, mica__syntax *node) {
  MICA_TRY(parse_target(p, false, &node->a));
  MICA_TRY(mica__parser_expect(p, "in"));
  MICA_TRY(mica__parse_tuple(p, false, &node->b));
  if (mica__parser_take(p, "if")) MICA_TRY(mica__parse_expression(p, true, &node->c));
  node->recursive = mica__parser_take(p, "recursive");
  p->loops++;
  MICA_TRY(expect_block_end(p));
  MICA_TRY(parse_body(p, &node->body));
  p->loops--;
  if (begins_block(p, "else")) {
    p->at += 2;
    return parse_until(p, "endfor", &node->other);
  }
  if (!begins_block(p, "endfor")) return mica__fail(MICA_E_FORMAT, "{%% endfor %%} is missing");
  p->at += 2;
  return MICA_OK;
}

static mica_status parse_if(mica__parser *p, mica__syntax *node) {
  const int branches = p->branches++;
  for (;;) {
    MICA_TRY(mica__parse_expression(p, false, &node->a));
    MICA_TRY(expect_block_end(p));
    MICA_TRY(parse_body(p, &node->body));
    if (!begins_block(p, "elif")) break;
    MICA_TRY(mica__parser_node(p, MICA__NODE_IF, &node->other));
    node->chains = true;
    node = node->other;
    p->at += 2;
  }
  p->branches = branches + 1;
  if (begins_block(p, "else")) {
    p->at += 2;
    MICA_TRY(parse_until(p, "endif", &node->other));
  } else if (begins_block(p, "endif")) {
    p->at += 2;
  } else {
    return mica__fail(MICA_E_FORMAT, "{%% endif %%} is missing");
  }
  p->branches = branches;
  return MICA_OK;
}

static mica_status parse_set(mica__parser *p, mica__syntax *node) {
  MICA_TRY(parse_target(p, true, &node->a));
  if (mica__parser_take(p, "=")) return mica__parse_tuple(p, true, &node->b);
  node->kind = MICA__NODE_SET_BLOCK;
  MICA_TRY(mica__parse_filters(p, NULL, false, &node->b));
  return parse_until(p, "endset", &node->body);
}

static mica_status parse_parameters(mica__parser *p, mica__syntax **list) {
  MICA_TRY(mica__parser_expect(p, "("));
  for (mica__syntax **tail = list; !mica__parser_take(p, ")"); tail = &(*tail)->next) {
    if (*list) MICA_TRY(mica__parser_expect(p, ","));
    MICA_TRY(parse_name(p, MICA__NODE_PARAMETER, tail));
    if (mica__parser_take(p, "=")) MICA_TRY(mica__parse_expression(p, true, &(*tail)->a));
  }
  return MICA_OK;
}

/* Parses the body of a macro or a call. A break or continue in it cannot belong to a loop around it. */
static mica_status parse_function(mica__parser *p, const char *word, mica__syntax **body) {
  const int loops = p->loops;
  p->loops = 0;
  MICA_TRY(parse_until(p, word, body));
  p->loops = loops;
  return MICA_OK;
}

static mica_status parse_macro(mica__parser *p, mica__syntax *node) {
  mica__syntax *name = NULL;
  MICA_TRY(parse_name(p, MICA__NODE_NAME, &name));
  node->name = name->name;
  MICA_TRY(parse_parameters(p, &node->a));
  return parse_function(p, "endmacro", &node->body);
}

static mica_status parse_call_block(mica__parser *p, mica__syntax *node) {
  if (mica__parser_is(p, "(")) MICA_TRY(parse_parameters(p, &node->a));
  MICA_TRY(mica__parse_expression(p, true, &node->b));
  if (node->b->kind != MICA__NODE_CALL)
    return mica__fail(MICA_E_FORMAT, "{%% call %%} needs a call, as in {%% call name() %%}");
  return parse_function(p, "endcall", &node->body);
}

static mica_status parse_filter_block(mica__parser *p, mica__syntax *node) {
  MICA_TRY(mica__parse_filters(p, NULL, true, &node->b));
  return parse_until(p, "endfilter", &node->body);
}

static mica_status parse_with(mica__parser *p, mica__syntax *node) {
  mica__syntax **targets = &node->a, **values = &node->b;
  while (p->tokens[p->at].kind != MICA__TOKEN_BLOCK_END) {
    if (node->a) MICA_TRY(mica__parser_expect(p, ","));
    MICA_TRY(parse_name(p, MICA__NODE_NAME, targets));
    MICA_TRY(mica__parser_expect(p, "="));
    MICA_TRY(mica__parse_expression(p, true, values));
    targets = &(*targets)->next;
    values = &(*values)->next;
  }
  return parse_until(p, "endwith", &node->body);
}

static mica_status parse_generation(mica__parser *p, mica__syntax *node) {
  p->t->has_spans = true;
  return parse_function(p, "endgeneration", &node->body);
}

static mica_status parse_jump(mica__parser *p, mica__syntax *node) {
  (void)node;
  return p->loops > 0 ? MICA_OK : mica__fail(MICA_E_FORMAT, "break and continue need a loop");
}

/* --- statements --- */

/* word, node, function. A block's parser stops before its last "%}". */
#define STATEMENTS(X)                                                                                                  \
  X("for", FOR, parse_for)                                                                                             \
  X("if", IF, parse_if)                                                                                                \
  X("set", SET, parse_set)                                                                                             \
  X("macro", MACRO, parse_macro)                                                                                       \
  X("call", CALL_BLOCK, parse_call_block)                                                                              \
  X("filter", FILTER_BLOCK, parse_filter_block)                                                                        \
  X("with", WITH, parse_with)                                                                                          \
  X("generation", GENERATION, parse_generation)                                                                        \
  X("break", BREAK, parse_jump)                                                                                        \
  X("continue", CONTINUE, parse_jump)

static mica_status parse_statement(mica__parser *p, mica__syntax **node) {
  static const struct {
    const char *word;
    mica__node_kind kind;
    mica_status (*parse)(mica__parser *, mica__syntax *);
  } statements[] = {
#define ROW(word, kind, parse) {word, MICA__NODE_##kind, parse},
      STATEMENTS(ROW)
#undef ROW
  };
  const mica__lexeme *token = &p->tokens[p->at];
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
    if (!mica__parser_is(p, statements[i].word)) continue;
    MICA_TRY(mica__parser_node(p, statements[i].kind, node));
    p->at++;
    MICA_TRY(mica__parser_deeper(p));
    MICA_TRY(statements[i].parse(p, *node));
    p->depth--;
    return expect_block_end(p);
  }
  if (token->kind != MICA__TOKEN_NAME) return mica__fail(MICA_E_FORMAT, "a tag has no name");
  const int bytes = (int)(token->end - token->begin < 40 ? token->end - token->begin : 40);
  const char *word = p->t->source + token->begin;
  if (!strncmp(word, "end", 3) || !strncmp(word, "el", 2))
    return mica__fail(MICA_E_FORMAT, "{%% %.*s %%} has no tag to close, or is not a tag", bytes, word);
  return mica__fail(MICA_E_UNSUPPORTED, "Mica has no tag '%.*s'", bytes, word);
}

/* True if a tag that ends or continues a block comes next. */
static bool ends_body(const mica__parser *p) {
  static const char *const words[] = {"endfor",   "endif",   "else",          "elif",      "endset",
                                      "endmacro", "endcall", "endgeneration", "endfilter", "endwith"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (begins_block(p, words[i])) return true;
  return false;
}

static mica_status parse_body(mica__parser *p, mica__syntax **tail) {
  while (p->tokens[p->at].kind != MICA__TOKEN_END && !ends_body(p)) {
    const mica__lexeme *token = &p->tokens[p->at];
    if (token->kind == MICA__TOKEN_DATA) {
      MICA_TRY(mica__parser_node(p, MICA__NODE_DATA, tail));
      (*tail)->value = mica__object_text(p->t->source + token->begin, token->end - token->begin);
      p->at++;
    } else if (token->kind == MICA__TOKEN_VARIABLE_BEGIN) {
      MICA_TRY(mica__parser_node(p, MICA__NODE_OUTPUT, tail));
      p->at++;
      MICA_TRY(mica__parse_tuple(p, true, &(*tail)->a));
      if (p->tokens[p->at].kind != MICA__TOKEN_VARIABLE_END) return mica__fail(MICA_E_FORMAT, "'}}' is missing");
      p->at++;
    } else {
      p->at++;
      MICA_TRY(parse_statement(p, tail));
    }
    tail = &(*tail)->next;
  }
  return MICA_OK;
}

mica_status mica__template_parse(mica_chat_template *t) {
  mica__lexeme *tokens = NULL;
  size_t count = 0;
  mica_status status = mica__template_lex(t->source, t->bytes, &tokens, &count);
  if (status != MICA_OK) {
    status = count ? mica__template_fail_at(t, tokens[count - 1].begin, status) : status;
    free(tokens);
    return status;
  }
  mica__parser p = {.t = t, .tokens = tokens, .expression = mica__parse_expression, .tuple = mica__parse_tuple};
  status = parse_body(&p, &t->body);
  if (status == MICA_OK && tokens[p.at].kind != MICA__TOKEN_END) {
    p.at++;
    status = mica__fail(MICA_E_FORMAT, "'%.*s' has no tag to close",
                        mica__text_shown(tokens[p.at].end - tokens[p.at].begin), t->source + tokens[p.at].begin);
  }
  if (status != MICA_OK) status = mica__template_fail_at(t, tokens[p.at].begin, status);
  free(tokens);
  return status;
}
