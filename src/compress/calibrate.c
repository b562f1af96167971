/* Calibration: a hook records the network's layers; runs measure their inputs. */
#include "base/text.h"
#include "compress/calibration.h"
#include "ir/pattern.h"
#include "ops/common/build.h"
#include "ops/elementwise/elementwise.h"
#include "ops/select/registry.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

const char *mica_calibration_method_name(size_t method) {
  static const char *const names[] = {
#define METHOD_TEXT(name, text) text,
      MICA_CALIBRATION_METHOD_LIST(METHOD_TEXT)
#undef METHOD_TEXT
  };
  return method < sizeof names / sizeof *names ? names[method] : NULL;
}

mica_status mica_calibration_create(mica_calibration **out) {
  if (!out) return mica__fail(MICA_E_INVALID, "mica_calibration_create: a pointer is NULL");
  mica_calibration *c = calloc(1, sizeof *c);
  if (!c) return mica__fail_nomem("a calibration");
  *out = c;
  return MICA_OK;
}

void mica_calibration_destroy(mica_calibration *c) {
  if (!c) return;
  for (size_t i = 0; i < c->layer_count; i++) {
    free(c->layers[i].name);
    free(c->layers[i].norm);
  }
  for (size_t i = 0; i < c->source_count; i++) {
    free(c->sources[i].histogram);
    free(c->sources[i].sums);
  }
  free(c->layers);
  free(c->sources);
  free(c->values);
  free(c);
}

/* --- the hook --- */

static mica_value fail_nomem(mica_graph *graph) {
  return mica__graph_fail_with(graph, mica__fail_nomem("a calibration"));
}

/* Makes room for one more element; NULL when memory is short. */
static void *grow(void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return array;
  const size_t wider = *capacity ? *capacity * 2 : 32;
  void *grown = realloc(array, wider * size);
  if (grown) *capacity = wider;
  return grown;
}

static mica__layer *find_layer(mica_calibration *c, const char *name) {
  for (size_t i = 0; i < c->layer_count; i++)
    if (!strcmp(c->layers[i].name, name)) return &c->layers[i];
  mica__layer *grown = grow(c->layers, c->layer_count, &c->layer_capacity, sizeof *grown);
  char *copy = grown ? mica__strdup(name) : NULL;
  if (grown) c->layers = grown;
  if (!copy) return NULL;
  mica__layer *layer = &c->layers[c->layer_count++];
  *layer = (mica__layer){.name = copy, .kind = MICA__LAYER_NORM, .source = -1, .next = -1};
  return layer;
}

static int32_t find_source(mica_calibration *c, mica_value value) {
  for (size_t i = 0; i < c->source_count; i++)
    if (c->sources[i].value.id == value.id) return (int32_t)i;
  mica__calibration_source *grown = grow(c->sources, c->source_count, &c->source_capacity, sizeof *grown);
  if (!grown) return -1;
  c->sources = grown;
  mica__calibration_source *source = &grown[c->source_count];
  *source = (mica__calibration_source){.value = value, .histogram = calloc(1, sizeof(mica__histogram))};
  if (!source->histogram) return -1;
  source->histogram->finite = true;
  return (int32_t)c->source_count++;
}

mica_value mica_calibration_hook(void *user, mica_nn *nn, mica_nn_point point, const char *name, mica_value value) {
  mica_calibration *c = user;
  if (!value.graph) return value;
  if (!c || !nn || !name)
    return mica__graph_fail(
        value.graph, MICA_E_INVALID,
        "mica_calibration_hook: the calibration (hook_user), the network or the layer's name is NULL");
  mica__layer *layer = find_layer(c, name);
  if (c->nn && c->nn != nn)
    return mica__graph_fail(
        value.graph, MICA_E_STATE,
        "mica_calibration_hook: the calibration already belongs to another network; create one per network");
  c->nn = nn;
  c->graph = value.graph;
  if (!layer) return fail_nomem(value.graph);
  switch (point) {
  case MICA_NN_POINT_INPUT:
    layer->source = find_source(c, value);
    if (layer->source < 0) return fail_nomem(value.graph);
    break;
  case MICA_NN_POINT_WEIGHT:
    layer->weight = value.id;
    layer->shown.weight = mica_value_shape(value);
    layer->kind = layer->source < 0 ? MICA__LAYER_TABLE : MICA__LAYER_DENSE;
    break;
  case MICA_NN_POINT_RESULT: layer->result = value.id; break;
  }
  return value;
}

