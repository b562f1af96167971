/* labels: device single
 *
 * Generators: what they write is what the whole network says of the whole text, one token after another; sequences are
 * what they would be alone; nothing is planned, built or allocated as texts grow. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/network.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V 23
#define CONTEXT 48
#define LENGTH 20

/* Networks that the tests go through. */
static const struct kind {
  const char *name;
  mica_model_config config;
} kinds[] = {
    {"learned", {.width = 32, .sequence = {.layers = 2, .heads = 4}}},
    {"llama",
     {.width = 32,
      .sequence = {.layers = 2,
                   .heads = 4,
                   .groups = 2,
                   .rms_norm = true,
                   .positions = MICA_POSITIONS_KIND_ROTARY,
                   .feed_forward = MICA_FEED_FORWARD_SWIGLU}}},
    {"alibi",
     {.width = 24, .sequence = {.layers = 1, .heads = 3, .positions = MICA_POSITIONS_KIND_ALIBI, .untied = true}}},
    {"sinusoidal", {.width = 32, .sequence = {.layers = 1, .heads = 2, .positions = MICA_POSITIONS_KIND_SINUSOIDAL}}},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static mica_model_config config_of(const struct kind *kind) {
  mica_model_config c = kind->config;
  c.name = "gpt";
  c.classes = V;
  c.sequence.context = CONTEXT;
  return c;
}

static mica_value block(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *user) {
  mica_model_config c = *(const mica_model_config *)user;
  c.sequence.cache = cache;
  c.sequence.last = true;
  return mica_model_build(nn, ids, &c);
}

/* The network without a cache. */
typedef struct whole {
  mica_model_config config;
  network net;
} whole;

static whole make_whole(const struct kind *kind, mica_dtype dtype) {
  whole w = {.config = config_of(kind)};
  network_begin(&w.net, &(mica_nn_config){.dtype = dtype});
  mica_value ids = mica_input(w.net.graph, "ids", MICA_I32, MICA_SHAPE(1, CONTEXT));
  network_end(&w.net, kind->name, mica_cast(mica_model_build(w.net.nn, ids, &w.config), MICA_F32));
  network_fill(&w.net, 7);
  return w;
}

/* The logits behind the first `count` ids. */
static void logits_of(const whole *w, const int32_t *ids, int64_t count, float logits[V]) {
  static float all[CONTEXT * V];
  int32_t padded[CONTEXT] = {0};
  mica_tensor *tensor = NULL;
  memcpy(padded, ids, (size_t)count * sizeof *ids);
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(1, CONTEXT), &tensor));
  ck_ok(mica_tensor_upload(test_queue(), tensor, padded, sizeof padded));
  const mica_feed feed = {"ids", tensor};
  ck_ok(mica_session_run(w->net.session, test_queue(), &feed, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(w->net.session, 0), all, sizeof all));
  mica_tensor_destroy(tensor);
  memcpy(logits, all + (count - 1) * V, V * sizeof *logits);
}

static mica_generator *make(const whole *w, int64_t batch, mica_sampling sampling, int64_t window) {
  mica_generator *g = NULL;
  const mica_generator_config config = {.block = block,
                                        .block_config = &w->config,
                                        .share = w->net.session,
                                        .nn = {.dtype = MICA_F32},
                                        .batch = batch,
                                        .context = CONTEXT,
                                        .window = window,
                                        .sampling = sampling};
  ck_ok(mica_generator_create(test_engine(), &config, &g));
  return g;
}

static const mica_sampling greedy = {.temperature = MICA_ZERO};
static const int32_t prompts[3][CONTEXT] = {
    {3, 1, 4, 1, 5, 9, 2}, {22}, {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5, 2, 3, 5, 3}};
static const int32_t lengths[3] = {7, 1, 20};

