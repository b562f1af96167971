/* Adapters in files: names and shapes of tensors, and the order of rows. */
#include "foundation/adapter_file.h"

#include "base/element.h"
#include "base/json_check.h"
#include "nn/name_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__adapter_source_begin(const mica_foundation *model, const char *path, bool gguf,
                                       mica__adapter_source *source) {
  *source = (mica__adapter_source){.model = model, .path = path, .gguf = gguf};
  return mica__names_rows(model, gguf, &source->rows);
}

/* --- names --- */

/* True if `name` matches the n bytes at `pattern`. A '#' in the pattern matches the number of a layer. *layer receives
 * the number, or -1 if the pattern has no '#'. */
static bool fits(const char *pattern, size_t n, const char *name, int64_t *layer) {
  const char *hash = memchr(pattern, '#', n);
  const size_t before = hash ? (size_t)(hash - pattern) : n;
  *layer = -1;
  if (strncmp(pattern, name, before) != 0) return false;
  if (!hash) return name[n] == '\0';
  char *end = NULL;
  if (name[before] < '0' || name[before] > '9') return false;
  *layer = strtoll(name + before, &end, 10);
  const size_t rest = n - before - 1;
  return strlen(end) == rest && !memcmp(end, hash + 1, rest);
}

static mica_status spell(const char *pattern, size_t n, int64_t layer, mica__text *text) {
  const char *hash = memchr(pattern, '#', n);
  if (hash)
    mica__text_addf(text, "%.*s%" PRId64 "%.*s", (int)(hash - pattern), pattern, layer,
                    (int)(n - (size_t)(hash - pattern) - 1), hash + 1);
  else
    mica__text_add_bytes(text, pattern, n);
  return mica__text_status(text);
}

/* Finds the row that lists the name among its sources, which are separated by '|'. *layer receives the layer's number,
 * or -1 if the source has none. NULL: no row has the name. */
static const mica_name_row *row_of_source(const mica__adapter_source *source, const char *name, int64_t *layer) {
  for (size_t r = 0; r < source->rows.count; r++)
    for (const char *part = source->rows.rows[r].source; *part;) {
      const size_t n = strcspn(part, "|");
      if (fits(part, n, name, layer)) return &source->rows.rows[r];
      part += n + (part[n] == '|');
    }
  return NULL;
}

static bool ends_in(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

/* The sizes of the matrix that the model itself calls `own`; false: the model has no matrix of this name. */
static bool sizes_of(const mica_foundation *model, const char *own, int64_t *outputs, int64_t *inputs) {
  const mica_name_map map = {.rows = model->rows.rows, .count = model->rows.count};
  mica__named_tensor found = {0};
  mica__attempt_begin();
  const mica_status status = mica__name_map_find(&map, model->weights, own, &found);
  mica__attempt_end();
  if (status != MICA_OK || !found.entry || found.entry->shape.rank != 2) return false;
  *outputs = found.entry->shape.dim[found.row.transposed ? 1 : 0];
  *inputs = found.entry->shape.dim[found.row.transposed ? 0 : 1];
  return true;
}

mica_status mica__adapter_layer_of(const mica__adapter_source *source, const char *name, char **layer, int64_t *outputs,
                                   int64_t *inputs) {
  const mica_foundation_info *info = &source->model->info;
  int64_t number = -1;
  const mica_name_row *row = row_of_source(source, name, &number);
  if (row && (!strcmp(row->own, "embed.weight") || !strcmp(row->own, "positions.weight")))
    return mica__fail(MICA_E_UNSUPPORTED, "%s: adapters of embeddings (\"%.200s\") are not supported", source->path,
                      name);
  if (row && !strcmp(row->own, "head.weight") && info->tied)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s: \"%.200s\" cannot be adapted, because the model's output layer is tied to its embeddings",
                      source->path, name);
  mica__text own = {0};
  if (row && ends_in(row->own, ".weight") && number < info->layers) {
    const mica_status status = spell(row->own, strlen(row->own), number, &own);
    if (status != MICA_OK) {
      mica__text_free(&own);
      return status;
    }
  }
  if (!own.data || !sizes_of(source->model, own.data, outputs, inputs)) {
    mica__text_free(&own);
    return mica__fail(MICA_E_FORMAT, "%s: the model of the family %s has no matrix \"%.200s\" to adapt", source->path,
                      info->family, name);
  }
  own.data[own.length - strlen(".weight")] = '\0';
  *layer = own.data;
  return MICA_OK;
}

