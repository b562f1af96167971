/* Beam search: two sessions share the caches. One reads sources and chooses the first token of each hypothesis; each
 * run of the other chooses one more. Letters: B sources, K hypotheses per source, N = B K, V tokens. */
#include "nn/generate.h"

#include "base/arith.h"
#include "ops/common/build.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* State of the hypotheses; both sessions use it. */
#define TOKEN "beam.token" /* (N) i32: the last token, which is not in the caches yet */
/* (N) i32: the hypothesis of the previous step that this one extends, and whose caches it uses. */
#define PARENT "beam.parent"
#define POSITION "beam.position" /* (N) i32: number of positions in the caches */
#define LENGTH "beam.length"     /* (B, K) i32: number of tokens of the hypothesis, including the end */
#define SCORE "beam.score"       /* (B, K) f32: log probability */
#define LIMIT "beam.limit"       /* (B) i32: maximum number of tokens of a translation */
#define SOURCE "beam.source"     /* (B) i32: number of tokens of the source */

/* Log probability of an impossible continuation. Sums of it stay finite, and below the log probability of any possible
 * text. */
#define NEVER (-1e30)

struct mica_beam_search {
  mica_engine *engine;
  mica_queue *queue;
  mica_beam_config config;
  mica__generation step, reading;
  int64_t hypotheses, vocabulary;                 /* N, V */
  mica_tensor *ids[MICA__GENERATE_BUCKETS];       /* sources padded to each bucket's length */
  mica_tensor *lengths, *limits;                  /* (B) i32 */
  int32_t *padded, *short_lengths, *short_limits; /* (B, context), (B), (B) on the host */
  int32_t *choices;                               /* per step: tokens (N), then the parents that they extend (N) */
  float *log_probabilities;                       /* (B, K) */
  mica_event *events[2];                          /* downloads in flight, one per parity of the step */
};

/* --- graphs --- */

/* What is known about the hypotheses when a step chooses their next tokens. */
typedef struct beams {
  mica_value token;         /* (B, K, 1) i32; null: no tokens yet */
  mica_value length, score; /* (B, K, 1): i32, f32 */
  mica_value limit;         /* (B, 1, 1) i32 */
} beams;

static mica_value number_of(mica_graph *graph, double value) { return mica_scalar(graph, MICA_I32, value); }

/* Log probabilities (B, K, V) of continuations. After an end token, only another end is possible, with log probability
 * 0. The last token within the limit must be the end. */
static mica_value continue_beams(const mica_beam_search *s, mica_value logits, const beams *b) {
  mica_graph *graph = logits.graph;
  const mica_beam_config *c = &s->config;
  mica_value never = mica_scalar(graph, MICA_F32, NEVER), end = number_of(graph, c->end);
  mica_value ends = mica_equal(mica_range(graph, MICA_I32, s->vocabulary), end);
  mica_value p = mica_log_softmax(mica_cast(logits, MICA_F32), 1);
  p = mica_reshape(p, MICA_SHAPE(c->batch, c->beams, s->vocabulary));
  mica_value room = mica_less(mica_add(b->length, number_of(graph, 1)), b->limit);
  p = mica_where(mica_logical_or(ends, room), p, never);
  if (mica_value_is_null(b->token)) return p;
  mica_value still = mica_where(ends, mica_scalar(graph, MICA_F32, 0), never);
  return mica_where(mica_equal(b->token, end), still, p);
}

/* Indices (B, K) of the best continuations of (B, K V). */
static mica_value choose(const mica_beam_search *s, mica_value scores) {
  const mica_beam_config *c = &s->config;
  scores = mica_reshape(scores, MICA_SHAPE(c->batch, c->beams * s->vocabulary));
  if (c->beams == 1) return mica_cast(mica_argmax(scores, 1, true), MICA_I32);
  return mica_cast(mica_top_k(scores, c->beams, 1, false).indices, MICA_I32);
}

