/* Adapters as folders in the format of the Python package peft. */
#include "foundation/adapter_file.h"

#if MICA_WITH_CJSON

#include "base/json_check.h"

#include <math.h>
#include <mica/io.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

/* --- adapter_config.json --- */

static bool is_empty(const cJSON *value) {
  return !value || cJSON_IsNull(value) || cJSON_IsFalse(value) ||
         ((cJSON_IsArray(value) || cJSON_IsObject(value)) && !value->child);
}

/* Keys that select other kinds of adapter, which Mica cannot read. A key may be present if its value is null, false or
 * empty. */
static const struct {
  const char *key, *what;
} others[] = {
    {"use_dora", "DoRA adapters"},
    {"lora_bias", "adapters with biases of their own"},
    {"modules_to_save", "modules that were trained as a whole"},
    {"target_parameters", "adapters of single parameters"},
    {"trainable_token_indices", "trained tokens"},
    {"layer_replication", "replicated layers"},
    {"use_qalora", "QALoRA adapters"},
    {"alora_invocation_tokens", "activated adapters (aLoRA)"},
    {"arrow_config", "mixtures of adapters (Arrow)"},
    {"use_bdlora", "block-diagonal adapters"},
    {"kasa_config", "KaSA adapters"},
    {"velora_config", "VeLoRA adapters"},
    {"monteclora_config", "MonteCLoRA adapters"},
};

/* Initialisations that also change the base model's weights. */
static const char *const base_changers[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};

static mica_status check_kind(const char *path, const cJSON *root) {
  const cJSON *type = cJSON_GetObjectItemCaseSensitive(root, "peft_type");
  const cJSON *bias = cJSON_GetObjectItemCaseSensitive(root, "bias");
  const cJSON *init = cJSON_GetObjectItemCaseSensitive(root, "init_lora_weights");
  if (!cJSON_IsString(type)) return mica__fail(MICA_E_FORMAT, "%s: peft_type is missing or not a string", path);
  if (strcmp(type->valuestring, "LORA") != 0)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: adapters of the kind %.60s are not supported; Mica reads LORA", path,
                      type->valuestring);
  if (bias && !(cJSON_IsString(bias) && !strcmp(bias->valuestring, "none")))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s: adapters with trained biases are not supported; \"bias\" must be \"none\"", path);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (!is_empty(cJSON_GetObjectItemCaseSensitive(root, others[i].key)))
      return mica__fail(MICA_E_UNSUPPORTED, "%s: %s (\"%s\") are not supported", path, others[i].what, others[i].key);
  for (size_t i = 0; cJSON_IsString(init) && i < sizeof base_changers / sizeof *base_changers; i++)
    if (!strncmp(init->valuestring, base_changers[i], strlen(base_changers[i])))
      return mica__fail(
          MICA_E_UNSUPPORTED,
          "%s: the adapter belongs to a base model with changed weights (\"init_lora_weights\": \"%.60s\"); convert "
          "the adapter to a plain LoRA with peft",
          path, init->valuestring);
  return MICA_OK;
}

static bool is_scale(const cJSON *value) {
  return cJSON_IsNumber(value) && isfinite(value->valuedouble) && fabs(value->valuedouble) <= 1e9;
}

/* Checks alpha_pattern. Its keys must be plain names, although peft would also accept regular expressions. */
static mica_status check_alphas(const char *path, const cJSON *alphas) {
  if (is_empty(alphas)) return MICA_OK;
  if (!cJSON_IsObject(alphas)) return mica__fail(MICA_E_FORMAT, "%s: alpha_pattern is not an object", path);
  for (const cJSON *item = alphas->child; item; item = item->next) {
    if (!is_scale(item))
      return mica__fail(MICA_E_FORMAT, "%s: alpha_pattern of \"%.100s\" must be a number from -1e9 to 1e9", path,
                        item->string);
    if (strpbrk(item->string, "*+?()[]{}|^$\\"))
      return mica__fail(MICA_E_UNSUPPORTED,
                        "%s: alpha_pattern has the regular expression \"%.100s\", but Mica reads only plain names",
                        path, item->string);
  }
  return MICA_OK;
}

