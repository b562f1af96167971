/* Generators: two sessions share the caches. One reads prompts and draws the token after each; each run of the other
 * draws one more token per sequence. */
#include "nn/generate.h"

#include "base/arith.h"
#include "base/hash.h"
#include "ops/common/build.h"

#include <mica/index.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* State of the sequences; both sessions use it. */
#define TOKEN "generate.token"       /* (B) i32: the last token, which is not in the caches yet */
#define POSITION "generate.position" /* (B) i32: number of positions in the caches */
#define STEP "generate.step"         /* i64: step of random numbers */
/* (B, V) f32: 1 for each token that the sequence has; for the repetition penalty. */
#define HELD "generate.held"

#define BUCKETS MICA__GENERATE_BUCKETS

typedef mica__generation phase;

struct mica_generator {
  mica_engine *engine;
  mica_queue *queue;
  mica_generator_config config;
  phase step, prompt;
  int64_t vocabulary;
  mica_tensor *ids[BUCKETS], *lengths; /* prompts padded to each bucket's length */
  int32_t *padded;                     /* (batch, context) */
  int32_t *history;                    /* (batch, context + 1): tokens of each sequence */
  int64_t *counts;                     /* number of tokens of each sequence in `history` */
  int32_t *shorts;                     /* `counts` converted to i32, for the upload */
  int32_t *tokens[2];                  /* host memory for tokens in flight */
  mica_event *events[2];
  int now;      /* index in `tokens` and `events` of the download that ends next */
  bool pending; /* a download is in flight */
  bool prompted;
};

/* --- shared by generators and beam searches --- */

mica_status mica__generation_begin(mica__generation *p, const mica_nn_config *config) {
  MICA_TRY(mica_graph_create(&p->graph));
  return mica_nn_create(p->graph, config, &p->nn);
}

mica_status mica__generation_end(mica__generation *p, mica_engine *engine, const mica_value *outputs, size_t count,
                                 mica_session *share) {
  const mica_session_config config = {.share = share};
  if (mica_graph_status(p->graph) != MICA_OK)
    return mica__fail(mica_graph_status(p->graph), "%s", mica_graph_message(p->graph));
  return mica_session_create(engine, p->graph, outputs, count, &config, &p->session);
}

void mica__generation_drop(mica__generation *p) {
  mica_session_destroy(p->session);
  mica_nn_destroy(p->nn);
  mica_graph_destroy(p->graph);
}

int mica__generate_bucket(int64_t length, int64_t context, int64_t *positions) {
  int i = 0;
  int64_t size = MICA__GENERATE_SHORTEST;
  for (; size < length; i++) size *= 2;
  *positions = mica__min(size, context);
  return i;
}

/* --- graphs --- */

static bool is_penalised(const mica_sampling *s) { return s->repetition != 0 && s->repetition != 1; }

/* Sets held (B, V) to 1 at the tokens (B, n). */
static mica_value note_tokens(mica_value held, mica_value tokens) {
  mica_value ones = mica_cast(mica_full_like(tokens, 1), MICA_F32);
  return mica_scatter_elements(held, tokens, ones, 1, MICA_SCATTER_MAX);
}

/* Updates and returns the mask (B, V) of the tokens that each sequence has so far, 1 for each. A run that reads prompts
 * makes the mask anew from `ids`; a step adds the token that it reads to the stored mask. The token that this run draws
 * is not in it yet. */
static mica_value held_tokens(const mica_generator *g, mica_graph *graph, mica_value ids, mica_value lengths,
                              int64_t vocabulary) {
  mica_shape shape = MICA_SHAPE(g->config.batch, vocabulary);
  mica_value held = mica_parameter(graph, HELD, MICA_F32, shape), now;
  if (mica_value_is_null(lengths)) {
    now = note_tokens(held, ids);
  } else {
    mica_value inside = mica_less(mica_positions(ids, (mica_value){0}), mica_unsqueeze(lengths, MICA_AXES(1)));
    mica_value counted = mica_where(inside, ids, mica_scalar(graph, MICA_I32, (double)vocabulary));
    now = note_tokens(mica_full(graph, MICA_F32, shape, 0), counted);
  }
  mica_assign(held, now);
  return now;
}

