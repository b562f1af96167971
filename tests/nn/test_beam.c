/* labels: device single
 *
 * Beam search of an encoder-decoder against the whole network: greedy targets are the likeliest token after token; with
 * as many beams as there are continuations the best target of all is found; with fewer, what the search done step by
 * step on the host finds. Sources are what they would be alone; nothing is planned, built or allocated as targets
 * grow. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/network.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V 7
#define BEGIN 1
#define END 2
#define CONTEXT 24
#define SOURCES 3
#define MOST_BEAMS 60

static const struct kind {
  const char *name;
  mica_model_config config;
} kinds[] = {
    {"pre-norm, learned", {.width = 32, .sequence = {.layers = 2, .heads = 4}}},
    {"post-norm, sinusoidal",
     {.width = 16,
      .sequence = {.layers = 1, .heads = 2, .post_norm = true, .positions = MICA_POSITIONS_KIND_SINUSOIDAL}}},
    {"grouped, rotary",
     {.width = 32,
      .sequence = {.layers = 2, .heads = 4, .groups = 2, .rms_norm = true, .positions = MICA_POSITIONS_KIND_ROTARY}}},
};
#define KINDS ((int)(sizeof kinds / sizeof *kinds))

static const int32_t sources[SOURCES][CONTEXT] = {
    {3, 5, 4, 2}, {6, 6, 3, 5, 0, 4, 3, 3, 5, 4, 6, 1, 3, 0, 5, 6, 3, 2}, {4, 2}};
static const int32_t lengths[SOURCES] = {4, 18, 2};

static mica_model_config config_of(const struct kind *kind) {
  mica_model_config c = kind->config;
  c.sequence.vocabulary = V;
  c.sequence.context = CONTEXT;
  return c;
}

static mica_value block(mica_nn *nn, const mica_beam_values *v, const mica_kv_cache *cache, const void *user) {
  mica_model_config c = *(const mica_model_config *)user;
  mica_value memory = {0};
  c.sequence.lengths = v->source_lengths;
  if (!mica_value_is_null(v->source)) memory = mica_translator_encode(nn, v->source, &c);
  c.sequence.lengths = (mica_value){0};
  c.sequence.cache = cache;
  c.sequence.last = true;
  return mica_translator_decode(nn, v->ids, memory, v->source_lengths, &c);
}

/* The network without caches. */
typedef struct whole {
  mica_model_config config;
  network net;
  mica_tensor *source, *source_length, *target;
} whole;

static whole make_whole(const struct kind *kind) {
  whole w = {.config = config_of(kind)};
  mica_model_config c = w.config;
  network_begin(&w.net, NULL);
  mica_value source = mica_input(w.net.graph, "source", MICA_I32, MICA_SHAPE(1, CONTEXT));
  mica_value length = mica_input(w.net.graph, "length", MICA_I32, MICA_SHAPE(1));
  mica_value target = mica_input(w.net.graph, "target", MICA_I32, MICA_SHAPE(1, CONTEXT));
  c.sequence.lengths = length;
  mica_value memory = mica_translator_encode(w.net.nn, source, &c);
  c.sequence.lengths = (mica_value){0};
  mica_value y = mica_log_softmax(mica_translator_decode(w.net.nn, target, memory, length, &c), 2);
  network_end(&w.net, kind->name, y);
  network_fill(&w.net, 11);
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(1, CONTEXT), &w.source));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(1), &w.source_length));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(1, CONTEXT), &w.target));
  return w;
}

static void drop_whole(whole *w) {
  mica_tensor_destroy(w->source);
  mica_tensor_destroy(w->source_length);
  mica_tensor_destroy(w->target);
  network_drop(&w->net);
}

/* Log probabilities of the token behind `count` tokens of a target. */
static void next_of(const whole *w, int source, const int32_t *target, int count, float p[V]) {
  static float all[CONTEXT * V];
  int32_t read[CONTEXT] = {BEGIN};
  memcpy(read + 1, target, (size_t)count * sizeof *target);
  ck_ok(mica_tensor_upload(test_queue(), w->source, sources[source], sizeof sources[source]));
  ck_ok(mica_tensor_upload(test_queue(), w->source_length, &lengths[source], sizeof(int32_t)));
  ck_ok(mica_tensor_upload(test_queue(), w->target, read, sizeof read));
  const mica_feed feeds[] = {{"source", w->source}, {"length", w->source_length}, {"target", w->target}};
  ck_ok(mica_session_run(w->net.session, test_queue(), feeds, 3));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(w->net.session, 0), all, sizeof all));
  memcpy(p, all + count * V, V * sizeof *p);
}

