/* The readers of adapters: adapter_config.json, and tensors of a GGUF or safetensors file, for a model of one layer.
 * What they accept has values that fit the model. */
#include "base/json_check.h"
#include "foundation/adapter_file.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <mica/gguf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const float zeros[16 * 8];

/* A model of the family llama with one matrix, in memory. */
static mica_foundation *make_model(void) {
  static mica_foundation model;
  static bool made;
  if (made) return &model;
  char path[] = "/tmp/mica-fuzz-adapter-XXXXXX";
  const mica_weight_entry entry = {.name = "blk.0.attn_q.weight",
                                   .dtype = MICA_F32,
                                   .shape = MICA_SHAPE(16, 8),
                                   .data = zeros,
                                   .bytes = sizeof zeros};
  const int file = mkstemp(path);
  if (file < 0) abort();
  close(file);
  if (mica_gguf_write(path, NULL, 0, &entry, 1) != MICA_OK || mica_weights_open(path, &model.weights) != MICA_OK)
    abort();
  unlink(path);
  model.family = mica__family_of_arch("llama", false);
  model.info = (mica_foundation_info){
      .family = "llama", .width = 8, .layers = 1, .heads = 2, .groups = 2, .head_size = 8, .interleaved = true};
  if (!model.family || mica__names_rows(&model, true, &model.rows) != MICA_OK) abort();
  made = true;
  return &model;
}

static void look(const mica_adapter *adapter) {
  volatile double sum = 0;
  for (size_t i = 0; i < mica_adapter_count(adapter); i++) {
    const mica_adapter_layer *l = mica_adapter_at(adapter, i);
    if (l->inputs != 8 || l->outputs != 16 || l->rank < 1 || l->rank > MICA_ADAPTER_MAX_RANK) abort();
    if (!isfinite(l->scale)) abort();
    for (int64_t n = 0; n < l->rank * 8; n++) sum = sum + (double)l->a[n] + (double)l->b[n];
  }
}

static void read_gguf(mica__adapter_source *source, const uint8_t *data, size_t size, mica_adapter *adapter) {
  mica_gguf *file = NULL;
  if (mica_gguf_open_memory("x.gguf", data, size, &file) != MICA_OK) return;
  if (mica__adapter_read_gguf(source, file, adapter) == MICA_OK) look(adapter);
  mica_gguf_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__adapter_source source;
  mica_adapter *adapter = NULL;
  const bool gguf = size > 4 && !memcmp(data, "GGUF", 4);
  if (mica__adapter_source_begin(make_model(), "adapter", gguf, &source) != MICA_OK) return 0;
  if (mica_adapter_create(NULL, &adapter) == MICA_OK) {
    if (gguf) read_gguf(&source, data, size, adapter);
#if MICA_WITH_CJSON
    struct cJSON *root = NULL;
    if (!gguf && mica__adapter_config_read(&source, (const char *)data, size, &root) == MICA_OK &&
        !isfinite(source.alpha))
      abort();
    cJSON_Delete(root);
#endif
  }
  mica_adapter_destroy(adapter);
  mica__name_rows_free(&source.rows);
  return 0;
}

/* A GGUF adapter of rank 2. */
static void seed_gguf(mica__text *seed) {
  static const float alpha = 4;
  static const mica_gguf_text texts[] = {{"llama", 5}, {"adapter", 7}, {"lora", 4}};
  const mica_gguf_value keys[] = {
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &texts[0]},
      {.key = "general.type", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &texts[1]},
      {.key = "adapter.type", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &texts[2]},
      {.key = "adapter.lora.alpha", .kind = MICA_GGUF_KIND_F32, .count = 1, .data = &alpha}};
  const mica_weight_entry tensors[] = {
      {.name = "blk.0.attn_q.weight.lora_a", .dtype = MICA_F32, .shape = MICA_SHAPE(2, 8), .data = zeros, .bytes = 64},
      {.name = "blk.0.attn_q.weight.lora_b",
       .dtype = MICA_F32,
       .shape = MICA_SHAPE(16, 2),
       .data = zeros,
       .bytes = 128}};
  char path[] = "/tmp/mica-fuzz-adapter-XXXXXX", bytes[4096];
  const int made = mkstemp(path);
  if (made < 0) abort();
  close(made);
  if (mica_gguf_write(path, keys, 4, tensors, 2) != MICA_OK) abort();
  FILE *file = fopen(path, "rb");
  if (!file) abort();
  mica__text_add_bytes(seed, bytes, fread(bytes, 1, sizeof bytes, file));
  fclose(file);
  unlink(path);
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"peft_type\": \"LORA\", \"r\": 8, \"lora_alpha\": 16, \"use_rslora\": true, \"bias\": \"none\", "
      "\"alpha_pattern\": {\"q_proj\": 4}, \"target_modules\": [\"q_proj\"], \"modules_to_save\": null}",
      "{\"peft_type\": \"LORA\", \"r\": 1, \"lora_alpha\": 0.5, \"init_lora_weights\": \"gaussian\"}"};
  if (index == 2) seed_gguf(seed);
  if (index < 2) mica__text_add(seed, seeds[index]);
  return index <= 2;
}
