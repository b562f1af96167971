/* Finds a model's products (convolutions and matrix products) with constant weights. */
#include "onnx/products.h"

#include "base/name_table.h"
#include "onnx/lower.h"
#include "onnx/tensor.h"

#include <stdlib.h>
#include <string.h>

typedef struct finding {
  const mica_onnx *model;
  mica__external external;
  /* numbers: a value's name -> its index in `uses`; makers: a value's name -> the index of the node that makes it. */
  mica__name_table numbers, makers;
  int32_t *uses;
  size_t use_count, use_capacity;
  mica__onnx_products *out;
} finding;

/* --- uses --- */

static mica_status count_use(finding *f, const char *name) {
  const int32_t known = mica__name_table_find(&f->numbers, name);
  if (known >= 0) {
    f->uses[known]++;
    return MICA_OK;
  }
  if (f->use_count == f->use_capacity) {
    const size_t capacity = f->use_capacity ? 2 * f->use_capacity : 256;
    int32_t *grown = realloc(f->uses, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a model");
    f->uses = grown;
    f->use_capacity = capacity;
  }
  f->uses[f->use_count] = 1;
  return mica__name_table_add(&f->numbers, name, (int32_t)f->use_count++);
}

/* Counts how often a graph and its bodies read each name. A body's own name may be counted for an outer value of the
 * same name; a weight then seems to be shared. NOLINTNEXTLINE(misc-no-recursion): the guard limits nested bodies. */
static mica_status count_uses(finding *f, const mica__onnx_graph *graph) {
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    for (int32_t k = 0; k < node->input_count; k++)
      if (*node->inputs[k]) MICA_TRY(count_use(f, node->inputs[k]));
    for (int32_t k = 0; k < node->body_count; k++) MICA_TRY(count_uses(f, &node->bodies[k]));
  }
  for (size_t i = 0; graph->proto && i < graph->proto->n_output; i++)
    MICA_TRY(count_use(f, mica__onnx_text(graph->proto->output[i]->name)));
  return MICA_OK;
}

static int32_t uses_of(const finding *f, const char *name) {
  const int32_t known = mica__name_table_find(&f->numbers, name);
  return known < 0 ? 0 : f->uses[known];
}

static mica_status note_makers(finding *f) {
  const mica__onnx_graph *graph = &f->model->graph;
  for (int32_t i = 0; i < graph->count; i++)
    for (int32_t k = 0; k < graph->nodes[i].output_count; k++)
      if (*graph->nodes[i].outputs[k]) MICA_TRY(mica__name_table_add(&f->makers, graph->nodes[i].outputs[k], i));
  return MICA_OK;
}

/* --- initialisers --- */

static const Onnx__TensorProto *initial_of(const finding *f, const char *name) {
  const Onnx__GraphProto *graph = f->model->proto->graph;
  const int32_t at = name && *name ? mica__name_table_find(&f->model->initials, name) : -1;
  return at >= 0 && (size_t)at < graph->n_initializer ? graph->initializer[at] : NULL;
}

static const Onnx__TensorProto *operand(const finding *f, const mica__onnx_node *node, int32_t k) {
  return k < node->input_count ? initial_of(f, node->inputs[k]) : NULL;
}

/* Copies the elements of an f32 tensor; the caller frees them. */
static mica_status read_floats(finding *f, const Onnx__TensorProto *proto, float **out) {
  mica__onnx_tensor tensor = {0};
  MICA_TRY(mica__onnx_tensor_read(&f->external, proto, &tensor));
  *out = malloc(((size_t)tensor.count + 1) * sizeof **out);
  if (*out && tensor.count) memcpy(*out, tensor.data, (size_t)tensor.count * sizeof **out);
  mica__onnx_tensor_free(&tensor);
  return *out ? MICA_OK : mica__fail_nomem("a model's weights");
}

/* Transposes (K, N) to (N, K). */
static mica_status transpose(float **w, int64_t rows, int64_t columns) {
  float *swapped = malloc(((size_t)(rows * columns) + 1) * sizeof *swapped);
  if (!swapped) return mica__fail_nomem("a model's weights");
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k++) swapped[k * rows + i] = (*w)[i * columns + k];
  free(*w);
  *w = swapped;
  return MICA_OK;
}

static bool is_f32(const Onnx__TensorProto *proto, mica_shape *shape) {
  mica_dtype dtype = MICA_F32;
  mica__attempt_begin();
  const bool is = mica__onnx_tensor_type(proto, &dtype, shape) == MICA_OK && dtype == MICA_F32;
  mica__attempt_end();
  return is;
}

/* True for f32 of shape (outputs) or, if `row`, (1, outputs). */
static bool is_vector(const Onnx__TensorProto *proto, int64_t outputs, bool row) {
  mica_shape shape = {0};
  if (!proto || !is_f32(proto, &shape)) return false;
  if (shape.rank == 1) return shape.dim[0] == outputs;
  return row && shape.rank == 2 && shape.dim[0] == 1 && shape.dim[1] == outputs;
}