mica_status mica__adapter_config_read(mica__adapter_source *source, const char *text, size_t bytes,
                                      struct cJSON **root) {
  MICA_TRY(mica__folder_parse(source->path, text, bytes, root));
  MICA_TRY(check_kind(source->path, *root));
  const cJSON *rank = cJSON_GetObjectItemCaseSensitive(*root, "r");
  const cJSON *alpha = cJSON_GetObjectItemCaseSensitive(*root, "lora_alpha");
  const cJSON *alphas = cJSON_GetObjectItemCaseSensitive(*root, "alpha_pattern");
  const double r = cJSON_IsNumber(rank) ? rank->valuedouble : 0;
  if (!(r >= 1 && r <= MICA_ADAPTER_MAX_RANK && r == floor(r)))
    return mica__fail(MICA_E_FORMAT, "%s: r is missing or not a whole number from 1 to %d", source->path,
                      MICA_ADAPTER_MAX_RANK);
  if (!is_scale(alpha))
    return mica__fail(MICA_E_FORMAT, "%s: lora_alpha is missing or not a number from -1e9 to 1e9", source->path);
  MICA_TRY(check_alphas(source->path, alphas));
  source->alpha = alpha->valuedouble;
  source->rslora = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(*root, "use_rslora"));
  source->alphas = is_empty(alphas) ? NULL : alphas;
  return MICA_OK;
}

/* --- adapter_model.safetensors --- */

static const char lead[] = "base_model.model.";

/* The length of the module's name before ".lora_A.weight" (k 0) or ".lora_B.weight" (k 1), else 0. */
static size_t module_length(const char *name, int k) {
  const char *end = k ? ".lora_B.weight" : ".lora_A.weight";
  const size_t n = strlen(name), m = strlen(end);
  return n > m && !strcmp(name + n - m, end) ? n - m : 0;
}

static mica_status fail_tensor(const char *path, const char *name) {
  if (strstr(name, "lora_magnitude_vector"))
    return mica__fail(MICA_E_UNSUPPORTED, "%s: \"%.200s\" belongs to a DoRA adapter; DoRA is not supported", path,
                      name);
  if (strstr(name, "lora_embedding_"))
    return mica__fail(MICA_E_UNSUPPORTED, "%s: adapters of embeddings (\"%.200s\") are not supported", path, name);
  return mica__fail(MICA_E_FORMAT, "%s: \"%.200s\" is not a tensor of a LoRA adapter", path, name);
}

static mica_status take_tensor(const mica__adapter_source *source, const mica_weights *weights,
                               const mica_weight_entry *entry, mica_adapter *adapter) {
  const size_t a = module_length(entry->name, 0), b = module_length(entry->name, 1), n = a ? a : b;
  mica__text text = {0};
  if (n == 0) return fail_tensor(source->path, entry->name);
  mica__text_addf(&text, "%.*s.lora_%c.weight", (int)n, entry->name, a ? 'B' : 'A');
  mica_status status = mica__text_status(&text);
  const mica_weight_entry *other = status == MICA_OK ? mica_weights_find(weights, text.data) : NULL;
  if (status == MICA_OK && !(b && other)) { /* B is read together with A */
    text.data[n] = '\0';
    const char *module = strncmp(text.data, lead, strlen(lead)) ? text.data : text.data + strlen(lead);
    status = mica__adapter_take(source, module, a ? entry : NULL, a ? other : entry, adapter);
  }
  mica__text_free(&text);
  return status;
}

mica_status mica__adapter_read_peft(const mica__adapter_source *source, const mica_weights *weights,
                                    mica_adapter *adapter) {
  for (size_t t = 0; t < mica_weights_count(weights); t++)
    MICA_TRY(take_tensor(source, weights, mica_weights_at(weights, t), adapter));
  return MICA_OK;
}

/* --- writing --- */

typedef struct writing {
  mica_safetensors_entry *entries;
  char **names;
  float **rows; /* rows[i]: values of entries[i] if it is a matrix B, else NULL */
  size_t count;
  cJSON *targets, *ranks, *alphas; /* items of the config, which owns them */
} writing;

static void free_writing(writing *w) {
  for (size_t i = 0; i < w->count; i++) {
    if (w->names) free(w->names[i]);
    if (w->rows) free(w->rows[i]);
  }
  free(w->entries);
  free(w->names);
  free(w->rows);
}

/* Adds a module to the config: its name, and its differences from the first layer. */
static mica_status put_config(writing *w, const mica_adapter_layer *layer, const mica_adapter_layer *first,
                              const char *module) {
  cJSON *name = cJSON_CreateString(module);
  if (!name || !cJSON_AddItemToArray(w->targets, name)) {
    cJSON_Delete(name);
    return mica__fail_nomem(module);
  }
  const double alpha = layer->scale * (double)layer->rank;
  if (layer->rank != first->rank && !cJSON_AddNumberToObject(w->ranks, module, layer->rank))
    return mica__fail_nomem(module);
  if (alpha != first->scale * (double)first->rank && !cJSON_AddNumberToObject(w->alphas, module, alpha))
    return mica__fail_nomem(module);
  return MICA_OK;
}

