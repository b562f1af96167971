/* text/template/parse.h: a template's source, its tokens, and its syntax tree. */
#ifndef MICA_TEXT_TEMPLATE_PARSE_H
#define MICA_TEXT_TEMPLATE_PARSE_H

#include "base/name_table.h"
#include "text/template/value.h"

#include <mica/chat_template.h>

/* --- tokens --- */

typedef enum mica__token_kind {
  MICA__TOKEN_DATA, /* text between tags */
  MICA__TOKEN_BLOCK_BEGIN,
  MICA__TOKEN_BLOCK_END,
  MICA__TOKEN_VARIABLE_BEGIN,
  MICA__TOKEN_VARIABLE_END,
  MICA__TOKEN_NAME,
  MICA__TOKEN_STRING, /* with its quotes */
  MICA__TOKEN_INTEGER,
  MICA__TOKEN_FLOAT,
  MICA__TOKEN_OPERATOR,
  MICA__TOKEN_END
} mica__token_kind;

typedef struct mica__lexeme {
  mica__token_kind kind;
  uint32_t begin, end; /* byte range of the source */
} mica__lexeme;

/* Splits a source whose newlines are "\n" into tokens, with trim_blocks and lstrip_blocks. The last token is END. The
 * caller frees *tokens. */
mica_status mica__template_lex(const char *source, size_t bytes, mica__lexeme **tokens, size_t *count);

/* --- the tree --- */

typedef enum mica__node_kind {
  /* Expressions. The comment beside a kind lists the members of mica__syntax that it uses, such as `a`. */
  MICA__NODE_LITERAL,    /* value */
  MICA__NODE_NAME,       /* name, value: its text */
  MICA__NODE_LIST,       /* a: items */
  MICA__NODE_TUPLE,      /* a: items */
  MICA__NODE_DICT,       /* a: keys and values alternate */
  MICA__NODE_ALL,        /* a: operands of "and" */
  MICA__NODE_ANY,        /* a: operands of "or" */
  MICA__NODE_NOT,        /* a */
  MICA__NODE_COMPARE,    /* a: the first operand; b: PARTs */
  MICA__NODE_ARITHMETIC, /* a: the first operand; b: PARTs */
  MICA__NODE_PART,       /* op, a: the operand after it */
  MICA__NODE_CONCAT,     /* a: operands of "~" */
  MICA__NODE_NEGATIVE,   /* a */
  MICA__NODE_POSITIVE,   /* a */
  MICA__NODE_ATTRIBUTE,  /* a, value: the name */
  MICA__NODE_ITEM,       /* a[b] */
  MICA__NODE_SLICE,      /* of an ITEM: a:b:c, each may be NULL */
  MICA__NODE_CALL,       /* a(b) */
  MICA__NODE_KEYWORD,    /* a named argument; value: its name, a: its value */
  MICA__NODE_FILTER,     /* a (NULL: a block's text), native, b: arguments */
  MICA__NODE_TEST,       /* a, native, b: arguments */
  MICA__NODE_CONDITION,  /* b if a else c; c may be NULL */
  /* statements */
  MICA__NODE_DATA,         /* value */
  MICA__NODE_OUTPUT,       /* a */
  MICA__NODE_FOR,          /* a: target, b: iterated value, c: filter, body, other: else; recursive */
  MICA__NODE_IF,           /* a, body, other: else, or an elif if `chains` */
  MICA__NODE_SET,          /* a: target, b */
  MICA__NODE_SET_BLOCK,    /* a: target, b: filters, body */
  MICA__NODE_MACRO,        /* name, a: parameters, body */
  MICA__NODE_PARAMETER,    /* name, value: its text, a: the default */
  MICA__NODE_CALL_BLOCK,   /* a: parameters, b: the call, body */
  MICA__NODE_FILTER_BLOCK, /* b: filters, body */
  MICA__NODE_WITH,         /* a: targets, b: values, body */
  MICA__NODE_BREAK,
  MICA__NODE_CONTINUE,
  MICA__NODE_GENERATION /* body */
} mica__node_kind;

