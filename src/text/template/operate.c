/* Operators, items and attributes of values. */
#include "base/utf8.h"
#include "text/template/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- arithmetic --- */

static mica_status overflow(void) { return mica__fail(MICA_E_FORMAT, "an integer does not fit 64 bits"); }

static mica_status integer_power(int64_t base, int64_t exponent, mica__object *result) {
  int64_t power = 1;
  if (exponent < 0) return *result = mica__object_float(pow((double)base, (double)exponent)), MICA_OK;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(power, base, &power)) return overflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return *result = mica__object_integer(power), MICA_OK;
}

/* As in Python, division rounds down, and a remainder has the sign of the divisor. */
static mica_status operate_on_integers(mica__operator op, int64_t a, int64_t b, mica__object *result) {
  int64_t n = 0;
  bool fits = true;
  switch (op) {
  case MICA__OPERATOR_ADD: fits = !__builtin_add_overflow(a, b, &n); break;
  case MICA__OPERATOR_SUBTRACT: fits = !__builtin_sub_overflow(a, b, &n); break;
  case MICA__OPERATOR_MULTIPLY: fits = !__builtin_mul_overflow(a, b, &n); break;
  case MICA__OPERATOR_POWER: return integer_power(a, b, result);
  default:
    if (b == 0) return mica__fail(MICA_E_FORMAT, "a division by zero");
    if (op == MICA__OPERATOR_DIVIDE) return *result = mica__object_float((double)a / (double)b), MICA_OK;
    if (b == -1) {
      fits = op == MICA__OPERATOR_REMAINDER || a != INT64_MIN;
      n = op == MICA__OPERATOR_REMAINDER || !fits ? 0 : -a;
      break;
    }
    n = op == MICA__OPERATOR_REMAINDER ? a % b : a / b;
    if (a % b != 0 && (a % b < 0) != (b < 0)) n += op == MICA__OPERATOR_REMAINDER ? b : -1;
  }
  return fits ? (*result = mica__object_integer(n), MICA_OK) : overflow();
}

static mica_status operate_on_numbers(mica__operator op, double a, double b, mica__object *result) {
  double x = 0;
  switch (op) {
  case MICA__OPERATOR_ADD: x = a + b; break;
  case MICA__OPERATOR_SUBTRACT: x = a - b; break;
  case MICA__OPERATOR_MULTIPLY: x = a * b; break;
  case MICA__OPERATOR_POWER: x = pow(a, b); break;
  default:
    if (b == 0) return mica__fail(MICA_E_FORMAT, "a division by zero");
    x = op == MICA__OPERATOR_DIVIDE ? a / b : op == MICA__OPERATOR_FLOOR_DIVIDE ? floor(a / b) : fmod(a, b);
    if (op == MICA__OPERATOR_REMAINDER && x != 0 && (x < 0) != (b < 0)) x += b;
  }
  return *result = mica__object_float(x), MICA_OK;
}

static mica_status join_lists(mica__render *run, const mica__object *a, const mica__object *b, mica__object *result) {
  mica__object *items = NULL;
  const size_t count = a->count + b->count;
  MICA_TRY(mica__render_step(run, count * sizeof *items));
  MICA_TRY(mica__arena_take(&run->arena, count, sizeof *items, &items));
  if (a->count) memcpy(items, a->as.items, a->count * sizeof *items);
  if (b->count) memcpy(items + a->count, b->as.items, b->count * sizeof *items);
  *result = mica__object_list(items, count);
  result->kind = a->kind;
  return MICA_OK;
}

/* Repeats a text or a list. */
static mica_status repeat(mica__render *run, const mica__object *of, int64_t times, mica__object *result) {
  const size_t size = of->kind == MICA__OBJECT_TEXT ? 1 : sizeof *of, bytes = of->count * size;
  char *made = NULL;
  *result = *of;
  result->count = 0;
  if (times <= 0 || bytes == 0) return MICA_OK;
  if ((uint64_t)times > MICA__MOST_TEMPLATE_OUTPUT / bytes)
    return mica__fail(MICA_E_FORMAT, "a repeated value has more than %zu MiB", MICA__MOST_TEMPLATE_OUTPUT >> 20);
  MICA_TRY(mica__render_step(run, bytes * (size_t)times));
  MICA_TRY(mica__arena_take(&run->arena, (size_t)times, bytes, &made));
  for (size_t i = 0; i < (size_t)times; i++) memcpy(made + i * bytes, of->as.text, bytes);
  result->count = of->count * (size_t)times;
  if (of->kind == MICA__OBJECT_TEXT)
    result->as.text = made;
  else
    result->as.items = (const mica__object *)(const void *)made;
  return MICA_OK;
}

