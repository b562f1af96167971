/* Layers whose weights are divided among ranks. Each rank has one block of such a weight, along one axis. */
#include "base/error.h"
#include "base/text.h"
#include "dist/parts.h"
#include "ops/collective/channels.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A weight that is divided along an axis. */
typedef struct division {
  char *name; /* own_name */
  int32_t axis;
} division;

struct mica_parallel {
  mica_communicator *communicator;
  int32_t channel; /* for the next transfer between ranks */
  division *list;
  size_t count;
};

mica_status mica_parallel_create(mica_communicator *communicator, mica_parallel **parallel) {
  if (!communicator || !parallel) return mica__fail(MICA_E_INVALID, "mica_parallel_create: a pointer is NULL");
  mica_parallel *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("layers of several ranks");
  p->communicator = communicator;
  *parallel = p;
  return MICA_OK;
}

void mica_parallel_destroy(mica_parallel *p) {
  if (!p) return;
  for (size_t i = 0; i < p->count; i++) free(p->list[i].name);
  free(p->list);
  free(p);
}

static const division *find(const mica_parallel *p, const char *name) {
  for (size_t i = 0; i < p->count; i++)
    if (!strcmp(p->list[i].name, name)) return &p->list[i];
  return NULL;
}

/* Records that parameter number `index` of the network is divided along an axis. A name is recorded once, although a
 * training and a test network both have it. */
static void divide(mica_parallel *p, mica_nn *nn, size_t index, int32_t axis) {
  const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, index);
  if (!info || find(p, info->own_name)) return;
  division *grown = realloc(p->list, (p->count + 1) * sizeof *grown);
  if (grown) p->list = grown;
  char *name = grown ? mica__strdup(info->own_name) : NULL;
  if (!name) {
    mica_graph_fail(mica_nn_graph(nn), MICA_E_NOMEM, "there is not enough memory for layers of several ranks");
    return;
  }
  p->list[p->count++] = (division){name, axis};
}

/* True if the layer cannot be built. If p or nn is NULL, records an error in x's graph. If only x is null, an error was
 * recorded earlier. */
static bool is_missing(const mica_parallel *p, const mica_nn *nn, const char *kind, mica_value x) {
  char text[64];
  if (p && nn) return mica_value_is_null(x);
  snprintf(text, sizeof text, "%s: %s is NULL", kind, nn ? "parallel" : "the network");
  if (x.graph) mica_graph_fail(x.graph, MICA_E_INVALID, text);
  return true;
}

/* True, with an error recorded, if a count is not a positive multiple of the number of ranks. */
static bool is_uneven(const mica_parallel *p, mica_nn *nn, const char *name, const char *what, int64_t count) {
  char text[256];
  if (count > 0 && count % p->communicator->ranks == 0) return false;
  snprintf(text, sizeof text,
           "%s: the number of %s is %lld, but must be a positive multiple of the number of ranks, %d", name, what,
           (long long)count, (int)p->communicator->ranks);
  mica_graph_fail(mica_nn_graph(nn), MICA_E_INVALID, text);
  return true;
}

/* A dense layer whose columns are divided: this rank computes units / ranks outputs. x comes from
 * mica_parallel_enter. */
static mica_value columns(mica_parallel *p, mica_nn *nn, const char *name, mica_value x, int64_t units,
                          const mica_dense_config *config) {
  const size_t first = mica_nn_parameter_count(nn);
  mica_value y = mica_nn_dense(nn, name, x, units / p->communicator->ranks, config);
  for (size_t i = first; i < mica_nn_parameter_count(nn); i++) divide(p, nn, i, 0);
  return y;
}

mica_value mica_parallel_columns(mica_parallel *p, mica_nn *nn, const char *name, mica_value x, int64_t units,
                                 const mica_dense_config *config) {
  if (is_missing(p, nn, "parallel_columns", x) || is_uneven(p, nn, name, "units", units)) return (mica_value){0};
  return columns(p, nn, name, mica_parallel_enter(x, p->communicator, p->channel++), units, config);
}

mica_value mica_parallel_rows(mica_parallel *p, mica_nn *nn, const char *name, mica_value x, int64_t units,
                              const mica_dense_config *config) {
  mica_dense_config how = config ? *config : (mica_dense_config){0};
  const bool biased = !how.no_bias;
  if (is_missing(p, nn, "parallel_rows", x)) return (mica_value){0};
  const size_t first = mica_nn_parameter_count(nn);
  how.no_bias = true; /* the bias is added once, after the sum over ranks */
  mica_value y = mica_nn_dense(nn, name, x, units, &how);
  if (mica_value_is_null(y)) return y;
  divide(p, nn, first, 1);
  y = mica_parallel_leave(y, p->communicator, p->channel++);
  if (!biased) return y;
  mica_nn_push(nn, name);
  y = mica_add(y, mica_nn_parameter(nn, "bias", MICA_SHAPE(units), &how.bias));
  mica_nn_pop(nn);
  return y;
}

