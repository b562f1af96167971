/* text/template/native.h: the tables of filters, tests, methods and functions. A row has a name, parameters and a C
 * function. */
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
  const mica__object *bound[MICA__MOST_PARAMETERS]; /* per parameter of the row; NULL: not given */
} mica__arguments;

/* self: the value that is filtered or tested, or the method's object; NULL for functions. */
typedef mica_status mica__native(mica__render *run, const mica__object *self, const mica__arguments *call,
                                 mica__object *result);

typedef struct mica__native_row {
  const char *name;
  mica__native *function; /* NULL: Mica lacks it, or the sandbox refuses it */
  const char *parameters; /* "a,b"; "*": any arguments, which are not bound */
  bool refused;           /* a method that would change its object: reading it gives an undefined value */
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
