/* task/head/letters.h: learns texts letter by letter with a network that scores all letters at each time step. The loss
 * is connectionist temporal classification (Graves et al. 2006). The column "tokens" holds the text's code points. */
#ifndef MICA_TASK_HEAD_LETTERS_H
#define MICA_TASK_HEAD_LETTERS_H

#include "base/text.h"
#include "run/composed.h"
#include "run/setting_fields.h"

#include <mica/speech.h>

#define LETTERS_SETTINGS(X, S)                                                                                         \
  X(S, INT, beam, "beam", "0", "N", "beam width; 0: no beam search, but the likeliest letter of each step",            \
    .high = 4096)

#define LETTERS_METRICS                                                                                                \
  {                                                                                                                    \
    {"wer", true, "wrong, missing and added words per word of the true texts", false},                                 \
        {"cer", true, "wrong, missing and added letters per letter of the true texts", false}, {                       \
      0                                                                                                                \
    }                                                                                                                  \
  }
#define LETTERS_ANSWERS                                                                                                \
  { "tokens", NULL }

extern const mica__head mica__head_letters;

/* Prepares the search for labels in scores.
 * search: receives the arguments for mica_ctc_beam; the beam is how->beam or, if that is 0, the run's setting
 * model: receives the text model that *search uses, which the caller destroys; unchanged if there is no text model
 * wanted: receives true for a beam search, or false to take the best label of each step */
mica_status mica__letters_search(const mica_run *run, const mica_text_search *how, mica_ctc_beam_config *search,
                                 mica_text_model **model, bool *wanted);
/* The run's task_state: how to search for texts, as mica_run_search set it. */
typedef struct mica__letters_decoding {
  mica_ctc_beam_config search; /* beam 0: the setting of the run decides */
  mica_text_model *model;      /* the text model that `search` uses; NULL if none */
} mica__letters_decoding;

/* Functions for mica__task_row: set_search stores a search in the run, and close frees it. answers transcribes the
 * first evaluated sample, so that the time can be measured. */
mica_status mica__letters_set_search(mica_run *run, const mica_text_search *how);
void mica__letters_close(mica_run *run);
mica_status mica__letters_answers(mica_run *run);

/* The text found in scores (steps, classes), its labels and the step of each label. With beam search the steps are
 * unknown, -1. The caller frees it with mica__heard_free, even after a failure. */
typedef struct mica__heard {
  int32_t *labels, *at;
  int64_t count;
  mica__text text;
} mica__heard;
mica_status mica__letters_hear(const mica_run *run, const float *scores, int64_t steps, mica__heard *heard);
void mica__heard_free(mica__heard *heard);

/* Functions that mica__head_letters points to (in letters_show.c). */
mica_status mica__letters_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                                  const mica_run_input *given);
mica_status mica__letters_report(mica_run *run, mica_report *report);

#endif
