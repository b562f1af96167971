/* Writes models as GGUF files. The weights can be converted to another type. */
#include "foundation/write.h"
#include "base/checked.h"
#include "base/element.h"
#include "base/text.h"
#include "foundation/merge.h"

#include <mica/gguf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number format: a dtype, or blocks. */
typedef struct form {
  mica_dtype dtype;
  mica_block block;
} form;

typedef struct plan {
  const mica_foundation *model;
  mica__merging *merge; /* NULL: none */
  const char *type;     /* NULL: unchanged */
  form form;            /* for matrices */
  bool tied;
  mica_weight_entry *list;
  char (*names)[64];
  size_t count, room, converted;
  uint64_t bytes;
} plan;

static const struct {
  const char *name;
  int number; /* general.file_type */
} file_types[] = {{"f32", 0},  {"f16", 1},   {"q4_0", 2},  {"q4_1", 3},  {"q8_0", 7},  {"q5_0", 8},
                  {"q5_1", 9}, {"q4_k", 14}, {"q5_k", 16}, {"q6_k", 18}, {"bf16", 32}, {"mxfp4", 38}};

static mica_status read_type(plan *p) {
  p->form = (form){MICA_DTYPE_COUNT, MICA_BLOCK_NONE};
  if (!p->type) return MICA_OK;
  p->form.block = mica_block_named(p->type);
  if (p->form.block != MICA_BLOCK_COUNT && p->form.block != MICA_BLOCK_NONE) return MICA_OK;
  p->form.block = MICA_BLOCK_NONE;
  if (!strcmp(p->type, "f32")) p->form.dtype = MICA_F32;
  if (!strcmp(p->type, "f16")) p->form.dtype = MICA_F16;
  if (!strcmp(p->type, "bf16")) p->form.dtype = MICA_BF16;
  if (p->form.dtype != MICA_DTYPE_COUNT) return MICA_OK;
  mica__text known = {0};
  for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++)
    mica__text_addf(&known, "%s%s", i ? ", " : "", file_types[i].name);
  const mica_status status =
      mica__fail(MICA_E_INVALID, "the type \"%.40s\" of weights is unknown; known are %s", p->type, known.data);
  mica__text_free(&known);
  return status;
}

/* If blocks of 256 elements do not divide a row of `columns` elements, uses blocks of 32 with at least as much
 * precision. If blocks of 32 do not divide the row either, uses f16. */
static form fit(form wanted, int64_t columns) {
  static const mica_block smaller[MICA_BLOCK_COUNT] = {
      [MICA_BLOCK_Q4_K] = MICA_BLOCK_Q5_0, [MICA_BLOCK_Q5_K] = MICA_BLOCK_Q5_1, [MICA_BLOCK_Q6_K] = MICA_BLOCK_Q8_0};
  if (wanted.block != MICA_BLOCK_NONE && columns % mica_block_elements(wanted.block) != 0)
    wanted.block = smaller[wanted.block];
  if (wanted.block != MICA_BLOCK_NONE && columns % mica_block_elements(wanted.block) == 0) return wanted;
  return wanted.dtype == MICA_DTYPE_COUNT ? (form){MICA_F16, MICA_BLOCK_NONE} : wanted;
}

static int64_t bits(mica_block block) { return 8 * (int64_t)mica_block_bytes(block) / mica_block_elements(block); }

/* True for a bias. The name decides, because a mixture of experts has a bias of rank 2, with one row per expert. */
static bool is_bias(const char *name) {
  const size_t n = strlen(name);
  return n > 5 && !strcmp(name + n - 5, ".bias");
}

/* Chooses the form in which a tensor is written.
 * - Without a new type, all tensors of a GGUF file keep their form.
 * - In all other cases, vectors, biases, tables of positions and the router of experts become f32.
 * - In these cases, matrices get the new type if there is one, and else keep their form. The output layer gets at least
 *   6 bits, because it matters most. */