static mica_status no_operation(mica__operator op, const mica__object *a, const mica__object *b) {
#define MICA__OPERATOR_TEXT(name, text) text,
  static const char *const texts[] = {MICA__OPERATOR_LIST(MICA__OPERATOR_TEXT)};
#undef MICA__OPERATOR_TEXT
  if (a->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(a);
  if (b->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(b);
  if (op == MICA__OPERATOR_MULTIPLY && (a->kind == MICA__OBJECT_BIG || b->kind == MICA__OBJECT_BIG)) return overflow();
  return mica__fail(MICA_E_FORMAT, "the operator %s cannot be applied to values of type %s and %s", texts[op],
                    mica__object_type(a), mica__object_type(b));
}

mica_status mica__render_operate(mica__render *run, mica__operator op, const mica__object *a, const mica__object *b,
                                 mica__object *result) {
  int64_t m, n;
  if (mica__object_as_integer(a, &m) && mica__object_as_integer(b, &n)) return operate_on_integers(op, m, n, result);
  if (mica__object_is_number(a) && mica__object_is_number(b)) {
    if (a->kind == MICA__OBJECT_BIG || b->kind == MICA__OBJECT_BIG) return overflow();
    return operate_on_numbers(op, mica__object_as_double(a), mica__object_as_double(b), result);
  }
  if (op == MICA__OPERATOR_ADD && a->kind == b->kind) {
    if (mica__object_is_list(a)) return join_lists(run, a, b, result);
    if (a->kind == MICA__OBJECT_TEXT) return mica__render_join(run, a, b, result);
  }
  if (op == MICA__OPERATOR_MULTIPLY) {
    const bool first = a->kind == MICA__OBJECT_TEXT || mica__object_is_list(a);
    const mica__object *of = first ? a : b, *times = first ? b : a;
    if ((of->kind == MICA__OBJECT_TEXT || mica__object_is_list(of)) && mica__object_as_integer(times, &n))
      return repeat(run, of, n, result);
  }
  if (op == MICA__OPERATOR_REMAINDER && a->kind == MICA__OBJECT_TEXT) return mica__render_format(run, a, b, result);
  return no_operation(op, a, b);
}

mica_status mica__render_contains(mica__render *run, const mica__object *container, const mica__object *item,
                                  bool *contains) {
  *contains = false;
  switch (container->kind) {
  case MICA__OBJECT_TEXT:
    if (item->kind != MICA__OBJECT_TEXT)
      return item->kind == MICA__OBJECT_UNDEFINED
                 ? mica__render_undefined(item)
                 : mica__fail(MICA_E_FORMAT, "'in' looks for a str in a str, not for a value of type %s",
                              mica__object_type(item));
    MICA_TRY(mica__render_step(run, container->count));
    *contains =
        mica__find_text(&run->arena, container->as.text, container->count, 0, item->as.text, item->count) != SIZE_MAX;
    return MICA_OK;
  case MICA__OBJECT_DICT: *contains = mica__dict_find(&run->arena, container->as.dict, item) != NULL; return MICA_OK;
  case MICA__OBJECT_UNDEFINED: return MICA_OK;
  default: break;
  }
  const mica__object *items = NULL;
  size_t count = 0;
  MICA_TRY(mica__render_items(run, container, &items, &count));
  MICA_TRY(mica__render_step(run, count * sizeof *items));
  for (size_t i = 0; i < count && !*contains; i++) *contains = mica__object_equal(&run->arena, &items[i], item);
  return MICA_OK;
}

/* --- parts of values --- */

/* Attributes of "loop". */
static bool loop_attribute(const mica__loop *loop, const char *name, size_t bytes, mica__object *value) {
  const int64_t index = (int64_t)loop->index, count = (int64_t)loop->count;
  const struct {
    const char *name;
    mica__object value;
  } rows[] = {{"index", mica__object_integer(index + 1)},
              {"index0", mica__object_integer(index)},
              {"first", mica__object_bool(index == 0)},
              {"last", mica__object_bool(index + 1 == count)},
              {"length", mica__object_integer(count)},
              {"revindex", mica__object_integer(count - index)},
              {"revindex0", mica__object_integer(count - index - 1)},
              {"depth", mica__object_integer(loop->depth)},
              {"depth0", mica__object_integer(loop->depth - 1)}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strlen(rows[i].name) == bytes && !memcmp(rows[i].name, name, bytes)) return *value = rows[i].value, true;
  if (bytes == 8 && !memcmp(name, "previtem", 8) && index > 0) return *value = loop->items[index - 1], true;
  if (bytes == 8 && !memcmp(name, "nextitem", 8) && index + 1 < count) return *value = loop->items[index + 1], true;
  return false;
}

/* Makes a method, or the sandbox's undefined value for a method that would change its object. */
static mica_status bind_method(mica__render *run, const mica__object *of, const mica__native_row *row,
                               mica__object *value) {
  mica__bound *bound = NULL;
  if (row->refused)
    return mica__render_make_undefined(run, value, "'%s' would change a %s, but templates cannot change values",
                                       row->name, mica__object_type(of));
  MICA_TRY(mica__arena_take(&run->arena, 1, sizeof *bound, &bound));
  *bound = (mica__bound){*of, row};
  *value = (mica__object){.kind = MICA__OBJECT_METHOD, .as.other = bound};
  return MICA_OK;
}

static mica_status no_member(mica__render *run, const mica__object *of, const char *name, size_t bytes,
                             mica__object *value) {
  return mica__render_make_undefined(run, value, "'%s object' has no attribute '%.*s'", mica__object_type(of),
                                     mica__text_shown(bytes), name);
}

/* A method takes precedence over a member of the same name. Jinja too tries the attribute before the item when it
 * evaluates a.b. */
mica_status mica__render_attribute(mica__render *run, const mica__object *of, const char *name, size_t bytes,
                                   mica__object *value) {
  if (of->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(of);
  if (of->kind == MICA__OBJECT_LOOP && loop_attribute(of->as.other, name, bytes, value)) return MICA_OK;
  const mica__native_row *method = mica__template_method(of->kind, name, bytes);
  if (method) return bind_method(run, of, method, value);
  const bool members = of->kind == MICA__OBJECT_DICT || of->kind == MICA__OBJECT_NAMESPACE;
  const mica__object *member = members ? mica__dict_find_text(of->as.dict, name, bytes) : NULL;
  if (member) return *value = *member, MICA_OK;
  return no_member(run, of, name, bytes, value);
}

mica_status mica__render_item(mica__render *run, const mica__object *of, const mica__object *index,
                              mica__object *value) {
  int64_t n;
  if (of->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(of);
  if (of->kind == MICA__OBJECT_DICT) {
    const mica__object *member = mica__dict_find(&run->arena, of->as.dict, index);
    if (member) return *value = *member, MICA_OK;
  }
  if ((mica__object_is_list(of) || of->kind == MICA__OBJECT_TEXT) && mica__object_as_integer(index, &n)) {
    const bool text = of->kind == MICA__OBJECT_TEXT;
    if (text) MICA_TRY(mica__render_step(run, of->count));
    const int64_t count = (int64_t)(text ? mica__characters(of->as.text, of->count) : of->count);
    if (n < -count || n >= count)
      return mica__render_make_undefined(run, value, "%s object has no element %lld", mica__object_type(of),
                                         (long long)n);
    const size_t at = (size_t)(n < 0 ? n + count : n);
    if (!text) return *value = of->as.items[at], MICA_OK;
    const size_t begin = mica__character_at(of->as.text, of->count, at);
    *value = mica__object_text(of->as.text + begin, mica__character_at(of->as.text + begin, of->count - begin, 1));
    return MICA_OK;
  }
  /* As in Jinja, a["b"] is the attribute b if a has no item "b". */
  if (index->kind == MICA__OBJECT_TEXT) {
    if (of->kind == MICA__OBJECT_LOOP || of->kind == MICA__OBJECT_NAMESPACE)
      return mica__render_attribute(run, of, index->as.text, index->count, value);
    const mica__native_row *method = mica__template_method(of->kind, index->as.text, index->count);
    return method ? bind_method(run, of, method, value) : no_member(run, of, index->as.text, index->count, value);
  }
  return mica__render_make_undefined(run, value, "'%s object' has no such element", mica__object_type(of));
}

/* Computes the bounds of a slice of `count` items, as Python does. Fails if the step is 0. */
static mica_status slice_bounds(const mica__object *const part[3], int64_t count, int64_t *start, int64_t *stop,
                                int64_t *step) {
  int64_t *const to[3] = {start, stop, step};
  *step = 1;
  bool given[3];
  for (int i = 0; i < 3; i++) {
    given[i] = part[i] && part[i]->kind != MICA__OBJECT_NONE;
    if (given[i] && !mica__object_as_integer(part[i], to[i]))
      return part[i]->kind == MICA__OBJECT_UNDEFINED
                 ? mica__render_undefined(part[i])
                 : mica__fail(MICA_E_FORMAT, "the start, stop and step of a slice must be integers of 64 bits");
  }
  if (*step == 0) return mica__fail(MICA_E_FORMAT, "a slice cannot have step 0");
  const int64_t least = *step > 0 ? 0 : -1, most = *step > 0 ? count : count - 1;
  for (int i = 0; i < 2; i++) {
    if (!given[i])
      *to[i] = (i == 0) == (*step > 0) ? least : most;
    else if (*to[i] < 0)
      *to[i] = *to[i] < -count ? least : *to[i] + count;
    else if (*to[i] > most)
      *to[i] = most;
  }
  return MICA_OK;
}

static mica_status slice_text(mica__render *run, const mica__object *of, int64_t start, int64_t step, size_t count,
                              mica__object *value) {
  const char *s = of->as.text;
  MICA_TRY(mica__render_step(run, of->count));
  if (step == 1) {
    const size_t begin = mica__character_at(s, of->count, (size_t)start);
    *value = mica__object_text(s + begin, mica__character_at(s + begin, of->count - begin, count));
    return MICA_OK;
  }
  const mica__object *items = NULL;
  mica__text made = {0};
  size_t all = 0;
  MICA_TRY(mica__render_items(run, of, &items, &all));
  for (size_t i = 0; i < count; i++) {
    const mica__object *c = &items[start + (int64_t)i * step];
    mica__text_add_bytes(&made, c->as.text, c->count);
  }
  return mica__render_keep(run, &made, value);
}

mica_status mica__render_slice(mica__render *run, const mica__object *of, const mica__object *const part[3],
                               mica__object *value) {
  int64_t start = 0, stop = 0, step = 1;
  if (of->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(of);
  if (of->kind != MICA__OBJECT_TEXT && !mica__object_is_list(of))
    return mica__render_make_undefined(run, value, "a %s cannot be sliced", mica__object_type(of));
  const bool text = of->kind == MICA__OBJECT_TEXT;
  const int64_t length = (int64_t)(text ? mica__characters(of->as.text, of->count) : of->count);
  MICA_TRY(slice_bounds(part, length, &start, &stop, &step));
  /* A step longer than the list takes at most one item, whatever its size. It is shortened here so that the sums below
   * do not overflow. */
  if (step > length) step = length + 1;
  if (step < -length) step = -length - 1;
  const int64_t span = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
  const size_t count = span > 0 ? (size_t)((span + stride - 1) / stride) : 0;
  if (text && count > 0) return slice_text(run, of, start, step, count, value);
  *value = *of;
  value->count = count;
  if (count == 0) return MICA_OK;
  if (step == 1) return value->as.items = of->as.items + start, MICA_OK;
  mica__object *items = NULL;
  MICA_TRY(mica__render_step(run, count * sizeof *items));
  MICA_TRY(mica__arena_take(&run->arena, count, sizeof *items, &items));
  for (size_t i = 0; i < count; i++) items[i] = of->as.items[start + (int64_t)i * step];
  value->as.items = items;
  return MICA_OK;
}
