/* labels: null single
 *
 * Samplers beside numbers by hand: order, ties, seeds, windows, masks, and what is refused. test_sampler_oracle.sh
 * compares each step with its formula on many rows. */
#include "support/check_main.h"
#include "support/fault_libc.h"

#include <check.h>
#include <math.h>
#include <mica/mica.h>
#include <string.h>

static mica_sampler *make(mica_sampler_config config) {
  mica_sampler *s = NULL;
  ck_assert_msg(mica_sampler_create(&config, &s) == MICA_OK, "%s", mica_error_message());
  return s;
}

/* Nothing but what the test turns on. */
static mica_sampler_config off(void) {
  return (mica_sampler_config){.temperature = 1, .top_k = -1, .top_p = 1, .min_p = MICA_ZERO};
}

static int32_t draw(mica_sampler *s, const float *logits, int64_t n) {
  int32_t token = -1;
  ck_assert_msg(mica_sampler_draw(s, logits, n, NULL, &token, NULL) == MICA_OK, "%s", mica_error_message());
  ck_assert(token >= 0 && token < n);
  return token;
}

static void left(const mica_sampler *s, const int32_t *tokens, size_t count) {
  size_t found;
  const mica_candidate *at = mica_sampler_candidates(s, &found);
  ck_assert_uint_eq(found, count);
  for (size_t i = 0; i < count; i++) ck_assert_int_eq(at[i].token, tokens[i]);
}
#define LEFT(s, ...) left(s, (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

START_TEST(equal_logits_go_by_id) {
  const float logits[] = {1, 2, 2, 2, 0, 2};
  mica_sampler *s = make((mica_sampler_config){.temperature = MICA_ZERO});
  ck_assert_int_eq(draw(s, logits, 6), 1);
  mica_sampler_destroy(s);
  mica_sampler_config config = off();
  config.top_k = 3;
  s = make(config);
  draw(s, logits, 6);
  LEFT(s, 1, 2, 3);
  mica_sampler_destroy(s);
}
END_TEST

/* p = 0.5, 0.3, 0.2: top_p 0.55 keeps two; after top_k 2 the first has 0.625 and is kept alone. */
START_TEST(order_matters) {
  const float logits[] = {logf(0.5f), logf(0.3f), logf(0.2f)};
  mica_sampler_config config = off();
  config.top_k = 2;
  config.top_p = 0.55;
  mica_sampler *s = make(config);
  draw(s, logits, 3);
  LEFT(s, 0);
  mica_sampler_destroy(s);
  config.order = "top_p,top_k";
  s = make(config);
  draw(s, logits, 3);
  LEFT(s, 0, 1);
  mica_sampler_destroy(s);
  config.order = "temperature"; /* the others are off */
  s = make(config);
  draw(s, logits, 3);
  LEFT(s, 0, 1, 2);
  mica_sampler_destroy(s);
}
END_TEST

START_TEST(defaults_cut) {
  float logits[100];
  for (int i = 0; i < 100; i++) logits[i] = (float)(i % 10) / 1000;
  mica_sampler *s = NULL;
  ck_assert_int_eq(mica_sampler_create(NULL, &s), MICA_OK);
  size_t count = 7;
  ck_assert_ptr_null(mica_sampler_candidates(s, &count));
  ck_assert_uint_eq(count, 0);
  draw(s, logits, 100);
  const mica_candidate *at = mica_sampler_candidates(s, &count);
  ck_assert_uint_eq(count, 38); /* 40 of nearly equal shares, and 0.95 of these */
  ck_assert_int_eq(at[0].token, 9);
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += exp(at[i].logprob);
  ck_assert_double_eq_tol(sum, 1, 1e-12);
  mica_sampler_destroy(s);
}
END_TEST

enum { TEXT = 200 };

static void write_text(mica_sampler *s, mica_sampler *other, int32_t *text) {
  float logits[50];
  for (int32_t at = 0; at < TEXT; at++) {
    for (int i = 0; i < 50; i++) logits[i] = sinf((float)(i * (at + 3)));
    if (other) mica_sampler_accept(other, draw(other, logits, 50));
    text[at] = draw(s, logits, 50);
    ck_assert_int_eq(draw(s, logits, 50), text[at]); /* a draw does not advance */
    mica_sampler_accept(s, text[at]);
  }
}