static form choose(const plan *p, const mica__written_tensor *t) {
  const form own = {t->entry->dtype, t->entry->block};
  const bool folder = !mica_weights_gguf(p->model->weights);
  /* Readers expect the router of experts in f32. */
  if (strstr(t->name, ".ffn_gate_inp.") && (folder || p->type)) return (form){MICA_F32, MICA_BLOCK_NONE};
  const bool matrix = t->shape.rank >= 2 && !is_bias(t->name) && strncmp(t->name, "position_embd", 13) != 0;
  if (!matrix) return folder || p->type ? (form){MICA_F32, MICA_BLOCK_NONE} : own;
  if (!p->type) return own;
  const bool output = !strcmp(t->name, "output.weight") || (p->tied && !strcmp(t->name, "token_embd.weight"));
  form wanted = p->form;
  if (output && wanted.block != MICA_BLOCK_NONE && bits(wanted.block) < bits(MICA_BLOCK_Q6_K))
    wanted.block = MICA_BLOCK_Q6_K;
  return fit(wanted, t->shape.dim[t->shape.rank - 1]);
}

static bool is_float(mica_dtype dtype) { return dtype == MICA_F32 || dtype == MICA_F16 || dtype == MICA_BF16; }

/* Reads row `r` of a folder's joint experts as floats. */
static mica_status read_joint(const mica__written_tensor *t, int64_t r, int64_t columns, float *row) {
  void *room = malloc((size_t)columns * sizeof(double) + 1);
  if (!room) return mica__fail_nomem(t->name);
  t->joint.read(&t->joint, t->shape, r * columns, columns, room);
  mica_status status = MICA_OK;
  if (t->entry->block != MICA_BLOCK_NONE)
    status = mica_block_dequantize(t->entry->block, room, columns, row);
  else
    mica__elements_to_floats(t->entry->dtype, room, (size_t)columns, row);
  free(room);
  return status;
}

/* Reads row `r` of a tensor as floats, in GGUF's order. */
static mica_status read_row(const mica__written_tensor *t, int64_t r, int64_t columns, float *row) {
  if (t->joint.entry) return read_joint(t, r, columns, row);
  const mica_weight_entry *entry = t->parts ? t->parts[r / t->shape.dim[1]] : t->entry;
  if (t->parts) r %= t->shape.dim[1];
  if (t->head_size > 0) {
    const int64_t in = r % t->head_size;
    r = r - in + in % 2 * (t->head_size / 2) + in / 2;
  }
  if (entry->block != MICA_BLOCK_NONE) {
    const size_t bytes = (size_t)(columns / mica_block_elements(entry->block)) * mica_block_bytes(entry->block);
    return mica_block_dequantize(entry->block, (const char *)entry->data + (size_t)r * bytes, columns, row);
  }
  const size_t size = mica_dtype_size(entry->dtype);
  if (t->transposed) {
    for (int64_t c = 0; c < columns; c++)
      row[c] = (float)mica__element_get(entry->dtype, entry->data, c * t->shape.dim[0] + r);
  } else {
    mica__elements_to_floats(entry->dtype, (const char *)entry->data + (size_t)(r * columns) * size, (size_t)columns,
                             row);
  }
  for (int64_t c = 0; c < columns && t->add != 0; c++) row[c] += (float)t->add;
  return MICA_OK;
}

static mica_status write_row(const mica__written_tensor *t, form to, int64_t columns, const float *row, char *out) {
  if (to.block != MICA_BLOCK_NONE) {
    const mica_status status = mica_block_quantize(to.block, row, columns, NULL, out);
    return status == MICA_OK ? status : mica__fail_in(status, t->name);
  }
  if (to.dtype == MICA_F32) return memcpy(out, row, (size_t)columns * sizeof *row), MICA_OK;
  for (int64_t c = 0; c < columns; c++) mica__element_set(to.dtype, out, c, (double)row[c]);
  return MICA_OK;
}

