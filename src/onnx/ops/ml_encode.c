/* Converts categories to numbers, and back. */
#include "onnx/ops/family.h"
#include "onnx/ops/ml.h"

#include <math.h>
#include <string.h>

/* The keys or the values of an encoder, in file order. They are texts, integers or reals, so at most one of the three
 * lists has elements. `count` is its length. */
typedef struct keys {
  mica__onnx_texts texts;
  mica__integers integers;
  mica__reals reals;
  int64_t count;
} keys;

/* Reads the keys from one of these attributes: the one that the node has. NULL stands for an attribute that the
 * operator does not define. out->count is 0 if the node has none. Returns false if an error was recorded. */
static bool read_keys(mica__lowering *l, const mica__onnx_node *node, const char *texts, const char *integers,
                      const char *reals, const char *tensor, keys *out) {
  const Onnx__AttributeProto *words = texts ? mica__onnx_attr(node, texts) : NULL;
  const Onnx__AttributeProto *whole = tensor ? mica__onnx_attr(node, tensor) : NULL;
  *out = (keys){0};
  if (words) out->texts = (mica__onnx_texts){.texts = words->strings, .count = words->n_strings};
  if (whole && whole->t) mica__onnx_texts_in(whole->t, &out->texts);
  if (integers) mica__onnx_ints(node, integers, &out->integers);
  const bool numbers = whole && whole->t && !out->texts.count;
  if ((reals || numbers) && !mica__ml_reals(l, node, reals ? reals : "", numbers ? tensor : NULL, &out->reals))
    return false;
  mica_dtype dtype;
  if (numbers && mica__lower_dtype(l, whole->t->data_type, &dtype) &&
      mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT) {
    int64_t *list = mica__lower_room(l, (size_t)out->reals.count + 1, sizeof *list);
    if (!list) return false;
    for (int64_t i = 0; i < out->reals.count; i++)
      list[i] = fabs(out->reals.values[i]) < 0x1p62 ? (int64_t)out->reals.values[i] : INT64_MAX;
    out->integers = (mica__integers){list, out->reals.count, out->reals.shape};
    out->reals = (mica__reals){0};
  }
  out->count = (int64_t)out->texts.count + out->integers.count + out->reals.count;
  return true;
}

