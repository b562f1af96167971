/* Tables of filters, tests, methods and functions: finds rows by name, and calls them. */
#include "text/template/tables.h"

#include <string.h>

static const mica__native_row filters[] = {
#define FILTER(name, function, parameters) {name, mica__filter_##function, parameters, false},
#include "text/template/filters.def"
#undef FILTER
};

static const mica__native_row tests[] = {
#define TEST(name, function, parameters) {name, mica__test_##function, parameters, false},
#include "text/template/tests.def"
#undef TEST
};

static const mica__native_row functions[] = {
#define FUNCTION(name, function, parameters) {name, function, parameters, false},
#include "text/template/functions.def"
#undef FUNCTION
};

static const struct {
  mica__object_kind kind;
  mica__native_row row;
} methods[] = {
#define METHOD(kind, name, function, parameters)                                                                       \
  {MICA__OBJECT_##kind, {#name, mica__method_##function, parameters, false}},
#define REFUSED(kind, name) {MICA__OBJECT_##kind, {#name, NULL, "*", true}},
#define ABSENT(kind, name) {MICA__OBJECT_##kind, {#name, NULL, "*", false}},
#include "text/template/methods.def"
#undef METHOD
#undef REFUSED
#undef ABSENT
};

static bool is_named(const mica__native_row *row, const char *name, size_t bytes) {
  return strlen(row->name) == bytes && !memcmp(row->name, name, bytes);
}

static const mica__native_row *find(const mica__native_row *rows, size_t count, const char *name, size_t bytes) {
  for (size_t i = 0; i < count; i++)
    if (is_named(&rows[i], name, bytes)) return &rows[i];
  return NULL;
}

const mica__native_row *mica__template_filter(const char *name, size_t bytes) {
  return find(filters, sizeof filters / sizeof *filters, name, bytes);
}
const mica__native_row *mica__template_test(const char *name, size_t bytes) {
  return find(tests, sizeof tests / sizeof *tests, name, bytes);
}
const mica__native_row *mica__template_function(const char *name, size_t bytes) {
  return find(functions, sizeof functions / sizeof *functions, name, bytes);
}
const mica__native_row *mica__template_method(mica__object_kind kind, const char *name, size_t bytes) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (methods[i].kind == kind && is_named(&methods[i].row, name, bytes)) return &methods[i].row;
  return NULL;
}

/* --- calls --- */

/* The index of the parameter with this name; -1: none. */
static int parameter_of(const char *parameters, const mica__object *name) {
  int index = 0;
  while (*parameters) {
    const size_t bytes = strcspn(parameters, ",");
    if (bytes == name->count && !memcmp(parameters, name->as.text, bytes)) return index;
    parameters += bytes + (parameters[bytes] == ',');
    index++;
  }
  return -1;
}

static int count_parameters(const char *parameters) {
  int count = *parameters ? 1 : 0;
  for (; *parameters; parameters++) count += *parameters == ',';
  return count;
}

static mica_status bind(const mica__native_row *row, mica__arguments *call) {
  const size_t most = (size_t)count_parameters(row->parameters);
  if (call->count > most)
    return mica__fail(MICA_E_FORMAT, "%s: the number of arguments is %zu, but may be at most %zu", row->name,
                      call->count, most);
  for (size_t i = 0; i < call->count; i++) call->bound[i] = &call->items[i];
  for (size_t i = 0; i < call->named; i++) {
    const int index = parameter_of(row->parameters, &call->names[i]);
    if (index < 0 || call->bound[index])
      return mica__fail(MICA_E_FORMAT, "%s: the argument '%.*s' is %s", row->name,
                        mica__text_shown(call->names[i].count), call->names[i].as.text,
                        index < 0 ? "unknown" : "given twice");
    call->bound[index] = &call->values[i];
  }
  return MICA_OK;
}

mica_status mica__native_call(mica__render *run, const mica__native_row *row, const mica__object *self,
                              const mica__arguments *call, mica__object *result) {
  mica__arguments bound = *call;
  if (!row->function)
    return mica__fail(MICA_E_UNSUPPORTED, "Mica does not have %s%s%s", self ? mica__object_type(self) : "",
                      self ? "." : "", row->name);
  MICA_TRY(mica__render_step(run, self && self->kind == MICA__OBJECT_TEXT ? self->count : 0));
  if (strcmp(row->parameters, "*") != 0) MICA_TRY(bind(row, &bound));
  if (run->depth >= MICA__MOST_RUN_DEPTH)
    return mica__fail(MICA_E_FORMAT, "the template is nested more than %d levels deep", MICA__MOST_RUN_DEPTH);
  run->depth++;
  const mica_status status = row->function(run, self, &bound, result);
  run->depth--;
  return status;
}

mica_status mica__argument_integer(const mica__object *argument, int64_t fallback, int64_t *n) {
  *n = fallback;
  if (!argument || argument->kind == MICA__OBJECT_NONE || mica__object_as_integer(argument, n)) return MICA_OK;
  if (argument->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(argument);
  if (argument->kind == MICA__OBJECT_BIG)
    return mica__fail(MICA_E_FORMAT, "an argument is an int that does not fit 64 bits");
  return mica__fail(MICA_E_FORMAT, "an argument is of type %s, but must be an int", mica__object_type(argument));
}

mica_status mica__argument_text(const mica__object *argument, const char *what, mica__object *text) {
  if (argument && argument->kind == MICA__OBJECT_TEXT) return *text = *argument, MICA_OK;
  if (argument && argument->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(argument);
  return mica__fail(MICA_E_FORMAT, "%s must be a str, but is %s%s", what, argument ? "of type " : "",
                    argument ? mica__object_type(argument) : "absent");
}
