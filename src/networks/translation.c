/* Translates texts with a trained network, greedily or by beams, in batches of similar length. */
#include "networks/translation.h"
#include "base/arith.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The most hypotheses at a time, for all sources together; a single source may have more. */
#define AT_A_TIME 64
/* A translation has at most TIMES times the number of the source's tokens, plus MORE, and no more tokens than the
 * network's context. */
#define TIMES 2
#define MORE 10

typedef mica__translator translator;
typedef mica__translation_sources sources;

static mica_value block(mica_nn *nn, const mica_beam_values *v, const mica_kv_cache *cache, const void *user) {
  mica_model_config network = *(const mica_model_config *)user;
  mica_value memory = {0};
  network.sequence.lengths = v->source_lengths;
  if (!mica_value_is_null(v->source)) memory = mica_translator_encode(nn, v->source, &network);
  network.sequence.lengths = (mica_value){0};
  network.sequence.cache = cache;
  network.sequence.last = true;
  return mica_translator_decode(nn, v->ids, memory, v->source_lengths, &network);
}

/* A source by its number, and its length, by which the sources are sorted. */
typedef struct source {
  size_t number;
  int32_t length;
} source;

static int compare(const void *a, const void *b) {
  const source *x = a, *y = b;
  if (x->length != y->length) return x->length < y->length ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

/* The rows of a batch, and the translations found for them. */
typedef struct rows {
  int64_t batch, beams, context;
  int32_t *ids, *lengths, *limits;
  mica_beam_found found;
} rows;

static mica_status make_rows(rows *r) {
  const size_t batch = (size_t)r->batch, context = (size_t)r->context, all = batch * (size_t)r->beams;
  r->ids = calloc(batch * context, sizeof *r->ids);
  r->lengths = calloc(batch, sizeof *r->lengths);
  r->limits = calloc(batch, sizeof *r->limits);
  r->found = (mica_beam_found){.ids = calloc(all * context, sizeof *r->ids),
                               .lengths = calloc(all, sizeof *r->lengths),
                               .scores = calloc(all, sizeof(double))};
  return r->ids && r->lengths && r->limits && r->found.ids && r->found.lengths && r->found.scores
             ? MICA_OK
             : mica__fail_nomem("translations");
}

static void free_rows(rows *r) {
  free(r->ids);
  free(r->lengths);
  free(r->limits);
  free(r->found.ids);
  free(r->found.lengths);
  free(r->found.scores);
}

/* The text of ids. A poorly trained network may choose bytes that are not UTF-8; they become U+FFFD. */
static mica_status text_of(const mica_tokenizer *t, const int32_t *ids, size_t count, char **text) {
  char *found = NULL;
  size_t bytes = 0;
  mica__text valid = {0};
  MICA_TRY(mica_tokenizer_decode(t, ids, count, true, &found, &bytes));
  mica__text_add(&valid, "");
  mica__utf8_add_any(&valid, found, bytes);
  mica_free(found);
  if (mica__text_status(&valid) != MICA_OK) return mica__fail_nomem("translations");
  *text = valid.data;
  return MICA_OK;
}

/* Translates `count` sources. */
static mica_status translate_batch(const translator *how, mica_beam_search *search, rows *r, const sources *all,
                                   const source *list, int64_t count, mica__translations *out) {
  for (int64_t b = 0; b < count; b++) {
    const int64_t length = list[b].length;
    memcpy(r->ids + b * r->context, all->ids + all->offsets[list[b].number], (size_t)length * sizeof *r->ids);
    r->lengths[b] = (int32_t)length;
    r->limits[b] = (int32_t)mica__min(TIMES * length + MORE, r->context);
  }
  MICA_TRY(mica_beam_search_run(search, r->ids, r->lengths, r->context, r->limits, count, &r->found));
  for (int64_t b = 0; b < count; b++) {
    const int64_t best = b * r->beams;
    MICA_TRY(text_of(how->tokenizer, r->found.ids + best * r->context, (size_t)r->found.lengths[best],
                     &out->texts[list[b].number]));
    out->scores[list[b].number] = r->found.scores[best];
  }
  return MICA_OK;
}

/* Lists the sources that have more than an end token, in order of length. *count receives their number. NULL: memory is
 * short. */
static source *sort_sources(const sources *all, size_t *count) {
  source *list = malloc((all->count + 1) * sizeof *list);
  *count = 0;
  for (size_t i = 0; list && i < all->count; i++) {
    const int64_t length = all->offsets[i + 1] - all->offsets[i];
    if (length > 1) list[(*count)++] = (source){i, (int32_t)length};
  }
  if (list) qsort(list, *count, sizeof *list, compare);
  return list;
}

static mica_status translate_sorted(const translator *how, const sources *all, const source *list, size_t count,
                                    const mica_beam_config *config, mica__translations *out) {
  rows r = {.batch = config->batch, .beams = config->beams, .context = config->context};
  mica_beam_search *search = NULL;
  mica_status status = make_rows(&r);
  if (status == MICA_OK) status = mica_beam_search_create(how->engine, config, &search);
  for (size_t from = 0; status == MICA_OK && from < count; from += (size_t)r.batch) {
    const int64_t some = mica__min(r.batch, (int64_t)(count - from));
    status = translate_batch(how, search, &r, all, list + from, some, out);
  }
  mica_beam_search_destroy(search);
  free_rows(&r);
  return status;
}

/* Sources without a translation get an empty one. */
static mica_status fill_empty(mica__translations *t) {
  for (size_t i = 0; i < t->count; i++)
    if (!t->texts[i] && !(t->texts[i] = calloc(1, 1))) return mica__fail_nomem("translations");
  return MICA_OK;
}

mica_status mica__translate(const translator *how, const sources *all, int64_t beams, double length_penalty,
                            mica__translations *out) {
  size_t count = 0;
  *out = (mica__translations){.texts = calloc(all->count + 1, sizeof *out->texts),
                              .scores = calloc(all->count + 1, sizeof *out->scores),
                              .count = all->count};
  source *list = sort_sources(all, &count);
  mica_status status = out->texts && out->scores && list ? MICA_OK : mica__fail_nomem("translations");
  const mica_beam_config config = {.block = block,
                                   .block_config = &how->network,
                                   .share = how->share,
                                   .nn = how->nn,
                                   .batch = mica__max(1, mica__min(AT_A_TIME / beams, (int64_t)count)),
                                   .beams = beams,
                                   .context = how->network.sequence.context,
                                   .begin = how->begin,
                                   .end = how->end,
                                   .length_penalty = length_penalty};
  if (status == MICA_OK && count) status = translate_sorted(how, all, list, count, &config, out);
  if (status == MICA_OK) status = fill_empty(out);
  free(list);
  if (status != MICA_OK) mica__translations_free(out);
  return status;
}

void mica__translations_free(mica__translations *t) {
  for (size_t i = 0; t->texts && i < t->count; i++) mica_free(t->texts[i]);
  free(t->texts);
  free(t->scores);
  *t = (mica__translations){0};
}
