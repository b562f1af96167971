/* text/sampler/sampler.h: a sampler, and the candidate tokens that its steps have not removed. */
#ifndef MICA_TEXT_SAMPLER_SAMPLER_H
#define MICA_TEXT_SAMPLER_SAMPLER_H

#include "base/error.h"

#include <mica/sampler.h>
#include <stdbool.h>

/* A step changes the logits of candidates, removes some of them, or chooses one at the end. Only logit_bias can remove
 * all, which is an error. */
typedef void mica__sample_fn(mica_sampler *sampler);

#define SAMPLER(name, slot, changes) MICA__SAMPLER_##name,
enum {
#include "text/sampler/samplers.def"
  MICA__SAMPLERS
};
#undef SAMPLER
#define SAMPLER(name, slot, changes) mica__sample_fn mica__sample_##name;
#include "text/sampler/samplers.def"
#undef SAMPLER

/* The remaining tokens. A token is better if its logit is larger or, with equal logits, if its id is smaller. The first
 * `sorted` tokens are the best ones, best first. The others are in any order or, if `by_id`, in the order of their ids.
 * `logprob` holds logits until the draw. */
typedef struct mica__candidates {
  mica_candidate *at;
  int64_t count, sorted;
  bool by_id;
} mica__candidates;

struct mica_sampler {
  mica_sampler_config config; /* defaults filled in; arrays are copies; order is NULL */
  mica_logit_bias *bias;      /* sorted by token; each token once */
  int32_t *breakers;          /* sorted */
  int chain[MICA__SAMPLERS];  /* steps with an effect, in order */
  int chain_count;

  int32_t *history; /* ring buffer of the last `window` tokens; position i is at i % window */
  int64_t window;
  uint64_t position;
  int32_t *recent, *match; /* DRY: the last tokens, newest first; lengths of repetitions */

  mica__candidates left;
  mica_candidate *near; /* typical: indices of candidates, and minus their distance from the entropy */
  int32_t *mark;        /* a number per token; all are zero between steps */
  int64_t capacity;
  uint32_t random[4]; /* words 0 and 1 draw the token, 2 and 3 decide about XTC */
  int32_t drawn;      /* the token that the last step drew */
};

/* Fills in defaults, checks ranges, makes the chain, and allocates everything that does not depend on the
 * vocabulary. */
mica_status mica__sampler_configure(mica_sampler *s, const mica_sampler_config *config);
/* Compares the ids at a and b, for qsort; a mica_logit_bias begins with its id. */
int mica__compare_ids(const void *a, const void *b);

/* The token accepted `back` tokens ago, 0 for the last one; back is below both window and position. */
static inline int32_t mica__sampler_past(const mica_sampler *s, int64_t back) {
  return s->history[(s->position - 1 - (uint64_t)back) % (uint64_t)s->window];
}
/* The number of tokens in the last n positions: fewer at the beginning. */
static inline int64_t mica__sampler_known(const mica_sampler *s, int64_t n) {
  return s->position < (uint64_t)n ? (int64_t)s->position : n;
}
/* A 53-bit number in [0, 1) from the random words i and i + 1. */
static inline double mica__sampler_uniform(const mica_sampler *s, int i) {
  return (double)(((uint64_t)s->random[i] << 21) ^ (s->random[i + 1] >> 11)) * 0x1p-53;
}

/* --- candidates.c --- */

/* Sorts the candidates until at least the first n are the n best ones, best first. Sorts all if there are fewer than n.
 * Takes O(count log n) steps. */
void mica__candidates_sort(mica__candidates *c, int64_t n);
/* Keeps the first n. */
void mica__candidates_cut(mica__candidates *c, int64_t n);
/* Keeps candidates with a logit of at least `least`, in their order. */
void mica__candidates_filter(mica__candidates *c, double least);
/* Call it after changing logits: the order is no longer known. */
void mica__candidates_changed(mica__candidates *c);
/* The largest logit, and the sum of exp(logit - largest); p = exp(logit - largest) / sum. */
double mica__candidates_sum(const mica__candidates *c, double *largest);
double mica__candidates_largest(const mica__candidates *c);
/* The entropy of the softmax, in nats. */
double mica__candidates_entropy(const mica__candidates *c);

#endif
