#include "base/text.h"
#include "foundation/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON
#include "base/json_check.h"
#endif

/* Upper limit of the sizes and counts in a configuration. */
#define MOST ((int64_t)1 << 24)
#define QKV MICA__BIAS_QKV
#define FEED MICA__BIAS_FEED

/* --- sizes --- */

/* Number of tokens that a GGUF file lists. Used as the vocabulary's size if the file does not give that size. Without a
 * list, the size is required (MICA__NEEDED). */
static int64_t tokens(const mica__config_source *f) {
  const mica__config_value list = mica__config_find(f, "", "/tokenizer.ggml.tokens");
  return list.kind == MICA__CONFIG_LIST && list.count > 0 && list.count <= (size_t)MOST ? (int64_t)list.count
                                                                                        : MICA__NEEDED;
}

static mica_status read_keys(const mica__config_source *f, const mica__family *family, mica_foundation_info *i) {
#define COUNT(field, what, json, gguf, fallback, low, high)                                                            \
  MICA_TRY(mica__config_count(f, what, json, gguf, fallback, low, high, &i->field));
#define REAL(field, what, json, gguf, fallback, low, high)                                                             \
  MICA_TRY(mica__config_real(f, what, json, gguf, fallback, low, high, &i->field));
#define FLAG(field, json, gguf, fallback) MICA_TRY(mica__config_flag(f, json, gguf, fallback, &i->field));
#include "foundation/keys.def"
#undef COUNT
#undef REAL
#undef FLAG
  return MICA_OK;
}

/* Computes the number of positions for pictures: one per patch, and one for the class token. */
static mica_status read_patches(const mica__config_source *f, mica_foundation_info *i) {
  const int64_t side = i->picture / i->patch;
  if (side == 0 || side * side >= MOST)
    return mica__fail(MICA_E_FORMAT,
                      "%s: a picture of %" PRId64 " pixels per side must hold 1 to 2^24 - 1 patches of %" PRId64
                      " pixels per side",
                      f->path, i->picture, i->patch);
  if (i->patch > MOST / i->patch || i->patch * i->patch > MOST / i->channels)
    return mica__fail(MICA_E_FORMAT,
                      "%s: patches of %" PRId64 " x %" PRId64 " pixels and %" PRId64
                      " channels are too large; a patch may have at most 2^24 numbers",
                      f->path, i->patch, i->patch, i->channels);
  i->context = side * side + 1;
  return MICA_OK;
}

static mica_status check_sizes(const mica__config_source *f, const mica_foundation_info *i) {
  if (i->head_size < 1)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the width (%" PRId64 ") must be a multiple of the number of heads (%" PRId64 ")", f->path,
                      i->width, i->heads);
  if (i->heads % i->groups)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the number of heads (%" PRId64
                      ") must be a multiple of the number of heads of keys (%" PRId64 ")",
                      f->path, i->heads, i->groups);
  if (i->heads > MOST / i->head_size)
    return mica__fail(MICA_E_FORMAT,
                      "%s: %" PRId64 " heads of %" PRId64
                      " features are too many; at most 2^24 features in all are allowed",
                      f->path, i->heads, i->head_size);
  return MICA_OK;
}

/* --- experts --- */

/* Reads the keys of a gpt-oss folder: the limit to which gate and up values are clamped, and whether the experts'
 * weights are MXFP4. Refuses another slope than 1.702 of the experts' function. */
static mica_status read_gptoss(const mica__config_source *f, mica_foundation_info *i) {
  double alpha = 1.702;
  const mica__config_value object = mica__config_find(f, "quantization_config", "");
  const mica__config_value method = mica__config_find(f, "quantization_config.quant_method", "");
  i->mxfp4_experts = mica__config_is(&method, "mxfp4");
  if (object.kind != MICA__CONFIG_ABSENT && !i->mxfp4_experts)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the quant_method of quantization_config must be mxfp4, the only one that Mica reads",
                      f->path);
  MICA_TRY(mica__config_real(f, "cut of gate and up", "swiglu_limit", "", i->clamp, 1e-3, 1e9, &i->clamp));
  MICA_TRY(mica__config_real(f, "slope of the experts' function", "swiglu_alpha", "", alpha, 0, 1e9, &alpha));
  if (fabs(alpha - 1.702) > 1e-9)
    return mica__fail(MICA_E_FORMAT, "%s: swiglu_alpha is %g, but must be 1.702", f->path, alpha);
  return MICA_OK;
}