START_TEST(seeds_and_positions_decide) {
  int32_t alone[TEXT], in_company[TEXT], again[TEXT], of_other_seed[TEXT];
  mica_sampler *s = make((mica_sampler_config){.seed = 42}), *other = make((mica_sampler_config){.seed = 43});
  write_text(s, NULL, alone);
  mica_sampler_reset(s);
  write_text(s, other, again);
  mica_sampler_destroy(s);
  s = make((mica_sampler_config){.seed = 42});
  write_text(s, other, in_company);
  mica_sampler_reset(other);
  write_text(other, NULL, of_other_seed);
  ck_assert_mem_eq(alone, again, sizeof alone);
  ck_assert_mem_eq(alone, in_company, sizeof alone);
  ck_assert_mem_ne(alone, of_other_seed, sizeof alone);
  mica_sampler_destroy(s);
  mica_sampler_destroy(other);
}
END_TEST

START_TEST(draws_have_the_distribution) {
  const float logits[] = {logf(0.5f), logf(0.3f), logf(0.2f)};
  enum { DRAWS = 30000 };
  int counts[3] = {0};
  mica_sampler *s = make(off());
  for (int i = 0; i < DRAWS; i++) {
    counts[draw(s, logits, 3)]++;
    mica_sampler_accept(s, 0);
  }
  const double p[] = {0.5, 0.3, 0.2};
  for (int i = 0; i < 3; i++) /* five standard deviations */
    ck_assert_double_eq_tol(counts[i], DRAWS * p[i], 5 * sqrt(DRAWS * p[i] * (1 - p[i])));
  mica_sampler_destroy(s);
}
END_TEST

/* Token 1 counts as long as it is among the last three. */
START_TEST(penalties_have_a_window) {
  const float logits[] = {1, 2, -2, -2.5f};
  mica_sampler_config config = off();
  config.temperature = MICA_ZERO;
  config.presence_penalty = 1.5;
  config.penalty_last_n = 3;
  mica_sampler *s = make(config);
  mica_sampler_accept(s, 1);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(draw(s, logits, 4), 0);
    mica_sampler_accept(s, 2);
  }
  ck_assert_int_eq(draw(s, logits, 4), 0);
  mica_sampler_accept(s, 2);
  ck_assert_int_eq(draw(s, logits, 4), 1);
  mica_sampler_accept(s, 1);
  mica_sampler_reset(s);
  ck_assert_int_eq(draw(s, logits, 4), 1);
  mica_sampler_destroy(s);
}
END_TEST

/* After "1 2 3 ... 1 2" a 3 would repeat; a breaker between ends it. */
START_TEST(dry_ends_repetitions) {
  const float logits[] = {0, 0, 0, 1, 0.5f, 0};
  const int32_t text[] = {1, 2, 3, 4, 1, 2}, broken[] = {1, 5, 3, 4, 1, 5}, breaker = 5;
  mica_sampler_config config = off();
  config.temperature = MICA_ZERO;
  config.dry_multiplier = 1;
  config.dry_breakers = &breaker;
  config.dry_breaker_count = 1;
  mica_sampler *s = make(config);
  for (int i = 0; i < 5; i++) mica_sampler_accept(s, text[i]);
  ck_assert_int_eq(draw(s, logits, 6), 3);
  mica_sampler_accept(s, text[5]);
  ck_assert_int_eq(draw(s, logits, 6), 4);
  mica_sampler_reset(s);
  for (int i = 0; i < 6; i++) mica_sampler_accept(s, broken[i]);
  ck_assert_int_eq(draw(s, logits, 6), 3);
  mica_sampler_destroy(s);
}
END_TEST

START_TEST(masks_and_biases_forbid) {
  float logits[70] = {0};
  logits[1] = 9;
  const uint32_t mask[] = {1u << 4, 0, 1u << 5 | 1u << 6 | 1u << 7}; /* 4, 69; 70 and 71 are past the end */
  const mica_logit_bias bias[] = {{69, 1.5f}, {4, -INFINITY}, {69, 1}};
  mica_sampler_config config = off();
  int32_t token;
  float logprob;
  mica_sampler *s = make(config);
  ck_assert_int_eq(mica_sampler_draw(s, logits, 70, mask, &token, &logprob), MICA_OK);
  LEFT(s, 4, 69);
  ck_assert_float_eq_tol(logprob, (float)-log(exp(9) + 69), 1e-5f);
  mica_sampler_destroy(s);
  config.logit_bias = bias;
  config.logit_bias_count = 3;
  s = make(config);
  ck_assert_int_eq(mica_sampler_draw(s, logits, 70, mask, &token, &logprob), MICA_OK);
  ck_assert_int_eq(token, 69);
  LEFT(s, 69);
  draw(s, logits, 70);
  size_t count;
  const mica_candidate *at = mica_sampler_candidates(s, &count);
  ck_assert_double_eq_tol(at[68].logprob - at[0].logprob, 2.5, 1e-6);
  /* All that the mask allows is forbidden. */
  const uint32_t four[] = {1u << 4, 0, 0}, none[] = {0, 0, 1u << 6};
  token = 33;
  ck_assert_int_eq(mica_sampler_draw(s, logits, 70, four, &token, NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "logit_bias forbids"));
  ck_assert_int_eq(mica_sampler_draw(s, logits, 70, none, &token, NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "mask allows no token"));
  ck_assert_int_eq(mica_sampler_draw(s, logits, 60, NULL, &token, NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "token 69"));
  ck_assert_int_eq(token, 33);
  mica_sampler_destroy(s);
}
END_TEST

