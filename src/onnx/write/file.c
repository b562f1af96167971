/* Writes the file: messages of protobuf-c, with weights inside or in a second file. */
#include "onnx/write/writer.h"

#include "base/byte_order.h"
#include "base/file.h"
#include "base/text.h"

#include <mica/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STANDARD_INSIDE ((uint64_t)1 << 30)
/* Weights in the second file begin at multiples of a page, so that they can be mapped. */
#define PAGE 4096
/* A weight needs at least this many bytes to go into the second file. Smaller ones stay in the model. They include the
 * operands of Reshape and similar operators, so that all shapes are known without the second file. */
#define LEAST_OUTSIDE 1024
/* The number of names for the second file. A killed write may leave a file with one of them; the next write that needs
 * a second file removes it. */
#define NAMES 9

static char *text_of(const char *text) { return (char *)(uintptr_t)text; }

static char *copy_text(mica__onnx_writer *w, const char *text) {
  char *copy = mica__write_room(w, strlen(text) + 1);
  if (copy) strcpy(copy, text);
  return copy;
}

/* --- ports --- */

/* The name of an open extent, one that is known only when the model runs. Extents of axis 0, the batch, have the same
 * name in all inputs and outputs. */
static char *open_name(mica__onnx_writer *w, const char *port, int32_t axis) {
  char text[128];
  if (!axis) return text_of("N");
  snprintf(text, sizeof text, "%.100s_%d", port, (int)axis);
  return copy_text(w, text);
}

static Onnx__TypeProto *type_of(mica__onnx_writer *w, const char *port, mica__type type, bool input) {
  const size_t rank = (size_t)type.shape.rank;
  Onnx__TypeProto *proto = mica__write_room(w, sizeof *proto);
  Onnx__TypeProto__Tensor *tensor = mica__write_room(w, sizeof *tensor);
  Onnx__TensorShapeProto *shape = mica__write_room(w, sizeof *shape);
  Onnx__TensorShapeProto__Dimension **list = mica__write_room(w, (rank + 1) * sizeof(void *));
  Onnx__TensorShapeProto__Dimension *dims = mica__write_room(w, (rank + 1) * sizeof *dims);
  if (!proto || !tensor || !shape || !list || !dims) return NULL;
  onnx__type_proto__init(proto);
  onnx__type_proto__tensor__init(tensor);
  onnx__tensor_shape_proto__init(shape);
  for (size_t k = 0; k < rank; k++) {
    onnx__tensor_shape_proto__dimension__init(&dims[k]);
    list[k] = &dims[k];
    dims[k].has_dim_value = type.shape.dim[k] != MICA_DYNAMIC;
    dims[k].dim_value = dims[k].has_dim_value ? type.shape.dim[k] : 0;
    if (!dims[k].has_dim_value && (input || !k)) dims[k].dim_param = open_name(w, port, (int32_t)k);
  }
  shape->dim = list;
  shape->n_dim = rank;
  tensor->elem_type = mica__onnx_type_of(type.dtype);
  tensor->has_elem_type = true;
  tensor->shape = shape;
  proto->tensor_type = tensor;
  return proto;
}

static Onnx__ValueInfoProto *port_of(mica__onnx_writer *w, int32_t id, bool input) {
  Onnx__ValueInfoProto *port = mica__write_room(w, sizeof *port);
  if (!port) return NULL;
  onnx__value_info_proto__init(port);
  port->name = text_of(w->names[id - 1]);
  port->type = type_of(w, port->name, mica__write_type_of(w, id), input);
  for (size_t i = 0; i < w->config->doc_count; i++)
    if (!strcmp(w->config->docs[i].key, port->name)) port->doc_string = text_of(w->config->docs[i].value);
  return port;
}

/* Describes the inputs and outputs in the graph's doc_string, one line each, because runtimes show that text but not
 * the doc_string of an input or output. */
static char *describe_ports(mica__onnx_writer *w, Onnx__ValueInfoProto *const *ports[2], const size_t counts[2]) {
  mica__text text = {0};
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < counts[side]; i++)
      if (ports[side][i] && ports[side][i]->doc_string)
        mica__text_addf(&text, "%s%s: %s", text.data ? "\n" : "", ports[side][i]->name, ports[side][i]->doc_string);
  if (mica__text_status(&text) != MICA_OK && w->status == MICA_OK) w->status = mica__text_status(&text);
  char *copy = text.data ? copy_text(w, text.data) : NULL;
  mica__text_free(&text);
  return copy;
}

