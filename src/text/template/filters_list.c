/* Filters of lists. Where Python's filters return generators, these return lists. */
#include "text/template/tables.h"

#include <string.h>

#define ARGUMENTS mica__render *run, const mica__object *self, const mica__arguments *call, mica__object *result

static mica_status take(mica__render *run, size_t count, mica__object **items) {
  MICA_TRY(mica__render_step(run, count * sizeof **items));
  return mica__arena_take(&run->arena, count, sizeof **items, items);
}

/* For select and map: the items of `of`, or no items if `of` is false in Jinja's sense. */
static mica_status items_or_none(mica__render *run, const mica__object *of, const mica__object **items, size_t *count) {
  const mica__object none = mica__object_list(NULL, 0);
  return mica__render_items(run, mica__object_is_true(of) ? of : &none, items, count);
}

static mica_status copy_items(mica__render *run, const mica__object *of, mica__object **items, size_t *count) {
  const mica__object *shared = NULL;
  MICA_TRY(mica__render_items(run, of, &shared, count));
  MICA_TRY(take(run, *count, items));
  if (*count) memcpy(*items, shared, *count * sizeof **items);
  return MICA_OK;
}

static mica_status make_tuple(mica__render *run, const mica__object *first, const mica__object *second,
                              mica__object *result) {
  mica__object *items = NULL;
  MICA_TRY(take(run, 2, &items));
  items[0] = *first;
  items[1] = *second;
  *result = (mica__object){.kind = MICA__OBJECT_TUPLE, .as.items = items, .count = 2};
  return MICA_OK;
}

mica_status mica__follow(mica__render *run, const mica__object *of, const mica__object *path, mica__object *value) {
  *value = *of;
  if (path->kind != MICA__OBJECT_TEXT) return mica__render_item(run, of, path, value);
  for (size_t from = 0; from <= path->count;) {
    const char *s = path->as.text + from, *dot = memchr(s, '.', path->count - from);
    const size_t bytes = dot ? (size_t)(dot - s) : path->count - from;
    mica__object key = mica__object_text(s, bytes), found;
    int64_t n = 0;
    size_t digits = 0;
    while (digits < bytes && digits < 18 && s[digits] >= '0' && s[digits] <= '9') n = 10 * n + (s[digits++] - '0');
    if (bytes > 0 && digits == bytes) key = mica__object_integer(n);
    MICA_TRY(mica__render_item(run, value, &key, &found));
    *value = found;
    from += bytes + 1;
  }
  return MICA_OK;
}

/* --- sizes and ends --- */

mica_status mica__filter_length(ARGUMENTS) {
  (void)call;
  const mica__object *items = NULL;
  size_t count = 0;
  if (self->kind == MICA__OBJECT_TEXT)
    count = mica__characters(self->as.text, self->count);
  else
    MICA_TRY(mica__render_items(run, self, &items, &count));
  return *result = mica__object_integer((int64_t)count), MICA_OK;
}

mica_status mica__filter_first(ARGUMENTS) {
  (void)call;
  const mica__object *items = NULL;
  size_t count = 0;
  MICA_TRY(mica__render_items(run, self, &items, &count));
  if (count == 0) return mica__render_make_undefined(run, result, "No first item, sequence was empty.");
  return *result = items[0], MICA_OK;
}

mica_status mica__filter_last(ARGUMENTS) {
  (void)call;
  const mica__object *items = NULL;
  size_t count = 0;
  MICA_TRY(mica__render_items(run, self, &items, &count));
  if (count == 0) return mica__render_make_undefined(run, result, "No last item, sequence was empty.");
  return *result = items[count - 1], MICA_OK;
}

mica_status mica__filter_list(ARGUMENTS) {
  (void)call;
  mica__object *items = NULL;
  size_t count = 0;
  MICA_TRY(copy_items(run, self, &items, &count));
  return *result = mica__object_list(items, count), MICA_OK;
}

