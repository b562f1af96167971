/* Quantised layers in a network: with integers from a file, or with weights and inputs rounded during training. */
#include "base/text.h"
#include "compress/quantize.h"
#include "ir/pattern.h"
#include "ops/quant/quant.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* A layer as a quantizer knows it. */
typedef struct entry {
  char *name;
  mica_dtype dtype; /* of the file's weight_q, I8 or U8 */
  mica_shape shape, scale;
  bool input, zero, bias; /* the file has input_scale, input_zero, bias */
  char *same;             /* layer whose quantised input this one uses; NULL: none */
  int32_t bits;           /* bits in training */
  bool never_negative;
} entry;

struct mica_quantizer {
  bool training;
  entry *entries;
  size_t count;
  char **statistics; /* names of batch norms in the file */
  size_t statistics_count;
};

/* --- creation --- */

void mica_quantizer_destroy(mica_quantizer *q) {
  if (!q) return;
  for (size_t i = 0; i < q->count; i++) {
    free(q->entries[i].name);
    free(q->entries[i].same);
  }
  for (size_t i = 0; i < q->statistics_count; i++) free(q->statistics[i]);
  free(q->entries);
  free(q->statistics);
  free(q);
}

static mica_status make(size_t entries, mica_quantizer **out) {
  mica_quantizer *q = calloc(1, sizeof *q);
  if (!q) return mica__fail_nomem("a quantizer");
  q->entries = calloc(entries + 1, sizeof *q->entries);
  q->statistics = calloc(entries + 1, sizeof *q->statistics);
  *out = q;
  if (q->entries && q->statistics) return MICA_OK;
  mica_quantizer_destroy(q);
  return mica__fail_nomem("a quantizer");
}

/* The layer's name from "layer.what"; NULL: the name has another form. The caller frees it. */
static char *layer_of(const char *name, const char *what) {
  const size_t length = strlen(name), end = strlen(what);
  if (length <= end + 1 || strcmp(name + length - end, what) != 0 || name[length - end - 1] != '.') return NULL;
  char *layer = mica__strdup(name);
  if (layer) layer[length - end - 1] = '\0';
  return layer;
}

static const mica_safetensors_entry *find(const mica_safetensors *file, const char *layer, const char *what) {
  char *name = mica__part_of(layer, what);
  const mica_safetensors_entry *e = name ? mica_safetensors_find(file, name) : NULL;
  free(name);
  return e;
}

static mica_status read_entry(const mica_safetensors *file, const mica_safetensors_entry *weight, entry *e) {
  const mica_safetensors_entry *scale = find(file, e->name, "weight_scale");
  mica__text key = {0};
  mica__text_addf(&key, MICA__SAME_INPUT "%s", e->name);
  MICA_TRY(mica__text_status(&key));
  const char *same = mica_safetensors_metadata(file, key.data);
  mica__text_free(&key);
  e->dtype = weight->dtype;
  e->shape = weight->shape;
  const bool known = scale && (scale->dtype == MICA_F32 || scale->dtype == MICA_BF16);
  if (!known || scale->shape.rank < 1 || scale->shape.rank > 2)
    return mica__fail(MICA_E_FORMAT, "the quantised layer '%s' must have a scale of f32 or bf16 with 1 or 2 dimensions",
                      e->name);
  if ((e->dtype != MICA_I8 && e->dtype != MICA_U8) || e->shape.rank < 2)
    return mica__fail(MICA_E_FORMAT, "'%s.weight_q' must be i8 or u8, with at least 2 dimensions", e->name);
  e->scale = scale->shape;
  e->input = find(file, e->name, "input_scale") != NULL;
  e->zero = find(file, e->name, "input_zero") != NULL;
  e->bias = find(file, e->name, "bias") != NULL;
  e->same = same ? mica__strdup(same) : NULL;
  return same && !e->same ? mica__fail_nomem("a quantizer") : MICA_OK;
}

