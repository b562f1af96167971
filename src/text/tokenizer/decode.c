/* Decoders: steps that turn tokens into a text. */
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

typedef enum decode_kind { BYTE_LEVEL, WORD_PIECE, METASPACE, BPE, BYTE_FALLBACK, FUSE, STRIP, REPLACE } decode_kind;

typedef struct mica__decode_step {
  decode_kind kind;
  char *text;          /* WORD_PIECE: prefix; METASPACE: mark; BPE: suffix; STRIP, REPLACE: content */
  bool flag;           /* WORD_PIECE: cleanup; METASPACE: drop the first mark */
  int64_t start, stop; /* STRIP */
  mica__pattern *pattern;
} mica__decode_step;

/* --- steps: from the tokens of one list to another --- */

static mica_status run_byte_level(const mica__pieces *in, mica__pieces *out) {
  const size_t at = out->text.length;
  for (size_t k = 0; k < in->count; k++) {
    const char *text = in->text.data + in->list[k].begin;
    const size_t bytes = in->list[k].length, begin = out->text.length;
    for (size_t i = 0, n; i < bytes; i += n) {
      const int byte = mica__byte_of_character(mica__utf8_at(text + i, &n));
      if (byte < 0) { /* a token not spelled in bytes stays as it is */
        out->text.length = begin;
        mica__text_add_bytes(&out->text, text, bytes);
        break;
      }
      mica__text_add_bytes(&out->text, &(char){(char)byte}, 1);
    }
  }
  return mica__pieces_close(out, at, 0);
}

/* The position of a text in a piece; `bytes` if it is not there. */
static size_t find(const char *text, size_t bytes, const char *what, size_t length) {
  for (size_t i = 0; i + length <= bytes; i++)
    if (!memcmp(text + i, what, length)) return i;
  return bytes;
}

/* Appends the text with every `what` replaced by `with`. */
static void add_replaced(mica__text *out, const char *text, size_t bytes, const char *what, const char *with) {
  const size_t length = strlen(what);
  while (bytes > 0) {
    const size_t at = length ? find(text, bytes, what, length) : bytes;
    mica__text_add_bytes(out, text, at);
    if (at == bytes) return;
    mica__text_add(out, with);
    text += at + length;
    bytes -= at + length;
  }
}

