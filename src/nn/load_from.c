/* Reads a network's parameters from a source of weights, with a map of names. */
#include "base/element.h"
#include "base/large.h"
#include "nn/divided.h"
#include "nn/held.h"
#include "nn/name_map.h"
#include "runtime/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALL "mica_nn_load_from"
/* Number of elements converted at a time; a multiple of the elements of any block type. */
#define CHUNK ((int64_t)1 << 18)

/* A parameter, and the tensor it is read from. */
typedef struct reading {
  const mica_nn *nn;
  const char *name, *path;
  mica_tensor *tensor; /* NULL: the session lacks the parameter */
  mica_dtype dtype;
  const mica__division *division;
  const mica_nn_held *held;
  mica_shape shape; /* shape over all ranks */
  int64_t count;    /* number of elements of that shape */
  mica__named_tensor from;
  /* if stacked: index in the parameter of the tensor's first element; shape and count then describe this one tensor */
  int64_t base;
} reading;

static bool is_floating(mica_dtype dtype) {
  return dtype < MICA_DTYPE_COUNT && mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT;
}

/* True if elements are copied unchanged. */
static bool is_plain(const reading *r) {
  if (r->held->block != MICA_BLOCK_NONE) return r->from.form.block == r->held->block;
  return r->from.form.dtype == r->dtype && !(r->from.row.add != 0 && is_floating(r->from.form.dtype));
}

/* Bytes of `count` elements of the parameter; with blocks, count is a multiple of a block's elements. */
static size_t bytes_of(const reading *r, int64_t count) {
  const mica_block block = r->held->block;
  if (block == MICA_BLOCK_NONE) return (size_t)count * mica_dtype_size(r->dtype);
  return (size_t)(count / mica_block_elements(block)) * mica_block_bytes(block);
}

/* --- checks of shapes and blocks --- */

static const char *path_of(const mica_weights *weights, const mica_weight_entry *entry) {
  const mica_weight_file *file = mica_weights_file_at(weights, entry ? entry->file : 0);
  return file ? file->path : "the source of weights";
}

/* The shape that the tensor must have for the parameter. If the map's row is `reshaped`, a tensor with the same number
 * of elements is accepted too. */
static mica_shape shape_of_source(const reading *r) {
  mica_shape shape = r->shape;
  if (r->from.row.of && shape.rank > 0) shape.dim[0] = r->from.row.of;
  if (r->from.row.every) shape.dim[1] *= r->from.row.every;
  if (r->from.row.transposed) {
    const int64_t rows = shape.dim[shape.rank - 2];
    shape.dim[shape.rank - 2] = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] = rows;
  }
  return shape;
}

/* Describes, for a message, what the map's row asks for that a parameter of this rank does not allow. NULL: the row
 * fits. */
static const char *misfit(const reading *r) {
  const mica_name_row *row = &r->from.row;
  const int32_t rank = r->shape.rank;
  if (row->transposed && !(rank == 2 && !row->every) && !(rank == 3 && !row->of)) return "transposed";
  if (row->of && rank == 0) return "as rows of a tensor";
  if (row->every && rank != 2 && rank != 3) return "as indices of a second axis";
  return row->scales && rank != 3 && (row->every || rank != 2) ? "as blocks with scales" : NULL;
}

/* Checks that the tensor of MXFP4 blocks and the tensor of their scales belong together. */
static mica_status check_scales(const reading *r) {
  const mica_weight_entry *entry = r->from.entry, *scales = r->from.scales;
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  if (!scales)
    return mica__fail(MICA_E_FORMAT, "%s: the tensor '%s' has blocks, but the tensor of their scales is missing",
                      r->path, entry->name);
  mica_shape want = entry->shape;
  const bool whole = want.rank >= 2 && want.dim[want.rank - 1] == 16;
  want.rank -= whole;
  if (whole && entry->dtype == MICA_U8 && scales->dtype == MICA_U8 && mica_shape_equal(scales->shape, want))
    return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "%s: MXFP4 blocks must be U8 with 16 bytes each and a U8 scale, but '%s' is %s %s, and '%s' is %s %s", r->path,
      entry->name, entry->type ? entry->type : "?", mica_shape_format(entry->shape, a), scales->name,
      scales->type ? scales->type : "?", mica_shape_format(scales->shape, b));
}

