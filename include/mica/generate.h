/* mica/generate.h: generate text token by token for several sequences at once; translate by beam search.
 *
 *   mica_generator_create(engine, &(mica_generator_config){.block = block, .share = trained, .context = 64}, &g);
 *   mica_generator_prompt(g, ids, lengths, longest);
 *   while (wanted) mica_generator_next(g, next);
 *
 * One run reads the prompts; each further run makes one token per sequence. All state stays on the device: caches of
 * keys and values, positions, last tokens. A run therefore needs no feeds and downloads one number per sequence. Tokens
 * are drawn on the device. Growing texts cause no planning, kernel build or allocation.
 *
 * Threads: use a generator or a beam search from one thread at a time. */
#ifndef MICA_GENERATE_H
#define MICA_GENERATE_H

#include <mica/sequence.h>

MICA_BEGIN_DECLS

/* How to draw a token from logits. The fields are applied in this order. All zeros: draw from softmax(logits). Values
 * other than zero are clamped to 1e-30 to 1e30, so logits below 1e8 stay finite. */
typedef struct mica_sampling {
  /* For tokens that are already in the sequence, positive logits are divided by this number and negative ones are
   * multiplied by it (Keskar et al. 2019). 0: 1 (off). */
  double repetition;
  double temperature; /* divides logits; 0: 1; MICA_ZERO: take the likeliest token */
  int64_t top_k;      /* draw from the k likeliest tokens (Fan et al. 2018); 0: all */
  /* draw from the likeliest remaining tokens whose probabilities sum to p (Holtzman et al. 2020); 0: 1 (all) */
  double top_p;
  uint64_t seed;
  /* Each sequence draws its own random numbers, so equal prompts get different texts. false: all sequences use the same
   * numbers, and each text is the same as if it were generated alone. */
  bool apart;
} mica_sampling;

/* Builds the network. Returns logits (B, V) of the position after the last token of each sequence. ids (B, T) is i32.
 * Pass `cache` to attention layers, and count positions from cache->offset. */
typedef mica_value mica_generator_block(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *config);

typedef struct mica_generator_config {
  mica_generator_block *block; /* called twice, each time for another graph */
  const void *block_config;
  mica_session *share; /* holds the network's weights, by name; must not be NULL; stays in use, but is not changed */
  mica_nn_config nn;   /* settings of the networks that block builds; training is ignored */
  int64_t batch;       /* number of sequences; 0: 1 */
  int64_t context;     /* maximum positions of a sequence, including the prompt */
  /* If a sequence fills the context, its last `window` tokens are read again like a prompt, and the text continues. 0:
   * the text ends there. Must be less than context. */
  int64_t window;
  mica_sampling sampling;
} mica_generator_config;

typedef struct mica_generator mica_generator;

/* Builds two sessions: one reads prompts, the other generates one token per sequence and run. Runs that read prompts
 * are planned when first needed, once per power of two of the prompts' length. Blocks. MICA_E_INVALID: a field is out
 * of range; the message names it. It can also fail with an error that `block` recorded in its graph. */
MICA_API MICA_CHECKED mica_status mica_generator_create(mica_engine *engine, const mica_generator_config *config,
                                                        mica_generator **generator);
/* NULL is a no-op. */
MICA_API void mica_generator_destroy(mica_generator *generator);

/* Starts new sequences. Sequence b is the first lengths[b] tokens in row b of ids (batch, row). Queues the run that
 * reads them. If window is set, a prompt longer than the context is cut to its last `window` tokens. MICA_E_INVALID: a
 * sequence is empty or longer than its row, a sequence is longer than the context and window is 0, or an id is outside
 * of the vocabulary; the message names it. */
MICA_API MICA_CHECKED mica_status mica_generator_prompt(mica_generator *generator, const int32_t *ids,
                                                        const int32_t *lengths, int64_t row);
/* Writes the next token of each sequence. Waits for it while the device computes the token after it. MICA_E_STATE:
 * there is no prompt, or a sequence fills the context and window is 0. After any other error, call
 * mica_generator_prompt again. */
MICA_API MICA_CHECKED mica_status mica_generator_next(mica_generator *generator, int32_t *ids);