static void add_ports(mica__onnx_writer *w, Onnx__GraphProto *graph, const mica_value *outputs, size_t count) {
  graph->input = mica__write_room(w, ((size_t)w->graph->count + 1) * sizeof(void *));
  graph->output = mica__write_room(w, (count + 1) * sizeof(void *));
  for (int32_t id = 1; graph->input && id <= w->graph->count; id++)
    if (w->needed[id - 1] && mica__graph_node(w->graph, id)->op == &mica__op_input)
      graph->input[graph->n_input++] = port_of(w, id, true);
  for (size_t i = 0; graph->output && i < count; i++)
    graph->output[graph->n_output++] = port_of(w, outputs[i].id, false);
  if (graph->input && graph->output)
    graph->doc_string = describe_ports(w, (Onnx__ValueInfoProto *const *[2]){graph->input, graph->output},
                                       (const size_t[2]){graph->n_input, graph->n_output});
}

/* --- initialisers --- */

/* The second file, which holds weights. It is written from `pieces`: the weights and the zeros between them. `at` is
 * its length so far, and at_name the index of its name (see name_beside). */
typedef struct beside {
  bool used;
  char *path, *name;
  int at_name;
  mica__bytes *pieces;
  size_t count;
  uint64_t at;
} beside;

static Onnx__StringStringEntryProto *pair_of(mica__onnx_writer *w, const char *key, const char *value) {
  Onnx__StringStringEntryProto *pair = mica__write_room(w, sizeof *pair);
  if (!pair) return NULL;
  onnx__string_string_entry_proto__init(pair);
  pair->key = text_of(key);
  pair->value = copy_text(w, value);
  return pair;
}

/* Elements in the format's byte order; NULL if memory is short. */
static const void *in_file_order(mica__onnx_writer *w, const mica__write_initial *initial) {
  if (!MICA__HOST_BIG_ENDIAN || !initial->bytes) return initial->data;
  void *copy = mica__write_room(w, initial->bytes);
  if (!copy) return NULL;
  memcpy(copy, initial->data, initial->bytes);
  mica__onnx_order(initial->dtype, copy, initial->bytes);
  return copy;
}

static void put_outside(mica__onnx_writer *w, beside *out, const mica__write_initial *initial,
                        Onnx__TensorProto *tensor) {
  static const unsigned char zeros[PAGE];
  char offset[32], length[32];
  const size_t gap = (PAGE - out->at % PAGE) % PAGE;
  Onnx__StringStringEntryProto **pairs = mica__write_room(w, 3 * sizeof(void *));
  if (!pairs) return;
  if (gap) out->pieces[out->count++] = (mica__bytes){zeros, gap};
  out->at += gap;
  snprintf(offset, sizeof offset, "%llu", (unsigned long long)out->at);
  snprintf(length, sizeof length, "%zu", initial->bytes);
  pairs[0] = pair_of(w, "location", out->name);
  pairs[1] = pair_of(w, "offset", offset);
  pairs[2] = pair_of(w, "length", length);
  tensor->external_data = pairs;
  tensor->n_external_data = 3;
  tensor->data_location = 1;
  tensor->has_data_location = true;
  const void *data = in_file_order(w, initial);
  if (data) out->pieces[out->count++] = (mica__bytes){data, initial->bytes};
  out->at += initial->bytes;
}

static void add_initials(mica__onnx_writer *w, Onnx__GraphProto *graph, beside *out) {
  graph->initializer = mica__write_room(w, (w->initial_count + 1) * sizeof(void *));
  for (size_t i = 0; w->status == MICA_OK && i < w->initial_count; i++) {
    const mica__write_initial *initial = &w->initials[i];
    Onnx__TensorProto *tensor = mica__write_room(w, sizeof *tensor);
    if (!tensor) return;
    onnx__tensor_proto__init(tensor);
    tensor->name = text_of(initial->name);
    tensor->data_type = mica__onnx_type_of(initial->dtype);
    tensor->has_data_type = true;
    tensor->dims = w->initials[i].shape.dim;
    tensor->n_dims = (size_t)initial->shape.rank;
    graph->initializer[graph->n_initializer++] = tensor;
    if (out->used && initial->bytes >= LEAST_OUTSIDE) {
      put_outside(w, out, initial, tensor);
      continue;
    }
    tensor->raw_data = (ProtobufCBinaryData){initial->bytes, (uint8_t *)(uintptr_t)in_file_order(w, initial)};
    tensor->has_raw_data = true;
  }
}

/* Formats PATH.data, PATH.2.data, ...; text has room for the path and 16 more bytes. */
static void name_beside(const char *path, int index, char *text) {
  if (index)
    sprintf(text, "%s.%d.data", path, index + 1);
  else
    sprintf(text, "%s.data", path);
}

