/* The columns of a loader's batches: how they reach the device, and the tensors that hold them. */
#include "base/checked.h"
#include "data/loader/loader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tensors of small columns begin at multiples of this many words: whole cache lines. */
#define WORD_ALIGN 16

static const mica_column_config *row_of(const mica_loader_config *config, const char *name) {
  for (size_t i = 0; i < config->column_count; i++)
    if (!strcmp(config->columns[i].name, name)) return &config->columns[i];
  return NULL;
}

static bool is_floating(mica_column_kind kind) {
  return kind == MICA_COLUMN_KIND_NUMBER || kind == MICA_COLUMN_KIND_IMAGE || kind == MICA_COLUMN_KIND_SOUND;
}

/* The dtypes of a column as uploaded and in a batch. */
static void choose_dtypes(const mica_loader *loader, mica__carried *c, const mica_column_config *row, bool input) {
  const mica_column *about = &c->from->about;
  c->up = c->dtype = about->dtype;
  if (about->kind == MICA_COLUMN_KIND_CLASSES) c->up = c->dtype = MICA_F32;
  if (about->kind == MICA_COLUMN_KIND_MASK) c->dtype = MICA_I32;
  if (!is_floating(about->kind)) return;
  c->dtype = row && row->dtype != MICA_F32 ? row->dtype : input ? loader->config.dtype : MICA_F32;
  if (about->kind == MICA_COLUMN_KIND_NUMBER) c->up = MICA_F32;
}

static void choose_way(mica__carried *c) {
  const mica_column *about = &c->from->about;
  const int64_t words = c->elements * (int64_t)mica_dtype_size(c->dtype) / 4;
  const bool whole = mica_dtype_size(c->dtype) >= 4 && c->up == c->dtype;
  const bool row = is_floating(about->kind) && about->shape.rank == 1 && strcmp(about->name, "label") != 0;
  if (mica__column_is_ragged(c->from))
    c->way = MICA__WAY_RAGGED;
  else if (about->kind == MICA_COLUMN_KIND_MASK || about->kind == MICA_COLUMN_KIND_MAP)
    c->way = MICA__WAY_MASK;
  else if (!is_floating(about->kind) || (whole && !row && words <= MICA__SMALL_WORDS))
    c->way = MICA__WAY_WORDS;
  else
    c->way = MICA__WAY_PLANES;
  c->words = c->way == MICA__WAY_WORDS ? (int32_t)words : c->way == MICA__WAY_RAGGED;
}

/* Sets mean and deviation from the configuration's row for the column or, for the input, from the configuration itself.
 * If neither has them, measures them if the column holds pictures or rows of numbers and is not the label. */
static mica_status normalise(mica_loader *loader, mica__carried *c, const mica_column_config *row, bool input) {
  const mica_column *about = &c->from->about;
  const char *name = loader->dataset->store->name;
  const float *mean = row ? row->mean : NULL, *deviation = row ? row->deviation : NULL;
  if (!mean && !deviation && input) mean = loader->config.mean, deviation = loader->config.deviation;
  const bool rows = about->kind == MICA_COLUMN_KIND_NUMBER && about->shape.rank == 1 &&
                    !mica__column_is_ragged(c->from) && strcmp(about->name, "label") != 0;
  if (!mean != !deviation)
    return mica__fail(MICA_E_INVALID, "%s: give both mean and deviation of column \"%s\", or neither", name,
                      about->name);
  if (mean && !is_floating(about->kind))
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\" is of kind %s, so mean and deviation cannot be set for it",
                      name, about->name, mica_column_kind_name(about->kind));
  if (!mean && !rows && about->kind != MICA_COLUMN_KIND_IMAGE) return MICA_OK;
  const int64_t channels = mica__column_channels(c->from);
  c->mean = malloc(2 * (size_t)channels * sizeof *c->mean);
  if (!c->mean) return mica__fail_nomem("a loader");
  c->deviation = c->mean + channels;
  if (mean) {
    memcpy(c->mean, mean, (size_t)channels * sizeof *mean);
    memcpy(c->deviation, deviation, (size_t)channels * sizeof *mean);
  } else {
    MICA_TRY(mica_dataset_measure_column(loader->dataset, c->column, c->mean, c->deviation));
  }
  for (int64_t i = 0; i < channels; i++)
    if (!(c->deviation[i] > 0) || !isfinite(c->deviation[i]) || !isfinite(c->mean[i]))
      return mica__fail(MICA_E_INVALID,
                        "%s: column \"%s\", channel or number %lld: the mean (%g) must be finite, and the deviation "
                        "(%g) finite and above 0",
                        name, about->name, (long long)i, (double)c->mean[i], (double)c->deviation[i]);
  return MICA_OK;
}

