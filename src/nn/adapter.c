/* Low-rank adapters of dense layers, as a hook. */
#include "nn/nn.h"

#include "base/error.h"
#include "base/text.h"
#include "ir/graph.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <mica/adapter.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

#define STANDARD_RANK 8
#define MOST_SIZE ((int64_t)1 << 30) /* of inputs and outputs */

typedef struct layer {
  mica_adapter_layer info;
  char *name;
  float *a, *b;
} layer;

struct mica_adapter {
  mica_adapter_config config;
  char *targets; /* NULL: all dense layers except "head" */
  /* The targets one after another, without the blanks around them. Each ends with a zero byte. */
  char *words;
  size_t word_count;
  bool given; /* layers were named by mica_adapter_add */
  layer *layers;
  size_t count, capacity;
  /* The layer under construction: its name, its input, and its sizes if it is dense. */
  char *building;
  mica_value input;
  int64_t inputs, outputs;
};

static const char suffix_a[] = ".lora_A.weight", suffix_b[] = ".lora_B.weight";

static bool ends_in(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n > m && !strcmp(name + n - m, end);
}

bool mica_adapter_is_parameter(const char *own_name) {
  return own_name && (ends_in(own_name, suffix_a) || ends_in(own_name, suffix_b));
}

/* --- targets --- */

/* Splits the comma-separated targets into words. */
static mica_status split_targets(mica_adapter *adapter) {
  char *to = adapter->words = malloc(strlen(adapter->targets) + 1);
  if (!to) return mica__fail_nomem("an adapter");
  for (const char *at = adapter->targets; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    const char *word = at + strspn(at, " ");
    size_t n = strcspn(word, ",");
    while (n > 0 && word[n - 1] == ' ') n--;
    if (n == 0)
      return mica__fail(MICA_E_INVALID, "mica_adapter_create: the list of targets \"%s\" has an empty name",
                        adapter->targets);
    memcpy(to, word, n);
    to[n] = '\0';
    to += n + 1;
    adapter->word_count++;
  }
  return MICA_OK;
}

