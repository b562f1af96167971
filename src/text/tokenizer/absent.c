/* Tokenisers in a build without cJSON. None can be created, so the other functions are never called with one. */
#include "base/error.h"
#include "text/byte_trie.h"

#include <mica/tokenizer.h>

static mica_status unsupported(void) { return mica__fail_lacks("a tokeniser", "cJSON"); }

mica_status mica_tokenizer_open(const char *path, mica_tokenizer **tokenizer) {
  (void)path, (void)tokenizer;
  return unsupported();
}
mica_status mica_tokenizer_open_memory(const char *name, const void *data, size_t bytes, mica_tokenizer **tokenizer) {
  (void)name, (void)data, (void)bytes, (void)tokenizer;
  return unsupported();
}
mica_status mica_tokenizer_open_gguf(const char *name, const struct mica_gguf *file, mica_tokenizer **tokenizer) {
  (void)name, (void)file, (void)tokenizer;
  return unsupported();
}
mica_status mica_tokenizer_gguf_keys(const char *name, const char *json, size_t bytes, int64_t tokens,
                                     struct mica_gguf_keys *keys) {
  (void)name, (void)json, (void)bytes, (void)tokens, (void)keys;
  return unsupported();
}
mica_status mica_tokenizer_save(const mica_tokenizer *tokenizer, const char *path) {
  (void)tokenizer, (void)path;
  return unsupported();
}
const char *mica_tokenizer_json(const mica_tokenizer *tokenizer, size_t *bytes) {
  (void)tokenizer, (void)bytes;
  return "";
}
void mica_tokenizer_destroy(mica_tokenizer *tokenizer) { (void)tokenizer; }
const char *mica_tokenizer_kind_name(mica_tokenizer_kind kind) {
  switch (kind) {
#define NAME(name, text)                                                                                               \
  case MICA_TOKENIZER_KIND_##name: return text;
    MICA_TOKENIZER_KIND_LIST(NAME)
#undef NAME
  }
  return "?";
}
mica_status mica_tokenizer_train(const mica_tokenizer_config *config, mica_text_fn *next, void *user,
                                 mica_tokenizer **tokenizer) {
  (void)config, (void)next, (void)user, (void)tokenizer;
  return unsupported();
}
int32_t mica_tokenizer_size(const mica_tokenizer *tokenizer) { return (void)tokenizer, 0; }
const char *mica_tokenizer_model(const mica_tokenizer *tokenizer) { return (void)tokenizer, "?"; }
int32_t mica_tokenizer_id(const mica_tokenizer *tokenizer, const char *token) {
  return (void)tokenizer, (void)token, -1;
}
const char *mica_tokenizer_token(const mica_tokenizer *tokenizer, int32_t id) {
  return (void)tokenizer, (void)id, NULL;
}
bool mica_tokenizer_is_special(const mica_tokenizer *tokenizer, int32_t id) { return (void)tokenizer, (void)id, false; }
bool mica_tokenizer_takes_bytes(const mica_tokenizer *tokenizer) { return (void)tokenizer, false; }
void mica_encoding_free(mica_encoding *encoding) { (void)encoding; }
mica_status mica_tokenizer_encode(const mica_tokenizer *tokenizer, const char *text, size_t bytes,
                                  const mica_encode_config *config, mica_encoding *encoding) {
  (void)tokenizer, (void)text, (void)bytes, (void)config, (void)encoding;
  return unsupported();
}
mica_status mica_tokenizer_decode(const mica_tokenizer *tokenizer, const int32_t *ids, size_t count, bool skip_special,
                                  char **text, size_t *bytes) {
  (void)tokenizer, (void)ids, (void)count, (void)skip_special, (void)text, (void)bytes;
  return unsupported();
}
mica_status mica_text_stream_create(const mica_tokenizer *tokenizer, const mica_text_stream_config *config,
                                    mica_text_stream **stream) {
  (void)tokenizer, (void)config, (void)stream;
  return unsupported();
}
mica_status mica_text_stream_add(mica_text_stream *stream, int32_t id, const char **text, size_t *bytes,
                                 bool *stopped) {
  (void)stream, (void)id, (void)text, (void)bytes, (void)stopped;
  return unsupported();
}
mica_status mica_text_stream_end(mica_text_stream *stream, const char **text, size_t *bytes) {
  (void)stream, (void)text, (void)bytes;
  return unsupported();
}
void mica_text_stream_reset(mica_text_stream *stream) { (void)stream; }
void mica_text_stream_destroy(mica_text_stream *stream) { (void)stream; }
mica_status mica__tokenizer_byte_trie(const mica_tokenizer *tokenizer, const mica__byte_trie **trie) {
  (void)tokenizer, (void)trie;
  return unsupported();
}
