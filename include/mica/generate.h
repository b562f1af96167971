/* mica/generate.h: texts continued token by token, several at once; and translated, by beam search.
 *
 *   mica_generator_create(engine, &(mica_generator_config){.block = block, .share = trained, .context = 64}, &g);
 *   mica_generator_prompt(g, ids, lengths, longest);
 *   while (wanted) mica_generator_next(g, next);
 *
 * A prompt is read in one run; then a run makes one token of each sequence. What it needs stays on the device: caches
 * of keys and values that are written in place, positions, the last tokens, so that a run has no feeds, and a token
 * costs one download of a number a sequence. Nothing is planned, built or allocated as texts grow. Tokens are drawn on
 * the device.
 *
 * Threads: a generator, and a beam search, are used by one thread at a time. */
#ifndef MICA_GENERATE_H
#define MICA_GENERATE_H

#include <mica/sequence.h>

MICA_BEGIN_DECLS

/* How a token is drawn from logits, in this order. Zero draws from softmax(logits). Numbers that are not zero count as
 * 1e-30 to 1e30, which keeps logits below 1e8 finite. */
typedef struct mica_sampling {
  double repetition;  /* logits of tokens that the sequence holds are divided by it where positive, else multiplied
                       * (Keskar et al. 2019); 0: 1, which does nothing */
  double temperature; /* logits are divided by it; 0: 1. MICA_ZERO: the likeliest token, nothing is drawn */
  int64_t top_k;      /* of the k likeliest alone (Fan et al. 2018); 0: of all */
  double top_p;       /* of the likeliest of these whose shares of what they have together reach p (Holtzman et al.
                       * 2020); 0: 1, of all */
  uint64_t seed;
  /* Sequences draw numbers of their own, so that a prompt given twice has two continuations. Otherwise all draw the
   * same, and each sequence is what it would be alone. */
  bool apart;
} mica_sampling;

/* Logits (B, V) of the position behind the last one of each sequence, of ids (B, T) i32: a network that hands `cache`
 * to its layers, and positions behind cache->offset. */
typedef mica_value mica_generator_block(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *config);

typedef struct mica_generator_config {
  mica_generator_block *block; /* called several times, each in a graph of its own */
  const void *block_config;
  mica_session *share; /* has the network's weights, by name; not NULL; stays in use, and is not changed */
  mica_nn_config nn;   /* of the networks that block is given; training is false */
  int64_t batch;       /* sequences; 0: 1 */
  int64_t context;     /* positions of a sequence at most, prompt and continuation */
  /* Tokens that are kept of a sequence that fills the context: they are read again as a prompt is, and the text goes
   * on. 0: it ends there. Less than context. */
  int64_t window;
  mica_sampling sampling;
} mica_generator_config;

typedef struct mica_generator mica_generator;

/* Builds what makes one token; what reads prompts is built at the first prompt, for lengths up to a power of two each.
 * MICA_E_INVALID names a field that is out of range; errors of the block are its graph's. Blocks. */
MICA_API MICA_CHECKED mica_status mica_generator_create(mica_engine *engine, const mica_generator_config *config,
                                                        mica_generator **generator);
/* NULL is a no-op. */
MICA_API void mica_generator_destroy(mica_generator *generator);

/* Begins anew: lengths[b] tokens of each sequence, row b of ids (batch, row). MICA_E_INVALID names an empty sequence,
 * one longer than the context (where there is a window, its last `window` tokens are taken), and an id outside of the
 * vocabulary. Queues the run that reads them. */
MICA_API MICA_CHECKED mica_status mica_generator_prompt(mica_generator *generator, const int32_t *ids,
                                                        const int32_t *lengths, int64_t row);
/* The next token of each sequence. Waits for it, while the one after it is being computed. MICA_E_STATE: no prompt was
 * given, or a sequence fills the context and there is no window. Behind any other error a prompt begins anew. */
MICA_API MICA_CHECKED mica_status mica_generator_next(mica_generator *generator, int32_t *ids);