static mica_beam_config beam_config(const whole *w, int64_t batch, int64_t beams, double penalty) {
  return (mica_beam_config){.block = block,
                            .block_config = &w->config,
                            .share = w->net.session,
                            .batch = batch,
                            .beams = beams,
                            .context = CONTEXT,
                            .begin = BEGIN,
                            .end = END,
                            .length_penalty = penalty};
}

/* What a search gives. */
typedef struct found {
  int32_t ids[SOURCES * MOST_BEAMS * CONTEXT], lengths[SOURCES * MOST_BEAMS];
  double scores[SOURCES * MOST_BEAMS];
} found;

static void run(mica_beam_search *s, int first, int count, const int32_t *limits, found *f) {
  const mica_beam_found into = {f->ids, f->lengths, f->scores};
  ck_ok(mica_beam_search_run(s, sources[first], lengths + first, CONTEXT, limits, count, &into));
}

/* --- the search on the host --- */

typedef struct hypothesis {
  int32_t ids[CONTEXT];
  int count; /* the end too */
  bool ended;
  double p, score;
} hypothesis;

static int by_score(const void *a, const void *b) {
  const hypothesis *x = a, *y = b;
  return (x->score < y->score) - (x->score > y->score);
}

/* The best `beams` hypotheses; *close is true if two scores that decide lay so near that rounding may change them. */
static int search_on_host(const whole *w, int source, int beams, int limit, double penalty, hypothesis *kept,
                          bool *close) {
  static hypothesis next[MOST_BEAMS * V];
  int live = 1;
  *close = false;
  kept[0] = (hypothesis){.count = 0};
  for (int t = 0; t < limit; t++) {
    int count = 0;
    for (int k = 0; k < live; k++) {
      float p[V] = {0};
      if (kept[k].ended) {
        next[count++] = kept[k];
        continue;
      }
      next_of(w, source, kept[k].ids, kept[k].count, p);
      for (int v = 0; v < V; v++) {
        if (t + 1 == limit && v != END) continue;
        hypothesis *h = &next[count++];
        *h = kept[k];
        h->ids[h->count++] = v;
        h->ended = v == END;
        h->p += (double)p[v];
        h->score = h->p / pow(h->count, penalty);
      }
    }
    qsort(next, (size_t)count, sizeof *next, by_score);
    live = count < beams ? count : beams;
    for (int k = 0; k + 1 < count && k < live; k++)
      *close = *close || next[k].score - next[k + 1].score < 1e-4 * fmin(1, fabs(next[k].score));
    memcpy(kept, next, (size_t)live * sizeof *kept);
  }
  return live;
}

static void check_hypothesis(const found *f, int at, const hypothesis *h, const char *what) {
  ck_assert_msg(f->lengths[at] == h->count - 1, "%s: %d tokens, expected %d", what, f->lengths[at], h->count - 1);
  for (int i = 0; i + 1 < h->count; i++)
    ck_assert_msg(f->ids[at * CONTEXT + i] == h->ids[i], "%s: token %d is %d, expected %d", what, i,
                  f->ids[at * CONTEXT + i], h->ids[i]);
  ck_assert_msg(fabs(f->scores[at] - h->score) <= 1e-4 * (h->score < -1e-3 ? fmax(1, -h->score) : -h->score),
                "%s: score %g, expected %g", what, f->scores[at], h->score);
}

static const struct way {
  int kind, beams, limit;
  double penalty;
} ways[] = {{0, 1, CONTEXT, 0}, {0, 4, 12, 0.6}, {1, 2, CONTEXT, 0}, {1, 7, 5, 0}, {2, 5, 9, 1}, {0, 4, CONTEXT, 10}};
#define WAYS ((int)(sizeof ways / sizeof *ways))