mica_status mica__filter_reverse(ARGUMENTS) {
  (void)call;
  mica__object *items = NULL;
  size_t count = 0;
  MICA_TRY(copy_items(run, self, &items, &count));
  for (size_t i = 0; i < count / 2; i++) {
    const mica__object other = items[i];
    items[i] = items[count - 1 - i];
    items[count - 1 - i] = other;
  }
  *result = mica__object_list(items, count);
  if (self->kind != MICA__OBJECT_TEXT) return MICA_OK;
  mica__text made = {0};
  for (size_t i = 0; i < count; i++) mica__text_add_bytes(&made, items[i].as.text, items[i].count);
  return mica__render_keep(run, &made, result);
}

mica_status mica__filter_items(ARGUMENTS) {
  (void)call;
  mica__object *items = NULL;
  if (self->kind == MICA__OBJECT_UNDEFINED) return *result = mica__object_list(NULL, 0), MICA_OK;
  if (self->kind != MICA__OBJECT_DICT)
    return mica__fail(MICA_E_FORMAT, "items needs a dict, not a value of type %s", mica__object_type(self));
  const mica__dict *dict = self->as.dict;
  MICA_TRY(take(run, dict->count, &items));
  for (size_t i = 0; i < dict->count; i++) MICA_TRY(make_tuple(run, &dict->keys[i], &dict->values[i], &items[i]));
  return *result = mica__object_list(items, dict->count), MICA_OK;
}

mica_status mica__filter_attribute(ARGUMENTS) {
  mica__object name;
  MICA_TRY(mica__argument_text(call->bound[0], "the name of an attribute", &name));
  if (self->kind == MICA__OBJECT_DICT && !mica__template_method(self->kind, name.as.text, name.count))
    return mica__render_make_undefined(run, result, "'dict object' has no attribute '%.*s'",
                                       mica__text_shown(name.count), name.as.text);
  return mica__render_attribute(run, self, name.as.text, name.count, result);
}

/* --- texts and sums --- */

mica_status mica__filter_join(ARGUMENTS) {
  const mica__object *items = NULL, *attribute = call->bound[1];
  mica__object between = mica__object_text("", 0), item, text;
  mica__text made = {0};
  size_t count = 0;
  mica_status status = MICA_OK;
  if (call->bound[0]) MICA_TRY(mica__render_text(run, call->bound[0], &between));
  MICA_TRY(mica__render_items(run, self, &items, &count));
  for (size_t i = 0; i < count && status == MICA_OK; i++) {
    item = items[i];
    if (attribute && attribute->kind != MICA__OBJECT_NONE) status = mica__follow(run, &items[i], attribute, &item);
    if (status == MICA_OK) status = mica__render_text(run, &item, &text);
    if (status == MICA_OK) status = mica__render_step(run, text.count + between.count);
    if (status != MICA_OK) break;
    if (i > 0) mica__text_add_bytes(&made, between.as.text, between.count);
    mica__text_add_bytes(&made, text.as.text, text.count);
    if (made.length > MICA__MOST_TEMPLATE_OUTPUT)
      status = mica__fail(MICA_E_FORMAT, "a joined text has more than %zu MiB", MICA__MOST_TEMPLATE_OUTPUT >> 20);
  }
  if (status == MICA_OK) return mica__render_keep(run, &made, result);
  mica__text_free(&made);
  return status;
}

mica_status mica__filter_sum(ARGUMENTS) {
  const mica__object *items = NULL, *attribute = call->bound[0];
  mica__object sum = call->bound[1] ? *call->bound[1] : mica__object_integer(0), item;
  size_t count = 0;
  MICA_TRY(mica__render_items(run, self, &items, &count));
  for (size_t i = 0; i < count; i++) {
    item = items[i];
    if (attribute && attribute->kind != MICA__OBJECT_NONE) MICA_TRY(mica__follow(run, &items[i], attribute, &item));
    MICA_TRY(mica__render_operate(run, MICA__OPERATOR_ADD, &sum, &item, result));
    sum = *result;
  }
  return *result = sum, MICA_OK;
}

/* --- orders --- */

/* Finds the sort key of an item. It is the item itself or, if `attribute` is given, that attribute of the item. A text
 * is changed to lower case unless `cases`. */
static mica_status key_of(mica__render *run, const mica__object *item, const mica__object *attribute, bool cases,
                          mica__object *key) {
  *key = *item;
  if (attribute && attribute->kind != MICA__OBJECT_NONE) MICA_TRY(mica__follow(run, item, attribute, key));
  return cases || key->kind != MICA__OBJECT_TEXT ? MICA_OK : mica__lower_text(run, key, false, key);
}