/* Writes LENGTH tokens behind each of the prompts from `first` on. */
static void write_texts(mica_generator *g, int first, int batch, int32_t *texts, int64_t length) {
  int32_t ids[3];
  ck_ok(mica_generator_prompt(g, prompts[first], lengths + first, CONTEXT));
  for (int64_t i = 0; i < length; i++) {
    ck_ok(mica_generator_next(g, ids));
    for (int b = 0; b < batch; b++) texts[b * length + i] = ids[b];
  }
}

START_TEST(tokens_are_the_likeliest_of_the_whole_network) {
  whole w = make_whole(&kinds[_i], MICA_F32);
  mica_generator *g = make(&w, 3, greedy, 0);
  int32_t texts[3][LENGTH], text[CONTEXT];
  float logits[V];
  write_texts(g, 0, 3, texts[0], LENGTH);
  for (int b = 0; b < 3; b++) {
    memcpy(text, prompts[b], sizeof text);
    for (int64_t i = 0; i < LENGTH; i++) {
      logits_of(&w, text, lengths[b] + i, logits);
      float most = logits[0];
      for (int v = 1; v < V; v++) most = fmaxf(most, logits[v]);
      const int32_t got = texts[b][i];
      ck_assert_msg(got >= 0 && got < V && logits[got] >= most - 1e-4f * fmaxf(1, fabsf(most)),
                    "%s: token %d of prompt %d is %d, of logit %g below %g", kinds[_i].name, (int)i, b, (int)got,
                    (double)logits[got], (double)most);
      text[lengths[b] + i] = got;
    }
  }
  mica_generator_destroy(g);
  network_drop(&w.net);
}
END_TEST

START_TEST(several_at_once_are_each_alone) {
  static const mica_sampling ways[] = {
      {.temperature = MICA_ZERO},
      {.seed = 5},
      {.temperature = 0.7, .top_k = 5, .top_p = 0.9, .repetition = 1.3, .seed = 6},
  };
  whole w = make_whole(&kinds[1], MICA_F32);
  int32_t together[3][LENGTH], alone[LENGTH], again[3][LENGTH];
  for (size_t i = 0; i < 3; i++) {
    mica_generator *three = make(&w, 3, ways[i], 0), *one = make(&w, 1, ways[i], 0);
    write_texts(three, 0, 3, together[0], LENGTH);
    write_texts(three, 0, 3, again[0], LENGTH);
    ck_assert_msg(!memcmp(together, again, sizeof again), "way %zu: another text with the same seed", i);
    for (int b = 0; b < 3; b++) {
      write_texts(one, b, 1, alone, LENGTH);
      ck_assert_msg(!memcmp(together[b], alone, sizeof alone), "way %zu, prompt %d", i, b);
    }
    mica_generator_destroy(three);
    mica_generator_destroy(one);
  }
  network_drop(&w.net);
}
END_TEST

/* Draws one token from each of many seeds; counts[v] of them were v. */
static void count_draws(const whole *w, mica_sampling how, int draws, int counts[V]) {
  enum { AT_ONCE = 64 };
  static int32_t ids[AT_ONCE * CONTEXT], of[AT_ONCE], next[AT_ONCE];
  for (int b = 0; b < AT_ONCE; b++) {
    memcpy(ids + b * CONTEXT, prompts[0], sizeof prompts[0]);
    of[b] = lengths[0];
  }
  memset(counts, 0, V * sizeof *counts);
  how.apart = true;
  mica_generator *g = make(w, AT_ONCE, how, 0);
  ck_ok(mica_generator_prompt(g, ids, of, CONTEXT));
  for (int i = 0; i < draws; i += AT_ONCE) {
    /* The first token behind the prompt: its logits are known. */
    mica_generator_destroy(g);
    how.seed++;
    g = make(w, AT_ONCE, how, 0);
    ck_ok(mica_generator_prompt(g, ids, of, CONTEXT));
    ck_ok(mica_generator_next(g, next));
    for (int b = 0; b < AT_ONCE; b++) counts[next[b]]++;
  }
  mica_generator_destroy(g);
}