/* Builds the network on ids and draws a token from its logits. Updates the states except TOKEN. Returns the tokens,
 * (B). lengths is null in a step. */
static mica_value build(mica_generator *g, phase *p, mica_value ids, mica_value position, mica_value lengths) {
  const mica_generator_config *c = &g->config;
  const mica_kv_cache cache = {.batch = c->batch,
                               .length = c->context,
                               .offset = mica_value_is_null(lengths) ? position : (mica_value){0},
                               .lengths = lengths};
  mica_value logits = c->block(p->nn, ids, &cache, c->block_config);
  mica_shape shape = mica_value_shape(logits);
  char text[MICA_SHAPE_TEXT];
  if (mica_value_is_null(logits)) return logits;
  if (shape.rank != 2 || shape.dim[1] < 1)
    return mica__graph_fail(p->graph, MICA_E_SHAPE,
                            "a generator's block returned logits of shape %s, but the shape must be (batch, V), with V "
                            "known",
                            mica_shape_format(shape, text));
  g->vocabulary = shape.dim[1];
  mica_value count = mica_parameter(p->graph, STEP, MICA_I64, MICA_SCALAR);
  mica__sampler sampler = {.sampling = &c->sampling, .batch = c->batch, .step = count};
  if (is_penalised(&c->sampling)) sampler.held = held_tokens(g, p->graph, ids, lengths, g->vocabulary);
  mica_value token = mica__sample(logits, &sampler);
  mica_assign(count, mica_add(count, mica__number(count, 1)));
  mica_assign(position, mica_value_is_null(lengths) ? mica_add(position, mica__number(position, 1)) : lengths);
  return token;
}

static mica_status make_phase(mica_generator *g, phase *p, bool prompt, mica_session *share) {
  const mica_generator_config *c = &g->config;
  MICA_TRY(mica__generation_begin(p, &c->nn));
  mica_value token = mica_parameter(p->graph, TOKEN, MICA_I32, MICA_SHAPE(c->batch));
  mica_value position = mica_parameter(p->graph, POSITION, MICA_I32, MICA_SHAPE(c->batch)), next;
  if (prompt)
    next = build(g, p, mica_input(p->graph, "ids", MICA_I32, MICA_SHAPE(c->batch, MICA_DYNAMIC)), position,
                 mica_input(p->graph, "lengths", MICA_I32, MICA_SHAPE(c->batch)));
  else
    next = build(g, p, mica_unsqueeze(token, MICA_AXES(1)), position, (mica_value){0});
  mica_assign(token, next);
  return mica__generation_end(p, g->engine, &next, 1, share);
}

/* --- creation --- */

static mica_status check(const mica_generator_config *c) {
  const mica_sampling *s = &c->sampling;
  if (c->batch < 1 || c->context < 1 || c->context > INT32_MAX / 2 / c->batch)
    return mica__fail(
        MICA_E_INVALID,
        "mica_generator_create: batch (%lld) and context (%lld) must be at least 1, and their product at most %d",
        (long long)c->batch, (long long)c->context, INT32_MAX / 2);
  if (c->window < 0 || c->window >= c->context)
    return mica__fail(MICA_E_INVALID, "the window is %lld, but must be at least 0 and less than the context (%lld)",
                      (long long)c->window, (long long)c->context);
  if (!(s->temperature >= 0 && isfinite(s->temperature)))
    return mica__fail(MICA_E_INVALID, "the temperature is %g, but must be finite and 0 or above", s->temperature);
  if (s->top_k < 0) return mica__fail(MICA_E_INVALID, "top_k is %lld, but must be 0 or above", (long long)s->top_k);
  if (!(s->top_p >= 0 && s->top_p <= 1)) return mica__fail(MICA_E_INVALID, "top_p is %g, but must be 0 to 1", s->top_p);
  if (!(s->repetition >= 0 && isfinite(s->repetition)))
    return mica__fail(MICA_E_INVALID, "the repetition penalty is %g, but must be finite and 0 or above", s->repetition);
  return MICA_OK;
}