/* --- analysis of the finished graph --- */

/* Maximum number of ops to follow when checking that a value is never negative. */
#define MOST_OPS 12

static bool never_negative(const mica_graph *graph, int32_t id) {
  for (int i = 0; i < MOST_OPS; i++) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->op == &mica__op_relu || node->op == &mica__op_sigmoid || node->op == &mica__op_softmax ||
        node->op == &mica__op_abs || node->op == &mica__op_square || node->op == &mica__op_exp)
      return true;
    if (node->op == &mica__op_clip) return ((const mica__clip_attrs *)node->attrs)->low >= 0;
    const bool passes = node->op->kind == MICA__OP_VIEW || node->op == &mica__op_max_pool ||
                        node->op == &mica__op_cast || node->op == &mica__op_max;
    if (!passes || node->input_count < 1) return false;
    id = node->inputs[0];
  }
  return false;
}

static int32_t *count_users(const mica_graph *graph) {
  int32_t *users = calloc((size_t)graph->count + 1, sizeof *users);
  for (int32_t id = 1; users && id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    for (int32_t k = 0; k < node->input_count; k++) users[node->inputs[k]]++;
    if (node->assigned) users[node->assigned]++;
  }
  return users;
}

static const mica_nn_parameter_info *info_of(const mica_nn *nn, const char *layer, const char *what) {
  const size_t length = strlen(layer);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (!strncmp(info->own_name, layer, length) && info->own_name[length] == '.' &&
        !strcmp(info->own_name + length + 1, what))
      return info;
  }
  return NULL;
}

static mica_value parameter_of(const mica_nn *nn, const char *layer, const char *what) {
  const mica_nn_parameter_info *info = info_of(nn, layer, what);
  return info ? info->value : (mica_value){0};
}

/* True if a layer's weight has other users. A table is tied only if something else than its own lookups uses it. */
static bool is_tied(const mica_calibration *c, const mica__layer *layer, const int32_t *users) {
  const mica_nn_parameter_info *info = layer->kind == MICA__LAYER_TABLE ? info_of(c->nn, layer->name, "weight") : NULL;
  if (!layer->weight || users[layer->weight] == 1) return false;
  return !info || info->uses == 0 || users[layer->weight] > 1 + info->uses;
}

/* Finds the epsilon that a batch norm adds to its variance. */
static bool find_epsilon(const mica_graph *graph, int32_t variance, int32_t result, double *epsilon) {
  int32_t in[4];
  for (int32_t id = variance + 1; id < result; id++)
    if (mica__pattern_op(graph, id, &mica__op_affine, in) && in[0] == variance) {
      *epsilon = ((const mica__affine_attrs *)mica__graph_node(graph, id)->attrs)->offset;
      return true;
    }
  return false;
}

/* The layer that has a weight and whose result is this value; NULL: none. */
static mica__layer *maker_of(mica_calibration *c, int32_t id) {
  for (size_t i = 0; i < c->layer_count; i++)
    if (c->layers[i].kind != MICA__LAYER_NORM && c->layers[i].result == id) return &c->layers[i];
  return NULL;
}

/* Stores a batch norm's name and epsilon in the layer before it. To find that layer, walks back from the norm's result
 * to the norm's operand: the first node that was built before the norm's parameters. */
