/* labels: null single
 *
 * What a folder or a GGUF file says of its network: fields by family, and a sentence for what cannot be right. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/foundation.h>
#include <mica/gguf.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float numbers[6] = {1, -2, 3, -4, 5, -6};

/* --- folders --- */

#if MICA_WITH_CJSON
static void write_folder(const char *config) {
  const mica_safetensors_entry entry = {
      .name = "w", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers};
  ck_ok(mica_safetensors_write(files_path("m/model.safetensors"), &entry, 1, NULL, 0));
  files_write_text("m/config.json", config);
}

static mica_foundation *opened(const char *config) {
  mica_foundation *model = NULL;
  write_folder(config);
  ck_assert(mica_foundation_is(files_path("m")));
  ck_ok(mica_foundation_open(files_path("m"), NULL, &model));
  return model;
}

#define LLAMA                                                                                                          \
  "\"model_type\": \"llama\", \"hidden_size\": 96, \"num_hidden_layers\": 3, \"num_attention_heads\": 6, "             \
  "\"num_key_value_heads\": 2, \"intermediate_size\": 200, \"vocab_size\": 257, \"max_position_embeddings\": 64"

START_TEST(a_llama_is_described) {
  mica_foundation *model = opened("{" LLAMA ", \"rms_norm_eps\": 1e-5, \"rope_theta\": 50000, \"bos_token_id\": 1, "
                                  "\"eos_token_id\": [2, 5], \"hidden_act\": \"silu\", \"use_cache\": true, "
                                  "\"invented\": 3, \"tie_word_embeddings\": true}");
  const mica_foundation_info *i = mica_foundation_describe(model);
  ck_assert_str_eq(i->family, "llama");
  ck_assert_int_eq(i->task, MICA_FOUNDATION_TASK_GENERATE);
  ck_assert(i->width == 96 && i->layers == 3 && i->heads == 6 && i->groups == 2 && i->head_size == 16);
  ck_assert(i->hidden == 200 && i->vocabulary == 257 && i->context == 64 && i->types == 0);
  ck_assert(i->rms_norm && i->norms == MICA_FOUNDATION_NORMS_BEFORE && !i->qk_norm && !i->norm_plus_one && i->tied);
  ck_assert(!i->attention_bias && !i->out_bias && !i->feed_bias && !i->interleaved && !i->embed_norm);
  ck_assert_int_eq(i->function, MICA_FOUNDATION_FUNCTION_SWIGLU);
  ck_assert_int_eq(i->positions, MICA_POSITIONS_KIND_ROTARY);
  ck_assert(i->rotated == 16 && i->window == 0 && !i->local[0] && !i->local[2]);
  ck_assert_double_eq(i->rotary.base, 50000);
  ck_assert_double_eq(i->epsilon, 1e-5);
  ck_assert_double_eq(i->score_scale, 0.25);
  ck_assert_double_eq(i->embed_scale, 1);
  ck_assert_int_eq(i->rotary.scaling, MICA_FOUNDATION_SCALING_NONE);
  ck_assert(i->begin == 1 && i->pad == -1 && i->end_count == 2 && i->ends[1] == 5);
  ck_assert_uint_eq(i->unknown_count, 1);
  ck_assert_str_eq(i->unknown[0], "invented");
  ck_assert(i->elements == 6 && i->bytes == 24);
  ck_assert_int_eq(mica_foundation_context(model), 64);
  ck_assert_ptr_nonnull(mica_weights_find(mica_foundation_weights(model), "w"));
  mica_foundation_close(model);
}
END_TEST

START_TEST(generation_config_says_all_ends) {
  mica_foundation *model = NULL;
  write_folder("{" LLAMA ", \"eos_token_id\": 2}");
  files_write_text("m/generation_config.json", "{\"eos_token_id\": [2, 7, 9]}");
  ck_ok(mica_foundation_open(files_path("m"), NULL, &model));
  ck_assert(mica_foundation_describe(model)->end_count == 3 && mica_foundation_describe(model)->ends[2] == 9);
  mica_foundation_close(model);
  files_write_text("m/generation_config.json", "{\"eos_token_id\"");
  ck_assert_int_eq(mica_foundation_open(files_path("m"), NULL, &model), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "generation_config.json is not a JSON object"));
  files_write_text("m/generation_config.json", "{}");
  ck_ok(mica_foundation_open(files_path("m"), NULL, &model));
  ck_assert_uint_eq(mica_foundation_describe(model)->end_count, 1);
  mica_foundation_close(model);
}
END_TEST