static mica_status upload(mica_generator *g, const char *name, const void *data, size_t bytes) {
  mica_tensor *tensor = mica_session_parameter(g->step.session, name);
  return tensor ? mica_tensor_upload(g->queue, tensor, data, bytes) : MICA_OK;
}

/* Options are limited to this range. Their reciprocals are then finite in f32, and so are logits below 1e8 that are
 * multiplied or divided by an option. */
#define LEAST_OPTION 1e-30
#define MOST_OPTION 1e30

/* An option as a parameter of the graphs; 0 counts as 1. */
static float option(double value) { return value == 0 ? 1 : (float)fmin(fmax(value, LEAST_OPTION), MOST_OPTION); }

static mica_status upload_options(mica_generator *g) {
  const mica_sampling *s = &g->config.sampling;
  const float temperature = option(s->temperature), repetition = option(s->repetition);
  /* 0 and 1 mean no limit. Then uses 2, because rounding can make the sum of all probabilities slightly larger than
   * 1. */
  const float top_p = s->top_p == 0 || s->top_p == 1 ? 2 : option(s->top_p);
  const int32_t top_k = (int32_t)(s->top_k == 0 ? INT32_MAX : mica__min(s->top_k, INT32_MAX));
  MICA_TRY(upload(g, MICA__GENERATE_TEMPERATURE, &temperature, sizeof temperature));
  MICA_TRY(upload(g, MICA__GENERATE_TOP_P, &top_p, sizeof top_p));
  MICA_TRY(upload(g, MICA__GENERATE_REPETITION, &repetition, sizeof repetition));
  return upload(g, MICA__GENERATE_TOP_K, &top_k, sizeof top_k);
}

static mica_status allocate(mica_generator *g) {
  const size_t batch = (size_t)g->config.batch, context = (size_t)g->config.context;
  g->padded = calloc(batch * context, sizeof *g->padded);
  g->history = calloc(batch * (context + 1), sizeof *g->history);
  g->counts = calloc(batch, sizeof *g->counts);
  g->shorts = calloc(batch, sizeof *g->shorts);
  for (int i = 0; i < 2; i++) g->tokens[i] = calloc(batch, sizeof *g->tokens[i]);
  if (!g->padded || !g->history || !g->counts || !g->shorts || !g->tokens[0] || !g->tokens[1])
    return mica__fail_nomem("a generator");
  return MICA_OK;
}

static mica_status start(mica_generator *g) {
  MICA_TRY(allocate(g));
  MICA_TRY(make_phase(g, &g->step, false, g->config.share));
  MICA_TRY(make_phase(g, &g->prompt, true, g->step.session));
  return upload_options(g);
}

mica_status mica_generator_create(mica_engine *engine, const mica_generator_config *config, mica_generator **out) {
  if (!engine || !config || !config->block || !out)
    return mica__fail(MICA_E_INVALID, "mica_generator_create: a pointer is NULL");
  if (!config->share)
    return mica__fail(MICA_E_INVALID,
                      "mica_generator_create: share is NULL, but must be a session that holds the weights");
  mica_generator_config c = *config;
  if (c.batch == 0) c.batch = 1;
  c.nn.training = false;
  MICA_TRY(check(&c));
  mica_generator *g = calloc(1, sizeof *g);
  if (!g) return mica__fail_nomem("a generator");
  g->engine = engine;
  g->queue = mica_engine_queue(engine);
  g->config = c;
  mica_status status = start(g);
  if (status == MICA_OK)
    *out = g;
  else
    mica_generator_destroy(g);
  return status;
}

/* Waits for downloads in flight, which write into the generator's memory. */
static void forget_pending(mica_generator *g) {
  for (int i = 0; i < 2; i++) {
    mica__attempt_begin();
    if (g->events[i] && mica_event_wait(g->events[i]) != MICA_OK) g->pending = false;
    mica__attempt_end();
    mica_event_destroy(g->events[i]);
    g->events[i] = NULL;
  }
  g->pending = false;
}

