/* Creates samplers, draws tokens, and accepts tokens. */
#include "base/checked.h"
#include "ops/random/philox.h"
#include "text/sampler/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mica__sample_fn *const functions[] = {
#define SAMPLER(name, slot, changes) mica__sample_##name,
#include "text/sampler/samplers.def"
#undef SAMPLER
};

mica_status mica_sampler_create(const mica_sampler_config *config, mica_sampler **sampler) {
  if (!sampler) return mica__fail(MICA_E_INVALID, "mica_sampler_create: sampler is NULL");
  mica_sampler *s = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("a sampler");
  const mica_status status = mica__sampler_configure(s, config);
  if (status == MICA_OK)
    *sampler = s;
  else
    mica_sampler_destroy(s);
  return status;
}

static void free_vocabulary(mica_sampler *s) {
  free(s->left.at);
  free(s->near);
  free(s->mark);
  s->left = (mica__candidates){0};
  s->near = NULL;
  s->mark = NULL;
  s->capacity = 0;
}

void mica_sampler_destroy(mica_sampler *sampler) {
  if (!sampler) return;
  free_vocabulary(sampler);
  free(sampler->bias);
  free(sampler->breakers);
  free(sampler->history);
  free(sampler->recent);
  free(sampler->match);
  free(sampler);
}

void mica_sampler_accept(mica_sampler *sampler, int32_t token) {
  if (!sampler) return;
  if (sampler->window > 0) sampler->history[sampler->position % (uint64_t)sampler->window] = token;
  sampler->position++;
}

void mica_sampler_reset(mica_sampler *sampler) {
  if (!sampler) return;
  sampler->position = 0;
  sampler->left.count = 0;
}

const mica_candidate *mica_sampler_candidates(const mica_sampler *sampler, size_t *count) {
  const bool some = sampler && sampler->left.count > 0;
  if (count) *count = some ? (size_t)sampler->left.count : 0;
  return some ? sampler->left.at : NULL;
}

/* --- draws --- */

static bool has_step(const mica_sampler *s, int step) {
  for (int i = 0; i < s->chain_count; i++)
    if (s->chain[i] == step) return true;
  return false;
}

static mica_status make_room(mica_sampler *s, int64_t vocabulary) {
  size_t bytes;
  if (vocabulary <= s->capacity) return MICA_OK;
  if (!mica__mul_size((uint64_t)vocabulary, sizeof *s->left.at, &bytes))
    return mica__fail(MICA_E_OVERFLOW, "mica_sampler_draw: a vocabulary of %lld tokens is too large",
                      (long long)vocabulary);
  free_vocabulary(s);
  const bool typical = has_step(s, MICA__SAMPLER_typical);
  s->left.at = malloc(bytes);
  s->mark = calloc((size_t)vocabulary, sizeof *s->mark);
  if (typical) s->near = malloc(bytes);
  if (!s->left.at || !s->mark || (typical && !s->near)) {
    free_vocabulary(s);
    return mica__fail_nomem("a sampler's candidates");
  }
  s->capacity = vocabulary;
  return MICA_OK;
}

static mica_status check_ids(const mica_sampler *s, int64_t vocabulary) {
  for (size_t i = 0; i < s->config.logit_bias_count; i++)
    if (s->bias[i].token >= vocabulary)
      return mica__fail(MICA_E_INVALID,
                        "sampler: logit_bias is for token %d, but tokens of the vocabulary are 0 to %lld",
                        (int)s->bias[i].token, (long long)vocabulary - 1);
  const int64_t known = mica__sampler_known(s, s->window);
  for (int64_t i = 0; i < known; i++) {
    const int32_t token = mica__sampler_past(s, i);
    if (token < 0 || token >= vocabulary)
      return mica__fail(
          MICA_E_INVALID,
          "sampler: token %d was accepted at position %llu, but is not one of the vocabulary's %lld tokens", (int)token,
          (unsigned long long)(s->position - 1 - (uint64_t)i), (long long)vocabulary);
  }
  return MICA_OK;
}

/* Fills the candidates with all tokens that the mask allows, in the order of their ids. */
static mica_status fill(mica_sampler *s, const float *logits, int64_t vocabulary, const uint32_t *mask) {
  mica__candidates *c = &s->left;
  *c = (mica__candidates){.at = c->at, .by_id = true};
  int64_t count = 0;
  for (int64_t i = 0; i < vocabulary; i++) {
    if (!isfinite(logits[i])) {
      return mica__fail(MICA_E_NUMERIC, "sampler: the logit of token %lld at position %llu is %f, but must be finite",
                        (long long)i, (unsigned long long)s->position, (double)logits[i]);
    }
    if (mask && !(mask[i / 32] >> (i % 32) & 1)) continue;
    c->at[count++] = (mica_candidate){(int32_t)i, logits[i]};
  }
  if (count == 0)
    return mica__fail(MICA_E_INVALID, "sampler: the mask allows no token at position %llu",
                      (unsigned long long)s->position);
  c->count = count;
  return MICA_OK;
}

static mica_status run(mica_sampler *s) {
  for (int i = 0; i < s->chain_count; i++) {
    functions[s->chain[i]](s);
    if (s->left.count == 0)
      return mica__fail(MICA_E_INVALID,
                        "sampler: at position %llu, logit_bias forbids every token, or every one that the mask allows",
                        (unsigned long long)s->position);
  }
  return MICA_OK;
}

/* The log softmax of all logits, at one token. */
static double log_softmax(const float *logits, int64_t n, int32_t token) {
  double largest = logits[0], sum = 0;
  for (int64_t i = 1; i < n; i++)
    if (logits[i] > largest) largest = logits[i];
  for (int64_t i = 0; i < n; i++) sum += exp(logits[i] - largest);
  return logits[token] - largest - log(sum);
}

mica_status mica_sampler_draw(mica_sampler *sampler, const float *logits, int64_t vocabulary, const uint32_t *mask,
                              int32_t *token, float *logprob) {
  mica_sampler *s = sampler;
  if (s) s->left.count = 0; /* no candidates after a failure */
  if (!s || !logits || !token) return mica__fail(MICA_E_INVALID, "mica_sampler_draw: sampler, logits or token is NULL");
  if (vocabulary < 1 || vocabulary > INT32_MAX)
    return mica__fail(MICA_E_INVALID, "mica_sampler_draw: vocabulary is %lld, but must be 1 to %d",
                      (long long)vocabulary, INT32_MAX);
  MICA_TRY(make_room(s, vocabulary));
  MICA_TRY(check_ids(s, vocabulary));
  const uint32_t counter[4] = {(uint32_t)s->position, (uint32_t)(s->position >> 32), 0, UINT32_C(0x73616d70)};
  memcpy(s->random, counter, sizeof counter);
  mica__philox(s->random, (uint32_t)s->config.seed, (uint32_t)(s->config.seed >> 32));
  MICA_TRY(fill(s, logits, vocabulary, mask));
  MICA_TRY(run(s));
  *token = s->drawn;
  if (logprob) *logprob = (float)log_softmax(logits, vocabulary, *token);
  return MICA_OK;
}