static mica_status check_shape(const reading *r) {
  const mica_weight_entry *entry = &r->from.form;
  const mica_name_row *row = &r->from.row;
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  if (row->of && row->of - row->first < r->shape.dim[0])
    return mica__fail(MICA_E_INVALID,
                      CALL ": the map takes '%s' (%s) from row %lld on, but the tensor has only %lld rows", r->name,
                      mica_shape_format(r->shape, want), (long long)row->first, (long long)row->of);
  const mica_shape shape = shape_of_source(r);
  int64_t count = 0, expected = 0;
  MICA_TRY(mica_shape_count(entry->shape, &count));
  MICA_TRY(mica_shape_count(shape, &expected));
  if (row->reshaped ? count == expected : mica_shape_equal(shape, entry->shape)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the file is of another network: the tensor '%s' is %s, not %s as '%s' needs",
                    r->path, entry->name, mica_shape_format(entry->shape, is), mica_shape_format(shape, want), r->name);
}

/* Sets *one to describe how to read tensor number `part` of a parameter that is stacked from several tensors. */
static mica_status part_of(const reading *r, const mica_weights *weights, int64_t part, reading *one) {
  char text[MICA_SHAPE_TEXT];
  *one = *r;
  if (r->shape.rank < 2 || r->shape.dim[0] != r->from.row.stacked)
    return mica__fail(MICA_E_INVALID,
                      CALL ": the map stacks '%s' from %lld tensors, but the parameter's shape is %s, not (%lld, ...)",
                      r->name, (long long)r->from.row.stacked, mica_shape_format(r->shape, text),
                      (long long)r->from.row.stacked);
  MICA_TRY(mica__name_map_part(&r->from.row, weights, r->name, part, &one->from.entry));
  if (!one->from.entry)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the file is of another network: tensor %lld (from 0) of %lld for '%s' is missing", r->path,
                      (long long)part, (long long)r->from.row.stacked, r->name);
  one->from.form = *one->from.entry;
  one->path = path_of(weights, one->from.entry);
  one->count = r->count / r->shape.dim[0];
  one->base = part * one->count;
  one->shape.rank--;
  for (int32_t i = 0; i < one->shape.rank; i++) one->shape.dim[i] = r->shape.dim[i + 1];
  one->from.row.stacked = 0;
  return MICA_OK;
}

/* Number of elements in a row of the parameter. */
static int64_t width_of(const reading *r) { return r->shape.rank && r->shape.dim[0] ? r->count / r->shape.dim[0] : 0; }

/* Checks that the map does not cut blocks. Rows of the tensor consist of whole blocks, but the parameter's rows can
 * differ from the tensor's. */
static mica_status check_blocks(const reading *r) {
  const mica_weight_entry *entry = &r->from.form;
  const int64_t elements = mica_block_elements(entry->block);
  const bool cut = r->from.row.every && (r->shape.rank < 3 || r->shape.dim[2] % elements != 0);
  if (!r->from.row.transposed && !cut && r->count % elements == 0 && r->from.row.first * width_of(r) % elements == 0)
    return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED,
                    "%s: the tensor '%s' has %s blocks of %lld elements, but the map of '%s' %s them", r->path,
                    entry->name, mica_block_name(entry->block), (long long)elements, r->name,
                    r->from.row.transposed ? "transposes" : "cuts");
}