void mica_generator_destroy(mica_generator *g) {
  if (!g) return;
  forget_pending(g);
  mica__generation_drop(&g->prompt);
  mica__generation_drop(&g->step);
  for (int i = 0; i < BUCKETS; i++) mica_tensor_destroy(g->ids[i]);
  mica_tensor_destroy(g->lengths);
  free(g->padded);
  free(g->history);
  free(g->counts);
  free(g->shorts);
  free(g->tokens[0]);
  free(g->tokens[1]);
  free(g);
}

/* --- runs --- */

/* Queues the download of the session's tokens into buffer `which`. */
static mica_status fetch(mica_generator *g, const phase *p, int which) {
  const size_t bytes = (size_t)g->config.batch * sizeof **g->tokens;
  return mica_tensor_download_async(g->queue, mica_session_output(p->session, 0), g->tokens[which], bytes,
                                    &g->events[which]);
}

/* Queues the run that reads the histories, and the download of its tokens. */
static mica_status read_histories(mica_generator *g) {
  const int64_t batch = g->config.batch, row = g->config.context + 1;
  int64_t longest = 0, positions = 0;
  for (int64_t b = 0; b < batch; b++) longest = mica__max(longest, g->counts[b]);
  const int bucket = mica__generate_bucket(longest, g->config.context, &positions);
  const size_t bytes = (size_t)(batch * positions) * sizeof *g->padded;
  if (!g->ids[bucket]) MICA_TRY(mica_tensor_create(g->engine, MICA_I32, MICA_SHAPE(batch, positions), &g->ids[bucket]));
  if (!g->lengths) MICA_TRY(mica_tensor_create(g->engine, MICA_I32, MICA_SHAPE(batch), &g->lengths));
  memset(g->padded, 0, bytes);
  for (int64_t b = 0; b < batch; b++) {
    memcpy(g->padded + b * positions, g->history + b * row, (size_t)g->counts[b] * sizeof *g->padded);
    g->shorts[b] = (int32_t)g->counts[b];
  }
  MICA_TRY(mica_tensor_upload(g->queue, g->ids[bucket], g->padded, bytes));
  MICA_TRY(mica_tensor_upload(g->queue, g->lengths, g->shorts, (size_t)batch * sizeof *g->shorts));
  const mica_feed feeds[] = {{"ids", g->ids[bucket]}, {"lengths", g->lengths}};
  MICA_TRY(mica_session_run(g->prompt.session, g->queue, feeds, 2));
  MICA_TRY(fetch(g, &g->prompt, g->now));
  MICA_TRY(mica_queue_flush(g->queue));
  g->pending = true;
  return MICA_OK;
}

/* Shortens histories longer than the context to their last `window` tokens. */
static void cut_histories(mica_generator *g) {
  const int64_t row = g->config.context + 1, window = g->config.window;
  for (int64_t b = 0; b < g->config.batch; b++) {
    int32_t *own = g->history + b * row;
    if (g->counts[b] <= g->config.context) continue;
    memmove(own, own + g->counts[b] - window, (size_t)window * sizeof *own);
    g->counts[b] = window;
  }
}

static mica_status check_prompt(const mica_generator *g, const int32_t *ids, int64_t b, int64_t length) {
  if (length < 1) return mica__fail(MICA_E_INVALID, "prompt %lld is empty", (long long)b + 1);
  if (length > g->config.context && g->config.window == 0)
    return mica__fail(MICA_E_INVALID, "prompt %lld has %lld tokens, but the network's context holds %lld",
                      (long long)b + 1, (long long)length, (long long)g->config.context);
  for (int64_t i = 0; i < length; i++)
    if (ids[i] < 0 || ids[i] >= g->vocabulary)
      return mica__fail(MICA_E_INVALID, "token %lld of prompt %lld is %d, but tokens of the vocabulary are 0 to %lld",
                        (long long)i + 1, (long long)b + 1, (int)ids[i], (long long)g->vocabulary - 1);
  return MICA_OK;
}

