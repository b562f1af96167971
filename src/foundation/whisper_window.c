/* The tokens of a window: the likeliest ones, or drawn ones if the likeliest are doubtful. Radford et al. 2022, section
 * 4.5. */
#include "foundation/whisper.h"

#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_DEFLATE
#include <libdeflate.h>
#endif

/* --- texts that repeat themselves --- */

#if MICA_WITH_DEFLATE
/* zlib's default level */
#define LEVEL 6

mica_status mica__whisper_compression(const char *text, size_t bytes, double *ratio) {
  *ratio = 0;
  if (bytes == 0) return MICA_OK;
  struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
  if (!compressor) return mica__fail_nomem("a text");
  const size_t most = libdeflate_zlib_compress_bound(compressor, bytes);
  void *packed = malloc(most);
  const size_t size = packed ? libdeflate_zlib_compress(compressor, text, bytes, packed, most) : 0;
  free(packed);
  libdeflate_free_compressor(compressor);
  if (size == 0) return mica__fail_nomem("a text");
  *ratio = (double)bytes / (double)size;
  return MICA_OK;
}
#else
mica_status mica__whisper_compression(const char *text, size_t bytes, double *ratio) {
  (void)text, (void)bytes;
  *ratio = 0;
  return MICA_OK;
}
#endif

bool mica__whisper_repeats(const int32_t *tokens, size_t count) {
  enum { LEAST = 48, TIMES = 3, LONGEST = 64 };
  for (size_t period = 1; period <= LONGEST && period * TIMES <= count; period++) {
    size_t same = period;
    while (same < count && tokens[count - 1 - same] == tokens[count - 1 - same + period]) same++;
    if (same >= LEAST && same >= period * TIMES) return true;
  }
  return false;
}

/* --- one text --- */

