/* Creation and sessions of a decoder, and its requests until they get a slot. */
#include "foundation/decoder.h"

#include "base/arith.h"
#include "foundation/model.h"

#include <inttypes.h>
#include <mica/device.h>
#include <stdlib.h>
#include <string.h>

#define STANDARD_PART 128
#define LEAST_PART 16
#define MOST_PART 4096
#define STANDARD_WAIT 1024
#define MOST_FEW 16

const char *mica_finish_name(mica_finish finish) {
  static const char *const texts[] = {
#define TEXT(name, text) text,
      MICA_FINISH_LIST(TEXT)
#undef TEXT
  };
  return (unsigned)finish < sizeof texts / sizeof *texts ? texts[finish] : "?";
}

/* --- sessions --- */

/* True if all weight matrices are block-quantised. Then the bits of a product's row do not depend on how many rows the
 * product has (tests/ops/test_blocks_graph.c). */
static bool has_apart_rows(const mica_nn *nn) {
  for (size_t p = 0; p < mica_nn_parameter_count(nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, p);
    const bool matrix = info->role == MICA_NN_ROLE_WEIGHT && mica_value_shape(info->value).rank > 1;
    if (matrix && info->held.block == MICA_BLOCK_NONE) return false;
  }
  return true;
}

/* Sets d->step.few to true if a step may run with fewer rows than there are slots. This requires that the bits of an
 * answer do not depend on the number of rows. All of these must hold:
 * - all matrices are block-quantised,
 * - there is no adapter,
 * - there are 2 to MOST_FEW slots, because products with more rows use other kernels.
 *
 * Builds the network without a session to find its matrices. */
static mica_status find_few(mica_decoder *d, const mica_nn_config *config) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  if (d->slot_count == 1 || d->slot_count > MOST_FEW || d->adapter) return MICA_OK;
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, config, &nn);
  if (status == MICA_OK) {
    const mica_foundation_build how = {.ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(1, 1))};
    const mica_value logits = mica_foundation_network(nn, d->model, &how);
    d->step.few = !mica_value_is_null(logits) && has_apart_rows(nn);
  }
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

/* Builds the network for one token of several slots, or for a part of one slot's prompt. */
static mica_status build(mica_decoder *d, mica_graph *graph, mica_nn *nn, bool prompt, mica_session **session) {
  const int64_t rows = prompt ? 1 : d->step.few ? MICA_DYNAMIC : d->slot_count;
  mica_kv_cache cache = {.batch = d->slot_count,
                         .length = d->context,
                         .form = d->cache,
                         .offset = mica_input(graph, "offset", MICA_I32, MICA_SHAPE(rows))};
  if (prompt) cache.lengths = mica_input(graph, "lengths", MICA_I32, MICA_SHAPE(1));
  if (d->slot_count > 1 && (prompt || d->step.few))
    cache.slots = mica_input(graph, "slots", MICA_I32, MICA_SHAPE(rows));
  const mica_foundation_build how = {
      .ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(rows, prompt ? MICA_DYNAMIC : 1)),
      .cache = &cache,
      .logits_of_last = true};
  mica_value logits = mica_foundation_network(nn, d->model, &how);
  if (!d->shared && !d->bindings && !mica_value_is_null(logits))
    MICA_TRY(mica_foundation_bind(d->model, nn, d->engine, &d->bindings));
  mica_session_config config = {0};
  if (prompt)
    config.share = d->step.session;
  else
    config.parameters = mica_bindings_list(d->shared ? d->shared : d->bindings, &config.parameter_count);
  return mica_session_create(d->engine, graph, &logits, 1, &config, session);
}

static mica_status make_tensor(mica_decoder *d, mica_shape shape, mica_tensor **tensor) {
  return mica_tensor_create(d->engine, MICA_I32, shape, tensor);
}

static mica_status make_rows(mica_decoder *d, int32_t count) {
  mica__decoder_rows *rows = &d->step.rows[d->step.sizes++];
  rows->count = count;
  MICA_TRY(make_tensor(d, MICA_SHAPE(count, 1), &rows->ids));
  MICA_TRY(make_tensor(d, MICA_SHAPE(count), &rows->offset));
  return make_tensor(d, MICA_SHAPE(count), &rows->slots);
}