mica_status mica_generator_prompt(mica_generator *g, const int32_t *ids, const int32_t *lengths, int64_t row) {
  if (!g || !ids || !lengths) return mica__fail(MICA_E_INVALID, "mica_generator_prompt: a pointer is NULL");
  const int64_t batch = g->config.batch, own = g->config.context + 1;
  for (int64_t b = 0; b < batch; b++) {
    if (lengths[b] > row)
      return mica__fail(MICA_E_INVALID, "prompt %lld has the length %d, but a row has only %lld tokens",
                        (long long)b + 1, (int)lengths[b], (long long)row);
    MICA_TRY(check_prompt(g, ids + b * row, b, lengths[b]));
  }
  forget_pending(g);
  g->prompted = false;
  for (int64_t b = 0; b < batch; b++) {
    const int64_t kept = lengths[b] > g->config.context ? g->config.window : lengths[b];
    memcpy(g->history + b * own, ids + b * row + lengths[b] - kept, (size_t)kept * sizeof *ids);
    g->counts[b] = kept;
  }
  /* Mixes bits, so that seeds that differ by one give unrelated numbers. */
  const int64_t first =
      (int64_t)(mica__hash_bytes((mica__hash){0, 0}, &g->config.sampling.seed, sizeof g->config.sampling.seed).low >>
                2);
  MICA_TRY(upload(g, STEP, &first, sizeof first));
  MICA_TRY(read_histories(g));
  g->prompted = true;
  return MICA_OK;
}

/* True if the caches of all sequences have room for the token in flight, which the next run reads. */
static bool has_room(const mica_generator *g) {
  for (int64_t b = 0; b < g->config.batch; b++)
    if (g->counts[b] + 1 > g->config.context) return false;
  return true;
}

/* Queues the next run. Then stores the tokens of the previous one in ids, and appends them to the histories. If the
 * caches are full, no next run is queued. If a window is configured, the histories are then cut and read again. */
static mica_status advance(mica_generator *g, int32_t *ids) {
  const int now = g->now;
  const bool ahead = has_room(g);
  if (ahead) {
    MICA_TRY(mica_session_run(g->step.session, g->queue, NULL, 0));
    MICA_TRY(fetch(g, &g->step, 1 - now));
    MICA_TRY(mica_queue_flush(g->queue));
  }
  MICA_TRY(mica_event_wait(g->events[now]));
  mica_event_destroy(g->events[now]);
  g->events[now] = NULL;
  for (int64_t b = 0; b < g->config.batch; b++) {
    ids[b] = g->tokens[now][b];
    g->history[b * (g->config.context + 1) + g->counts[b]++] = ids[b];
  }
  g->now = 1 - now;
  g->pending = ahead;
  if (ahead || g->config.window == 0) return MICA_OK;
  cut_histories(g);
  return read_histories(g);
}

mica_status mica_generator_next(mica_generator *g, int32_t *ids) {
  if (!g || !ids) return mica__fail(MICA_E_INVALID, "mica_generator_next: a pointer is NULL");
  if (!g->prompted)
    return mica__fail(MICA_E_STATE, "mica_generator_next: there is no prompt; call mica_generator_prompt first");
  if (!g->pending)
    return mica__fail(MICA_E_STATE, "the context of %lld tokens is full; set window to go on",
                      (long long)g->config.context);
  const mica_status status = advance(g, ids);
  /* Caches and histories differ now, so a new prompt is needed. */
  if (status != MICA_OK) {
    forget_pending(g);
    g->prompted = false;
  }
  return status;
}

int64_t mica_generator_vocabulary(const mica_generator *g) { return g->vocabulary; }

int64_t mica_generator_room(const mica_generator *g) {
  int64_t longest = 0;
  for (int64_t b = 0; b < g->config.batch; b++) longest = mica__max(longest, g->counts[b]);
  return g->config.context + 1 - longest;
}

mica_session *mica_generator_session(mica_generator *g) { return g->step.session; }
mica_session *mica_generator_prompt_session(mica_generator *g) { return g->prompt.session; }