/* Reads the keys of experts, if the family has experts. For other families these keys stay unread, and
 * mica__config_leftovers then refuses the file. */
static mica_status read_experts(const mica__config_source *f, const mica__family *family, mica_foundation_info *i) {
  int64_t step = 1;
  if (family->experts == MICA__EXPERTS_NONE) return MICA_OK;
  MICA_TRY(mica__config_count(f, "number of experts", "num_local_experts|num_experts", "expert_count", MICA__NEEDED, 1,
                              65536, &i->experts));
  MICA_TRY(mica__config_count(f, "number of experts per token", "num_experts_per_tok", "expert_used_count",
                              MICA__NEEDED, 1, i->experts, &i->experts_used));
  MICA_TRY(mica__config_count(f, "size of the experts' layers", "moe_intermediate_size", "expert_feed_forward_length",
                              i->hidden, 1, MOST, &i->hidden));
  MICA_TRY(mica__config_count(f, "interval of layers with experts", "decoder_sparse_step", "", 1, 1, 1, &step));
  MICA_TRY(mica__config_flag(f, "norm_topk_prob", "expert_weights_norm", f->gguf != NULL, &i->normalise_routes));
  if (family->routes_normal) i->normalise_routes = true;
  i->clamp = family->clamp;
  i->sinks = family->sinks;
  return family->experts == MICA__EXPERTS_GPTOSS ? read_gptoss(f, i) : MICA_OK;
}

/* --- functions --- */

static const struct {
  const char *text;
  mica_foundation_function plain, gated; /* gated: MICA_FOUNDATION_FUNCTION_COUNT if no family gates this function */
} functions[] = {
    {"silu", MICA_FOUNDATION_FUNCTION_SILU, MICA_FOUNDATION_FUNCTION_SWIGLU},
    {"swish", MICA_FOUNDATION_FUNCTION_SILU, MICA_FOUNDATION_FUNCTION_SWIGLU},
    {"gelu", MICA_FOUNDATION_FUNCTION_GELU, MICA_FOUNDATION_FUNCTION_GEGLU},
    {"gelu_new", MICA_FOUNDATION_FUNCTION_GELU_TANH, MICA_FOUNDATION_FUNCTION_GEGLU_TANH},
    {"gelu_fast", MICA_FOUNDATION_FUNCTION_GELU_TANH, MICA_FOUNDATION_FUNCTION_GEGLU_TANH},
    {"gelu_pytorch_tanh", MICA_FOUNDATION_FUNCTION_GELU_TANH, MICA_FOUNDATION_FUNCTION_GEGLU_TANH},
    {"relu", MICA_FOUNDATION_FUNCTION_RELU, MICA_FOUNDATION_FUNCTION_COUNT},
    {"relu2", MICA_FOUNDATION_FUNCTION_RELU2, MICA_FOUNDATION_FUNCTION_COUNT},
    {"quick_gelu", MICA_FOUNDATION_FUNCTION_QUICK_GELU, MICA_FOUNDATION_FUNCTION_COUNT},
};

static mica_status read_function(const mica__config_source *f, const mica__family *family, mica_foundation_info *i) {
  const mica__config_value fact =
      mica__config_find(f, "hidden_activation|hidden_act|activation_function|activation", "");
  i->function = family->function;
  if (fact.kind == MICA__CONFIG_ABSENT) return MICA_OK;
  for (size_t r = 0; r < sizeof functions / sizeof *functions; r++) {
    if (!mica__config_is(&fact, functions[r].text)) continue;
    if (family->any_function) return i->function = functions[r].plain, MICA_OK;
    if (functions[r].plain == family->function || functions[r].gated == family->function) return MICA_OK;
  }
  if (fact.kind != MICA__CONFIG_TEXT)
    return mica__fail(MICA_E_FORMAT, "%s: the activation (key hidden_act) is not a text", f->path);
  const int length = (int)(fact.text.length < 60 ? fact.text.length : 60);
  if (family->any_function)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the activation %.*s is unknown; Mica knows silu, gelu, gelu_new, relu and others", f->path,
                      length, fact.text.bytes);
  return mica__fail(MICA_E_FORMAT, "%s: the activation %.*s is unknown in the family %s, which has %s", f->path, length,
                    fact.text.bytes, family->name, mica_foundation_function_name(family->function));
}

