#include "base/text.h"
#include "foundation/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LLAMA MICA__NAMING_LLAMA
#define GPT2 MICA__NAMING_GPT2
#define BERT MICA__NAMING_BERT
#define DISTILBERT MICA__NAMING_DISTILBERT
#define VIT MICA__NAMING_VIT
#define CLIP MICA__NAMING_CLIP
#define CLIP_VISION MICA__NAMING_CLIP_VISION
#define WHISPER MICA__NAMING_WHISPER
#define WHISPER_ENCODER MICA__NAMING_WHISPER_ENCODER
#define AROUND MICA_FOUNDATION_NORMS_AROUND
#define CLASSIFY MICA_FOUNDATION_TASK_CLASSIFY
#define MIXTRAL MICA__EXPERTS_MIXTRAL
#define QWEN MICA__EXPERTS_QWEN
#define GPTOSS MICA__EXPERTS_GPTOSS
#define PLAIN (family->experts == MICA__EXPERTS_NONE)
#define V i->vocabulary
#define W i->width
#define H i->hidden
#define Q (i->heads * i->head_size)
#define K (i->groups * i->head_size)
#define T i->context
#define PATCH (i->channels * i->patch * i->patch)

#define MOST_NAME 200

typedef enum how {
  NEEDED,
  OPTIONAL,
  TRANSPOSED,
  LEADING,
  FILTERS,
  SPANS,
  EXPERTS,
  EXPERTS_JOINT,
  EXPERTS_EVEN,
  EXPERTS_ODD,
  EVEN,
  ODD
} how;

/* A row of names.def, evaluated for one model. */
typedef struct row {
  mica__naming layout;
  bool wanted;
  const char *own, *folder, *gguf;
  how how;
  int64_t rows, columns;
  const mica_foundation_info *info;
} row;

static int64_t layers_of(const row *r) { return strchr(r->folder, '#') ? r->info->layers : 1; }

static const struct {
  mica__naming layout;
  const char *part;
} drops[] = {
#define NAME(layout, condition, own, folder, gguf, how, rows, columns)
#define DROP(layout, part) {layout, part},
#include "foundation/names.def"
#undef NAME
#undef DROP
};

typedef struct check {
  const char *path;
  const mica__family *family;
  const mica_foundation_info *info;
  const mica_weights *weights;
  bool gguf, *seen;
} check;

/* Writes a prefix of n bytes, then the name with the layer's number for #. */
static const char *spell(const char *prefix, size_t n, const char *name, int64_t layer, char text[MOST_NAME]) {
  const char *hash = strchr(name, '#');
  if (hash)
    snprintf(text, MOST_NAME, "%.*s%.*s%" PRId64 "%s", (int)n, prefix, (int)(hash - name), name, layer, hash + 1);
  else
    snprintf(text, MOST_NAME, "%.*s%s", (int)n, prefix, name);
  return text;
}

/* True if a folder has all experts' matrices in one tensor. */
static bool is_joint(const row *r) { return r->how >= EXPERTS_JOINT && r->how <= EXPERTS_ODD; }

/* True if a folder has the row's matrices as blocks and scales. */
static bool is_packed(const row *r, bool gguf) { return is_joint(r) && !gguf && r->info->mxfp4_experts; }

/* 2 if the parameter is only every second row of a folder's matrices, or only every second number in each row of a
 * folder's tensor; 0 if it is the whole tensor. */
static int64_t every_of(const row *r) {
  return r->how == EXPERTS_EVEN || r->how == EXPERTS_ODD || r->how == EVEN || r->how == ODD ? 2 : 0;
}

/* A copy of the row with an ending added to its folder name. */
static row with_ending(const row *r, const char *ending, char name[MOST_NAME]) {
  row one = *r;
  snprintf(name, MOST_NAME, "%s%s", r->folder, ending);
  one.folder = name;
  return one;
}

/* The number of tensors that hold a row of one layer: one per expert for EXPERTS in a folder, else one. */
static int64_t parts_of(const row *r, bool gguf) { return r->how == EXPERTS && !gguf ? r->info->experts : 1; }

/* Finds tensor number `part` of a row. `text` receives the name that was found. If the tensor is missing, returns NULL,
 * and `text` receives the expected name: in a folder, with the family's first prefix. */