/* The number of rows of a matrix, or of all experts' matrices. */
static int64_t rows_of(mica_shape shape) { return shape.rank == 3 ? shape.dim[0] * shape.dim[1] : shape.dim[0]; }

static mica_status convert(const mica__written_tensor *t, const mica__addition *addition, form to, char *data,
                           size_t row_bytes) {
  const int64_t columns = t->shape.dim[t->shape.rank - 1], one = t->shape.rank == 1;
  /* The bias of q or k is reordered like a matrix with one column. */
  const bool alone = one && t->head_size > 0;
  const int64_t rows = alone ? columns : one ? 1 : rows_of(t->shape), length = alone ? 1 : columns;
  float *row = malloc((size_t)length * sizeof *row);
  mica_status status = row ? MICA_OK : mica__fail_nomem(t->name);
  for (int64_t r = 0; status == MICA_OK && r < rows; r++) {
    status = read_row(t, r, length, row);
    mica__merge_add(addition, r, row);
    if (status == MICA_OK) status = write_row(t, to, length, row, data + (size_t)r * row_bytes);
  }
  free(row);
  return status;
}

static mica_status make_room(plan *p) {
  if (p->count < p->room) return MICA_OK;
  const size_t room = p->room ? 2 * p->room : 64;
  mica_weight_entry *list = realloc(p->list, room * sizeof *list);
  if (list) p->list = list;
  char(*names)[64] = list ? realloc(p->names, room * sizeof *names) : NULL;
  if (!names) return mica__fail_nomem(p->model->path);
  p->names = names;
  p->room = room;
  return MICA_OK;
}

/* Adds a tensor; takes ownership of data, which is freed with the plan. */
static mica_status add(plan *p, const char *name, form to, mica_shape shape, void *data, size_t bytes) {
  const mica_status status = make_room(p);
  if (status != MICA_OK) {
    free(data);
    return status;
  }
  snprintf(p->names[p->count], sizeof p->names[0], "%s", name);
  p->list[p->count++] =
      (mica_weight_entry){.dtype = to.dtype, .block = to.block, .shape = shape, .data = data, .bytes = bytes};
  p->bytes += bytes;
  return MICA_OK;
}

/* Allocates and fills the tensor's bytes in the new file. If `same` is true, the elements keep their form: their bytes
 * are copied, or only reordered. */
static mica_status make_data(const plan *p, const mica__written_tensor *t, const mica__addition *addition, form to,
                             bool same, char **data, size_t *bytes) {
  const mica_weight_entry *entry = t->entry;
  size_t row_bytes = 0;
  *bytes = entry->bytes;
  if (!same || t->joint.entry) {
    const int64_t columns = t->shape.dim[t->shape.rank - 1];
    row_bytes = to.block != MICA_BLOCK_NONE
                    ? (size_t)(columns / mica_block_elements(to.block)) * mica_block_bytes(to.block)
                    : (size_t)columns * mica_dtype_size(to.dtype);
    if (!mica__mul_size(t->shape.rank >= 2 ? (uint64_t)rows_of(t->shape) : 1, row_bytes, bytes))
      return mica__fail(MICA_E_FORMAT, "%s: the tensor \"%s\" is too large", p->model->path, entry->name);
    if (t->shape.rank == 1) row_bytes = mica_dtype_size(to.dtype);
  }
  *data = malloc(*bytes + 1);
  if (!*data) return mica__fail_nomem(entry->name);
  if (same && t->joint.entry) {
    t->joint.read(&t->joint, t->shape, 0, rows_of(t->shape) * t->shape.dim[t->shape.rank - 1], *data);
    return MICA_OK;
  }
  if (same) {
    memcpy(*data, entry->data, *bytes);
    return MICA_OK;
  }
  const mica_status status = convert(t, addition, to, *data, row_bytes);
  if (status != MICA_OK) free(*data);
  return status;
}

