/* Steps that change logits of single tokens: logit bias, penalties, DRY. */
#include "text/sampler/sampler.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Runs before all other steps, so candidates are still ordered by id. */
void mica__sample_logit_bias(mica_sampler *s) {
  mica__candidates *c = &s->left;
  size_t b = 0;
  for (int64_t i = 0; i < c->count; i++) {
    while (b < s->config.logit_bias_count && s->bias[b].token < c->at[i].token) b++;
    if (b == s->config.logit_bias_count) break;
    if (s->bias[b].token == c->at[i].token) c->at[i].logprob += s->bias[b].bias;
  }
  mica__candidates_changed(c);
  mica__candidates_filter(c, -DBL_MAX);
}

void mica__sample_penalties(mica_sampler *s) {
  const mica_sampler_config *config = &s->config;
  mica__candidates *c = &s->left;
  const int64_t n = mica__sampler_known(s, config->penalty_last_n);
  for (int64_t i = 0; i < n; i++) s->mark[mica__sampler_past(s, i)]++;
  for (int64_t i = 0; i < c->count; i++) {
    const int32_t count = s->mark[c->at[i].token];
    if (count == 0) continue;
    double *logit = &c->at[i].logprob;
    *logit = *logit > 0 ? *logit / config->repeat_penalty : *logit * config->repeat_penalty;
    *logit -= count * config->frequency_penalty + config->presence_penalty;
  }
  for (int64_t i = 0; i < n; i++) s->mark[mica__sampler_past(s, i)] = 0;
  mica__candidates_changed(c);
}

static bool breaks(const mica_sampler *s, int32_t token) {
  return s->breakers && bsearch(&token, s->breakers, s->config.dry_breaker_count, sizeof token, mica__compare_ids);
}

/* match[i]: the number of tokens before position n - i that equal the tokens at the end of the text. Z algorithm on the
 * reversed text, O(n). */
static void find_repetitions(const int32_t *recent, int64_t n, int32_t *match) {
  int64_t from = 0, to = 0; /* recent[from, to) equals recent[0, to - from) */
  for (int64_t i = 1; i < n; i++) {
    int64_t length = i < to ? (match[i - from] < to - i ? match[i - from] : to - i) : 0;
    while (i + length < n && recent[length] == recent[i + length]) length++;
    match[i] = (int32_t)length;
    if (i + length > to) from = i, to = i + length;
  }
}

void mica__sample_dry(mica_sampler *s) {
  const mica_sampler_config *config = &s->config;
  mica__candidates *c = &s->left;
  const int64_t n = mica__sampler_known(s, config->dry_last_n);
  int64_t most = 0; /* tokens since the last breaker; repetitions do not reach across it */
  for (int64_t i = 0; i < n; i++) s->recent[i] = mica__sampler_past(s, i);
  while (most < n && !breaks(s, s->recent[most])) most++;
  if (most < config->dry_allowed_length) return;
  find_repetitions(s->recent, n, s->match);
  for (int64_t i = 1; i < n; i++) {
    const int32_t length = (int32_t)(s->match[i] < most ? s->match[i] : most), follows = s->recent[i - 1];
    if (length >= config->dry_allowed_length && length > s->mark[follows] && !breaks(s, follows))
      s->mark[follows] = length;
  }
  /* Keeps powers below FLT_MAX, so logits stay finite. */
  const double greatest = config->dry_base > 1.000001 ? floor(log(3.4e38) / log(config->dry_base)) : HUGE_VAL;
  for (int64_t i = 0; i < c->count; i++) {
    const int32_t length = s->mark[c->at[i].token];
    if (length == 0) continue;
    const double exponent = fmin((double)(length - config->dry_allowed_length), greatest);
    c->at[i].logprob -= config->dry_multiplier * pow(config->dry_base, exponent);
  }
  for (int64_t i = 0; i < n; i++) s->mark[s->recent[i]] = 0;
  mica__candidates_changed(c);
}
