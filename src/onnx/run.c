/* Running a model: lowerings by the shapes of inputs and the elements of bound ones. */
#include "onnx/lowering.h"

#include "base/element.h"
#include "base/text.h"

#include <mica/buffer.h>
#include <mica/session.h>
#include <stdlib.h>
#include <string.h>

#define LOWERINGS 64

/* A model lowered for some shapes, compiled. */
typedef struct lowered {
  struct lowered *next;
  mica__lower_input *inputs; /* data is owned: the elements of bound ones */
  mica_tensor **tensors;     /* for inputs whose elements the host has; NULL until they are used */
  mica_session *session;
  mica__lower_indices *indices; /* what is to be seen to before a run */
  size_t index_count;
  uint64_t used; /* when */
} lowered;

/* An initial value on the device. */
typedef struct weight {
  const Onnx__TensorProto *tensor;
  mica_tensor *memory;
} weight;

struct mica_onnx_runner {
  mica_engine *engine;
  mica_onnx *model;
  mica__external external; /* the runner's own maps, so that runners of one model may be used by several threads */
  mica_onnx_runner_config config;
  mica_onnx_port *ports;
  const mica_onnx_feed **feeds;
  bool *bound; /* inputs that have been demanded */
  size_t input_count, output_count;
  const Onnx__TensorProto **known;
  size_t known_count;
  weight *weights;
  size_t weight_count;
  lowered *list, *current;
  uint64_t clock;
};

/* --- making and destroying --- */

static mica_status check_operators(const mica_onnx *model) {
  mica__text missing = {0};
  for (size_t i = 0; i < model->operator_count; i++) {
    const mica_onnx_operator *used = &model->operators[i];
    if (used->supported) continue;
    mica__text_addf(&missing, "%s%s%s%.60s (version %lld)", missing.length ? ", " : "", used->domain,
                    *used->domain ? "." : "", used->name, (long long)used->version);
  }
  mica_status status = missing.length ? mica__fail(MICA_E_UNSUPPORTED, "%s needs operators that are not supported: %s",
                                                   model->name, missing.failed ? "..." : missing.data)
                                      : MICA_OK;
  mica__text_free(&missing);
  return status;
}

mica_status mica_onnx_runner_create(mica_engine *engine, mica_onnx *model, const mica_onnx_runner_config *config,
                                    mica_onnx_runner **out) {
  if (!engine || !model || !out) return mica__fail(MICA_E_INVALID, "mica_onnx_runner_create: a pointer is NULL");
  MICA_TRY(check_operators(model));
  mica_onnx_runner *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("a runner");
  r->engine = engine;
  r->model = model;
  r->external.folder = mica__strdup(model->external.folder);
  if (config) r->config = *config;
  r->input_count = mica_onnx_input_count(model);
  r->output_count = mica_onnx_output_count(model);
  r->ports = calloc(r->input_count + 1, sizeof *r->ports);
  r->feeds = calloc(r->input_count + 1, sizeof *r->feeds);
  r->bound = calloc(r->input_count + 1, sizeof *r->bound);
  if (!r->ports || !r->feeds || !r->bound || (model->external.folder && !r->external.folder)) {
    mica_onnx_runner_destroy(r);
    return mica__fail_nomem("a runner");
  }
  for (size_t i = 0; i < r->input_count; i++) r->ports[i] = mica_onnx_input(model, i);
  *out = r;
  return MICA_OK;
}

const mica_onnx *mica_onnx_runner_model(const mica_onnx_runner *r) { return r->model; }

static void destroy_lowered(const mica_onnx_runner *r, lowered *low) {
  if (!low) return;
  for (size_t i = 0; i < r->input_count; i++) {
    if (low->inputs) free((void *)low->inputs[i].data);
    if (low->tensors) mica_tensor_destroy(low->tensors[i]);
  }
  mica_session_destroy(low->session);
  free(low->inputs);
  free(low->tensors);
  free(low->indices);
  free(low);
}

void mica_onnx_runner_destroy(mica_onnx_runner *r) {
  if (!r) return;
  for (lowered *low = r->list, *next; low; low = next) {
    next = low->next;
    destroy_lowered(r, low);
  }
  for (size_t i = 0; i < r->weight_count; i++) mica_tensor_destroy(r->weights[i].memory);
  mica__external_close(&r->external);
  free(r->weights);
  free(r->known);
  free(r->ports);
  free(r->feeds);
  free(r->bound);
  free(r);
}

/* --- feeds --- */

static mica_dtype dtype_of(const mica_onnx_feed *feed) {
  return feed->tensor ? mica_tensor_dtype(feed->tensor) : feed->dtype;
}
static mica_shape shape_of(const mica_onnx_feed *feed) {
  return feed->tensor ? mica_tensor_shape(feed->tensor) : feed->shape;
}

