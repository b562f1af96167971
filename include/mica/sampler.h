/* mica/sampler.h: tokens drawn from the logits of a language model.
 *
 *   mica_sampler_create(&(mica_sampler_config){.temperature = 0.7, .seed = 1}, &sampler);
 *   for (size_t i = 0; i < count; i++) mica_sampler_accept(sampler, prompt[i]);
 *   while (wanted) {
 *     mica_sampler_draw(sampler, logits, vocabulary, NULL, &token, NULL);
 *     mica_sampler_accept(sampler, token);
 *   }
 *
 * A sampler is a chain. Each step changes logits or removes tokens; the last one draws from the softmax of what is
 * left, or takes the best. Each step but logit_bias leaves at least one token. Among equal logits the smaller id comes
 * first.
 *
 *   step          what it does, with p = softmax(logits) of the tokens that are left
 *   logit_bias    adds a number to the logits of chosen tokens; always first
 *   penalties     for each token among the last penalty_last_n: divides its logit by repeat_penalty if it is positive,
 *                 multiplies it otherwise (Keskar et al. 2019); then subtracts presence_penalty, and
 *                 frequency_penalty times the number of times that the token occurs
 *   dry           a token that would extend a repetition of L >= dry_allowed_length tokens loses
 *                 dry_multiplier * dry_base^(L - dry_allowed_length) (p-e-w 2024)
 *   top_n_sigma   keeps logits of at least maximum - n * standard deviation (Tang et al. 2024)
 *   top_k         keeps the k best (Fan et al. 2018)
 *   typical       keeps tokens with |-log p - entropy| smallest until their p sum to more than typical_p (Meister et
 *                 al. 2022)
 *   top_p         keeps the best until their p sum to top_p (Holtzman et al. 2020)
 *   min_p         keeps tokens with p >= min_p * the largest p (Nguyen et al. 2024)
 *   xtc           with probability xtc_probability, removes all tokens with p >= xtc_threshold except the least likely
 *                 of these (p-e-w 2024)
 *   temperature   divides logits by T; with temperature_range R, T = low + (high - low) * h^temperature_exponent with
 *                 low = max(0, T - R), high = T + R and h = entropy / log(tokens left)
 *
 * Random numbers are Philox of (seed, position); the position is the number of accepted tokens. So the same logits and
 * history give the same token, whatever else is decoded at the same time. All arithmetic is in double.
 *
 * Threads: a sampler is used by one thread at a time. */
#ifndef MICA_SAMPLER_H
#define MICA_SAMPLER_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* Added to a token's logit; -INFINITY forbids the token. */
typedef struct mica_logit_bias {
  int32_t token;
  float bias;
} mica_logit_bias;

/* Configuration. Defaults are llama.cpp's, except for DRY: by default it searches the last 4,096 tokens and has no
 * breakers. */
typedef struct mica_sampler_config {
  uint64_t seed;
  double temperature;          /* 0: 0.8; MICA_ZERO: take the best token */
  double temperature_range;    /* 0: the temperature does not depend on the entropy */
  double temperature_exponent; /* 0: 1 */
  double top_p;                /* 0: 0.95; 1: off */
  double min_p;                /* 0: 0.05; MICA_ZERO: off */
  double typical_p;            /* 0 and 1: off */
  double top_n_sigma;          /* 0: off */
  double xtc_probability;      /* 0: off */
  double xtc_threshold;        /* 0: 0.1; above 0.5: off */
  double repeat_penalty;       /* 0 and 1: off */
  double presence_penalty;     /* 0: off; negative values favour tokens of the window */
  double frequency_penalty;    /* 0: off */
  double dry_multiplier;       /* 0: off */
  double dry_base;             /* 0: 1.75 */
  int64_t top_k;               /* 0: 40; -1: off */
  int64_t penalty_last_n;      /* tokens; 0: 64 */
  int64_t dry_last_n;          /* tokens; 0: 4,096 */
  int64_t dry_allowed_length;  /* tokens; 0: 2 */
  const int32_t *dry_breakers; /* tokens that end a repetition (newlines, quotes) and are never penalised */
  size_t dry_breaker_count;
  const mica_logit_bias *logit_bias; /* several entries for a token are summed */
  size_t logit_bias_count;
  /* Order of steps, comma-separated: "top_k,temperature". Steps that are not named are off. NULL:
   * penalties,dry,top_n_sigma,top_k,typical,top_p,min_p,xtc,temperature */
  const char *order;
} mica_sampler_config;

/* A remaining token, and the log of its probability among the remaining ones. */
typedef struct mica_candidate {
  int32_t token;
  double logprob;
} mica_candidate;

typedef struct mica_sampler mica_sampler;

/* Creates a sampler. Copies the config; NULL: all defaults. MICA_E_INVALID: a field is out of range, or a name in
 * `order` is unknown or occurs twice; the message names it. */
MICA_API MICA_CHECKED mica_status mica_sampler_create(const mica_sampler_config *config, mica_sampler **sampler);
/* NULL is a no-op. */
MICA_API void mica_sampler_destroy(mica_sampler *sampler);

/* Draws a token for the current position without accepting it: a second call with the same logits gives the same token.
 * `mask` has one bit per token (token t is bit t % 32 of word t / 32); tokens with 0 are excluded. NULL allows all.
 * *logprob (logprob may be NULL) receives log softmax(logits) of the token over the whole vocabulary, before mask and
 * steps. Allocates at the first call, and when the vocabulary grows. *token and *logprob are written on success only.
 *
 * MICA_E_NUMERIC: a logit is not finite; the message names token and position. MICA_E_INVALID: vocabulary is not in 1
 * .. 2^31 - 1, mask and logit_bias exclude all tokens, or an id is outside the vocabulary: one in logit_bias, or one of
 * the accepted tokens that penalties or DRY consider. */
MICA_API MICA_CHECKED mica_status mica_sampler_draw(mica_sampler *sampler, const float *logits, int64_t vocabulary,
                                                    const uint32_t *mask, int32_t *token, float *logprob);
/* The *count tokens that the last draw chose from; NULL and 0 before the first draw, after a draw that failed and after
 * a reset. Valid until the next draw or reset. Best first if top_k or top_p is on, or if xtc was applied in this draw
 * (xtc_probability); else by id. */
MICA_API const mica_candidate *mica_sampler_candidates(const mica_sampler *sampler, size_t *count);

/* Accepts a token of the prompt or a drawn one: appends it to the history of penalties and DRY, and advances the
 * position. Any id is accepted; draw refuses ids outside the vocabulary. NULL is a no-op. */
MICA_API void mica_sampler_accept(mica_sampler *sampler, int32_t token);
/* Clears the history; the sampler is as new. NULL is a no-op. */
MICA_API void mica_sampler_reset(mica_sampler *sampler);

MICA_END_DECLS

#endif