static mica_status add_tensor(void *user, const mica__written_tensor *t) {
  plan *p = user;
  const mica_weight_entry *entry = t->entry;
  mica__addition addition;
  char *data = NULL;
  size_t bytes = 0;
  form to = choose(p, t);
  if (to.block != MICA_BLOCK_NONE) to.dtype = MICA_DTYPE_COUNT;
  MICA_TRY(mica__merge_find(p->merge, t->name, &addition));
  const bool same = to.dtype == entry->dtype && to.block == entry->block && !t->transposed && t->add == 0 &&
                    t->head_size == 0 && !addition.layer && !t->parts;
  mica_status status = MICA_OK;
  for (int64_t e = 1; t->parts && e < t->shape.dim[0]; e++)
    if (t->parts[e] && (t->parts[e]->dtype != entry->dtype || t->parts[e]->block != entry->block))
      return mica__fail(MICA_E_UNSUPPORTED, "%s: the experts \"%s\" and \"%s\" are of different types", p->model->path,
                        entry->name, t->parts[e]->name);
  if (!same && entry->block == MICA_BLOCK_NONE && !is_float(entry->dtype))
    status = mica__fail(MICA_E_UNSUPPORTED, "%s: the tensor \"%s\" is of the type %s, which cannot be converted",
                        p->model->path, entry->name, entry->type);
  if (status == MICA_OK) status = make_data(p, t, &addition, to, same, &data, &bytes);
  free(addition.b);
  MICA_TRY(status);
  p->converted += to.dtype != entry->dtype || to.block != entry->block;
  MICA_TRY(add(p, t->name, to, t->shape, data, bytes));
  /* A type that Mica cannot compute with is identified only by its name. */
  p->list[p->count - 1].type = entry->type;
  return MICA_OK;
}

static mica_status add_factors(plan *p, const char *name, const double *factors, size_t count) {
  float *data = malloc(count * sizeof *data + 1);
  if (!data) return mica__fail_nomem(name);
  for (size_t i = 0; i < count; i++) data[i] = (float)factors[i];
  return add(p, name, (form){MICA_F32, MICA_BLOCK_NONE}, MICA_SHAPE((int64_t)count), data, count * sizeof *data);
}

static mica_status add_rotary(plan *p) {
  const mica_foundation_rotary *r = &p->model->info.rotary;
  double *factors = NULL, scale = 1;
  if (r->scaling == MICA_FOUNDATION_SCALING_LONGROPE) {
    MICA_TRY(add_factors(p, "rope_factors_long.weight", r->long_factors, r->count));
    return add_factors(p, "rope_factors_short.weight", r->short_factors, r->count);
  }
  if (r->scaling != MICA_FOUNDATION_SCALING_LLAMA3) return MICA_OK;
  mica_status status = mica__rotary_scale(p->model, r, &factors, &scale);
  if (status == MICA_OK) status = add_factors(p, "rope_freqs.weight", factors, (size_t)p->model->info.rotated / 2);
  free(factors);
  return status;
}

/* Adds all tensors of a GGUF file, with their names. */
static mica_status add_gguf(plan *p) {
  for (size_t i = 0; i < mica_weights_count(p->model->weights); i++) {
    mica__written_tensor t = {.entry = mica_weights_at(p->model->weights, i)};
    t.shape = t.entry->shape;
    snprintf(t.name, sizeof t.name, "%s", t.entry->name);
    MICA_TRY(add_tensor(p, &t));
  }
  return MICA_OK;
}

