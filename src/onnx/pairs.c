/* Writes a quantised model: inserts a QuantizeLinear and a DequantizeLinear node before the inputs of its convolutions
 * and matrix products, and stores their weights as integers with a DequantizeLinear node. This changes the model's
 * messages in memory. New messages are allocated by malloc, as protobuf-c does, so that protobuf-c can free them with
 * the model. */
#include "onnx/products.h"

#include "base/file.h"
#include "base/name_table.h"
#include "base/text.h"
#include "onnx/tensor.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_OPSET 13
enum { INT = 2 }; /* AttributeProto.type */

/* A new node, and the index of the old node that it is inserted before. */
typedef struct placed {
  Onnx__NodeProto *node;
  size_t before;
} placed;

/* An initialiser that a product no longer reads. made: a node now computes a value of the same name. */
typedef struct dropped {
  char *name;
  bool made;
} dropped;

typedef struct rewriting {
  Onnx__GraphProto *graph;
  const mica__onnx_products *products;
  const mica__onnx_integers *integers;
  mica__name_table names;
  placed *nodes;              /* in ascending order of `before` */
  size_t count, capacity, at; /* at: `before` for the next new node */
  bool *gone;                 /* per node of the graph: it is a batch norm that is folded into a product */
  dropped *dropped;
  size_t drop_count;
  /* Per quantised input (mica__onnx_integers.source): the name of its dequantised value; NULL: not made yet. */
  const char **given;
} rewriting;

static mica_status no_memory(void) { return mica__fail_nomem("a quantised model"); }

/* --- outputs --- */

static mica_status grow(void ***list, size_t count) {
  void **grown = realloc(*list, (count + 1) * sizeof *grown);
  if (!grown) return no_memory();
  *list = grown;
  return MICA_OK;
}

mica_status mica__onnx_show(mica_onnx *model, const char *value) {
  Onnx__GraphProto *graph = model->proto->graph;
  for (size_t i = 0; i < graph->n_output; i++)
    if (!strcmp(graph->output[i]->name, value)) return MICA_OK;
  Onnx__ValueInfoProto *port = malloc(sizeof *port);
  if (!port) return no_memory();
  onnx__value_info_proto__init(port);
  port->name = mica__strdup(value);
  mica_status status = port->name ? grow((void ***)&graph->output, graph->n_output) : no_memory();
  if (status == MICA_OK)
    graph->output[graph->n_output++] = port;
  else
    onnx__value_info_proto__free_unpacked(port, NULL);
  return status;
}

/* --- names --- */

static mica_status note_name(rewriting *r, const char *name) {
  if (!name || !*name || mica__name_table_find(&r->names, name) >= 0) return MICA_OK;
  return mica__name_table_add(&r->names, name, 0);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as messages are nested, which the guard limits. */
static mica_status note_names(rewriting *r, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_input; i++) MICA_TRY(note_name(r, graph->input[i]->name));
  for (size_t i = 0; i < graph->n_initializer; i++) MICA_TRY(note_name(r, graph->initializer[i]->name));
  for (size_t i = 0; i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];
    for (size_t k = 0; k < node->n_output; k++) MICA_TRY(note_name(r, node->output[k]));
    for (size_t a = 0; a < node->n_attribute; a++)
      if (node->attribute[a]->g) MICA_TRY(note_names(r, node->attribute[a]->g));
  }
  return MICA_OK;
}

/* Returns an unused name on the heap: "VALUE_WHAT" or, if that is taken, "VALUE_WHAT_N". Returns NULL if memory is
 * short. */
static char *new_name(rewriting *r, const char *value, const char *what) {
  for (int n = 1; n < 1 << 20; n++) {
    mica__text text = {0};
    mica__text_addf(&text, n > 1 ? "%s_%s_%d" : "%s_%s", value, what, n);
    if (text.failed) break;
    if (mica__name_table_find(&r->names, text.data) < 0) return text.data;
    mica__text_free(&text);
  }
  return NULL;
}

/* --- initialisers --- */