/* X(name, text): the operators */
#define MICA__OPERATOR_LIST(X)                                                                                         \
  X(EQUAL, "==")                                                                                                       \
  X(UNEQUAL, "!=")                                                                                                     \
  X(BELOW, "<")                                                                                                        \
  X(AT_MOST, "<=")                                                                                                     \
  X(ABOVE, ">")                                                                                                        \
  X(AT_LEAST, ">=")                                                                                                    \
  X(IN, "in")                                                                                                          \
  X(NOT_IN, "not in")                                                                                                  \
  X(ADD, "+")                                                                                                          \
  X(SUBTRACT, "-")                                                                                                     \
  X(MULTIPLY, "*")                                                                                                     \
  X(DIVIDE, "/")                                                                                                       \
  X(FLOOR_DIVIDE, "//")                                                                                                \
  X(REMAINDER, "%")                                                                                                    \
  X(POWER, "**")

typedef enum mica__operator {
#define MICA__OPERATOR_ENUM(name, text) MICA__OPERATOR_##name,
  MICA__OPERATOR_LIST(MICA__OPERATOR_ENUM)
#undef MICA__OPERATOR_ENUM
} mica__operator;

typedef struct mica__syntax mica__syntax;
struct mica__syntax {
  mica__node_kind kind;
  mica__operator op;
  uint32_t at;                           /* byte of the source */
  int32_t name;                          /* of a NAME, a MACRO, a PARAMETER: an index of names */
  bool recursive, chains;                /* of a FOR; of an IF: other is an elif */
  const struct mica__native_row *native; /* the row of a FILTER or a TEST; NULL: Mica lacks it */
  mica__object value;
  mica__syntax *a, *b, *c, *body, *other;
  mica__syntax *next; /* in a list */
};

struct mica_chat_template {
  char *name;  /* for error messages */
  char *given; /* the source as it was given */
  size_t given_bytes;
  char *source; /* with newlines as "\n", without the final one */
  size_t bytes;
  mica__arena arena; /* nodes, literals, names */
  mica__name_table names;
  int32_t name_count, loop, caller; /* loop, caller: names that the runner sets */
  mica__syntax *body;
  bool has_spans;
};

/* Sets *name to the index of a name. Adds the name if it is new. */
mica_status mica__template_name(mica_chat_template *t, const char *text, size_t bytes, int32_t *name);
/* Parses the source into t->body. */
mica_status mica__template_parse(mica_chat_template *t);
/* Puts "name:line:column: " before the message of a failure; returns status. */
mica_status mica__template_fail_at(const mica_chat_template *t, uint32_t at, mica_status status);

/* --- what the two files of the parser share --- */

typedef struct mica__parser {
  mica_chat_template *t;
  const mica__lexeme *tokens;
  size_t at;
  int depth;                   /* nesting of expressions and blocks */
  int inside;                  /* open expressions */
  int branches;                /* open IFs; inside, an unknown filter or test fails only when evaluated */
  int loops;                   /* open FORs of this macro */
  const mica__syntax *unknown; /* the first unknown filter or test found */
  /* These are mica__parse_expression and mica__parse_tuple. operators.c defines them and calls parse.c, so parse.c
   * calls them only through these pointers. */
  mica_status (*expression)(struct mica__parser *p, bool conditions, mica__syntax **node);
  mica_status (*tuple)(struct mica__parser *p, bool conditions, mica__syntax **node);
} mica__parser;

/* Fails because of an unknown filter or test. */
mica_status mica__template_unknown(const mica__syntax *node);
/* Fails if an unknown filter or test is certain to be evaluated. */
mica_status mica__parser_check_known(mica__parser *p);

mica_status mica__parser_node(mica__parser *p, mica__node_kind kind, mica__syntax **node);
mica_status mica__parser_deeper(mica__parser *p);
bool mica__parser_is(const mica__parser *p, const char *text); /* true if the next token is this operator or name */
bool mica__parser_take(mica__parser *p, const char *text);     /* if so, also moves past the token */
mica_status mica__parser_expect(mica__parser *p, const char *text);
mica_status mica__parse_expression(mica__parser *p, bool conditions, mica__syntax **node);
/* Parses an expression, or several with commas between them, which form a tuple. */
mica_status mica__parse_tuple(mica__parser *p, bool conditions, mica__syntax **node);
/* Parses "name|name(...)" after a. If `first`, there is no "|" before the first name. */
mica_status mica__parse_filters(mica__parser *p, mica__syntax *a, bool first, mica__syntax **node);
/* Parses signs, a primary, and its attributes, items and calls. If `filters`, also parses the filters and tests after
 * these. `filters` is false for {% call %}, which allows none, and for the operand of a sign: filters and tests after
 * it apply to the signed value. */
mica_status mica__parse_unary(mica__parser *p, bool filters, mica__syntax **node);

#endif