static bool starts(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static mica_status copy_keys(const plan *p, mica_gguf_keys *keys) {
  const mica_gguf *file = mica_weights_gguf(p->model->weights);
  for (size_t i = 0; i < mica_gguf_key_count(file); i++) {
    const mica_gguf_value *value = mica_gguf_key_at(file, i);
    /* A file that was split into parts becomes one file. */
    if (!starts(value->key, "split.")) MICA_TRY(mica_gguf_keys_add(keys, value));
  }
  return MICA_OK;
}

static mica_status add_file_type(const plan *p, mica_gguf_keys *keys) {
  for (size_t i = 0; p->type && i < sizeof file_types / sizeof *file_types; i++)
    if (!strcmp(file_types[i].name, p->type))
      MICA_TRY(mica_gguf_keys_add_integer(keys, "general.file_type", file_types[i].number));
  bool blocks = false;
  for (size_t i = 0; i < p->count; i++) blocks |= p->list[i].block != MICA_BLOCK_NONE;
  return blocks ? mica_gguf_keys_add_integer(keys, "general.quantization_version", 2) : MICA_OK;
}

static mica_status write_file(plan *p, const char *path, mica_gguf_keys *keys) {
  const bool gguf = mica_weights_gguf(p->model->weights) != NULL;
  size_t count = 0;
  MICA_TRY(read_type(p));
  MICA_TRY(mica_foundation_check(p->model));
  MICA_TRY(gguf ? copy_keys(p, keys) : mica__write_keys(p->model, keys));
  if (!gguf) MICA_TRY(mica__write_text_keys(p->model, keys));
  MICA_TRY(gguf ? add_gguf(p) : mica__names_visit(p->model, add_tensor, p));
  if (p->merge) MICA_TRY(mica__merge_check(p->merge));
  if (!gguf) MICA_TRY(add_rotary(p));
  MICA_TRY(add_file_type(p, keys));
  for (size_t i = 0; i < p->count; i++) p->list[i].name = p->names[i];
  const mica_gguf_value *list = mica_gguf_keys_list(keys, &count);
  return mica_gguf_write(path, list, count, p->list, p->count);
}

static mica_status write_model(const mica_foundation *model, mica__merging *merge, const char *path,
                               const mica_foundation_write_config *config, mica_foundation_written *written) {
  plan p = {.model = model, .merge = merge, .type = config ? config->type : NULL, .tied = model->info.tied};
  mica_gguf_keys *keys = NULL;
  mica_status status = mica_gguf_keys_create(&keys);
  if (status == MICA_OK) status = write_file(&p, path, keys);
  if (status == MICA_OK && written)
    *written = (mica_foundation_written){.tensors = p.count, .converted = p.converted, .bytes = p.bytes};
  for (size_t i = 0; i < p.count; i++) free((void *)(uintptr_t)p.list[i].data);
  free(p.list);
  free(p.names);
  mica_gguf_keys_destroy(keys);
  return status;
}

mica_status mica_foundation_write(const mica_foundation *model, const char *path,
                                  const mica_foundation_write_config *config, mica_foundation_written *written) {
  if (!model || !path) return mica__fail(MICA_E_INVALID, "mica_foundation_write: model or path is NULL");
  return write_model(model, NULL, path, config, written);
}

mica_status mica_foundation_merge(const mica_foundation *model, const mica_adapter *adapter, const char *path,
                                  const mica_foundation_write_config *config, mica_foundation_written *written) {
  mica__merging merge;
  const size_t n = path ? strlen(path) : 0;
  if (!model || !adapter || !path)
    return mica__fail(MICA_E_INVALID, "mica_foundation_merge: model, adapter or path is NULL");
  if (n < 5 || strcmp(path + n - 5, ".gguf") != 0) {
    if (!config || !config->type) return mica__merge_folder(model, adapter, path, written);
    return mica__fail(MICA_E_INVALID,
                      "%s: a folder keeps the types of its tensors; leave out the type, or write to a FILE.gguf", path);
  }
  mica_status status = mica__merge_begin(model, adapter, path, true, &merge);
  if (status == MICA_OK) status = write_model(model, &merge, path, config, written);
  mica__merge_end(&merge);
  return status;
}
