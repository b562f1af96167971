/* Decodes tokens one at a time. A token's text depends on the tokens before it (a space, half a character). Each new
 * token is therefore decoded together with the last ones, and the text already shown is removed. */
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STOPS 64
#define LONGEST_STOP 4096
/* Maximum number of tokens to wait for the end of a character; it has at most four bytes. */
#define MOST_WAITING 8

struct mica_text_stream {
  const mica_tokenizer *tokenizer;
  bool keep_special, stopped;
  char **stops;
  size_t *stop_bytes;
  size_t stop_count;
  int32_t *ids; /* the last tokens; the text of [0, shown) was output */
  size_t count, shown, room;
  mica__text held; /* may be the beginning of a stop text */
  mica__text out;
};

/* --- making --- */

void mica_text_stream_destroy(mica_text_stream *stream) {
  if (!stream) return;
  for (size_t i = 0; i < stream->stop_count; i++) free(stream->stops[i]);
  free(stream->stops);
  free(stream->stop_bytes);
  free(stream->ids);
  mica__text_free(&stream->held);
  mica__text_free(&stream->out);
  free(stream);
}

static mica_status copy_stops(mica_text_stream *s, const char *const *stops, size_t count) {
  if (count > MOST_STOPS)
    return mica__fail(MICA_E_INVALID, "stop_count is %zu, but may be at most %d", count, MOST_STOPS);
  if (count && !stops) return mica__fail(MICA_E_INVALID, "stops is NULL, but stop_count is %zu", count);
  s->stops = calloc(count + 1, sizeof(*s->stops));
  s->stop_bytes = calloc(count + 1, sizeof *s->stop_bytes);
  if (!s->stops || !s->stop_bytes) return mica__fail_nomem("a text stream");
  for (size_t i = 0; i < count; i++) {
    if (!stops[i]) return mica__fail(MICA_E_INVALID, "stops[%zu] is NULL", i);
    const size_t bytes = strlen(stops[i]);
    if (bytes == 0 || bytes > LONGEST_STOP)
      return mica__fail(MICA_E_INVALID, "stops[%zu] has %zu bytes, but must have 1 to %d", i, bytes, LONGEST_STOP);
    s->stops[i] = mica__strdup(stops[i]);
    s->stop_bytes[i] = bytes;
    s->stop_count = i + 1;
    if (!s->stops[i]) return mica__fail_nomem("a text stream");
  }
  return MICA_OK;
}

mica_status mica_text_stream_create(const mica_tokenizer *tokenizer, const mica_text_stream_config *config,
                                    mica_text_stream **stream) {
  static const mica_text_stream_config none = {0};
  if (!tokenizer || !stream) return mica__fail(MICA_E_INVALID, "mica_text_stream_create: tokenizer or stream is NULL");
  if (!config) config = &none;
  mica_text_stream *s = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("a text stream");
  s->tokenizer = tokenizer;
  s->keep_special = config->keep_special;
  const mica_status status = copy_stops(s, config->stops, config->stop_count);
  if (status == MICA_OK)
    *stream = s;
  else
    mica_text_stream_destroy(s);
  return status;
}

void mica_text_stream_reset(mica_text_stream *stream) {
  if (!stream) return;
  stream->count = stream->shown = 0;
  stream->held.length = stream->out.length = 0;
  stream->stopped = false;
}

/* --- stops --- */

/* Position of the first stop text in the held text; SIZE_MAX: none. */
static size_t find_stop(const mica_text_stream *s) {
  for (size_t at = 0; at < s->held.length; at++)
    for (size_t i = 0; i < s->stop_count; i++)
      if (s->held.length - at >= s->stop_bytes[i] && !memcmp(s->held.data + at, s->stops[i], s->stop_bytes[i]))
        return at;
  return SIZE_MAX;
}

/* The number of held bytes before a possible beginning of a stop text. */
static size_t safe_bytes(const mica_text_stream *s) {
  for (size_t at = 0; at < s->held.length; at++)
    for (size_t i = 0; i < s->stop_count; i++) {
      const size_t rest = s->held.length - at;
      if (rest < s->stop_bytes[i] && !memcmp(s->held.data + at, s->stops[i], rest)) return at;
    }
  return s->held.length;
}

