#include "nn/nn.h"

#include "base/element.h"
#include "base/hash.h"
#include "ir/graph.h"
#include "nn/held.h"
#include "nn/init.h"
#include "ops/common/build.h"
#include "runtime/tensor.h"

#include <fnmatch.h>
#include <mica/dist.h>
#include <mica/nodes.h>
#include <mica/optim.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mica_status mica_nn_create(mica_graph *graph, const mica_nn_config *config, mica_nn **out) {
  if (!graph || !out) return mica__fail(MICA_E_INVALID, "mica_nn_create: a pointer is NULL");
  mica_nn_config c = config ? *config : (mica_nn_config){0};
  if (c.dtype != MICA_F32 && c.dtype != MICA_F16 && c.dtype != MICA_BF16)
    return mica__fail(MICA_E_DTYPE, "mica_nn_create: the type is %s, but layers compute only in f32, f16 or bf16",
                      mica_dtype_name(c.dtype));
  if (c.tensor_ranks && (c.like || c.hook))
    return mica__fail(MICA_E_UNSUPPORTED, "mica_nn_create: tensor_ranks cannot be combined with like or hook");
  mica_nn *nn = calloc(1, sizeof *nn);
  if (!nn) return mica__fail_nomem("a network");
  *nn = (mica_nn){.graph = graph,
                  .config = c,
                  .draws = c.draws,
                  .name_prefix = mica__strdup(c.name_prefix ? c.name_prefix : ""),
                  .prefix = mica__strdup("")};
  if (!nn->prefix || !nn->name_prefix) {
    mica_nn_destroy(nn);
    return mica__fail_nomem("a network");
  }
  nn->config.name_prefix = nn->name_prefix;
  *out = nn;
  return MICA_OK;
}

void mica_nn_destroy(mica_nn *nn) {
  if (!nn) return;
  for (size_t i = 0; i < nn->parameter_count; i++) free(nn->parameters[i].name);
  for (size_t i = 0; i < nn->first_count; i++) free(nn->first[i].name);
  for (size_t i = 0; i < nn->layer_count; i++) free(nn->layers[i].name);
  free(nn->first);
  free(nn->parameters);
  free(nn->layers);
  free(nn->name_prefix);
  free(nn->prefix);
  free(nn);
}

mica_graph *mica_nn_graph(const mica_nn *nn) { return nn->graph; }

bool mica_nn_is_training(const mica_nn *nn) { return nn->config.training; }
struct mica_communicator *mica_nn_loss_ranks(const mica_nn *nn) {
  return nn->config.loss_ranks;
}

uint64_t mica_nn_draws(const mica_nn *nn) { return nn->draws; }

static void fail_nomem(mica_nn *nn) { mica__graph_fail_with(nn->graph, mica__fail_nomem("a network")); }

/* Makes room for one more element. NULL, with an error in the graph, if memory is short. */
static void *grow(mica_nn *nn, void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return array;
  size_t wider = *capacity ? *capacity * 2 : 32;
  void *grown = realloc(array, wider * size);
  if (!grown)
    fail_nomem(nn);
  else
    *capacity = wider;
  return grown;
}

bool mica__nn_missing(const mica_nn *nn, const char *kind, mica_value x) {
  if (!nn) mica__builder_fail(kind, x, MICA_E_INVALID, "the network is NULL");
  return !nn;
}

/* --- scopes and layers --- */

char *mica__nn_name(mica_nn *nn, const char *name) {
  mica__text text = {0};
  mica__text_add(&text, nn->prefix);
  mica__text_add(&text, name ? name : "");
  if (!text.failed) return text.data;
  mica__text_free(&text);
  fail_nomem(nn);
  return NULL;
}

void mica_nn_push(mica_nn *nn, const char *name) {
  mica__text text = {0};
  if (!nn) return;
  if (nn->depth >= MICA__NN_DEPTH || !name) {
    mica__graph_fail(nn->graph, MICA_E_INVALID, "mica_nn_push: %s",
                     name ? "scopes are nested too deeply" : "the scope's name is NULL");
    return;
  }
  mica__text_addf(&text, "%s%s.", nn->prefix, name);
  if (text.failed) {
    mica__text_free(&text);
    fail_nomem(nn);
    return;
  }
  nn->cut[nn->depth++] = strlen(nn->prefix);
  free(nn->prefix);
  nn->prefix = text.data;
}