mica_status mica_quantizer_open(const mica_safetensors *file, mica_quantizer **out) {
  mica_quantizer *q = NULL;
  if (!file || !out) return mica__fail(MICA_E_INVALID, "mica_quantizer_open: a pointer is NULL");
  if (!mica_safetensors_metadata(file, MICA__QUANTIZED))
    return mica__fail(MICA_E_FORMAT, "the weights are not quantised");
  MICA_TRY(make(mica_safetensors_count(file), &q));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *tensor = mica_safetensors_at(file, i);
    char *layer = layer_of(tensor->name, "weight_q"), *norm = layer_of(tensor->name, "running_mean");
    if (norm) q->statistics[q->statistics_count++] = norm;
    if (!layer) continue;
    q->entries[q->count].name = layer;
    status = read_entry(file, tensor, &q->entries[q->count++]);
  }
  if (status == MICA_OK && !q->count)
    status = mica__fail(MICA_E_FORMAT, "the file is marked as quantised, but has no quantised layer");
  if (status == MICA_OK)
    *out = q;
  else
    mica_quantizer_destroy(q);
  return status;
}

mica_status mica_quantizer_create(const mica_calibration *c, const mica_quantize_settings *settings,
                                  mica_quantizer **out) {
  mica_quantizer *q = NULL;
  mica__quantize_choices all = {0};
  if (!c || !out) return mica__fail(MICA_E_INVALID, "mica_quantizer_create: a pointer is NULL");
  MICA_TRY(mica__choose_layers(c, settings, &all));
  mica_status status = make(all.count, &q);
  for (size_t i = 0; status == MICA_OK && i < all.count; i++) {
    const mica__quantize_choice *choice = &all.list[i];
    const mica__layer_kind kind = choice->layer->kind;
    /* All other layers are rounded only after training. */
    if (!choice->bits || (kind != MICA__LAYER_CONV && kind != MICA__LAYER_DENSE)) continue;
    entry *e = &q->entries[q->count++];
    *e = (entry){.name = mica__strdup(choice->layer->name),
                 .shape = choice->layer->shown.weight,
                 .bits = choice->bits,
                 .input = choice->input,
                 .never_negative = choice->layer->shown.never_negative};
    if (!e->name) status = mica__fail_nomem("a quantizer");
  }
  free(all.list);
  if (status == MICA_OK) {
    q->training = true;
    *out = q;
  } else {
    mica_quantizer_destroy(q);
  }
  return status;
}

static const entry *find_entry(const mica_quantizer *q, const char *layer) {
  for (size_t i = 0; i < q->count; i++)
    if (!strcmp(q->entries[i].name, layer)) return &q->entries[i];
  return NULL;
}

static mica_value as(mica_value x, mica_dtype dtype) {
  return mica_value_is_null(x) || mica_value_dtype(x) == dtype ? x : mica_cast(x, dtype);
}

/* --- integers from a file --- */

static mica_value parameter_of(const mica_nn *nn, const char *layer, const char *what) {
  char *name = mica__part_of(layer, what);
  mica_value value = {0};
  for (size_t i = 0; name && i < mica_nn_parameter_count(nn); i++)
    if (!strcmp(mica_nn_parameter_at(nn, i)->own_name, name)) value = mica_nn_parameter_at(nn, i)->value;
  free(name);
  return value;
}

/* If another layer has quantised the value x, returns its dequantised value, which can be used instead of x; else
 * null. */
static mica_value quantized_before(mica_value x) {
  const mica_graph *graph = x.graph;
  const int32_t behind = mica__pattern_behind(graph, x.id);
  int32_t q = 0, in[4];
  for (int32_t id = behind + 1; id <= graph->count; id++) {
    if (mica__pattern_op(graph, id, &mica__op_quantize, in) && in[0] == behind) q = id;
    if (q && mica__pattern_op(graph, id, &mica__op_dequantize, in) && in[0] == q) return (mica_value){x.graph, id};
  }
  return (mica_value){0};
}

static mica_value integer_input(const entry *e, mica_nn *nn, mica_value x) {
  static const mica_quantize_config bytes = {.dtype = MICA_U8};
  const mica_dtype dtype = mica_value_dtype(x);
  x = as(x, MICA_F32);
  if (e->same) {
    mica_value before = quantized_before(x);
    if (!mica_value_is_null(before)) return as(before, dtype);
    return mica__graph_fail(x.graph, MICA_E_FORMAT,
                            "the layer '%s' must have the same input as '%s', because the file shares their scale",
                            e->name, e->same);
  }
  if (!e->input) return as(x, dtype);
  mica_value scale = mica_nn_state_of(nn, "input_scale", MICA_F32, MICA_SCALAR, 1), zero = {0};
  if (e->zero) zero = mica_nn_state_of(nn, "input_zero", MICA_U8, MICA_SCALAR, 0);
  return as(mica_dequantize(mica_quantize(x, scale, zero, &bytes), scale, zero, NULL), dtype);
}

