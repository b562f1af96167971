/* task/head/letters.h: texts, letter by letter, from networks that answer in steps: connectionist temporal
 * classification (Graves et al. 2006) of the column "tokens", which holds code points. */
#ifndef MICA_TASK_HEAD_LETTERS_H
#define MICA_TASK_HEAD_LETTERS_H

#include "base/text.h"
#include "run/composed.h"
#include "run/setting_fields.h"

#include <mica/speech.h>

#define LETTERS_SETTINGS(X, S)                                                                                         \
  X(S, INT, beam, "beam", "0", "N", "beam width; 0: the likeliest letter of each step", .high = 4096)

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

/* How to find labels in scores: *search as mica_ctc_beam takes it, from the run's setting unless the caller gives one;
 * its text model is *model, which the caller destroys. If *wanted is false, the best label of each step is taken. */
mica_status mica__letters_search(const mica_run *run, const mica_text_search *how, mica_ctc_beam_config *search,
                                 mica_text_model **model, bool *wanted);
/* The task state of a run that mica_run_search sets. */
typedef struct mica__letters_decoding {
  mica_ctc_beam_config search; /* beam 0: by the setting */
  mica_text_model *model;      /* the user of `search`; NULL: none */
} mica__letters_decoding;

/* Members of a row (mica__task_row): keeps a search for the run, frees it, and transcribes the first sample. */
mica_status mica__letters_set_search(mica_run *run, const mica_text_search *how);
void mica__letters_close(mica_run *run);
mica_status mica__letters_answers(mica_run *run);

/* A text found in scores (steps, classes), its labels and the step of each; -1 if a beam found it. Must be freed, also
 * after a failure. */
typedef struct mica__heard {
  int32_t *labels, *at;
  int64_t count;
  mica__text text;
} mica__heard;
mica_status mica__letters_hear(const mica_run *run, const float *scores, int64_t steps, mica__heard *heard);
void mica__heard_free(mica__heard *heard);

/* Members of the head (task/head/letters_show.c). */
mica_status mica__letters_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                                  const mica_run_input *given);
mica_status mica__letters_report(mica_run *run, mica_report *report);

#endif
