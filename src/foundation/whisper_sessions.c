/* Whisper's sessions: the encoder runs once per window, and the decoder once per token. For the text of earlier
 * windows, the decoder runs once for several tokens. */
#include "foundation/whisper.h"

#include <mica/device.h>
#include <mica/nodes.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of tokens of the prompt (the text before a window) that are read at once. */
#define MOST_TOKENS 32

typedef enum kind { WINDOW, STEP, PART } kind;

/* The number of tokens that a session reads at once. */
static int64_t tokens_of(const mica_whisper_sizes *sizes, kind k) {
  const int64_t half = sizes->decoder.positions / 2;
  return k != PART || half < 2 ? 1 : half < MOST_TOKENS ? half : MOST_TOKENS;
}

/* Builds the network of a window, of one following token, or of several. */
static mica_value build(const mica_whisper_sizes *sizes, mica_graph *graph, mica_nn *nn, kind k) {
  mica__whisper_caches caches = {.self = {.batch = 1, .length = sizes->decoder.positions},
                                 .cross = {.batch = 1, .length = sizes->encoder.positions},
                                 .only = k == PART};
  const mica_value ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(1, tokens_of(sizes, k)));
  mica_value memory = {0};
  if (k == WINDOW)
    memory = mica_whisper_encoder(
        nn, sizes, mica_input(graph, "mel", MICA_F32, MICA_SHAPE(1, sizes->bins, 2 * sizes->encoder.positions)));
  else
    caches.self.offset = mica_input(graph, "offset", MICA_I32, MICA_SHAPE(1));
  if (k == WINDOW && mica_value_is_null(memory)) return memory;
  return mica__whisper_decoder(nn, sizes, ids, memory, &caches);
}

/* Keeps only the decoder's matrices in the type of the file, which is often smaller than f32. With `half`, its f32
 * matrices become f16. The decoder reads its matrices once per token, so their size determines its speed. The encoder's
 * speed is limited by arithmetic instead. */
static bool hold(void *user, const char *name, mica_shape shape, mica_nn_held *held) {
  const mica__whisper_sessions *s = user;
  mica_nn_config config = {0};
  mica_foundation_hold(s->model, &config);
  if (strncmp(name, "decoder.", strlen("decoder.")) != 0) return false;
  if (!config.hold(config.hold_user, name, shape, held)) return false;
  if (held->block == MICA_BLOCK_NONE && held->dtype == MICA_F32 && s->half) held->dtype = MICA_F16;
  return true;
}

static mica_status make_session(mica__whisper_sessions *s, kind k) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session **session = k == WINDOW ? &s->window : k == STEP ? &s->step : &s->part;
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, &(mica_nn_config){.hold = hold, .hold_user = s}, &nn);
  const mica_value output = status == MICA_OK ? build(&s->sizes, graph, nn, k) : (mica_value){0};
  mica_session_config config = {.share = s->window};
  if (status == MICA_OK && k == WINDOW) status = mica_foundation_bind(s->model, nn, s->engine, &s->bindings);
  if (k == WINDOW) config.parameters = mica_bindings_list(s->bindings, &config.parameter_count);
  if (status == MICA_OK) status = mica_session_create(s->engine, graph, &output, 1, &config, session);
  if (status == MICA_OK && k == WINDOW) status = mica_foundation_load(s->model, nn, *session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

mica_status mica__whisper_sessions_create(mica_engine *engine, const mica_foundation *model, bool half,
                                          mica__whisper_sessions *s) {
  *s = (mica__whisper_sessions){.engine = engine, .model = model, .half = half};
  MICA_TRY(mica_whisper_sizes_of(model, &s->sizes));
  MICA_TRY(mica_foundation_check(model));
  s->logits = calloc((size_t)s->sizes.vocabulary, sizeof *s->logits);
  if (!s->logits) return mica__fail_nomem("logits");
  MICA_TRY(make_session(s, WINDOW));
  MICA_TRY(make_session(s, STEP));
  MICA_TRY(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, s->sizes.bins, 2 * s->sizes.encoder.positions), &s->mel));
  MICA_TRY(mica_tensor_create(engine, MICA_I32, MICA_SHAPE(1, 1), &s->token));
  return mica_tensor_create(engine, MICA_I32, MICA_SHAPE(1), &s->offset);
}