void mica_nn_pop(mica_nn *nn) {
  if (!nn) return;
  if (nn->depth > 0)
    nn->prefix[nn->cut[--nn->depth]] = '\0';
  else
    mica__graph_fail(nn->graph, MICA_E_STATE, "mica_nn_pop: no scope is open");
}

void mica__nn_record(mica_nn *nn, const char *name, const char *kind) {
  mica__nn_layer *grown = grow(nn, nn->layers, nn->layer_count, &nn->layer_capacity, sizeof *grown);
  if (grown) {
    nn->layers = grown;
    grown[nn->layer_count] = (mica__nn_layer){.name = mica__nn_name(nn, name),
                                              .kind = kind,
                                              .first_node = nn->graph->count + 1,
                                              .first_parameter = nn->parameter_count};
  }
}

mica_value mica__nn_recorded(mica_nn *nn, mica_value result) {
  if (nn->layer_count >= nn->layer_capacity) return result;
  mica__nn_layer *layer = &nn->layers[nn->layer_count];
  layer->result = result;
  layer->last_node = nn->graph->count;
  layer->last_parameter = nn->parameter_count;
  if (layer->name) nn->layer_count++;
  return result;
}

void mica__nn_enter(mica_nn *nn, const char *name, const char *kind) {
  mica__nn_record(nn, name, kind);
  mica_nn_push(nn, name);
}

mica_value mica__nn_leave(mica_nn *nn, mica_value result) {
  mica_nn_pop(nn);
  return mica__nn_recorded(nn, result);
}

mica_value mica_nn_apply(mica_nn *nn, const char *name, mica_value x, mica_nn_block *block, const void *config) {
  if (mica__nn_missing(nn, "apply", x)) return (mica_value){0};
  mica_nn_push(nn, name);
  mica_value y = block(nn, x, config);
  mica_nn_pop(nn);
  return y;
}

mica_value mica_nn_residual(mica_nn *nn, const char *name, mica_value x, mica_nn_block *block, const void *config) {
  return mica_add(x, mica_nn_apply(nn, name, x, block, config));
}

mica_value mica_nn_sequential(mica_nn *nn, const char *name, mica_value x, const mica_nn_stage *stages, size_t count) {
  if (mica__nn_missing(nn, "sequential", x)) return (mica_value){0};
  mica_nn_push(nn, name);
  for (size_t i = 0; i < count; i++) {
    char index[24];
    snprintf(index, sizeof index, "%zu", i);
    x = mica_nn_apply(nn, index, x, stages[i].block, stages[i].config);
  }
  mica_nn_pop(nn);
  return x;
}

/* --- hooks --- */

const char *mica_nn_point_name(mica_nn_point point) {
  static const char *const texts[] = {
#define POINT_TEXT(name, text) text,
      MICA_NN_POINT_LIST(POINT_TEXT)};
  return (unsigned)point < sizeof texts / sizeof *texts ? texts[point] : "?";
}

/* The parameter "layer.weight"; NULL: it does not exist. */
static mica__nn_parameter *weight_of_layer(const mica_nn *nn, const char *layer) {
  const size_t length = strlen(layer);
  for (size_t i = nn->parameter_count; i-- > 0;) {
    const char *name = nn->parameters[i].info.own_name;
    if (!strncmp(name, layer, length) && !strcmp(name + length, length ? ".weight" : "weight"))
      return &nn->parameters[i];
  }
  return NULL;
}

mica_value mica__nn_hooked(mica_nn *nn, mica_nn_point point, mica_value value) {
  if (!nn->config.hook || mica_value_is_null(value)) return value;
  size_t length = strlen(nn->prefix);
  mica_shape given = mica_value_shape(value);
  mica_dtype dtype = mica_value_dtype(value);
  char *layer = mica__strdup(nn->prefix), is[MICA_SHAPE_TEXT], was[MICA_SHAPE_TEXT];
  if (!layer) {
    fail_nomem(nn);
    return (mica_value){0};
  }
  if (length > 0) layer[length - 1] = '\0';
  value = nn->config.hook(nn->config.hook_user, nn, point, layer, value);
  mica_shape shape = mica_value_shape(value);
  if (!mica_value_is_null(value) && (mica_value_dtype(value) != dtype || !mica_shape_equal(shape, given)))
    value = mica__graph_fail(nn->graph, MICA_E_SHAPE,
                             "%s: the hook returned %s %s, but must keep the type and shape of its %s, %s %s", layer,
                             mica_dtype_name(mica_value_dtype(value)), mica_shape_format(shape, is),
                             mica_nn_point_name(point), mica_dtype_name(dtype), mica_shape_format(given, was));
  mica__nn_parameter *weight = point == MICA_NN_POINT_WEIGHT ? weight_of_layer(nn, layer) : NULL;
  if (weight) weight->hooked = value;
  free(layer);
  return value;
}