static const mica_weight_entry *find(const mica__family *family, const mica_weights *weights, bool gguf, const row *r,
                                     int64_t layer, int64_t part, char text[MOST_NAME]) {
  char name[MOST_NAME];
  const char *at = strchr(r->folder, '@');
  row one = *r;
  if (at && !gguf)
    snprintf(name, sizeof name, "%.*s%" PRId64 "%s", (int)(at - r->folder), r->folder, part, at + 1);
  else
    snprintf(name, sizeof name, "%s", r->folder);
  one.folder = name;
  r = &one;
  const mica_weight_entry *entry = mica_weights_find(weights, spell("", 0, gguf ? r->gguf : r->folder, layer, text));
  const char *prefix = family->prefix;
  while (!entry && !gguf && *prefix) {
    const size_t n = strcspn(prefix, "|");
    entry = mica_weights_find(weights, spell(prefix, n, r->folder, layer, text));
    prefix += n + (prefix[n] == '|');
  }
  if (!entry && !gguf) spell(family->prefix, strcspn(family->prefix, "|"), r->folder, layer, text);
  return entry;
}

/* The shape that the tensor must have in the file. */
static mica_shape shape_of(const row *r, bool gguf) {
  const int64_t patch = r->info->patch, times = every_of(r) ? every_of(r) : 1;
  if (is_joint(r) && !gguf) return MICA_SHAPE(r->info->experts, r->columns, times * r->rows);
  if (is_joint(r)) return MICA_SHAPE(r->info->experts, r->rows, r->columns);
  if (times > 1 && !gguf) return MICA_SHAPE(r->rows, times * r->columns);
  if (r->how == TRANSPOSED && !gguf) return MICA_SHAPE(r->columns, r->rows);
  if (r->how == FILTERS) return MICA_SHAPE(r->rows, r->info->channels, patch, patch);
  if (r->how == SPANS) return MICA_SHAPE(r->rows, r->columns, 3);
  if (r->how == EXPERTS && gguf) return MICA_SHAPE(r->info->experts, r->rows, r->columns);
  if (r->how == LEADING) return r->columns ? MICA_SHAPE(1, r->rows, r->columns) : MICA_SHAPE(1, 1, r->rows);
  return r->columns ? MICA_SHAPE(r->rows, r->columns) : MICA_SHAPE(r->rows);
}

static mica_status check_one(const check *c, const row *r, int64_t layer, int64_t part, mica_shape shape) {
  char name[MOST_NAME], want[MICA_SHAPE_TEXT], got[MICA_SHAPE_TEXT];
  const mica_weight_entry *entry = find(c->family, c->weights, c->gguf, r, layer, part, name);
  if (!entry && r->how == OPTIONAL) return MICA_OK;
  if (!entry)
    return mica__fail(MICA_E_FORMAT, "%s: the tensor \"%s\" of the family %s is missing", c->path, name,
                      c->family->name);
  if (!mica_shape_equal(entry->shape, shape))
    return mica__fail(MICA_E_FORMAT, "%s: the tensor \"%s\" has the shape %s; by the model's sizes it must be %s",
                      c->path, name, mica_shape_format(entry->shape, got), mica_shape_format(shape, want));
  c->seen[entry - mica_weights_at(c->weights, 0)] = true;
  return MICA_OK;
}

/* Checks a tensor of MXFP4 blocks ("_blocks") or of their scales ("_scales"): its shape, and that its type is U8. */
static mica_status check_bytes(const check *c, const row *r, const char *ending, int64_t layer, mica_shape shape) {
  char name[MOST_NAME], spelled[MOST_NAME];
  const row one = with_ending(r, ending, name);
  MICA_TRY(check_one(c, &one, layer, 0, shape));
  const mica_weight_entry *entry = find(c->family, c->weights, c->gguf, &one, layer, 0, spelled);
  if (entry->dtype == MICA_U8) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the tensor \"%s\" is %s, but must be U8 for MXFP4", c->path, spelled,
                    entry->type ? entry->type : "of an unknown type");
}

static mica_status check_packed(const check *c, const row *r, int64_t layer) {
  const int64_t experts = r->info->experts, rows = (every_of(r) ? 2 : 1) * r->rows, blocks = r->columns / 32;
  if (r->columns % 32)
    return mica__fail(MICA_E_FORMAT,
                      "%s: rows of the experts' weights have %" PRId64
                      " numbers, but must have a multiple of 32, the block size of MXFP4",
                      c->path, r->columns);
  MICA_TRY(check_bytes(c, r, "_blocks", layer, MICA_SHAPE(experts, rows, blocks, 16)));
  return check_bytes(c, r, "_scales", layer, MICA_SHAPE(experts, rows, blocks));
}