/* --- which layers have the window --- */

/* Reads which layers have a sliding attention window, from a list with one value per layer. In config.json a value is
 * "sliding_attention" or "full_attention". In GGUF files it is a flag, true for a layer with the window. */
static mica_status read_layer_list(const mica__config_source *f, const mica__config_value *list,
                                   mica_foundation_info *i, bool *local) {
  if (list->count != (size_t)i->layers)
    return mica__fail(MICA_E_FORMAT, "%s: the key %.*s has %zu layers, but the model has %" PRId64, f->path,
                      (int)strcspn(list->key, "|"), list->key, list->count, i->layers);
  for (size_t l = 0; l < list->count; l++) {
    const mica__config_value layer = mica__config_at(list, l);
    if (layer.kind == MICA__CONFIG_FLAG || layer.kind == MICA__CONFIG_NUMBER)
      local[l] = layer.number != 0;
    else if (mica__config_is(&layer, "sliding_attention"))
      local[l] = true;
    else if (!mica__config_is(&layer, "full_attention"))
      return mica__fail(
          MICA_E_FORMAT, "%s: layer %zu must be of the kind full_attention or sliding_attention, not \"%.*s\"", f->path,
          l, (int)(layer.text.length < 60 ? layer.text.length : 60), layer.text.bytes ? layer.text.bytes : "");
  }
  return MICA_OK;
}

static mica_status read_pattern(const mica__config_source *f, const mica__family *family, mica_foundation_info *i,
                                bool *local) {
  int64_t every = family->local_every, from = 0;
  const mica__config_value list = mica__config_find(f, "layer_types", "attention.sliding_window_pattern");
  bool used = true;
  MICA_TRY(mica__config_flag(f, "use_sliding_window", "", true, &used));
  if (!used) i->window = 0;
  if (list.kind == MICA__CONFIG_LIST) {
    MICA_TRY(read_layer_list(f, &list, i, local));
  } else {
    MICA_TRY(mica__config_count(f, "pattern of windows", "sliding_window_pattern|_sliding_window_pattern",
                                "attention.sliding_window_pattern", every, 0, 1000, &every));
    MICA_TRY(mica__config_count(f, "first layer with a window", "max_window_layers", "", 0, 0, MOST, &from));
    for (int64_t l = 0; l < i->layers; l++) local[l] = l >= from && (every == 0 || (l + 1) % every != 0);
  }
  bool any = false;
  for (int64_t l = 0; l < i->layers; l++) any |= local[l];
  if (list.kind == MICA__CONFIG_LIST && any && i->window == 0)
    return mica__fail(MICA_E_FORMAT,
                      "%s: layers have a window, but use_sliding_window is false or the key sliding_window does not "
                      "say how wide it is",
                      f->path);
  if (!any) i->window = 0;
  for (int64_t l = 0; l < i->layers && i->window == 0; l++) local[l] = false;
  return MICA_OK;
}

/* --- which layers have rotary positions --- */

/* Finds the layers without rotary positions, in a family that has such layers. The list no_rope_layers in config.json
 * has 0 for such a layer and 1 for any other. Without the list, every n-th layer has no positions: n is the key
 * no_rope_layer_interval, or the family's nope_every if the key is missing. GGUF files have neither key. */
static mica_status read_no_rope(const mica__config_source *f, const mica__family *family, mica_foundation_info *i,
                                mica__info_arrays *arrays) {
  int64_t every = family->nope_every;
  if (every == 0) return MICA_OK;
  const mica__config_value list = mica__config_find(f, "no_rope_layers", "");
  MICA_TRY(mica__config_count(f, "interval of layers without positions", "no_rope_layer_interval", "", every, 1, 1000,
                              &every));
  if (list.kind != MICA__CONFIG_ABSENT && (list.kind != MICA__CONFIG_LIST || list.count < (size_t)i->layers))
    return mica__fail(MICA_E_FORMAT, "%s: the key no_rope_layers must be a list of %" PRId64 " numbers, one per layer",
                      f->path, i->layers);
  arrays->no_rope = calloc((size_t)i->layers, sizeof *arrays->no_rope);
  if (!arrays->no_rope) return mica__fail_nomem(f->path);
  i->no_rope = arrays->no_rope;
  for (int64_t l = 0; l < i->layers; l++) {
    const mica__config_value one = list.kind == MICA__CONFIG_LIST ? mica__config_at(&list, (size_t)l) : list;
    if (list.kind == MICA__CONFIG_LIST && (one.kind != MICA__CONFIG_NUMBER || (one.number != 0 && one.number != 1)))
      return mica__fail(MICA_E_FORMAT, "%s: element %" PRId64 " of the key no_rope_layers is neither 0 nor 1", f->path,
                        l);
    arrays->no_rope[l] = list.kind == MICA__CONFIG_LIST ? one.number == 0 : (l + 1) % every == 0;
  }
  return MICA_OK;
}

