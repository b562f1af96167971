/* text/template/tables.h: declares the C functions of filters, tests, methods and functions. */
#ifndef MICA_TEXT_TEMPLATE_TABLES_H
#define MICA_TEXT_TEMPLATE_TABLES_H

#include "text/template/run.h"

#define FILTER(name, function, parameters) mica__native mica__filter_##function;
#include "text/template/filters.def"
#undef FILTER
#define TEST(name, function, parameters) mica__native mica__test_##function;
#include "text/template/tests.def"
#undef TEST
#define METHOD(kind, name, function, parameters) mica__native mica__method_##function;
#define REFUSED(kind, name)
#define ABSENT(kind, name)
#include "text/template/methods.def"
#undef METHOD
#undef REFUSED
#undef ABSENT
mica__native mica__function_dict, mica__function_namespace, mica__function_raise, mica__function_range,
    mica__function_time;

/* Reads an argument as an integer; `fallback` if it is not given. */
mica_status mica__argument_integer(const mica__object *argument, int64_t fallback, int64_t *n);
/* Reads an argument that must be a text. */
mica_status mica__argument_text(const mica__object *argument, const char *what, mica__object *text);
static inline bool mica__argument_is_true(const mica__object *argument) {
  return argument && mica__object_is_true(argument);
}

/* Follows a path such as "function.name" or "0" from member to member. */
mica_status mica__follow(mica__render *run, const mica__object *of, const mica__object *path, mica__object *value);
mica_status mica__lower_text(mica__render *run, const mica__object *v, bool upper, mica__object *result);
/* Replaces at most `most` occurrences; all of them if `most` is below 0. */
mica_status mica__replace_text(mica__render *run, const mica__object *text, const mica__object *old,
                               const mica__object *by, int64_t most, mica__object *result);
/* Returns the end of the line that begins at `from`, as Python's splitlines finds it. *next receives the beginning of
 * the next line. */
size_t mica__line_end(const char *text, size_t bytes, size_t from, size_t *next);
/* Pads a text to a width with blanks, or with `fill` unless it is NULL. Adds them at the beginning if `left`, at the
 * end if `right`, or half at each end if both. */
mica_status mica__pad_text(mica__render *run, const mica__object *text, int64_t width, const mica__object *fill,
                           bool left, bool right, mica__object *result);
/* Sorts items by keys; keys[i] belongs to items[i]. Stable. */
mica_status mica__sort_items(mica__render *run, mica__object *items, mica__object *keys, size_t count, bool reverse);

#endif
