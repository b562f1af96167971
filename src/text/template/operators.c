/* Binary operators by precedence, "not", conditional expressions and tuples. Operands of one level form a list, so a
 * long sum is not a deep tree. */
#include "text/template/parse.h"

static mica_status parse_level(mica__parser *p, int level, mica__syntax **node);

/* Parses "a op b op c" with one operator: "and", "or", "~". */
static mica_status parse_joined(mica__parser *p, const char *op, mica__node_kind kind, int level, mica__syntax **node) {
  mica__syntax *made = NULL;
  MICA_TRY(parse_level(p, level + 1, node));
  if (!mica__parser_is(p, op)) return MICA_OK;
  MICA_TRY(mica__parser_node(p, kind, &made));
  made->a = *node;
  mica__syntax **tail = &made->a->next;
  while (mica__parser_take(p, op)) {
    MICA_TRY(parse_level(p, level + 1, tail));
    tail = &(*tail)->next;
  }
  *node = made;
  return MICA_OK;
}

static bool take_operator(mica__parser *p, mica__operator from, mica__operator to, mica__operator *op) {
#define MICA__OPERATOR_TEXT(name, text) text,
  static const char *const texts[] = {MICA__OPERATOR_LIST(MICA__OPERATOR_TEXT)};
#undef MICA__OPERATOR_TEXT
  for (*op = from; *op <= to; *op = (mica__operator)(*op + 1)) {
    if (*op == MICA__OPERATOR_NOT_IN) {
      const size_t before = p->at;
      if (mica__parser_take(p, "not") && mica__parser_take(p, "in")) return true;
      p->at = before;
    } else if (mica__parser_take(p, texts[*op])) {
      return true;
    }
  }
  return false;
}

/* Parses "a op b op c" with the operators `from` to `to`. */
static mica_status parse_parts(mica__parser *p, mica__operator from, mica__operator to, mica__node_kind kind, int level,
                               mica__syntax **node) {
  mica__syntax *made = NULL, **tail = NULL;
  mica__operator op;
  MICA_TRY(parse_level(p, level + 1, node));
  for (;;) {
    mica__syntax *part = NULL;
    const uint32_t at = p->tokens[p->at].begin;
    if (!take_operator(p, from, to, &op)) return MICA_OK;
    MICA_TRY(mica__parser_node(p, MICA__NODE_PART, &part));
    part->at = at;
    part->op = op;
    MICA_TRY(parse_level(p, level + 1, &part->a));
    if (!made) {
      MICA_TRY(mica__parser_node(p, kind, &made));
      made->at = part->at;
      made->a = *node;
      tail = &made->b;
      *node = made;
    }
    *tail = part;
    tail = &part->next;
  }
}

static mica_status parse_not(mica__parser *p, int level, mica__syntax **node) {
  mica__syntax *made = NULL;
  if (!mica__parser_is(p, "not")) return parse_level(p, level + 1, node);
  MICA_TRY(mica__parser_deeper(p));
  MICA_TRY(mica__parser_node(p, MICA__NODE_NOT, &made));
  p->at++;
  MICA_TRY(parse_not(p, level, &made->a));
  p->depth--;
  *node = made;
  return MICA_OK;
}

static mica_status parse_level(mica__parser *p, int level, mica__syntax **node) {
  switch (level) {
  case 0: return parse_joined(p, "or", MICA__NODE_ANY, level, node);
  case 1: return parse_joined(p, "and", MICA__NODE_ALL, level, node);
  case 2: return parse_not(p, level, node);
  case 3: return parse_parts(p, MICA__OPERATOR_EQUAL, MICA__OPERATOR_NOT_IN, MICA__NODE_COMPARE, level, node);
  case 4: return parse_parts(p, MICA__OPERATOR_ADD, MICA__OPERATOR_SUBTRACT, MICA__NODE_ARITHMETIC, level, node);
  case 5: return parse_joined(p, "~", MICA__NODE_CONCAT, level, node);
  case 6: return parse_parts(p, MICA__OPERATOR_MULTIPLY, MICA__OPERATOR_REMAINDER, MICA__NODE_ARITHMETIC, level, node);
  case 7: return parse_parts(p, MICA__OPERATOR_POWER, MICA__OPERATOR_POWER, MICA__NODE_ARITHMETIC, level, node);
  default: return mica__parse_unary(p, true, node);
  }
}

mica_status mica__parse_expression(mica__parser *p, bool conditions, mica__syntax **node) {
  const int depth = p->depth;
  const mica__syntax *unknown = p->unknown;
  MICA_TRY(mica__parser_deeper(p));
  p->inside++;
  MICA_TRY(parse_level(p, 0, node));
  while (conditions && mica__parser_is(p, "if")) {
    mica__syntax *made = NULL;
    MICA_TRY(mica__parser_node(p, MICA__NODE_CONDITION, &made));
    p->at++;
    made->b = *node;
    *node = made;
    MICA_TRY(parse_level(p, 0, &made->a));
    if (mica__parser_take(p, "else")) MICA_TRY(mica__parse_expression(p, true, &made->c));
    MICA_TRY(mica__parser_deeper(p));
    /* An unknown filter or test in a branch only fails when it is evaluated. */
    p->unknown = unknown;
  }
  p->depth = depth;
  p->inside--;
  return p->inside == 0 ? mica__parser_check_known(p) : MICA_OK;
}

static bool ends_tuple(const mica__parser *p) {
  const mica__token_kind kind = p->tokens[p->at].kind;
  return kind == MICA__TOKEN_VARIABLE_END || kind == MICA__TOKEN_BLOCK_END || mica__parser_is(p, ")") ||
         mica__parser_is(p, "recursive");
}

mica_status mica__parse_tuple(mica__parser *p, bool conditions, mica__syntax **node) {
  mica__syntax *made = NULL;
  MICA_TRY(mica__parse_expression(p, conditions, node));
  if (!mica__parser_is(p, ",")) return MICA_OK;
  MICA_TRY(mica__parser_node(p, MICA__NODE_TUPLE, &made));
  made->a = *node;
  for (mica__syntax **tail = &made->a->next; mica__parser_take(p, ",") && !ends_tuple(p); tail = &(*tail)->next)
    MICA_TRY(mica__parse_expression(p, conditions, tail));
  *node = made;
  return MICA_OK;
}
