/* Tokenisers: opens and saves them, and returns their properties. */
#include "base/memory.h"
#include "base/signature.h"
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <mica/gguf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void mica_tokenizer_destroy(mica_tokenizer *tokenizer) {
  if (!tokenizer) return;
  mica__vocab_free(&tokenizer->vocab);
  mica__model_free(&tokenizer->model);
  for (int i = 0; i < 2; i++) {
    mica__trie_free(&tokenizer->added[i]);
    mica__frame_free(&tokenizer->frames[i]);
  }
  free(tokenizer->about);
  mica__normals_free(tokenizer->normals, tokenizer->normal_count);
  mica__cuts_free(tokenizer->cuts, tokenizer->cut_count);
  mica__decoders_free(tokenizer->decoders, tokenizer->decoder_count);
  if (tokenizer->byte_trie) mica__byte_trie_free(atomic_load(&tokenizer->byte_trie->trie));
  free(tokenizer->byte_trie);
  free(tokenizer->json);
  free(tokenizer);
}

/* cJSON ends a text at a NUL, so it would misread "\u0000". */
static mica_status check_escapes(const char *json) {
  for (const char *at = strstr(json, "\\u0000"); at; at = strstr(at + 1, "\\u0000")) {
    const char *c = at;
    while (c > json && c[-1] == '\\') c--;
    if ((at - c) % 2 == 0)
      return mica__fail(MICA_E_UNSUPPORTED,
                        "byte %" PRIdPTR
                        ": the escape \\u0000 is not supported: tokens cannot have the character U+0000",
                        (intptr_t)(at - json));
  }
  return MICA_OK;
}

/* True if bytes that are not UTF-8 can be encoded: ByteLevel is a step, and only steps of its kind follow it. */
static bool takes_bytes(const mica_tokenizer *tokenizer) {
  bool bytes = false;
  for (size_t i = 0; i < tokenizer->cut_count; i++) {
    if (tokenizer->cuts[i].kind == MICA__CUT_BYTE_LEVEL)
      bytes = true;
    else if (bytes)
      return false;
  }
  return bytes;
}

static mica_status parse(const cJSON *root, mica_tokenizer *t) {
  if (!cJSON_IsObject(root)) return mica__fail(MICA_E_FORMAT, "the file is not a JSON object");
  MICA_TRY(mica__model_parse(mica__json_member(root, "model"), t));
  MICA_TRY(mica__normals_parse(mica__json_member(root, "normalizer"), &t->normals, &t->normal_count));
  MICA_TRY(mica__cuts_parse(mica__json_member(root, "pre_tokenizer"), &t->cuts, &t->cut_count));
  MICA_TRY(mica__added_parse(mica__json_member(root, "added_tokens"), t));
  MICA_TRY(mica__frames_parse(mica__json_member(root, "post_processor"), t));
  MICA_TRY(mica__decoders_parse(mica__json_member(root, "decoder"), t));
  t->takes_bytes = takes_bytes(t);
  return t->vocab.size > 0 ? MICA_OK : mica__fail(MICA_E_FORMAT, "the file has no tokens");
}

/* Above this many bytes of JSON, the memory that cJSON has freed is returned to the system explicitly. cJSON then makes
 * about a million small blocks between the blocks of the vocabulary, so the C library would keep their memory. */
#define LARGE_BYTES ((size_t)4 << 20)

static mica_status parse_json(mica_tokenizer *tokenizer) {
  const size_t bytes = tokenizer->json_bytes, valid = mica__utf8_prefix(tokenizer->json, bytes);
  const char *end = NULL;
  if (valid < bytes) return mica__fail(MICA_E_FORMAT, "byte %zu is not UTF-8", valid);
  MICA_TRY(check_escapes(tokenizer->json));
  cJSON *root = cJSON_ParseWithLengthOpts(tokenizer->json, bytes, &end, false);
  if (!root)
    return mica__fail(MICA_E_FORMAT, "the file is not JSON at byte %zu",
                      end && end >= tokenizer->json ? (size_t)(end - tokenizer->json) : 0);
  const mica_status status = parse(root, tokenizer);
  cJSON_Delete(root);
  if (bytes > LARGE_BYTES) mica__memory_trim();
  return status;
}