static mica_status keys_of(mica__render *run, const mica__object *items, size_t count, const mica__object *attribute,
                           bool cases, mica__object **keys) {
  MICA_TRY(take(run, count, keys));
  for (size_t i = 0; i < count; i++) MICA_TRY(key_of(run, &items[i], attribute, cases, &(*keys)[i]));
  return MICA_OK;
}

/* Merges two sorted runs, [begin, middle) and [middle, end), of from[0] (items) and from[1] (their keys) into `to`. */
static mica_status merge(mica__render *run, mica__object *const from[2], mica__object *const to[2], size_t begin,
                         size_t middle, size_t end, bool reverse) {
  size_t left = begin, right = middle;
  for (size_t k = begin; k < end; k++) {
    int order = 0;
    MICA_TRY(mica__render_step(run, 0));
    if (left < middle && right < end)
      MICA_TRY(mica__object_compare(&run->arena, &from[1][left], &from[1][right], &order));
    const bool takes_left = right >= end || (left < middle && (reverse ? order >= 0 : order <= 0));
    const size_t i = takes_left ? left++ : right++;
    to[0][k] = from[0][i];
    to[1][k] = from[1][i];
  }
  return MICA_OK;
}

mica_status mica__sort_items(mica__render *run, mica__object *items, mica__object *keys, size_t count, bool reverse) {
  mica__object *more[2] = {NULL, NULL}, *here[2] = {items, keys};
  MICA_TRY(take(run, count, &more[0]));
  MICA_TRY(take(run, count, &more[1]));
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = begin + width < count ? begin + width : count;
      const size_t end = middle + width < count ? middle + width : count;
      MICA_TRY(merge(run, here, more, begin, middle, end, reverse));
    }
    for (int i = 0; i < 2; i++) memcpy(here[i], more[i], count * sizeof **here);
  }
  return MICA_OK;
}

mica_status mica__filter_sort(ARGUMENTS) {
  mica__object *items = NULL, *keys = NULL;
  size_t count = 0;
  MICA_TRY(copy_items(run, self, &items, &count));
  MICA_TRY(keys_of(run, items, count, call->bound[2], mica__argument_is_true(call->bound[1]), &keys));
  MICA_TRY(mica__sort_items(run, items, keys, count, mica__argument_is_true(call->bound[0])));
  return *result = mica__object_list(items, count), MICA_OK;
}

mica_status mica__filter_dictsort(ARGUMENTS) {
  mica__object pairs, *items = NULL, *keys = NULL;
  size_t count = 0;
  const mica__object by = mica__object_integer(call->bound[1] && mica__object_equals_text(call->bound[1], "value"));
  MICA_TRY(mica__filter_items(run, self, &(mica__arguments){0}, &pairs));
  MICA_TRY(copy_items(run, &pairs, &items, &count));
  MICA_TRY(keys_of(run, items, count, &by, mica__argument_is_true(call->bound[0]), &keys));
  MICA_TRY(mica__sort_items(run, items, keys, count, mica__argument_is_true(call->bound[2])));
  return *result = mica__object_list(items, count), MICA_OK;
}

static mica_status extreme(mica__render *run, const mica__object *self, const mica__arguments *call, bool largest,
                           mica__object *result) {
  const mica__object *items = NULL;
  mica__object *keys = NULL;
  size_t count = 0, best = 0;
  MICA_TRY(mica__render_items(run, self, &items, &count));
  if (count == 0) return mica__render_make_undefined(run, result, "No aggregated item, sequence was empty.");
  MICA_TRY(keys_of(run, items, count, call->bound[1], mica__argument_is_true(call->bound[0]), &keys));
  for (size_t i = 1; i < count; i++) {
    int order = 0;
    MICA_TRY(mica__object_compare(&run->arena, &keys[i], &keys[best], &order));
    if (largest ? order > 0 : order < 0) best = i;
  }
  return *result = items[best], MICA_OK;
}

mica_status mica__filter_largest(ARGUMENTS) { return extreme(run, self, call, true, result); }
mica_status mica__filter_smallest(ARGUMENTS) { return extreme(run, self, call, false, result); }

