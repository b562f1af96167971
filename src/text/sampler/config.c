/* A sampler's settings: defaults, ranges, the order of steps. */
#include "base/arith.h"
#include "text/sampler/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

static mica_status fill_real(const char *name, double *field, double fallback, double least, double most) {
  if (*field != 0 && !(*field >= least && *field <= most))
    return mica__fail(MICA_E_INVALID, "sampler: %s is %g; choose a number from %g to %g", name, *field, least, most);
  *field = mica__or_default(*field, fallback);
  if (*field < least)
    return mica__fail(MICA_E_INVALID, "sampler: %s cannot be zero; choose a number from %g to %g", name, least, most);
  return MICA_OK;
}

static mica_status fill_whole(const char *name, int64_t *field, int64_t fallback, int64_t least, int64_t most) {
  if (*field != 0 && (*field < least || *field > most))
    return mica__fail(MICA_E_INVALID, "sampler: %s is %lld; choose a number from %lld to %lld", name, (long long)*field,
                      (long long)least, (long long)most);
  if (*field == 0) *field = fallback;
  return MICA_OK;
}

static mica_status fill_numbers(mica_sampler_config *c) {
#define REAL(field, fallback, least, most) MICA_TRY(fill_real(#field, &c->field, fallback, least, most));
#define WHOLE(field, fallback, least, most) MICA_TRY(fill_whole(#field, &c->field, fallback, least, most));
#include "text/sampler/samplers.def"
#undef REAL
#undef WHOLE
  return MICA_OK;
}

/* --- lists --- */