/* The current layer's weight in the file mica_nn_config.like; NULL: there is no such weight. The caller frees *name. */
static const mica_safetensors_entry *find_weight(mica_nn *nn, char **name) {
  static const char *const names[] = {"weight", "weight_q"};
  const mica_safetensors_entry *entry = NULL;
  *name = NULL;
  for (size_t i = 0; nn->config.like && !entry && i < sizeof names / sizeof *names; i++) {
    free(*name);
    *name = mica__nn_name(nn, names[i]);
    if (!*name) return NULL;
    entry = mica_safetensors_find(nn->config.like, *name);
  }
  return entry;
}

static void fail_rank(mica_nn *nn, const char *name, mica_shape found, int32_t rank) {
  char text[MICA_SHAPE_TEXT];
  mica__graph_fail(nn->graph, MICA_E_FORMAT, "%s: the shape in the weights file is %s, but its rank must be %d", name,
                   mica_shape_format(found, text), (int)rank);
}

bool mica__nn_like(mica_nn *nn, int32_t rank, int64_t window, mica_shape *shape) {
  char *name = NULL;
  const mica_safetensors_entry *entry = find_weight(nn, &name);
  mica_shape found = entry ? entry->shape : MICA_SCALAR;
  /* With 4 bits, a byte holds two elements, and a row holds all elements of one index of the first dimension. */
  const bool packed = entry && entry->dtype == MICA_U8;
  bool fits = entry && found.rank == (packed ? 2 : rank) && (!packed || (window > 0 && 2 * found.dim[1] % window == 0));
  if (entry && !fits) fail_rank(nn, name, found, rank);
  if (fits && packed) found = (mica_shape){.rank = rank, .dim = {found.dim[0], 2 * found.dim[1] / window}};
  if (fits) *shape = found;
  free(name);
  return fits;
}

bool mica__nn_like_named(mica_nn *nn, const char *name, mica_shape *shape) {
  char *full = nn->config.like ? mica__nn_name(nn, name) : NULL;
  const mica_safetensors_entry *entry = full ? mica_safetensors_find(nn->config.like, full) : NULL;
  const bool fits = entry && entry->shape.rank == 2;
  if (entry && !fits) fail_rank(nn, full, entry->shape, 2);
  if (fits) *shape = entry->shape;
  free(full);
  return fits;
}

/* --- parameters --- */

/* The parameter of this name, dtype and shape that the first pass made (mica__nn_first_pass_begin), else a new one. */
static mica_value parameter_of(const mica_nn *nn, const char *full, mica_dtype dtype, mica_shape shape) {
  for (size_t i = 0; i < nn->first_count; i++) {
    mica_value value = nn->first[i].info.value;
    if (!strcmp(nn->first[i].name, full) && mica_value_dtype(value) == dtype &&
        mica_shape_equal(mica_value_shape(value), shape))
      return value;
  }
  return mica_parameter(nn->graph, full, dtype, shape);
}

mica_value mica__nn_add(mica_nn *nn, const char *name, mica_dtype dtype, mica_shape shape, const mica_init_config *init,
                        mica_nn_role role) {
  mica__nn_parameter *grown = grow(nn, nn->parameters, nn->parameter_count, &nn->parameter_capacity, sizeof *grown);
  if (!grown) return (mica_value){0};
  nn->parameters = grown;
  mica__text text = {0};
  mica__text_addf(&text, "%s%s%s", nn->name_prefix, nn->prefix, name ? name : "");
  if (text.failed) {
    mica__text_free(&text);
    fail_nomem(nn);
    return (mica_value){0};
  }
  char *full = text.data;
  mica_value value = parameter_of(nn, full, dtype, shape);
  if (mica_value_is_null(value)) {
    free(full);
    return value;
  }
  mica_nn_parameter_info info = {.name = full,
                                 .own_name = full + strlen(nn->name_prefix),
                                 .value = value,
                                 .init = init ? *init : (mica_init_config){.kind = MICA_INIT_CONSTANT},
                                 .role = role,
                                 .decay = role == MICA_NN_ROLE_WEIGHT && shape.rank > 1};
  grown[nn->parameter_count++] = (mica__nn_parameter){.info = info, .name = full};
  return value;
}

