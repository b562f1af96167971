/* Steps that remove tokens. */
#include "text/sampler/sampler.h"

#include <math.h>

/* Some steps rarely need many candidates. They sort the best FEW first and, when they need candidate i beyond these,
 * the best MORE * i. */
enum { FEW = 64, MORE = 8 };

/* Sorts at least up to candidate i. */
static void reach(mica__candidates *c, int64_t i) {
  if (i >= c->sorted) mica__candidates_sort(c, i < FEW ? FEW : i * MORE);
}

void mica__sample_top_n_sigma(mica_sampler *s) {
  mica__candidates *c = &s->left;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < c->count; i++) sum += c->at[i].logprob;
  const double mean = sum / (double)c->count;
  for (int64_t i = 0; i < c->count; i++) squares += (c->at[i].logprob - mean) * (c->at[i].logprob - mean);
  const double sigma = sqrt(squares / (double)c->count);
  mica__candidates_filter(c, mica__candidates_largest(c) - s->config.top_n_sigma * sigma);
}

void mica__sample_top_k(mica_sampler *s) {
  mica__candidates_sort(&s->left, s->config.top_k);
  mica__candidates_cut(&s->left, s->config.top_k);
}

/* Marks the tokens that stay, then removes the others, so the order is kept. */
void mica__sample_typical(mica_sampler *s) {
  mica__candidates *c = &s->left, near = {.at = s->near, .count = c->count};
  double largest;
  const double log_sum = log(mica__candidates_sum(c, &largest)) + largest, entropy = mica__candidates_entropy(c);
  for (int64_t i = 0; i < c->count; i++)
    near.at[i] = (mica_candidate){(int32_t)i, -fabs(log_sum - c->at[i].logprob - entropy)};
  double sum = 0;
  int64_t n = 0, sorted = 0;
  while (n < c->count && sum <= s->config.typical_p) {
    reach(&near, n);
    const mica_candidate *next = &c->at[near.at[n++].token];
    sum += exp(next->logprob - log_sum);
    s->mark[next->token] = 1;
  }
  n = 0;
  for (int64_t i = 0; i < c->count; i++) {
    if (!s->mark[c->at[i].token]) continue;
    s->mark[c->at[i].token] = 0;
    sorted += i < c->sorted;
    c->at[n++] = c->at[i];
  }
  c->count = n;
  c->sorted = sorted;
}

void mica__sample_top_p(mica_sampler *s) {
  mica__candidates *c = &s->left;
  double largest, part = 0;
  const double sum = mica__candidates_sum(c, &largest);
  for (int64_t i = 0; i < c->count; i++) {
    reach(c, i);
    part += exp(c->at[i].logprob - largest) / sum;
    if (part >= s->config.top_p) mica__candidates_cut(c, i + 1);
  }
}

/* Keeps tokens with p >= min_p * largest p. This is the same as logit >= largest logit + log(min_p). */
void mica__sample_min_p(mica_sampler *s) {
  mica__candidates_filter(&s->left, mica__candidates_largest(&s->left) + log(s->config.min_p));
}

void mica__sample_xtc(mica_sampler *s) {
  if (mica__sampler_uniform(s, 2) >= s->config.xtc_probability) return;
  mica__candidates *c = &s->left;
  double largest;
  const double sum = mica__candidates_sum(c, &largest);
  int64_t likely = 0;
  for (; likely < c->count; likely++) {
    reach(c, likely);
    if (exp(c->at[likely].logprob - largest) / sum < s->config.xtc_threshold) break;
  }
  if (likely < 2) return;
  const int64_t gone = likely - 1;
  for (int64_t i = gone; i < c->count; i++) c->at[i - gone] = c->at[i];
  c->count -= gone;
  c->sorted -= gone;
}