static const char *last_part(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

/* True if the pattern `word` matches a layer's whole name, or `word` is the name's last part. o_proj also matches
 * out_proj, because published models call attention's output layer o_proj. */
static bool matches(const char *word, const char *name) {
  const char *last = last_part(name);
  return !fnmatch(word, name, 0) || !strcmp(word, last) || (!strcmp(word, "o_proj") && !strcmp(last, "out_proj"));
}

static layer *find(const mica_adapter *adapter, const char *name) {
  for (size_t i = 0; i < adapter->count; i++)
    if (!strcmp(adapter->layers[i].name, name)) return &adapter->layers[i];
  return NULL;
}

/* True if the layer is adapted. *by_name then tells if a given layer or a configured target names it. If no layer is
 * given and no target is configured, all layers except "head" are adapted, and *by_name is false; the caller skips
 * layers that are not dense. */
static bool is_target(const mica_adapter *adapter, const char *name, bool *by_name) {
  const char *word = adapter->words;
  *by_name = true;
  if (adapter->given) return find(adapter, name) != NULL;
  for (size_t i = 0; i < adapter->word_count; i++, word += strlen(word) + 1)
    if (matches(word, name)) return true;
  *by_name = false;
  return !adapter->targets && strcmp(last_part(name), "head") != 0;
}

/* --- creation --- */

static mica_status take_config(mica_adapter *adapter, const mica_adapter_config *config) {
  mica_adapter_config *c = &adapter->config;
  *c = config ? *config : (mica_adapter_config){0};
  if (c->rank == 0) c->rank = STANDARD_RANK;
  if (c->alpha == 0) c->alpha = 2 * (double)c->rank;
  if (c->rank < 1 || c->rank > MICA_ADAPTER_MAX_RANK)
    return mica__fail(MICA_E_INVALID, "mica_adapter_create: the rank is %d, but must be 1 to %d", (int)c->rank,
                      MICA_ADAPTER_MAX_RANK);
  if (!(c->alpha > 0) || !isfinite(c->alpha))
    return mica__fail(MICA_E_INVALID, "mica_adapter_create: alpha is %g, but must be a finite number above 0",
                      c->alpha);
  if (!(c->dropout >= 0 && c->dropout < 1))
    return mica__fail(MICA_E_INVALID, "mica_adapter_create: dropout is %g, but must be at least 0 and below 1",
                      c->dropout);
  if (c->targets && (!strcmp(c->targets, "all") || !strcmp(c->targets, "all-linear"))) c->targets = NULL;
  adapter->targets = mica__strdup(c->targets);
  if (c->targets && !adapter->targets) return mica__fail_nomem("an adapter");
  c->targets = adapter->targets;
  return c->targets ? split_targets(adapter) : MICA_OK;
}

mica_status mica_adapter_create(const mica_adapter_config *config, mica_adapter **out) {
  if (!out) return mica__fail(MICA_E_INVALID, "mica_adapter_create: a pointer is NULL");
  mica_adapter *adapter = calloc(1, sizeof *adapter);
  if (!adapter) return mica__fail_nomem("an adapter");
  const mica_status status = take_config(adapter, config);
  if (status == MICA_OK)
    *out = adapter;
  else
    mica_adapter_destroy(adapter);
  return status;
}

void mica_adapter_destroy(mica_adapter *adapter) {
  if (!adapter) return;
  for (size_t i = 0; i < adapter->count; i++) {
    free(adapter->layers[i].name);
    free(adapter->layers[i].a);
    free(adapter->layers[i].b);
  }
  free(adapter->layers);
  free(adapter->building);
  free(adapter->targets);
  free(adapter->words);
  free(adapter);
}

const mica_adapter_config *mica_adapter_describe(const mica_adapter *adapter) { return &adapter->config; }

size_t mica_adapter_count(const mica_adapter *adapter) { return adapter->count; }

const mica_adapter_layer *mica_adapter_at(const mica_adapter *adapter, size_t index) {
  return index < adapter->count ? &adapter->layers[index].info : NULL;
}

/* --- layers --- */

static mica_status append(mica_adapter *adapter, const mica_adapter_layer *info, layer **added) {
  if (adapter->count == adapter->capacity) {
    const size_t capacity = adapter->capacity ? 2 * adapter->capacity : 32;
    layer *grown = realloc(adapter->layers, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("an adapter");
    adapter->layers = grown;
    adapter->capacity = capacity;
  }
  layer new = {.info = *info, .name = mica__strdup(info->name)};
  if (!new.name) return mica__fail_nomem("an adapter");
  new.info.name = new.name;
  new.info.a = new.info.b = NULL;
  adapter->layers[adapter->count] = new;
  *added = &adapter->layers[adapter->count++];
  return MICA_OK;
}

/* Allocates a layer's matrices, filled with zeros, if it has none yet. */
static mica_status make_values(layer *l) {
  if (l->a) return MICA_OK;
  const size_t rank = (size_t)l->info.rank;
  float *a = calloc(rank * (size_t)l->info.inputs, sizeof *a), *b = calloc(rank * (size_t)l->info.outputs, sizeof *b);
  if (!a || !b) {
    free(a);
    free(b);
    return mica__fail_nomem(l->name);
  }
  l->info.a = l->a = a;
  l->info.b = l->b = b;
  return MICA_OK;
}

mica_status mica_adapter_add(mica_adapter *adapter, const mica_adapter_layer *info) {
  layer *added = NULL;
  if (!adapter || !info || !info->name || !info->a || !info->b)
    return mica__fail(MICA_E_INVALID, "mica_adapter_add: a pointer is NULL");
  if (info->rank < 1 || info->rank > MICA_ADAPTER_MAX_RANK || info->inputs < 1 || info->inputs > MOST_SIZE ||
      info->outputs < 1 || info->outputs > MOST_SIZE || !isfinite(info->scale))
    return mica__fail(MICA_E_INVALID,
                      "%s: the rank (%d) must be 1 to %d, the scale (%g) finite, and inputs (%" PRId64
                      ") and outputs (%" PRId64 ") 1 to 2^30",
                      info->name, (int)info->rank, MICA_ADAPTER_MAX_RANK, info->scale, info->inputs, info->outputs);
  if (find(adapter, info->name))
    return mica__fail(MICA_E_INVALID, "%s: the adapter has this layer already", info->name);
  MICA_TRY(append(adapter, info, &added));
  const mica_status status = make_values(added);
  if (status != MICA_OK) {
    free(added->name);
    adapter->count--;
    return status;
  }
  memcpy(added->a, info->a, (size_t)info->rank * (size_t)info->inputs * sizeof(float));
  memcpy(added->b, info->b, (size_t)info->rank * (size_t)info->outputs * sizeof(float));
  adapter->given = true;
  return MICA_OK;
}

/* The adapter's layer for the dense layer under construction, added if the adapter has none yet. NULL, with an error in
 * the graph, if memory is short or the adapter's layer has other sizes. */
static const layer *layer_for(mica_adapter *adapter, mica_nn *nn, const char *name) {
  layer *l = find(adapter, name);
  if (!l) {
    const mica_adapter_config *c = &adapter->config;
    const double divisor = c->rslora ? sqrt((double)c->rank) : (double)c->rank;
    const mica_adapter_layer info = {.name = name,
                                     .inputs = adapter->inputs,
                                     .outputs = adapter->outputs,
                                     .rank = c->rank,
                                     .scale = c->alpha / divisor};
    const mica_status status = append(adapter, &info, &l);
    if (status != MICA_OK) mica__graph_fail_with(nn->graph, status);
    return status == MICA_OK ? l : NULL;
  }
  if (l->info.inputs == adapter->inputs && l->info.outputs == adapter->outputs) return l;
  mica__graph_fail(nn->graph, MICA_E_SHAPE,
                   "%s: the adapter is for %" PRId64 " inputs and %" PRId64 " outputs; the layer has %" PRId64
                   " and %" PRId64,
                   name, l->info.inputs, l->info.outputs, adapter->inputs, adapter->outputs);
  return NULL;
}

/* y + scale B (A drop(x)). */
static mica_value adapt(mica_nn *nn, const layer *l, mica_value x, mica_value y, double dropout) {
  /* Uniform in +-1 / sqrt(inputs), as in PyTorch's linear layers. */
  const mica_init_config uniform = {.kind = MICA_INIT_KAIMING_UNIFORM, .value = 0.57735026918962576};
  const mica_axes swap = MICA_AXES(1, 0);
  mica_value a = mica_nn_parameter(nn, "lora_A.weight", MICA_SHAPE(l->info.rank, l->info.inputs), &uniform);
  mica_value b = mica_nn_parameter(nn, "lora_B.weight", MICA_SHAPE(l->info.outputs, l->info.rank), NULL);
  if (dropout > 0) x = mica_nn_dropout(nn, x, dropout);
  mica_value low = mica_matmul(x, mica_transpose(a, swap));
  return mica_add(y, mica_affine(mica_matmul(low, mica_transpose(b, swap)), l->info.scale, 0));
}

static mica_value adapt_result(mica_adapter *adapter, mica_nn *nn, const char *name, mica_value y) {
  bool by_name;
  if (!is_target(adapter, name, &by_name)) return y;
  const bool dense = adapter->building && !strcmp(adapter->building, name) && adapter->inputs > 0;
  if (!dense && !by_name) return y;
  if (!dense)
    return mica__graph_fail(nn->graph, MICA_E_UNSUPPORTED,
                            "%s: only dense layers can have adapters, not embeddings, norms or convolutions", name);
  const layer *l = layer_for(adapter, nn, name);
  return l ? adapt(nn, l, adapter->input, y, adapter->config.dropout) : (mica_value){0};
}

mica_value mica_adapter_hook(void *user, mica_nn *nn, mica_nn_point point, const char *name, mica_value value) {
  mica_adapter *adapter = user;
  if (!adapter || !nn || !name) return value;
  if (point == MICA_NN_POINT_INPUT) {
    free(adapter->building);
    adapter->building = mica__strdup(name);
    adapter->input = value;
    adapter->inputs = adapter->outputs = 0;
    if (!adapter->building) return mica__graph_fail_with(nn->graph, mica__fail_nomem("an adapter"));
  } else if (point == MICA_NN_POINT_WEIGHT && adapter->building && !strcmp(adapter->building, name)) {
    const mica_shape shape = mica_value_shape(value);
    if (shape.rank == 2) adapter->outputs = shape.dim[0], adapter->inputs = shape.dim[1];
  } else if (point == MICA_NN_POINT_RESULT) {
    return adapt_result(adapter, nn, name, value);
  }
  return value;
}

/* --- networks and sessions --- */

/* The parameter of a layer in a network; NULL: it does not exist. */
static const mica_nn_parameter_info *parameter_of(const mica_nn *nn, const char *name, const char *end) {
  const size_t n = strlen(name);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (!strncmp(info->own_name, name, n) && !strcmp(info->own_name + n, end)) return info;
  }
  return NULL;
}

static mica_status check_targets(const mica_adapter *adapter, const mica_nn *nn) {
  const char *word = adapter->words;
  for (size_t i = 0; !adapter->given && i < adapter->word_count; i++, word += strlen(word) + 1) {
    bool found = false;
    for (size_t l = 0; l < adapter->count; l++) found = found || matches(word, adapter->layers[l].name);
    if (!found)
      return mica__fail(MICA_E_NOT_FOUND, "no adapted dense layer of the network matches the target \"%s\"", word);
  }
  for (size_t l = 0; l < adapter->count; l++)
    if (!parameter_of(nn, adapter->layers[l].name, suffix_a))
      return mica__fail(MICA_E_NOT_FOUND,
                        "the adapter has the layer \"%s\", but the network has no adapted dense layer of this name",
                        adapter->layers[l].name);
  return adapter->count ? MICA_OK
                        : mica__fail(MICA_E_NOT_FOUND, "the network has no adapted dense layer; its hook must be "
                                                       "mica_adapter_hook when it is built");
}

mica_status mica_adapter_freeze_base(const mica_adapter *adapter, mica_nn *nn) {
  if (!adapter || !nn) return mica__fail(MICA_E_INVALID, "mica_adapter_freeze_base: a pointer is NULL");
  MICA_TRY(check_targets(adapter, nn));
  MICA_TRY(mica_nn_freeze(nn, "*", true, NULL));
  MICA_TRY(mica_nn_freeze(nn, "*.lora_A.weight", false, NULL));
  return mica_nn_freeze(nn, "*.lora_B.weight", false, NULL);
}

/* Copies the matrix A of a layer, or B if `b` is true, from the adapter to the session if to_session is true, else from
 * the session to the adapter. */
static mica_status move(const mica_nn *nn, mica_session *session, const layer *l, bool b, bool to_session) {
  const mica_nn_parameter_info *info = parameter_of(nn, l->name, b ? suffix_b : suffix_a);
  mica_tensor *tensor = info ? mica_session_parameter(session, info->name) : NULL;
  const mica_shape shape = b ? MICA_SHAPE(l->info.outputs, l->info.rank) : MICA_SHAPE(l->info.rank, l->info.inputs);
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  if (!tensor) return mica__fail(MICA_E_NOT_FOUND, "the session has no adapter of the layer \"%s\"", l->name);
  if (!mica_shape_equal(mica_tensor_shape(tensor), shape))
    return mica__fail(MICA_E_SHAPE, "%s: the session's adapter has the shape %s, not %s", l->name,
                      mica_shape_format(mica_tensor_shape(tensor), is), mica_shape_format(shape, want));
  mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
  float *values = b ? l->b : l->a;
  return to_session ? mica_tensor_upload(queue, tensor, values, mica_tensor_bytes(tensor))
                    : mica_tensor_download(queue, tensor, values, mica_tensor_bytes(tensor));
}

mica_status mica_adapter_write_to(const mica_adapter *adapter, const mica_nn *nn, mica_session *session) {
  if (!adapter || !nn || !session) return mica__fail(MICA_E_INVALID, "mica_adapter_write_to: a pointer is NULL");
  for (size_t i = 0; i < adapter->count; i++) {
    if (!adapter->layers[i].a) continue;
    MICA_TRY(move(nn, session, &adapter->layers[i], false, true));
    MICA_TRY(move(nn, session, &adapter->layers[i], true, true));
  }
  return MICA_OK;
}

mica_status mica_adapter_read_from(mica_adapter *adapter, const mica_nn *nn, mica_session *session) {
  if (!adapter || !nn || !session) return mica__fail(MICA_E_INVALID, "mica_adapter_read_from: a pointer is NULL");
  for (size_t i = 0; i < adapter->count; i++) {
    MICA_TRY(make_values(&adapter->layers[i]));
    MICA_TRY(move(nn, session, &adapter->layers[i], false, false));
    MICA_TRY(move(nn, session, &adapter->layers[i], true, false));
  }
  return MICA_OK;
}