static mica_status check_type(const reading *r) {
  const mica_weight_entry *entry = &r->from.form;
  const mica_dtype dtype = r->dtype;
  const char *wrong = misfit(r);
  char shape[MICA_SHAPE_TEXT];
  if (wrong)
    return mica__fail(MICA_E_INVALID,
                      CALL ": the map reads '%s' %s, but the parameter's shape, %s, does not allow this", r->name,
                      wrong, mica_shape_format(r->shape, shape));
  if (r->from.row.scales) MICA_TRY(check_scales(r));
  if (r->held->block != MICA_BLOCK_NONE && (!is_plain(r) || r->from.row.add != 0))
    return mica__fail(
        MICA_E_FORMAT, "%s: the tensor '%s' is %s, but '%s' is held in %s blocks, which the map can only copy", r->path,
        entry->name, entry->type ? entry->type : "of an unknown type", r->name, mica_block_name(r->held->block));
  if (entry->block != MICA_BLOCK_NONE && (is_plain(r) || is_floating(dtype))) return check_blocks(r);
  if (is_plain(r) || (is_floating(entry->dtype) && is_floating(dtype))) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the tensor '%s' is %s, which '%s' (%s) cannot hold; convert the file", r->path,
                    entry->name, entry->type ? entry->type : "of an unknown type", r->name, mica_dtype_name(dtype));
}

/* --- elements --- */

/* Finds the parameter's element `first` in a tensor whose elements have the parameter's order. */
static const void *find_bytes(const reading *r, int64_t first) {
  const int64_t at = r->from.row.first * width_of(r) + first;
  const mica_block block = r->from.form.block;
  const size_t bytes = block == MICA_BLOCK_NONE ? (size_t)at * mica_dtype_size(r->from.form.dtype)
                                                : (size_t)(at / mica_block_elements(block)) * mica_block_bytes(block);
  return (const char *)r->from.form.data + bytes;
}

/* Returns a pointer to the elements first to first + count - 1 of the parameter, in row-major order. If the tensor has
 * them in this order, the pointer is into the tensor. Otherwise they are copied to `room`. */
static const void *read_bytes(const reading *r, int64_t first, int64_t count, void *room) {
  if (!r->from.read) return find_bytes(r, first);
  r->from.read(&r->from, r->shape, first, count, room);
  return room;
}

/* Reads elements first to first + count - 1 as floats, and adds the map row's `add`. room: space for count elements of
 * the source. */
static mica_status read_floats(const reading *r, int64_t first, int64_t count, void *room, float *out) {
  const mica_block block = r->from.form.block;
  const void *data = read_bytes(r, first, count, room);
  if (block != MICA_BLOCK_NONE)
    MICA_TRY(mica_block_dequantize(block, data, count, out));
  else
    mica__elements_to_floats(r->from.form.dtype, data, (size_t)count, out);
  const double add = r->from.row.add;
  for (int64_t i = 0; add != 0 && i < count; i++) out[i] = (float)(out[i] + add);
  return MICA_OK;
}

/* Buffers for CHUNK elements: in the source's type, in the parameter's type, and as floats. */
typedef struct chunk {
  char *source, *target;
  float *floats;
} chunk;

static void chunk_free(chunk *c) {
  free(c->source);
  free(c->target);
  free(c->floats);
}

static mica_status chunk_make(chunk *c) {
  *c = (chunk){.source = malloc(CHUNK * sizeof(double)),
               .target = malloc(CHUNK * sizeof(double)),
               .floats = malloc(CHUNK * sizeof(float))};
  if (c->source && c->target && c->floats) return MICA_OK;
  chunk_free(c);
  return mica__fail_nomem("weights");
}

/* Reads elements first to first + count - 1 of the parameter. *part points to them, in the parameter's form: into
 * the file or into the chunk. */
static mica_status read_part(const reading *r, int64_t first, int64_t count, chunk *c, const void **part) {
  const mica_dtype dtype = r->dtype;
  if (is_plain(r)) return *part = read_bytes(r, first, count, c->source), MICA_OK;
  MICA_TRY(read_floats(r, first, count, c->source, c->floats));
  *part = c->floats;
  if (dtype == MICA_F32) return MICA_OK;
  for (int64_t i = 0; i < count; i++) mica__element_set(dtype, c->target, i, c->floats[i]);
  *part = c->target;
  return MICA_OK;
}