mica_status mica__filter_unique(ARGUMENTS) {
  mica__object *items = NULL, *keys = NULL;
  mica__dict *seen = NULL;
  const mica__object none = mica__object_none();
  size_t count = 0, kept = 0;
  MICA_TRY(copy_items(run, self, &items, &count));
  MICA_TRY(keys_of(run, items, count, call->bound[1], mica__argument_is_true(call->bound[0]), &keys));
  MICA_TRY(mica__dict_create(&run->arena, &seen));
  for (size_t i = 0; i < count; i++) {
    if (mica__dict_find(&run->arena, seen, &keys[i])) continue;
    MICA_TRY(mica__dict_set(&run->arena, seen, &keys[i], &none));
    items[kept++] = items[i];
  }
  return *result = mica__object_list(items, kept), MICA_OK;
}

/* Makes tuples of a key and the items with that key. */
mica_status mica__filter_groupby(ARGUMENTS) {
  mica__object *items = NULL, *keys = NULL, *groups = NULL;
  size_t count = 0, made = 0;
  if (!call->bound[0]) return mica__fail(MICA_E_FORMAT, "groupby needs an attribute");
  MICA_TRY(copy_items(run, self, &items, &count));
  MICA_TRY(keys_of(run, items, count, call->bound[0], mica__argument_is_true(call->bound[2]), &keys));
  for (size_t i = 0; i < count && call->bound[1]; i++)
    if (keys[i].kind == MICA__OBJECT_UNDEFINED) keys[i] = *call->bound[1];
  MICA_TRY(mica__sort_items(run, items, keys, count, false));
  MICA_TRY(take(run, count, &groups));
  for (size_t i = 0, end; i < count; i = end) {
    mica__object first;
    for (end = i + 1; end < count && mica__object_equal(&run->arena, &keys[i], &keys[end]);) end++;
    const mica__object members = mica__object_list(items + i, end - i);
    MICA_TRY(key_of(run, &items[i], call->bound[0], true, &first));
    if (first.kind == MICA__OBJECT_UNDEFINED) first = keys[i];
    MICA_TRY(make_tuple(run, &first, &members, &groups[made++]));
  }
  return *result = mica__object_list(groups, made), MICA_OK;
}

/* --- parts --- */

mica_status mica__filter_batch(ARGUMENTS) {
  mica__object *items = NULL, *rows = NULL;
  const mica__object *fill = call->bound[1];
  size_t count = 0, made = 0;
  int64_t width;
  MICA_TRY(copy_items(run, self, &items, &count));
  MICA_TRY(mica__argument_integer(call->bound[0], 0, &width));
  if (width < 1)
    return mica__fail(MICA_E_FORMAT, "the number of items of a batch is %lld, but must be at least 1",
                      (long long)width);
  MICA_TRY(take(run, count, &rows));
  for (size_t i = 0; i < count; i += rows[made++].count) {
    const size_t n = count - i < (size_t)width ? count - i : (size_t)width;
    rows[made] = mica__object_list(items + i, n);
    if (n == (size_t)width || !fill || fill->kind == MICA__OBJECT_NONE) continue;
    mica__object *last = NULL;
    MICA_TRY(take(run, (size_t)width, &last));
    for (size_t k = 0; k < (size_t)width; k++) last[k] = k < n ? items[i + k] : *fill;
    rows[made] = mica__object_list(last, (size_t)width);
  }
  return *result = mica__object_list(rows, made), MICA_OK;
}

mica_status mica__filter_slice(ARGUMENTS) {
  mica__object *items = NULL, *rows = NULL;
  const mica__object *fill = call->bound[1];
  size_t count = 0, from = 0;
  int64_t slices;
  MICA_TRY(copy_items(run, self, &items, &count));
  MICA_TRY(mica__argument_integer(call->bound[0], 0, &slices));
  if (slices < 1)
    return mica__fail(MICA_E_FORMAT, "the number of slices is %lld, but must be at least 1", (long long)slices);
  MICA_TRY(take(run, (size_t)slices, &rows));
  const size_t each = count / (size_t)slices, longer = count % (size_t)slices;
  for (size_t i = 0; i < (size_t)slices; i++) {
    const size_t n = each + (i < longer);
    rows[i] = mica__object_list(items + from, n);
    from += n;
    if (!fill || fill->kind == MICA__OBJECT_NONE || i < longer) continue;
    mica__object *filled = NULL;
    MICA_TRY(take(run, n + 1, &filled));
    if (n) memcpy(filled, rows[i].as.items, n * sizeof *filled);
    filled[n] = *fill;
    rows[i] = mica__object_list(filled, n + 1);
  }
  return *result = mica__object_list(rows, (size_t)slices), MICA_OK;
}

