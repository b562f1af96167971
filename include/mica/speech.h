/* mica/speech.h: from scores of a network to text, and how far that is from what was said; on the host.
 *
 * Threads: functions of their operands alone. */
#ifndef MICA_SPEECH_H
#define MICA_SPEECH_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* --- decoding of CTC: mica_ctc_loss of mica/loss.h trains for it --- */

/* scores (frames, classes) row-major, logits or log probabilities. The best class of each frame (of equals the first),
 * repeats made one and blanks left out. labels and at (may be NULL: the frame where each begins) have room for `frames`
 * numbers; returns how many there are. */
MICA_API int64_t mica_ctc_greedy(const float *scores, int64_t frames, int64_t classes, int32_t blank, int32_t *labels,
                                 int32_t *at);

/* The log probability of `label` behind labels (count of them), natural; -inf is never. label -1 stands for the end. */
typedef double mica_ctc_text_model(void *user, const int32_t *labels, int64_t count, int32_t label);
typedef struct mica_ctc_beam_config {
  int32_t beam;              /* prefixes kept; 0: 16 */
  int32_t blank;             /* class */
  double prune;              /* classes whose log probability is so much below the frame's best are not tried; 0: 12 */
  mica_ctc_text_model *text; /* NULL: none */
  void *user;
  double weight;   /* of the text model's log probability; 0: 0.5 */
  double bonus;    /* added for each label, against the text model's love of short texts */
  int64_t context; /* how many labels before it the text model is given of the last ones; 0: all */
} mica_ctc_beam_config;
/* The labels with the largest probability over all their alignments among those that a prefix beam search finds (Graves
 * 2006; Hannun et al. 2014), plus text model and bonus. labels has room for `frames` numbers. *score (may be NULL) gets
 * the sum of these. config may be NULL. MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_ctc_beam(const float *scores, int64_t frames, int64_t classes,
                                                const mica_ctc_beam_config *config, int32_t *labels, int64_t *count,
                                                double *score);

/* A search of scores that come bit by bit: it finds what mica_ctc_beam finds of all of them, however many come at
 * a time. Memory grows by what is stable alone. */
typedef struct mica_ctc_search mica_ctc_search;
/* config as for mica_ctc_beam. MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_ctc_search_create(int64_t classes, const mica_ctc_beam_config *config,
                                                         mica_ctc_search **search);
/* NULL is a no-op. */
MICA_API void mica_ctc_search_destroy(mica_ctc_search *search);
/* As if it were new. */
MICA_API void mica_ctc_search_reset(mica_ctc_search *search);
/* scores (frames, classes), as for mica_ctc_beam. MICA_E_INVALID, MICA_E_NOMEM: the search is to be reset. */
MICA_API MICA_CHECKED mica_status mica_ctc_search_push(mica_ctc_search *search, const float *scores, int64_t frames);
/* Frames since the beginning: texts are no longer. */
MICA_API int64_t mica_ctc_search_frames(const mica_ctc_search *search);
/* The labels that all prefixes begin with: whatever comes, these stay. Returns how many; labels has room for as many as
 * there are frames. */
MICA_API int64_t mica_ctc_search_stable(const mica_ctc_search *search, int32_t *labels);
/* The best labels if the scores end here, as mica_ctc_beam gives them; score may be NULL. */
MICA_API int64_t mica_ctc_search_best(mica_ctc_search *search, int32_t *labels, double *score);

/* --- text models --- */

/* How likely a label is behind the order - 1 before it, of 1 to `labels` labels and the end, counted in texts and
 * interpolated with shorter contexts (Witten and Bell 1991). Used by one thread at a time. */
typedef struct mica_ngram mica_ngram;
/* order is 1 to 12. MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_ngram_create(int32_t order, int32_t labels, mica_ngram **ngram);
/* NULL is a no-op. */
MICA_API void mica_ngram_destroy(mica_ngram *ngram);
/* Counts a text. MICA_E_NOMEM: some of it counts. */
MICA_API MICA_CHECKED mica_status mica_ngram_add(mica_ngram *ngram, const int32_t *labels, int64_t count);
/* A mica_ctc_text_model, whose user is a mica_ngram. */
MICA_API double mica_ngram_score(void *ngram, const int32_t *labels, int64_t count, int32_t label);

/* A text model of a file: a model in ARPA, of words (KenLM, SRILM) or of letters, the space among them as <space>, |
 * or U+2581; or a plain text, whose letters are counted by mica_ngram. Used by one thread at a time. */
typedef struct mica_text_model mica_text_model;
typedef struct mica_text_model_config {
  const int32_t *letters; /* code points, rising: label k stands for letters[k - 1] */
  int64_t count;
  int32_t order; /* of a plain text, in letters; 0: 6 */
} mica_text_model_config;
/* content is the file's, UTF-8; name is for sentences. A letter of a plain text that is none of letters parts words.
 * MICA_E_FORMAT names the line, also where no word is spelled in these letters; MICA_E_INVALID, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_text_model_read(const char *name, const char *content, size_t size,
                                                       const mica_text_model_config *config, mica_text_model **model);
/* Reads a file: MICA_E_NOT_FOUND, MICA_E_IO too. */
MICA_API MICA_CHECKED mica_status mica_text_model_open(const char *path, const mica_text_model_config *config,
                                                       mica_text_model **model);
/* NULL is a no-op. */
MICA_API void mica_text_model_destroy(mica_text_model *model);
/* A mica_ctc_text_model, whose user is a mica_text_model: words count where they end. */
MICA_API double mica_text_model_score(void *model, const int32_t *labels, int64_t count, int32_t label);
/* The labels that it looks at, for mica_ctc_beam_config.context. */
MICA_API int64_t mica_text_model_context(const mica_text_model *model);

/* --- errors --- */

/* The least number of insertions, deletions and substitutions that make b of a (Levenshtein 1966). MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_edit_distance(const int32_t *a, int64_t a_count, const int32_t *b,
                                                     int64_t b_count, int64_t *distance);

/* Edits and the lengths of references, which add up: rates are edits / length, NaN of no length. Words are parted by
 * Unicode's white space; characters are code points, without white space at both ends. */
typedef struct mica_text_errors {
  int64_t word_edits, words, character_edits, characters;
} mica_text_errors;
/* Adds the errors of a hypothesis. Texts are UTF-8; a byte that belongs to no character counts as one of its own.
 * MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_text_errors_add(mica_text_errors *errors, const char *reference,
                                                       const char *hypothesis);
MICA_API double mica_word_error_rate(const mica_text_errors *errors);
MICA_API double mica_character_error_rate(const mica_text_errors *errors);

MICA_END_DECLS

#endif