/* --- scale of scores, special tokens, task --- */

static bool has(const mica_weights *weights, const char *name) { return mica_weights_find(weights, name) != NULL; }

/* Reads properties of a GGUF file that only its tensors show. */
static void read_tensors(const mica_weights *weights, mica_foundation_info *i) {
  i->tied = !has(weights, "output.weight");
  i->attention_bias = has(weights, "blk.0.attn_q.bias") || has(weights, "blk.0.attn_qkv.bias");
  i->out_bias = has(weights, "blk.0.attn_output.bias");
  i->feed_bias = has(weights, "blk.0.ffn_up.bias") || has(weights, "blk.0.ffn_up_exps.bias");
}

static mica_status read_scale(const mica__config_source *f, const mica__family *family, mica_foundation_info *i) {
  double length = (double)i->head_size;
  if (family->query_scale && f->gguf && i->layers == family->wide) length = (double)i->width / (double)i->heads;
  if (family->query_scale && !f->gguf)
    MICA_TRY(mica__config_real(f, "scale of scores", "query_pre_attn_scalar", "", 256, 1e-6, 1e9, &length));
  bool scaled = true;
  MICA_TRY(mica__config_flag(f, "scale_attn_weights", "", true, &scaled));
  i->score_scale = scaled ? 1 / sqrt(length) : 1;
  i->embed_scale = family->embed_scale ? sqrt((double)i->width) : 1;
  return MICA_OK;
}

static mica_status add_end(const mica__config_source *f, const mica__config_value *fact, const mica_foundation_info *i,
                           int32_t *ends, size_t *count) {
  const int length = (int)strcspn(fact->key, "|");
  if (fact->kind != MICA__CONFIG_NUMBER)
    return mica__fail(MICA_E_FORMAT, "%s: the key %.*s must be the id of a token, which is a number", f->path, length,
                      fact->key);
  if (fact->number != floor(fact->number) || fact->number < 0 || fact->number >= (double)i->vocabulary)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the key %.*s has the token %.17g, but tokens are whole numbers from 0 to %" PRId64, f->path,
                      length, fact->key, fact->number, i->vocabulary - 1);
  ends[(*count)++] = (int32_t)fact->number;
  return MICA_OK;
}

static mica_status read_special(const mica__config_source *f, mica_foundation_info *i, mica__info_arrays *arrays) {
  const mica__config_value begin = mica__config_find(f, "bos_token_id", "/tokenizer.ggml.bos_token_id");
  const mica__config_value pad = mica__config_find(f, "pad_token_id", "/tokenizer.ggml.padding_token_id");
  const mica__config_value end = mica__config_find(f, "eos_token_id", "/tokenizer.ggml.eos_token_id");
  size_t none = 0;
  i->begin = i->pad = -1;
  if (i->vocabulary == 0) return MICA_OK;
  if (begin.kind != MICA__CONFIG_ABSENT) MICA_TRY(add_end(f, &begin, i, &i->begin, &none));
  none = 0;
  /* Some files have -1 if there is no padding. */
  if (pad.kind != MICA__CONFIG_ABSENT && pad.number != -1) MICA_TRY(add_end(f, &pad, i, &i->pad, &none));
  const size_t most = end.kind == MICA__CONFIG_LIST ? end.count : 1;
  arrays->ends = most <= 1024 ? calloc(most + 1, sizeof *arrays->ends) : NULL;
  if (!arrays->ends)
    return most > 1024
               ? mica__fail(MICA_E_FORMAT, "%s: eos_token_id has %zu tokens, but may have at most 1024", f->path, most)
               : mica__fail_nomem(f->path);
  i->ends = arrays->ends;
  for (size_t e = 0; end.kind == MICA__CONFIG_LIST && e < end.count; e++) {
    const mica__config_value one = mica__config_at(&end, e);
    MICA_TRY(add_end(f, &one, i, arrays->ends, &i->end_count));
  }
  if (end.kind != MICA__CONFIG_LIST && end.kind != MICA__CONFIG_ABSENT)
    MICA_TRY(add_end(f, &end, i, arrays->ends, &i->end_count));
  return MICA_OK;
}