mica_value mica__nn_narrow(const mica_nn *nn, mica_value x) {
  return mica_value_dtype(x) == nn->config.dtype ? x : mica_cast(x, nn->config.dtype);
}

mica_value mica__nn_add_weight(mica_nn *nn, const char *name, mica_shape shape, const mica_init_config *init) {
  mica_nn_held held;
  char *own = mica__nn_name(nn, name);
  const bool asked = own && mica__nn_ask_held(nn->graph, &nn->config, own, shape, &held);
  free(own);
  if (!asked) return (mica_value){0};
  const mica__type type = mica__nn_held_type(&held, shape);
  mica_value value = mica__nn_add(nn, name, type.dtype, type.shape, init, MICA_NN_ROLE_WEIGHT);
  if (mica_value_is_null(value)) return value;
  mica_nn_parameter_info *info = &nn->parameters[nn->parameter_count - 1].info;
  info->held = held;
  info->frozen = held.frozen || mica__nn_is_held(&held);
  if (mica__nn_is_held(&held)) mica__graph_hold(value);
  return value;
}

mica_value mica_nn_parameter(mica_nn *nn, const char *name, mica_shape shape, const mica_init_config *init) {
  if (!nn) return (mica_value){0};
  mica_value value = mica__nn_add_weight(nn, name, shape, init);
  if (mica_value_is_null(value)) return value;
  return mica__nn_held_value(&nn->parameters[nn->parameter_count - 1].info.held, value, nn->config.dtype);
}

mica_value mica_nn_state(mica_nn *nn, const char *name, mica_shape shape, double value) {
  return mica_nn_state_of(nn, name, MICA_F32, shape, value);
}

mica_value mica_nn_state_of(mica_nn *nn, const char *name, mica_dtype dtype, mica_shape shape, double value) {
  mica_init_config init = {.kind = MICA_INIT_CONSTANT, .value = value};
  if (!nn) return (mica_value){0};
  return mica__nn_add(nn, name, dtype, shape, &init, MICA_NN_ROLE_STATE);
}

mica_value mica__nn_weight(mica_nn *nn, const char *name) {
  for (size_t i = 0; name && i < nn->parameter_count; i++) {
    mica__nn_parameter *parameter = &nn->parameters[i];
    if (parameter->info.role != MICA_NN_ROLE_WEIGHT || strcmp(parameter->info.own_name, name) != 0) continue;
    parameter->info.uses++;
    if (!mica_value_is_null(parameter->hooked)) return parameter->hooked;
    const bool blocks = parameter->info.held.block != MICA_BLOCK_NONE;
    return blocks ? mica__nn_held_value(&parameter->info.held, parameter->info.value, nn->config.dtype)
                  : parameter->info.value;
  }
  return (mica_value){0};
}

mica_value mica_nn_weight_of(mica_nn *nn, const char *name) {
  if (!nn) return (mica_value){0};
  mica_value weight = mica__nn_weight(nn, name);
  if (!mica_value_is_null(weight)) return mica__nn_narrow(nn, weight);
  return mica__graph_fail(nn->graph, MICA_E_NOT_FOUND, "mica_nn_weight_of: no layer made a weight '%s'",
                          name ? name : "(null)");
}

mica_value mica_nn_step(mica_nn *nn) {
  if (!nn) return (mica_value){0};
  if (!mica_value_is_null(nn->step)) return nn->step;
  /* The step's name does not begin with the open scopes. */
  char *prefix = nn->prefix, none[] = "";
  nn->prefix = none;
  nn->step = mica__nn_add(nn, "step", MICA_I64, MICA_SCALAR, NULL, MICA_NN_ROLE_OPTIMIZER);
  nn->prefix = prefix;
  return nn->step;
}

size_t mica_nn_parameter_count(const mica_nn *nn) { return nn->parameter_count; }

const mica_nn_parameter_info *mica_nn_parameter_at(const mica_nn *nn, size_t index) {
  return index < nn->parameter_count ? &nn->parameters[index].info : NULL;
}