/* --- a product --- */

static mica_status add(finding *f, const mica__onnx_node *node, mica__onnx_product **product) {
  mica__onnx_products *out = f->out;
  if (out->count == out->capacity) {
    const size_t capacity = out->capacity ? 2 * out->capacity : 64;
    mica__onnx_product *grown = realloc(out->list, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a model");
    out->list = grown;
    out->capacity = capacity;
  }
  mica__onnx_product *p = &out->list[out->count++];
  *p = (mica__onnx_product){.name = mica__onnx_node_title(node), .results = node->outputs};
  for (size_t i = 0; i + 1 < out->count; i++)
    if (!strcmp(out->list[i].name, p->name) && node->output_count) p->name = node->outputs[0];
  if (product) *product = p;
  return MICA_OK;
}

static mica_status add_float(finding *f, const mica__onnx_node *node, const char *why) {
  mica__onnx_product *p = NULL;
  MICA_TRY(add(f, node, &p));
  p->why = why;
  return MICA_OK;
}

/* Returns the weight of a matrix product, which must be an initialiser. If a Transpose node between the initialiser and
 * the product swaps its axes, sets *swapped. Returns NULL if the weight is anything else. */
static const Onnx__TensorProto *matrix_of(const finding *f, const mica__onnx_node *node, bool *swapped) {
  const Onnx__TensorProto *own = operand(f, node, 1);
  const int32_t maker = node->input_count > 1 ? mica__name_table_find(&f->makers, node->inputs[1]) : -1;
  *swapped = false;
  if (own || maker < 0 || uses_of(f, node->inputs[1]) != 1) return own;
  const mica__onnx_node *swap = &f->model->graph.nodes[maker];
  mica__integers perm = {0};
  if (strcmp(swap->op, "Transpose") != 0 || *swap->domain) return NULL;
  own = operand(f, swap, 0);
  if (!own || own->n_dims != 2) return NULL;
  *swapped = true;
  return !mica__onnx_ints(swap, "perm", &perm) || (perm.count == 2 && perm.values[0] == 1) ? own : NULL;
}

/* Returns the batch norm that is the only reader of a value. Returns NULL if there is no such norm or if it is in
 * training mode. */
static const mica__onnx_node *norm_behind(const finding *f, const char *value) {
  const mica__onnx_graph *graph = &f->model->graph;
  if (uses_of(f, value) != 1) return NULL;
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    if (strcmp(node->op, "BatchNormalization") != 0 || *node->domain || node->input_count < 5 ||
        strcmp(node->inputs[0], value) != 0)
      continue;
    return mica__onnx_int(node, "training_mode", 0) == 0 && node->output_count == 1 ? node : NULL;
  }
  return NULL;
}

static mica_status take_norm(finding *f, const mica__onnx_node *conv, mica__onnx_product *p) {
  const mica__onnx_node *norm = norm_behind(f, conv->outputs[0]);
  for (int32_t k = 1; norm && k < 5; k++)
    if (!is_vector(operand(f, norm, k), p->shape.dim[0], false)) return MICA_OK;
  if (!norm) return MICA_OK;
  for (int32_t k = 0; k < MICA__NORM_PARTS; k++) MICA_TRY(read_floats(f, operand(f, norm, k + 1), &p->parts[k]));
  p->norm = norm->outputs[0];
  p->epsilon = mica__onnx_real(norm, "epsilon", 1e-5);
  return MICA_OK;
}

static mica_status take_bias(finding *f, const mica__onnx_node *node, mica__onnx_product *p) {
  const bool gemm = !strcmp(node->op, "Gemm"), there = node->input_count > 2 && *node->inputs[2];
  const Onnx__TensorProto *bias = operand(f, node, 2);
  const bool fits = is_vector(bias, p->shape.dim[0], gemm);
  p->plain = !strcmp(node->op, "MatMul") || (there && !fits);
  if (gemm)
    p->plain = p->plain || mica__onnx_real(node, "alpha", 1) != 1 || mica__onnx_real(node, "beta", 1) != 1 ||
               mica__onnx_int(node, "transA", 0) != 0;
  return fits && !p->plain ? read_floats(f, bias, &p->bias) : MICA_OK;
}

