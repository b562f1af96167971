/* Operators on sequences: lists of values that exist only during lowering. A sequence needs no work on the device. Its
 * length and the positions in it must be known on the host. */
#include "onnx/lowering.h"

#include <string.h>

/* Allocates a list of `count` values; NULL, with an error recorded, on failure. */
static mica__lower_list *new_list(mica__lowering *l, int64_t count) {
  mica__lower_list *list = mica__lower_room(l, 1, sizeof *list);
  mica_value *values = mica__lower_room(l, (size_t)count, sizeof *values);
  if (!list || !values) return NULL;
  *list = (mica__lower_list){values, count};
  return list;
}

static const mica__lower_list *list_of(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  const mica__lower_value *found = NULL;
  if (k < node->input_count && *node->inputs[k]) found = mica__scope_find(l, node->inputs[k]);
  if (found && found->list) return found->list;
  mica__lower_fail(l, node, MICA_E_FORMAT, "operand %d is absent or not a sequence", (int)k);
  return NULL;
}

static mica_status give_list(mica__lowering *l, const mica__onnx_node *node, const mica__lower_list *list) {
  if (!list || !mica__lower_wants(node, 0)) return l->status;
  return mica__scope_put(l, node->outputs[0], (mica__lower_value){.list = list});
}

static mica_status give(mica__lowering *l, const mica__onnx_node *node, mica_value value) {
  mica__lower_result(l, node, 0, value);
  return MICA_OK;
}

/* Reads operand k as a position in a sequence of `count` values; `standard` is used if the operand is absent. A
 * negative position counts from the end. *at receives the position, 0 to `last`. False if the position is not known or,
 * with an error recorded, out of range. */
static bool position(mica__lowering *l, const mica__onnx_node *node, int32_t k, int64_t count, int64_t last,
                     int64_t standard, int64_t *at) {
  mica__integers given;
  if (!mica__lower_integers(l, node, k, &given)) return false;
  *at = given.count ? given.values[0] : standard;
  if (*at < 0) *at += count;
  if (*at >= 0 && *at <= last) return true;
  mica__lower_fail(l, node, MICA_E_SHAPE, "position %lld is outside the sequence of length %lld",
                   (long long)(given.count ? given.values[0] : standard), (long long)count);
  return false;
}

MICA__LOWER(sequence_empty) { return give_list(l, node, new_list(l, 0)); }

MICA__LOWER(sequence_construct) {
  mica__lower_list *list = new_list(l, node->input_count);
  for (int32_t k = 0; list && k < node->input_count; k++) {
    list->values[k] = mica__lower_operand(l, node, k);
    if (!list->values[k].graph) return MICA_OK;
  }
  return give_list(l, node, list);
}

MICA__LOWER(sequence_insert) {
  int64_t at = 0;
  const mica__lower_list *old = list_of(l, node, 0);
  mica_value value = mica__lower_operand(l, node, 1);
  if (!old || !value.graph || !position(l, node, 2, old->count, old->count, old->count, &at)) return MICA_OK;
  mica__lower_list *list = new_list(l, old->count + 1);
  if (!list) return MICA_E_NOMEM;
  memcpy(list->values, old->values, (size_t)at * sizeof *list->values);
  memcpy(list->values + at + 1, old->values + at, (size_t)(old->count - at) * sizeof *list->values);
  list->values[at] = value;
  return give_list(l, node, list);
}

MICA__LOWER(sequence_erase) {
  int64_t at = 0;
  const mica__lower_list *old = list_of(l, node, 0);
  if (!old || !position(l, node, 1, old->count, old->count - 1, old->count - 1, &at)) return MICA_OK;
  mica__lower_list *list = new_list(l, old->count - 1);
  if (!list) return MICA_E_NOMEM;
  memcpy(list->values, old->values, (size_t)at * sizeof *list->values);
  memcpy(list->values + at, old->values + at + 1, (size_t)(old->count - 1 - at) * sizeof *list->values);
  return give_list(l, node, list);
}