static mica_status check_finite(const reading *r, chunk *c) {
  for (int64_t first = 0; first < r->count; first += CHUNK) {
    const int64_t count = r->count - first < CHUNK ? r->count - first : CHUNK;
    MICA_TRY(read_floats(r, first, count, c->source, c->floats));
    for (int64_t i = 0; i < count; i++)
      if (!isfinite(c->floats[i]))
        return mica__fail(MICA_E_FORMAT,
                          "%s: element %lld of the weight '%s' (read from the tensor '%s') is infinite or NaN", r->path,
                          (long long)(first + i), r->name, r->from.entry->name);
  }
  return MICA_OK;
}

static mica_status check_one(const reading *r, const mica_name_map *map, chunk *c) {
  MICA_TRY(check_type(r));
  MICA_TRY(check_shape(r));
  const bool finite = (r->from.form.block != MICA_BLOCK_NONE || is_floating(r->from.form.dtype)) &&
                      (r->shape.rank == 1 || (map && map->finite));
  return finite ? check_finite(r, c) : MICA_OK;
}

static mica_status check(const reading *r, const mica_weights *weights, const mica_name_map *map, chunk *c) {
  if (!r->from.row.stacked) return check_one(r, map, c);
  for (int64_t part = 0; part < r->from.row.stacked; part++) {
    reading one;
    MICA_TRY(part_of(r, weights, part, &one));
    MICA_TRY(check_one(&one, map, c));
  }
  return MICA_OK;
}

/* --- filling --- */

static mica_status upload(const reading *r, int64_t first, int64_t count, const void *data) {
  mica_queue *queue = mica_engine_queue(mica_tensor_engine(r->tensor));
  mica_tensor *part = NULL;
  const int64_t size = (int64_t)mica_dtype_size(r->dtype);
  const int64_t from = (int64_t)bytes_of(r, r->base + first) / size, elements = (int64_t)bytes_of(r, count) / size;
  MICA_TRY(mica_tensor_view(r->tensor, MICA_SHAPE(elements), NULL, from, &part));
  mica_status status = mica_tensor_upload(queue, part, data, mica_tensor_bytes(part));
  mica_tensor_destroy(part);
  return status;
}

/* Reads the whole parameter, and uploads this rank's part of it. */
static mica_status fill_divided(const reading *r, chunk *c) {
  const mica_communicator *ranks = r->nn->config.tensor_ranks;
  const size_t size = mica_dtype_size(r->dtype), own = mica_tensor_bytes(r->tensor);
  char *whole = malloc((size_t)r->count * size + own + 1);
  if (!whole) return mica__fail_nomem("weights");
  char *part = whole + (size_t)r->count * size;
  mica_status status = MICA_OK;
  for (int64_t first = 0; status == MICA_OK && first < r->count; first += CHUNK) {
    const int64_t count = r->count - first < CHUNK ? r->count - first : CHUNK;
    const void *read = NULL;
    status = read_part(r, first, count, c, &read);
    if (status == MICA_OK) memcpy(whole + (size_t)first * size, read, (size_t)count * size);
  }
  mica__division_copy(r->division, mica_tensor_shape(r->tensor), size, ranks->ranks, ranks->rank, whole, part, false);
  if (status == MICA_OK)
    status = mica_tensor_upload(mica_engine_queue(mica_tensor_engine(r->tensor)), r->tensor, part, own);
  free(whole);
  return status;
}

static mica_status fill(const reading *r, const mica_weights *weights, chunk *c) {
  for (int64_t part = 0; part < r->from.row.stacked; part++) {
    reading one;
    MICA_TRY(part_of(r, weights, part, &one));
    MICA_TRY(fill(&one, weights, c));
  }
  if (r->from.row.stacked) return MICA_OK;
  if (mica__is_divided(r->division)) return fill_divided(r, c);
  mica_status status = MICA_OK;
  for (int64_t first = 0; status == MICA_OK && first < r->count; first += CHUNK) {
    const int64_t count = r->count - first < CHUNK ? r->count - first : CHUNK;
    const void *read = NULL;
    status = read_part(r, first, count, c, &read);
    if (status == MICA_OK) status = upload(r, first, count, read);
  }
  return status;
}