/* All hypotheses of all sources, at once, in order. */
START_TEST(searches_are_those_on_the_host) {
  static found f;
  static hypothesis kept[MOST_BEAMS];
  const struct way *way = &ways[_i];
  whole w = make_whole(&kinds[way->kind]);
  const mica_beam_config config = beam_config(&w, SOURCES, way->beams, way->penalty);
  int32_t limits[SOURCES] = {way->limit, way->limit, way->limit - 2};
  mica_beam_search *s = NULL;
  int compared = 0;
  ck_ok(mica_beam_search_create(test_engine(), &config, &s));
  run(s, 0, SOURCES, limits, &f);
  for (int b = 0; b < SOURCES; b++) {
    char what[64];
    bool close = false;
    const int count = search_on_host(&w, b, way->beams, limits[b], way->penalty, kept, &close);
    snprintf(what, sizeof what, "%s, %d beams, source %d", kinds[way->kind].name, way->beams, b);
    ck_assert_int_eq(count, way->beams);
    for (int k = 0; !close && k < count; k++) check_hypothesis(&f, b * way->beams + k, &kept[k], what);
    compared += !close;
  }
  ck_assert_int_gt(compared, 0);
  mica_beam_search_destroy(s);
  drop_whole(&w);
}
END_TEST

/* The best of all targets of up to `limit` tokens, tried one after another. */
static void try_all(const whole *w, int source, int limit, double penalty, hypothesis *h, hypothesis *best) {
  float p[V];
  next_of(w, source, h->ids, h->count, p);
  for (int v = 0; v < V; v++) {
    hypothesis longer = *h;
    if (h->count + 1 == limit && v != END) continue;
    longer.ids[longer.count++] = v;
    longer.p += (double)p[v];
    longer.score = longer.p / pow(longer.count, penalty);
    if (v != END)
      try_all(w, source, limit, penalty, &longer, best);
    else if (!best->count || longer.score > best->score)
      *best = longer;
  }
}

/* There are 1 + 6 targets of up to two tokens, and as many beams. */
START_TEST(enough_beams_find_the_best_target) {
  static found f;
  const double penalties[] = {0, 10};
  whole w = make_whole(&kinds[_i]);
  for (int k = 0; k < 2; k++) {
    const mica_beam_config config = beam_config(&w, 1, V, penalties[k]);
    const int32_t limit = 2;
    mica_beam_search *s = NULL;
    ck_ok(mica_beam_search_create(test_engine(), &config, &s));
    for (int b = 0; b < SOURCES; b++) {
      hypothesis none = {.count = 0}, best = {.count = 0};
      try_all(&w, b, limit, penalties[k], &none, &best);
      run(s, b, 1, &limit, &f);
      check_hypothesis(&f, 0, &best, kinds[_i].name);
    }
    mica_beam_search_destroy(s);
  }
  drop_whole(&w);
}
END_TEST

/* Beside others, in a batch that is not full, and again. */
START_TEST(sources_are_what_they_are_alone) {
  static found all, one;
  enum { BEAMS = 4 };
  whole w = make_whole(&kinds[_i]);
  mica_beam_search *s = NULL;
  const mica_beam_config config = beam_config(&w, SOURCES, BEAMS, 0.6);
  ck_ok(mica_beam_search_create(test_engine(), &config, &s));
  run(s, 0, SOURCES, NULL, &all);
  for (int b = 0; b < SOURCES; b++) {
    run(s, b, 1, NULL, &one);
    ck_assert_mem_eq(one.lengths, all.lengths + b * BEAMS, BEAMS * sizeof *one.lengths);
    for (int k = 0; k < BEAMS; k++)
      ck_assert_mem_eq(one.ids + k * CONTEXT, all.ids + (b * BEAMS + k) * CONTEXT,
                       (size_t)one.lengths[k] * sizeof *one.ids);
    for (int k = 1; k < BEAMS; k++) ck_assert_double_ge(one.scores[k - 1], one.scores[k]);
  }
  mica_beam_search_destroy(s);
  drop_whole(&w);
}
END_TEST

