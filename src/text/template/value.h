/* text/template/value.h: values of a template; they live in the arena of one run.
 *
 * A value never changes after it is made, except the members of a namespace and the state of a loop. Texts and lists
 * can therefore be shared slices: stripping a text, or slicing a list with step 1, copies nothing. */
#ifndef MICA_TEXT_TEMPLATE_VALUE_H
#define MICA_TEXT_TEMPLATE_VALUE_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA__MOST_TEMPLATE_DEPTH 64
#define MICA__MOST_TEMPLATE_MEMORY ((size_t)256 << 20)
#define MICA__MOST_TEMPLATE_STEPS 1000000
#define MICA__MOST_TEMPLATE_WORK ((uint64_t)256 * MICA__MOST_TEMPLATE_STEPS) /* 256 bytes per step */
#define MICA__MOST_TEMPLATE_OUTPUT ((size_t)16 << 20) /* bytes of a run's output, and of each text that it makes */

/* --- memory --- */

#define MICA__GROWING_TEXTS 4

typedef struct mica__arena_chunk mica__arena_chunk;
/* Zero-initialise. All memory is freed at once. */
typedef struct mica__arena {
  mica__arena_chunk *chunks;
  char *next, *end;
  size_t total; /* bytes of all chunks, at most MICA__MOST_TEMPLATE_MEMORY */
  struct {
    char *end, *limit; /* end: the end of a text; limit: the end of the memory that it may grow into */
  } growing[MICA__GROWING_TEXTS];
  unsigned oldest; /* index of the growing text that is replaced next */
  uint64_t work;   /* bytes read by comparisons and searches */
} mica__arena;

/* Takes memory that is zeroed and aligned for any value. MICA_E_FORMAT: the arena would exceed
 * MICA__MOST_TEMPLATE_MEMORY. */
mica_status mica__arena_take(mica__arena *arena, size_t count, size_t size, void *memory);
/* Copies bytes into the arena, without a NUL at the end. */
mica_status mica__arena_copy(mica__arena *arena, const char *text, size_t bytes, const char **copy);
/* Joins two texts. A long result gets room to grow, and the next text joined to it is added in place. A text that grows
 * piece by piece thus costs its length, not the square of its length. */
mica_status mica__arena_join(mica__arena *arena, const char *first, size_t first_bytes, const char *second,
                             size_t second_bytes, const char **joined);
void mica__arena_free(mica__arena *arena);
/* Counts the bytes read by a comparison or a search. False beyond MICA__MOST_TEMPLATE_WORK: the comparison or search
 * then ends without a result, and the next step of the run fails. A NULL arena counts nothing. */
static inline bool mica__arena_work(mica__arena *arena, size_t bytes) {
  if (!arena) return true;
  arena->work += bytes;
  return arena->work <= MICA__MOST_TEMPLATE_WORK;
}

/* --- values --- */

typedef enum mica__object_kind {
  MICA__OBJECT_UNDEFINED, /* text: the error message for when it is used */
  MICA__OBJECT_NONE,
  MICA__OBJECT_BOOL,
  MICA__OBJECT_INTEGER,
  MICA__OBJECT_BIG, /* an integer in JSON beyond 64 bits; its digits are in text */
  MICA__OBJECT_FLOAT,
  MICA__OBJECT_TEXT,
  MICA__OBJECT_LIST,
  MICA__OBJECT_TUPLE,
  MICA__OBJECT_DICT,
  MICA__OBJECT_NAMESPACE, /* dict */
  MICA__OBJECT_LOOP,      /* other: struct mica__loop of run.h */
  MICA__OBJECT_MACRO,     /* other: struct mica__macro of run.h */
  MICA__OBJECT_FUNCTION,  /* other: a row of functions.def */
  MICA__OBJECT_METHOD     /* other: struct mica__bound of run.h */
} mica__object_kind;

typedef struct mica__dict mica__dict;
typedef struct mica__object {
  mica__object_kind kind;
  union {
    bool truth;
    int64_t integer;
    double number;
    const char *text;                 /* valid UTF-8 without a terminator */
    const struct mica__object *items; /* of lists and tuples */
    mica__dict *dict;
    const void *other;
  } as;
  size_t count; /* bytes of a text, items of a list */
  bool safe;    /* a text from "safe" or "escape": text joined to it is escaped for HTML, as in Jinja */
} mica__object;

/* Members, in the order in which they were first set. */
struct mica__dict {
  mica__object *keys, *values;
  size_t count, room;
  uint32_t *slots; /* hash table: index + 1 of a member; NULL while there are few members */
  size_t slot_count;
};