/* --- items that a test or a filter chooses or changes --- */

/* The call's arguments without its first `count` positional arguments. */
static mica__arguments rest_of(const mica__arguments *call, size_t count) {
  mica__arguments rest = *call;
  rest.items += count;
  rest.count -= count;
  return rest;
}

static mica_status choose(mica__render *run, const mica__object *self, const mica__arguments *call, bool attributes,
                          bool keep, mica__object *result) {
  mica__object *kept = NULL, name;
  const mica__object *items = NULL;
  size_t count = 0, made = 0;
  const size_t at = attributes ? 1 : 0;
  const mica__native_row *test = NULL;
  MICA_TRY(items_or_none(run, self, &items, &count));
  MICA_TRY(take(run, count, &kept));
  if (attributes && call->count == 0)
    return mica__fail(MICA_E_FORMAT, "selectattr and rejectattr need the name of an attribute");
  if (call->count > at) {
    MICA_TRY(mica__argument_text(&call->items[at], "the name of a test", &name));
    test = mica__template_test(name.as.text, name.count);
    if (!test)
      return mica__fail(MICA_E_UNSUPPORTED, "Mica has no test '%.*s'", mica__text_shown(name.count), name.as.text);
  }
  const mica__arguments rest = test ? rest_of(call, at + 1) : (mica__arguments){0};
  for (size_t i = 0; i < count; i++) {
    mica__object value = items[i], holds;
    if (attributes) MICA_TRY(mica__follow(run, &items[i], &call->items[0], &value));
    holds = value;
    if (test) MICA_TRY(mica__native_call(run, test, &value, &rest, &holds));
    MICA_TRY(mica__render_step(run, 0));
    if (mica__object_is_true(&holds) == keep) kept[made++] = items[i];
  }
  return *result = mica__object_list(kept, made), MICA_OK;
}

mica_status mica__filter_select(ARGUMENTS) { return choose(run, self, call, false, true, result); }
mica_status mica__filter_reject(ARGUMENTS) { return choose(run, self, call, false, false, result); }
mica_status mica__filter_selectattr(ARGUMENTS) { return choose(run, self, call, true, true, result); }
mica_status mica__filter_rejectattr(ARGUMENTS) { return choose(run, self, call, true, false, result); }

static const mica__object *named(const mica__arguments *call, const char *name) {
  for (size_t i = 0; i < call->named; i++)
    if (mica__object_equals_text(&call->names[i], name)) return &call->values[i];
  return NULL;
}

mica_status mica__filter_map(ARGUMENTS) {
  mica__object *made = NULL, name;
  const mica__object *items = NULL, *attribute = named(call, "attribute"), *fallback = named(call, "default");
  size_t count = 0;
  const mica__native_row *filter = NULL;
  MICA_TRY(items_or_none(run, self, &items, &count));
  MICA_TRY(take(run, count, &made));
  if (!attribute) {
    MICA_TRY(mica__argument_text(call->count ? &call->items[0] : NULL, "the name of a filter", &name));
    filter = mica__template_filter(name.as.text, name.count);
    if (!filter)
      return mica__fail(MICA_E_UNSUPPORTED, "Mica has no filter '%.*s'", mica__text_shown(name.count), name.as.text);
  }
  const mica__arguments rest = filter ? rest_of(call, 1) : (mica__arguments){0};
  for (size_t i = 0; i < count; i++) {
    if (filter) {
      MICA_TRY(mica__native_call(run, filter, &items[i], &rest, &made[i]));
    } else {
      MICA_TRY(mica__follow(run, &items[i], attribute, &made[i]));
      if (made[i].kind == MICA__OBJECT_UNDEFINED && fallback) made[i] = *fallback;
    }
    MICA_TRY(mica__render_step(run, 0));
  }
  return *result = mica__object_list(made, count), MICA_OK;
}