/* Chooses a name for the second file. If a model already exists at path, the name must be unused, because that model
 * may read the file. */
static mica_status choose_name(const char *path, beside *out) {
  const bool there = access(path, F_OK) == 0;
  for (out->at_name = 0; out->at_name < NAMES; out->at_name++) {
    name_beside(path, out->at_name, out->path);
    if (!there || access(out->path, F_OK) != 0) return MICA_OK;
  }
  return mica__fail(MICA_E_IO, "all names for weights from %s.data to %s are taken", path, out->path);
}

/* Removes second files that have another of the names. Nothing reads them once the new model is in place. */
static void remove_others(mica__onnx_writer *w, const char *path, const beside *out) {
  char *other = mica__write_room(w, strlen(path) + 16);
  for (int i = 0; other && i < NAMES; i++) {
    if (i == out->at_name) continue;
    name_beside(path, i, other);
    unlink(other);
  }
}

/* Prepares a second file for the weights if they are larger than the config allows inside the model. */
static mica_status begin_beside(mica__onnx_writer *w, const char *path, beside *out) {
  const uint64_t most = w->config->external_bytes ? w->config->external_bytes : STANDARD_INSIDE;
  uint64_t bytes = 0;
  for (size_t i = 0; i < w->initial_count; i++) bytes += w->initials[i].bytes;
  if (bytes <= most) return MICA_OK;
  out->used = true;
  out->path = mica__write_room(w, strlen(path) + 16);
  out->pieces = mica__write_room(w, 2 * (w->initial_count + 1) * sizeof *out->pieces);
  if (!out->path || !out->pieces) return w->status;
  MICA_TRY(choose_name(path, out));
  char *slash = strrchr(out->path, '/');
  out->name = slash ? slash + 1 : out->path;
  return MICA_OK;
}

/* --- the whole file --- */

static int64_t format_version(int64_t opset) { return opset < 19 ? 8 : opset < 21 ? 9 : opset < 23 ? 10 : 11; }

static mica_status pack(const Onnx__ModelProto *model, const char *path) {
  const size_t bytes = onnx__model_proto__get_packed_size(model);
  uint8_t *data = bytes < INT32_MAX ? malloc(bytes + 1) : NULL;
  if (!data)
    return bytes < INT32_MAX
               ? mica__fail_nomem(path)
               : mica__fail(MICA_E_OVERFLOW, "%s would have 2 GiB or more, the limit of an ONNX file", path);
  onnx__model_proto__pack(model, data);
  mica_status status = mica__file_replace(path, &(mica__bytes){data, bytes}, 1);
  free(data);
  return status;
}

static mica_status write_files(mica__onnx_writer *w, const Onnx__ModelProto *model, const char *path,
                               const beside *out) {
  if (!out->used) return pack(model, path);
  MICA_TRY(mica__file_replace(out->path, out->pieces, out->count));
  mica_status status = pack(model, path);
  if (status == MICA_OK)
    remove_others(w, path, out);
  else
    unlink(out->path);
  return status;
}

static void add_metadata(mica__onnx_writer *w, Onnx__ModelProto *model) {
  const mica_onnx_write_config *c = w->config;
  model->metadata_props = mica__write_room(w, (c->metadata_count + 1) * sizeof(void *));
  for (size_t i = 0; model->metadata_props && i < c->metadata_count; i++)
    model->metadata_props[model->n_metadata_props++] = pair_of(w, c->metadata[i].key, c->metadata[i].value);
}

mica_status mica__write_file(mica__onnx_writer *w, const char *path, const mica_value *outputs, size_t count) {
  Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  Onnx__OperatorSetIdProto set = ONNX__OPERATOR_SET_ID_PROTO__INIT, *sets[] = {&set};
  beside out = {0};
  MICA_TRY(begin_beside(w, path, &out));
  set.domain = text_of("");
  set.version = w->opset;
  set.has_version = true;
  graph.name = text_of(w->config->name && *w->config->name ? w->config->name : "mica");
  graph.node = w->nodes;
  graph.n_node = w->count;
  add_ports(w, &graph, outputs, count);
  add_initials(w, &graph, &out);
  add_metadata(w, &model);
  model.ir_version = format_version(w->opset);
  model.has_ir_version = true;
  model.producer_name = text_of("mica");
  model.producer_version = text_of(mica_version());
  model.opset_import = sets;
  model.n_opset_import = 1;
  model.graph = &graph;
  MICA_TRY(w->status);
  return write_files(w, &model, path, &out);
}
