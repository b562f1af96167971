/* Initialisers of a file: constants, weights, and views and joins of them. */
#include "base/element.h"
#include "compile/template.h"
#include "onnx/write/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Computes the size of a value in bytes; false if its shape is open. */
static bool bytes_of(mica__type type, size_t *bytes) {
  int64_t count = 0;
  if (mica__write_is_open(type.shape) || mica_shape_count(type.shape, &count) != MICA_OK) return false;
  *bytes = (size_t)count * mica_dtype_size(type.dtype);
  return true;
}

void mica__write_elements(mica__onnx_writer *w, const char *name, mica_dtype dtype, mica_shape shape,
                          const void *data) {
  size_t bytes = 0;
  if (w->initial_count == w->initial_capacity) {
    const size_t capacity = w->initial_capacity ? 2 * w->initial_capacity : 64;
    mica__write_initial *grown = realloc(w->initials, capacity * sizeof *grown);
    if (grown) w->initials = grown, w->initial_capacity = capacity;
  }
  if (w->status == MICA_OK && w->initial_count == w->initial_capacity) w->status = mica__fail_nomem("initial values");
  if (w->status != MICA_OK || !bytes_of((mica__type){dtype, shape}, &bytes)) return;
  w->initials[w->initial_count++] = (mica__write_initial){name, dtype, shape, data, bytes};
}

const char *mica__write_tensor(mica__onnx_writer *w, const char *text, mica_dtype dtype, mica_shape shape,
                               const void *data) {
  const char *name = mica__write_name(w, text);
  mica__write_elements(w, name, dtype, shape, data);
  return name;
}

/* Finds an earlier small constant with the same elements; NULL if none exists. */
static const char *find_small(const mica__onnx_writer *w, mica_dtype dtype, mica_shape shape, const void *data,
                              size_t bytes) {
  for (size_t i = 0; i < w->initial_count; i++) {
    const mica__write_initial *initial = &w->initials[i];
    if (initial->dtype == dtype && initial->bytes == bytes && !strncmp(initial->name, "const_", 6) &&
        mica_shape_equal(initial->shape, shape) && !memcmp(initial->data, data, bytes))
      return initial->name;
  }
  return NULL;
}

static const char *small(mica__onnx_writer *w, mica_dtype dtype, mica_shape shape, const void *data, size_t bytes) {
  const char *there = find_small(w, dtype, shape, data, bytes);
  char name[32];
  if (there) return there;
  void *copy = mica__write_room(w, bytes);
  if (!copy) return "";
  memcpy(copy, data, bytes);
  snprintf(name, sizeof name, "const_%zu", w->initial_count);
  return mica__write_tensor(w, name, dtype, shape, copy);
}

const char *mica__write_scalar(mica__onnx_writer *w, mica_dtype dtype, double value) {
  unsigned char element[8] = {0};
  mica__element_set(dtype, element, 0, value);
  return small(w, dtype, MICA_SCALAR, element, mica_dtype_size(dtype));
}

const char *mica__write_integers(mica__onnx_writer *w, const int64_t *values, size_t count) {
  static const int64_t none[1];
  return small(w, MICA_I64, MICA_SHAPE((int64_t)count), count ? values : none, count * sizeof *values);
}

/* --- elements --- */

static const void *known_parameter(mica__onnx_writer *w, int32_t id, const mica__node *node, size_t bytes) {
  mica_session *session = w->config->session;
  mica_tensor *tensor = session ? mica_session_parameter(session, node->name) : NULL;
  char has[MICA_SHAPE_TEXT], needs[MICA_SHAPE_TEXT];
  if (!tensor) {
    mica__write_fail(w, id,
                     session ? "the session has no parameter of this name"
                             : "the parameter's values are in a session, but config.session is NULL");
    return NULL;
  }
  if (mica_tensor_dtype(tensor) != node->type.dtype || !mica_shape_equal(mica_tensor_shape(tensor), node->type.shape)) {
    mica__write_fail(w, id, "the session's parameter is %s %s, but the graph's is %s %s",
                     mica_dtype_name(mica_tensor_dtype(tensor)), mica_shape_format(mica_tensor_shape(tensor), has),
                     mica_dtype_name(node->type.dtype), mica_shape_format(node->type.shape, needs));
    return NULL;
  }
  void *data = mica__write_room(w, bytes);
  if (data && bytes)
    w->status = mica_tensor_download(mica_engine_queue(mica_tensor_engine(tensor)), tensor, data, bytes);
  return w->status == MICA_OK ? data : NULL;
}