START_TEST(a_gemma_has_windows_and_two_rotary_bases) {
  mica_foundation *model = opened(
      "{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 64, "
      "\"num_hidden_layers\": 7, \"num_attention_heads\": 4, \"num_key_value_heads\": 1, \"head_dim\": 32, "
      "\"intermediate_size\": 128, \"vocab_size\": 131, \"max_position_embeddings\": 20000, \"sliding_window\": 4, "
      "\"query_pre_attn_scalar\": 64, \"rope_theta\": 1000000, \"rope_local_base_freq\": 20000, "
      "\"hidden_activation\": \"gelu_pytorch_tanh\", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8}}}");
  const mica_foundation_info *i = mica_foundation_describe(model);
  ck_assert_str_eq(i->family, "gemma3");
  ck_assert(i->norms == MICA_FOUNDATION_NORMS_AROUND && i->qk_norm && i->norm_plus_one && i->tied);
  ck_assert_int_eq(i->window, 4);
  for (int l = 0; l < 7; l++) ck_assert_int_eq(i->local[l], l != 5);
  ck_assert_double_eq(i->rotary.base, 1e6);
  ck_assert_double_eq(i->rotary.factor, 8);
  ck_assert_int_eq(i->rotary.scaling, MICA_FOUNDATION_SCALING_LINEAR);
  ck_assert_double_eq(i->rotary_local.base, 20000);
  ck_assert_int_eq(i->rotary_local.scaling, MICA_FOUNDATION_SCALING_NONE);
  ck_assert_double_eq(i->score_scale, 0.125);
  ck_assert_double_eq(i->embed_scale, 8);
  ck_assert_int_eq(mica_foundation_context(model), 8192);
  mica_foundation_close(model);
}
END_TEST

START_TEST(other_families_are_described) {
  mica_foundation *model = opened("{\"model_type\": \"gpt2\", \"n_embd\": 48, \"n_layer\": 2, \"n_head\": 4, "
                                  "\"n_positions\": 32, \"vocab_size\": 99, \"activation_function\": \"gelu_new\"}");
  const mica_foundation_info *i = mica_foundation_describe(model);
  ck_assert(!i->rms_norm && i->hidden == 192 && i->attention_bias && i->out_bias && i->feed_bias && i->tied);
  ck_assert(i->positions == MICA_POSITIONS_KIND_LEARNED && i->function == MICA_FOUNDATION_FUNCTION_GELU_TANH);
  mica_foundation_close(model);
  model =
      opened("{\"model_type\": \"bert\", \"hidden_size\": 48, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
             "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"hidden_act\": \"relu\", \"architectures\": "
             "[\"BertForSequenceClassification\"], \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}");
  i = mica_foundation_describe(model);
  ck_assert(i->task == MICA_FOUNDATION_TASK_CLASSIFY && i->classes == 3 && i->types == 2 && i->embed_norm);
  ck_assert(i->function == MICA_FOUNDATION_FUNCTION_RELU && i->norms == MICA_FOUNDATION_NORMS_AFTER);
  mica_foundation_close(model);
  model =
      opened("{\"model_type\": \"qwen2\", \"hidden_size\": 48, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
             "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"sliding_window\": 8, "
             "\"use_sliding_window\": true, \"max_window_layers\": 3}");
  i = mica_foundation_describe(model);
  ck_assert(i->attention_bias && !i->out_bias && !i->feed_bias && i->window == 8 && !i->local[2] && i->local[3]);
  mica_foundation_close(model);
  model =
      opened("{\"model_type\": \"qwen2\", \"hidden_size\": 48, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
             "\"vocab_size\": 99, \"max_position_embeddings\": 32, \"sliding_window\": 8, "
             "\"use_sliding_window\": false}");
  i = mica_foundation_describe(model);
  ck_assert(i->window == 0 && !i->local[3]);
  mica_foundation_close(model);
  model =
      opened("{\"model_type\": \"phi3\", \"hidden_size\": 32, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
             "\"vocab_size\": 99, \"max_position_embeddings\": 64, \"original_max_position_embeddings\": 16, "
             "\"rope_scaling\": {\"type\": \"su\", \"short_factor\": [1, 1.5, 2, 3], \"long_factor\": [2, 4, 8, 9]}}");
  i = mica_foundation_describe(model);
  ck_assert(i->rotary.scaling == MICA_FOUNDATION_SCALING_LONGROPE && i->rotary.count == 4);
  ck_assert_double_eq(i->rotary.long_factors[3], 9);
  ck_assert_double_eq(i->rotary.factor, 4);
  mica_foundation_close(model);
}
END_TEST

