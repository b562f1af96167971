/* text/template/run.h: one run of a template, and the functions that its parts share. */
#ifndef MICA_TEXT_TEMPLATE_RUN_H
#define MICA_TEXT_TEMPLATE_RUN_H

#include "text/template/native.h"
#include "text/template/parse.h"

#define MICA__MOST_RUN_DEPTH 500 /* nested expressions and statements */

typedef struct mica__binding {
  int32_t name;
  mica__object value;
} mica__binding;

/* Variables of a block. A name that the block does not set is looked up in `parent`. A macro keeps the scope in which
 * it was made. */
typedef struct mica__scope mica__scope;
struct mica__scope {
  mica__scope *parent;
  mica__binding *list;
  size_t count, room;
};

typedef struct mica__loop {
  const mica__syntax *node; /* a FOR */
  mica__scope *scope;       /* the scope around it */
  const mica__object *items;
  size_t count, index;
  int depth; /* 1 + the number of calls of loop(items) around it */
  /* The function that loop(items) calls. */
  mica_status (*recurse)(mica__render *run, const struct mica__loop *loop, const mica__object *iterated,
                         mica__object *result);
  mica__object *changed; /* the last argument of "changed"; undefined: no call yet */
} mica__loop;

typedef struct mica__macro {
  const mica__syntax *node; /* a MACRO or a CALL_BLOCK */
  mica__scope *scope;
  mica_status (*call)(mica__render *run, const struct mica__macro *macro, const mica__object *caller,
                      const mica__arguments *call, mica__object *result);
} mica__macro;

/* A method, and the value it belongs to. */
typedef struct mica__bound {
  mica__object self;
  const mica__native_row *row;
} mica__bound;

struct mica__render {
  const mica_chat_template *t;
  int64_t time; /* mica_chat_options.time */
  mica__arena arena;
  mica__scope *scope;
  mica__text *out, text; /* out: output is appended here: `text`, or the text of a block, macro or recursive loop */
  /* bytes of outputs that wait while `out` is the text of a block, macro or recursive loop; they count towards the
   * limit on output */
  size_t captured;
  int64_t steps;
  int depth, calls;
  enum { MICA__RENDER_ON, MICA__RENDER_BREAK, MICA__RENDER_CONTINUE } jump;
  bool located; /* the failure's message has a position */
  mica_text_span *spans;
  size_t span_count, span_room;
};

/* Runs the template in run->scope. */
mica_status mica__render_template(mica__render *run);
/* Counts one step, and one more per 256 bytes of work: `bytes`, and what comparisons and searches have counted in the
 * arena. MICA_E_FORMAT if the template has taken too many steps. */
mica_status mica__render_step(mica__render *run, size_t bytes);
mica_status mica__render_print(mica__render *run, const char *text, size_t bytes);
mica_status mica__render_set(mica__render *run, mica__scope *scope, int32_t name, const mica__object *value);
mica_status mica__render_scope(mica__render *run, mica__scope *parent, mica__scope **scope);
/* Runs statements in a scope, and returns their output as a value. */
mica_status mica__render_capture(mica__render *run, const mica__syntax *body, mica__scope *scope, mica__object *text);

mica_status mica__render_evaluate(mica__render *run, const mica__syntax *node, mica__object *value);
/* Evaluates the arguments of a CALL, a FILTER or a TEST. */
mica_status mica__render_arguments(mica__render *run, const mica__syntax *list, mica__arguments *call);
/* Applies FILTERs to a block's text. */
mica_status mica__render_filters(mica__render *run, const mica__syntax *filter, const mica__object *text,
                                 mica__object *value);
mica_status mica__render_call(mica__render *run, const mica__object *callee, const mica__arguments *call,
                              const mica__object *caller, mica__object *result);

/* Computes "format" % arguments; several arguments are a tuple. */
mica_status mica__render_format(mica__render *run, const mica__object *format, const mica__object *arguments,
                                mica__object *result);
/* a op b */
mica_status mica__render_operate(mica__render *run, mica__operator op, const mica__object *a, const mica__object *b,
                                 mica__object *result);
mica_status mica__render_contains(mica__render *run, const mica__object *container, const mica__object *item,
                                  bool *contains);
mica_status mica__render_attribute(mica__render *run, const mica__object *of, const char *name, size_t bytes,
                                   mica__object *value);
mica_status mica__render_item(mica__render *run, const mica__object *of, const mica__object *index,
                              mica__object *value);
/* of[start:stop:step]; NULL: the part is not given. */
mica_status mica__render_slice(mica__render *run, const mica__object *of, const mica__object *const part[3],
                               mica__object *value);

/* Finds the items of a value: *count values at *items. MICA_E_FORMAT: the value cannot be iterated. */
mica_status mica__render_items(mica__render *run, const mica__object *v, const mica__object **items, size_t *count);
/* Escapes a value's text for HTML; the result is marked safe. */
mica_status mica__escape_text(mica__render *run, const mica__object *v, mica__object *result);
/* Joins two texts; if only one is safe, the other is escaped. */
mica_status mica__render_join(mica__render *run, const mica__object *first, const mica__object *second,
                              mica__object *joined);
/* Makes the text that is printed for a value. */
mica_status mica__render_text(mica__render *run, const mica__object *v, mica__object *text);
/* Copies `made` into the arena as a value, and frees `made`. */
mica_status mica__render_keep(mica__render *run, mica__text *made, mica__object *value);
/* Fails because an undefined value is used. */
mica_status mica__render_undefined(const mica__object *v);
/* Makes an undefined value. Its use fails with this message. */
mica_status mica__render_make_undefined(mica__render *run, mica__object *v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails if the name begins with "_". Members of a namespace cannot have such names. */
mica_status mica__check_member(const mica__object *name);

/* The number of characters of a text. */
size_t mica__characters(const char *text, size_t bytes);
/* The byte where character `index` begins; `bytes` if the text has no such character. */
size_t mica__character_at(const char *text, size_t bytes, size_t index);
bool mica__is_blank(uint32_t c);
/* Removes the characters of `set` (NULL: blanks) from the beginning if `left`, and from the end if `right`. mica__strip
 * and mica__find_text count the bytes that they compare in work->work; `work` may be NULL. */
mica__object mica__strip(mica__arena *work, const mica__object *text, const mica__object *set, bool left, bool right);
/* The first byte at or after `from` where `part` begins; SIZE_MAX: none. */
size_t mica__find_text(mica__arena *work, const char *text, size_t bytes, size_t from, const char *part,
                       size_t part_bytes);

#endif