static mica_value wrong_shape(const entry *e, const char *what, mica_shape shape, mica_value w) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  return mica__graph_fail(w.graph, MICA_E_FORMAT,
                          "the file is of another network: '%s.%s' is %s%s, which does not fit weights of shape %s",
                          e->name, what, mica_shape_format(shape, is),
                          e->dtype == MICA_U8 && !strcmp(what, "weight_q") ? ", with two weights per byte" : "",
                          mica_shape_format(mica_value_shape(w), want));
}

static mica_value integer_weight(const entry *e, mica_nn *nn, mica_value w) {
  const mica_shape shape = mica_value_shape(w), packed = MICA_SHAPE(shape.dim[0], mica__row_of(shape) / 2);
  const bool nibbles = e->dtype == MICA_U8;
  mica_quantize_config how = {.axis = 0};
  if (!mica_shape_equal(e->shape, nibbles ? packed : shape)) return wrong_shape(e, "weight_q", e->shape, w);
  if (nibbles && mica__row_of(shape) % 2) return wrong_shape(e, "weight_q", e->shape, w);
  if (e->scale.rank == 2) {
    if (shape.rank != 2 || e->scale.dim[1] < 1 || shape.dim[1] % e->scale.dim[1])
      return wrong_shape(e, "weight_scale", e->scale, w);
    how = (mica_quantize_config){.axis = 1, .block = shape.dim[1] / e->scale.dim[1]};
  }
  mica_value q = mica_nn_state_of(nn, "weight_q", e->dtype, e->shape, 0);
  mica_value scale = mica_nn_state_of(nn, "weight_scale", MICA_F32, e->scale, 1);
  if (nibbles) q = mica_reshape(mica__unpack4(q, MICA_I8), shape);
  return as(mica_dequantize(q, scale, (mica_value){0}, &how), mica_value_dtype(w));
}

/* True if the file has no statistics of this batch norm, because the norm was folded into the layer before it. *mean
 * receives the norm's "running_mean"; the result is false if it does not exist. */
static bool is_folded(const mica_quantizer *q, const mica_nn *nn, const char *norm, mica_value *mean) {
  for (size_t i = 0; i < q->statistics_count; i++)
    if (!strcmp(q->statistics[i], norm)) return false;
  *mean = parameter_of(nn, norm, "running_mean");
  return !mica_value_is_null(*mean);
}

/* The operand of a folded norm. To find it, walks back from y over first operands to a value that was built before the
 * norm's running_mean. */
static mica_value behind_norm(mica_value y, mica_value mean) {
  int32_t id = y.id;
  while (id > mean.id) {
    const mica__node *node = mica__graph_node(y.graph, id);
    if (node->input_count < 1) return y;
    id = node->inputs[0];
  }
  return (mica_value){y.graph, id};
}

static mica_value integer_result(const mica_quantizer *q, const entry *e, mica_nn *nn, const char *layer,
                                 mica_value y) {
  mica_value mean = {0};
  if (!e) return is_folded(q, nn, layer, &mean) ? behind_norm(y, mean) : y;
  if (!e->bias || !mica_value_is_null(parameter_of(nn, layer, "bias"))) return y;
  mica_shape shape = mica_value_shape(y), along = MICA_SHAPE(e->shape.dim[0]);
  mica_value bias = as(mica_nn_state_of(nn, "bias", MICA_F32, along, 0), mica_value_dtype(y));
  /* A convolution's filters are on axis 1 of its result, a dense layer's outputs on the last axis. The rank of the
   * network's weight tells them apart, because the file's packed weight always has two axes. */
  const mica_shape weight = mica_value_shape(parameter_of(nn, layer, "weight"));
  if (weight.rank > 2)
    for (along.rank = shape.rank - 1; shape.rank > 2; shape.rank--) along.dim[shape.rank - 2] = 1;
  return mica_add(y, mica_reshape(bias, along));
}

/* --- training --- */

static mica_value step_of(mica_nn *nn, const char *name, mica_shape shape) {
  const mica_init_config begin = {.kind = MICA_INIT_CONSTANT, .value = -4};
  return mica_exp(mica_nn_parameter(nn, name, shape, &begin));
}

static mica_value rounded(const entry *e, mica_nn *nn, mica_nn_point point, mica_value value) {
  if (point == MICA_NN_POINT_INPUT && e->input) {
    const mica_quantize_config how = {.dtype = e->never_negative ? MICA_U8 : MICA_I8};
    return mica_fake_quantize(value, step_of(nn, "input_step", MICA_SCALAR), &how);
  }
  if (point != MICA_NN_POINT_WEIGHT) return value;
  const mica_quantize_config how = {.bits = e->bits, .narrow = true};
  return mica_fake_quantize(value, step_of(nn, "weight_step", MICA_SHAPE(e->shape.dim[0])), &how);
}