static void refused(const char *config, const char *reason) {
  mica_foundation *model = NULL;
  write_folder(config);
  const mica_status status = mica_foundation_open(files_path("m"), NULL, &model);
  ck_assert_msg(status == MICA_E_FORMAT, "accepted: %s", config);
  ck_assert_msg(strstr(mica_error_message(), reason) != NULL, "%s: %s", reason, mica_error_message());
}

/* LLAMA with one of its keys replaced: the last of equal keys would be a second one. */
static void refused_with(const char *key, const char *value, const char *reason) {
  char config[2000], name[80];
  snprintf(config, sizeof config, "{" LLAMA "}");
  snprintf(name, sizeof name, "\"%s\": ", key);
  char *at = strstr(config, name), rest[1000] = "}";
  if (at) {
    snprintf(rest, sizeof rest, "%s", at + strcspn(at, ",}"));
    at[0] = '\0';
  } else {
    config[strlen(config) - 1] = '\0';
    snprintf(config + strlen(config), 3, ", ");
  }
  snprintf(config + strlen(config), sizeof config - strlen(config), "%s%s%s", name, value, rest);
  refused(config, reason);
}

START_TEST(sizes_that_cannot_be_are_refused) {
  static const char *const cases[][3] = {
      {"model_type", "\"gpt9\"", "the model_type \"gpt9\" is unknown; Mica knows llama, mistral, mixtral, qwen2"},
      {"model_type", "7", "the key model_type is missing"},
      {"hidden_size", "0", "the key hidden_size is 0; the model's width must be 1 to 16777216"},
      {"hidden_size", "1e30", "the key hidden_size is 1e+30"},
      {"hidden_size", "96.5", "the key hidden_size is not an integer"},
      {"hidden_size", "\"96\"", "the key hidden_size is not an integer"},
      {"hidden_size", "null", "it does not say the model's width: the key hidden_size is missing"},
      {"hidden_size", "97", "the width (97) must be a multiple of the number of heads (6)"},
      {"num_hidden_layers", "1001", "must be 1 to 1000"},
      {"num_key_value_heads", "4", "the number of heads (6) must be a multiple of"},
      {"head_dim", "15", "the number of rotated features per head is 15, but must be even and at least 2"},
      {"head_dim", "16777216", "heads of 16777216 features are too many"},
      {"vocab_size", "-1", "the key vocab_size is -1"},
      {"partial_rotary_factor", "0.01", "the number of rotated features per head is 0"},
      {"rms_norm_eps", "2", "the model's epsilon of norms must be 0 to 1"},
      {"rms_norm_eps", "[1]", "the key rms_norm_eps is not a number"},
      {"tie_word_embeddings", "1", "the key tie_word_embeddings is not true or false"},
      {"eos_token_id", "257", "the key eos_token_id has the token 257, but tokens are whole numbers from 0 to 256"},
      {"eos_token_id", "[1, -1]", "the key eos_token_id has the token -1, but tokens are whole numbers from 0 to 256"},
      {"eos_token_id", "\"end\"", "the key eos_token_id must be the id of a token, which is a number"},
      {"bos_token_id", "1.5", "the key bos_token_id has the token 1.5, but tokens are whole numbers from 0 to 256"},
      {"hidden_act", "\"tanh\"", "the activation tanh is unknown in the family llama, which has swiglu"},
      {"hidden_act", "\"gelu\"", "the activation gelu is unknown in the family llama"},
      {"layer_types", "[\"full_attention\"]", "the key layer_types has 1 layers, but the model has 3"},
      {"layer_types", "[\"full_attention\", \"sliding_attention\", \"full_attention\"]",
       "the key sliding_window does not say how wide"},
      {"layer_types", "[\"full_attention\", \"chunked_attention\", \"full_attention\"]",
       "layer 1 must be of the kind full_attention or sliding_attention, not \"chunked_attention\""},
      {"rope_scaling", "{\"rope_type\": \"spiral\", \"factor\": 2}", "the scaling of positions \"spiral\" is unknown"},
      {"rope_scaling", "{\"rope_type\": \"linear\", \"factor\": -2}", "the key rope_scaling.factor is -2"},
      {"rope_scaling", "{\"rope_type\": \"llama3\", \"factor\": 2}", "the model's low_freq_factor"},
      {"rope_scaling", "{\"rope_type\": \"longrope\", \"short_factor\": [1]}", "must be a list of 8 numbers"},
      {"rope_scaling", "{\"rope_type\": \"longrope\", \"short_factor\": [1, 1, 1, 1, 1, 1, 1, 0]}",
       "element 7 of the key rope_scaling.short_factor is not a number above 0"},
      {"quantization_config", "{\"quant_method\": \"gptq\"}",
       "the key quantization_config asks for a computation that Mica does not have"},
      {"no_rope_layers", "[1, 0, 1]", "the key no_rope_layers asks for a computation"},
      {"attn_temperature_tuning", "true", "the key attn_temperature_tuning asks for a computation"},
      {"num_local_experts", "8", "the key num_local_experts asks for a computation"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refused_with(cases[i][0], cases[i][1], cases[i][2]);
}
END_TEST

#define EXPERTS                                                                                                        \
  "\"hidden_size\": 96, \"num_hidden_layers\": 3, \"num_attention_heads\": 6, \"intermediate_size\": 200, "            \
  "\"vocab_size\": 257, \"max_position_embeddings\": 64"

START_TEST(experts_are_described) {
  mica_foundation *model =
      opened("{\"model_type\": \"mixtral\", " EXPERTS ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2, "
             "\"router_aux_loss_coef\": 0.02}");
  const mica_foundation_info *i = mica_foundation_describe(model);
  ck_assert_str_eq(i->family, "mixtral");
  ck_assert(i->experts == 8 && i->experts_used == 2 && i->normalise_routes && i->hidden == 200);
  ck_assert_uint_eq(i->unknown_count, 0);
  mica_foundation_close(model);
  model = opened("{\"model_type\": \"qwen3_moe\", " EXPERTS ", \"num_experts\": 8, \"num_experts_per_tok\": 8, "
                 "\"moe_intermediate_size\": 48, \"mlp_only_layers\": [], \"decoder_sparse_step\": 1}");
  i = mica_foundation_describe(model);
  ck_assert(i->experts == 8 && i->experts_used == 8 && !i->normalise_routes && i->hidden == 48 && i->qk_norm);
  ck_assert_uint_eq(i->unknown_count, 0);
  mica_foundation_close(model);
  static const char *const cases[][2] = {
      {"", "the model's number of experts: the key num_local_experts is missing"},
      {", \"num_experts\": 8", "the model's number of experts per token"},
      {", \"num_experts\": 0, \"num_experts_per_tok\": 1", "the key num_experts is 0"},
      {", \"num_experts\": 4, \"num_experts_per_tok\": 5", "must be 1 to 4"},
      {", \"num_experts\": 4, \"num_experts_per_tok\": 1, \"decoder_sparse_step\": 2", "must be 1 to 1"},
      {", \"num_experts\": 4, \"num_experts_per_tok\": 1, \"mlp_only_layers\": [0]",
       "the key mlp_only_layers asks for"},
      {", \"num_experts\": 4, \"num_experts_per_tok\": 1, \"norm_topk_prob\": 1", "norm_topk_prob is not true or"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char config[600];
    snprintf(config, sizeof config, "{\"model_type\": \"qwen3_moe\", " EXPERTS "%s}", cases[c][0]);
    refused(config, cases[c][1]);
  }
}
END_TEST

#define GPTOSS "{\"model_type\": \"gpt_oss\", " EXPERTS ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2"

START_TEST(gptoss_is_described) {
  mica_foundation *model = opened(
      GPTOSS ", \"quantization_config\": {\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": [\"lm_head\"]}, "
             "\"swiglu_limit\": 5, \"experts_per_token\": 2, \"initial_context_length\": 64}");
  const mica_foundation_info *i = mica_foundation_describe(model);
  ck_assert(i->mxfp4_experts && i->sinks && i->feed_bias && i->attention_bias && i->out_bias && i->normalise_routes);
  ck_assert_double_eq(i->clamp, 5);
  ck_assert_uint_eq(i->unknown_count, 0);
  mica_foundation_close(model);
  model = opened(GPTOSS "}");
  ck_assert(!mica_foundation_describe(model)->mxfp4_experts && mica_foundation_describe(model)->clamp > 6.9);
  mica_foundation_close(model);
  refused(GPTOSS ", \"quantization_config\": {\"quant_method\": \"gptq\"}}",
          "must be mxfp4, the only one that Mica reads");
  refused(GPTOSS ", \"quantization_config\": {}}", "must be mxfp4, the only one that Mica reads");
  refused(GPTOSS ", \"swiglu_alpha\": 1.5}", "swiglu_alpha is 1.5, but must be 1.702");
  refused(GPTOSS ", \"swiglu_limit\": 0}", "swiglu_limit");
}
END_TEST

#define SMOLLM3                                                                                                        \
  "\"model_type\": \"smollm3\", \"hidden_size\": 96, \"num_hidden_layers\": 5, \"num_attention_heads\": 6, "           \
  "\"vocab_size\": 257, \"max_position_embeddings\": 64"

START_TEST(layers_without_positions) {
  static const char *const lists[] = {"", ", \"no_rope_layer_interval\": 2",
                                      ", \"no_rope_layers\": [0, 1, 1, 0, 1, 1]"};
  static const char *const without[] = {"00010", "01010", "10010"};
  char config[600];
  for (int c = 0; c < 3; c++) {
    snprintf(config, sizeof config, "{" SMOLLM3 "%s}", lists[c]);
    mica_foundation *model = opened(config);
    const mica_foundation_info *i = mica_foundation_describe(model);
    ck_assert(i->tied && i->unknown_count == 0);
    ck_assert_ptr_nonnull(i->no_rope);
    for (int l = 0; l < 5; l++) ck_assert_int_eq(i->no_rope[l], without[c][l] == '1');
    mica_foundation_close(model);
  }
  refused("{" SMOLLM3 ", \"no_rope_layers\": [1, 1, 1, 0]}",
          "no_rope_layers must be a list of 5 numbers, one per layer");
  refused("{" SMOLLM3 ", \"no_rope_layers\": 4}", "no_rope_layers must be a list of 5 numbers");
  refused("{" SMOLLM3 ", \"no_rope_layers\": [1, 1, 1, 2, 1]}",
          "element 3 of the key no_rope_layers is neither 0 nor 1");
  refused("{" SMOLLM3 ", \"no_rope_layer_interval\": 0}", "the key no_rope_layer_interval is 0");
}
END_TEST

START_TEST(texts_that_are_no_config_are_refused) {
  static char deep[200] = "{\"model_type\": \"llama\", \"x\": ";
  size_t at = strlen(deep);
  for (int i = 0; i < 64; i++) deep[at++] = '[';
  for (int i = 0; i < 64; i++) deep[at++] = ']';
  deep[at] = '}';
  refused(deep, "is nested more than 64 deep");
  refused("[]", "is not a JSON object");
  refused("{\"model_type\"", "is not a JSON object");
  refused("{\"model_type\": \"llama\", \"model_type\": \"qwen2\"}", "the file has \"model_type\" twice");
  refused("{\"model_type\": \"\xff\"}", "is not UTF-8");
  refused("{\"model_type\": \"a\\u0000b\"}", "U+0000");
  refused("{\"model_type\": \"new\", \"auto_map\": {}}", "needs code from the model's author; Mica runs none");
  refused("{\"model_type\": \"gemma3\"}", "the key text_config is missing");
  char *large = malloc((16 << 20) + 100);
  ck_assert_ptr_nonnull(large);
  memset(large, ' ', (16 << 20) + 50);
  large[0] = '{', large[(16 << 20) + 50] = '}', large[(16 << 20) + 51] = '\0';
  refused(large, "may have at most 16777216");
  free(large);
}
END_TEST

START_TEST(only_folders_and_files_of_models_are_models) {
  mica_foundation *model = NULL;
  write_folder("{\"mica\": \"0.5.0\", \"task\": \"classify\", \"model_type\": \"mlp\"}");
  ck_assert(!mica_foundation_is(files_path("m")));
  write_folder("{}");
  ck_assert(!mica_foundation_is(files_path("m")));
  ck_assert(!mica_foundation_is(files_path("m/model.safetensors")));
  ck_assert(!mica_foundation_is(files_path("nowhere")));
  ck_assert(!mica_foundation_is(NULL));
  ck_assert_int_eq(mica_foundation_open(files_path("m/model.safetensors"), NULL, &model), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "name the folder with config.json"));
  ck_assert_int_eq(mica_foundation_open(files_path("nowhere"), NULL, &model), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_foundation_open(NULL, NULL, &model), MICA_E_INVALID);
  ck_assert_int_eq(mica_foundation_open("x", NULL, NULL), MICA_E_INVALID);
  mica_foundation_close(NULL);
  write_folder("{" LLAMA "}");
  ck_assert_int_eq(mica_foundation_open(files_path("m"), &(mica_foundation_config){.context = 65}, &model),
                   MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "context is 65, but must be from 1 to 64"));
  ck_ok(mica_foundation_open(files_path("m"), &(mica_foundation_config){.context = 32}, &model));
  ck_assert_int_eq(mica_foundation_context(model), 32);
  mica_foundation_close(model);
}
END_TEST
#endif

/* --- GGUF --- */

typedef struct pair {
  const char *key;
  mica_gguf_kind kind;
  double number;
  const char *text;
} pair;

static const char *gguf_file(const pair *pairs, const char *tensor) {
  mica_gguf_value keys[32];
  static uint32_t integers[32];
  static float floats[32];
  static mica_gguf_text texts[32];
  size_t count = 0;
  for (; pairs[count].key; count++) {
    integers[count] = (uint32_t)pairs[count].number;
    floats[count] = (float)pairs[count].number;
    texts[count] = (mica_gguf_text){pairs[count].text, pairs[count].text ? strlen(pairs[count].text) : 0};
    keys[count] = (mica_gguf_value){.key = pairs[count].key,
                                    .kind = pairs[count].kind,
                                    .count = 1,
                                    .data = pairs[count].kind == MICA_GGUF_KIND_TEXT  ? (const void *)&texts[count]
                                            : pairs[count].kind == MICA_GGUF_KIND_F32 ? (const void *)&floats[count]
                                                                                      : (const void *)&integers[count]};
  }
  const mica_weight_entry entry = {
      .name = tensor, .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers};
  const char *path = files_path("x.gguf");
  ck_ok(mica_gguf_write(path, keys, count, &entry, 1));
  return path;
}

#define TEXT MICA_GGUF_KIND_TEXT
#define U32 MICA_GGUF_KIND_U32
#define F32 MICA_GGUF_KIND_F32
#define SIZES(arch)                                                                                                    \
  {"general.architecture", TEXT, 0, arch}, {"general.name", TEXT, 0, "A model"},                                       \
      {arch ".embedding_length", U32, 96, 0}, {arch ".block_count", U32, 3, 0},                                        \
      {arch ".attention.head_count", U32, 6, 0}, {arch ".context_length", U32, 64, 0}, {                               \
    arch ".vocab_size", U32, 257, 0                                                                                    \
  }

START_TEST(a_gguf_file_is_described) {
  mica_foundation *model = NULL;
  const pair pairs[] = {SIZES("llama"),
                        {"llama.rope.freq_base", F32, 50000, 0},
                        {"llama.rope.dimension_count", U32, 8, 0},
                        {"general.license", TEXT, 0, "mit"},
                        {0}};
  const char *path = gguf_file(pairs, "output.weight");
  ck_assert(mica_foundation_is(path));
  ck_ok(mica_foundation_open(path, NULL, &model));
  const mica_foundation_info *i = mica_foundation_describe(model);
  ck_assert_str_eq(i->name, "A model");
  ck_assert_str_eq(i->licence, "mit");
  ck_assert(i->width == 96 && i->groups == 6 && i->rotated == 8 && i->interleaved && !i->tied && i->begin == -1);
  ck_assert_double_eq(i->rotary.base, 50000);
  mica_foundation_close(model);
  ck_ok(mica_foundation_open(gguf_file(pairs, "blk.0.attn_q.bias"), NULL, &model));
  ck_assert(mica_foundation_describe(model)->attention_bias && mica_foundation_describe(model)->tied);
  mica_foundation_close(model);
  ck_ok(mica_foundation_open(gguf_file(pairs, "rope_freqs.weight"), NULL, &model));
  ck_assert_int_eq(mica_foundation_describe(model)->rotary.scaling, MICA_FOUNDATION_SCALING_FACTORS);
  mica_foundation_close(model);
  const pair gemma[] = {SIZES("gemma3"),
                        {"gemma3.attention.sliding_window", U32, 4, 0},
                        {"gemma3.attention.key_length", U32, 32, 0},
                        {0}};
  ck_ok(mica_foundation_open(gguf_file(gemma, "w"), NULL, &model));
  i = mica_foundation_describe(model);
  ck_assert(i->window == 4 && i->local[2] && !i->norm_plus_one && i->qk_norm && i->head_size == 32);
  ck_assert_double_eq(i->score_scale, 1 / sqrt(32));
  mica_foundation_close(model);
}
END_TEST

/* GGUF has one architecture for llama and mixtral; the number of experts tells. */
#define WITH_EXPERTS(arch)                                                                                             \
  SIZES(arch), {arch ".expert_count", U32, 8, 0}, {arch ".expert_used_count", U32, 2, 0}, {                            \
    arch ".expert_feed_forward_length", U32, 24, 0                                                                     \
  }

START_TEST(experts_of_gguf_files) {
  static const struct {
    pair pairs[12];
    const char *family;
  } cases[] = {{{WITH_EXPERTS("llama"), {0}}, "mixtral"},
               {{WITH_EXPERTS("qwen3moe"), {0}}, "qwen3moe"},
               {{WITH_EXPERTS("gpt-oss"), {0}}, "gptoss"}};
  for (int c = 0; c < 3; c++) {
    mica_foundation *model = NULL;
    ck_ok(mica_foundation_open(gguf_file(cases[c].pairs, "w"), NULL, &model));
    const mica_foundation_info *i = mica_foundation_describe(model);
    ck_assert_str_eq(i->family, cases[c].family);
    ck_assert(i->experts == 8 && i->experts_used == 2 && i->normalise_routes && i->hidden == 24);
    ck_assert(i->sinks == (c == 2) && (i->clamp > 0) == (c == 2));
    mica_foundation_close(model);
  }
}
END_TEST

START_TEST(gguf_files_that_cannot_be_are_refused) {
  static const struct {
    pair pairs[12];
    const char *reason;
  } cases[] = {
      {{{"general.name", TEXT, 0, "x"}, {0}}, "the key general.architecture is missing"},
      {{{"general.architecture", TEXT, 0, "rwkv"}, {0}},
       "the architecture \"rwkv\" is unknown; Mica knows llama, qwen2"},
      {{{"general.architecture", TEXT, 0, "llama"}, {0}}, "the key <architecture>.embedding_length is missing"},
      {{SIZES("llama"), {"llama.attention.head_count_kv", U32, 4, 0}, {0}},
       "the number of heads (6) must be a multiple of"},
      {{SIZES("llama"), {"llama.rope.dimension_count", U32, 17, 0}, {0}}, "must be 0 to 16"},
      {{SIZES("llama"), {"llama.rope.scaling.type", TEXT, 0, "spiral"}, {0}}, "the scaling of positions \"spiral\""},
      {{SIZES("llama"), {"tokenizer.ggml.eos_token_id", U32, 300, 0}, {0}},
       "has the token 300, but tokens are whole numbers from 0 to"},
      {{SIZES("llama"), {"llama.feed_forward_length", TEXT, 0, "x"}, {0}}, "feed_forward_length is not an integer"},
      {{WITH_EXPERTS("qwen3"), {0}}, "the architecture \"qwen3\" only without experts"},
      {{SIZES("gpt-oss"), {0}}, "the architecture \"gpt-oss\" only with experts"},
      {{SIZES("llama"), {"llama.expert_count", U32, 8, 0}, {0}}, "the model's number of experts per token"},
      {{SIZES("llama"), {"llama.expert_count", U32, 1 << 20, 0}, {0}}, "must be 0 to 65536"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_foundation *model = NULL;
    ck_assert_msg(mica_foundation_open(gguf_file(cases[i].pairs, "w"), NULL, &model) == MICA_E_FORMAT, "accepted: %s",
                  cases[i].reason);
    ck_assert_msg(strstr(mica_error_message(), cases[i].reason) != NULL, "%s: %s", cases[i].reason,
                  mica_error_message());
  }
}
END_TEST

/* --- tensors --- */

/* A llama of one layer: width 4, two heads, hidden 6, five tokens. */
static const struct {
  const char *name;
  mica_shape shape;
} llama[] = {{"token_embd.weight", {2, {5, 4}}},         {"blk.0.attn_norm.weight", {1, {4}}},
             {"blk.0.attn_q.weight", {2, {4, 4}}},       {"blk.0.attn_k.weight", {2, {2, 4}}},
             {"blk.0.attn_v.weight", {2, {2, 4}}},       {"blk.0.attn_output.weight", {2, {4, 4}}},
             {"blk.0.ffn_norm.weight", {1, {4}}},        {"blk.0.ffn_gate.weight", {2, {6, 4}}},
             {"blk.0.ffn_up.weight", {2, {6, 4}}},       {"blk.0.ffn_down.weight", {2, {4, 6}}},
             {"output_norm.weight", {1, {4}}},           {"rope_freqs.weight", {1, {1}}},
             {"blk.0.attn_rot_embd.weight", {2, {1, 1}}}};
#define NONE SIZE_MAX
#define TENSORS (sizeof llama / sizeof *llama)

/* Checks it without tensor `without`, with tensor `odd` transposed, and with `more` besides; NONE, NULL: as it is. */
static mica_status check_llama(size_t without, size_t odd, const char *more) {
  static const float data[32];
  static const uint32_t numbers_of[] = {4, 1, 2, 1, 6, 64, 5};
  static const char *const names[] = {"llama.embedding_length",
                                      "llama.block_count",
                                      "llama.attention.head_count",
                                      "llama.attention.head_count_kv",
                                      "llama.feed_forward_length",
                                      "llama.context_length",
                                      "llama.vocab_size"};
  static const mica_gguf_text arch = {"llama", 5};
  mica_gguf_value keys[8] = {{.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &arch}};
  mica_weight_entry entries[TENSORS + 1];
  size_t count = 0;
  for (size_t k = 0; k < 7; k++)
    keys[k + 1] = (mica_gguf_value){.key = names[k], .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &numbers_of[k]};
  for (size_t t = 0; t <= TENSORS; t++) {
    if (t == without || (t == TENSORS && !more)) continue;
    mica_shape shape = t < TENSORS ? llama[t].shape : MICA_SHAPE(4);
    if (t == odd) shape = MICA_SHAPE(shape.dim[1], shape.dim[0]);
    int64_t elements = 0;
    ck_ok(mica_shape_count(shape, &elements));
    entries[count++] = (mica_weight_entry){.name = t < TENSORS ? llama[t].name : more,
                                           .dtype = MICA_F32,
                                           .shape = shape,
                                           .data = data,
                                           .bytes = (size_t)elements * sizeof(float)};
  }
  mica_foundation *model = NULL;
  ck_ok(mica_gguf_write(files_path("t.gguf"), keys, 8, entries, count));
  ck_ok(mica_foundation_open(files_path("t.gguf"), NULL, &model));
  const mica_status status = mica_foundation_check(model);
  mica_foundation_close(model);
  return status;
}

START_TEST(tensors_are_those_of_the_family) {
  char reason[200];
  ck_ok(check_llama(NONE, NONE, NULL));
  for (size_t t = 0; t < 11; t++) {
    ck_assert_int_eq(check_llama(t, NONE, NULL), MICA_E_FORMAT);
    snprintf(reason, sizeof reason, "t.gguf: the tensor \"%s\" of the family llama is missing", llama[t].name);
    ck_assert_msg(strstr(mica_error_message(), reason) != NULL, "%s", mica_error_message());
  }
  ck_ok(check_llama(11, NONE, NULL));
  ck_assert_int_eq(check_llama(NONE, 0, NULL), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(),
                               "\"token_embd.weight\" has the shape (4, 5); by the model's sizes it must be (5, 4)"));
  ck_assert_int_eq(check_llama(NONE, NONE, "blk.1.attn_norm.weight"), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "has the tensor \"blk.1.attn_norm.weight\", but a model of the "
                                                     "family llama with this configuration (layers: "));
  /* A bias that the file has is one of the network's. */
  ck_ok(check_llama(NONE, NONE, "blk.0.attn_output.bias"));
  ck_assert_int_eq(mica_foundation_check(NULL), MICA_E_INVALID);
}
END_TEST

START_TEST(names_of_kinds) {
  ck_assert_str_eq(mica_foundation_task_name(MICA_FOUNDATION_TASK_EMBED), "embed");
  ck_assert_str_eq(mica_foundation_task_name(MICA_FOUNDATION_TASK_COUNT), "?");
  ck_assert_str_eq(mica_foundation_function_name(MICA_FOUNDATION_FUNCTION_GEGLU_TANH), "geglu_tanh");
  ck_assert_str_eq(mica_foundation_scaling_name(MICA_FOUNDATION_SCALING_YARN), "yarn");
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, IF(CJSON, a_llama_is_described), IF(CJSON, a_gemma_has_windows_and_two_rotary_bases),
      IF(CJSON, other_families_are_described), IF(CJSON, sizes_that_cannot_be_are_refused),
      IF(CJSON, texts_that_are_no_config_are_refused), IF(CJSON, only_folders_and_files_of_models_are_models),
      IF(CJSON, generation_config_says_all_ends), IF(CJSON, layers_without_positions), IF(CJSON, experts_are_described),
      IF(CJSON, gptoss_is_described), a_gguf_file_is_described, experts_of_gguf_files,
      gguf_files_that_cannot_be_are_refused, tensors_are_those_of_the_family, names_of_kinds)
