/* text/template/native.h: filters, tests, methods and functions: rows of a table with a name, parameters and C. */
#ifndef MICA_TEXT_TEMPLATE_NATIVE_H
#define MICA_TEXT_TEMPLATE_NATIVE_H

#include "text/template/value.h"

#define MICA__MOST_PARAMETERS 5

typedef struct mica__render mica__render;

/* Arguments of a call. */
typedef struct mica__arguments {
  const mica__object *items; /* by position */
  size_t count;
  const mica__object *names, *values; /* by name */
  size_t named;
  const mica__object *bound[MICA__MOST_PARAMETERS]; /* by the row's parameters; NULL: not given */
} mica__arguments;

/* self: what is filtered, tested, or whose method it is; NULL for functions. */
typedef mica_status mica__native(mica__render *run, const mica__object *self, const mica__arguments *call,
                                 mica__object *result);

typedef struct mica__native_row {
  const char *name;
  mica__native *function; /* NULL: Python has it and Mica does not, or the sandbox refuses it */
  const char *parameters; /* "a,b"; "*": any arguments, which are not bound */
  bool refused;           /* a method that would change its value: reading it gives an undefined value */
} mica__native_row;

/* The row of a name; NULL: not found. */
const mica__native_row *mica__template_filter(const char *name, size_t bytes);
const mica__native_row *mica__template_test(const char *name, size_t bytes);
const mica__native_row *mica__template_function(const char *name, size_t bytes);
const mica__native_row *mica__template_method(mica__object_kind kind, const char *name, size_t bytes);

/* Calls a row with arguments. */
mica_status mica__native_call(mica__render *run, const mica__native_row *row, const mica__object *self,
                              const mica__arguments *call, mica__object *result);

#endif