/* States of the graph. */
typedef struct states {
  mica_value token, parent, position, length, score, limit, source;
} states;

static states make_states(const mica_beam_search *s, mica_graph *graph) {
  const mica_shape all = MICA_SHAPE(s->hypotheses), sources = MICA_SHAPE(s->config.batch);
  const mica_shape each = MICA_SHAPE(s->config.batch, s->config.beams);
  return (states){.token = mica_parameter(graph, TOKEN, MICA_I32, all),
                  .parent = mica_parameter(graph, PARENT, MICA_I32, all),
                  .position = mica_parameter(graph, POSITION, MICA_I32, all),
                  .length = mica_parameter(graph, LENGTH, MICA_I32, each),
                  .score = mica_parameter(graph, SCORE, MICA_F32, each),
                  .limit = mica_parameter(graph, LIMIT, MICA_I32, sources),
                  .source = mica_parameter(graph, SOURCE, MICA_I32, sources)};
}

/* Keeps the best continuations in the states `to`. Returns (2, N) for the host: the tokens, then the hypotheses that
 * they extend. */
static mica_value keep_best(const mica_beam_search *s, mica_value logits, const beams *b, const states *to) {
  const mica_beam_config *c = &s->config;
  mica_graph *graph = logits.graph;
  const mica_shape each = MICA_SHAPE(c->batch, c->beams), all = MICA_SHAPE(s->hypotheses);
  mica_value p = mica_add(b->score, continue_beams(s, logits, b)), length = mica_add(b->length, number_of(graph, 1));
  if (!mica_value_is_null(b->token))
    length = mica_where(mica_equal(b->token, number_of(graph, c->end)), b->length, length);
  mica_value ranked = p;
  if (c->length_penalty != 0)
    ranked = mica_mul(p, mica_pow(mica_cast(length, MICA_F32), mica_scalar(graph, MICA_F32, -c->length_penalty)));
  mica_value at = choose(s, ranked), tokens = number_of(graph, (double)s->vocabulary);
  mica_value own = mica_div(at, tokens);
  mica_value token = mica_reshape(mica_sub(at, mica_mul(own, tokens)), all);
  mica_value first = mica_mul(mica_range(graph, MICA_I32, c->batch), number_of(graph, (double)c->beams));
  mica_value parent = mica_reshape(mica_add(own, mica_unsqueeze(first, MICA_AXES(1))), all);
  p = mica_reshape(p, MICA_SHAPE(c->batch, c->beams * s->vocabulary));
  mica_assign(to->token, token);
  mica_assign(to->parent, parent);
  mica_assign(to->length, mica_gather_elements(mica_reshape(length, each), own, 1));
  mica_assign(to->score, mica_gather_elements(p, at, 1));
  const mica_value rows[] = {mica_unsqueeze(token, MICA_AXES(0)), mica_unsqueeze(parent, MICA_AXES(0))};
  return mica_concat(rows, 2, 0);
}

/* Reads V from the logits' shape. False, with an error in the graph, if the shape is wrong or V does not fit the
 * configuration. */
static bool take_logits(mica_beam_search *s, mica_value logits) {
  const mica_shape shape = mica_value_shape(logits);
  char text[MICA_SHAPE_TEXT];
  if (mica_value_is_null(logits)) return false;
  const bool good = shape.rank == 2 && shape.dim[0] == s->hypotheses && shape.dim[1] > 0;
  const mica_beam_config *c = &s->config;
  if (!good)
    mica__graph_fail(logits.graph, MICA_E_SHAPE,
                     "the block of a beam search returned logits of shape %s, but the shape must be (%lld, V), batch "
                     "times beams, with V known",
                     mica_shape_format(shape, text), (long long)s->hypotheses);
  else if (c->begin >= shape.dim[1] || c->end >= shape.dim[1] || c->beams > shape.dim[1])
    mica__graph_fail(logits.graph, MICA_E_INVALID,
                     "begin (%d), end (%d) or beams (%lld) is too large for a vocabulary of %lld tokens", (int)c->begin,
                     (int)c->end, (long long)c->beams, (long long)shape.dim[1]);
  else if (shape.dim[1] > INT32_MAX / c->beams)
    mica__graph_fail(logits.graph, MICA_E_OVERFLOW,
                     "%lld beams with a vocabulary of %lld tokens are too many; choose fewer beams",
                     (long long)c->beams, (long long)shape.dim[1]);
  s->vocabulary = good ? shape.dim[1] : 0;
  return mica_graph_status(logits.graph) == MICA_OK;
}