mica_value mica_quantize_hook(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value) {
  const mica_quantizer *q = user;
  if (!value.graph) return value;
  if (!q || !nn || !layer)
    return mica__graph_fail(value.graph, MICA_E_INVALID,
                            "mica_quantize_hook: the quantizer (hook_user), the network or the layer's name is NULL");
  const entry *e = find_entry(q, layer);
  if (q->training) return e ? rounded(e, nn, point, value) : value;
  if (mica_nn_is_training(nn)) return value;
  if (point == MICA_NN_POINT_RESULT) return integer_result(q, e, nn, layer, value);
  if (!e) return value;
  return point == MICA_NN_POINT_INPUT ? integer_input(e, nn, value) : integer_weight(e, nn, value);
}

/* --- initial steps --- */

static mica_status upload(mica_session *session, const char *layer, const char *what, const float *x, size_t count) {
  char *name = mica__part_of(layer, what);
  mica_tensor *tensor = name ? mica_session_parameter(session, name) : NULL;
  mica_status status = name ? MICA_OK : mica__fail_nomem("a name");
  if (name && (!tensor || mica_tensor_bytes(tensor) != count * sizeof *x))
    status = mica__fail(MICA_E_NOT_FOUND, "the session has no parameter '%s' of %zu bytes", name, count * sizeof *x);
  if (status == MICA_OK)
    status = mica_tensor_upload(mica_engine_queue(mica_tensor_engine(tensor)), tensor, x, count * sizeof *x);
  free(name);
  return status;
}

static mica_status begin_weight(const entry *e, mica_session *session) {
  const size_t outputs = (size_t)e->shape.dim[0], row = (size_t)mica__row_of(e->shape);
  char *name = mica__part_of(e->name, "weight");
  mica_tensor *tensor = name ? mica_session_parameter(session, name) : NULL;
  float *w = malloc((outputs * row + 1) * sizeof *w), *steps = malloc((outputs + 1) * sizeof *steps);
  mica_status status = name && w && steps ? MICA_OK : mica__fail_nomem("steps");
  if (status == MICA_OK && (!tensor || mica_tensor_bytes(tensor) != outputs * row * sizeof *w))
    status =
        mica__fail(MICA_E_NOT_FOUND, "the session has no parameter '%s' of %zu bytes", name, outputs * row * sizeof *w);
  if (status == MICA_OK)
    status = mica_tensor_download(mica_engine_queue(mica_tensor_engine(tensor)), tensor, w, outputs * row * sizeof *w);
  for (size_t o = 0; status == MICA_OK && o < outputs; o++) {
    const double step = mica__weight_step(w + o * row, (int64_t)row, e->bits);
    steps[o] = step > 0 ? (float)log(step) : -4;
  }
  if (status == MICA_OK) status = upload(session, e->name, "weight_step", steps, outputs);
  free(name);
  free(w);
  free(steps);
  return status;
}

mica_status mica_quantizer_begin(const mica_quantizer *q, const mica_calibration *c, mica_session *session) {
  if (!q || !c || !session) return mica__fail(MICA_E_INVALID, "mica_quantizer_begin: a pointer is NULL");
  if (!q->training)
    return mica__fail(MICA_E_STATE,
                      "mica_quantizer_begin: the quantizer is not for training; make it with mica_quantizer_create");
  for (size_t i = 0; mica_calibration_layer_at(c, i); i++) {
    const entry *e = find_entry(q, mica_calibration_layer_at(c, i)->name);
    double low = 0, high = 0;
    if (!e) continue;
    MICA_TRY(begin_weight(e, session));
    /* If all inputs were zeros, the step keeps its initial value. */
    if (!e->input || mica__layer_is_idle(mica_calibration_layer_at(c, i))) continue;
    MICA_TRY(mica_calibration_range(c, i, MICA_CALIBRATION_METHOD_MSE, 0, 8, &low, &high, NULL));
    const double step = e->never_negative ? high / 255 : fmax(-low, high) / 127;
    const float logarithm = (float)log(step);
    MICA_TRY(upload(session, e->name, "input_step", &logarithm, 1));
  }
  return MICA_OK;
}