/* Adds an initialiser under a new name and returns the name; NULL if memory is short. */
static const char *add_initial(rewriting *r, const char *value, const char *what, mica_dtype dtype, mica_shape shape,
                               const void *data, size_t bytes) {
  Onnx__TensorProto *tensor = malloc(sizeof *tensor);
  if (!tensor) return NULL;
  onnx__tensor_proto__init(tensor);
  tensor->name = new_name(r, value, what);
  tensor->data_type = mica__onnx_type_of(dtype);
  tensor->has_data_type = true;
  tensor->dims = malloc(((size_t)shape.rank + 1) * sizeof *tensor->dims);
  tensor->raw_data.data = malloc(bytes + 1);
  tensor->has_raw_data = true;
  bool made = tensor->name && tensor->dims && tensor->raw_data.data;
  if (made && shape.rank) memcpy(tensor->dims, shape.dim, (size_t)shape.rank * sizeof *tensor->dims);
  if (made && bytes) memcpy(tensor->raw_data.data, data, bytes);
  if (made) mica__onnx_order(dtype, tensor->raw_data.data, bytes);
  if (made) tensor->raw_data.len = bytes;
  if (made) tensor->n_dims = (size_t)shape.rank;
  made = made && note_name(r, tensor->name) == MICA_OK &&
         grow((void ***)&r->graph->initializer, r->graph->n_initializer) == MICA_OK;
  if (!made) {
    onnx__tensor_proto__free_unpacked(tensor, NULL);
    return NULL;
  }
  r->graph->initializer[r->graph->n_initializer++] = tensor;
  return tensor->name;
}

static mica_status drop(rewriting *r, const char *name, bool made) {
  char *copy = mica__strdup(name);
  if (!copy) return no_memory();
  r->dropped[r->drop_count++] = (dropped){copy, made};
  return MICA_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): see note_names. */
static bool is_read(const Onnx__GraphProto *graph, const char *name) {
  bool read = false;
  for (size_t i = 0; !read && i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];
    for (size_t k = 0; !read && k < node->n_input; k++) read = !strcmp(node->input[k], name);
    for (size_t a = 0; !read && a < node->n_attribute; a++)
      read = node->attribute[a]->g && is_read(node->attribute[a]->g, name);
  }
  for (size_t i = 0; !read && i < graph->n_output; i++) read = !strcmp(graph->output[i]->name, name);
  return read;
}

static bool is_dropped(const rewriting *r, const char *name) {
  for (size_t i = 0; i < r->drop_count; i++)
    if (!strcmp(r->dropped[i].name, name)) return r->dropped[i].made || !is_read(r->graph, name);
  return false;
}

/* Removes a dropped initialiser if nothing reads its name any more, or if a node now computes the value of that name.
 * Older files list initialisers as inputs too; this entry is removed as well. */
static void remove_initials(rewriting *r) {
  Onnx__GraphProto *graph = r->graph;
  size_t kept = 0;
  for (size_t i = 0; i < graph->n_input; i++)
    if (is_dropped(r, graph->input[i]->name))
      onnx__value_info_proto__free_unpacked(graph->input[i], NULL);
    else
      graph->input[kept++] = graph->input[i];
  graph->n_input = kept;
  kept = 0;
  for (size_t i = 0; i < graph->n_initializer; i++)
    if (is_dropped(r, graph->initializer[i]->name))
      onnx__tensor_proto__free_unpacked(graph->initializer[i], NULL);
    else
      graph->initializer[kept++] = graph->initializer[i];
  graph->n_initializer = kept;
}

/* --- nodes --- */

/* Adds `node` before the graph's node r->at. Takes ownership of `node`, also on failure. */
static mica_status put(rewriting *r, Onnx__NodeProto *node) {
  if (r->count == r->capacity) {
    const size_t capacity = r->capacity ? 2 * r->capacity : 256;
    placed *grown = realloc(r->nodes, capacity * sizeof *grown);
    if (!grown) {
      onnx__node_proto__free_unpacked(node, NULL);
      return no_memory();
    }
    r->nodes = grown;
    r->capacity = capacity;
  }
  r->nodes[r->count++] = (placed){node, r->at};
  return MICA_OK;
}