/* --- all parameters --- */

typedef struct loading {
  const mica_nn *nn;
  mica_session *session;
  const mica_weights *weights;
  const mica_name_map *map;
  chunk chunk;
} loading;

/* Describes in *r how to read parameter i. r->tensor is NULL if there is no session, if the session does not have the
 * parameter, or if the parameter belongs to the optimiser. */
static mica_status look(const loading *l, size_t i, reading *r) {
  const mica_nn_parameter_info *info = mica_nn_parameter_at(l->nn, i);
  const mica_shape part = mica_value_shape(info->value);
  *r = (reading){.nn = l->nn,
                 .name = info->own_name,
                 .division = mica__nn_division(l->nn, i),
                 .held = &info->held,
                 .dtype = mica_value_dtype(info->value)};
  if (info->role == MICA_NN_ROLE_OPTIMIZER) return MICA_OK;
  MICA_TRY(mica__name_map_find(l->map, l->weights, info->own_name, &r->from));
  r->path = path_of(l->weights, r->from.entry);
  r->tensor = l->session ? mica_session_parameter(l->session, info->name) : NULL;
  r->shape = mica__nn_held_shape(r->held, mica__division_whole(r->division, part));
  return mica_shape_count(r->shape, &r->count);
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const mica_weight_entry *const *)a,
                  y = (uintptr_t) * (const mica_weight_entry *const *)b;
  return (x > y) - (x < y);
}

/* Checks that each tensor of the source is used by a parameter, or named as unused by the map. */
static mica_status check_complete(const loading *l, const mica_weight_entry **taken, size_t count) {
  qsort(taken, count, sizeof(const mica_weight_entry *), by_address);
  for (size_t i = 0; i < mica_weights_count(l->weights); i++) {
    const mica_weight_entry *entry = mica_weights_at(l->weights, i);
    if (bsearch(&entry, taken, count, sizeof(const mica_weight_entry *), by_address) ||
        mica__name_map_drops(l->map, entry->name))
      continue;
    return mica__fail(MICA_E_FORMAT, "%s: this network has no parameter for the tensor '%s'",
                      path_of(l->weights, entry), entry->name);
  }
  return MICA_OK;
}

static void note(const mica_weight_entry *entry, const mica_weight_entry **taken, size_t *count) {
  size_t known = 0;
  while (known < *count && taken[known] != entry) known++;
  if (known == *count) taken[(*count)++] = entry;
}

/* Adds the tensors that a parameter reads to `taken`. The parameter's first tensor is always added, which makes one
 * entry per parameter. Scales and the other tensors of a stack are added only once, so they need at most one entry per
 * tensor. `taken` has room for both. */
static mica_status take(const loading *l, const reading *r, const mica_weight_entry **taken, size_t *count) {
  const bool fits = r->shape.rank >= 2 && r->shape.dim[0] == r->from.row.stacked;
  taken[(*count)++] = r->from.entry;
  if (r->from.scales) note(r->from.scales, taken, count);
  for (int64_t part = 1; fits && part < r->from.row.stacked; part++) {
    const mica_weight_entry *entry = NULL;
    MICA_TRY(mica__name_map_part(&r->from.row, l->weights, r->name, part, &entry));
    if (entry) note(entry, taken, count);
  }
  return MICA_OK;
}

static mica_status check_all(loading *l, const mica_weight_entry **taken, size_t *missing) {
  size_t count = 0, lacking = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(l->nn); i++) {
    reading r;
    MICA_TRY(look(l, i, &r));
    if (r.from.entry) MICA_TRY(take(l, &r, taken, &count));
    if (!r.tensor) continue;
    lacking += !r.from.entry;
    if (!r.from.entry && missing) continue;
    if (!r.from.entry)
      return mica__fail(MICA_E_FORMAT, "%s: the file is of another network: there is no tensor for '%s'", r.path,
                        r.name);
    MICA_TRY(check(&r, l->weights, l->map, &l->chunk));
  }
  if (l->map && l->map->complete) MICA_TRY(check_complete(l, taken, count));
  if (missing) *missing = lacking;
  return MICA_OK;
}