static mica_status follow_norm(mica_calibration *c, const mica__layer *norm, const int32_t *users) {
  const mica_value mean = parameter_of(c->nn, norm->name, "running_mean"),
                   variance = parameter_of(c->nn, norm->name, "running_var");
  double epsilon = 0;
  int32_t x = norm->result;
  if (mica_value_is_null(mean) || mica_value_is_null(variance)) return MICA_OK;
  while (x > mean.id) {
    const mica__node *node = mica__graph_node(c->graph, x);
    if (node->input_count < 1) return MICA_OK;
    x = node->inputs[0];
  }
  mica__layer *layer = maker_of(c, x);
  if (!layer || users[x] != 1 || layer->norm) return MICA_OK;
  /* A norm's channels are on axis 1, which is where a dense layer has its outputs only if its result has rank 2. */
  const bool fits = layer->kind == MICA__LAYER_CONV || mica__graph_node(c->graph, x)->type.shape.rank == 2;
  if (!fits || !find_epsilon(c->graph, variance.id, norm->result, &epsilon)) return MICA_OK;
  layer->norm = mica__strdup(norm->name);
  layer->epsilon = epsilon;
  return layer->norm ? MICA_OK : mica__fail_nomem("a calibration");
}

/* The value after a layer: its norm's result if it has a norm. */
static int32_t end_of(const mica_calibration *c, const mica__layer *layer) {
  for (size_t i = 0; layer->norm && i < c->layer_count; i++)
    if (!strcmp(c->layers[i].name, layer->norm)) return c->layers[i].result;
  return layer->result;
}

/* Finds the layer whose result, after its norm and a ReLU if there are any, is used only by `layer`. Sets its `next` to
 * the index of `layer`. */
static void find_previous(mica_calibration *c, int32_t index, const int32_t *users) {
  const mica__layer *layer = &c->layers[index];
  if (layer->source < 0) return;
  int32_t id = c->sources[layer->source].value.id;
  if (users[id] != 1) return;
  const mica__node *node = mica__graph_node(c->graph, id);
  if (node->op == &mica__op_relu) id = node->inputs[0];
  for (size_t i = 0; i < c->layer_count; i++) {
    mica__layer *previous = &c->layers[i];
    if (previous->kind != MICA__LAYER_NORM && previous->result && end_of(c, previous) == id && users[id] == 1)
      previous->next = index;
  }
}

/* The kind of a layer. A layer with a filter is a convolution if a conv op is among its result, the first operand of
 * that, and so on, back to its weight; otherwise a transposed convolution. Other layers keep their kind. */
static mica__layer_kind kind_of(const mica_graph *graph, const mica__layer *layer) {
  if (layer->kind != MICA__LAYER_DENSE || layer->shown.weight.rank < 3) return layer->kind;
  for (int32_t id = layer->result; id > layer->weight;) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->op == &mica__op_conv) return MICA__LAYER_CONV;
    if (node->input_count < 1) break;
    id = node->inputs[0];
  }
  return MICA__LAYER_TRANSPOSED;
}

static mica_status take_sources(mica_calibration *c) {
  c->values = calloc(c->source_count + 1, sizeof *c->values);
  if (!c->values) return mica__fail_nomem("a calibration");
  for (size_t i = 0; i < c->layer_count; i++) {
    const mica__layer *layer = &c->layers[i];
    if (layer->source < 0) continue;
    mica__calibration_source *source = &c->sources[layer->source];
    const mica_shape shape = mica_value_shape(source->value);
    source->axis = layer->kind == MICA__LAYER_DENSE ? 0 : shape.rank - 2;
    source->channels = shape.dim[shape.rank - 1 - source->axis];
  }
  for (size_t i = 0; i < c->source_count; i++) {
    mica__calibration_source *source = &c->sources[i];
    source->sums = calloc((size_t)source->channels + 1, sizeof *source->sums);
    if (!source->sums) return mica__fail_nomem("a calibration");
    c->values[i] = mica_value_dtype(source->value) == MICA_F32 ? source->value : mica_cast(source->value, MICA_F32);
  }
  return MICA_OK;
}