/* Adds a node OP(x, scale, zero) with the result `out`; axis -1: a single scale. */
static mica_status put_pair_node(rewriting *r, const char *op, const char *x, const char *scale, const char *zero,
                                 const char *out, int64_t axis) {
  Onnx__NodeProto *node = malloc(sizeof *node);
  if (!node) return no_memory();
  onnx__node_proto__init(node);
  node->op_type = mica__strdup(op);
  node->name = new_name(r, out, op);
  node->input = calloc(3, sizeof *node->input);
  node->output = calloc(1, sizeof *node->output);
  bool made = node->op_type && node->name && node->input && node->output && x && scale && zero && out;
  const char *const inputs[3] = {x, scale, zero};
  for (size_t k = 0; made && k < 3; k++) {
    node->input[k] = mica__strdup(inputs[k]);
    made = node->input[k] != NULL;
    node->n_input += made;
  }
  if (made) made = (node->output[0] = mica__strdup(out)) != NULL;
  node->n_output = made;
  if (made && axis >= 0) {
    Onnx__AttributeProto *attr = malloc(sizeof *attr);
    node->attribute = attr ? malloc(sizeof(void *)) : NULL;
    if (attr) onnx__attribute_proto__init(attr);
    if (attr) attr->name = mica__strdup("axis");
    made = node->attribute && attr->name;
    if (made) {
      attr->i = axis;
      attr->type = INT;
      attr->has_i = attr->has_type = true;
      node->attribute[node->n_attribute++] = attr;
    } else if (attr) {
      onnx__attribute_proto__free_unpacked(attr, NULL);
    }
  }
  if (made) return put(r, node);
  onnx__node_proto__free_unpacked(node, NULL);
  return no_memory();
}

static mica_status replace_text(char **text, const char *with) {
  char *copy = with ? mica__strdup(with) : NULL;
  if (!copy) return no_memory();
  free(*text);
  *text = copy;
  return MICA_OK;
}

/* --- products --- */

/* Adds the quantised weight under a new name; the old name becomes the dequantised value. */
static mica_status put_weight(rewriting *r, const mica__onnx_product *p, const mica__onnx_integers *q) {
  const int64_t outputs = p->shape.dim[0];
  int64_t count = 0;
  MICA_TRY(mica_shape_count(p->shape, &count));
  const int64_t row = outputs ? count / outputs : 0;
  int8_t *swapped = malloc((size_t)count + 1), *zeros = calloc((size_t)outputs + 1, 1);
  mica_status status = swapped && zeros ? MICA_OK : no_memory();
  for (int64_t o = 0; status == MICA_OK && o < outputs; o++)
    for (int64_t i = 0; i < row; i++) swapped[p->last ? i * outputs + o : o * row + i] = q->weight[o * row + i];
  const mica_shape shape = p->last ? MICA_SHAPE(row, outputs) : p->shape, along = MICA_SHAPE(outputs);
  if (status == MICA_OK) {
    const char *x = add_initial(r, p->weight, "quantized", MICA_I8, shape, swapped, (size_t)count);
    const char *scale = add_initial(r, p->weight, "scale", MICA_F32, along, q->steps, (size_t)outputs * sizeof(float));
    const char *zero = add_initial(r, p->weight, "zero_point", MICA_I8, along, zeros, (size_t)outputs);
    status = put_pair_node(r, "DequantizeLinear", x, scale, zero, p->weight, p->last);
  }
  free(swapped);
  free(zeros);
  return status == MICA_OK ? drop(r, p->weight, true) : status;
}

/* Makes a product read its dequantised input. If several products share this input (have the same source), the first of
 * them adds the nodes that quantise and dequantise it. */
static mica_status take_input(rewriting *r, const mica__onnx_product *p, const mica__onnx_integers *q,
                              Onnx__NodeProto *node) {
  const char **given = &r->given[q->source];
  if (!*given) {
    const char *scale = add_initial(r, p->input, "scale", MICA_F32, MICA_SCALAR, &q->step, sizeof q->step);
    const char *zero = add_initial(r, p->input, "zero_point", MICA_U8, MICA_SCALAR, &q->zero, 1);
    char *x = new_name(r, p->input, "quantized"), *y = new_name(r, p->input, "dequantized");
    mica_status status = x && y ? MICA_OK : no_memory();
    if (status == MICA_OK) status = put_pair_node(r, "QuantizeLinear", p->input, scale, zero, x, -1);
    if (status == MICA_OK) status = note_name(r, r->nodes[r->count - 1].node->output[0]);
    if (status == MICA_OK) status = put_pair_node(r, "DequantizeLinear", x, scale, zero, y, -1);
    if (status == MICA_OK) *given = r->nodes[r->count - 1].node->output[0];
    if (status == MICA_OK) status = note_name(r, *given);
    free(x);
    free(y);
    MICA_TRY(status);
  }
  return replace_text(&node->input[0], *given);
}

