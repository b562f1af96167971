/* mica/speech.h: decode scores of a network to text, and measure errors. All functions run on the host.
 *
 * Threads: any thread may call functions without an object. Use an object from one thread at a time. */
#ifndef MICA_SPEECH_H
#define MICA_SPEECH_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* --- CTC decoding --- */

/* mica_ctc_loss in mica/loss.h trains networks for CTC decoding. */

/* Best path: the best class per frame (the first of equals), repeats merged, blanks removed. scores (frames, classes)
 * row-major: logits or log probabilities. `labels` and `at` need room for `frames` numbers; at (may be NULL) receives
 * the frame where each label begins. Returns the number of labels. */
MICA_API int64_t mica_ctc_greedy(const float *scores, int64_t frames, int64_t classes, int32_t blank, int32_t *labels,
                                 int32_t *at);

/* Natural log probability of `label` after the given labels; -inf: impossible. label -1 is the end. */
typedef double mica_ctc_text_model(void *user, const int32_t *labels, int64_t count, int32_t label);
typedef struct mica_ctc_beam_config {
  int32_t beam;  /* number of prefixes kept; 0: 16 */
  int32_t blank; /* class of the blank */
  double prune;  /* skip classes whose log probability is lower than the frame's best by more than this; 0: 12 */
  mica_ctc_text_model *text; /* NULL: none */
  void *user;
  double weight;   /* of the text model's log probability; 0: 0.5 */
  double bonus;    /* added per label; balances the text model's preference for short texts */
  int64_t context; /* number of last labels that the text model receives; 0: all */
} mica_ctc_beam_config;
/* Prefix beam search (Graves 2006; Hannun et al. 2014). Searches for the labels with the largest score, among the
 * `beam` best prefixes of each frame:
 *
 *   log probability of the labels, summed over all alignments + weight * log probability by the text model
 *   + bonus * number of labels
 *
 * labels needs room for `frames` numbers; *count receives the number of labels and *score (score may be NULL) their
 * score. config may be NULL. MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_ctc_beam(const float *scores, int64_t frames, int64_t classes,
                                                const mica_ctc_beam_config *config, int32_t *labels, int64_t *count,
                                                double *score);

/* Incremental search. It finds the same labels as mica_ctc_beam on all scores, however the scores are divided into
 * calls. Memory grows only with the number of stable labels (mica_ctc_search_stable). */
typedef struct mica_ctc_search mica_ctc_search;
/* Creates a search; config as for mica_ctc_beam. MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_ctc_search_create(int64_t classes, const mica_ctc_beam_config *config,
                                                         mica_ctc_search **search);
/* NULL is a no-op. */
MICA_API void mica_ctc_search_destroy(mica_ctc_search *search);
/* Starts over. */
MICA_API void mica_ctc_search_reset(mica_ctc_search *search);
/* Adds scores (frames, classes), as for mica_ctc_beam. After MICA_E_INVALID or MICA_E_NOMEM the search must be reset.
 */
MICA_API MICA_CHECKED mica_status mica_ctc_search_push(mica_ctc_search *search, const float *scores, int64_t frames);
/* Number of frames since the start; a text has at most this number of labels. */
MICA_API int64_t mica_ctc_search_frames(const mica_ctc_search *search);
/* The first labels, as far as all prefixes of the search agree on them; they will not change. Returns their number;
 * labels needs room for mica_ctc_search_frames numbers. */
MICA_API int64_t mica_ctc_search_stable(const mica_ctc_search *search, int32_t *labels);
/* Best labels if the scores end here, as mica_ctc_beam returns them. score may be NULL. */
MICA_API int64_t mica_ctc_search_best(mica_ctc_search *search, int32_t *labels, double *score);

/* --- text models --- */

/* n-gram model: the probability of a label (1 to `labels`, or the end of the text) given the order - 1 labels before
 * it. The model counts n-grams in texts and interpolates with shorter contexts (Witten and Bell 1991). Use it from one
 * thread at a time. */
typedef struct mica_ngram mica_ngram;
/* Creates a model; order is 1 to 12. MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_ngram_create(int32_t order, int32_t labels, mica_ngram **ngram);
/* NULL is a no-op. */
MICA_API void mica_ngram_destroy(mica_ngram *ngram);
/* Counts the n-grams of a text. After MICA_E_NOMEM, a part of the text has been counted. */
MICA_API MICA_CHECKED mica_status mica_ngram_add(mica_ngram *ngram, const int32_t *labels, int64_t count);
/* A mica_ctc_text_model; user is a mica_ngram. */
MICA_API double mica_ngram_score(void *ngram, const int32_t *labels, int64_t count, int32_t label);

/* Text model from a file. An ARPA file has words (KenLM, SRILM) or letters (a space is <space>, | or U+2581). For plain
 * text, a mica_ngram counts n-grams of its letters. Use it from one thread at a time. */
typedef struct mica_text_model mica_text_model;
typedef struct mica_text_model_config {
  const int32_t *letters; /* code points, ascending: label k means letters[k - 1] */
  int64_t count;
  int32_t order; /* order of the model in letters, for plain text; 0: 6 */
} mica_text_model_config;
/* Reads a model from a file's content, UTF-8. Error messages use `name`. In plain text, other characters than `letters`
 * count as spaces; if no label is a space, they are left out. MICA_E_FORMAT: a line is malformed (the message names
 * it), plain text is not UTF-8 or has none of the letters, or no word has only these letters. MICA_E_INVALID,
 * MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_text_model_read(const char *name, const char *content, size_t size,
                                                       const mica_text_model_config *config, mica_text_model **model);
/* Reads a model from a file. Also MICA_E_NOT_FOUND, MICA_E_IO. */
MICA_API MICA_CHECKED mica_status mica_text_model_open(const char *path, const mica_text_model_config *config,
                                                       mica_text_model **model);
/* NULL is a no-op. */
MICA_API void mica_text_model_destroy(mica_text_model *model);
/* A mica_ctc_text_model; user is a mica_text_model. If the model has words, a letter scores 0, and the space or the end
 * after a word scores the word. */
MICA_API double mica_text_model_score(void *model, const int32_t *labels, int64_t count, int32_t label);
/* Number of labels that the model uses, for mica_ctc_beam_config.context. */
MICA_API int64_t mica_text_model_context(const mica_text_model *model);

/* --- errors --- */

/* Least number of insertions, deletions and substitutions that turn a into b (Levenshtein 1966). MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_edit_distance(const int32_t *a, int64_t a_count, const int32_t *b,
                                                     int64_t b_count, int64_t *distance);

/* Sums over pairs of a reference and a hypothesis: the edits (mica_edit_distance) between them, and the length of the
 * reference, in words and in characters. To join two sums, add each field. An error rate is edits / length; NaN for
 * length 0. Unicode white space separates words. Characters are code points; white space at both ends of a text does
 * not count. */
typedef struct mica_text_errors {
  int64_t word_edits, words, character_edits, characters;
} mica_text_errors;
/* Adds the errors of a hypothesis. Texts are UTF-8; an invalid byte counts as one character. MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_text_errors_add(mica_text_errors *errors, const char *reference,
                                                       const char *hypothesis);
MICA_API double mica_word_error_rate(const mica_text_errors *errors);
MICA_API double mica_character_error_rate(const mica_text_errors *errors);

MICA_END_DECLS

#endif