mica_status mica__adapter_name_of(const mica__adapter_source *source, const char *layer, mica__text *name) {
  mica__text own = {0};
  int64_t number = -1;
  mica__text_addf(&own, "%s.weight", layer);
  mica_status status = mica__text_status(&own);
  const mica_name_row *row = NULL;
  for (size_t r = 0; status == MICA_OK && r < source->rows.count && !row; r++)
    if (fits(source->rows.rows[r].own, strlen(source->rows.rows[r].own), own.data, &number))
      row = &source->rows.rows[r];
  mica__text_free(&own);
  if (status != MICA_OK) return status;
  if (!row)
    return mica__fail(MICA_E_NOT_FOUND, "the model of the family %s has no layer \"%s\"", source->model->info.family,
                      layer);
  /* If a row has two sources, the second one is the name with the prefix of the family. Only the output layer is used
   * without a prefix. */
  const char *part = row->source, *bar = strchr(part, '|');
  if (bar && strcmp(row->own, "head.weight") != 0) part = bar + 1;
  return spell(part, strcspn(part, "|"), number, name);
}

/* --- order of rows --- */

/* If the file and the model order the rows of this layer's matrix differently, returns the number of heads that the
 * rows belong to; else 0. Only query and key matrices can differ. */
static int64_t reordered_heads(const mica__adapter_source *source, const char *layer) {
  const mica_foundation_info *info = &source->model->info;
  const bool pairs = source->gguf && source->model->family->interleaved;
  if (pairs == info->interleaved) return 0;
  if (ends_in(layer, ".self_attn.q_proj")) return info->heads;
  return ends_in(layer, ".self_attn.k_proj") ? info->groups : 0;
}

/* Copies a matrix (rows, columns) and reorders the rows of each head for rotary positions, which rotate pairs of rows.
 * In the order "halves", a head has the first row of every pair and then the second row of every pair. In the order
 * "pairs", the two rows of a pair are neighbours. If to_pairs is true, halves become pairs, else pairs become
 * halves. */
static void reorder(const float *from, float *to, int64_t rows, int64_t columns, int64_t heads, bool to_pairs) {
  const int64_t half = rows / heads / 2;
  for (int64_t h = 0; h < heads; h++)
    for (int64_t part = 0; part < 2; part++)
      for (int64_t i = 0; i < half; i++) {
        const int64_t halves = 2 * h * half + part * half + i, pairs = 2 * h * half + 2 * i + part;
        memcpy(to + (to_pairs ? pairs : halves) * columns, from + (to_pairs ? halves : pairs) * columns,
               (size_t)columns * sizeof *to);
      }
}

mica_status mica__adapter_rows(const mica__adapter_source *source, const mica_adapter_layer *layer, float **b) {
  const int64_t heads = reordered_heads(source, layer->name);
  const size_t count = (size_t)layer->outputs * (size_t)layer->rank;
  *b = malloc(count * sizeof **b);
  if (!*b) return mica__fail_nomem(layer->name);
  memcpy(*b, layer->b, count * sizeof **b);
  if (heads) reorder(layer->b, *b, layer->outputs, layer->rank, heads, source->gguf);
  return MICA_OK;
}

/* --- tensors --- */

/* Reads the tensor's elements as f32, allocated. */
static mica_status floats_of(const mica__adapter_source *source, const mica_weight_entry *entry, float **values) {
  int64_t count = 0;
  const bool floating =
      entry->dtype == MICA_F32 || entry->dtype == MICA_F16 || entry->dtype == MICA_BF16 || entry->dtype == MICA_F64;
  if (entry->block == MICA_BLOCK_NONE && !floating)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the tensor \"%.200s\" has the type %s, but must be f32, f16, bf16, f64 or quantised",
                      source->path, entry->name, entry->type ? entry->type : "?");
  MICA_TRY(mica_shape_count(entry->shape, &count));
  *values = malloc((size_t)count * sizeof **values + 1);
  if (!*values) return mica__fail_nomem(entry->name);
  mica_status status = MICA_OK;
  if (entry->block != MICA_BLOCK_NONE)
    status = mica_block_dequantize(entry->block, entry->data, count, *values);
  else
    for (int64_t i = 0; i < count; i++) (*values)[i] = (float)mica__element_get(entry->dtype, entry->data, i);
  for (int64_t i = 0; status == MICA_OK && i < count; i++)
    if (!isfinite((*values)[i]))
      status = mica__fail(MICA_E_FORMAT, "%s: the tensor \"%.200s\" has a number that is not finite", source->path,
                          entry->name);
  if (status == MICA_OK) return MICA_OK;
  free(*values);
  *values = NULL;
  return status;
}