static mica_status make_inputs(mica_decoder *d) {
  int at = 0;
  for (int32_t rows = d->step.few ? 1 : d->slot_count; rows < d->slot_count; rows *= 2) MICA_TRY(make_rows(d, rows));
  MICA_TRY(make_rows(d, d->slot_count));
  for (int64_t length = LEAST_PART; length <= d->part; length *= 2)
    MICA_TRY(make_tensor(d, MICA_SHAPE(1, length), &d->prompt.ids[at++]));
  MICA_TRY(make_tensor(d, MICA_SHAPE(1), &d->prompt.offset));
  MICA_TRY(make_tensor(d, MICA_SHAPE(1), &d->prompt.lengths));
  return make_tensor(d, MICA_SHAPE(1), &d->prompt.slots);
}

/* The bytes of the caches per position of a slot. */
static size_t count_bytes(const mica_decoder *d, const mica_nn *nn) {
  size_t bytes = 0;
  for (size_t p = 0; p < mica_nn_parameter_count(nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, p);
    int64_t count = 0;
    if (info->role != MICA_NN_ROLE_STATE || mica_shape_count(mica_value_shape(info->value), &count) != MICA_OK)
      continue;
    bytes += (size_t)count * mica_dtype_size(mica_value_dtype(info->value));
  }
  return bytes / (size_t)d->slot_count / (size_t)d->context;
}

/* Makes the session for steps, which has the weights and owns the caches, and the session for prompts, which shares
 * both. */
static mica_status make_sessions(mica_decoder *d) {
  mica_graph *graphs[2] = {NULL};
  mica_nn *networks[2] = {NULL};
  mica_nn_config config = {0};
  mica_foundation_hold(d->model, &config);
  if (d->adapter) config.hook = mica_adapter_hook, config.hook_user = d->adapter;
  mica_status status = find_few(d, &config);
  for (int k = 0; status == MICA_OK && k < 2; k++) {
    mica_session **session = k ? &d->prompt.session : &d->step.session;
    status = mica_graph_create(&graphs[k]);
    if (status == MICA_OK) status = mica_nn_create(graphs[k], &config, &networks[k]);
    if (status == MICA_OK) status = build(d, graphs[k], networks[k], k == 1, session);
    if (status == MICA_OK) d->position_bytes = count_bytes(d, networks[k]);
    if (status == MICA_OK && k == 0) status = mica_foundation_load(d->model, networks[k], *session);
    if (status == MICA_OK && d->adapter && k == 0) status = mica_adapter_write_to(d->adapter, networks[k], *session);
  }
  for (int k = 0; k < 2; k++) {
    mica_nn_destroy(networks[k]);
    mica_graph_destroy(graphs[k]);
  }
  return status;
}

static mica_status upload(mica_decoder *d, mica_tensor *tensor, const int32_t *values) {
  return mica_tensor_upload(mica_engine_queue(d->engine), tensor, values, mica_tensor_bytes(tensor));
}

static mica_status run(mica_decoder *d, mica_session *session, const mica_feed *feeds, size_t count) {
  mica_queue *queue = mica_engine_queue(d->engine);
  MICA_TRY(mica_session_run(session, queue, feeds, count));
  const mica_tensor *logits = mica_session_output(session, 0);
  return mica_tensor_download(queue, logits, d->logits, mica_tensor_bytes(logits));
}

mica_status mica__decoder_read_part(mica_decoder *d, int32_t slot, const int32_t *ids, int64_t count, int64_t offset) {
  int32_t padded[MOST_PART] = {0};
  const int32_t length = (int32_t)count, from = (int32_t)offset;
  int at = 0;
  for (int64_t room = LEAST_PART; room < count; room *= 2) at++;
  memcpy(padded, ids, (size_t)count * sizeof *ids);
  MICA_TRY(upload(d, d->prompt.ids[at], padded));
  MICA_TRY(upload(d, d->prompt.offset, &from));
  MICA_TRY(upload(d, d->prompt.lengths, &length));
  MICA_TRY(upload(d, d->prompt.slots, &slot));
  const mica_feed feeds[] = {{"ids", d->prompt.ids[at]},
                             {"offset", d->prompt.offset},
                             {"lengths", d->prompt.lengths},
                             {"slots", d->prompt.slots}};
  return run(d, d->prompt.session, feeds, d->slot_count > 1 ? 4 : 3);
}