/* Calls `visit` for the rows of names.def that describe tensors of this network. Stops at the first failure. */
static mica_status visit_network(const mica__family *family, const mica_foundation_info *i,
                                 mica_status (*visit)(const row *, void *), void *user) {
  const row rows[] = {
#define NAME(layout, condition, own, folder, gguf, how, rows, columns)                                                 \
  {layout, condition, own, folder, gguf, how, rows, columns, i},
#define DROP(layout, part)
#include "foundation/names.def"
#undef NAME
#undef DROP
  };
  _Static_assert(sizeof rows / sizeof *rows <= MICA__MOST_NAME_ROWS, "a map has room for all rows");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    if (rows[r].layout == family->names && rows[r].wanted) MICA_TRY(visit(&rows[r], user));
  return MICA_OK;
}

static mica_status visit_rows(const mica__family *family, const mica_foundation_info *i,
                              mica_status (*visit)(const row *, void *), void *user) {
  MICA_TRY(visit_network(family, i, visit, user));
  if (i->sound) return visit_network(mica__family_named(family->sound), i->sound, visit, user);
  return i->vision ? visit_network(mica__family_named(family->vision), i->vision, visit, user) : MICA_OK;
}

static mica_status check_row(const row *r, void *user) {
  const check *c = user;
  const int64_t layers = layers_of(r);
  for (int64_t layer = 0; layer < layers; layer++) {
    if (is_packed(r, c->gguf)) {
      MICA_TRY(check_packed(c, r, layer));
      continue;
    }
    for (int64_t part = 0; part < parts_of(r, c->gguf); part++)
      MICA_TRY(check_one(c, r, layer, part, shape_of(r, c->gguf)));
  }
  return MICA_OK;
}

static bool is_dropped(const check *c, const char *name) {
  for (size_t d = 0; d < sizeof drops / sizeof *drops; d++)
    if (drops[d].layout == c->family->names && strstr(name, drops[d].part)) return true;
  return false;
}

mica_status mica__names_check(const char *path, const mica__family *family, const mica_foundation_info *info,
                              const mica_weights *weights, bool gguf) {
  const size_t count = mica_weights_count(weights);
  const check c = {path, family, info, weights, gguf, calloc(count + 1, sizeof(bool))};
  if (!c.seen) return mica__fail_nomem(path);
  mica_status status = visit_rows(family, info, check_row, (void *)&c);
  for (size_t t = 0; status == MICA_OK && t < count; t++) {
    const char *name = mica_weights_at(weights, t)->name;
    if (!c.seen[t] && !is_dropped(&c, name))
      status = mica__fail(MICA_E_FORMAT,
                          "%s has the tensor \"%.200s\", but a model of the family %s with this configuration "
                          "(layers: %" PRId64 ") has no such tensor",
                          path, name, family->name, info->layers);
  }
  free(c.seen);
  return status;
}

/* --- a map of names --- */

typedef struct mapping {
  const mica_foundation *model;
  bool gguf; /* names are GGUF's */
  mica__name_rows *rows;
} mapping;

/* Adds the names that a tensor may have, separated by '|'. For GGUF this is one name. For a folder it is the name
 * without a prefix and then with each of the family's prefixes: "X|model.X|...". */
static mica_status add_sources(const mapping *m, const row *r, mica__text *text) {
  mica__text_addf(text, "%s", m->gguf ? r->gguf : r->folder);
  for (const char *prefix = m->model->family->prefix; !m->gguf && *prefix;) {
    const size_t n = strcspn(prefix, "|");
    mica__text_addf(text, "|%.*s%s", (int)n, prefix, r->folder);
    prefix += n + (prefix[n] == '|');
  }
  return mica__text_status(text);
}

/* The fields of a name map's row that say how the files store the elements. The caller fills the names and `add`. */
static mica_name_row order_of(const row *r, bool gguf) {
  return (mica_name_row){.every = gguf ? 0 : every_of(r),
                         .phase = !gguf && (r->how == EXPERTS_ODD || r->how == ODD),
                         .transposed = !gguf && !is_packed(r, gguf) && (r->how == TRANSPOSED || is_joint(r)),
                         .reshaped = r->how == LEADING || r->how == FILTERS,
                         .stacked = r->how == EXPERTS && !gguf ? r->info->experts : 0};
}

static mica_status sources_of(const mapping *m, const row *r, const char *ending, char **sources) {
  char name[MOST_NAME];
  mica__text text = {0};
  const row one = with_ending(r, ending, name);
  const mica_status status = add_sources(m, &one, &text);
  if (status == MICA_OK)
    *sources = text.data;
  else
    mica__text_free(&text);
  return status;
}