static mica_status check_shape(const mica__adapter_source *source, const mica_weight_entry *entry, int64_t rows,
                               int64_t columns) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const mica_shape shape = MICA_SHAPE(rows, columns);
  if (mica_shape_equal(entry->shape, shape)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the tensor \"%.200s\" has the shape %s; for this model it must be %s",
                    source->path, entry->name, mica_shape_format(entry->shape, is), mica_shape_format(shape, want));
}

/* Returns the alpha of a module. It is the value of the first key in alpha_pattern that equals the module's name or
 * ends it after a dot. Without such a key it is lora_alpha. */
static double alpha_of(const mica__adapter_source *source, const char *module) {
#if MICA_WITH_CJSON
  for (const cJSON *item = source->alphas ? source->alphas->child : NULL; item; item = item->next) {
    const size_t n = strlen(module), m = strlen(item->string);
    if (n >= m && !strcmp(module + n - m, item->string) && (n == m || module[n - m - 1] == '.'))
      return item->valuedouble;
  }
#else
  (void)module;
#endif
  return source->alpha;
}

mica_status mica__adapter_take(const mica__adapter_source *source, const char *module, const mica_weight_entry *a,
                               const mica_weight_entry *b, mica_adapter *adapter) {
  mica__text name = {0};
  mica_adapter_layer layer = {0};
  char *own = NULL;
  float *va = NULL, *vb = NULL, *rows = NULL;
  if (!a || !b)
    return mica__fail(MICA_E_FORMAT, "%s: \"%.200s\" has the tensor %s of its adapter, but not %s", source->path,
                      module, a ? "A" : "B", a ? "B" : "A");
  mica__text_addf(&name, "%s.weight", module);
  mica_status status = mica__text_status(&name);
  if (status == MICA_OK) status = mica__adapter_layer_of(source, name.data, &own, &layer.outputs, &layer.inputs);
  mica__text_free(&name);
  if (status != MICA_OK) return status;
  const int64_t rank = a->shape.rank == 2 ? a->shape.dim[0] : 0;
  if (a->shape.rank == 2 && (rank < 1 || rank > MICA_ADAPTER_MAX_RANK))
    MICA_TRY_GOTO(mica__fail(MICA_E_FORMAT,
                             "%s: the tensor \"%.200s\" has %" PRId64
                             " rows, the rank of the adapter, which must be 1 to %d",
                             source->path, a->name, rank, MICA_ADAPTER_MAX_RANK),
                  done);
  MICA_TRY_GOTO(check_shape(source, a, rank ? rank : MICA_DYNAMIC, layer.inputs), done);
  MICA_TRY_GOTO(check_shape(source, b, layer.outputs, rank), done);
  MICA_TRY_GOTO(floats_of(source, a, &va), done);
  MICA_TRY_GOTO(floats_of(source, b, &vb), done);
  layer.name = own;
  layer.rank = (int32_t)rank;
  layer.scale = alpha_of(source, module) / (source->rslora ? sqrt((double)rank) : (double)rank);
  layer.a = va;
  layer.b = vb;
  const int64_t heads = reordered_heads(source, own);
  if (heads) {
    rows = malloc((size_t)layer.outputs * (size_t)rank * sizeof *rows);
    if (!rows) MICA_TRY_GOTO(mica__fail_nomem(own), done);
    reorder(vb, rows, layer.outputs, rank, heads, !source->gguf);
    layer.b = rows;
  }
  status = mica_adapter_add(adapter, &layer);
done:
  free(own);
  free(va);
  free(vb);
  free(rows);
  return status == MICA_E_INVALID ? MICA_E_FORMAT : status;
}
