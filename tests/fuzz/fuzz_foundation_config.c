/* The reader of a model's config.json. What it accepts has sizes that a network can be built of. */
#include "foundation/model.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void look_at_pictures(const mica_foundation_info *i) {
  const int64_t side = i->patch ? i->picture / i->patch : 0;
  if (side < 1 || i->context != side * side + 1 || i->channels < 1 || i->head_size < 1) abort();
}

static void look(const mica_foundation_info *i) {
  volatile double sum = i->rotary.base + i->epsilon;
  if (i->width < 1 || i->layers < 1 || i->layers > 1000 || i->head_size < 1 || i->heads % i->groups) abort();
  if (i->rotated < 0 || i->rotated > i->head_size || i->rotated % 2) abort();
  for (int64_t l = 0; l < i->layers; l++)
    if (i->local[l] && i->window < 1) abort();
  for (int64_t l = 0; i->no_rope && l < i->layers; l++) sum = sum + i->no_rope[l];
  for (size_t e = 0; e < i->end_count; e++)
    if (i->ends[e] < 0 || i->ends[e] >= i->vocabulary) abort();
  for (size_t n = 0; n < i->rotary.count; n++) sum = sum + i->rotary.short_factors[n] + i->rotary.long_factors[n];
  for (size_t u = 0; u < i->unknown_count; u++) sum = sum + (double)strlen(i->unknown[u]);
  if (i->experts < 0 || i->experts_used < 0 || i->experts_used > i->experts) abort();
  if (i->picture) look_at_pictures(i);
  if (i->vision) look_at_pictures(i->vision);
  if (i->sound && (i->sound->bins < 1 || i->sound->context < 1 || i->sound->head_size < 1)) abort();
  if (!isfinite(i->score_scale) || !isfinite(i->embed_scale)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_foundation *model = calloc(1, sizeof *model);
  if (!model) return 0;
  /* Texts of odd length are generation_config.json too. */
  const char *generation = size % 2 ? (const char *)data : NULL;
  if (mica__foundation_folder_read(model, "config.json", (const char *)data, size, generation, generation ? size : 0) ==
      MICA_OK)
    look(&model->info);
  mica_foundation_close(model);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"model_type\": \"llama\", \"hidden_size\": 96, \"num_hidden_layers\": 3, \"num_attention_heads\": 6, "
      "\"num_key_value_heads\": 2, \"vocab_size\": 257, \"max_position_embeddings\": 64, \"eos_token_id\": [2, 5], "
      "\"hidden_act\": \"silu\", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, "
      "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 32}}",
      "{\"model_type\": \"gemma3\", \"text_config\": {\"hidden_size\": 64, \"num_hidden_layers\": 3, "
      "\"num_attention_heads\": 4, \"head_dim\": 32, \"vocab_size\": 131, \"max_position_embeddings\": 64, "
      "\"sliding_window\": 4, \"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\"], "
      "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"yarn\", \"rope_theta\": 1e6, \"factor\": 2}}}} ",
      "{\"model_type\": \"phi3\", \"hidden_size\": 32, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
      "\"vocab_size\": 99, \"max_position_embeddings\": 64, \"original_max_position_embeddings\": 16, "
      "\"rope_scaling\": "
      "{\"type\": \"su\", \"short_factor\": [1, 1.5, 2, 3], \"long_factor\": [2, 4, 8, 9]}, \"is_decoder\": false}",
      "{\"model_type\": \"bert\", \"hidden_size\": 48, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
      "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"architectures\": [\"BertForSequenceClassification\"], "
      "\"id2label\": {\"0\": \"a\"}, \"pad_token_id\": 0}",
      "{\"model_type\": \"smollm3\", \"hidden_size\": 48, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "
      "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"no_rope_layers\": [1, 0, 1], "
      "\"no_rope_layer_interval\": 2}",
      "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 48, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "
      "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"num_local_experts\": 8, \"num_experts_per_tok\": 2, "
      "\"moe_intermediate_size\": 16, \"norm_topk_prob\": true, \"mlp_only_layers\": [], \"decoder_sparse_step\": 1}",
      "{\"model_type\": \"gpt_oss\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
      "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
      "\"quantization_config\": {\"quant_method\": \"mxfp4\"}, \"swiglu_limit\": 7.0, \"sliding_window\": 4}",
      "{\"model_type\": \"vit\", \"hidden_size\": 48, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
      "\"image_size\": 20, \"patch_size\": 6, \"num_channels\": 3, \"architectures\": [\"ViTForImageClassification\"], "
      "\"id2label\": {\"0\": \"a\"}, \"qkv_bias\": false}",
      "{\"model_type\": \"gemma3\", \"text_config\": {\"hidden_size\": 64, \"num_hidden_layers\": 3, "
      "\"num_attention_heads\": 4, \"head_dim\": 32, \"vocab_size\": 131, \"max_position_embeddings\": 64, "
      "\"image_size\": 20}}",
      "{\"model_type\": \"clip\", \"projection_dim\": 16, \"text_config\": {\"hidden_size\": 32, "
      "\"num_hidden_layers\": 1, \"num_attention_heads\": 4, \"vocab_size\": 99, \"max_position_embeddings\": 16, "
      "\"eos_token_id\": 2}, \"vision_config\": {\"hidden_size\": 24, \"num_hidden_layers\": 1, "
      "\"num_attention_heads\": 3, \"image_size\": 20, \"patch_size\": 5, \"hidden_act\": \"quick_gelu\"}}",
      "{\"model_type\": \"whisper\", \"vocab_size\": 131, \"d_model\": 24, \"num_mel_bins\": 10, \"encoder_layers\": "
      "2, "
      "\"decoder_layers\": 3, \"encoder_attention_heads\": 4, \"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 40, "
      "\"decoder_ffn_dim\": 36, \"max_source_positions\": 14, \"max_target_positions\": 16, \"eos_token_id\": 2, "
      "\"activation_function\": \"gelu\"}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