/* Builds the graph that reads sources and finds the first token of targets. All hypotheses of a source are still equal,
 * so only the first one may be continued. */
static mica_value build_reading(mica_beam_search *s, mica_graph *graph, mica_nn *nn, const states *to) {
  const mica_beam_config *c = &s->config;
  const mica_kv_cache cache = {.batch = s->hypotheses, .length = c->context, .beams = c->beams};
  const mica_beam_values values = {.ids = mica_full(graph, MICA_I32, MICA_SHAPE(s->hypotheses, 1), c->begin),
                                   .source = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(c->batch, MICA_DYNAMIC)),
                                   .source_lengths = mica_input(graph, "lengths", MICA_I32, MICA_SHAPE(c->batch))};
  mica_value limits = mica_input(graph, "limits", MICA_I32, MICA_SHAPE(c->batch));
  mica_value logits = c->block(nn, &values, &cache, c->block_config);
  if (!take_logits(s, logits)) return logits;
  mica_value none = mica_full(graph, MICA_I32, MICA_SHAPE(c->batch, c->beams, 1), 0);
  mica_value first = mica_equal(mica_range(graph, MICA_I32, c->beams), number_of(graph, 0));
  mica_value score = mica_where(first, mica_scalar(graph, MICA_F32, 0), mica_scalar(graph, MICA_F32, NEVER));
  const beams b = {.length = none,
                   .score = mica_reshape(score, MICA_SHAPE(1, c->beams, 1)),
                   .limit = mica_reshape(limits, MICA_SHAPE(c->batch, 1, 1))};
  mica_assign(to->limit, limits);
  mica_assign(to->source, values.source_lengths);
  mica_assign(to->position, mica_full(graph, MICA_I32, MICA_SHAPE(s->hypotheses), 1));
  return keep_best(s, logits, &b, to);
}

static mica_value build_step(mica_beam_search *s, mica_graph *graph, mica_nn *nn, const states *to) {
  const mica_beam_config *c = &s->config;
  const mica_shape each = MICA_SHAPE(c->batch, c->beams, 1);
  const mica_kv_cache cache = {.batch = s->hypotheses,
                               .length = c->context,
                               .offset = to->position,
                               .parents = c->beams > 1 ? to->parent : (mica_value){0},
                               .beams = c->beams};
  const mica_beam_values values = {.ids = mica_unsqueeze(to->token, MICA_AXES(1)), .source_lengths = to->source};
  mica_value logits = c->block(nn, &values, &cache, c->block_config);
  if (!take_logits(s, logits)) return logits;
  const beams b = {.token = mica_reshape(to->token, each),
                   .length = mica_reshape(to->length, each),
                   .score = mica_reshape(to->score, each),
                   .limit = mica_reshape(to->limit, MICA_SHAPE(c->batch, 1, 1))};
  mica_assign(to->position, mica_add(to->position, number_of(graph, 1)));
  return keep_best(s, logits, &b, to);
}

/* --- creation --- */