static mica_status look_at(mica_calibration *c) {
  int32_t *users = count_users(c->graph);
  mica_status status = users ? MICA_OK : mica__fail_nomem("a calibration");
  for (size_t i = 0; status == MICA_OK && i < c->layer_count; i++) {
    mica__layer *layer = &c->layers[i];
    layer->kind = kind_of(c->graph, layer);
    layer->tied = is_tied(c, layer, users);
  }
  for (size_t i = 0; status == MICA_OK && i < c->layer_count; i++)
    if (c->layers[i].kind == MICA__LAYER_NORM) status = follow_norm(c, &c->layers[i], users);
  for (size_t i = 0; status == MICA_OK && i < c->layer_count; i++)
    if (c->layers[i].kind != MICA__LAYER_NORM) find_previous(c, (int32_t)i, users);
  for (size_t i = 0; status == MICA_OK && i < c->layer_count; i++) {
    mica__layer *layer = &c->layers[i];
    layer->shown.name = layer->name;
    layer->shown.norm = layer->norm;
    layer->shown.has_input = layer->source >= 0;
    if (layer->source >= 0) layer->shown.never_negative = never_negative(c->graph, c->sources[layer->source].value.id);
  }
  free(users);
  return status == MICA_OK ? take_sources(c) : status;
}

mica_status mica_calibration_values(mica_calibration *c, const mica_value **values, size_t *count) {
  if (!c || !values || !count) return mica__fail(MICA_E_INVALID, "mica_calibration_values: a pointer is NULL");
  if (!c->nn)
    return mica__fail(MICA_E_STATE, "the calibration has no layers: build the network with mica_calibration_hook");
  if (mica_graph_status(c->graph) != MICA_OK)
    return mica__fail(mica_graph_status(c->graph), "%s", mica_graph_message(c->graph));
  if (!c->finished) MICA_TRY(look_at(c));
  c->finished = true;
  *values = c->values;
  *count = c->source_count;
  return MICA_OK;
}

/* --- runs --- */

static void add_channels(mica__calibration_source *source, const float *x, mica_shape shape) {
  int64_t inner = 1, outer = 1;
  const int32_t at = shape.rank - 1 - source->axis;
  for (int32_t i = 0; i < shape.rank; i++) *(i < at ? &outer : &inner) *= i == at ? 1 : shape.dim[i];
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < source->channels; k++) {
      double sum = 0;
      for (int64_t i = 0; i < inner; i++) sum += (double)*x++;
      source->sums[k] += sum;
    }
  source->samples += (double)(inner * outer);
}

static mica_status note(mica__calibration_source *source, const mica_tensor *tensor) {
  const size_t bytes = mica_tensor_bytes(tensor);
  float *x = malloc(bytes ? bytes : 1);
  if (!x) return mica__fail_nomem("a calibration's values");
  mica_status status = mica_tensor_download(mica_engine_queue(mica_tensor_engine(tensor)), tensor, x, bytes);
  if (status == MICA_OK) {
    mica__histogram_add(source->histogram, x, bytes / sizeof *x);
    add_channels(source, x, mica_tensor_shape(tensor));
  }
  free(x);
  return status;
}

/* Copies the measurements into the public layers. */
static void show_inputs(mica_calibration *c) {
  for (size_t i = 0; i < c->layer_count; i++) {
    mica__layer *layer = &c->layers[i];
    layer->shown.finite = true;
    if (layer->source < 0) continue;
    const mica__histogram *h = c->sources[layer->source].histogram;
    layer->shown.count = h->total;
    layer->shown.low = (double)h->low;
    layer->shown.high = (double)h->high;
    layer->shown.finite = h->finite;
  }
}

mica_status mica_calibration_note(mica_calibration *c, mica_session *session, size_t first) {
  if (!c || !session) return mica__fail(MICA_E_INVALID, "mica_calibration_note: a pointer is NULL");
  if (!c->finished) return mica__fail(MICA_E_STATE, "mica_calibration_note: call mica_calibration_values first");
  for (size_t i = 0; i < c->source_count; i++) {
    const mica_tensor *tensor = mica_session_output(session, first + i);
    if (!tensor || mica_tensor_dtype(tensor) != MICA_F32)
      return mica__fail(
          MICA_E_INVALID,
          "mica_calibration_note: output %zu of the session does not exist, has not been computed yet or is "
          "not f32; the outputs from `first` on must be the values of mica_calibration_values",
          first + i);
    MICA_TRY(note(&c->sources[i], tensor));
  }
  show_inputs(c);
  return MICA_OK;
}