START_TEST(wrong_logits_and_ids_are_named) {
  const float odd[] = {NAN, INFINITY, -INFINITY};
  int32_t token = 33;
  mica_sampler_config config = off();
  config.repeat_penalty = 2;
  config.penalty_last_n = 2;
  mica_sampler *s = make(config);
  for (int i = 0; i < 3; i++) {
    const float logits[] = {0, 1, odd[i]};
    ck_assert_int_eq(mica_sampler_draw(s, logits, 3, NULL, &token, NULL), MICA_E_NUMERIC);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "token 2 at position 0"));
  }
  const float logits[] = {3e38f, -3e38f, 0};
  const int32_t ids[] = {-1, 3, INT32_MIN, INT32_MAX};
  for (int i = 0; i < 4; i++) {
    mica_sampler_accept(s, ids[i]);
    ck_assert_int_eq(mica_sampler_draw(s, logits, 3, NULL, &token, NULL), MICA_E_INVALID);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "was accepted"));
  }
  mica_sampler_accept(s, 0);
  mica_sampler_accept(s, 1);
  ck_assert_int_eq(draw(s, logits, 3), 0);
  ck_assert_int_eq(mica_sampler_draw(s, logits, 0, NULL, &token, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_sampler_draw(s, logits, (int64_t)1 << 31, NULL, &token, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_sampler_draw(NULL, logits, 3, NULL, &token, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_sampler_draw(s, NULL, 3, NULL, &token, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_sampler_draw(s, logits, 3, NULL, NULL, NULL), MICA_E_INVALID);
  ck_assert_int_eq(token, 33);
  mica_sampler_destroy(s);
  mica_sampler_destroy(NULL);
  mica_sampler_accept(NULL, 0);
  mica_sampler_reset(NULL);
}
END_TEST

/* There are no candidates after any draw that failed, nor after a reset. */
START_TEST(failures_and_resets_leave_no_candidates) {
  const float logits[] = {1, 2, 3}, odd[] = {1, NAN, 3};
  const uint32_t none = 0;
  int32_t token;
  mica_sampler_config config = off();
  config.repeat_penalty = 2;
  mica_sampler *s = make(config);
  for (int i = 0; i < 8; i++) {
    size_t count = 0;
    mica_sampler_reset(s);
    draw(s, logits, 3);
    ck_assert_ptr_nonnull(mica_sampler_candidates(s, &count));
    ck_assert_uint_eq(count, 3);
    if (i == 6) mica_sampler_accept(s, 3);
    if (i == 7)
      mica_sampler_reset(s);
    else
      ck_assert_int_ne(mica_sampler_draw(s,
                                         i == 0   ? NULL
                                         : i == 1 ? odd
                                                  : logits,
                                         i == 2   ? 0
                                         : i == 3 ? -1
                                                  : 3,
                                         i == 4 ? &none : NULL, i == 5 ? NULL : &token, NULL),
                       MICA_OK);
    ck_assert_msg(!mica_sampler_candidates(s, &count) && count == 0, "case %d leaves %zu", i, count);
  }
  mica_sampler_destroy(s);
}
END_TEST

/* Extreme settings leave one token at least, and numbers. */
START_TEST(extremes_leave_a_token) {
  const float logits[] = {3e38f, -3e38f, 3e38f, 0, 1e-40f};
  mica_sampler *s = make((mica_sampler_config){.temperature = 1e-300,
                                               .temperature_range = 1,
                                               .top_p = MICA_ZERO,
                                               .min_p = 1,
                                               .typical_p = MICA_ZERO,
                                               .top_n_sigma = 1e-300,
                                               .xtc_probability = 1,
                                               .xtc_threshold = MICA_ZERO,
                                               .repeat_penalty = 1e6,
                                               .presence_penalty = 1e6,
                                               .dry_multiplier = 1e6,
                                               .dry_base = 1e6,
                                               .dry_allowed_length = 1});
  for (int i = 0; i < 300; i++) {
    draw(s, logits, 5);
    size_t count;
    const mica_candidate *at = mica_sampler_candidates(s, &count);
    ck_assert(count >= 1 && isfinite(at[0].logprob));
    mica_sampler_accept(s, i < 20 ? i % 5 : 3);
  }
  mica_sampler_destroy(s);
}
END_TEST

static const int32_t breakers[] = {3, 1};
static const mica_logit_bias biases[] = {{3, 1}, {1, 2}};
static const mica_sampler_config everything = {.typical_p = 0.9,
                                               .top_n_sigma = 2,
                                               .xtc_probability = 0.5,
                                               .repeat_penalty = 1.1,
                                               .dry_multiplier = 1,
                                               .dry_breakers = breakers,
                                               .dry_breaker_count = 2,
                                               .logit_bias = biases,
                                               .logit_bias_count = 2};

static mica_status draw_some(void *logits) {
  mica_sampler *s = NULL;
  int32_t token;
  mica_status status = mica_sampler_create(&everything, &s);
  for (int64_t n = 50; status == MICA_OK && n <= 100; n += 25) {
    status = mica_sampler_draw(s, logits, n, NULL, &token, NULL);
    mica_sampler_accept(s, 1);
  }
  mica_sampler_destroy(s);
  return status;
}

START_TEST(memory_may_run_out) {
  float logits[100];
  for (int i = 0; i < 100; i++) logits[i] = sinf((float)i);
  fault_libc_each(FAULT_MEMORY, draw_some, logits, 15);
  /* The first draw allocates, the others do not. */
  int32_t token;
  mica_sampler *s = make(everything);
  draw(s, logits, 100);
  fault_libc_arm(FAULT_MEMORY, 1);
  mica_status status = MICA_OK;
  for (int64_t i = 0; status == MICA_OK && i < 5000; i++) {
    status = mica_sampler_draw(s, logits, 100 - i % 50, NULL, &token, NULL);
    mica_sampler_accept(s, token);
  }
  const char *fired = fault_libc_fired();
  fault_libc_arm(0, 0);
  ck_assert_int_eq(status, MICA_OK);
  ck_assert_ptr_null(fired);
  mica_sampler_destroy(s);
}
END_TEST

static const struct {
  mica_sampler_config config;
  const char *says;
} wrong[] = {
    {{.temperature = -1}, "temperature is -1"},
    {{.temperature = NAN}, "temperature is"},
    {{.top_p = 1.5}, "top_p is 1.5"},
    {{.min_p = INFINITY}, "min_p is inf"},
    {{.typical_p = -0.5}, "typical_p"},
    {{.repeat_penalty = MICA_ZERO}, "repeat_penalty cannot be zero"},
    {{.dry_base = 0.5}, "dry_base is 0.5; choose a number from 1"},
    {{.top_k = -2}, "top_k is -2"},
    {{.penalty_last_n = -1}, "penalty_last_n is -1"},
    {{.dry_last_n = INT64_MAX}, "dry_last_n"},
    {{.dry_breaker_count = 1}, "dry_breakers is NULL"},
    {{.logit_bias_count = 1}, "logit_bias is NULL"},
    {{.logit_bias = &(const mica_logit_bias){-1, 1}, .logit_bias_count = 1}, "token -1"},
    {{.logit_bias = &(const mica_logit_bias){1, NAN}, .logit_bias_count = 1}, "token 1 is"},
    {{.logit_bias = &(const mica_logit_bias){1, INFINITY}, .logit_bias_count = 1}, "token 1 is inf"},
    {{.order = ""}, "order cannot contain \"\""},
    {{.order = "top_k,"}, "order cannot contain \"\""},
    {{.order = "top_k,greedy"}, "\"greedy\""},
    {{.order = "top_k,top"}, "\"top\""},
    {{.order = "min_p,top_k,min_p"}, "min_p twice"},
};

START_TEST(wrong_settings_are_named) {
  mica_sampler *s = NULL;
  ck_assert_int_eq(mica_sampler_create(&wrong[_i].config, &s), MICA_E_INVALID);
  ck_assert_ptr_null(s);
  ck_assert_msg(strstr(mica_error_message(), wrong[_i].says), "%s", mica_error_message());
  ck_assert_int_eq(mica_sampler_create(NULL, NULL), MICA_E_INVALID);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, equal_logits_go_by_id, order_matters, defaults_cut, seeds_and_positions_decide,
      draws_have_the_distribution, penalties_have_a_window, dry_ends_repetitions, masks_and_biases_forbid,
      wrong_logits_and_ids_are_named, failures_and_resets_leave_no_candidates, extremes_leave_a_token,
      memory_may_run_out, LOOP(wrong_settings_are_named, 0, sizeof wrong / sizeof *wrong))