/* Size of the vocabulary: the last dimension of the block's logits. */
MICA_API int64_t mica_generator_vocabulary(const mica_generator *generator);
/* Number of tokens that mica_generator_next can still write without a window: context + 1 minus the tokens of the
 * longest sequence. */
MICA_API int64_t mica_generator_room(const mica_generator *generator);
/* Return the session that generates tokens, and the session that reads prompts, for inspection of their plans and
 * launches. The generator owns them. */
MICA_API mica_session *mica_generator_session(mica_generator *generator);
MICA_API mica_session *mica_generator_prompt_session(mica_generator *generator);

/* --- beam search --- */

/* Inputs of a block. */
typedef struct mica_beam_values {
  mica_value ids;    /* (batch beams, T) i32: tokens of targets; hypotheses of the same source are adjacent */
  mica_value source; /* (batch, S) i32 at the start of targets; null afterwards: the caches hold what is needed */
  mica_value source_lengths; /* (batch) i32 */
} mica_beam_values;

/* Builds the network: an encoder of the source and a decoder that passes `cache` to its layers, such as
 * mica_translator_encode and mica_translator_decode. Returns logits (batch beams, V) of the position after ids. */
typedef mica_value mica_beam_block(mica_nn *nn, const mica_beam_values *values, const mica_kv_cache *cache,
                                   const void *config);

typedef struct mica_beam_config {
  mica_beam_block *block; /* called twice, each time for another graph */
  const void *block_config;
  mica_session *share;   /* holds the network's weights, by name; must not be NULL; stays in use, but is not changed */
  mica_nn_config nn;     /* settings of the networks that block builds; training is ignored */
  int64_t batch;         /* sources at once; 0: 1 */
  int64_t beams;         /* hypotheses kept per source; 0: 1 (greedy) */
  int64_t context;       /* maximum tokens of a source, and of a target including its end */
  int32_t begin, end;    /* tokens before a target and after it */
  double length_penalty; /* a in score = log probability / (number of tokens, including the end)^a */
} mica_beam_config;

/* Beam search on the device. A step extends each hypothesis by every token and keeps the best `beams` extensions per
 * source. Of extensions with equal scores, the one whose hypothesis ranked higher before the step wins, then the one
 * with the smaller token. A finished hypothesis competes unchanged. The search ends when all hypotheses of all sources
 * are finished.
 *
 * A step also copies the caches of keys and values from the old hypotheses to the new ones. It needs no feeds and one
 * small download. Growing targets cause no planning, build or allocation. */
typedef struct mica_beam_search mica_beam_search;

/* Builds two sessions: one reads sources, the other does a step. Runs that read sources are planned when first needed,
 * once per power of two of the sources' length. Blocks. MICA_E_INVALID: a field is out of range; the message names it.
 * It can also fail with an error that `block` recorded in its graph. */
MICA_API MICA_CHECKED mica_status mica_beam_search_create(mica_engine *engine, const mica_beam_config *config,
                                                          mica_beam_search **search);
/* NULL is a no-op. */
MICA_API void mica_beam_search_destroy(mica_beam_search *search);

/* Arrays of the caller, to which mica_beam_search_run writes `beams` hypotheses for each of `count` sources, best
 * first. */
typedef struct mica_beam_found {
  int32_t *ids;     /* (count, beams, context): tokens without the end */
  int32_t *lengths; /* (count, beams) */
  double *scores;   /* (count, beams): see length_penalty; may be NULL */
} mica_beam_found;

/* Translates `count` sources, at most `batch`. Source b is the first lengths[b] tokens in row b of ids (count, row).
 * limits[b] is the maximum number of target tokens including the end; limits NULL: the context. Each result is the same
 * as if its source were given alone. MICA_E_INVALID: count is out of range, a source is empty or longer than its row or
 * the context, an id is outside the vocabulary, or a limit is out of range; the message names it. Blocks. */
MICA_API MICA_CHECKED mica_status mica_beam_search_run(mica_beam_search *search, const int32_t *ids,
                                                       const int32_t *lengths, int64_t row, const int32_t *limits,
                                                       int64_t count, const mica_beam_found *found);

/* Returns the session that does a step. The search owns it. */
MICA_API mica_session *mica_beam_search_session(mica_beam_search *search);

MICA_END_DECLS

#endif