static const void *known_full(mica__onnx_writer *w, const mica__node *node, size_t bytes) {
  void *data = mica__write_room(w, bytes);
  const size_t size = mica_dtype_size(node->type.dtype);
  for (size_t i = 0; data && i < bytes / size; i++)
    mica__element_set(node->type.dtype, data, (int64_t)i, mica__full_value(node));
  return data;
}

/* Copies the elements of a view. */
static const void *known_view(mica__onnx_writer *w, const mica__node *node, size_t bytes) {
  mica__access access = {0};
  const mica_shape shape = node->type.shape;
  int64_t index[MICA_MAX_RANK] = {0};
  const size_t size = mica_dtype_size(node->type.dtype);
  const char *from = mica__write_known(w, node->inputs[0]);
  char *to = from ? mica__write_room(w, bytes) : NULL;
  if (!to || !node->op->view(node, mica__write_type_of(w, node->inputs[0]).shape, &access)) return NULL;
  for (size_t i = 0; i < bytes / size; i++) {
    int64_t at = access.offset;
    for (int32_t k = 0; k < shape.rank; k++) at += access.stride[k] * index[k];
    memcpy(to + i * size, from + (size_t)at * size, size);
    for (int32_t k = shape.rank - 1; k >= 0 && ++index[k] == shape.dim[k]; k--) index[k] = 0;
  }
  return to;
}

static const void *known_concat(mica__onnx_writer *w, const mica__node *node, size_t bytes) {
  const int64_t axis = mica__node_int(node, "axis");
  size_t row = mica_dtype_size(node->type.dtype), outer = 1, at = 0;
  for (int32_t k = 0; k < node->type.shape.rank; k++) *(k < axis ? &outer : &row) *= (size_t)node->type.shape.dim[k];
  char *to = mica__write_room(w, bytes);
  for (int32_t p = 0; to && p < node->input_count; p++) {
    size_t part = 0;
    const char *from = mica__write_known(w, node->inputs[p]);
    if (!from || !bytes_of(mica__write_type_of(w, node->inputs[p]), &part)) return NULL;
    part = outer ? part / outer : 0;
    for (size_t o = 0; o < outer; o++) memcpy(to + o * row + at, from + o * part, part);
    at += part;
  }
  return to;
}

/* Converts a floating constant to another floating type. */
static const void *known_cast(mica__onnx_writer *w, const mica__node *node, size_t bytes) {
  const mica__node *from = mica__graph_node(w->graph, node->inputs[0]);
  const mica_dtype was = from->type.dtype, is = node->type.dtype;
  void *data = from->op == &mica__op_constant && mica__dtype_in(was, 'f', NULL) && mica__dtype_in(is, 'f', NULL)
                   ? mica__write_room(w, bytes)
                   : NULL;
  for (size_t i = 0; data && i < bytes / mica_dtype_size(is); i++)
    mica__element_set(is, data, (int64_t)i, mica__element_get(was, from->data, (int64_t)i));
  return data;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as views are nested. */
const void *mica__write_known(mica__onnx_writer *w, int32_t id) {
  size_t bytes = 0;
  id = mica__write_passed(w->graph, id);
  const mica__node *node = mica__graph_node(w->graph, id);
  if (w->status != MICA_OK || node->result || !bytes_of(node->type, &bytes)) return NULL;
  for (size_t i = 0; w->names[id - 1] && i < w->initial_count; i++)
    if (w->initials[i].name == w->names[id - 1]) return w->initials[i].data;
  if (node->op == &mica__op_constant) return node->data;
  if (node->op == &mica__op_full) return known_full(w, node, bytes);
  if (node->op == &mica__op_parameter) return known_parameter(w, id, node, bytes);
  if (!strcmp(node->op->name, "cast")) return known_cast(w, node, bytes);
  if (node->op->kind == MICA__OP_VIEW && node->input_count == 1) return known_view(w, node, bytes);
  return !strcmp(node->op->name, "concat") ? known_concat(w, node, bytes) : NULL;
}