static const mica__decoder_rows *rows_for(const mica_decoder *d, int32_t count) {
  const mica__decoder_rows *rows = d->step.rows;
  while (rows->count < count) rows++;
  return rows;
}

int32_t mica__decoder_row_count(const mica_decoder *d, int32_t count) { return rows_for(d, count)->count; }

mica_status mica__decoder_read_rows(mica_decoder *d, const mica__decoder_row *rows, int32_t count) {
  const mica__decoder_rows *to = rows_for(d, count);
  int32_t ids[MICA__MOST_SLOTS], offsets[MICA__MOST_SLOTS], slots[MICA__MOST_SLOTS];
  for (int32_t r = 0; r < count; r++) {
    ids[r] = rows[r].token;
    offsets[r] = rows[r].offset;
    slots[r] = rows[r].slot;
  }
  MICA_TRY(upload(d, to->ids, ids));
  MICA_TRY(upload(d, to->offset, offsets));
  if (d->step.few) MICA_TRY(upload(d, to->slots, slots));
  const mica_feed feeds[] = {{"ids", to->ids}, {"offset", to->offset}, {"slots", to->slots}};
  return run(d, d->step.session, feeds, d->step.few ? 3 : 2);
}

/* --- the decoder --- */

static void free_sessions(mica_decoder *d) {
  mica_session_destroy(d->prompt.session);
  mica_session_destroy(d->step.session);
  for (size_t k = 0; k < sizeof d->prompt.ids / sizeof *d->prompt.ids; k++) mica_tensor_destroy(d->prompt.ids[k]);
  mica_tensor_destroy(d->prompt.offset);
  mica_tensor_destroy(d->prompt.lengths);
  mica_tensor_destroy(d->prompt.slots);
  for (int32_t k = 0; k < d->step.sizes; k++) {
    mica_tensor_destroy(d->step.rows[k].ids);
    mica_tensor_destroy(d->step.rows[k].offset);
    mica_tensor_destroy(d->step.rows[k].slots);
  }
}

void mica_decoder_destroy(mica_decoder *d) {
  if (!d) return;
  free_sessions(d);
  for (int32_t s = 0; s < MICA__MOST_SLOTS; s++) {
    mica__decoding_free(d->slots[s].work);
    free(d->slots[s].ids);
  }
  for (mica__decoding *work = d->first, *next; work; work = next) {
    next = work->next;
    mica__decoding_free(work);
  }
  mica_bindings_destroy(d->bindings);
  mica_tokenizer_destroy(d->tokenizer);
  free(d->logits);
  pthread_mutex_destroy(&d->lock);
  free(d);
}

static mica_status configure(mica_decoder *d, const mica_decoder_config *config) {
  static const mica_decoder_config none;
  const mica_decoder_config *c = config ? config : &none;
  const int64_t most = mica_foundation_describe(d->model)->context;
  d->slot_count = c->slots ? c->slots : 1;
  d->context = c->context ? c->context : mica_foundation_context(d->model);
  d->part = c->part ? c->part : STANDARD_PART;
  d->most_wait = c->most_wait ? c->most_wait : STANDARD_WAIT;
  d->no_prefix = c->no_prefix;
  d->cache = c->cache;
  d->adapter = c->adapter;
  if (c->weights_of && (c->weights_of->model != d->model || c->weights_of->engine != d->engine))
    return mica__fail(MICA_E_INVALID, "mica_decoder_create: weights_of has another model or engine than this decoder");
  d->shared = c->weights_of ? c->weights_of->bindings : NULL;
  d->vocabulary = mica_foundation_describe(d->model)->vocabulary;
  if (mica_foundation_describe(d->model)->task != MICA_FOUNDATION_TASK_GENERATE)
    return mica__fail(MICA_E_UNSUPPORTED, "%s is not a language model that continues texts, so it generates no text",
                      d->model->path);
  if (d->slot_count < 1 || d->slot_count > MICA__MOST_SLOTS)
    return mica__fail(MICA_E_INVALID, "mica_decoder_create: slots is %d, but must be from 1 to %d", (int)d->slot_count,
                      MICA__MOST_SLOTS);
  if ((unsigned)d->cache > MICA_CACHE_FORM_Q8)
    return mica__fail(MICA_E_INVALID, "mica_decoder_create: cache is %d, but must be a mica_cache_form", (int)d->cache);
  if (d->context < 2 || d->context > most || d->context > INT32_MAX / d->slot_count)
    return mica__fail(MICA_E_INVALID, "mica_decoder_create: context is %" PRId64 ", but must be from 2 to %" PRId64,
                      d->context, mica__min(most, INT32_MAX / d->slot_count));
  if (d->part < LEAST_PART || d->part > MOST_PART || (d->part & (d->part - 1)) != 0)
    return mica__fail(MICA_E_INVALID,
                      "mica_decoder_create: part is %" PRId64 " tokens, but must be a power of two from %d to %d",
                      d->part, LEAST_PART, MOST_PART);
  return MICA_OK;
}