int64_t mica_nn_element_count(const mica_nn *nn, bool trained) {
  int64_t total = 0;
  for (size_t i = 0; i < nn->parameter_count; i++) {
    int64_t count = 0;
    const mica_nn_parameter_info *info = &nn->parameters[i].info;
    if (info->role == MICA_NN_ROLE_WEIGHT && !(trained && info->frozen) &&
        mica_shape_count(mica__nn_held_shape(&info->held, mica_value_shape(info->value)), &count) == MICA_OK)
      total += count;
  }
  return total;
}

/* Calls change(info, value) for every weight whose own_name matches the pattern. *count, unless count is NULL, receives
 * the number of these weights. */
static mica_status for_matching(mica_nn *nn, const char *call, const char *pattern, size_t *count,
                                void (*change)(mica_nn_parameter_info *info, bool value), bool value) {
  size_t found = 0;
  if (!nn || !pattern) return mica__fail(MICA_E_INVALID, "%s: a pointer is NULL", call);
  for (size_t i = 0; i < nn->parameter_count; i++) {
    mica_nn_parameter_info *info = &nn->parameters[i].info;
    if (info->role != MICA_NN_ROLE_WEIGHT || fnmatch(pattern, info->own_name, 0) != 0) continue;
    change(info, value);
    found++;
  }
  if (count) *count = found;
  return MICA_OK;
}

static void set_frozen(mica_nn_parameter_info *info, bool frozen) {
  info->frozen = frozen || mica__nn_is_held(&info->held);
}
static void set_decay(mica_nn_parameter_info *info, bool decay) { info->decay = decay; }

mica_status mica_nn_freeze(mica_nn *nn, const char *pattern, bool frozen, size_t *count) {
  return for_matching(nn, "mica_nn_freeze", pattern, count, set_frozen, frozen);
}

mica_status mica_nn_set_decay(mica_nn *nn, const char *pattern, bool decay, size_t *count) {
  return for_matching(nn, "mica_nn_set_decay", pattern, count, set_decay, decay);
}

mica_status mica__name_find(const char *what, const char *name, const char *const *names, size_t count,
                            int32_t *index) {
  mica__text text = {0};
  if (!name || !index) return mica__fail(MICA_E_INVALID, "%s: a pointer is NULL", what);
  for (size_t i = 0; i < count; i++) {
    if (!strcmp(names[i], name)) {
      *index = (int32_t)i;
      mica__text_free(&text);
      return MICA_OK;
    }
    mica__text_addf(&text, "%s%s", i ? ", " : "", names[i]);
  }
  mica_status status =
      mica__fail(MICA_E_NOT_FOUND, "there is no %s '%s', only %s", what, name, text.failed ? "" : text.data);
  mica__text_free(&text);
  return status;
}

/* --- sessions --- */

/* Fills in initial values. If the dtype is not f32, weights are computed in f32 and rounded, and all elements of other
 * parameters are init.value. Weights in blocks stay zeros. */
static mica_status fill_values(const mica_nn_parameter_info *info, mica_dtype dtype, mica_shape shape, uint64_t seed,
                               char *data, int64_t count) {
  if (info->held.block != MICA_BLOCK_NONE) return MICA_OK; /* zero bytes mean zeros in all types of blocks */
  if (dtype == MICA_F32) return mica__init_fill(&info->init, shape, seed, (float *)(void *)data, (size_t)count);
  float *wide = info->role == MICA_NN_ROLE_WEIGHT ? malloc((size_t)count * sizeof *wide + 1) : NULL;
  if (!wide && info->role == MICA_NN_ROLE_WEIGHT) return mica__fail_nomem("initial values");
  mica_status status = wide ? mica__init_fill(&info->init, shape, seed, wide, (size_t)count) : MICA_OK;
  for (int64_t i = 0; status == MICA_OK && i < count; i++)
    mica__element_set(dtype, data, i, wide ? (double)wide[i] : info->init.value);
  free(wide);
  return status;
}

/* Uploads a parameter's initial values, or this rank's part of them. MICA_E_SHAPE: the session is of another
 * network. */
