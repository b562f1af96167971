/* labels: null single
 *
 * Models that are opened with memory and files failing: each ends in a status and leaks nothing. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_libc.h"
#include "support/files.h"

#include <mica/foundation.h>
#include <mica/gguf.h>
#include <mica/safetensors.h>
#include <mica/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float numbers[6] = {1, -2, 3, -4, 5, -6};

static mica_status open_model(void *name) {
  mica_foundation *model = NULL;
  mica_status status = mica_foundation_open(files_path(name), NULL, &model);
  if (status == MICA_OK && mica_foundation_describe(model)->layers != 3) status = MICA_E_NUMERIC;
  mica_foundation_close(model);
  return status;
}

#if MICA_WITH_CJSON
/* A model is one whatever memory there is: another reader would call it damaged. Its opening says what is short. */
static mica_status tell_model(void *name) { return mica_foundation_is(files_path(name)) ? MICA_OK : MICA_E_FORMAT; }
#endif

START_TEST(models_are_opened) {
#if MICA_WITH_CJSON
  fault_libc_each(FAULT_MEMORY, tell_model, "m", 2);
  fault_libc_each(FAULT_MEMORY, open_model, "m", 2);
  fault_libc_each(FAULT_FILES, open_model, "m", 2);
#endif
  fault_libc_each(FAULT_MEMORY, open_model, "x.gguf", 2);
  fault_libc_each(FAULT_FILES, open_model, "x.gguf", 2);
}
END_TEST

/* A model of tests/golden as a GGUF file of other types. */
static mica_status write_model(void *name) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  mica_foundation *model = NULL;
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s", root ? root : ".", (const char *)name);
  mica_status status = mica_foundation_open(path, NULL, &model);
  if (status == MICA_OK)
    status =
        mica_foundation_write(model, files_path("written.gguf"), &(mica_foundation_write_config){.type = "q8_0"}, NULL);
  mica_foundation_close(model);
  return status;
}

#if MICA_WITH_CJSON && MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC
static mica_status write_tokens(void *json) {
  mica_gguf_keys *keys = NULL;
  mica_status status = mica_gguf_keys_create(&keys);
  if (status == MICA_OK) status = mica_tokenizer_gguf_keys("tokens", json, strlen(json), 8, keys);
  mica_gguf_keys_destroy(keys);
  return status;
}

static char tokens[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<u>\",\"special\":true}],\"pre_tokenizer\":{\"type\":"
    "\"Metaspace\",\"prepend_scheme\":\"first\",\"replacement\":\"\\u2581\",\"split\":false},"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<u>\",\"byte_fallback\":true,\"vocab\":{\"<u>\":0,"
    "\"a\":1,\"b\":2,\"ab\":3},\"merges\":[\"a b\"]}}";
#endif

START_TEST(models_are_written) {
  fault_libc_each(FAULT_MEMORY, write_model, "qwen3-gguf/model.gguf", 2);
  fault_libc_each(FAULT_FILES, write_model, "qwen3-gguf/model.gguf", 2);
#if MICA_WITH_CJSON
  fault_libc_each(FAULT_MEMORY, write_model, "llama3", 2);
#endif
#if MICA_WITH_CJSON && MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC
  fault_libc_each(FAULT_MEMORY, write_tokens, tokens, 2);
#endif
}
END_TEST

static void setup(void) {
  static const uint32_t width = 96, layers = 3, heads = 6, context = 64, vocabulary = 200;
  static const mica_gguf_text architecture = {"llama", 5}, name = {"A model", 7};
  const mica_gguf_value keys[] = {
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &architecture},
      {.key = "general.name", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &name},
      {.key = "llama.embedding_length", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &width},
      {.key = "llama.block_count", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &layers},
      {.key = "llama.attention.head_count", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &heads},
      {.key = "llama.context_length", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &context},
      {.key = "llama.vocab_size", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &vocabulary}};
  const mica_weight_entry entry = {
      .name = "w", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers};
  ck_ok(mica_gguf_write(files_path("x.gguf"), keys, sizeof keys / sizeof *keys, &entry, 1));
#if MICA_WITH_CJSON
  const mica_safetensors_entry tensor = {
      .name = "w", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers};
  ck_ok(mica_safetensors_write(files_path("m/model.safetensors"), &tensor, 1, NULL, 0));
  files_write_text(
      "m/config.json",
      "{\"model_type\": \"llama\", \"hidden_size\": 96, \"num_hidden_layers\": 3, "
      "\"num_attention_heads\": 6, \"vocab_size\": 200, \"max_position_embeddings\": 64, \"rope_scaling\": "
      "{\"type\": \"longrope\", \"factor\": 2, \"short_factor\": [1, 1, 1, 1, 1, 1, 1, 1], "
      "\"long_factor\": [1, 1, 1, 1, 1, 1, 1, 2]}}");
  files_write_text("m/generation_config.json", "{\"eos_token_id\": [2, 3]}");
#endif
}

TEST_GROUPS(ANYWHERE, ONCE(setup, files_remove, models_are_opened, models_are_written))