/* Opens the tokenizer. A model may have none: events of its requests then have tokens only. */
static mica_status open_tokenizer(mica_decoder *d) {
  mica__attempt_begin();
  const mica_status status = mica_foundation_tokenizer(d->model, &d->tokenizer);
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  return MICA_OK;
}

static mica_status fill(mica_decoder *d, const mica_decoder_config *config) {
  MICA_TRY(configure(d, config));
  MICA_TRY(open_tokenizer(d));
  d->logits = calloc((size_t)d->slot_count * (size_t)d->vocabulary, sizeof *d->logits);
  if (!d->logits) return mica__fail_nomem("logits");
  for (int32_t s = 0; s < d->slot_count; s++) {
    d->slots[s].ids = calloc((size_t)d->context, sizeof(int32_t));
    if (!d->slots[s].ids) return mica__fail_nomem("a slot");
  }
  MICA_TRY(make_sessions(d));
  d->adapter = NULL;
  d->shared = NULL;
  return make_inputs(d);
}

mica_status mica_decoder_create(mica_engine *engine, const mica_foundation *model, const mica_decoder_config *config,
                                mica_decoder **decoder) {
  if (!engine || !model || !decoder) return mica__fail(MICA_E_INVALID, "mica_decoder_create: a pointer is NULL");
  mica_decoder *d = calloc(1, sizeof *d);
  if (!d) return mica__fail_nomem("a decoder");
  d->engine = engine;
  d->model = model;
  pthread_mutex_init(&d->lock, NULL);
  const mica_status status = fill(d, config);
  if (status == MICA_OK)
    *decoder = d;
  else
    mica_decoder_destroy(d);
  return status;
}

const mica_tokenizer *mica_decoder_tokenizer(const mica_decoder *d) { return d->tokenizer; }

int64_t mica_decoder_context(const mica_decoder *d) { return d->context; }

size_t mica_decoder_position_bytes(const mica_decoder *d) { return d->position_bytes; }

/* --- requests --- */

void mica__decoding_free(mica__decoding *work) {
  if (!work) return;
  mica_sampler_destroy(work->sampler);
  mica_text_stream_destroy(work->stream);
  mica_grammar_destroy(work->grammar);
  free(work->mask);
  free(work->ids);
  free(work);
}