static inline mica__object mica__object_none(void) { return (mica__object){.kind = MICA__OBJECT_NONE}; }
static inline mica__object mica__object_bool(bool truth) {
  return (mica__object){.kind = MICA__OBJECT_BOOL, .as.truth = truth};
}
static inline mica__object mica__object_integer(int64_t n) {
  return (mica__object){.kind = MICA__OBJECT_INTEGER, .as.integer = n};
}
static inline mica__object mica__object_float(double x) {
  return (mica__object){.kind = MICA__OBJECT_FLOAT, .as.number = x};
}
static inline mica__object mica__object_text(const char *text, size_t bytes) {
  return (mica__object){.kind = MICA__OBJECT_TEXT, .as.text = text, .count = bytes};
}
static inline mica__object mica__object_list(const mica__object *items, size_t count) {
  return (mica__object){.kind = MICA__OBJECT_LIST, .as.items = items, .count = count};
}
static inline bool mica__object_is_list(const mica__object *v) {
  return v->kind == MICA__OBJECT_LIST || v->kind == MICA__OBJECT_TUPLE;
}
static inline bool mica__object_is_number(const mica__object *v) {
  return v->kind == MICA__OBJECT_BOOL || v->kind == MICA__OBJECT_INTEGER || v->kind == MICA__OBJECT_BIG ||
         v->kind == MICA__OBJECT_FLOAT;
}
/* Reads an INTEGER or a BOOL as an integer; false for other kinds. */
static inline bool mica__object_as_integer(const mica__object *v, int64_t *n) {
  if (v->kind != MICA__OBJECT_INTEGER && v->kind != MICA__OBJECT_BOOL) return false;
  *n = v->kind == MICA__OBJECT_INTEGER ? v->as.integer : v->as.truth;
  return true;
}
/* The value of a number. */
double mica__object_as_double(const mica__object *v);

/* Python's name of a kind: "str", "NoneType". */
const char *mica__object_type(const mica__object *v);
bool mica__object_is_true(const mica__object *v);
/* Values can share parts, so comparing may take far longer than their memory suggests. `work` is the run's arena, which
 * counts the bytes compared. With NULL nothing is counted, as for the values of a file. */
bool mica__object_equal(mica__arena *work, const mica__object *a, const mica__object *b);
bool mica__object_equals_text(const mica__object *v, const char *text);
/* *order is negative, 0 or positive. MICA_E_FORMAT if the kinds have no order. */
mica_status mica__object_compare(mica__arena *work, const mica__object *a, const mica__object *b, int *order);

mica_status mica__dict_create(mica__arena *arena, mica__dict **dict);
/* Sets a member. MICA_E_FORMAT: the key is a list or a dict. */
mica_status mica__dict_set(mica__arena *arena, mica__dict *dict, const mica__object *key, const mica__object *value);
/* NULL: not found. */
const mica__object *mica__dict_find(mica__arena *work, const mica__dict *dict, const mica__object *key);
const mica__object *mica__dict_find_text(const mica__dict *dict, const char *key, size_t bytes);

/* Appends the result of Python's str() and repr(). A list may hold another one many times, so printing stops without
 * an error at a depth of MICA__MOST_TEMPLATE_DEPTH, with "...", and at MICA__MOST_TEMPLATE_OUTPUT bytes. */
void mica__object_print(mica__text *out, const mica__object *v);
void mica__object_repr(mica__text *out, const mica__object *v, int depth);
/* Appends the result of Python's repr() of a float: the shortest digits that read back as the same number. */
void mica__float_repr(mica__text *out, double x);

/* --- JSON --- */

/* Reads a JSON text. MICA_E_FORMAT: the message names the byte. */
mica_status mica__object_read_json(mica__arena *arena, const char *json, size_t bytes, mica__object *value);

typedef struct mica__json_style {
  const char *comma, *colon; /* between items, between key and value */
  const char *indent;        /* per level; NULL: all on one line */
  bool ascii, sort;          /* ascii: escape all characters beyond ASCII; sort: order the keys */
  size_t most;               /* maximum bytes of the JSON; 0: MICA__MOST_TEMPLATE_MEMORY */
} mica__json_style;
/* Appends the result of Python's json.dumps. MICA_E_FORMAT: JSON lacks such a value, or the text exceeds
 * style->most. */
mica_status mica__object_write_json(mica__text *out, const mica__object *v, const mica__json_style *style);

#endif