/* True if the first architecture's name has this ending. */
static bool is_architecture(const mica__config_value *first, const char *ending) {
  const size_t n = strlen(ending);
  return first->kind == MICA__CONFIG_TEXT && first->text.length >= n &&
         !memcmp(first->text.bytes + first->text.length - n, ending, n);
}

#if MICA_WITH_CJSON
/* Reads an object such as {"0": "negative", "1": "positive"}. Sets i->class_names only if every class has a name. */
static mica_status read_class_names(const mica__config_source *f, const cJSON *labels, mica_foundation_info *i,
                                    mica__info_arrays *arrays) {
  int64_t found = 0;
  arrays->class_names = calloc((size_t)i->classes + 1, sizeof *arrays->class_names);
  if (!arrays->class_names) return mica__fail_nomem(f->path);
  for (const cJSON *one = labels->child; one; one = one->next) {
    char *rest = NULL;
    const long number = strtol(one->string, &rest, 10);
    if (!cJSON_IsString(one) || rest == one->string || *rest || number < 0 || number >= i->classes) continue;
    found += !arrays->class_names[number];
    arrays->class_names[number] = one->valuestring;
  }
  i->class_names = found == i->classes ? arrays->class_names : NULL;
  return MICA_OK;
}
#endif

/* Finds the task. The name of the first architecture shows whether the model has a head for classes. For example,
 * BertForSequenceClassification has one. */
static mica_status read_task(const mica__config_source *f, const mica__family *family, mica_foundation_info *i,
                             mica__info_arrays *arrays) {
  const mica__config_value list = mica__config_find(f, "architectures", "");
  const mica__config_value first = list.kind == MICA__CONFIG_LIST && list.count > 0 ? mica__config_at(&list, 0) : list;
  i->task = family->task;
  if (!is_architecture(&first, family->pictures ? "ForImageClassification" : "ForSequenceClassification"))
    return MICA_OK;
  i->task = MICA_FOUNDATION_TASK_CLASSIFY;
  i->classes = 2;
#if MICA_WITH_CJSON
  const mica__config_value labels = mica__config_find(f, "id2label", "");
  if (labels.kind == MICA__CONFIG_OBJECT) {
    i->classes = cJSON_GetArraySize(labels.item);
    MICA_TRY(read_class_names(f, labels.item, i, arrays));
  }
#else
  (void)arrays;
#endif
  return MICA_OK;
}

/* --- two networks --- */

#if MICA_WITH_CJSON
/* Reads the network for pictures from the object vision_config. */
static mica_status read_vision(const mica__config_source *f, const mica__family *family, const mica_weights *weights,
                               mica_foundation_info *i, mica__info_arrays *arrays) {
  const cJSON *object = cJSON_GetObjectItemCaseSensitive(f->root, "vision_config");
  if (!cJSON_IsObject(object))
    return mica__fail(MICA_E_FORMAT, "%s: the key vision_config is missing or not an object", f->path);
  MICA_TRY(mica__json_check_keys(f->path, "vision_config", (cJSON *)object));
  mica__second_info *vision = arrays->second = calloc(1, sizeof *vision);
  if (!vision) return mica__fail_nomem(f->path);
  vision->seen = calloc((size_t)cJSON_GetArraySize(object) + 1, sizeof *vision->seen);
  if (!vision->seen) return mica__fail_nomem(f->path);
  const mica__config_source root = {.path = f->path, .json = f->root};
  const mica__config_source facts = {.path = f->path, .json = object, .root = f->root, .seen = vision->seen};
  MICA_TRY(mica__config_count(&root, "projection", "projection_dim", "", 512, 1, MOST, &i->projection));
  MICA_TRY(mica__config_read(&facts, mica__family_named(family->vision), weights, &vision->info, &vision->arrays));
  vision->info.projection = i->projection;
  i->vision = &vision->info;
  return MICA_OK;
}
#else
static mica_status read_vision(const mica__config_source *f, const mica__family *family, const mica_weights *weights,
                               mica_foundation_info *i, mica__info_arrays *arrays) {
  (void)family, (void)weights, (void)i, (void)arrays;
  return mica__fail_lacks(f->path, "cJSON");
}
#endif

