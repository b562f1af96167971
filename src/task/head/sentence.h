/* task/head/sentence.h: sentences that a network writes token by token (networks/translation.h). sentence.c trains and
 * tests, sentence_show.c predicts and reports, sentence_attention.c shows the attention. The network is in
 * task/input/pairs.h. */
#ifndef MICA_TASK_HEAD_SENTENCE_H
#define MICA_TASK_HEAD_SENTENCE_H

#include "run/composed.h"
#include "run/setting_fields.h"
#include "run/tokens.h"

#define SENTENCE_SETTINGS(X, S)                                                                                        \
  X(S, REAL, label_smoothing, "label-smoothing", "0.1", "S",                                                           \
    "part of the target probability to share among all tokens; 0: off", .low = 0, .high = 1, .fixed = true)            \
  X(S, INT, beam, "beam", "5", "N", "beam width for the test metric bleu_beam; 1: do not measure it", .low = 1,        \
    .high = 64)                                                                                                        \
  X(S, REAL, length_penalty, "length-penalty", "1", "A",                                                               \
    "beam search: divide the log probability of a translation by tokens^A", .low = 0, .high = 10)                      \
  X(S, INT, bleu_samples, "bleu-samples", "200", "N",                                                                  \
    "validation texts to translate for BLEU after each epoch; 0: all", .low = 0, .high = 1e9)

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define SENTENCE_METRICS                                                                                               \
  {                                                                                                                    \
    {"bleu", false, "agreement of greedy translations with the references, 0 to 100", false},                          \
        {"perplexity", true, "exp of the mean loss per token; less is better", false},                                 \
        {"bleu_beam", false, "bleu with a beam search (--beam)", true}, {                                              \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_sentence;

/* Texts to be translated, as text and as ids, and their known translations if there are any. */
typedef struct mica__sentences {
  mica__ids ids;
  char **names, **sources, **truths; /* a truth is NULL if it is unknown */
  size_t count, capacity;
} mica__sentences;

/* A mica__sample_fn that adds a sample to a mica__sentences, which must be zeroed first. */
mica_status mica__sentences_add(mica_run *run, const mica__sample *sample, const float *outputs, void *sentences);
void mica__sentences_free(mica__sentences *sentences);

/* Adds a section that shows how much each token of the translation attends to each token of the source. */
mica_status mica__sentence_attention(mica_run *run, const char *source, const char *translation, mica_report *report);

/* Functions that mica__head_sentence and the rows of its tasks point to (in sentence_show.c). answers translates the
 * first evaluated sample, so that the time can be measured. */
mica_status mica__sentence_predict(mica_run *run, const mica_run_input *given, mica_report *prediction);
mica_status mica__sentence_report(mica_run *run, mica_report *report);
mica_status mica__sentence_answers(mica_run *run);

#endif