mica_status mica__calibration_of(mica__layer *layers, size_t count, size_t sources, mica_calibration **out) {
  mica_calibration *c = NULL;
  MICA_TRY(mica_calibration_create(&c));
  c->sources = calloc(sources + 1, sizeof *c->sources);
  mica_status status = c->sources ? MICA_OK : mica__fail_nomem("a calibration");
  for (; status == MICA_OK && c->source_count < sources; c->source_count++) {
    mica__histogram *histogram = calloc(1, sizeof *histogram);
    if (!histogram) status = mica__fail_nomem("a calibration");
    if (!histogram) break;
    histogram->finite = true;
    c->sources[c->source_count].histogram = histogram;
  }
  if (status != MICA_OK) {
    mica_calibration_destroy(c);
    return status;
  }
  c->layers = layers;
  c->layer_count = c->layer_capacity = count;
  for (size_t i = 0; i < count; i++) {
    layers[i].shown.name = layers[i].name;
    layers[i].shown.norm = layers[i].norm;
    layers[i].shown.has_input = layers[i].source >= 0;
    if (layers[i].source >= 0 && layers[i].kind == MICA__LAYER_CONV)
      c->sources[layers[i].source].axis = layers[i].shown.weight.rank - 2;
  }
  c->finished = true;
  *out = c;
  return MICA_OK;
}

mica_status mica__calibration_add(mica_calibration *c, size_t index, const mica_tensor *tensor) {
  mica__calibration_source *source = &c->sources[index];
  const mica_shape shape = mica_tensor_shape(tensor);
  char text[MICA__TYPE_TEXT];
  if (mica_tensor_dtype(tensor) != MICA_F32 || shape.rank <= source->axis)
    return mica__fail(MICA_E_DTYPE, "a layer's input is %s, but must be f32 with %d or more dimensions",
                      mica__type_format((mica__type){mica_tensor_dtype(tensor), shape}, text), (int)source->axis + 1);
  if (!source->sums) {
    source->channels = shape.dim[shape.rank - 1 - source->axis];
    source->sums = calloc((size_t)source->channels + 1, sizeof *source->sums);
    if (!source->sums) return mica__fail_nomem("a calibration");
  }
  if (shape.dim[shape.rank - 1 - source->axis] != source->channels)
    return mica__fail(MICA_E_SHAPE, "the channel axis of a layer's input has size %lld, but had size %lld before",
                      (long long)shape.dim[shape.rank - 1 - source->axis], (long long)source->channels);
  MICA_TRY(note(source, tensor));
  show_inputs(c);
  return MICA_OK;
}

/* --- results --- */

const mica__layer *mica__calibration_layer(const mica_calibration *c, size_t index) {
  for (size_t i = 0; i < c->layer_count; i++)
    if (c->layers[i].kind != MICA__LAYER_NORM && index-- == 0) return &c->layers[i];
  return NULL;
}

const mica_calibration_layer *mica_calibration_layer_at(const mica_calibration *c, size_t index) {
  const mica__layer *layer = c && c->finished ? mica__calibration_layer(c, index) : NULL;
  return layer ? &layer->shown : NULL;
}

mica_status mica_calibration_range(const mica_calibration *c, size_t index, mica_calibration_method method,
                                   double percentile, int32_t bits, double *low, double *high, double *decibel) {
  const mica__layer *layer = c && low && high ? mica__calibration_layer(c, index) : NULL;
  if (!layer || !mica_calibration_method_name((size_t)method) || bits < 2 || bits > 8)
    return mica__fail(MICA_E_INVALID,
                      "mica_calibration_range: a pointer is NULL, there is no layer %zu, method (%d) is not a "
                      "mica_calibration_method, or bits (%d) is not from 2 to 8",
                      index, (int)method, (int)bits);
  if (layer->source < 0)
    return mica__fail(MICA_E_INVALID, "mica_calibration_range: the layer '%s' has no input whose range is measured",
                      layer->name);
  double ignored;
  mica_status status = mica__histogram_range(c->sources[layer->source].histogram, method, percentile, bits, low, high,
                                             decibel ? decibel : &ignored);
  return status == MICA_OK ? MICA_OK : mica__fail_in(status, layer->name);
}