static mica_status fill_all(loading *l) {
  mica_queue *queue = NULL;
  for (size_t i = 0; i < mica_nn_parameter_count(l->nn); i++) {
    reading r;
    MICA_TRY(look(l, i, &r));
    if (!r.tensor || !r.from.entry || mica__tensor_is_read_only(r.tensor)) continue;
    MICA_TRY(fill(&r, l->weights, &l->chunk));
    queue = mica_engine_queue(mica_tensor_engine(r.tensor));
  }
  return queue ? mica_queue_finish(queue) : MICA_OK;
}

mica_status mica_nn_load_from(const mica_nn *nn, mica_session *session, const mica_weights *weights,
                              const mica_name_map *map, size_t *missing) {
  if (!nn || !session || !weights) return mica__fail(MICA_E_INVALID, CALL ": a pointer is NULL");
  MICA_TRY(mica__name_map_check(CALL, map));
  loading l = {.nn = nn, .session = session, .weights = weights, .map = map};
  const size_t room = mica_nn_parameter_count(nn) + mica_weights_count(weights) + 1;
  const mica_weight_entry **taken = calloc(room, sizeof *taken);
  if (!taken) return mica__fail_nomem("weights");
  mica_status status = chunk_make(&l.chunk);
  if (status == MICA_OK) {
    status = check_all(&l, taken, missing);
    if (status == MICA_OK) status = fill_all(&l);
    chunk_free(&l.chunk);
  }
  free(taken);
  return status;
}

/* --- bindings --- */

struct mica_bindings {
  mica_binding *list;
  size_t count;
};

const mica_binding *mica_bindings_list(const mica_bindings *bindings, size_t *count) {
  if (count) *count = bindings ? bindings->count : 0;
  return bindings ? bindings->list : NULL;
}

void mica_bindings_destroy(mica_bindings *bindings) {
  if (!bindings) return;
  for (size_t i = 0; i < bindings->count; i++) {
    mica_tensor_destroy(bindings->list[i].tensor);
    free((char *)bindings->list[i].name);
  }
  free(bindings->list);
  free(bindings);
}

static void close_weights(void *weights) { mica_weights_close(weights); }
static void free_memory(void *memory) { free(memory); }

/* Makes a tensor of the parameter's type whose data begin `before` bytes after `memory`. When the tensor no longer
 * needs the memory, or after a failure, release(owner) is called. */
static mica_status tensor_over(mica_engine *engine, const reading *r, const char *memory, size_t before,
                               void (*release)(void *), void *owner, mica_tensor **tensor) {
  const mica__type type = mica__nn_held_type(r->held, r->shape);
  mica_buffer *buffer = NULL;
  mica_status status = mica_buffer_wrap_memory(engine, memory, before + bytes_of(r, r->count), release, owner, &buffer);
  if (status != MICA_OK) release(owner);
  if (status == MICA_OK) status = mica_tensor_wrap(buffer, before, type.dtype, type.shape, tensor);
  mica_buffer_destroy(buffer);
  return status;
}

/* Returns the address of the parameter's elements in the file if a tensor can use them there, else NULL. *before
 * receives the number of bytes from the start of the tensor's buffer to these elements. */
static const char *find_in_file(const reading *r, const mica_weights *weights, bool in_place, size_t *before) {
  if (!is_plain(r) || r->from.read || r->from.row.stacked) return NULL;
  const mica_weight_file *file = mica_weights_file_at(weights, r->from.entry->file);
  const char *at = find_bytes(r, 0);
  const size_t past = (uintptr_t)at % MICA__TENSOR_ALIGNMENT;
  *before = in_place ? past : 0;
  if (past && in_place && r->held->block == MICA_BLOCK_NONE) return NULL;
  return file && at - *before >= (const char *)file->data ? at : NULL;
}