static mica_status check(const mica_decoder *d, const mica_request *r) {
  if (!r->ids || r->count == 0) return mica__fail(MICA_E_INVALID, "mica_decoder_add: the prompt is NULL or empty");
  if (r->count >= (uint64_t)d->context)
    return mica__fail(MICA_E_INVALID,
                      "mica_decoder_add: the prompt has %zu tokens, but must have fewer than the context, %" PRId64,
                      r->count, d->context);
  if (!r->event || r->most_tokens < 0)
    return mica__fail(MICA_E_INVALID, "mica_decoder_add: %s", r->event ? "most_tokens is below 0" : "event is NULL");
  if (r->top < 0 || r->top > MICA_DECODER_MAX_TOP)
    return mica__fail(MICA_E_INVALID, "mica_decoder_add: top is %d, but must be from 0 to %d", (int)r->top,
                      MICA_DECODER_MAX_TOP);
  if ((r->stop_count || r->schema) && !d->tokenizer)
    return mica__fail(MICA_E_INVALID, "mica_decoder_add: stops and schemas need a tokenizer, but the model has none");
  if (r->schema && r->ignore_end)
    return mica__fail(
        MICA_E_INVALID,
        "mica_decoder_add: a text that follows a schema ends with an end token, so ignore_end cannot be set");
  for (size_t t = 0; t < r->count; t++)
    if (r->ids[t] < 0 || r->ids[t] >= d->vocabulary)
      return mica__fail(MICA_E_INVALID, "mica_decoder_add: token %zu is %d, but must be from 0 to %" PRId64, t,
                        (int)r->ids[t], d->vocabulary - 1);
  return MICA_OK;
}

static mica_status make_grammar(const mica_decoder *d, const char *schema, mica__decoding *work) {
  const mica_foundation_info *info = mica_foundation_describe(d->model);
  const mica_grammar_config how = {.ends = info->ends, .end_count = info->end_count};
  MICA_TRY(mica_grammar_create_schema(schema, strlen(schema), d->tokenizer, &how, &work->grammar));
  const size_t all = ((size_t)d->vocabulary + 31) / 32, own = mica_grammar_mask_words(work->grammar);
  work->mask = calloc(own > all ? own : all, sizeof *work->mask);
  return work->mask ? MICA_OK : mica__fail_nomem("a request");
}

static mica_status copy(const mica_decoder *d, const mica_request *r, mica__decoding *work) {
  const mica_text_stream_config how = {.stops = r->stops, .stop_count = r->stop_count};
  const int64_t room = d->context - (int64_t)r->count;
  work->count = work->prompt = (int64_t)r->count;
  work->most = r->most_tokens && r->most_tokens < room ? r->most_tokens : room;
  work->event = r->event;
  work->user = r->user;
  work->top = r->top;
  work->ignore_end = r->ignore_end;
  work->ids = malloc((size_t)d->context * sizeof *work->ids);
  if (!work->ids) return mica__fail_nomem("a request");
  memcpy(work->ids, r->ids, r->count * sizeof *r->ids);
  MICA_TRY(mica_sampler_create(r->sampling, &work->sampler));
  for (size_t t = 0; t < r->count; t++) mica_sampler_accept(work->sampler, r->ids[t]);
  if (r->schema) MICA_TRY(make_grammar(d, r->schema, work));
  return d->tokenizer ? mica_text_stream_create(d->tokenizer, &how, &work->stream) : MICA_OK;
}

mica_status mica_decoder_add(mica_decoder *d, const mica_request *request, int64_t *id) {
  if (!d || !request) return mica__fail(MICA_E_INVALID, "mica_decoder_add: a pointer is NULL");
  MICA_TRY(check(d, request));
  mica__decoding *work = calloc(1, sizeof *work);
  if (!work) return mica__fail_nomem("a request");
  mica_status status = copy(d, request, work);
  if (status != MICA_OK) {
    mica__decoding_free(work);
    return status;
  }
  pthread_mutex_lock(&d->lock);
  const bool full = d->waiting >= d->most_wait;
  if (!full) {
    work->id = ++d->ids;
    if (id) *id = work->id;
    if (d->last)
      d->last->next = work;
    else
      d->first = work;
    d->last = work;
    d->waiting++;
  }
  pthread_mutex_unlock(&d->lock);
  if (!full) return MICA_OK;
  mica__decoding_free(work);
  return mica__fail(MICA_E_STATE, "mica_decoder_add: %zu requests wait already, the most that are allowed",
                    d->most_wait);
}

void mica_decoder_cancel(mica_decoder *d, int64_t id) {
  if (!d) return;
  pthread_mutex_lock(&d->lock);
  for (mica__decoding *work = d->first; work; work = work->next) work->cancelled |= work->id == id;
  for (int32_t s = 0; s < d->slot_count; s++)
    if (d->slots[s].work) d->slots[s].work->cancelled |= d->slots[s].work->id == id;
  pthread_mutex_unlock(&d->lock);
}