static mica_status put_layer(const mica__adapter_source *source, writing *w, const mica_adapter_layer *layer,
                             const mica_adapter_layer *first) {
  mica__text module = {0};
  mica_status status = mica__adapter_name_of(source, layer->name, &module);
  if (status == MICA_OK) {
    module.length -= strlen(".weight");
    module.data[module.length] = '\0';
    status = put_config(w, layer, first, module.data);
  }
  for (int k = 0; status == MICA_OK && k < 2; k++) {
    const size_t at = w->count++;
    const mica_shape shape = k ? MICA_SHAPE(layer->outputs, layer->rank) : MICA_SHAPE(layer->rank, layer->inputs);
    mica__text name = {0};
    mica__text_addf(&name, "%s%s.lora_%c.weight", lead, module.data, k ? 'B' : 'A');
    w->names[at] = name.data;
    status = mica__text_status(&name);
    if (status == MICA_OK && k) status = mica__adapter_rows(source, layer, &w->rows[at]);
    w->entries[at] = (mica_safetensors_entry){.name = w->names[at],
                                              .dtype = MICA_F32,
                                              .shape = shape,
                                              .data = k ? w->rows[at] : layer->a,
                                              .bytes = (size_t)shape.dim[0] * (size_t)shape.dim[1] * sizeof(float)};
  }
  mica__text_free(&module);
  return status;
}

static mica_status begin_config(const mica__adapter_source *source, const mica_adapter *adapter, cJSON *root,
                                writing *w) {
  const mica_adapter_layer *first = mica_adapter_at(adapter, 0);
  const bool transposed = source->model->family->names == MICA__NAMING_GPT2;
  const bool done =
      cJSON_AddStringToObject(root, "peft_type", "LORA") && cJSON_AddStringToObject(root, "task_type", "CAUSAL_LM") &&
      cJSON_AddStringToObject(root, "base_model_name_or_path", source->model->path) &&
      cJSON_AddNumberToObject(root, "r", first->rank) &&
      cJSON_AddNumberToObject(root, "lora_alpha", first->scale * (double)first->rank) &&
      cJSON_AddNumberToObject(root, "lora_dropout", mica_adapter_describe(adapter)->dropout) &&
      cJSON_AddBoolToObject(root, "use_rslora", false) && cJSON_AddBoolToObject(root, "fan_in_fan_out", transposed) &&
      cJSON_AddStringToObject(root, "bias", "none") && cJSON_AddBoolToObject(root, "inference_mode", true);
  w->targets = cJSON_AddArrayToObject(root, "target_modules");
  w->ranks = cJSON_AddObjectToObject(root, "rank_pattern");
  w->alphas = cJSON_AddObjectToObject(root, "alpha_pattern");
  return done && w->targets && w->ranks && w->alphas ? MICA_OK : mica__fail_nomem(source->path);
}

/* Writes the tensors, then the config: a config must not exist without its tensors. */
static mica_status write_files(const mica__adapter_source *source, const writing *w, const cJSON *root) {
  const mica_safetensors_pair pair = {"format", "pt"};
  mica__text tensors = {0}, config = {0};
  char *text = NULL;
  mica_status status = MICA_OK;
  mica__text_addf(&tensors, "%s/adapter_model.safetensors", source->path);
  mica__text_addf(&config, "%s/adapter_config.json", source->path);
  MICA_TRY_GOTO(mica__text_status(&tensors), done);
  MICA_TRY_GOTO(mica__text_status(&config), done);
  text = cJSON_Print(root);
  if (!text) MICA_TRY_GOTO(mica__fail_nomem(source->path), done);
  MICA_TRY_GOTO(mica_safetensors_write(tensors.data, w->entries, w->count, &pair, 1), done);
  status = mica_file_write(config.data, text, strlen(text));
done:
  cJSON_free(text);
  mica__text_free(&tensors);
  mica__text_free(&config);
  return status;
}

mica_status mica__adapter_write_peft(const mica__adapter_source *source, const mica_adapter *adapter) {
  const size_t count = mica_adapter_count(adapter);
  writing w = {.entries = calloc(2 * count, sizeof *w.entries),
               .names = calloc(2 * count, sizeof *w.names),
               .rows = calloc(2 * count, sizeof *w.rows)};
  cJSON *root = cJSON_CreateObject();
  mica_status status = root && w.entries && w.names && w.rows ? MICA_OK : mica__fail_nomem(source->path);
  if (status == MICA_OK) status = begin_config(source, adapter, root, &w);
  for (size_t i = 0; status == MICA_OK && i < count; i++)
    status = put_layer(source, &w, mica_adapter_at(adapter, i), mica_adapter_at(adapter, 0));
  if (status == MICA_OK) status = write_files(source, &w, root);
  cJSON_Delete(root);
  free_writing(&w);
  return status;
}

#else

mica_status mica__adapter_write_peft(const mica__adapter_source *source, const mica_adapter *adapter) {
  (void)adapter;
  return mica__fail_lacks(source->path, "cJSON");
}

#endif