int mica__compare_ids(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Copies the biases, sorts them by token, and adds up biases of the same token. */
static mica_status copy_biases(mica_sampler *s) {
  mica_sampler_config *c = &s->config;
  if (c->logit_bias_count == 0) return MICA_OK;
  if (!c->logit_bias)
    return mica__fail(MICA_E_INVALID, "sampler: logit_bias is NULL, but logit_bias_count is %zu", c->logit_bias_count);
  for (size_t i = 0; i < c->logit_bias_count; i++) {
    const mica_logit_bias *b = &c->logit_bias[i];
    if (b->token < 0)
      return mica__fail(MICA_E_INVALID, "sampler: logit_bias[%zu] is for token %d, but tokens are 0 or above", i,
                        (int)b->token);
    if (!(b->bias <= 1e6f) || (b->bias < -1e6f && !isinf(b->bias)))
      return mica__fail(MICA_E_INVALID,
                        "sampler: the logit_bias of token %d is %g; choose a number from -1e6 to 1e6, or -infinity",
                        (int)b->token, (double)b->bias);
  }
  s->bias = calloc(c->logit_bias_count, sizeof *s->bias);
  if (!s->bias) return mica__fail_nomem("a sampler's logit_bias");
  memcpy(s->bias, c->logit_bias, c->logit_bias_count * sizeof *s->bias);
  qsort(s->bias, c->logit_bias_count, sizeof *s->bias, mica__compare_ids);
  size_t last = 0;
  for (size_t i = 1; i < c->logit_bias_count; i++) {
    if (s->bias[i].token == s->bias[last].token)
      s->bias[last].bias += s->bias[i].bias;
    else
      s->bias[++last] = s->bias[i];
  }
  c->logit_bias_count = last + 1;
  return MICA_OK;
}

static mica_status copy_breakers(mica_sampler *s) {
  mica_sampler_config *c = &s->config;
  if (c->dry_breaker_count == 0) return MICA_OK;
  if (!c->dry_breakers)
    return mica__fail(MICA_E_INVALID, "sampler: dry_breakers is NULL, but dry_breaker_count is %zu",
                      c->dry_breaker_count);
  s->breakers = calloc(c->dry_breaker_count, sizeof *s->breakers);
  if (!s->breakers) return mica__fail_nomem("a sampler's dry_breakers");
  memcpy(s->breakers, c->dry_breakers, c->dry_breaker_count * sizeof *s->breakers);
  qsort(s->breakers, c->dry_breaker_count, sizeof *s->breakers, mica__compare_ids);
  return MICA_OK;
}

/* --- the chain --- */

enum slot { FIRST, NAMED, LAST };

static const struct {
  const char *name;
  enum slot slot;
} steps[] = {
#define SAMPLER(name, slot, changes) {#name, slot},
#include "text/sampler/samplers.def"
#undef SAMPLER
};

static void chain_of_slot(mica_sampler *s, enum slot slot) {
  for (int i = 0; i < MICA__SAMPLERS; i++)
    if (steps[i].slot == slot) s->chain[s->chain_count++] = i;
}

static mica_status chain_of_names(mica_sampler *s, const char *order) {
  bool named[MICA__SAMPLERS] = {false};
  for (const char *at = order;; at++) {
    const size_t length = strcspn(at, ",");
    int i = 0;
    while (i < MICA__SAMPLERS &&
           !(steps[i].slot == NAMED && strlen(steps[i].name) == length && memcmp(steps[i].name, at, length) == 0))
      i++;
    if (i == MICA__SAMPLERS)
      return mica__fail(MICA_E_INVALID,
                        "sampler: order cannot contain \"%.*s\"; choose from penalties, dry, top_n_sigma, top_k, "
                        "typical, top_p, min_p, xtc, temperature, with commas between",
                        length > 40 ? 40 : (int)length, at);
    if (named[i]) return mica__fail(MICA_E_INVALID, "sampler: order has %s twice", steps[i].name);
    named[i] = true;
    s->chain[s->chain_count++] = i;
    at += length;
    if (*at == '\0') return MICA_OK;
  }
}

/* Removes steps whose settings are neutral; they would do nothing. */
static void drop_neutral(mica_sampler *s) {
  const mica_sampler_config *c = &s->config;
  const bool on[] = {
#define SAMPLER(name, slot, changes) changes,
#include "text/sampler/samplers.def"
#undef SAMPLER
  };
  int kept = 0;
  for (int i = 0; i < s->chain_count; i++)
    if (on[s->chain[i]]) s->chain[kept++] = s->chain[i];
  s->chain_count = kept;
}

/* Allocates the history that the chain's steps need. */
static mica_status make_history(mica_sampler *s) {
  for (int i = 0; i < s->chain_count; i++) {
    const int64_t n = s->chain[i] == MICA__SAMPLER_penalties ? s->config.penalty_last_n
                      : s->chain[i] == MICA__SAMPLER_dry     ? s->config.dry_last_n
                                                             : 0;
    s->window = mica__max(s->window, n);
    if (s->chain[i] != MICA__SAMPLER_dry) continue;
    s->recent = calloc((size_t)n, sizeof *s->recent);
    s->match = calloc((size_t)n, sizeof *s->match);
    if (!s->recent || !s->match) return mica__fail_nomem("a sampler's repetitions");
  }
  if (s->window == 0) return MICA_OK;
  s->history = calloc((size_t)s->window, sizeof *s->history);
  return s->history ? MICA_OK : mica__fail_nomem("a sampler's history");
}

mica_status mica__sampler_configure(mica_sampler *s, const mica_sampler_config *config) {
  if (config) s->config = *config;
  s->config.order = NULL;
  MICA_TRY(fill_numbers(&s->config));
  MICA_TRY(copy_biases(s));
  MICA_TRY(copy_breakers(s));
  chain_of_slot(s, FIRST);
  if (config && config->order)
    MICA_TRY(chain_of_names(s, config->order));
  else
    chain_of_slot(s, NAMED);
  chain_of_slot(s, LAST);
  drop_neutral(s);
  s->config.logit_bias = s->bias;
  s->config.dry_breakers = s->breakers;
  return make_history(s);
}