/* The size of the vocabulary, as the block's logits have it. */
MICA_API int64_t mica_generator_vocabulary(const mica_generator *generator);
/* Tokens that mica_generator_next gives before the longest sequence fills the context. */
MICA_API int64_t mica_generator_room(const mica_generator *generator);
/* The sessions of one token and, after a prompt, of the last prompt's length: what they plan and launch. They belong to
 * the generator. */
MICA_API mica_session *mica_generator_session(mica_generator *generator);
MICA_API mica_session *mica_generator_prompt_session(mica_generator *generator);

/* --- beam search --- */

/* What a block makes logits of. */
typedef struct mica_beam_values {
  mica_value ids;            /* (batch beams, T) i32: tokens of targets; the hypotheses of a source are neighbours */
  mica_value source;         /* (batch, S) i32, where targets begin; null: the caches hold what is needed of it */
  mica_value source_lengths; /* (batch) i32 */
} mica_beam_values;

/* Logits (batch beams, V) of the position behind ids, by an encoder of the source and a decoder that hands `cache` to
 * its layers, as mica_translator_encode and mica_translator_decode are. */
typedef mica_value mica_beam_block(mica_nn *nn, const mica_beam_values *values, const mica_kv_cache *cache,
                                   const void *config);

typedef struct mica_beam_config {
  mica_beam_block *block; /* called twice, each time in a graph of its own */
  const void *block_config;
  mica_session *share;   /* has the network's weights, by name; not NULL; stays in use, and is not changed */
  mica_nn_config nn;     /* of the networks that block is given; training is false */
  int64_t batch;         /* sources at once; 0: 1 */
  int64_t beams;         /* hypotheses of each that are kept; 0: 1, which is greedy */
  int64_t context;       /* tokens of a source, and of a target with its end, at most */
  int32_t begin, end;    /* the tokens before a target and behind it */
  double length_penalty; /* a: the score of a hypothesis is its log probability / (its tokens, the end too)^a; 0: 0 */
} mica_beam_config;

/* Beam search on the device. A step gives each hypothesis all its continuations, and keeps the `beams` of a source that
 * score best (of equals those of the better hypothesis, then of the smaller token); one that has its end stays as it is
 * and takes part, until all of them have theirs. The caches of keys and values are copied as hypotheses are kept, once
 * a step; a step has no feeds, and costs one small download. Nothing is planned, built or allocated as targets grow. */
typedef struct mica_beam_search mica_beam_search;

/* Builds what makes one step; what reads sources is planned at the first one of a length, up to a power of two each.
 * MICA_E_INVALID names a field that is out of range; errors of the block are its graph's. Blocks. */
MICA_API MICA_CHECKED mica_status mica_beam_search_create(mica_engine *engine, const mica_beam_config *config,
                                                          mica_beam_search **search);
/* NULL is a no-op. */
MICA_API void mica_beam_search_destroy(mica_beam_search *search);

/* Hypotheses of a source, the best one first: beams of them. */
typedef struct mica_beam_found {
  int32_t *ids;     /* (beams, context): tokens without the end */
  int32_t *lengths; /* (beams) */
  double *scores;   /* (beams); may be NULL */
} mica_beam_found;

/* Searches the targets of `count` sources, `batch` at most: lengths[b] tokens in row b of ids (count, row). limits[b]
 * (NULL: the context): tokens of its targets at most, the last of which is the end. Each source's targets are what they
 * would be alone. MICA_E_INVALID names an empty source, one longer than the context, an id outside of the vocabulary
 * and a limit out of range. Blocks. */
MICA_API MICA_CHECKED mica_status mica_beam_search_run(mica_beam_search *search, const int32_t *ids,
                                                       const int32_t *lengths, int64_t row, const int32_t *limits,
                                                       int64_t count, const mica_beam_found *found);

/* The session of a step. It belongs to the search. */
MICA_API mica_session *mica_beam_search_session(mica_beam_search *search);

MICA_END_DECLS

#endif