/* --- sound --- */

typedef struct stack_keys {
  const char *layers, *heads, *hidden, *context;
} stack_keys;

static mica_status read_stack(const mica__config_source *f, const stack_keys *keys, const mica__family *family,
                              mica_foundation_info *i) {
  i->family = family->name;
  i->task = family->task;
  i->norms = family->norms;
  i->positions = family->positions;
  i->epsilon = family->epsilon;
  i->attention_bias = i->out_bias = i->feed_bias = true;
  i->begin = i->pad = -1;
  MICA_TRY(mica__config_count(f, "width", "d_model", "", MICA__NEEDED, 1, MOST, &i->width));
  MICA_TRY(mica__config_count(f, "number of layers", keys->layers, "", MICA__NEEDED, 1, 1000, &i->layers));
  MICA_TRY(mica__config_count(f, "number of heads", keys->heads, "", MICA__NEEDED, 1, MOST, &i->heads));
  MICA_TRY(
      mica__config_count(f, "size of the feed-forward layers", keys->hidden, "", 4 * i->width, 1, MOST, &i->hidden));
  MICA_TRY(mica__config_count(f, "number of positions", keys->context, "", MICA__NEEDED, 1, MOST, &i->context));
  i->groups = i->heads;
  i->head_size = i->width % i->heads ? 0 : i->width / i->heads;
  MICA_TRY(check_sizes(f, i));
  i->score_scale = 1 / sqrt((double)i->head_size);
  i->embed_scale = 1;
  return read_function(f, family, i);
}

/* Reads both networks of Whisper. The info describes the decoder, info->sound the encoder. */
static mica_status read_sound(const mica__config_source *f, const mica__family *family, mica_foundation_info *i,
                              mica__info_arrays *arrays) {
  static const stack_keys encoder = {"encoder_layers", "encoder_attention_heads", "encoder_ffn_dim",
                                     "max_source_positions"},
                          decoder = {"decoder_layers", "decoder_attention_heads", "decoder_ffn_dim",
                                     "max_target_positions"};
  bool scaled = false;
  mica__second_info *second = arrays->second = calloc(1, sizeof *second);
  if (!second) return mica__fail_nomem(f->path);
  MICA_TRY(read_stack(f, &decoder, family, i));
  MICA_TRY(read_stack(f, &encoder, mica__family_named(family->sound), &second->info));
  MICA_TRY(mica__config_count(f, "number of mel bins", "num_mel_bins", "", 80, 1, 65536, &second->info.bins));
  MICA_TRY(mica__config_count(f, "vocabulary", "vocab_size", "", MICA__NEEDED, 1, MOST, &i->vocabulary));
  MICA_TRY(mica__config_flag(f, "tie_word_embeddings", "", true, &i->tied));
  MICA_TRY(mica__config_flag(f, "scale_embedding", "", false, &scaled));
  if (!i->tied)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: tie_word_embeddings is false, but must be true, because the output layer uses the embeddings", f->path);
  if (scaled) i->embed_scale = sqrt((double)i->width);
  i->causal = true;
  i->sound = &second->info;
  arrays->local = calloc((size_t)i->layers, sizeof *arrays->local);
  if (!arrays->local) return mica__fail_nomem(f->path);
  i->local = arrays->local;
  second->arrays.local = calloc((size_t)second->info.layers, sizeof *arrays->local);
  if (!second->arrays.local) return mica__fail_nomem(f->path);
  second->info.local = second->arrays.local;
  /* Some files also give num_hidden_layers, which repeats a number of layers. Looking the key up marks it as read. */
  mica__config_find(f, "num_hidden_layers", "");
  MICA_TRY(read_special(f, i, arrays));
  return mica__config_leftovers(f, i, arrays);
}