/* Moves held text to the output, up to a stop text if there is one. A possible beginning of a stop text stays held
 * unless `end`. */
static void release(mica_text_stream *s, bool end) {
  if (s->held.length == 0) return;
  const size_t stop = find_stop(s), bytes = stop != SIZE_MAX ? stop : end ? s->held.length : safe_bytes(s);
  mica__text_add_bytes(&s->out, s->held.data, bytes);
  memmove(s->held.data, s->held.data + bytes, s->held.length - bytes);
  s->held.length -= bytes;
  s->stopped = stop != SIZE_MAX;
}

/* --- tokens --- */

/* True if the text ends inside a character. Byte tokens show such an end as U+FFFD. */
static bool is_cut(const char *text, size_t bytes) {
  const size_t valid = mica__utf8_prefix(text, bytes);
  if (valid == bytes) return bytes >= 3 && !memcmp(text + bytes - 3, "\xef\xbf\xbd", 3);
  const unsigned char first = (unsigned char)text[valid];
  const size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  return bytes - valid < wanted;
}

/* Decodes the tokens with and without the new ones, and adds the difference to the held text. If the last character of
 * the decoded text is cut, waits for more tokens, unless `end` or too many already wait. */
static mica_status take_text(mica_text_stream *s, bool end) {
  char *before = NULL, *whole = NULL;
  size_t before_bytes = 0, bytes = 0, same = 0;
  mica_status status = mica_tokenizer_decode(s->tokenizer, s->ids, s->shown, !s->keep_special, &before, &before_bytes);
  if (status == MICA_OK)
    status = mica_tokenizer_decode(s->tokenizer, s->ids, s->count, !s->keep_special, &whole, &bytes);
  if (status == MICA_OK && (end || s->count - s->shown >= MOST_WAITING || !is_cut(whole, bytes))) {
    while (same < before_bytes && same < bytes && whole[same] == before[same]) same++;
    mica__utf8_add_any(&s->held, whole + same, bytes - same);
    /* Keeps the new tokens as context of the next ones. */
    memmove(s->ids, s->ids + s->shown, (s->count - s->shown) * sizeof *s->ids);
    s->count -= s->shown;
    s->shown = s->count;
  }
  mica_free(before);
  mica_free(whole);
  return status;
}

mica_status mica_text_stream_add(mica_text_stream *stream, int32_t id, const char **text, size_t *bytes,
                                 bool *stopped) {
  if (!stream || !text || !bytes)
    return mica__fail(MICA_E_INVALID, "mica_text_stream_add: stream, text or bytes is NULL");
  stream->out.length = 0;
  mica__text_add_bytes(&stream->out, "", 0);
  if (!mica__vocab_at(&stream->tokenizer->vocab, id))
    return mica__fail(MICA_E_INVALID, "there is no token with the id %d", (int)id);
  if (!stream->stopped) {
    MICA_TRY(mica__reserve(&stream->ids, &stream->room, stream->count + 1, sizeof *stream->ids));
    stream->ids[stream->count++] = id;
    MICA_TRY(take_text(stream, false));
    release(stream, false);
  }
  MICA_TRY(mica__text_status(&stream->held));
  MICA_TRY(mica__text_status(&stream->out));
  *text = stream->out.data;
  *bytes = stream->out.length;
  if (stopped) *stopped = stream->stopped;
  return MICA_OK;
}

mica_status mica_text_stream_end(mica_text_stream *stream, const char **text, size_t *bytes) {
  if (!stream || !text || !bytes)
    return mica__fail(MICA_E_INVALID, "mica_text_stream_end: stream, text or bytes is NULL");
  stream->out.length = 0;
  mica__text_add_bytes(&stream->out, "", 0);
  if (!stream->stopped && stream->count > stream->shown) MICA_TRY(take_text(stream, true));
  if (!stream->stopped) release(stream, true);
  MICA_TRY(mica__text_status(&stream->held));
  MICA_TRY(mica__text_status(&stream->out));
  *text = stream->out.data;
  *bytes = stream->out.length;
  return MICA_OK;
}