static mica_status check_feed(const mica_onnx_runner *r, const mica_onnx_feed *feed, const mica_onnx_port *port) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  int64_t count = 0;
  mica_shape shape = shape_of(feed);
  if (!feed->tensor && (!feed->data || !mica_dtype_is_valid(feed->dtype)))
    return mica__fail(MICA_E_INVALID, "mica_onnx_run: the feed of '%s' has neither a tensor nor elements", feed->name);
  MICA_TRY(mica_shape_count(shape, &count));
  if (feed->tensor && mica_tensor_engine(feed->tensor) != r->engine)
    return mica__fail(MICA_E_INVALID, "mica_onnx_run: the tensor for '%s' belongs to another engine", feed->name);
  if (feed->tensor && !mica_tensor_is_contiguous(feed->tensor))
    return mica__fail(MICA_E_INVALID, "mica_onnx_run: the tensor for '%s' is not contiguous", feed->name);
  if (port->has_dtype && port->dtype != dtype_of(feed))
    return mica__fail(MICA_E_DTYPE, "%s: input '%s' is %s, and was fed %s", r->model->name, port->name,
                      mica_dtype_name(port->dtype), mica_dtype_name(dtype_of(feed)));
  bool fits = !port->has_shape || port->shape.rank == shape.rank;
  for (int32_t i = 0; port->has_shape && fits && i < shape.rank; i++)
    fits = port->shape.dim[i] == MICA_DYNAMIC || port->shape.dim[i] == shape.dim[i];
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "%s: input '%s' has shape %s, and was fed %s", r->model->name, port->name,
                    mica_shape_format(port->shape, want), mica_shape_format(shape, is));
}

static mica_status take_feeds(mica_onnx_runner *r, const mica_onnx_feed *feeds, size_t feed_count) {
  for (size_t i = 0; i < r->input_count; i++) r->feeds[i] = NULL;
  for (size_t f = 0; f < feed_count; f++) {
    size_t i = 0;
    if (!feeds[f].name) return mica__fail(MICA_E_INVALID, "mica_onnx_run: a feed has no name");
    while (i < r->input_count && strcmp(r->ports[i].name, feeds[f].name)) i++;
    if (i == r->input_count) return mica__fail(MICA_E_NOT_FOUND, "%s has no input '%s'", r->model->name, feeds[f].name);
    if (r->feeds[i]) return mica__fail(MICA_E_INVALID, "mica_onnx_run: input '%s' is fed twice", feeds[f].name);
    MICA_TRY(check_feed(r, &feeds[f], &r->ports[i]));
    r->feeds[i] = &feeds[f];
  }
  for (size_t i = 0; i < r->input_count; i++) {
    if (r->feeds[i] || r->ports[i].kind == MICA_ONNX_KIND_OPTIONAL) continue;
    if (r->ports[i].kind != MICA_ONNX_KIND_TENSOR && r->ports[i].kind != MICA_ONNX_KIND_OTHER)
      return mica__fail(MICA_E_UNSUPPORTED, "%s: input '%s' is no tensor, which is not supported", r->model->name,
                        r->ports[i].name);
    return mica__fail(MICA_E_INVALID, "%s: input '%s' is not fed", r->model->name, r->ports[i].name);
  }
  return MICA_OK;
}

static size_t bytes_of(const mica_onnx_feed *feed) {
  int64_t count = 0;
  return mica_shape_count(shape_of(feed), &count) == MICA_OK ? (size_t)count * mica_dtype_size(dtype_of(feed)) : 0;
}

/* The feed's elements on the host, a copy. */
static mica_status elements_of(mica_queue *queue, const mica_onnx_feed *feed, void **out) {
  size_t bytes = bytes_of(feed);
  void *data = malloc(bytes + 1);
  if (!data) return mica__fail_nomem("a bound input");
  mica_status status = MICA_OK;
  if (feed->tensor)
    status = mica_tensor_download(queue, feed->tensor, data, bytes);
  else if (bytes)
    memcpy(data, feed->data, bytes);
  if (status == MICA_OK)
    *out = data;
  else
    free(data);
  return status;
}

/* --- lowerings --- */

/* The inputs of this run: types, and the elements of bound ones, which are the caller's to free. */
static mica_status describe_run(mica_onnx_runner *r, mica_queue *queue, mica__lower_input *inputs) {
  for (size_t i = 0; i < r->input_count; i++) {
    const mica_onnx_feed *feed = r->feeds[i];
    inputs[i] = (mica__lower_input){.name = r->ports[i].name, .given = feed != NULL};
    if (!feed) continue;
    inputs[i].dtype = dtype_of(feed);
    inputs[i].shape = shape_of(feed);
    void *data = NULL;
    if (r->bound[i]) MICA_TRY(elements_of(queue, feed, &data));
    inputs[i].data = data;
  }
  return MICA_OK;
}