static mica_status check(const mica_beam_config *c) {
  if (c->batch < 1 || c->beams < 1 || c->context < 1 || c->beams > INT32_MAX / c->batch ||
      c->context > INT32_MAX / 4 / (c->batch * c->beams))
    return mica__fail(MICA_E_INVALID,
                      "mica_beam_search_create: batch (%lld), beams (%lld) and context (%lld) must be at least 1, and "
                      "their product at most %d",
                      (long long)c->batch, (long long)c->beams, (long long)c->context, INT32_MAX / 4);
  if (c->begin < 0 || c->end < 0)
    return mica__fail(MICA_E_INVALID, "mica_beam_search_create: begin (%d) and end (%d) must be tokens, 0 or above",
                      (int)c->begin, (int)c->end);
  if (!(c->length_penalty >= 0 && c->length_penalty <= 10))
    return mica__fail(MICA_E_INVALID, "the length penalty is %g, but must be 0 to 10", c->length_penalty);
  return MICA_OK;
}

static mica_status allocate(mica_beam_search *s) {
  const size_t batch = (size_t)s->config.batch, context = (size_t)s->config.context;
  s->padded = calloc(batch * context, sizeof *s->padded);
  s->short_lengths = calloc(batch, sizeof *s->short_lengths);
  s->short_limits = calloc(batch, sizeof *s->short_limits);
  s->choices = calloc(2 * context * (size_t)s->hypotheses, sizeof *s->choices);
  s->log_probabilities = calloc((size_t)s->hypotheses, sizeof *s->log_probabilities);
  if (!s->padded || !s->short_lengths || !s->short_limits || !s->choices || !s->log_probabilities)
    return mica__fail_nomem("a beam search");
  const mica_shape shape = MICA_SHAPE(s->config.batch);
  MICA_TRY(mica_tensor_create(s->engine, MICA_I32, shape, &s->lengths));
  return mica_tensor_create(s->engine, MICA_I32, shape, &s->limits);
}

static mica_status make(mica_beam_search *s, mica__generation *g, bool reading, mica_session *share) {
  MICA_TRY(mica__generation_begin(g, &s->config.nn));
  const states to = make_states(s, g->graph);
  mica_value choices = reading ? build_reading(s, g->graph, g->nn, &to) : build_step(s, g->graph, g->nn, &to);
  return mica__generation_end(g, s->engine, &choices, 1, share);
}

static mica_status start(mica_beam_search *s) {
  MICA_TRY(allocate(s));
  /* The reading session comes first: it has all weights, while the step lacks the encoder's. */
  MICA_TRY(make(s, &s->reading, true, s->config.share));
  return make(s, &s->step, false, s->reading.session);
}

mica_status mica_beam_search_create(mica_engine *engine, const mica_beam_config *config, mica_beam_search **out) {
  if (!engine || !config || !config->block || !out)
    return mica__fail(MICA_E_INVALID, "mica_beam_search_create: a pointer is NULL");
  if (!config->share)
    return mica__fail(MICA_E_INVALID,
                      "mica_beam_search_create: share is NULL, but must be a session that holds the weights");
  mica_beam_config c = *config;
  if (c.batch == 0) c.batch = 1;
  if (c.beams == 0) c.beams = 1;
  c.nn.training = false;
  MICA_TRY(check(&c));
  mica_beam_search *s = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("a beam search");
  s->engine = engine;
  s->queue = mica_engine_queue(engine);
  s->config = c;
  s->hypotheses = c.batch * c.beams;
  mica_status status = start(s);
  if (status == MICA_OK)
    *out = s;
  else
    mica_beam_search_destroy(s);
  return status;
}

/* Waits for downloads in flight, which write into the search's memory. */
static mica_status forget_pending(mica_beam_search *s) {
  mica_status status = MICA_OK;
  for (int i = 0; i < 2; i++) {
    if (s->events[i] && status == MICA_OK) status = mica_event_wait(s->events[i]);
    mica_event_destroy(s->events[i]);
    s->events[i] = NULL;
  }
  return status;
}