mica_status mica__tokenizer_open_owned(const char *name, char *json, size_t bytes, mica_tokenizer **out) {
  static atomic_uint_fast64_t serials = 1;
  mica_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
  if (!tokenizer) {
    free(json);
    return mica__fail_nomem(name);
  }
  tokenizer->serial = atomic_fetch_add(&serials, 1);
  tokenizer->byte_trie = calloc(1, sizeof *tokenizer->byte_trie);
  tokenizer->json = json;
  tokenizer->json_bytes = bytes;
  mica_status status = tokenizer->byte_trie ? MICA_OK : mica__fail_nomem(name);
  if (status == MICA_OK) {
    status = parse_json(tokenizer);
    if (status != MICA_OK) status = mica__fail_in(status, name);
  }
  if (status != MICA_OK)
    mica_tokenizer_destroy(tokenizer);
  else
    *out = tokenizer;
  return status;
}

mica_status mica_tokenizer_open_memory(const char *name, const void *data, size_t bytes, mica_tokenizer **out) {
  if (!name || (!data && bytes) || !out)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_open_memory: name, data or tokenizer is NULL");
  char *json = malloc(bytes + 1);
  if (!json) return mica__fail_nomem(name);
  if (bytes) memcpy(json, data, bytes);
  json[bytes] = '\0';
  return mica__tokenizer_open_owned(name, json, bytes, out);
}

static mica_status open_gguf(const char *path, mica_tokenizer **tokenizer) {
  mica_gguf *file = NULL;
  MICA_TRY(mica_gguf_open(path, &file));
  const mica_status status = mica_tokenizer_open_gguf(path, file, tokenizer);
  mica_gguf_close(file);
  return status;
}

mica_status mica_tokenizer_open(const char *path, mica_tokenizer **tokenizer) {
  unsigned char *data = NULL;
  size_t bytes = 0;
  if (!path || !tokenizer) return mica__fail(MICA_E_INVALID, "mica_tokenizer_open: path or tokenizer is NULL");
  const size_t length = strlen(path);
  if (length > 5 && !strcmp(path + length - 5, ".gguf")) return open_gguf(path, tokenizer);
  MICA_TRY(mica__file_read_signed(path, &data, &bytes));
  const mica_status status = mica_tokenizer_open_memory(path, data, bytes, tokenizer);
  free(data);
  return status;
}

mica_status mica_tokenizer_save(const mica_tokenizer *tokenizer, const char *path) {
  if (!tokenizer || !path) return mica__fail(MICA_E_INVALID, "mica_tokenizer_save: tokenizer or path is NULL");
  return mica__file_replace(path, &(mica__bytes){tokenizer->json, tokenizer->json_bytes}, 1);
}

const char *mica_tokenizer_json(const mica_tokenizer *tokenizer, size_t *bytes) {
  if (bytes) *bytes = tokenizer->json_bytes;
  return tokenizer->json;
}

int32_t mica_tokenizer_size(const mica_tokenizer *tokenizer) { return tokenizer->vocab.size; }
const char *mica_tokenizer_model(const mica_tokenizer *tokenizer) { return tokenizer->model.name; }
bool mica_tokenizer_takes_bytes(const mica_tokenizer *tokenizer) { return tokenizer->takes_bytes; }

int32_t mica_tokenizer_id(const mica_tokenizer *tokenizer, const char *token) {
  const mica__vocab *vocab = &tokenizer->vocab;
  if (!token) return -1;
  const int32_t id = mica__vocab_find(vocab, &vocab->added, token, strlen(token));
  return id >= 0 ? id : mica__vocab_find(vocab, &vocab->model, token, strlen(token));
}

const char *mica_tokenizer_token(const mica_tokenizer *tokenizer, int32_t id) {
  const mica__token *token = mica__vocab_at(&tokenizer->vocab, id);
  return token ? token->text : NULL;
}

bool mica_tokenizer_is_special(const mica_tokenizer *tokenizer, int32_t id) {
  const mica__token *token = mica__vocab_at(&tokenizer->vocab, id);
  return token && token->special;
}