/* Scale and shift of each channel for the kernel to apply; rows are normalised on the host. */
static mica_status make_affine(mica_loader *loader, mica__carried *c) {
  const bool picture = c->from->about.kind == MICA_COLUMN_KIND_IMAGE;
  const int64_t channels = picture ? c->from->about.shape.dim[0] : 1;
  const float one = c->up == MICA_U8 ? 255.0f : c->up == MICA_I16 ? 32768.0f : 1.0f;
  float *affine = malloc(2 * (size_t)channels * sizeof *affine);
  if (!affine) return mica__fail_nomem("a loader");
  for (int64_t i = 0; i < channels; i++) {
    affine[2 * i] = picture ? 1.0f / (one * c->deviation[i]) : 1.0f / one;
    affine[2 * i + 1] = picture ? -c->mean[i] / c->deviation[i] : 0.0f;
  }
  mica_status status = mica_tensor_create_from(loader->engine, MICA_F32, MICA_SHAPE(channels, 2), affine, &c->affine);
  free(affine);
  return status;
}

static mica_status check_row(const mica_loader *loader, const mica__carried *c, const mica_column_config *row) {
  const mica_column *about = &c->from->about;
  const char *name = loader->dataset->store->name;
  if (!row) return MICA_OK;
  if (row->dtype != MICA_F32 && ((row->dtype != MICA_F16 && row->dtype != MICA_BF16) || !is_floating(about->kind)))
    return mica__fail(MICA_E_DTYPE, "%s: column \"%s\" of kind %s cannot be converted to %s", name, about->name,
                      mica_column_kind_name(about->kind), mica_dtype_name(row->dtype));
  if ((row->most != 0 || row->pad != 0) && c->way != MICA__WAY_RAGGED)
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\" is not ragged, so most and pad must be 0", name, about->name);
  if (row->most < 0)
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\": most is %lld, but must be 0 or above", name, about->name,
                      (long long)row->most);
  if (row->pad != 0 && mica_dtype_kind_of(c->dtype) == MICA_DTYPE_KIND_FLOAT)
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\": pad is %d, but must be 0, because the column is of floats",
                      name, about->name, (int)row->pad);
  return MICA_OK;
}

static mica_status carry_column(mica_loader *loader, size_t column, mica__carried *c) {
  const mica__store *store = loader->dataset->store;
  const bool input = column == store->input;
  c->column = column;
  c->from = &store->columns[column];
  const mica_column *about = &c->from->about;
  const mica_column_config *row = row_of(&loader->config, about->name);
  choose_dtypes(loader, c, row, input);
  c->elements = (int64_t)(c->from->bytes / mica_dtype_size(about->dtype));
  c->bytes = (size_t)c->elements * mica_dtype_size(c->up);
  choose_way(c);
  MICA_TRY(check_row(loader, c, row));
  c->most = row ? row->most : 0;
  c->pad = row && row->pad ? row->pad : about->kind == MICA_COLUMN_KIND_CLASS ? -1 : 0;
  MICA_TRY(normalise(loader, c, row, input));
  if (c->way == MICA__WAY_PLANES) MICA_TRY(make_affine(loader, c));
  if (input) loader->input = c;
  if (column == store->label) loader->label = c;
  return MICA_OK;
}

/* True if batches contain the column. Columns of texts are for tokenisers, so batches contain them only if the
 * configuration names them. */
static bool is_wanted(const mica_loader_config *config, const mica_column *about) {
  const mica_column_config *row = row_of(config, about->name);
  return row ? !row->left_out : about->kind != MICA_COLUMN_KIND_TEXT;
}

static mica_status check_names(const mica_loader *loader) {
  const mica_loader_config *c = &loader->config;
  if (!c->columns && c->column_count > 0)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: columns is NULL, but column_count is %zu", c->column_count);
  for (size_t i = 0; i < c->column_count; i++)
    if (!c->columns[i].name || !mica__store_find(loader->dataset->store, c->columns[i].name))
      return mica__fail(MICA_E_NOT_FOUND, "%s has no column \"%s\"", loader->dataset->store->name,
                        c->columns[i].name ? c->columns[i].name : "");
  return MICA_OK;
}

/* Gives each WORDS column, and the length of each RAGGED column, its place in the record (see loader.h). The label
 * comes first, because the kernel makes probabilities from word 0. */