static mica_status map_row(const row *r, void *user) {
  const mapping *m = user;
  mica__name_rows *rows = m->rows;
  const bool packed = is_packed(r, m->gguf);
  char **sources = &rows->sources[rows->count], **scales = &rows->scales[rows->count];
  rows->count++;
  MICA_TRY(sources_of(m, r, packed ? "_blocks" : "", sources));
  if (packed) MICA_TRY(sources_of(m, r, "_scales", scales));
  mica_name_row *made = &rows->rows[rows->count - 1];
  *made = order_of(r, m->gguf);
  made->own = r->own;
  made->source = *sources;
  made->scales = *scales;
  made->add = m->model->info.norm_plus_one && r->columns == 0 && strstr(r->own, "norm") ? 1 : 0;
  return MICA_OK;
}

mica_status mica__names_rows(const mica_foundation *model, bool gguf, mica__name_rows *rows) {
  mapping m = {model, gguf, rows};
  *rows = (mica__name_rows){0};
  const mica_status status = visit_rows(model->family, &model->info, map_row, &m);
  if (status != MICA_OK) mica__name_rows_free(rows);
  return status;
}

void mica__name_rows_free(mica__name_rows *rows) {
  for (size_t r = 0; r < rows->count; r++) {
    free(rows->sources[r]);
    free(rows->scales[r]);
  }
  rows->count = 0;
}

/* --- tensors to write --- */

typedef struct visitor {
  const mica_foundation *model;
  mica_status (*visit)(void *user, const mica__written_tensor *tensor);
  void *user;
} visitor;

/* True for the weights and biases of q and k. In a folder, rows i and i + size / 2 of each head form a rotary pair. A
 * GGUF file of an interleaved family has the rows of a pair side by side. */
static bool is_rotated(const row *r) { return strstr(r->own, ".q_proj.") || strstr(r->own, ".k_proj."); }

/* Finds the folder's tensor of a row whose elements a folder stores in another order than GGUF. At least one of these
 * statements is true of the tensor:
 * - the tensor has the matrices of all experts,
 * - the parameter is only every second row (or number) of the tensor. */
static mica_status find_joint(const mica_foundation *m, const row *r, int64_t layer, mica__named_tensor *joint) {
  char own[MOST_NAME];
  const mica_name_map map = {.rows = m->rows.rows, .count = m->rows.count};
  return mica__name_map_find(&map, m->weights, spell("", 0, r->own, layer, own), joint);
}

/* Finds the tensors that hold a row in one layer, and calls the visitor once for all of them. parts[p] becomes NULL if
 * tensor p is missing. Does not call the visitor if the first tensor is missing. */
static mica_status visit_layer(const visitor *v, const row *r, int64_t layer, const mica_weight_entry **parts) {
  const mica_foundation *m = v->model;
  const int64_t count = parts_of(r, false);
  char name[MOST_NAME];
  for (int64_t p = 0; p < count; p++) parts[p] = find(m->family, m->weights, false, r, layer, p, name);
  mica__written_tensor t = {
      .entry = parts[0],
      .parts = r->how == EXPERTS ? parts : NULL,
      .shape = {.rank = r->columns ? 2 : 1, .dim = {r->rows, r->columns}},
      .transposed = r->how == TRANSPOSED,
      .add = m->info.norm_plus_one && r->columns == 0 && strstr(r->own, "norm") ? 1 : 0,
      .head_size = m->family->interleaved && is_rotated(r) ? m->info.head_size : 0,
  };
  if (is_joint(r) || every_of(r)) {
    MICA_TRY(find_joint(m, r, layer, &t.joint));
    t.entry = t.joint.entry ? &t.joint.form : NULL;
    if (is_joint(r)) t.shape = MICA_SHAPE(r->info->experts, r->rows, r->columns);
  }
  if (!t.entry) return MICA_OK;
  if (t.parts) t.shape = MICA_SHAPE(count, r->rows, r->columns);
  snprintf(t.name, sizeof t.name, "%s", spell("", 0, r->gguf, layer, name));
  return v->visit(v->user, &t);
}

static mica_status visit_row(const row *r, void *user) {
  const visitor *v = user;
  const int64_t layers = layers_of(r);
  mica_status status = MICA_OK;
  if (v->model->info.tied && !strcmp(r->own, "head.weight")) return MICA_OK;
  const mica_weight_entry **parts = calloc((size_t)parts_of(r, false), sizeof *parts);
  if (!parts) return mica__fail_nomem(v->model->path);
  for (int64_t layer = 0; status == MICA_OK && layer < layers; layer++) status = visit_layer(v, r, layer, parts);
  free(parts);
  return status;
}

mica_status mica__names_visit(const mica_foundation *model,
                              mica_status (*visit)(void *user, const mica__written_tensor *tensor), void *user) {
  visitor v = {model, visit, user};
  return visit_rows(model->family, &model->info, visit_row, &v);
}
