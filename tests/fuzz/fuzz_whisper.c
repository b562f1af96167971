/* The readers of a Whisper model's generation_config.json and preprocessor_config.json. What they accept are tokens of
 * the vocabulary. */
#include "foundation/whisper.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 122 };

static void look_at(const mica__whisper_tokens *tokens) {
  for (size_t i = 0; i < tokens->count; i++)
    if (tokens->ids[i] < 0 || tokens->ids[i] >= VOCABULARY) abort();
}

static void look(const mica__whisper_rules *r) {
  look_at(&r->suppressed);
  look_at(&r->suppressed_first);
  if (r->start >= VOCABULARY || r->no_timestamps >= VOCABULARY || r->first_limit > VOCABULARY || r->longest < 1)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const mica_foundation_info sound = {.bins = 80, .context = 1500};
  const mica_foundation model = {.path = "model", .info = {.vocabulary = VOCABULARY, .context = 24, .sound = &sound}};
  mica__whisper_rules rules;
  const char *text = (const char *)data;
  if (mica__whisper_rules_read("generation_config.json", text, size, &model, &rules) == MICA_OK) look(&rules);
  mica__whisper_rules_free(&rules);
  const mica_status status = mica__whisper_features_check("preprocessor_config.json", text, size, &model);
  return (void)status, 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"decoder_start_token_id\": 61, \"no_timestamps_token_id\": 70, \"suppress_tokens\": [3, 7, 61], "
      "\"begin_suppress_tokens\": [0, 60], \"max_initial_timestamp_index\": 10, \"max_length\": 20, "
      "\"is_multilingual\": true}",
      "{\"feature_size\": 80, \"hop_length\": 160, \"n_fft\": 400, \"nb_max_frames\": 3000, \"sampling_rate\": 16000}",
      "{\"suppress_tokens\": [], \"begin_suppress_tokens\": null, \"max_length\": 448}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