static void index_words(mica_loader *loader) {
  if (loader->label && loader->label->way == MICA__WAY_WORDS) loader->words = loader->label->words;
  for (size_t k = 0; k < loader->count; k++) {
    mica__carried *c = &loader->carried[k];
    if (c == loader->label && c->way == MICA__WAY_WORDS) continue;
    c->word = loader->words;
    loader->words += c->words;
  }
}

mica_status mica__loader_carry(mica_loader *loader) {
  const mica__store *store = loader->dataset->store;
  MICA_TRY(check_names(loader));
  loader->carried = calloc(store->column_count, sizeof *loader->carried);
  if (!loader->carried) return mica__fail_nomem("a loader");
  for (size_t k = 0; k < store->column_count; k++)
    if (is_wanted(&loader->config, &store->columns[k].about))
      MICA_TRY(carry_column(loader, k, &loader->carried[loader->count++]));
  if (loader->count == 0)
    return mica__fail(MICA_E_INVALID, "%s: batches would have no columns: all columns are of text or left out",
                      store->name);
  index_words(loader);
  return MICA_OK;
}

void mica__carried_free(mica__carried *c) {
  for (int small = 0; small < 2; small++) {
    for (int b = 0; b < MICA__MAX_BUCKETS; b++) mica_tensor_destroy(c->out[small][b]);
    mica_tensor_destroy(c->length_out[small]);
  }
  mica_tensor_destroy(c->affine);
  free(c->mean);
  free(c->lengths);
  free(c->length_name);
}

/* --- tensors of batches --- */

mica_shape mica__carried_shape(const mica__carried *c, int64_t n) {
  const mica_shape one = c->from->about.shape;
  mica_shape shape = {.rank = one.rank + 1, .dim = {n}};
  memcpy(shape.dim + 1, one.dim, sizeof(int64_t) * (size_t)one.rank);
  return shape;
}

mica_shape mica__batch_shape(const mica_loader *loader, const mica__carried *c, int64_t n, int32_t bucket) {
  mica_shape shape = mica__carried_shape(c, n);
  const bool picture = c->from->about.kind == MICA_COLUMN_KIND_IMAGE || c->way == MICA__WAY_MASK;
  if (c->way == MICA__WAY_RAGGED) shape.dim[1] = c->bucket[bucket];
  if (picture && loader->config.window_height) shape.dim[shape.rank - 2] = loader->config.window_height;
  if (picture && loader->config.window_width) shape.dim[shape.rank - 1] = loader->config.window_width;
  return shape;
}

/* Makes the tensors of batches for a column that is not WORDS: one for a full batch of the longest bucket, and views of
 * it for smaller buckets and for the last, smaller batch of `rest` samples. */
static mica_status make_own(mica_loader *loader, mica__carried *c, int64_t rest) {
  const int32_t last = c->way == MICA__WAY_RAGGED ? loader->buckets - 1 : 0;
  const int64_t n = loader->config.batch;
  MICA_TRY(mica_tensor_create(loader->engine, c->dtype, mica__batch_shape(loader, c, n, last), &c->out[0][last]));
  for (int32_t b = last; b >= 0; b--) {
    if (b < last)
      MICA_TRY(mica_tensor_view(c->out[0][last], mica__batch_shape(loader, c, n, b), NULL, 0, &c->out[0][b]));
    MICA_TRY(mica_tensor_view(c->out[0][last], mica__batch_shape(loader, c, rest, b), NULL, 0, &c->out[1][b]));
  }
  return MICA_OK;
}

/* Makes the tensors of batches for a WORDS column, which begin `at` words into the common memory. */
static mica_status wrap_words(const mica_loader *loader, mica_dtype dtype, mica_shape shape, int64_t at, int64_t rest,
                              mica_tensor *out[2]) {
  const size_t first = (size_t)at * sizeof(int32_t);
  MICA_TRY(mica_tensor_wrap(loader->words_memory, first, dtype, shape, &out[0]));
  shape.dim[0] = rest;
  return mica_tensor_wrap(loader->words_memory, first, dtype, shape, &out[1]);
}

/* How many words of memory the batches of a WORDS column take. */
static int64_t words_space(const mica_loader *loader, const mica__carried *c) {
  return (int64_t)mica__round_up((size_t)(loader->config.batch * c->words), WORD_ALIGN);
}

