/* Adapters as GGUF files in llama.cpp's format. */
#include "foundation/adapter_file.h"

#include <math.h>
#include <mica/gguf.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(mica_gguf_text text, const char *want) {
  return text.length == strlen(want) && !memcmp(text.bytes, want, text.length);
}

static mica_status check_text(const mica__adapter_source *source, const mica_gguf *file, const char *key,
                              const char *want) {
  const mica_gguf_text text = mica_gguf_text_at(mica_gguf_find(file, key), 0);
  if (is_text(text, want)) return MICA_OK;
  return mica__fail(strcmp(key, "adapter.type") ? MICA_E_FORMAT : MICA_E_UNSUPPORTED,
                    "%s: the key %s must be the text \"%s\", but is %s%.*s%s", source->path, key, want,
                    text.length ? "\"" : "missing, empty or not a text", mica__text_shown(text.length),
                    text.length ? text.bytes : "", text.length ? "\"" : "");
}

static const char suffix_a[] = ".weight.lora_a", suffix_b[] = ".weight.lora_b";

/* The length of the module's name if the tensor's name ends in suffix, else 0. */
static size_t module_length(const char *name, const char *suffix) {
  const size_t n = strlen(name), m = strlen(suffix);
  return n > m && !strcmp(name + n - m, suffix) ? n - m : 0;
}

static const mica_weight_entry *find_other(const mica_gguf *file, const char *module, size_t n, const char *suffix) {
  for (size_t t = 0; t < mica_gguf_tensor_count(file); t++) {
    const mica_weight_entry *entry = mica_gguf_tensor(file, t);
    if (module_length(entry->name, suffix) == n && !memcmp(entry->name, module, n)) return entry;
  }
  return NULL;
}

static mica_status take_tensor(const mica__adapter_source *source, const mica_gguf *file,
                               const mica_weight_entry *entry, mica_adapter *adapter) {
  char module[64 + 1];
  const size_t a = module_length(entry->name, suffix_a), b = module_length(entry->name, suffix_b), n = a ? a : b;
  if (n == 0 || n >= sizeof module)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: \"%.200s\" is not a tensor of a LoRA adapter: a name of 1 to %zu bytes must stand before %s or %s",
        source->path, entry->name, sizeof module - 1, suffix_a, suffix_b);
  const mica_weight_entry *other = find_other(file, entry->name, n, a ? suffix_b : suffix_a);
  if (b && other) return MICA_OK; /* read together with A */
  memcpy(module, entry->name, n);
  module[n] = '\0';
  return mica__adapter_take(source, module, a ? entry : NULL, a ? other : entry, adapter);
}

mica_status mica__adapter_read_gguf(mica__adapter_source *source, const mica_gguf *file, mica_adapter *adapter) {
  MICA_TRY(check_text(source, file, "general.type", "adapter"));
  MICA_TRY(check_text(source, file, "adapter.type", "lora"));
  MICA_TRY(check_text(source, file, "general.architecture", source->model->family->arch));
  const mica_gguf_value *alpha = mica_gguf_find(file, "adapter.lora.alpha");
  source->alpha = mica_gguf_number(alpha, 0);
  if (!alpha || !isfinite(source->alpha) || source->alpha == 0)
    return mica__fail(MICA_E_FORMAT, "%s: adapter.lora.alpha is missing, or is not a finite number other than 0",
                      source->path);
  for (size_t t = 0; t < mica_gguf_tensor_count(file); t++)
    MICA_TRY(take_tensor(source, file, mica_gguf_tensor(file, t), adapter));
  return MICA_OK;
}

/* --- writing --- */

typedef struct tensors {
  mica_weight_entry *entries;
  char **names;
  float **rows; /* rows[i]: values of entries[i] if it is a matrix B, else NULL */
  size_t count;
} tensors;

static void free_tensors(tensors *t) {
  for (size_t i = 0; i < t->count; i++) {
    if (t->names) free(t->names[i]);
    if (t->rows) free(t->rows[i]);
  }
  free(t->entries);
  free(t->names);
  free(t->rows);
}

/* A GGUF adapter has only one alpha for all layers. If a layer needs another scale, multiplies its B by the ratio. */
static void scale_rows(float *b, const mica_adapter_layer *layer, double alpha) {
  const double factor = layer->scale * (double)layer->rank / alpha;
  const size_t count = (size_t)layer->outputs * (size_t)layer->rank;
  for (size_t i = 0; factor != 1 && i < count; i++) b[i] = (float)((double)b[i] * factor);
}

static mica_status put(const mica__adapter_source *source, const mica_adapter_layer *layer, double alpha, tensors *t) {
  static const char *const ends[] = {".lora_a", ".lora_b"};
  for (int k = 0; k < 2; k++) {
    const size_t at = t->count++;
    const mica_shape shape = k ? MICA_SHAPE(layer->outputs, layer->rank) : MICA_SHAPE(layer->rank, layer->inputs);
    mica__text name = {0};
    mica_status status = mica__adapter_name_of(source, layer->name, &name);
    mica__text_add(&name, ends[k]);
    if (status == MICA_OK) status = mica__text_status(&name);
    t->names[at] = name.data;
    if (status == MICA_OK && k) status = mica__adapter_rows(source, layer, &t->rows[at]);
    if (status != MICA_OK) return status;
    if (k) scale_rows(t->rows[at], layer, alpha);
    t->entries[at] = (mica_weight_entry){.name = t->names[at],
                                         .dtype = MICA_F32,
                                         .shape = shape,
                                         .data = k ? t->rows[at] : layer->a,
                                         .bytes = (size_t)shape.dim[0] * (size_t)shape.dim[1] * sizeof(float)};
  }
  return MICA_OK;
}

mica_status mica__adapter_write_gguf(const mica__adapter_source *source, const mica_adapter *adapter) {
  const size_t count = mica_adapter_count(adapter);
  const char *arch = source->model->family->arch;
  const mica_adapter_layer *first = mica_adapter_at(adapter, 0);
  const double wide = first->scale * (double)first->rank;
  const float alpha = (float)wide;
  if (!*arch)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: GGUF has no name for the family %s", source->path,
                      source->model->info.family);
  if (!isfinite(alpha) || alpha == 0)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: the adapter's alpha is %g, but must be finite and not 0 in a GGUF file",
                      source->path, wide);
  const mica_gguf_text type = {"adapter", 7}, kind = {"lora", 4}, architecture = {arch, strlen(arch)};
  const mica_gguf_value keys[] = {
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &architecture},
      {.key = "general.type", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &type},
      {.key = "adapter.type", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &kind},
      {.key = "adapter.lora.alpha", .kind = MICA_GGUF_KIND_F32, .count = 1, .data = &alpha}};
  tensors t = {.entries = calloc(2 * count, sizeof *t.entries),
               .names = calloc(2 * count, sizeof *t.names),
               .rows = calloc(2 * count, sizeof *t.rows)};
  mica_status status = t.entries && t.names && t.rows ? MICA_OK : mica__fail_nomem(source->path);
  for (size_t i = 0; status == MICA_OK && i < count; i++)
    status = put(source, mica_adapter_at(adapter, i), (double)alpha, &t);
  if (status == MICA_OK) status = mica_gguf_write(source->path, keys, sizeof keys / sizeof *keys, t.entries, t.count);
  free_tensors(&t);
  return status;
}