START_TEST(nothing_grows_with_the_target) {
  static found f;
  whole w = make_whole(&kinds[0]);
  mica_beam_search *s = NULL;
  mica_session_report before, after;
  const mica_beam_config config = beam_config(&w, 2, 3, 0);
  const int32_t few[] = {2, 2}, many[] = {CONTEXT, CONTEXT};
  ck_ok(mica_beam_search_create(test_engine(), &config, &s));
  run(s, 0, 2, few, &f);
  ck_ok(mica_session_describe(mica_beam_search_session(s), &before));
  const mica_stats a = mica_engine_stats(test_engine());
  run(s, 0, 2, many, &f);
  const mica_stats b = mica_engine_stats(test_engine());
  ck_ok(mica_session_describe(mica_beam_search_session(s), &after));
  ck_assert_uint_eq(after.plans, before.plans);
  ck_assert_uint_eq(after.plan_bytes, before.plan_bytes);
#define SAME(field)                                                                                                    \
  ck_assert_msg(a.field == b.field, #field ": %llu, then %llu", (unsigned long long)a.field,                           \
                (unsigned long long)b.field)
  SAME(kernel_builds);
  SAME(allocations);
  SAME(bytes_in_use);
#undef SAME
  mica_beam_search_destroy(s);
  drop_whole(&w);
}
END_TEST

static mica_value no_logits(mica_nn *nn, const mica_beam_values *v, const mica_kv_cache *cache, const void *user) {
  (void)nn, (void)cache, (void)user;
  return mica_unsqueeze(v->ids, MICA_AXES(0));
}

START_TEST(wrong_operands) {
  whole w = make_whole(&kinds[1]);
  mica_beam_search *s = NULL;
  const mica_beam_config good = beam_config(&w, 1, 2, 0);
  mica_beam_config c = good;
#define REFUSED(field, value, status)                                                                                  \
  c = good, c.field = value;                                                                                           \
  ck_assert_int_eq(mica_beam_search_create(test_engine(), &c, &s), status)
  REFUSED(batch, -1, MICA_E_INVALID);
  REFUSED(beams, -1, MICA_E_INVALID);
  REFUSED(beams, V + 1, MICA_E_INVALID);
  REFUSED(beams, INT64_MAX, MICA_E_INVALID);
  REFUSED(context, 0, MICA_E_INVALID);
  REFUSED(context, INT64_MAX, MICA_E_INVALID);
  REFUSED(begin, V, MICA_E_INVALID);
  REFUSED(end, -1, MICA_E_INVALID);
  REFUSED(length_penalty, -1, MICA_E_INVALID);
  REFUSED(length_penalty, (double)NAN, MICA_E_INVALID);
  REFUSED(block, NULL, MICA_E_INVALID);
  REFUSED(block, no_logits, MICA_E_SHAPE);
#undef REFUSED
  ck_assert_int_eq(mica_beam_search_create(NULL, &good, &s), MICA_E_INVALID);
  ck_assert_int_eq(mica_beam_search_create(test_engine(), &good, NULL), MICA_E_INVALID);
  ck_ok(mica_beam_search_create(test_engine(), &good, &s));
  static found f;
  const mica_beam_found into = {f.ids, f.lengths, NULL};
  int32_t ids[2] = {3, V}, length = 1, limit = 0;
  ck_assert_int_eq(mica_beam_search_run(NULL, ids, &length, 2, NULL, 1, &into), MICA_E_INVALID);
  ck_assert_int_eq(mica_beam_search_run(s, ids, &length, 2, NULL, 2, &into), MICA_E_INVALID);
  ck_assert_int_eq(mica_beam_search_run(s, ids, &length, 2, &limit, 1, &into), MICA_E_INVALID);
  ck_assert_int_eq(mica_beam_search_run(s, ids, &length, 2, NULL, 1, NULL), MICA_E_INVALID);
  for (int32_t wrong = 0; wrong <= 3; wrong++)
    if (wrong != 1) ck_assert_int_eq(mica_beam_search_run(s, ids, &wrong, 2, NULL, 1, &into), MICA_E_INVALID);
  ck_ok(mica_beam_search_run(s, ids, &length, 2, NULL, 1, &into));
  mica_beam_search_destroy(s);
  mica_beam_search_destroy(NULL);
  drop_whole(&w);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(searches_are_those_on_the_host, 0, WAYS),
      LOOP(enough_beams_find_the_best_target, 0, KINDS), LOOP(sources_are_what_they_are_alone, 0, KINDS),
      nothing_grows_with_the_target, wrong_operands)