static mica_status make_words(mica_loader *loader, int64_t rest) {
  int64_t total = 0, at = 0;
  if (loader->words == 0) return MICA_OK;
  int32_t *table = malloc(2 * (size_t)loader->words * sizeof *table);
  if (!table) return mica__fail_nomem("a loader");
  for (size_t k = 0; k < loader->count; k++) total += words_space(loader, &loader->carried[k]);
  mica_status status = total <= INT32_MAX
                           ? mica_buffer_create(loader->engine, (size_t)total * sizeof *table, &loader->words_memory)
                           : mica__fail(MICA_E_OVERFLOW, "%s: a batch would be too large; choose a smaller batch size",
                                        loader->dataset->store->name);
  if (status == MICA_OK)
    status = mica_tensor_wrap(loader->words_memory, 0, MICA_I32, MICA_SHAPE(total), &loader->words_out);
  for (size_t k = 0; status == MICA_OK && k < loader->count; k++) {
    mica__carried *c = &loader->carried[k];
    for (int32_t w = 0; w < c->words; w++) {
      table[2 * (c->word + w)] = (int32_t)at + w;
      table[2 * (c->word + w) + 1] = c->words;
    }
    if (c->way == MICA__WAY_RAGGED)
      status = wrap_words(loader, MICA_I32, MICA_SHAPE(loader->config.batch), at, rest, c->length_out);
    else if (c->words > 0) {
      mica_tensor *out[2] = {0};
      status = wrap_words(loader, c->dtype, mica__carried_shape(c, loader->config.batch), at, rest, out);
      c->out[0][0] = out[0], c->out[1][0] = out[1];
    }
    at += words_space(loader, c);
  }
  if (status == MICA_OK)
    status = mica_tensor_create_from(loader->engine, MICA_I32, MICA_SHAPE(loader->words, 2), table, &loader->table);
  free(table);
  return status;
}

/* The tensor of a column in a batch. */
static mica_tensor *tensor_of(const mica_loader *loader, const mica__carried *c, int small, int32_t bucket) {
  if (c == loader->label && loader->config.probabilities) return loader->mixed_out[small];
  return c->out[small][c->way == MICA__WAY_RAGGED ? bucket : 0];
}

static void name_columns(mica_loader *loader) {
  size_t at = 0;
  for (size_t k = 0; k < loader->count; k++) {
    const mica__carried *c = &loader->carried[k];
    const char *name = c->from->about.name;
    const mica_tensor *full = tensor_of(loader, c, 0, loader->buckets - 1);
    mica_batch_column *column = &loader->columns[at];
    *column = (mica_batch_column){name, mica_tensor_dtype(full), mica_tensor_shape(full)};
    column->shape.dim[0] = MICA_DYNAMIC;
    if (c->way == MICA__WAY_RAGGED) {
      column->shape.dim[1] = MICA_DYNAMIC;
      loader->columns[at + 1] = (mica_batch_column){c->length_name, MICA_I32, MICA_SHAPE(MICA_DYNAMIC)};
    }
    for (int small = 0; small < 2; small++)
      for (int32_t b = 0; b < loader->buckets; b++) {
        loader->feeds[small][b][at] = (mica_feed){name, tensor_of(loader, c, small, b)};
        if (c->way == MICA__WAY_RAGGED)
          loader->feeds[small][b][at + 1] = (mica_feed){c->length_name, c->length_out[small]};
      }
    at += c->way == MICA__WAY_RAGGED ? 2 : 1;
  }
}

mica_status mica__loader_make_batches(mica_loader *loader) {
  const int64_t rest = mica__loader_count(loader, loader->batches - 1), batch = loader->config.batch;
  for (size_t k = 0; k < loader->count; k++) {
    mica__carried *c = &loader->carried[k];
    loader->column_count += c->way == MICA__WAY_RAGGED ? 2 : 1;
    if (c->way != MICA__WAY_WORDS) MICA_TRY(make_own(loader, c, rest));
  }
  MICA_TRY(make_words(loader, rest));
  if (loader->config.probabilities) {
    const int64_t classes = loader->label->from->about.classes;
    MICA_TRY(mica_tensor_create(loader->engine, MICA_F32, MICA_SHAPE(batch, classes), &loader->mixed_out[0]));
    MICA_TRY(mica_tensor_view(loader->mixed_out[0], MICA_SHAPE(rest, classes), NULL, 0, &loader->mixed_out[1]));
  }
  loader->columns = calloc(loader->column_count, sizeof *loader->columns);
  if (!loader->columns) return mica__fail_nomem("a loader");
  for (int small = 0; small < 2; small++)
    for (int32_t b = 0; b < loader->buckets; b++) {
      loader->feeds[small][b] = calloc(loader->column_count, sizeof *loader->feeds[small][b]);
      if (!loader->feeds[small][b]) return mica__fail_nomem("a loader");
    }
  name_columns(loader);
  return MICA_OK;
}