static mica_status initialise_one(const mica_nn *nn, mica_tensor *tensor, const mica__nn_parameter *p) {
  const mica_nn_parameter_info *info = &p->info;
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  if (!mica_shape_equal(mica_tensor_shape(tensor), mica_value_shape(info->value)))
    return mica__fail(MICA_E_SHAPE, "the session is of another network: its '%s' is %s, but this network's is %s",
                      info->name, mica_shape_format(mica_tensor_shape(tensor), is),
                      mica_shape_format(mica_value_shape(info->value), want));
  const mica_shape shape = mica__division_whole(&p->division, mica_tensor_shape(tensor));
  const bool divided = mica__is_divided(&p->division);
  size_t bytes = mica_tensor_bytes(tensor);
  int64_t count = 0;
  MICA_TRY(mica_shape_count(shape, &count));
  const size_t all = (size_t)count * mica_dtype_size(mica_tensor_dtype(tensor));
  char *data = calloc(all + (divided ? bytes : 1), 1), *part = divided ? data + all : data;
  if (!data) return mica__fail_nomem("initial values");
  mica__hash own = mica__hash_text((mica__hash){.low = nn->config.seed}, info->own_name);
  mica_dtype dtype = mica_tensor_dtype(tensor);
  mica_status status = fill_values(info, dtype, shape, own.low, data, count);
  if (divided)
    mica__division_copy(&p->division, mica_tensor_shape(tensor), mica_dtype_size(dtype), nn->config.tensor_ranks->ranks,
                        nn->config.tensor_ranks->rank, data, part, false);
  if (status == MICA_OK)
    status = mica_tensor_upload(mica_engine_queue(mica_tensor_engine(tensor)), tensor, part, bytes);
  free(data);
  return status == MICA_OK ? status : mica__fail_in(status, info->name);
}

mica_status mica_nn_initialise(const mica_nn *nn, mica_session *session) {
  if (!nn || !session) return mica__fail(MICA_E_INVALID, "mica_nn_initialise: a pointer is NULL");
  mica_queue *queue = NULL;
  for (size_t i = 0; i < nn->parameter_count; i++) {
    mica_tensor *tensor = mica_session_parameter(session, nn->parameters[i].info.name);
    if (!tensor || mica__tensor_is_read_only(tensor)) continue;
    MICA_TRY(initialise_one(nn, tensor, &nn->parameters[i]));
    queue = mica_engine_queue(mica_tensor_engine(tensor));
  }
  /* Values must have arrived before another queue runs the session. */
  return queue ? mica_queue_finish(queue) : MICA_OK;
}

static mica_status share_one(mica_session *session, const char *name, mica_session *owner, const char *from) {
  if (!mica_session_parameter(session, name)) return MICA_OK;
  mica_tensor *tensor = mica_session_parameter(owner, from);
  if (!tensor) return mica__fail(MICA_E_NOT_FOUND, "the session to share with has no parameter '%s'", from);
  return mica_session_share(session, name, tensor);
}

mica_status mica_nn_share(const mica_nn *nn, mica_session *session, mica_session *owner) {
  if (!nn || !session || !owner) return mica__fail(MICA_E_INVALID, "mica_nn_share: a pointer is NULL");
  for (size_t i = 0; i < nn->parameter_count; i++)
    MICA_TRY(share_one(session, nn->parameters[i].name, owner, nn->parameters[i].name));
  return MICA_OK;
}

mica_status mica_nn_share_ema(const mica_nn *nn, mica_session *session, mica_session *owner) {
  if (!nn || !session || !owner) return mica__fail(MICA_E_INVALID, "mica_nn_share_ema: a pointer is NULL");
  for (size_t i = 0; i < nn->parameter_count; i++) {
    const mica_nn_parameter_info *info = &nn->parameters[i].info;
    mica__text name = {0};
    mica__text_addf(&name, "%sema.%s", nn->name_prefix, info->own_name);
    mica_status status = mica__text_status(&name);
    /* Frozen weights have no moving average. The session then shares the weight itself. */
    bool averaged = status == MICA_OK && mica_session_parameter(owner, name.data) != NULL;
    if (status == MICA_OK) status = share_one(session, info->name, owner, averaged ? name.data : info->name);
    mica__text_free(&name);
    MICA_TRY(status);
  }
  return MICA_OK;
}

#define NAMES_SHOWN 12

void mica__nn_list_weights(const mica_nn *nn, mica__text *list) {
  size_t shown = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role != MICA_NN_ROLE_WEIGHT || shown > NAMES_SHOWN) continue;
    mica__text_addf(list, "%s%s", shown ? ", " : "", shown < NAMES_SHOWN ? info->own_name : "...");
    shown++;
  }
}
