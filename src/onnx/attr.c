/* Reads the attributes of nodes, and checks the axes and sizes that come from a file. */
#include "base/checked.h"
#include "onnx/lower.h"

#include <string.h>

const Onnx__AttributeProto *mica__onnx_attr(const mica__onnx_node *node, const char *name) {
  for (int32_t i = 0; i < node->attr_count; i++)
    if (!strcmp(mica__onnx_text(node->attrs[i]->name), name)) return node->attrs[i];
  return NULL;
}

int64_t mica__onnx_int(const mica__onnx_node *node, const char *name, int64_t standard) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  return attr && attr->has_i ? attr->i : standard;
}

double mica__onnx_real(const mica__onnx_node *node, const char *name, double standard) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  if (attr && !attr->has_f && attr->has_i) return (double)attr->i;
  return attr && attr->has_f ? (double)attr->f : standard;
}

bool mica__onnx_is(const mica__onnx_node *node, const char *name, const char *text) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  return attr && attr->has_s && attr->s.len == strlen(text) && !memcmp(attr->s.data, text, attr->s.len);
}

bool mica__onnx_ints(const mica__onnx_node *node, const char *name, mica__integers *out) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  *out = (mica__integers){0};
  if (!attr) return false;
  *out = (mica__integers){attr->ints, (int64_t)attr->n_ints, MICA_SHAPE((int64_t)attr->n_ints)};
  return true;
}

int32_t mica__lower_choice(mica__lowering *l, const mica__onnx_node *node, const char *name, const char *words,
                           int32_t standard) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  if (!attr || !attr->has_s || !attr->s.len) return standard;
  const char *text = (const char *)attr->s.data, *word = words;
  for (int32_t i = 0;; i++) {
    size_t n = strcspn(word, " ");
    if (n == attr->s.len && !memcmp(word, text, n)) return i;
    if (!word[n]) break;
    word += n + 1;
  }
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "%s is '%.*s'; the known values are: %s", name,
                   (int)(attr->s.len < 40 ? attr->s.len : 40), text, words);
  return 0;
}

bool mica__lower_product(mica__lowering *l, const mica__onnx_node *node, int64_t a, int64_t b, int64_t most,
                         int64_t *out) {
  if (a >= 0 && b >= 0 && mica__mul_i64(a, b, out) && *out <= most) return true;
  mica__lower_fail(l, node, MICA_E_INVALID,
                   "it has sizes of %lld and %lld; both must be known and 0 or above, and their product at most %lld",
                   (long long)a, (long long)b, (long long)most);
  return false;
}

bool mica__lower_positions(mica__lowering *l, const mica__onnx_node *node, int64_t count) {
  if (count >= 0 && count <= MICA__LOWER_POSITIONS) return true;
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the number of positions is %lld, but must be known and 0 to %d",
                   (long long)count, MICA__LOWER_POSITIONS);
  return false;
}

bool mica__lower_axis(mica__lowering *l, const mica__onnx_node *node, int32_t rank, int64_t *axis) {
  if (*axis >= -rank && *axis < rank) {
    if (*axis < 0) *axis += rank;
    return true;
  }
  mica__lower_fail(l, node, MICA_E_SHAPE,
                   "the axis is %lld, but must be at least -rank and below rank, and the rank is %d", (long long)*axis,
                   (int)rank);
  return false;
}

bool mica__lower_axes(mica__lowering *l, const mica__onnx_node *node, const mica__integers *list, int32_t rank,
                      mica_axes *axes) {
  uint32_t set = 0;
  *axes = (mica_axes){0};
  for (int64_t i = 0; i < list->count; i++) {
    int64_t axis = list->values[i];
    if (!mica__lower_axis(l, node, rank, &axis)) return false;
    if (set >> axis & 1) {
      mica__lower_fail(l, node, MICA_E_SHAPE, "axis %lld is named twice", (long long)axis);
      return false;
    }
    set |= 1u << axis;
    axes->axis[axes->count++] = (int32_t)axis;
  }
  return true;
}