static bool same_text(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b) {
  return a && b && a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

/* Returns, for each element of x, the index of the key with the same text, or k->count if no key has it. The elements
 * of x are indices into the list `own` of x's texts. */
static mica_value find_texts(mica__lowering *l, const mica__onnx_node *node, const keys *k, mica_value x,
                             const mica__onnx_texts *own) {
  int64_t cells = 0;
  const int64_t count = (int64_t)own->count + 1;
  if (!mica__lower_product(l, node, count, k->count, INT32_MAX, &cells)) return (mica_value){0};
  int64_t *to = mica__lower_room(l, (size_t)count, sizeof *to);
  for (int64_t i = 0; to && i < count; i++)
    while (to[i] < k->count && !same_text(&k->texts.texts[to[i]], mica__onnx_text_at(own, (size_t)i))) to[i]++;
  return to ? mica_gather(mica__ml_integers(l, MICA_SHAPE(count), to), x, 0) : (mica_value){0};
}

/* Returns the index, i64, of the key that equals each element of operand 0, or k->count if no key does. NaN equals
 * NaN. */
static mica_value find_keys(mica__lowering *l, const mica__onnx_node *node, const keys *k) {
  mica_value x = mica__lower_operand(l, node, 0), list = {0};
  const mica__onnx_texts *own = mica__lower_texts(l, node, 0);
  int64_t count = 0, cells = 0;
  if (!x.graph) return x;
  if ((own != NULL) != (k->texts.count > 0) || !k->count) {
    mica__lower_fail(l, node, MICA_E_FORMAT,
                     !k->count ? "the node has no categories; give cats_strings or cats_int64s"
                     : own     ? "the input holds texts, but the categories or keys are numbers"
                               : "the input holds numbers, but the categories or keys are texts");
    return (mica_value){0};
  }
  if (own) return find_texts(l, node, k, x, own);
  if (mica_shape_count(mica_value_shape(x), &count) != MICA_OK) {
    char text[MICA_SHAPE_TEXT];
    mica__lower_fail(l, node, MICA_E_SHAPE, "the input is %s, but its dimensions must be known",
                     mica_shape_format(mica_value_shape(x), text));
    return (mica_value){0};
  }
  if (!mica__lower_product(l, node, count, k->count, INT32_MAX, &cells)) return (mica_value){0};
  const mica_dtype dtype = k->integers.count ? MICA_I64 : is_floating(x) ? mica_value_dtype(x) : MICA_F32;
  const int32_t axis = mica_value_shape(x).rank;
  x = mica_unsqueeze(mica_cast(x, dtype), MICA_AXES(axis));
  list = k->integers.count ? mica__ml_integers(l, MICA_SHAPE(k->count), k->integers.values)
                           : mica__ml_constant(l, dtype, MICA_SHAPE(k->count), k->reals.values);
  mica_value same = mica_equal(x, list);
  if (dtype != MICA_I64) same = mica_logical_or(same, mica_logical_and(mica_isnan(x), mica_isnan(list)));
  int64_t none[MICA_MAX_RANK] = {0}, one[MICA_MAX_RANK] = {0};
  if (axis < MICA_MAX_RANK) one[axis] = 1;
  return mica_argmax(mica_pad(mica_cast(same, MICA_I32), none, one, MICA_PAD_MODE_CONSTANT, 1), -1, false);
}

/* Makes one-hot rows. An unknown category gives a row of zeros, or a row of NaN if the attribute `zeros` is 0, where
 * ONNX asks for an error. */
MICA__LOWER(ml_one_hot) {
  keys k;
  if (!read_keys(l, node, "cats_strings", "cats_int64s", NULL, NULL, &k)) return MICA_OK;
  const mica_value at = find_keys(l, node, &k);
  if (!at.graph) return MICA_OK;
  int64_t cells = 0;
  if (!mica__lower_product(l, node, k.count + 1, k.count, 1 << 26, &cells)) return MICA_OK;
  double *rows = mica__lower_room(l, (size_t)cells, sizeof *rows);
  if (!rows) return MICA_OK;
  for (int64_t i = 0; i < k.count; i++) rows[i * k.count + i] = 1;
  const bool zeros = mica__onnx_int(node, "zeros", 1) != 0;
  for (int64_t i = k.count * k.count; !zeros && i < cells; i++) rows[i] = (double)__builtin_nanf("");
  return give(l, node, mica_gather(mica__ml_constant(l, MICA_F32, MICA_SHAPE(k.count + 1, k.count), rows), at, 0));
}

/* Stores result 0: the value at each index of `at`. Index values->count, which find_keys gives to unknown keys, gives
 * the default value. */
static mica_status give_values(mica__lowering *l, const mica__onnx_node *node, const keys *values, mica_value at) {
  const Onnx__AttributeProto *whole = mica__onnx_attr(node, "values_tensor");
  const Onnx__AttributeProto *other = mica__onnx_attr(node, "default_tensor");
  const mica_shape shape = MICA_SHAPE(values->count + 1);
  mica_dtype dtype = values->integers.count ? MICA_I64 : MICA_F32, ignored;
  double standard = values->integers.count ? -1 : mica__onnx_real(node, "default_float", 0);
  if (values->texts.count) {
    mica__onnx_texts texts;
    mica__onnx_encoder_texts(node, &texts);
    mica__lower_text_result(l, node, 0, at, texts);
    return MICA_OK;
  }
  if (whole && whole->t && !mica__lower_dtype(l, whole->t->data_type, &dtype)) return MICA_E_DTYPE;
  if (other && other->t) MICA_TRY(mica__onnx_tensor_number(other->t, &ignored, &standard));
  if (values->integers.count) {
    int64_t *list = mica__lower_room(l, (size_t)values->count + 1, sizeof *list);
    if (!list) return MICA_OK;
    memcpy(list, values->integers.values, (size_t)values->count * sizeof *list);
    list[values->count] = mica__onnx_int(node, "default_int64", fabs(standard) < 0x1p62 ? (int64_t)standard : -1);
    return give(l, node, mica_cast(mica_gather(mica__ml_integers(l, shape, list), at, 0), dtype));
  }
  double *list = mica__lower_room(l, (size_t)values->count + 1, sizeof *list);
  if (!list) return MICA_OK;
  memcpy(list, values->reals.values, (size_t)values->count * sizeof *list);
  list[values->count] = standard;
  return give(l, node, mica_gather(mica__ml_constant(l, dtype, shape, list), at, 0));
}

MICA__LOWER(ml_label_encoder) {
  keys from, to;
  if (!read_keys(l, node, "keys_strings", "keys_int64s", "keys_floats", "keys_tensor", &from) ||
      !read_keys(l, node, "values_strings", "values_int64s", "values_floats", "values_tensor", &to))
    return MICA_OK;
  if (!from.count || from.count != to.count)
    return mica__lower_fail(
        l, node, MICA_E_FORMAT,
        "the node has %lld keys and %lld values, but must have one value per key and at least one key",
        (long long)from.count, (long long)to.count);
  const mica_value at = find_keys(l, node, &from);
  return at.graph ? give_values(l, node, &to, at) : MICA_OK;
}

/* Maps texts to integers, or integers back to texts. If `integers` is NULL (LabelEncoder of version 1), the texts are
 * numbered from 0. */
static mica_status map_categories(mica__lowering *l, const mica__onnx_node *node, const char *texts,
                                  const char *integers) {
  keys words, numbers;
  if (!read_keys(l, node, texts, NULL, NULL, NULL, &words) || !read_keys(l, node, NULL, integers, NULL, NULL, &numbers))
    return MICA_OK;
  if (!integers) {
    int64_t *list = mica__lower_room(l, (size_t)words.count + 1, sizeof *list);
    if (!list) return MICA_OK;
    for (int64_t i = 0; i < words.count; i++) list[i] = i;
    numbers.integers = (mica__integers){list, words.count, MICA_SHAPE(words.count)};
    numbers.count = words.count;
  }
  if (!words.count || words.count != numbers.count)
    return mica__lower_fail(
        l, node, MICA_E_FORMAT,
        "the node has %lld texts and %lld integers, but must have one integer per text and at least one text",
        (long long)words.count, (long long)numbers.count);
  const bool back = mica__lower_texts(l, node, 0) == NULL;
  const mica_value at = find_keys(l, node, back ? &numbers : &words);
  return at.graph ? give_values(l, node, back ? &words : &numbers, at) : MICA_OK;
}

MICA__LOWER(ml_category_mapper) { return map_categories(l, node, "cats_strings", "cats_int64s"); }

MICA__LOWER(ml_label_encoder_1) { return map_categories(l, node, "classes_strings", NULL); }