MICA__LOWER(sequence_at) {
  int64_t at = 0;
  const mica__lower_list *list = list_of(l, node, 0);
  if (!list || !position(l, node, 1, list->count, list->count - 1, 0, &at)) return MICA_OK;
  return give(l, node, list->values[at]);
}

MICA__LOWER(sequence_length) {
  const mica__lower_list *list = list_of(l, node, 0);
  return list ? give(l, node, mica__lower_integer_constant(l, &list->count, 1, 0)) : MICA_OK;
}

MICA__LOWER(concat_from_sequence) {
  const mica__lower_list *list = list_of(l, node, 0);
  int64_t axis = mica__onnx_int(node, "axis", 0), stacks = mica__onnx_int(node, "new_axis", 0) != 0;
  if (!list) return MICA_OK;
  mica_value *values = mica__lower_room(l, (size_t)list->count, sizeof *values);
  if (!values) return MICA_E_NOMEM;
  if (!list->count)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the sequence is empty, but must have at least one value");
  if (!mica__lower_axis(l, node, mica_value_shape(list->values[0]).rank + (int32_t)stacks, &axis)) return MICA_OK;
  for (int64_t i = 0; i < list->count; i++)
    values[i] = stacks ? mica_unsqueeze(list->values[i], MICA_AXES((int32_t)axis)) : list->values[i];
  if (list->count == 1) return give(l, node, values[0]);
  return give(l, node, mica_concat(values, (size_t)list->count, (int32_t)axis));
}

/* Computes the sizes of the parts into which SplitToSequence cuts an axis. The operand is a list of sizes, or a single
 * size for all parts; the last part may then be smaller. Without the operand the size is 1. */
static mica_status part_sizes(mica__lowering *l, const mica__onnx_node *node, const mica__integers *given,
                              int64_t extent, mica__integers *sizes) {
  *sizes = *given;
  if (given->shape.rank == 1 && (given->count || extent == 0)) return MICA_OK;
  if (given->shape.rank == 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "split is empty, but the axis has %lld elements (-1: not known)",
                            (long long)extent);
  int64_t size = given->count ? given->values[0] : 1, count = size > 0 ? extent / size + (extent % size != 0) : 0;
  if (size < 1)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "split is %lld, but must be at least 1", (long long)size);
  if (extent < 0)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "the extent of the axis is not known; give split as a list of sizes, or a fixed shape");
  if (count > 65536)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "parts of size %lld cut the axis of extent %lld into %lld parts, but at most 65536 are "
                            "supported",
                            (long long)size, (long long)extent, (long long)count);
  int64_t *values = mica__lower_room(l, (size_t)count, sizeof *values);
  if (!values && count) return l->status;
  for (int64_t i = 0; i < count; i++) values[i] = i + 1 < count ? size : extent - i * size;
  *sizes = (mica__integers){values, count, MICA_SHAPE(count)};
  return MICA_OK;
}

MICA__LOWER(split_to_sequence) {
  mica__integers given, sizes;
  mica_value x = mica__lower_operand(l, node, 0);
  int64_t axis = mica__onnx_int(node, "axis", 0);
  bool drops = !mica__lower_has(l, node, 1) && !mica__onnx_int(node, "keepdims", 1);
  if (!mica__lower_integers(l, node, 1, &given) || !x.graph) return MICA_OK;
  if (!mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  MICA_TRY(part_sizes(l, node, &given, mica_value_shape(x).dim[axis], &sizes));
  mica__lower_list *list = new_list(l, sizes.count);
  if (!list) return MICA_E_NOMEM;
  if (sizes.count) mica_split(x, (int32_t)axis, sizes.values, (size_t)sizes.count, list->values);
  for (int64_t i = 0; i < sizes.count; i++) {
    if (drops) list->values[i] = mica_squeeze(list->values[i], MICA_AXES((int32_t)axis));
    list->values[i] = mica__lower_fold(l, list->values[i]);
  }
  return give_list(l, node, list);
}
