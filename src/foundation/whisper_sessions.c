/* Whisper's sessions: the encoder runs once per window, the decoder once per token. */
#include "foundation/whisper.h"

#include <mica/device.h>
#include <mica/nodes.h>

#include <math.h>
#include <stdlib.h>

/* The network of a window, or of a token that follows. */
static mica_value build(const mica_whisper_sizes *sizes, mica_graph *graph, mica_nn *nn, bool window) {
  mica__whisper_caches caches = {.self = {.batch = 1, .length = sizes->decoder.positions},
                                 .cross = {.batch = 1, .length = sizes->encoder.positions}};
  const mica_value ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(1, 1));
  mica_value memory = {0};
  if (window)
    memory = mica_whisper_encoder(
        nn, sizes, mica_input(graph, "mel", MICA_F32, MICA_SHAPE(1, sizes->bins, 2 * sizes->encoder.positions)));
  else
    caches.self.offset = mica_input(graph, "offset", MICA_I32, MICA_SHAPE(1));
  if (window && mica_value_is_null(memory)) return memory;
  return mica__whisper_decoder(nn, sizes, ids, memory, &caches);
}

static mica_status make_session(mica__whisper_sessions *s, const mica_foundation *model, bool window) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session **session = window ? &s->window : &s->step;
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, NULL, &nn);
  const mica_value logits = status == MICA_OK ? build(&s->sizes, graph, nn, window) : (mica_value){0};
  const mica_session_config config = {.share = s->window};
  if (status == MICA_OK) status = mica_session_create(s->engine, graph, &logits, 1, &config, session);
  if (status == MICA_OK && window) status = mica_foundation_load(model, nn, *session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

mica_status mica__whisper_sessions_create(mica_engine *engine, const mica_foundation *model,
                                          mica__whisper_sessions *s) {
  *s = (mica__whisper_sessions){.engine = engine};
  MICA_TRY(mica_whisper_sizes_of(model, &s->sizes));
  MICA_TRY(mica_foundation_check(model));
  s->logits = calloc((size_t)s->sizes.vocabulary, sizeof *s->logits);
  if (!s->logits) return mica__fail_nomem("logits");
  MICA_TRY(make_session(s, model, true));
  MICA_TRY(make_session(s, model, false));
  MICA_TRY(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, s->sizes.bins, 2 * s->sizes.encoder.positions), &s->mel));
  MICA_TRY(mica_tensor_create(engine, MICA_I32, MICA_SHAPE(1, 1), &s->token));
  return mica_tensor_create(engine, MICA_I32, MICA_SHAPE(1), &s->offset);
}

void mica__whisper_sessions_free(mica__whisper_sessions *s) {
  mica_tensor_destroy(s->mel);
  mica_tensor_destroy(s->token);
  mica_tensor_destroy(s->offset);
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
      return mica__fail(MICA_E_FORMAT, "whisper: logit %zu is not finite; the model's weights are damaged", i);
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