/* Converts all elements into the parameter's memory. */
static mica_status copy_into(const reading *r, chunk *c, char *memory) {
  for (int64_t first = 0; first < r->count; first += CHUNK) {
    const int64_t count = r->count - first < CHUNK ? r->count - first : CHUNK;
    const void *read = NULL;
    MICA_TRY(read_part(r, first, count, c, &read));
    memcpy(memory + bytes_of(r, r->base + first), read, bytes_of(r, count));
  }
  return MICA_OK;
}

static mica_status read_into_memory(mica_engine *engine, const reading *r, const mica_weights *weights, chunk *c,
                                    mica_tensor **tensor) {
  char *memory = mica__alloc_large(bytes_of(r, r->count) + 1);
  mica_status status = memory ? MICA_OK : mica__fail_nomem("weights");
  for (int64_t part = 0; status == MICA_OK && part < r->from.row.stacked; part++) {
    reading one;
    status = part_of(r, weights, part, &one);
    if (status == MICA_OK) status = copy_into(&one, c, memory);
  }
  if (status == MICA_OK && !r->from.row.stacked) status = copy_into(r, c, memory);
  if (status == MICA_OK) return tensor_over(engine, r, memory, 0, free_memory, memory, tensor);
  free(memory);
  return status;
}

static mica_status bind_one(const loading *l, mica_engine *engine, mica_weights *weights, reading *r, chunk *c,
                            mica_tensor **tensor) {
  const bool in_place = mica_engine_device(engine)->device_class == MICA_DEVICE_CLASS_CPU;
  size_t before = 0;
  if (!r->from.entry)
    return mica__fail(MICA_E_FORMAT, "%s: the file is of another network: there is no tensor for '%s'", r->path,
                      r->name);
  MICA_TRY(check(r, weights, l->map, c));
  const char *at = find_in_file(r, weights, in_place, &before);
  if (at) return tensor_over(engine, r, at - before, before, close_weights, mica_weights_retain(weights), tensor);
  return read_into_memory(engine, r, weights, c, tensor);
}

static mica_status bind_all(const loading *l, mica_engine *engine, mica_weights *weights, mica_bindings *bindings) {
  chunk c;
  MICA_TRY(chunk_make(&c));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < mica_nn_parameter_count(l->nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(l->nn, i);
    reading r;
    if (!mica__nn_is_held(&info->held) && !info->held.frozen) continue;
    status = look(l, i, &r);
    if (status != MICA_OK || mica__is_divided(r.division)) continue;
    mica_binding *binding = &bindings->list[bindings->count];
    *binding = (mica_binding){.name = strdup(info->name)};
    bindings->count++;
    status = binding->name ? bind_one(l, engine, weights, &r, &c, &binding->tensor) : mica__fail_nomem("bindings");
  }
  chunk_free(&c);
  return status;
}

mica_status mica_nn_bind(const mica_nn *nn, mica_engine *engine, mica_weights *weights, const mica_name_map *map,
                         mica_bindings **out) {
  if (!nn || !engine || !weights || !out) return mica__fail(MICA_E_INVALID, "mica_nn_bind: a pointer is NULL");
  MICA_TRY(mica__name_map_check("mica_nn_bind", map));
  const loading l = {.nn = nn, .weights = weights, .map = map};
  mica_bindings *bindings = calloc(1, sizeof *bindings);
  if (bindings) bindings->list = calloc(mica_nn_parameter_count(nn) + 1, sizeof *bindings->list);
  mica_status status = bindings && bindings->list ? MICA_OK : mica__fail_nomem("bindings");
  if (status == MICA_OK) status = bind_all(&l, engine, weights, bindings);
  if (status == MICA_OK)
    *out = bindings;
  else
    mica_bindings_destroy(bindings);
  return status;
}