static mica_status take_product(finding *f, const mica__onnx_node *node) {
  const bool conv = !strcmp(node->op, "Conv");
  bool swapped = false;
  const Onnx__TensorProto *weight = conv ? operand(f, node, 1) : matrix_of(f, node, &swapped);
  mica__onnx_product *p = NULL;
  mica_shape shape = {0};
  if (!weight)
    return add_float(
        f, node, operand(f, node, 0) ? "float: the weight is the first operand" : "float: both operands are computed");
  if (!is_f32(weight, &shape)) return add_float(f, node, "float: the weight is not f32");
  if (conv ? shape.rank < 3 : shape.rank != 2) return add_float(f, node, "float: the weight has an unsupported rank");
  MICA_TRY(add(f, node, &p));
  p->conv = conv;
  p->input = node->inputs[0];
  p->weight = weight->name;
  p->tied = uses_of(f, weight->name) != 1;
  p->last = !conv && !swapped && !(!strcmp(node->op, "Gemm") && mica__onnx_int(node, "transB", 0));
  p->shape = p->last ? MICA_SHAPE(shape.dim[1], shape.dim[0]) : shape;
  MICA_TRY(read_floats(f, weight, &p->w));
  if (p->last) MICA_TRY(transpose(&p->w, shape.dim[0], shape.dim[1]));
  MICA_TRY(take_bias(f, node, p));
  return conv && !p->plain && !p->tied ? take_norm(f, node, p) : MICA_OK;
}

/* --- the graph --- */

/* True for a domain of ONNX or ONNX Runtime. Operators of other domains may have the same names. */
static bool is_common_domain(const char *domain) { return !*domain || !strcmp(domain, "com.microsoft"); }

/* True for a product of ONNX's own; operators of other domains may have the same names. */
static bool is_product(const mica__onnx_node *node) {
  return !*node->domain && (!strcmp(node->op, "Conv") || !strcmp(node->op, "Gemm") || !strcmp(node->op, "MatMul"));
}

/* NOLINTNEXTLINE(misc-no-recursion): see count_uses. */
static bool has_products(const mica__onnx_graph *graph) {
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    if (is_product(node)) return true;
    for (int32_t k = 0; k < node->body_count; k++)
      if (has_products(&node->bodies[k])) return true;
  }
  return false;
}

/* Operators whose weights stay in floating point, with the reason. */
static const struct {
  const char *op, *why;
} left_float[] = {{"ConvTranspose", "float: a transposed convolution"},
                  {"LSTM", "float: a recurrent layer"},
                  {"GRU", "float: a recurrent layer"},
                  {"RNN", "float: a recurrent layer"},
                  {"Einsum", "float: a product of named axes"},
                  {"Attention", "float: attention"},
                  {"MultiHeadAttention", "float: attention"},
                  {"DeformConv", "float: a deformed convolution"}};

static mica_status look_at(finding *f, const mica__onnx_node *node) {
  if (is_product(node)) return take_product(f, node);
  for (size_t i = 0; i < sizeof left_float / sizeof *left_float; i++)
    if (is_common_domain(node->domain) && !strcmp(node->op, left_float[i].op))
      return add_float(f, node, left_float[i].why);
  const Onnx__TensorProto *table = !*node->domain && !strcmp(node->op, "Gather") ? operand(f, node, 0) : NULL;
  mica_shape shape = {0};
  if (table && is_f32(table, &shape) && shape.rank == 2) return add_float(f, node, "float: the rows of an embedding");
  bool inside = node->function && has_products(&node->function->body);
  for (int32_t k = 0; k < node->body_count; k++) inside = inside || has_products(&node->bodies[k]);
  return inside ? add_float(f, node, "float: products in a body or a function") : MICA_OK;
}

static mica_status check(const mica_onnx *model) {
  static const char *const quantized[] = {"QuantizeLinear",     "DequantizeLinear",     "QLinearConv", "QLinearMatMul",
                                          "ConvInteger",        "MatMulInteger",        "MatMulNBits", "QGemm",
                                          "QLinearConvolution", "DynamicQuantizeLinear"};
  for (size_t i = 0; i < model->operator_count; i++)
    for (size_t k = 0; k < sizeof quantized / sizeof *quantized; k++)
      if (is_common_domain(model->operators[i].domain) && !strcmp(model->operators[i].name, quantized[k]))
        return mica__fail(MICA_E_STATE, "%s is quantised already: it has %s", model->name, quantized[k]);
  return MICA_OK;
}

mica_status mica__onnx_products_find(const mica_onnx *model, mica__onnx_products *out) {
  finding f = {.model = model, .external = {.folder = model->external.folder}, .out = out};
  *out = (mica__onnx_products){0};
  MICA_TRY(check(model));
  mica_status status = count_uses(&f, &model->graph);
  if (status == MICA_OK) status = note_makers(&f);
  for (int32_t i = 0; status == MICA_OK && i < model->graph.count; i++) status = look_at(&f, &model->graph.nodes[i]);
  if (status != MICA_OK) mica__onnx_products_free(out);
  f.external.folder = NULL;
  mica__external_close(&f.external);
  mica__name_table_free(&f.numbers);
  mica__name_table_free(&f.makers);
  free(f.uses);
  return status;
}

void mica__onnx_products_free(mica__onnx_products *products) {
  for (size_t i = 0; i < products->count; i++) {
    mica__onnx_product *p = &products->list[i];
    free(p->w);
    free(p->bias);
    for (int k = 0; k < MICA__NORM_PARTS; k++) free(p->parts[k]);
  }
  free(products->list);
  *products = (mica__onnx_products){0};
}