mica_value mica_parallel_attention(mica_parallel *p, mica_nn *nn, const char *name, mica_value x, int64_t heads,
                                   const mica_attention_config *config) {
  static const char *const names[] = {"q", "k", "v"};
  const mica_shape shape = mica_value_shape(x);
  mica_value parts[3];
  if (is_missing(p, nn, "parallel_attention", x) || is_uneven(p, nn, name, "heads", heads)) return (mica_value){0};
  if (shape.rank != 3 || shape.dim[2] < 1 || shape.dim[2] % heads) {
    char is[MICA_SHAPE_TEXT], text[MICA_SHAPE_TEXT + 128];
    snprintf(text, sizeof text,
             "parallel_attention: x is %s, but must be (B, T, C), with C known and a multiple of heads (%lld)",
             mica_shape_format(shape, is), (long long)heads);
    return mica_graph_fail(x.graph, MICA_E_SHAPE, text);
  }
  const int64_t channels = shape.dim[2], own = heads / p->communicator->ranks, size = channels / heads;
  mica_nn_push(nn, name);
  mica_value entered = mica_parallel_enter(x, p->communicator, p->channel++);
  for (int k = 0; k < 3; k++) {
    mica_value y = columns(p, nn, names[k], entered, channels, NULL);
    y = mica_reshape(y, MICA_SHAPE(shape.dim[0], shape.dim[1], own, size));
    parts[k] = mica_transpose(y, MICA_AXES(0, 2, 1, 3));
  }
  mica_value y = mica_transpose(mica_attention(parts[0], parts[1], parts[2], config), MICA_AXES(0, 2, 1, 3));
  y = mica_reshape(y, MICA_SHAPE(shape.dim[0], shape.dim[1], own * size));
  y = mica_parallel_rows(p, nn, "out", y, channels, NULL);
  mica_nn_pop(nn);
  return y;
}

/* --- whole weights and their parts --- */

static mica_shape whole_shape(const mica_parallel *p, const mica_nn_parameter_info *info) {
  mica_shape shape = mica_value_shape(info->value);
  const division *d = find(p, info->own_name);
  if (d) shape.dim[d->axis] *= p->communicator->ranks;
  return shape;
}

/* Copies block `rank` of a whole tensor to a part, or back. */
static void copy_block(const mica_parallel *p, const division *d, mica_shape part, size_t size, int32_t rank,
                       char *whole, char *own, bool back) {
  const int32_t ranks = p->communicator->ranks;
  const mica__division how = {.axis = d->axis, .count = 1, .sections = {part.dim[d->axis] * ranks}};
  mica__division_copy(&how, part, size, ranks, rank, whole, own, back);
}

/* Uploads a parameter from the whole tensor: this rank's block if the parameter is divided, else all of it. Does
 * nothing if the session does not have the parameter. */
static mica_status take(const mica_parallel *p, const mica_nn_parameter_info *info, mica_session *session,
                        char *whole) {
  mica_tensor *tensor = mica_session_parameter(session, info->name);
  const division *d = find(p, info->own_name);
  if (!tensor) return MICA_OK;
  mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
  const size_t bytes = mica_tensor_bytes(tensor), size = mica_dtype_size(mica_tensor_dtype(tensor));
  if (!d) return mica_tensor_upload(queue, tensor, whole, bytes);
  char *own = malloc(bytes + 1);
  if (!own) return mica__fail_nomem("a part of a weight");
  copy_block(p, d, mica_tensor_shape(tensor), size, p->communicator->rank, whole, own, false);
  mica_status status = mica_tensor_upload(queue, tensor, own, bytes);
  free(own);
  return status;
}

/* The engine of a session; NULL if the session has none of the network's parameters. */
static mica_engine *engine_of(const mica_nn *nn, mica_session *session) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    mica_tensor *tensor = mica_session_parameter(session, mica_nn_parameter_at(nn, i)->name);
    if (tensor) return mica_tensor_engine(tensor);
  }
  return NULL;
}

/* Computes the initial values of one whole parameter in a separate graph, and uploads this rank's part. The values
 * depend only on seed, name and shape, so ranks agree. */
static mica_status initialise_one(const mica_parallel *p, const mica_nn_parameter_info *info, mica_session *session,
                                  mica_engine *engine, uint64_t seed) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *one = NULL;
  char *whole = NULL;
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, &(mica_nn_config){.seed = seed}, &nn);
  if (status == MICA_OK) {
    mica_value value = mica_nn_parameter(nn, info->own_name, whole_shape(p, info), &info->init);
    value = mica_sum(value, MICA_ALL_AXES, false);
    status = mica_session_create(engine, graph, &value, 1, NULL, &one);
  }
  if (status == MICA_OK) status = mica_nn_initialise(nn, one);
  const mica_tensor *tensor = one ? mica_session_parameter(one, info->own_name) : NULL;
  if (status == MICA_OK && tensor) {
    whole = malloc(mica_tensor_bytes(tensor) + 1);
    status = whole ? mica_tensor_download(mica_engine_queue(engine), tensor, whole, mica_tensor_bytes(tensor))
                   : mica__fail_nomem("a weight");
  }
  if (status == MICA_OK && tensor) status = take(p, info, session, whole);
  free(whole);
  mica_session_destroy(one);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