static int by_falling(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* The distribution that the header defines, in double. */
static void expect(const float logits[V], const mica_sampling *s, const int32_t *held, int64_t count, double p[V]) {
  double z[V], sorted[V], sum = 0, kept = 0;
  for (int v = 0; v < V; v++) z[v] = (double)logits[v];
  for (int v = 0; v < V; v++) {
    bool is_held = false;
    for (int64_t i = 0; i < count; i++) is_held = is_held || held[i] == v;
    if (is_held && s->repetition != 0) z[v] = z[v] > 0 ? z[v] / s->repetition : z[v] * s->repetition;
    if (s->temperature != 0) z[v] /= s->temperature;
    p[v] = exp(z[v]);
    sum += p[v];
  }
  for (int v = 0; v < V; v++) sorted[v] = p[v] = p[v] / sum;
  qsort(sorted, V, sizeof *sorted, by_falling);
  double least = 0, before = 0, among = 0;
  const int64_t k = s->top_k && s->top_k < V ? s->top_k : V;
  for (int64_t i = 0; i < k; i++) among += sorted[i];
  for (int64_t i = 0; i < k; i++) {
    if (s->top_p == 0 || before < s->top_p * among) least = sorted[i];
    before += sorted[i];
  }
  for (int v = 0; v < V; v++) kept += p[v] = p[v] >= least ? p[v] : 0;
  for (int v = 0; v < V; v++) p[v] /= kept;
}

START_TEST(draws_follow_the_distribution) {
  static const mica_sampling ways[] = {{.seed = 1},
                                       {.temperature = 3, .seed = 2},
                                       {.temperature = 4, .top_k = 4, .seed = 3},
                                       {.temperature = 4, .top_p = 0.6, .seed = 4},
                                       {.temperature = 4, .repetition = 2, .seed = 5},
                                       {.temperature = 4, .top_k = 4, .top_p = 0.6, .seed = 6}};
  enum { DRAWS = 2048 };
  whole w = make_whole(&kinds[0], MICA_F32);
  float logits[V];
  int counts[V];
  double p[V];
  logits_of(&w, prompts[0], lengths[0], logits);
  expect(logits, &ways[_i], prompts[0], lengths[0], p);
  count_draws(&w, ways[_i], DRAWS, counts);
  for (int v = 0; v < V; v++) {
    /* Five deviations of the binomial distribution: one failure in two million right ones. */
    const double deviation = sqrt(DRAWS * p[v] * (1 - p[v]));
    ck_assert_msg(fabs(counts[v] - DRAWS * p[v]) <= 5 * deviation + 1e-3 * DRAWS * p[v],
                  "way %d: %d of %d are %d, expected %g", _i, counts[v], DRAWS, v, DRAWS * p[v]);
  }
  network_drop(&w.net);
}
END_TEST

START_TEST(nothing_grows_with_the_text) {
  whole w = make_whole(&kinds[0], MICA_F32);
  mica_generator *g = make(&w, 3, (mica_sampling){.seed = 1, .top_k = 8}, 0);
  mica_session_report before, after;
  int32_t ids[3];
  ck_ok(mica_generator_prompt(g, prompts[0], lengths, CONTEXT));
  for (int i = 0; i < 3; i++) ck_ok(mica_generator_next(g, ids));
  ck_ok(mica_session_describe(mica_generator_session(g), &before));
  const mica_stats a = mica_engine_stats(test_engine());
  for (int i = 0; i < 20; i++) ck_ok(mica_generator_next(g, ids));
  const mica_stats b = mica_engine_stats(test_engine());
  ck_ok(mica_session_describe(mica_generator_session(g), &after));
  ck_assert_uint_eq(after.plans, before.plans);
  ck_assert_uint_eq(after.plan_bytes, before.plan_bytes);
#define SAME(field)                                                                                                    \
  ck_assert_msg(a.field == b.field, #field ": %llu, then %llu", (unsigned long long)a.field,                           \
                (unsigned long long)b.field)
  SAME(kernel_builds);
  SAME(allocations);
  SAME(bytes_in_use);
  ck_assert_uint_eq(b.bytes_downloaded - a.bytes_downloaded, 20 * sizeof ids);
#undef SAME
  mica_generator_destroy(g);
  network_drop(&w.net);
}
END_TEST

/* A text that fills the context goes on behind its last `window` tokens as behind a prompt of these. */
START_TEST(a_window_goes_on) {
  enum { WINDOW = 10, MORE = CONTEXT + 30 };
  whole w = make_whole(&kinds[0], MICA_F32);
  mica_generator *g = make(&w, 1, greedy, WINDOW);
  int32_t text[CONTEXT + MORE], next = 0;
  float logits[V];
  memcpy(text, prompts[0], sizeof prompts[0]);
  int64_t count = lengths[0], begin = 0;
  ck_ok(mica_generator_prompt(g, prompts[0], lengths, CONTEXT));
  ck_assert_int_eq(mica_generator_room(g), CONTEXT + 1 - lengths[0]);
  for (int i = 0; i < MORE; i++) {
    if (count - begin > CONTEXT) begin = count - WINDOW;
    ck_ok(mica_generator_next(g, &next));
    logits_of(&w, text + begin, count - begin, logits);
    float most = logits[0];
    for (int v = 1; v < V; v++) most = fmaxf(most, logits[v]);
    ck_assert_msg(logits[next] >= most - 1e-4f * fmaxf(1, fabsf(most)), "token %d", i);
    text[count++] = next;
  }
  mica_generator_destroy(g);
  network_drop(&w.net);
}
END_TEST

/* Two prompts, one of which fills the context long before the other: each text is what it would be alone. */
START_TEST(windows_of_several_are_each_alone) {
  enum { WINDOW = 10, MORE = CONTEXT + 30 };
  static const mica_sampling ways[] = {{.temperature = MICA_ZERO},
                                       {.temperature = 0.7, .top_k = 5, .repetition = 1.3, .seed = 6}};
  whole w = make_whole(&kinds[1], MICA_F32);
  for (size_t i = 0; i < 2; i++) {
    int32_t together[MORE][2], alone = 0;
    mica_generator *two = make(&w, 2, ways[i], WINDOW), *one = make(&w, 1, ways[i], WINDOW);
    ck_ok(mica_generator_prompt(two, prompts[1], lengths + 1, CONTEXT));
    for (int k = 0; k < MORE; k++) ck_ok(mica_generator_next(two, together[k]));
    for (int b = 0; b < 2; b++) {
      ck_ok(mica_generator_prompt(one, prompts[1 + b], lengths + 1 + b, CONTEXT));
      for (int k = 0; k < MORE; k++) {
        ck_ok(mica_generator_next(one, &alone));
        ck_assert_msg(together[k][b] == alone, "way %zu, prompt %d, token %d: %d beside another, %d alone", i, b, k,
                      (int)together[k][b], (int)alone);
      }
    }
    mica_generator_destroy(two);
    mica_generator_destroy(one);
  }
  network_drop(&w.net);
}
END_TEST

/* What is so small that f32 does not have it, or its reciprocal, leaves the likeliest token; and more than there are
 * leaves all. */
START_TEST(extreme_options_draw_what_they_tend_to) {
  static const mica_sampling likeliest[] = {{.temperature = 1e-30, .seed = 1},
                                            {.temperature = 1e-310, .seed = 2},
                                            {.temperature = 1e-310, .top_k = 5, .seed = 3},
                                            {.top_p = 1e-9, .seed = 4},
                                            {.top_p = 1e-310, .seed = 5}};
  static const mica_sampling all[] = {{.top_k = V + 1, .seed = 6}, {.top_k = INT64_MAX, .top_p = 1, .seed = 6}};
  static const mica_sampling wide[] = {{.repetition = 1e-310}, {.repetition = 1e300}, {.temperature = 1e300}};
  whole w = make_whole(&kinds[0], MICA_F32);
  int32_t wanted[LENGTH], got[LENGTH];
  mica_generator *g = make(&w, 1, greedy, 0);
  write_texts(g, 0, 1, wanted, LENGTH);
  mica_generator_destroy(g);
  for (size_t i = 0; i < sizeof likeliest / sizeof *likeliest; i++) {
    g = make(&w, 1, likeliest[i], 0);
    write_texts(g, 0, 1, got, LENGTH);
    ck_assert_msg(!memcmp(got, wanted, sizeof got), "way %zu is not the likeliest", i);
    mica_generator_destroy(g);
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    g = make(&w, 1, all[i], 0);
    write_texts(g, 0, 1, i ? got : wanted, LENGTH);
    mica_generator_destroy(g);
  }
  ck_assert(!memcmp(got, wanted, sizeof got));
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
    bool differ = false;
    g = make(&w, 1, wide[i], 0);
    write_texts(g, 0, 1, got, LENGTH);
    for (int k = 1; k < LENGTH; k++) differ = differ || got[k] != got[0];
    /* A penalty below 1 repeats one token. */
    ck_assert_msg(differ || i == 0, "way %zu writes token %d alone", i, (int)got[0]);
    for (int k = 0; i == 0 && k < LENGTH; k++) {
      bool held = false;
      for (int64_t p = 0; p < lengths[0]; p++) held = held || prompts[0][p] == got[k];
      ck_assert_msg(held, "token %d, %d, is not one that the prompt holds", k, (int)got[k]);
    }
    mica_generator_destroy(g);
  }
  network_drop(&w.net);
}
END_TEST