static mica_status take_bias(rewriting *r, const mica__onnx_product *p, const mica__onnx_integers *q,
                             Onnx__NodeProto *node) {
  const int64_t outputs = p->shape.dim[0];
  if (!q->bias) return MICA_OK;
  if (node->n_input > 2 && *node->input[2]) MICA_TRY(drop(r, node->input[2], false));
  const char *bias =
      add_initial(r, p->weight, "bias", MICA_F32, MICA_SHAPE(outputs), q->bias, (size_t)outputs * sizeof(float));
  if (!bias) return no_memory();
  if (node->n_input == 2) {
    MICA_TRY(grow((void ***)&node->input, 2));
    node->input[2] = NULL;
    MICA_TRY(replace_text(&node->input[2], bias));
    node->n_input = 3;
    return MICA_OK;
  }
  return replace_text(&node->input[2], bias);
}

static const mica__onnx_product *product_of(const rewriting *r, const Onnx__NodeProto *node,
                                            const mica__onnx_integers **integers) {
  for (size_t i = 0; i < r->products->count; i++)
    if (r->products->list[i].results == node->output && r->integers[i].weight) {
      *integers = &r->integers[i];
      return &r->products->list[i];
    }
  return NULL;
}

/* True if the node is a batch norm that is folded into a product. The product then computes the norm's result. */
static bool is_taken_in(const rewriting *r, const Onnx__NodeProto *node) {
  for (size_t i = 0; node->n_output && i < r->products->count; i++)
    if (r->integers[i].weight && r->integers[i].norm && !strcmp(r->integers[i].norm, node->output[0])) return true;
  return false;
}

/* Lets the product compute the result of the norm, which is removed. Product and norm swap the names of their results,
 * instead of copying one, because the name table points to these strings. */
static void take_result(const rewriting *r, Onnx__NodeProto *node, const char *norm) {
  for (size_t i = 0; i < r->graph->n_node; i++) {
    char **result = r->graph->node[i]->output;
    if (!r->gone[i] || strcmp(result[0], norm) != 0) continue;
    char *own = node->output[0];
    node->output[0] = result[0];
    result[0] = own;
    return;
  }
}

static mica_status take(rewriting *r, Onnx__NodeProto *node) {
  const mica__onnx_integers *q = NULL;
  const mica__onnx_product *p = product_of(r, node, &q);
  if (!p) return MICA_OK;
  if (q->source >= 0) MICA_TRY(take_input(r, p, q, node));
  MICA_TRY(take_bias(r, p, q, node));
  if (q->norm) take_result(r, node, q->norm);
  return MICA_OK;
}

/* Makes the pairs, first for weights, then for inputs, and marks norms that are folded into products. */
static mica_status make_pairs(rewriting *r) {
  for (size_t i = 0; i < r->products->count; i++)
    if (r->integers[i].weight) MICA_TRY(put_weight(r, &r->products->list[i], &r->integers[i]));
  for (r->at = 0; r->at < r->graph->n_node; r->at++) {
    Onnx__NodeProto *node = r->graph->node[r->at];
    r->gone[r->at] = is_taken_in(r, node);
    for (size_t k = 1; r->gone[r->at] && k < node->n_input; k++) MICA_TRY(drop(r, node->input[k], false));
  }
  for (r->at = 0; r->at < r->graph->n_node; r->at++) MICA_TRY(take(r, r->graph->node[r->at]));
  return MICA_OK;
}

/* Inserts the new nodes between the graph's nodes. */
static mica_status merge(rewriting *r) {
  Onnx__GraphProto *graph = r->graph;
  Onnx__NodeProto **merged = malloc((graph->n_node + r->count + 1) * sizeof *merged);
  size_t count = 0, next = 0;
  if (!merged) return no_memory();
  for (size_t i = 0; i < graph->n_node; i++) {
    while (next < r->count && r->nodes[next].before <= i) merged[count++] = r->nodes[next++].node;
    if (r->gone[i])
      onnx__node_proto__free_unpacked(graph->node[i], NULL);
    else
      merged[count++] = graph->node[i];
  }
  r->count = 0;
  free(graph->node);
  graph->node = merged;
  graph->n_node = count;
  return MICA_OK;
}

/* Returns a copy of the elements as a file stores them: little-endian, and two 4-bit elements per byte, the first one
 * in the low bits. NULL if memory is exhausted. */