void mica__whisper_sessions_free(mica__whisper_sessions *s) {
  mica_tensor_destroy(s->mel);
  mica_tensor_destroy(s->token);
  mica_tensor_destroy(s->offset);
  mica_tensor_destroy(s->part_tokens);
  mica_session_destroy(s->part);
  mica_bindings_destroy(s->bindings);
  mica_session_destroy(s->step);
  mica_session_destroy(s->window);
  free(s->logits);
  *s = (mica__whisper_sessions){0};
}

static mica_status run(mica__whisper_sessions *s, mica_session *session, const mica_feed feeds[2]) {
  mica_queue *queue = mica_engine_queue(s->engine);
  const size_t count = (size_t)s->sizes.vocabulary;
  MICA_TRY(mica_session_run(session, queue, feeds, 2));
  MICA_TRY(mica_tensor_download(queue, mica_session_output(session, 0), s->logits, count * sizeof *s->logits));
  for (size_t i = 0; i < count; i++)
    if (!isfinite(s->logits[i]))
      return mica__fail(
          MICA_E_FORMAT,
          "whisper: logit %zu is not finite; the model's weights or the sound have numbers that are not finite", i);
  return MICA_OK;
}

mica_status mica__whisper_sessions_begin(mica__whisper_sessions *s, const float *mel, int32_t token) {
  mica_queue *queue = mica_engine_queue(s->engine);
  const mica_feed feeds[2] = {{"mel", s->mel}, {"ids", s->token}};
  MICA_TRY(mica_tensor_upload(queue, s->mel, mel, mica_tensor_bytes(s->mel)));
  MICA_TRY(mica_tensor_upload(queue, s->token, &token, sizeof token));
  return run(s, s->window, feeds);
}

mica_status mica__whisper_sessions_next(mica__whisper_sessions *s, int32_t token, int32_t position) {
  mica_queue *queue = mica_engine_queue(s->engine);
  const mica_feed feeds[2] = {{"offset", s->offset}, {"ids", s->token}};
  MICA_TRY(mica_tensor_upload(queue, s->token, &token, sizeof token));
  MICA_TRY(mica_tensor_upload(queue, s->offset, &position, sizeof position));
  return run(s, s->step, feeds);
}

mica_status mica__whisper_sessions_read(mica__whisper_sessions *s, const int32_t *tokens, size_t count) {
  mica_queue *queue = mica_engine_queue(s->engine);
  const size_t most = (size_t)tokens_of(&s->sizes, PART);
  if (!s->part) MICA_TRY(make_session(s, PART));
  if (!s->part_tokens) MICA_TRY(mica_tensor_create(s->engine, MICA_I32, MICA_SHAPE(1, (int64_t)most), &s->part_tokens));
  const mica_feed feeds[2] = {{"offset", s->offset}, {"ids", s->part_tokens}};
  for (size_t at = 0; at < count; at += most) {
    /* Fills up with zeros after the last token: their positions are written again before a later token sees them. */
    int32_t part[MOST_TOKENS] = {0};
    const int32_t position = (int32_t)at + 1;
    memcpy(part, tokens + at, (count - at < most ? count - at : most) * sizeof *part);
    MICA_TRY(mica_tensor_upload(queue, s->part_tokens, part, most * sizeof *part));
    MICA_TRY(mica_tensor_upload(queue, s->offset, &position, sizeof position));
    MICA_TRY(mica_session_run(s->part, queue, feeds, 2));
  }
  return MICA_OK;
}