START_TEST(what_is_wrong_is_said) {
  whole w = make_whole(&kinds[0], MICA_F32);
  mica_generator *g = make(&w, 1, greedy, 0), *none = NULL;
  int32_t ids[CONTEXT + 1] = {0}, next = 0, length = 0;
  ck_assert(mica_generator_next(g, &next) == MICA_E_STATE);
  ck_assert(mica_generator_prompt(g, ids, &length, CONTEXT) == MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "prompt 1 is empty");
  length = CONTEXT + 1;
  ck_assert(mica_generator_prompt(g, ids, &length, CONTEXT + 1) == MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "prompt 1 has 49 tokens, but the network's context holds 48");
  length = 2;
  ids[1] = V;
  ck_assert(mica_generator_prompt(g, ids, &length, 2) == MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "token 2 of prompt 1 is 23, but tokens of the vocabulary are 0 to 22");
  ids[1] = -1;
  ck_assert(mica_generator_prompt(g, ids, &length, 2) == MICA_E_INVALID);
  ids[1] = 0;
  length = CONTEXT;
  ck_ok(mica_generator_prompt(g, ids, &length, CONTEXT));
  ck_assert_int_eq(mica_generator_room(g), 1);
  ck_ok(mica_generator_next(g, &next));
  ck_assert(mica_generator_next(g, &next) == MICA_E_STATE);
  ck_assert_str_eq(mica_error_message(), "the context of 48 tokens is full; set window to go on");
  mica_generator_destroy(g);
  static const mica_sampling wrong[] = {
      {.temperature = -1}, {.temperature = NAN}, {.top_k = -1}, {.top_p = 1.5}, {.repetition = -2}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const mica_generator_config config = {
        .block = block, .block_config = &w.config, .context = CONTEXT, .sampling = wrong[i]};
    ck_assert(mica_generator_create(test_engine(), &config, &none) == MICA_E_INVALID && !none);
  }
  const mica_generator_config wide = {.block = block, .block_config = &w.config, .context = 8, .window = 8};
  ck_assert(mica_generator_create(test_engine(), &wide, &none) == MICA_E_INVALID && !none);
  network_drop(&w.net);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(tokens_are_the_likeliest_of_the_whole_network, 0, KINDS), several_at_once_are_each_alone,
      LOOP(draws_follow_the_distribution, 0, 6), nothing_grows_with_the_text, a_window_goes_on,
      windows_of_several_are_each_alone, extreme_options_draw_what_they_tend_to, what_is_wrong_is_said)