static uint8_t *copy_stored(const mica__onnx_tensor *tensor, bool nibbles, size_t *bytes) {
  const uint8_t *from = tensor->data;
  const size_t count = (size_t)tensor->count;
  *bytes = nibbles ? count / 2 + count % 2 : count * mica_dtype_size(tensor->dtype);
  uint8_t *copy = calloc(*bytes + 1, 1);
  if (!copy) return NULL;
  if (!nibbles) {
    if (*bytes) memcpy(copy, from, *bytes);
    mica__onnx_order(tensor->dtype, copy, *bytes);
    return copy;
  }
  for (size_t i = 0; i < count; i++) copy[i / 2] = (uint8_t)(copy[i / 2] | (from[i] & 15u) << (i % 2 ? 4 : 0));
  return copy;
}

/* Moves external tensors of the main graph into the model, because the new file may lie in another folder. */
static mica_status take_inside(mica_onnx *model) {
  mica__external external = {.folder = model->external.folder};
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < model->proto->graph->n_initializer; i++) {
    Onnx__TensorProto *tensor = model->proto->graph->initializer[i];
    mica__onnx_tensor read = {0};
    if (!tensor->n_external_data) continue;
    status = mica__onnx_tensor_read(&external, tensor, &read);
    size_t bytes = 0;
    uint8_t *copy = NULL;
    if (status == MICA_OK) copy = copy_stored(&read, mica__onnx_is_nibble(tensor->data_type), &bytes);
    if (status == MICA_OK && !copy) status = no_memory();
    mica__onnx_tensor_free(&read);
    if (!copy) continue;
    for (size_t k = 0; k < tensor->n_external_data; k++)
      onnx__string_string_entry_proto__free_unpacked(tensor->external_data[k], NULL);
    tensor->n_external_data = 0;
    tensor->has_data_location = false;
    free(tensor->raw_data.data);
    tensor->raw_data = (ProtobufCBinaryData){bytes, copy};
    tensor->has_raw_data = true;
  }
  external.folder = NULL;
  mica__external_close(&external);
  return status;
}

static mica_status pack(const mica_onnx *model, const char *path) {
  const size_t bytes = onnx__model_proto__get_packed_size(model->proto);
  uint8_t *data = bytes < INT32_MAX ? malloc(bytes + 1) : NULL;
  if (!data)
    return bytes < INT32_MAX
               ? no_memory()
               : mica__fail(MICA_E_OVERFLOW, "%s would have 2 GiB or more, the limit of an ONNX file", path);
  onnx__model_proto__pack(model->proto, data);
  mica_status status = mica__file_replace(path, &(mica__bytes){data, bytes}, 1);
  free(data);
  return status;
}

static mica_status begin(rewriting *r) {
  const size_t products = r->products->count;
  r->gone = calloc(r->graph->n_node + 1, sizeof *r->gone);
  r->dropped = calloc((2 + MICA__NORM_PARTS) * products + 1, sizeof *r->dropped);
  r->given = calloc(products + 1, sizeof *r->given);
  return r->gone && r->dropped && r->given ? note_names(r, r->graph) : no_memory();
}

mica_status mica__onnx_write_integers(mica_onnx *model, const mica__onnx_products *products,
                                      const mica__onnx_integers *integers, const char *path) {
  Onnx__ModelProto *proto = model->proto;
  rewriting r = {.graph = proto->graph, .products = products, .integers = integers};
  const int64_t opset = mica__onnx_version(proto->opset_import, proto->n_opset_import, "");
  if (opset < LEAST_OPSET)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "%s has operator set %lld, but a scale per output needs %d or above; convert it with onnx.version_converter",
        model->name, (long long)opset, LEAST_OPSET);
  mica_status status = begin(&r);
  if (status == MICA_OK) status = make_pairs(&r);
  if (status == MICA_OK) status = merge(&r);
  mica__name_table_free(&r.names);
  if (status == MICA_OK) remove_initials(&r);
  if (status == MICA_OK) status = take_inside(model);
  if (status == MICA_OK) status = pack(model, path);
  for (size_t i = 0; i < r.count; i++) onnx__node_proto__free_unpacked(r.nodes[i].node, NULL);
  for (size_t i = 0; i < r.drop_count; i++) free(r.dropped[i].name);
  free(r.nodes);
  free(r.gone);
  free(r.dropped);
  free(r.given);
  return status;
}
