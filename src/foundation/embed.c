/* Computes vectors of texts. One network turns tokens into features and pools them. Texts of similar length are run
 * together. */
#include "foundation/embed.h"

#include "base/element.h"

#include <mica/device.h>
#include <mica/nodes.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STANDARD_BATCH_TOKENS 1024
/* The length of a run is rounded up: to a multiple of FINE_STEP if it is at most FINE_LIMIT, else to a multiple of
 * COARSE_STEP, but never above the maximum number of tokens. This keeps both the number of compiled plans and the
 * padding small. */
#define FINE_STEP 4
#define FINE_LIMIT 64
#define COARSE_STEP 32

/* --- making an embedder --- */

static mica_value pool(const mica_embedder *e, mica_value x, mica_value lengths) {
  switch (e->form.pooling) {
  case MICA_EMBED_POOLING_CLS: return mica_last_rows(x, mica_full_like(lengths, 1));
  case MICA_EMBED_POOLING_LAST: return mica_last_rows(x, lengths);
  case MICA_EMBED_POOLING_MODEL:
  case MICA_EMBED_POOLING_MEAN:
  case MICA_EMBED_POOLING_COUNT: break;
  }
  return mica_mean_rows(x, lengths);
}

static mica_status choose_form(mica_embedder *e, const mica_embedder_config *c) {
  const mica_foundation_info *info = &e->model->info;
  const int64_t most = mica_foundation_context(e->model) - info->first_position;
  MICA_TRY(mica__embed_form_find(e->model, &e->form));
  if (c->pooling < 0 || c->pooling >= MICA_EMBED_POOLING_COUNT || c->scale < 0 || c->scale > MICA_EMBED_SCALE_UNIT)
    return mica__fail(
        MICA_E_INVALID,
        "mica_embedder_create: pooling (%d) must be a mica_embed_pooling, and scale (%d) a mica_embed_scale",
        (int)c->pooling, (int)c->scale);
  if (c->most_tokens < 0 || c->most_tokens > most)
    return mica__fail(MICA_E_INVALID,
                      "mica_embedder_create: most_tokens is %" PRId64 ", but must be from 0 to the %" PRId64
                      " positions that the model has",
                      c->most_tokens, most);
  if (c->batch_tokens < 0 || c->batch_tokens > INT32_MAX)
    return mica__fail(MICA_E_INVALID, "mica_embedder_create: batch_tokens is %" PRId64 ", but must be from 0 to %d",
                      c->batch_tokens, INT32_MAX);
  if (c->pooling != MICA_EMBED_POOLING_MODEL && info->projection)
    return mica__fail(MICA_E_INVALID, "%s: models of the family %s have their own pooling; leave pooling out",
                      e->model->path, info->family);
  if (c->pooling == MICA_EMBED_POOLING_LAST && info->picture)
    return mica__fail(MICA_E_INVALID, "%s: pictures have no last token; pool by mean or cls", e->model->path);
  if (info->projection) e->form.pooling = MICA_EMBED_POOLING_LAST;
  if (info->picture) e->form.pooling = MICA_EMBED_POOLING_CLS;
  if (c->pooling != MICA_EMBED_POOLING_MODEL) e->form.pooling = c->pooling;
  if (e->form.pooling == MICA_EMBED_POOLING_MODEL)
    e->form.pooling = info->task == MICA_FOUNDATION_TASK_GENERATE ? MICA_EMBED_POOLING_LAST : MICA_EMBED_POOLING_MEAN;
  if (c->scale != MICA_EMBED_SCALE_MODEL) e->form.unit = c->scale == MICA_EMBED_SCALE_UNIT;
  if (c->classes) e->form.unit = false;
  if (c->most_tokens) e->form.most_tokens = c->most_tokens;
  if (!e->form.most_tokens || e->form.most_tokens > most) e->form.most_tokens = most;
  e->batch_tokens = c->batch_tokens ? c->batch_tokens : STANDARD_BATCH_TOKENS;
  return MICA_OK;
}

static mica_status make_texts(mica_embedder *e) {
  const bool projected = e->model->info.projection > 0 || e->classes;
  if (!e->tokenizer) MICA_TRY(mica_foundation_tokenizer(e->model, &e->tokenizer));
  MICA_TRY(mica__embed_network_begin(e, &e->texts));
  mica_graph *graph = e->texts.graph;
  const mica_value lengths = mica_input(graph, "lengths", MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  const mica_foundation_build how = {.ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC)),
                                     .lengths = lengths,
                                     .hidden = !projected};
  const mica_value x = mica_foundation_network(e->texts.nn, e->model, &how);
  return mica__embed_network_finish(e, &e->texts, projected ? x : pool(e, x, lengths));
}