/* Copies the tokens of the text without times and other special tokens. Returns their number. */
static size_t take_words(mica__whisper_reader *r, const mica__whisper_text *t) {
  size_t count = 0;
  for (size_t i = 0; i < t->count; i++)
    if (t->tokens[i] <= r->rules->no_timestamps && !mica_tokenizer_is_special(r->tokenizer, t->tokens[i]))
      r->texts[count++] = t->tokens[i];
  return count;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Sets `compression` from the first `words` tokens of `texts`, with spaces trimmed at both ends. */
static mica_status compress(mica__whisper_reader *r, size_t words, mica__whisper_text *t) {
  char *text = NULL;
  size_t bytes = 0, first = 0;
  MICA_TRY(mica_tokenizer_decode(r->tokenizer, r->texts, words, true, &text, &bytes));
  while (bytes > 0 && is_space(text[bytes - 1])) bytes--;
  while (first < bytes && is_space(text[first])) first++;
  const mica_status status = mica__whisper_compression(text + first, bytes - first, &t->compression);
  mica_free(text);
  return status;
}

/* Sets *repeats to true if the text so far ends in a repetition and its compression ratio is above the limit. */
static mica_status look_for_repetition(mica__whisper_reader *r, mica__whisper_text *t, bool *repeats) {
  const size_t words = take_words(r, t);
  *repeats = mica__whisper_repeats(r->texts, words);
  if (!*repeats) return MICA_OK;
  MICA_TRY(compress(r, words, t));
  /* Without a compressor the repetition alone decides. */
  if (t->compression == 0) t->compression = INFINITY;
  *repeats = t->compression > r->config.most_compression;
  return MICA_OK;
}

/* A random number, uniform in [0, 1). It depends only on the seed and the arguments, not on earlier draws. */
static double draw_at(const mica__whisper_reader *r, int64_t seek, double temperature, int32_t number, size_t token) {
  uint32_t c[4] = {(uint32_t)seek, (uint32_t)((uint64_t)seek >> 32), (uint32_t)token,
                   (uint32_t)number << 8 | (uint32_t)(10 * temperature + 0.5)};
  mica__philox(c, (uint32_t)r->config.seed, (uint32_t)(r->config.seed >> 32));
  return ((double)(c[0] >> 5) * 67108864.0 + (double)(c[1] >> 6)) / 9007199254740992.0;
}

typedef struct attempt {
  int64_t seek;
  int32_t position; /* of the first token */
  double temperature;
  int32_t number; /* of a drawn text */
  bool last;      /* no other attempt follows, so the text is not cut short */
} attempt;

/* Chooses tokens until the end token, the last position, the maximum number of tokens, or a repetition. */
static mica_status choose_text(mica__whisper_reader *r, const attempt *p, mica__whisper_text *t) {
  enum { PERIOD = 16 };
  const int64_t vocabulary = r->sessions->sizes.vocabulary, positions = r->sessions->sizes.decoder.positions;
  const int64_t given = p->position < positions / 2 - 1 ? p->position : positions / 2 - 1;
  const int64_t longest = r->rules->longest < positions - given ? r->rules->longest + given : positions;
  float *logits = r->sessions->logits;
  double sum = 0;
  size_t chosen = 0;
  bool repeats = false;
  memcpy(logits, r->first, (size_t)vocabulary * sizeof *logits);
  *t = (mica__whisper_text){.tokens = t->tokens, .temperature = p->temperature};
  for (int64_t position = p->position; position < longest && !repeats; position++) {
    const double draw = p->temperature > 0 ? draw_at(r, p->seek, p->temperature, p->number, t->count) : 0;
    double log_probability = 0;
    const int32_t token =
        mica__whisper_choose(r->rules, t->tokens, t->count, logits, vocabulary, p->temperature, draw, &log_probability);
    sum += log_probability;
    chosen++;
    if (token == r->rules->end) break;
    t->tokens[t->count++] = token;
    if (!p->last && t->count % PERIOD == 0) MICA_TRY(look_for_repetition(r, t, &repeats));
    if (!repeats && position + 1 < longest)
      MICA_TRY(mica__whisper_sessions_next(r->sessions, token, (int32_t)position));
  }
  t->log_probability = chosen ? sum / (double)chosen : 0;
  t->score = t->count ? sum / (double)t->count : -INFINITY;
  return repeats ? MICA_OK : compress(r, take_words(r, t), t);
}

/* --- several texts --- */

static void exchange(mica__whisper_reader *r) {
  const mica__whisper_text text = r->text;
  r->text = r->other;
  r->other = text;
}

/* Chooses the text at temperature 0, or the best of several at a higher one. */
static mica_status choose_best(mica__whisper_reader *r, attempt p) {
  const int32_t texts = p.temperature > 0 ? r->config.best_of : 1;
  MICA_TRY(choose_text(r, &p, &r->text));
  for (p.number = 1; p.number < texts; p.number++) {
    MICA_TRY(choose_text(r, &p, &r->other));
    if (r->other.score > r->text.score) exchange(r);
  }
  return MICA_OK;
}

mica_status mica__whisper_reader_read(mica__whisper_reader *r, int64_t seek, int32_t position, bool silent) {
  const int attempts = r->config.no_fallback ? 1 : 6;
  memcpy(r->first, r->sessions->logits, (size_t)r->sessions->sizes.vocabulary * sizeof *r->first);
  for (int i = 0; i < attempts; i++) {
    const attempt p = {.seek = seek, .position = position, .temperature = 0.2 * i, .last = i + 1 == attempts};
    MICA_TRY(choose_best(r, p));
    const bool doubtful = r->text.log_probability < r->config.least_log_probability;
    if (doubtful && silent) return MICA_OK;
    if (!doubtful && !(r->text.compression > r->config.most_compression)) return MICA_OK;
  }
  return MICA_OK;
}

mica_status mica__whisper_reader_create(mica__whisper_reader *r) {
  const size_t positions = (size_t)r->sessions->sizes.decoder.positions;
  r->text.tokens = calloc(positions, sizeof *r->text.tokens);
  r->other.tokens = calloc(positions, sizeof *r->other.tokens);
  r->texts = calloc(positions, sizeof *r->texts);
  r->first = calloc((size_t)r->sessions->sizes.vocabulary, sizeof *r->first);
  if (!r->text.tokens || !r->other.tokens || !r->texts || !r->first) return mica__fail_nomem("the tokens of a window");
  return MICA_OK;
}

void mica__whisper_reader_free(mica__whisper_reader *r) {
  free(r->text.tokens);
  free(r->other.tokens);
  free(r->texts);
  free(r->first);
  *r = (mica__whisper_reader){0};
}