void mica__info_arrays_free(mica__info_arrays *arrays) {
  free(arrays->local);
  free(arrays->no_rope);
  free(arrays->factors[0]);
  free(arrays->factors[1]);
  free(arrays->ends);
  free(arrays->unknown);
  free(arrays->class_names);
  if (arrays->second) {
    mica__info_arrays_free(&arrays->second->arrays);
    free(arrays->second->seen);
    free(arrays->second);
  }
}

mica_status mica__config_read(const mica__config_source *f, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *i, mica__info_arrays *arrays) {
  if (family->sound) return read_sound(f, family, i, arrays);
  i->family = family->name;
  i->rms_norm = family->rms_norm;
  i->norms = family->norms;
  i->qk_norm = family->qk_norm;
  i->embed_norm = family->embed_norm;
  i->norm_plus_one = family->plus_one && !f->gguf;
  i->positions = family->positions;
  i->first_position = family->first_position;
  i->interleaved = family->interleaved && f->gguf;
  MICA_TRY(read_keys(f, family, i));
  MICA_TRY(check_sizes(f, i));
  MICA_TRY(read_experts(f, family, i));
  if (family->pictures)
    MICA_TRY(read_patches(f, i));
  else
    i->picture = i->patch = i->channels = 0; /* these keys describe a vision tower, which is not read here */
  i->causal = family->causal || family->task == MICA_FOUNDATION_TASK_GENERATE;
  i->out_bias = family->bias_out_by_key ? i->attention_bias : (family->bias & MICA__BIAS_OUT) != 0;
  if (f->gguf) read_tensors(weights, i);
  MICA_TRY(read_function(f, family, i));
  MICA_TRY(read_scale(f, family, i));
  arrays->local = calloc((size_t)i->layers, sizeof *arrays->local);
  if (!arrays->local) return mica__fail_nomem(f->path);
  i->local = arrays->local;
  MICA_TRY(read_pattern(f, family, i, arrays->local));
  MICA_TRY(read_no_rope(f, family, i, arrays));
  MICA_TRY(mica__rotary_read(f, family, weights, i, arrays));
  MICA_TRY(read_special(f, i, arrays));
  MICA_TRY(read_task(f, family, i, arrays));
  if (family->vision) MICA_TRY(read_vision(f, family, weights, i, arrays));
  return mica__config_leftovers(f, i, arrays);
}

/* --- keys that were not read --- */

#if MICA_WITH_CJSON
static const struct {
  /* only: the one text that is harmless besides null, false, 0 and []; "": no text is harmless; NULL: any value is
   * harmless */
  const char *key, *only;
} rows[] = {
#define HARMLESS(key) {key, NULL},
#define ONLY(key, value) {key, value},
#include "foundation/harmless.def"
#undef HARMLESS
#undef ONLY
};

static bool is_off(const cJSON *item, const char *only) {
  if (cJSON_IsNull(item) || cJSON_IsFalse(item) || (cJSON_IsArray(item) && !item->child)) return true;
  if (cJSON_IsNumber(item)) return item->valuedouble == 0;
  return cJSON_IsString(item) && *only && !strcmp(item->valuestring, only);
}

mica_status mica__config_leftovers(const mica__config_source *f, mica_foundation_info *i, mica__info_arrays *arrays) {
  if (!f->json) return MICA_OK;
  arrays->unknown = calloc((size_t)cJSON_GetArraySize(f->json) + 1, sizeof *arrays->unknown);
  if (!arrays->unknown) return mica__fail_nomem(f->path);
  i->unknown = arrays->unknown;
  size_t at = 0;
  for (const cJSON *item = f->json->child; item; item = item->next, at++) {
    size_t row = 0;
    while (row < sizeof rows / sizeof *rows && strcmp(rows[row].key, item->string) != 0) row++;
    const bool known = row < sizeof rows / sizeof *rows;
    if (known && rows[row].only && !f->seen[at] && !is_off(item, rows[row].only))
      return mica__fail(MICA_E_FORMAT, "%s: the key %s asks for a computation that Mica does not have", f->path,
                        item->string);
    if (!known && !f->seen[at]) arrays->unknown[i->unknown_count++] = item->string;
  }
  return MICA_OK;
}
#else
mica_status mica__config_leftovers(const mica__config_source *f, mica_foundation_info *i, mica__info_arrays *arrays) {
  (void)f, (void)i, (void)arrays;
  return MICA_OK;
}
#endif