/* Reads CLIP's logit scale, by which cosines are multiplied. The file stores its natural logarithm. */
static mica_status read_logit_scale(mica_embedder *e) {
  const mica_weight_entry *entry =
      e->model->info.vision ? mica_weights_find(mica_foundation_weights(e->model), "logit_scale") : NULL;
  if (!entry) return MICA_OK;
  const bool floating = entry->dtype == MICA_F32 || entry->dtype == MICA_F16 || entry->dtype == MICA_BF16;
  if (entry->block != MICA_BLOCK_NONE || !floating || entry->bytes != mica_dtype_size(entry->dtype))
    return mica__fail(MICA_E_FORMAT, "%s: the tensor \"logit_scale\" must be one number of f32, f16 or bf16",
                      e->model->path);
  float logarithm;
  mica__elements_to_floats(entry->dtype, entry->data, 1, &logarithm);
  e->logit_scale = exp((double)logarithm);
  return isfinite(e->logit_scale)
             ? MICA_OK
             : mica__fail(MICA_E_FORMAT, "%s: the exponential of the tensor \"logit_scale\" is not finite",
                          e->model->path);
}

static mica_status make(mica_embedder *e, const mica_embedder_config *c) {
  const mica_foundation_info *info = &e->model->info;
  if (c->classes && (info->task != MICA_FOUNDATION_TASK_CLASSIFY || info->picture > 0))
    return mica__fail(MICA_E_INVALID, "%s: the model has no classes of texts", e->model->path);
  if (c->classes && (c->pooling != MICA_EMBED_POOLING_MODEL || c->scale != MICA_EMBED_SCALE_MODEL))
    return mica__fail(MICA_E_INVALID, "mica_embedder_create: with classes, pooling and scale cannot be chosen");
  e->classes = c->classes;
  e->width = e->classes ? info->classes : info->projection ? info->projection : info->width;
  MICA_TRY(choose_form(e, c));
  MICA_TRY(read_logit_scale(e));
  return mica_embedder_reads_pictures(e) ? MICA_OK : make_texts(e);
}

mica_status mica_embedder_create(mica_engine *engine, const mica_foundation *model, const mica_embedder_config *config,
                                 mica_embedder **embedder) {
  if (!engine || !model || !embedder) return mica__fail(MICA_E_INVALID, "mica_embedder_create: a pointer is NULL");
  mica_embedder *e = calloc(1, sizeof *e);
  if (!e) return mica__fail_nomem("an embedder");
  e->engine = engine;
  e->model = model;
  const mica_status status = make(e, config ? config : &(mica_embedder_config){0});
  if (status == MICA_OK)
    *embedder = e;
  else
    mica_embedder_destroy(e);
  return status;
}

void mica_embedder_destroy(mica_embedder *e) {
  if (!e) return;
  mica__embed_network_free(&e->texts);
  mica__embed_network_free(&e->pictures);
  mica_tokenizer_destroy(e->tokenizer);
  free(e);
}

bool mica_embedder_reads_texts(const mica_embedder *e) { return e->model->info.picture == 0; }
bool mica_embedder_reads_pictures(const mica_embedder *e) {
  return e->model->info.picture > 0 || e->model->info.vision != NULL;
}
double mica_embedder_logit_scale(const mica_embedder *e) { return e->logit_scale; }
int64_t mica_embedder_width(const mica_embedder *e) { return e->width; }
int64_t mica_embedder_most_tokens(const mica_embedder *e) { return e->form.most_tokens; }
mica_embed_pooling mica_embedder_pooling(const mica_embedder *e) { return e->form.pooling; }

const char *mica_embed_pooling_name(mica_embed_pooling pooling) {
  static const char *const names[] = {
#define NAME(name, text) text,
      MICA_EMBED_POOLING_LIST(NAME)
#undef NAME
  };
  return pooling >= 0 && pooling < MICA_EMBED_POOLING_COUNT ? names[pooling] : "?";
}

/* --- tokens --- */

typedef struct tokens {
  int32_t *ids;
  int64_t count;
  size_t index; /* of the text */
} tokens;

/* Cuts a text to `most` tokens; special tokens at its end are kept. */
static int64_t cut(const mica_tokenizer *tokenizer, int32_t *ids, int64_t count, int64_t most) {
  int64_t tail = 0;
  if (count <= most) return count;
  while (tail < most && mica_tokenizer_is_special(tokenizer, ids[count - 1 - tail])) tail++;
  memmove(ids + most - tail, ids + count - tail, (size_t)tail * sizeof *ids);
  return most;
}

static mica_status tokenise(const mica_embedder *e, const char *text, size_t index, mica_encoding *encoding,
                            tokens *made) {
  const int64_t vocabulary = e->model->info.vocabulary;
  if (!text) return mica__fail(MICA_E_INVALID, "text %zu is NULL", index);
  MICA_TRY(mica_tokenizer_encode(e->tokenizer, text, strlen(text), &(mica_encode_config){.special = true}, encoding));
  if (encoding->count == 0) return mica__fail(MICA_E_INVALID, "text %zu has no tokens", index);
  made->index = index;
  made->count = cut(e->tokenizer, encoding->ids, (int64_t)encoding->count, e->form.most_tokens);
  made->ids = malloc((size_t)made->count * sizeof *made->ids);
  if (!made->ids) return mica__fail_nomem("tokens");
  memcpy(made->ids, encoding->ids, (size_t)made->count * sizeof *made->ids);
  for (int64_t t = 0; t < made->count; t++)
    if (made->ids[t] < 0 || made->ids[t] >= vocabulary)
      return mica__fail(MICA_E_INVALID, "text %zu has token %d, but tokens are from 0 to %" PRId64, index,
                        (int)made->ids[t], vocabulary - 1);
  return MICA_OK;
}