mica_status mica_parallel_initialise(mica_parallel *p, const mica_nn *nn, mica_session *session, uint64_t seed) {
  if (!p || !nn || !session) return mica__fail(MICA_E_INVALID, "mica_parallel_initialise: a pointer is NULL");
  MICA_TRY(mica_nn_initialise(nn, session));
  mica_engine *engine = engine_of(nn, session);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_WEIGHT) MICA_TRY(initialise_one(p, info, session, engine, seed));
  }
  return MICA_OK;
}

static mica_status load(mica_parallel *p, const mica_nn *nn, mica_session *session, const char *path,
                        const mica_safetensors *file) {
  char want[MICA_SHAPE_TEXT], is[MICA_SHAPE_TEXT];
  /* The first pass only checks, so nothing is loaded if the file does not match. */
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
      const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
      const mica_safetensors_entry *entry = mica_safetensors_find(file, info->own_name);
      if (info->role == MICA_NN_ROLE_OPTIMIZER) continue;
      const mica_shape shape = whole_shape(p, info);
      if (!entry) return mica__fail(MICA_E_FORMAT, "%s lacks the tensor '%s'", path, info->own_name);
      if (entry->dtype != mica_value_dtype(info->value) || !mica_shape_equal(entry->shape, shape))
        return mica__fail(MICA_E_FORMAT, "%s: %s is %s %s, but the network's is %s %s", path, info->own_name,
                          entry->type, mica_shape_format(entry->shape, is),
                          mica_dtype_name(mica_value_dtype(info->value)), mica_shape_format(shape, want));
      if (pass) MICA_TRY(take(p, info, session, (char *)(uintptr_t)entry->data));
    }
  return MICA_OK;
}

mica_status mica_parallel_load(mica_parallel *p, const mica_nn *nn, mica_session *session, const char *path) {
  mica_safetensors *file = NULL;
  if (!p || !nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_parallel_load: a pointer is NULL");
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = load(p, nn, session, path, file);
  mica_safetensors_close(file);
  return status;
}

/* Called on rank 0. ranks[k] has the weights that rank k sent. Adds the weight `own` to `whole`, assembled from all
 * ranks' blocks if the weight is divided. */
static mica_status join(const mica_parallel *p, const mica__weights *ranks, const mica__weight_part *own,
                        mica__weights *whole) {
  const division *d = find(p, own->head.name);
  mica__weight_head head = own->head;
  mica__weight_part *one = NULL;
  if (d) {
    head.shape.dim[d->axis] *= p->communicator->ranks;
    head.bytes *= p->communicator->ranks;
  }
  MICA_TRY(mica__weights_add(whole, &head, &one));
  if (!d) memcpy(one->data, own->data, (size_t)head.bytes);
  for (int32_t k = 0; d && k < p->communicator->ranks; k++) {
    const mica__weight_part *part = mica__weights_find(&ranks[k], head.name);
    if (!part || part->head.bytes != own->head.bytes)
      return mica__fail(MICA_E_STATE, "the part of '%s' on rank %d is missing or has the wrong size", head.name,
                        (int)k);
    copy_block(p, d, own->head.shape, mica_dtype_size((mica_dtype)head.dtype), k, one->data, part->data, true);
  }
  return MICA_OK;
}

static mica_status save(mica_parallel *p, const mica_nn *nn, mica_session *session, const char *path,
                        mica__weights *ranks, mica__weights *whole) {
  mica_communicator *c = p->communicator;
  mica_engine *engine = engine_of(nn, session);
  if (!engine) return mica__fail(MICA_E_STATE, "mica_parallel_save: the session has no parameter of the network");
  MICA_TRY(mica__weights_take(&ranks[c->rank], nn, session, mica_engine_queue(engine)));
  if (c->rank) return mica__weights_send(&ranks[c->rank], c, MICA__CHANNEL_SAVING, 0);
  for (int32_t k = 1; k < c->ranks; k++) MICA_TRY(mica__weights_receive(&ranks[k], c, MICA__CHANNEL_SAVING, k));
  for (size_t i = 0; i < ranks[0].count; i++) MICA_TRY(join(p, ranks, &ranks[0].list[i], whole));
  return mica__weights_write(whole, path, NULL, 0);
}

mica_status mica_parallel_save(mica_parallel *p, const mica_nn *nn, mica_session *session, const char *path) {
  if (!p || !nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_parallel_save: a pointer is NULL");
  const int32_t count = p->communicator->ranks;
  mica__weights whole = {NULL, 0}, *ranks = calloc((size_t)count, sizeof *ranks);
  if (!ranks) return mica__fail_nomem("a file of weights");
  mica_status status = save(p, nn, session, path, ranks, &whole);
  if (status != MICA_OK) mica_communicator_abort(p->communicator, mica_error_message());
  for (int32_t k = 0; k < count; k++) mica__weights_free(&ranks[k]);
  mica__weights_free(&whole);
  free(ranks);
  return status;
}