static mica_status clean_up(const char *text, size_t bytes, mica__text *out) {
  static const char *const rules[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                         {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                         {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  mica__text some[2] = {{0}, {0}};
  const size_t count = sizeof rules / sizeof *rules;
  for (size_t i = 0; i < count; i++) {
    mica__text *to = i + 1 == count ? out : &some[i % 2];
    if (to != out) to->length = 0;
    add_replaced(to, text, bytes, rules[i][0], rules[i][1]);
    text = to->data ? to->data : "";
    bytes = to->length;
  }
  const bool failed = some[0].failed || some[1].failed;
  mica__text_free(&some[0]);
  mica__text_free(&some[1]);
  return failed ? mica__fail_nomem("a text") : MICA_OK;
}

static mica_status run_word_piece(const mica__decode_step *step, const mica__pieces *in, mica__pieces *out) {
  const size_t prefix = strlen(step->text);
  mica__text word = {0};
  mica_status status = MICA_OK;
  for (size_t k = 0; k < in->count && status == MICA_OK; k++) {
    const char *text = in->text.data + in->list[k].begin;
    const size_t bytes = in->list[k].length, at = out->text.length;
    const bool goes_on = bytes >= prefix && !memcmp(text, step->text, prefix);
    word.length = 0;
    if (k > 0 && !goes_on) mica__text_add_bytes(&word, " ", 1);
    if (k > 0 && goes_on)
      mica__text_add_bytes(&word, text + prefix, bytes - prefix);
    else
      mica__text_add_bytes(&word, text, bytes);
    status = mica__text_status(&word);
    if (status == MICA_OK && step->flag)
      status = clean_up(word.data, word.length, &out->text);
    else
      mica__text_add_bytes(&out->text, word.data, word.length);
    if (status == MICA_OK) status = mica__pieces_close(out, at, 0);
  }
  mica__text_free(&word);
  return status;
}

static void run_metaspace(const mica__decode_step *step, const char *text, size_t bytes, bool first, mica__text *out) {
  add_replaced(out, text, bytes, step->text, first && step->flag ? "" : " ");
}

static int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of a token such as <0x0A>; -1: it is another token. */
static int byte_of_token(const char *text, size_t bytes) {
  const bool is_byte = bytes == 6 && !memcmp(text, "<0x", 3) && text[5] == '>';
  if (!is_byte || hexadecimal(text[3]) < 0 || hexadecimal(text[4]) < 0) return -1;
  return hexadecimal(text[3]) << 4 | hexadecimal(text[4]);
}

/* Closes the piece of consecutive bytes from `at` on. If they are not valid UTF-8, each byte becomes U+FFFD. */
static mica_status close_bytes(mica__pieces *out, size_t at) {
  const size_t count = out->text.length - at;
  if (count == 0) return MICA_OK;
  if (mica__utf8_prefix(out->text.data + at, count) < count) {
    out->text.length = at;
    for (size_t i = 0; i < count; i++) mica__text_add(&out->text, "\xef\xbf\xbd");
  }
  return mica__pieces_close(out, at, 0);
}

static mica_status run_byte_fallback(const mica__pieces *in, mica__pieces *out) {
  size_t at = out->text.length;
  for (size_t k = 0; k < in->count; k++) {
    const char *text = in->text.data + in->list[k].begin;
    const size_t bytes = in->list[k].length;
    const int byte = byte_of_token(text, bytes);
    if (byte >= 0) {
      mica__text_add_bytes(&out->text, &(char){(char)byte}, 1);
      continue;
    }
    MICA_TRY(close_bytes(out, at));
    MICA_TRY(mica__pieces_add(out, text, bytes, 0));
    at = out->text.length;
  }
  return close_bytes(out, at);
}

/* Removes step->text at most `start` times at the beginning and `stop` times at the end. */
static void run_strip(const mica__decode_step *step, const char *text, size_t bytes, mica__text *out) {
  const size_t length = strlen(step->text);
  for (int64_t i = 0; i < step->start && bytes >= length && !memcmp(text, step->text, length); i++) {
    text += length;
    bytes -= length;
  }
  for (int64_t i = 0; i < step->stop && bytes >= length && !memcmp(text + bytes - length, step->text, length); i++)
    bytes -= length;
  mica__text_add_bytes(out, text, bytes);
}

/* Runs a step that changes each token separately. */
static mica_status run_each(const mica__decode_step *step, mica__search *search, const mica__pieces *in, size_t most,
                            mica__pieces *out) {
  for (size_t k = 0; k < in->count; k++) {
    const char *text = in->text.data + in->list[k].begin;
    const size_t bytes = in->list[k].length, at = out->text.length;
    switch (step->kind) {
    case METASPACE: run_metaspace(step, text, bytes, k == 0, &out->text); break;
    case BPE: add_replaced(&out->text, text, bytes, step->text, k + 1 == in->count ? "" : " "); break;
    case STRIP: run_strip(step, text, bytes, &out->text); break;
    case REPLACE:
      if (bytes) MICA_TRY(mica__pattern_replace(step->pattern, search, text, bytes, step->text, most, &out->text));
      break;
    default: mica__text_add_bytes(&out->text, text, bytes); break;
    }
    MICA_TRY(mica__pieces_close(out, at, 0));
  }
  return MICA_OK;
}

static mica_status run_step(const mica__decode_step *step, mica__search *search, const mica__pieces *in, size_t most,
                            mica__pieces *out) {
  switch (step->kind) {
  case BYTE_LEVEL: return run_byte_level(in, out);
  case WORD_PIECE: return run_word_piece(step, in, out);
  case BYTE_FALLBACK: return run_byte_fallback(in, out);
  case FUSE: return mica__pieces_add(out, in->text.data, in->text.length, 0);
  default: return run_each(step, search, in, most, out);
  }
}

static mica_status collect(const mica_tokenizer *tokenizer, const int32_t *ids, size_t count, bool skip_special,
                           mica__pieces *out) {
  for (size_t i = 0; i < count; i++) {
    const mica__token *token = mica__vocab_at(&tokenizer->vocab, ids[i]);
    if (!token)
      return mica__fail(MICA_E_INVALID,
                        "no token has the id %d (element %zu of the ids); the ids of tokens are within 0 to %d",
                        (int)ids[i], i, (int)tokenizer->vocab.size - 1);
    if (token->special && skip_special) continue;
    if (!tokenizer->decodes && out->count) mica__text_add_bytes(&out->text, " ", 1);
    MICA_TRY(mica__pieces_add(out, token->text, token->length, 0));
  }
  return MICA_OK;
}

mica_status mica_tokenizer_decode(const mica_tokenizer *tokenizer, const int32_t *ids, size_t count, bool skip_special,
                                  char **text, size_t *bytes) {
  if (!tokenizer || (!ids && count) || !text || !bytes)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_decode: tokenizer, ids, text or bytes is NULL");
  mica__pieces pieces[2] = {0};
  mica__search search = {NULL};
  mica__text_add_bytes(&pieces[0].text, "", 0);
  mica_status status = collect(tokenizer, ids, count, skip_special, &pieces[0]);
  const size_t most = mica__most_grown(pieces[0].text.length);
  size_t at = 0;
  for (size_t i = 0; i < tokenizer->decoder_count && status == MICA_OK; i++, at = 1 - at) {
    mica__pieces_clear(&pieces[1 - at]);
    mica__text_add_bytes(&pieces[1 - at].text, "", 0);
    status = run_step(&tokenizer->decoders[i], &search, &pieces[at], most, &pieces[1 - at]);
  }
  if (status == MICA_OK) status = mica__text_status(&pieces[at].text);
  if (status == MICA_OK) {
    *text = pieces[at].text.data;
    *bytes = pieces[at].text.length;
    pieces[at].text = (mica__text){0};
  }
  mica__pieces_free(&pieces[0]);
  mica__pieces_free(&pieces[1]);
  mica__search_free(&search);
  return status;
}

/* --- bytes of one token --- */

/* Runs a step on a token that is not the first of its text. */
static mica_status token_step(const mica__decode_step *step, mica__search *search, const mica__pieces *in, bool joined,
                              mica__pieces *out) {
  const char *text = in->text.data;
  const size_t bytes = in->text.length, length = step->text ? strlen(step->text) : 0;
  switch (step->kind) {
  case BYTE_LEVEL: return run_byte_level(in, out);
  case BPE: return add_replaced(&out->text, text, bytes, step->text, " "), MICA_OK;
  case METASPACE: return run_metaspace(step, text, bytes, false, &out->text), MICA_OK;
  case WORD_PIECE:
    if (bytes >= length && !memcmp(text, step->text, length))
      mica__text_add_bytes(&out->text, text + length, bytes - length);
    else
      mica__text_addf(&out->text, " %s", text);
    return MICA_OK;
  case REPLACE:
    return mica__pattern_replace(step->pattern, search, text, bytes, step->text, mica__most_grown(bytes), &out->text);
  case STRIP:
    if (!joined) return run_strip(step, text, bytes, &out->text), MICA_OK;
    break; /* strips the ends of the whole text, not of this token */
  default: break;
  }
  mica__text_add_bytes(&out->text, text, bytes);
  return MICA_OK;
}

mica_status mica__token_bytes(const mica_tokenizer *tokenizer, mica__search *search, const mica__token *token,
                              mica__pieces pieces[2], const mica__text **out) {
  bool joined = false, is_byte = false;
  size_t at = 0;
  mica__pieces_clear(&pieces[0]);
  if (!tokenizer->decodes) mica__text_add_bytes(&pieces[0].text, " ", 1);
  MICA_TRY(mica__pieces_add(&pieces[0], token->text, token->length, 0));
  for (size_t i = 0; i < tokenizer->decoder_count && !is_byte; i++) {
    const mica__decode_step *step = &tokenizer->decoders[i];
    int byte = -1;
    if (step->kind == FUSE) joined = true;
    if (pieces[at].text.length == 0) break;
    if (step->kind == BYTE_FALLBACK) byte = byte_of_token(pieces[at].text.data, pieces[at].text.length);
    mica__pieces_clear(&pieces[1 - at]);
    mica__text_add_bytes(&pieces[1 - at].text, "", 0);
    is_byte = byte >= 0;
    if (is_byte)
      mica__text_add_bytes(&pieces[1 - at].text, &(char){(char)byte}, 1);
    else
      MICA_TRY(token_step(step, search, &pieces[at], joined, &pieces[1 - at]));
    at = 1 - at;
    if (i + 1 < tokenizer->decoder_count && pieces[at].text.length > 0 && pieces[at].count == 0)
      MICA_TRY(mica__pieces_close(&pieces[at], 0, 0));
  }
  *out = &pieces[at].text;
  return mica__text_status(*out);
}

/* --- reading --- */

void mica__decoders_free(mica__decode_step *steps, size_t count) {
  for (size_t i = 0; i < count; i++) {
    mica__pattern_free(steps[i].pattern);
    free(steps[i].text);
  }
  free(steps);
}

/* For each type of step: the key of the text that the step needs, and the text to use if the file lacks the key. */
static const struct row {
  const char *type;
  decode_kind kind;
  const char *key, *usual;
} rows[] = {
    {"ByteLevel", BYTE_LEVEL, NULL, NULL},
    {"WordPiece", WORD_PIECE, "prefix", "##"},
    {"Metaspace", METASPACE, "replacement", "\xe2\x96\x81"},
    {"BPEDecoder", BPE, "suffix", "</w>"},
    {"ByteFallback", BYTE_FALLBACK, NULL, NULL},
    {"Fuse", FUSE, NULL, NULL},
    {"Strip", STRIP, "content", " "},
    {"Replace", REPLACE, "content", NULL},
};

static mica_status parse_members(const cJSON *object, const struct row *row, mica__decode_step *step) {
  const char *text = row->usual, *scheme = "always";
  bool flag = true;
  if (row->key) MICA_TRY(mica__json_text(object, row->key, !row->usual, &text));
  if (row->key && !(step->text = mica__strdup(text))) return mica__fail_nomem("a tokeniser");
  if ((row->kind == STRIP || row->kind == METASPACE) && !*text)
    return mica__fail(MICA_E_FORMAT, "%s must not be empty", row->key);
  if (row->kind == WORD_PIECE) MICA_TRY(mica__json_bool(object, "cleanup", &flag));
  if (row->kind == METASPACE) {
    MICA_TRY(mica__json_bool(object, "add_prefix_space", &flag));
    if (!flag) scheme = "never";
    MICA_TRY(mica__json_text(object, "prepend_scheme", false, &scheme));
    flag = strcmp(scheme, "never") != 0;
  }
  step->flag = flag;
  if (row->kind == STRIP) {
    MICA_TRY(mica__json_integer(object, "start", INT32_MAX, &step->start));
    MICA_TRY(mica__json_integer(object, "stop", INT32_MAX, &step->stop));
  }
  return row->kind == REPLACE ? mica__json_pattern(object, &step->pattern) : MICA_OK;
}

static mica_status parse_step(void *user, const cJSON *object, const char *type) {
  mica_tokenizer *tokenizer = user;
  const struct row *row = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].type, type)) row = &rows[i];
  if (!row) return mica__fail(MICA_E_UNSUPPORTED, "this type of decoder is not supported");
  mica__decode_step *grown = realloc(tokenizer->decoders, (tokenizer->decoder_count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a tokeniser");
  tokenizer->decoders = grown;
  mica__decode_step *step = &grown[tokenizer->decoder_count++];
  *step = (mica__decode_step){.kind = row->kind};
  return parse_members(object, row, step);
}

mica_status mica__decoders_parse(const cJSON *object, mica_tokenizer *tokenizer) {
  tokenizer->decodes = object != NULL;
  return mica__json_steps(object, "decoder", "decoders", parse_step, tokenizer);
}