static int longer_first(const void *a, const void *b) {
  const tokens *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return x->index > y->index ? 1 : -1;
}

/* --- runs --- */

static int64_t rounded(int64_t length, int64_t most) {
  const int64_t step = length <= FINE_LIMIT ? FINE_STEP : COARSE_STEP;
  const int64_t up = (length + step - 1) / step * step;
  return up < most ? up : most;
}

/* The number of rows of a run: a power of two, so that there are few plans. */
static int64_t rows_of(int64_t length, int64_t batch_tokens, size_t left) {
  int64_t rows = 1;
  while (2 * rows * length <= batch_tokens && (size_t)rows < left) rows *= 2;
  return rows;
}

/* Runs `rows` rows of `length` tokens; rows from `count` on are padding. */
static mica_status run(mica_embedder *e, const tokens *texts, int64_t count, int64_t rows, int64_t length, float *out) {
  const int64_t width = mica_embedder_width(e);
  const int32_t pad = e->model->info.pad > 0 ? e->model->info.pad : 0;
  mica_queue *queue = mica_engine_queue(e->engine);
  mica_tensor *ids = NULL, *lengths = NULL;
  int32_t *host = malloc((size_t)(rows * length + rows) * sizeof *host), *host_lengths = host + rows * length;
  float *vectors = calloc((size_t)rows, (size_t)width * sizeof *vectors);
  mica_status status = host && vectors ? MICA_OK : mica__fail_nomem("a batch");
  for (int64_t r = 0; r < rows && status == MICA_OK; r++) {
    const tokens *text = r < count ? &texts[r] : NULL;
    host_lengths[r] = text ? (int32_t)text->count : 1;
    for (int64_t t = 0; t < length; t++) host[r * length + t] = text && t < text->count ? text->ids[t] : pad;
  }
  if (status == MICA_OK) status = mica_tensor_create_from(e->engine, MICA_I32, MICA_SHAPE(rows, length), host, &ids);
  if (status == MICA_OK)
    status = mica_tensor_create_from(e->engine, MICA_I32, MICA_SHAPE(rows), host_lengths, &lengths);
  const mica_feed feeds[] = {{"ids", ids}, {"lengths", lengths}};
  if (status == MICA_OK) status = mica_session_run(e->texts.session, queue, feeds, 2);
  if (status == MICA_OK)
    status = mica_tensor_download(queue, mica_session_output(e->texts.session, 0), vectors,
                                  (size_t)(rows * width) * sizeof *vectors);
  for (int64_t r = 0; r < count && status == MICA_OK; r++)
    memcpy(out + (int64_t)texts[r].index * width, vectors + r * width, (size_t)width * sizeof *out);
  mica_tensor_destroy(ids);
  mica_tensor_destroy(lengths);
  free(host);
  free(vectors);
  return status;
}

mica_status mica_embedder_texts(mica_embedder *e, const char *const *texts, size_t count, float *out) {
  if (!e || (count && (!texts || !out))) return mica__fail(MICA_E_INVALID, "mica_embedder_texts: a pointer is NULL");
  if (count > PTRDIFF_MAX / ((size_t)mica_embedder_width(e) * sizeof *out))
    return mica__fail(MICA_E_INVALID, "mica_embedder_texts: %zu texts are too many", count);
  if (!mica_embedder_reads_texts(e))
    return mica__fail(MICA_E_INVALID, "%s: models of the family %s do not read texts", e->model->path,
                      e->model->info.family);
  if (count == 0) return MICA_OK;
  if (!e->texts.session) MICA_TRY(make_texts(e));
  mica_encoding encoding = {0};
  tokens *all = calloc(count, sizeof *all);
  mica_status status = all ? MICA_OK : mica__fail_nomem("texts");
  for (size_t i = 0; i < count && status == MICA_OK; i++) status = tokenise(e, texts[i], i, &encoding, &all[i]);
  if (status == MICA_OK) qsort(all, count, sizeof *all, longer_first);
  for (size_t at = 0; at < count && status == MICA_OK;) {
    const int64_t length = rounded(all[at].count, e->form.most_tokens);
    const int64_t rows = rows_of(length, e->batch_tokens, count - at);
    const int64_t used = (size_t)rows < count - at ? rows : (int64_t)(count - at);
    status = run(e, all + at, used, rows, length, out);
    at += (size_t)used;
  }
  if (status == MICA_OK && e->form.unit) mica__embed_to_unit(out, count, e->width);
  for (size_t i = 0; all && i < count; i++) free(all[i].ids);
  free(all);
  mica_encoding_free(&encoding);
  return status;
}