static void forget_elements(const mica_onnx_runner *r, mica__lower_input *inputs) {
  for (size_t i = 0; inputs && i < r->input_count; i++) free((void *)inputs[i].data);
}

static bool is_for(const mica_onnx_runner *r, const lowered *low, const mica__lower_input *inputs) {
  for (size_t i = 0; i < r->input_count; i++) {
    const mica__lower_input *a = &low->inputs[i], *b = &inputs[i];
    if (a->given != b->given || (!a->data) != (!b->data)) return false;
    if (!a->given) continue;
    if (a->dtype != b->dtype || !mica_shape_equal(a->shape, b->shape)) return false;
    if (a->data && memcmp(a->data, b->data, bytes_of(r->feeds[i]))) return false;
  }
  return true;
}

static mica_status know(mica_onnx_runner *r, const Onnx__TensorProto *tensor) {
  const Onnx__TensorProto **known = realloc(r->known, (r->known_count + 1) * sizeof *known);
  if (!known) return mica__fail_nomem("a runner");
  r->known = known;
  known[r->known_count++] = tensor;
  return MICA_OK;
}

/* The device's copy of an initial value, made once for all lowerings. */
static mica_status find_weight(mica_onnx_runner *r, const Onnx__TensorProto *tensor, mica_tensor **memory) {
  for (size_t i = 0; i < r->weight_count; i++)
    if (r->weights[i].tensor == tensor) {
      *memory = r->weights[i].memory;
      return MICA_OK;
    }
  weight *weights = realloc(r->weights, (r->weight_count + 1) * sizeof *weights);
  if (!weights) return mica__fail_nomem("a runner");
  r->weights = weights;
  mica__onnx_tensor read = {0};
  MICA_TRY(mica__onnx_tensor_read(&r->external, tensor, &read));
  mica_status status = mica_tensor_create_from(r->engine, read.dtype, read.shape, read.data, memory);
  mica__onnx_tensor_free(&read);
  if (status == MICA_OK) r->weights[r->weight_count++] = (weight){tensor, *memory};
  return status;
}

static mica_status compile(mica_onnx_runner *r, const mica__lowering *l, const mica_value *outputs,
                           mica_session **session) {
  mica_binding *bindings = calloc(l->weight_count + 1, sizeof *bindings);
  if (!bindings) return mica__fail_nomem("a runner");
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < l->weight_count; i++) {
    bindings[i].name = l->weights[i].parameter;
    status = find_weight(r, l->weights[i].tensor, &bindings[i].tensor);
  }
  const mica_session_config config = {.no_fusion = r->config.no_fusion,
                                      .no_simplify = r->config.no_simplify,
                                      .parameters = bindings,
                                      .parameter_count = l->weight_count};
  if (status == MICA_OK) status = mica_session_create(r->engine, l->graph, outputs, r->output_count, &config, session);
  free(bindings);
  return status;
}

/* Lowers and compiles for these inputs into *low; *again: something has been demanded, which the next call binds. */
static mica_status lower(mica_onnx_runner *r, const mica__lower_input *inputs, lowered *low, bool *again) {
  mica__lowering l = {.model = r->model,
                      .external = &r->external,
                      .inputs = inputs,
                      .input_count = r->input_count,
                      .known = r->known,
                      .known_count = r->known_count};
  mica_value *outputs = calloc(r->output_count + 1, sizeof *outputs);
  l.demanded = calloc(r->input_count + 1, sizeof *l.demanded);
  mica_status status = outputs && l.demanded ? mica_graph_create(&l.graph) : mica__fail_nomem("a runner");
  if (status == MICA_OK) status = mica__lower_model(&l, outputs);
  *again = status == MICA_OK && l.demands;
  for (size_t i = 0; *again && i < r->input_count; i++) r->bound[i] = r->bound[i] || l.demanded[i];
  if (*again && l.demanded_tensor) status = know(r, l.demanded_tensor);
  if (status == MICA_OK && !*again) status = compile(r, &l, outputs, &low->session);
  if (low->session) {
    low->indices = l.indices;
    low->index_count = l.index_count;
    l.indices = NULL;
  }
  mica_graph_destroy(l.graph);
  mica__lower_free(&l);
  free(l.demanded);
  free(outputs);
  return status;
}

static void drop_oldest(mica_onnx_runner *r) {
  size_t count = mica_onnx_lowering_count(r), most = r->config.most_lowerings ? r->config.most_lowerings : LOWERINGS;
  while (count-- > most) {
    lowered **oldest = &r->list->next;
    for (lowered **at = oldest; *at; at = &(*at)->next)
      if ((*at)->used < (*oldest)->used) oldest = at;
    lowered *gone = *oldest;
    *oldest = gone->next;
    if (r->current == gone) r->current = NULL;
    destroy_lowered(r, gone);
  }
}