void mica_beam_search_destroy(mica_beam_search *s) {
  if (!s) return;
  mica__attempt_begin();
  if (forget_pending(s) != MICA_OK) mica__log(MICA_LOG_LEVEL_INFO, "%s", mica_error_message());
  mica__attempt_end();
  mica__generation_drop(&s->step);
  mica__generation_drop(&s->reading);
  for (int i = 0; i < MICA__GENERATE_BUCKETS; i++) mica_tensor_destroy(s->ids[i]);
  mica_tensor_destroy(s->lengths);
  mica_tensor_destroy(s->limits);
  free(s->padded);
  free(s->short_lengths);
  free(s->short_limits);
  free(s->choices);
  free(s->log_probabilities);
  free(s);
}

/* --- runs --- */

static mica_status check_source(const mica_beam_search *s, const int32_t *ids, int32_t length, int64_t b,
                                int32_t limit) {
  const long long number = (long long)b + 1;
  if (length < 1) return mica__fail(MICA_E_INVALID, "source %lld is empty", number);
  if (length > s->config.context)
    return mica__fail(MICA_E_INVALID, "source %lld has %d tokens, but the network's context holds %lld", number,
                      (int)length, (long long)s->config.context);
  if (limit < 1 || limit > s->config.context)
    return mica__fail(MICA_E_INVALID, "limit %lld is %d, but must be 1 to %lld", number, (int)limit,
                      (long long)s->config.context);
  for (int32_t i = 0; i < length; i++)
    if (ids[i] < 0 || ids[i] >= s->vocabulary)
      return mica__fail(MICA_E_INVALID, "token %d of source %lld is %d, but tokens of the vocabulary are 0 to %lld",
                        (int)i + 1, number, (int)ids[i], (long long)s->vocabulary - 1);
  return MICA_OK;
}

/* Queues the download of step t's choices. */
static mica_status fetch(mica_beam_search *s, const mica__generation *g, int64_t t) {
  const size_t each = 2 * (size_t)s->hypotheses;
  MICA_TRY(mica_tensor_download_async(s->queue, mica_session_output(g->session, 0), s->choices + (size_t)t * each,
                                      each * sizeof *s->choices, &s->events[t & 1]));
  return mica_queue_flush(s->queue);
}

/* Queues the run that reads the sources. Unused rows of the batch have one token and end at once. */
static mica_status read_sources(mica_beam_search *s, const int32_t *ids, const int32_t *lengths, int64_t row,
                                const int32_t *limits, int64_t count) {
  const int64_t batch = s->config.batch;
  int64_t longest = 1, positions = 0;
  for (int64_t b = 0; b < batch; b++) {
    s->short_lengths[b] = b < count ? lengths[b] : 1;
    s->short_limits[b] = b >= count ? 1 : limits ? limits[b] : (int32_t)s->config.context;
    longest = mica__max(longest, s->short_lengths[b]);
  }
  const int bucket = mica__generate_bucket(longest, s->config.context, &positions);
  const size_t bytes = (size_t)(batch * positions) * sizeof *s->padded, small = (size_t)batch * sizeof *s->padded;
  mica_tensor **tensor = &s->ids[bucket];
  if (!*tensor) MICA_TRY(mica_tensor_create(s->engine, MICA_I32, MICA_SHAPE(batch, positions), tensor));
  memset(s->padded, 0, bytes);
  for (int64_t b = 0; b < count; b++)
    memcpy(s->padded + b * positions, ids + b * row, (size_t)lengths[b] * sizeof *s->padded);
  MICA_TRY(mica_tensor_upload(s->queue, *tensor, s->padded, bytes));
  MICA_TRY(mica_tensor_upload(s->queue, s->lengths, s->short_lengths, small));
  MICA_TRY(mica_tensor_upload(s->queue, s->limits, s->short_limits, small));
  const mica_feed feeds[] = {{"ids", *tensor}, {"lengths", s->lengths}, {"limits", s->limits}};
  MICA_TRY(mica_session_run(s->reading.session, s->queue, feeds, 3));
  return fetch(s, &s->reading, 0);
}

