/* Tests of values, as in "x is defined". */
#include "text/template/tables.h"

#include <math.h>

#define ARGUMENTS mica__render *run, const mica__object *self, const mica__arguments *call, mica__object *result
/* Defines a test without arguments. */
#define LOOK(name, holds)                                                                                              \
  mica_status mica__test_##name(ARGUMENTS) {                                                                           \
    (void)run, (void)self, (void)call;                                                                                 \
    return *result = mica__object_bool(holds), MICA_OK;                                                                \
  }

LOOK(boolean, self->kind == MICA__OBJECT_BOOL)
LOOK(callable, self->kind >= MICA__OBJECT_LOOP || self->kind == MICA__OBJECT_UNDEFINED)
LOOK(defined, self->kind != MICA__OBJECT_UNDEFINED)
LOOK(undefined, self->kind == MICA__OBJECT_UNDEFINED)
LOOK(escaped, self->safe)
LOOK(is_false, self->kind == MICA__OBJECT_BOOL && !self->as.truth)
LOOK(is_true, self->kind == MICA__OBJECT_BOOL && self->as.truth)
LOOK(is_float, self->kind == MICA__OBJECT_FLOAT)
LOOK(integer, self->kind == MICA__OBJECT_INTEGER || self->kind == MICA__OBJECT_BIG)
LOOK(mapping, self->kind == MICA__OBJECT_DICT)
LOOK(none, self->kind == MICA__OBJECT_NONE)
LOOK(number, mica__object_is_number(self))
LOOK(string, self->kind == MICA__OBJECT_TEXT)
LOOK(filter, self->kind == MICA__OBJECT_TEXT && mica__template_filter(self->as.text, self->count) != NULL)
LOOK(test, self->kind == MICA__OBJECT_TEXT && mica__template_test(self->as.text, self->count) != NULL)
LOOK(iterable, mica__object_is_list(self) || self->kind == MICA__OBJECT_TEXT || self->kind == MICA__OBJECT_DICT ||
                   self->kind == MICA__OBJECT_UNDEFINED || self->kind == MICA__OBJECT_LOOP)
/* True for values with a length and items; an undefined value claims to have them. */
LOOK(sequence, mica__object_is_list(self) || self->kind == MICA__OBJECT_TEXT || self->kind == MICA__OBJECT_DICT ||
                   self->kind == MICA__OBJECT_UNDEFINED)

static mica_status other_of(const mica__arguments *call, const mica__object **other) {
  *other = call->bound[0];
  return *other ? MICA_OK : mica__fail(MICA_E_FORMAT, "this test needs an argument, as in 'x is divisibleby 3'");
}

mica_status mica__test_equal(ARGUMENTS) {
  const mica__object *other;
  MICA_TRY(other_of(call, &other));
  return *result = mica__object_bool(mica__object_equal(&run->arena, self, other)), MICA_OK;
}

mica_status mica__test_unequal(ARGUMENTS) {
  MICA_TRY(mica__test_equal(run, self, call, result));
  return result->as.truth = !result->as.truth, MICA_OK;
}

static mica_status order_of(mica__render *run, const mica__object *self, const mica__arguments *call, int *order) {
  const mica__object *other;
  MICA_TRY(other_of(call, &other));
  return mica__object_compare(&run->arena, self, other, order);
}

/* Defines a test that compares two values. */
#define ORDER(name, holds)                                                                                             \
  mica_status mica__test_##name(ARGUMENTS) {                                                                           \
    int order = 0;                                                                                                     \
    MICA_TRY(order_of(run, self, call, &order));                                                                       \
    return *result = mica__object_bool(order holds), MICA_OK;                                                          \
  }

ORDER(below, < 0)
ORDER(at_most, <= 0)
ORDER(above, > 0)
ORDER(at_least, >= 0)

mica_status mica__test_in(ARGUMENTS) {
  const mica__object *other;
  bool contains = false;
  MICA_TRY(other_of(call, &other));
  MICA_TRY(mica__render_contains(run, other, self, &contains));
  return *result = mica__object_bool(contains), MICA_OK;
}

/* True for equal scalars, and for the same list or dict object. */
mica_status mica__test_sameas(ARGUMENTS) {
  const mica__object *other;
  MICA_TRY(other_of(call, &other));
  if (self->kind != other->kind) return *result = mica__object_bool(false), MICA_OK;
  if (mica__object_is_list(self))
    return *result = mica__object_bool(self->as.items == other->as.items && self->count == other->count), MICA_OK;
  if (self->kind == MICA__OBJECT_DICT) return *result = mica__object_bool(self->as.dict == other->as.dict), MICA_OK;
  return mica__test_equal(run, self, call, result);
}

static mica_status is_multiple(mica__render *run, const mica__object *self, const mica__object *of, int64_t remainder,
                               mica__object *result) {
  mica__object rest;
  const mica__object wanted = mica__object_integer(remainder);
  MICA_TRY(mica__render_operate(run, MICA__OPERATOR_REMAINDER, self, of, &rest));
  return *result = mica__object_bool(mica__object_equal(&run->arena, &rest, &wanted)), MICA_OK;
}

mica_status mica__test_divisible(ARGUMENTS) {
  const mica__object *other;
  MICA_TRY(other_of(call, &other));
  return is_multiple(run, self, other, 0, result);
}

mica_status mica__test_even(ARGUMENTS) {
  const mica__object two = mica__object_integer(2);
  (void)call;
  return is_multiple(run, self, &two, 0, result);
}

mica_status mica__test_odd(ARGUMENTS) {
  const mica__object two = mica__object_integer(2);
  (void)call;
  return is_multiple(run, self, &two, 1, result);
}

/* str(value).islower() or, if `upper`, str(value).isupper() */
static mica_status is_case(mica__render *run, const mica__object *self, bool upper, mica__object *result) {
  mica__object text;
  const mica__arguments none = {0};
  MICA_TRY(mica__render_text(run, self, &text));
  return upper ? mica__method_isupper(run, &text, &none, result) : mica__method_islower(run, &text, &none, result);
}

mica_status mica__test_lower(ARGUMENTS) { return (void)call, is_case(run, self, false, result); }
mica_status mica__test_upper(ARGUMENTS) { return (void)call, is_case(run, self, true, result); }