/* Takes inputs, and what *made holds, over: they become the lowering's. */
static mica_status add_lowered(mica_onnx_runner *r, mica__lower_input *inputs, const lowered *made, lowered **out) {
  lowered *low = calloc(1, sizeof *low);
  if (!low) return mica__fail_nomem("a runner");
  low->tensors = calloc(r->input_count + 1, sizeof(mica_tensor *));
  if (!low->tensors) {
    free(low);
    return mica__fail_nomem("a runner");
  }
  low->inputs = inputs;
  low->session = made->session;
  low->indices = made->indices;
  low->index_count = made->index_count;
  low->next = r->list;
  r->list = low;
  *out = low;
  drop_oldest(r);
  return MICA_OK;
}

/* The lowering for the present feeds, an old one or a new one. */
static mica_status find_lowered(mica_onnx_runner *r, mica_queue *queue, lowered **out) {
  for (bool again = true; again;) {
    lowered made = {0};
    mica__lower_input *inputs = calloc(r->input_count + 1, sizeof *inputs);
    mica_status status = inputs ? describe_run(r, queue, inputs) : mica__fail_nomem("a runner");
    *out = NULL;
    for (lowered *low = r->list; status == MICA_OK && low && !*out; low = low->next)
      if (is_for(r, low, inputs)) *out = low;
    again = false;
    if (status == MICA_OK && !*out) status = lower(r, inputs, &made, &again);
    if (status == MICA_OK && made.session) {
      status = add_lowered(r, inputs, &made, out);
      if (status == MICA_OK) return MICA_OK;
      mica_session_destroy(made.session);
      free(made.indices);
    }
    forget_elements(r, inputs);
    free(inputs);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* --- running --- */

static mica_status upload(const mica_onnx_runner *r, mica_queue *queue, lowered *low, size_t i,
                          const mica_tensor **tensor) {
  const mica_onnx_feed *feed = r->feeds[i];
  if (!low->tensors[i]) MICA_TRY(mica_tensor_create(r->engine, feed->dtype, feed->shape, &low->tensors[i]));
  *tensor = low->tensors[i];
  return mica_tensor_upload(queue, low->tensors[i], feed->data, bytes_of(feed));
}

static mica_status check_indices(const mica_onnx_runner *r, const lowered *low) {
  for (size_t i = 0; i < low->index_count; i++) {
    const mica_onnx_feed *feed = r->feeds[low->indices[i].input];
    int64_t count = 0;
    if (!feed || feed->tensor) continue;
    MICA_TRY(mica_shape_count(feed->shape, &count));
    MICA_TRY(mica__lower_indices_check(r->model->name, &low->indices[i], feed->dtype, feed->data, count));
  }
  return MICA_OK;
}

mica_status mica_onnx_run(mica_onnx_runner *r, mica_queue *queue, const mica_onnx_feed *feeds, size_t feed_count) {
  if (!r || !queue || (feed_count && !feeds)) return mica__fail(MICA_E_INVALID, "mica_onnx_run: a pointer is NULL");
  lowered *low = NULL;
  MICA_TRY(take_feeds(r, feeds, feed_count));
  MICA_TRY(find_lowered(r, queue, &low));
  MICA_TRY(check_indices(r, low));
  mica_feed *given = calloc(r->input_count + 1, sizeof *given);
  if (!given) return mica__fail_nomem("a run");
  size_t count = 0;
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < r->input_count; i++) {
    const mica_onnx_feed *feed = r->feeds[i];
    if (!feed || low->inputs[i].data) continue;
    given[count] = (mica_feed){r->ports[i].name, feed->tensor};
    if (!feed->tensor) status = upload(r, queue, low, i, &given[count].tensor);
    count++;
  }
  if (status == MICA_OK) status = mica_session_run(low->session, queue, given, count);
  free(given);
  if (status != MICA_OK) return status;
  low->used = ++r->clock;
  r->current = low;
  return MICA_OK;
}

const mica_tensor *mica_onnx_output(const mica_onnx_runner *r, size_t index) {
  return r && r->current && index < r->output_count ? mica_session_output(r->current->session, index) : NULL;
}

bool mica_onnx_is_bound(const mica_onnx_runner *r, const char *input) {
  for (size_t i = 0; i < r->input_count; i++)
    if (!strcmp(r->ports[i].name, input)) return r->current && r->current->inputs[i].data != NULL;
  return false;
}

size_t mica_onnx_lowering_count(const mica_onnx_runner *r) {
  size_t count = 0;
  for (const lowered *low = r->list; low; low = low->next) count++;
  return count;
}