static bool have_ended(const mica_beam_search *s, int64_t t) {
  const int32_t *tokens = s->choices + t * 2 * s->hypotheses;
  for (int64_t i = 0; i < s->hypotheses; i++)
    if (tokens[i] != s->config.end) return false;
  return true;
}

/* Runs steps until all hypotheses have ended. Each step is queued before the result of the previous one is known, so
 * one step too many may run. *last receives the last step that counts. */
static mica_status search(mica_beam_search *s, int64_t *last) {
  int64_t most = 1;
  for (int64_t b = 0; b < s->config.batch; b++) most = mica__max(most, s->short_limits[b]);
  for (int64_t t = 0;; t++) {
    *last = t;
    if (t + 1 < most) {
      MICA_TRY(mica_session_run(s->step.session, s->queue, NULL, 0));
      MICA_TRY(fetch(s, &s->step, t + 1));
    }
    MICA_TRY(mica_event_wait(s->events[t & 1]));
    mica_event_destroy(s->events[t & 1]);
    s->events[t & 1] = NULL;
    if (t + 1 == most || have_ended(s, t)) return forget_pending(s);
  }
}

/* Follows a hypothesis back from step `last` to its beginning, and collects its tokens. Returns the number of tokens
 * before the first end token, or of all tokens if none is the end. */
static int32_t trace(const mica_beam_search *s, int64_t hypothesis, int64_t last, int32_t *ids) {
  int32_t length = (int32_t)last + 1;
  for (int64_t t = last; t >= 0; t--) {
    const int32_t *tokens = s->choices + t * 2 * s->hypotheses;
    ids[t] = tokens[hypothesis];
    if (ids[t] == s->config.end) length = (int32_t)t;
    hypothesis = tokens[s->hypotheses + hypothesis];
  }
  return length;
}

static mica_status collect(mica_beam_search *s, int64_t last, int64_t count, const mica_beam_found *found) {
  const int64_t all = count * s->config.beams, context = s->config.context;
  const mica_tensor *scores = mica_session_parameter(s->step.session, SCORE);
  if (found->scores) MICA_TRY(mica_tensor_download(s->queue, scores, s->log_probabilities, mica_tensor_bytes(scores)));
  for (int64_t i = 0; i < all; i++) {
    found->lengths[i] = trace(s, i, last, found->ids + i * context);
    if (found->scores)
      found->scores[i] = (double)s->log_probabilities[i] / pow((double)found->lengths[i] + 1, s->config.length_penalty);
  }
  return MICA_OK;
}

mica_status mica_beam_search_run(mica_beam_search *s, const int32_t *ids, const int32_t *lengths, int64_t row,
                                 const int32_t *limits, int64_t count, const mica_beam_found *found) {
  if (!s || !ids || !lengths || !found || !found->ids || !found->lengths)
    return mica__fail(MICA_E_INVALID, "mica_beam_search_run: a pointer is NULL");
  if (count < 1 || count > s->config.batch)
    return mica__fail(MICA_E_INVALID, "mica_beam_search_run: the number of sources is %lld; it must be 1 to %lld",
                      (long long)count, (long long)s->config.batch);
  for (int64_t b = 0; b < count; b++) {
    if (lengths[b] > row)
      return mica__fail(MICA_E_INVALID, "source %lld has the length %d, but a row has only %lld tokens",
                        (long long)b + 1, (int)lengths[b], (long long)row);
    MICA_TRY(check_source(s, ids + b * row, lengths[b], b, limits ? limits[b] : (int32_t)s->config.context));
  }
  int64_t last = 0;
  mica_status status = read_sources(s, ids, lengths, row, limits, count);
  if (status == MICA_OK) status = search(s, &last);
  if (status == MICA_OK) return collect(s, last, count, found);
  mica__attempt_begin();
  if (forget_pending(s) != MICA_OK) mica__log(MICA_LOG_LEVEL_INFO, "%s", mica_error_message());
  mica__attempt_end();
  return status;
}

mica_session *mica_beam_search_session(mica_beam_search *s) { return s->step.session; }
