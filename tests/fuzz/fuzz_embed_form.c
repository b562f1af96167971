/* The readers of a model's modules.json, of its pooling and of its longest text; each gets every input. */
#include "foundation/embed.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  mica__embed_form form = {0};
  mica__text pooling = {0};
  if (mica__embed_modules_read("modules.json", text, size, &form, &pooling) == MICA_OK && pooling.length &&
      (strchr(pooling.data, '/') || !strcmp(pooling.data, "..")))
    abort();
  mica__text_free(&pooling);
  form = (mica__embed_form){0};
  if (mica__embed_pooling_read("config.json", text, size, &form) == MICA_OK &&
      (form.pooling <= MICA_EMBED_POOLING_MODEL || form.pooling >= MICA_EMBED_POOLING_COUNT))
    abort();
  form = (mica__embed_form){0};
  if (mica__embed_limits_read("limits.json", text, size, &form) == MICA_OK &&
      (form.most_tokens < 0 || form.most_tokens > 1 << 24))
    abort();
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}, "
      "{\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}, "
      "{\"idx\": 2, \"name\": \"2\", \"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]",
      "{\"word_embedding_dimension\": 384, \"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": true, "
      "\"pooling_mode_max_tokens\": false, \"pooling_mode_lasttoken\": false}",
      "{\"embedding_dimension\": 384, \"pooling_mode\": \"lasttoken\", \"include_prompt\": true}",
      "{\"max_seq_length\": 256, \"do_lower_case\": false}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
