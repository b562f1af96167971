/* Chooses and stores the search for texts in the scores of letters. */
#include "run/fields.h"
#include "run/letters.h"
#include "run/run.h"
#include "task/head/letters.h"

#include <stdlib.h>

MICA__SETTINGS_STRUCT(letters, LETTERS_SETTINGS);
MICA__SETTINGS(letters, LETTERS_SETTINGS);

mica_status mica__letters_search(const mica_run *run, const mica_text_search *how, mica_ctc_beam_config *search,
                                 mica_text_model **model, bool *wanted) {
  int32_t *letters = NULL;
  *search = (mica_ctc_beam_config){.beam = how->beam ? how->beam : (int32_t)settings_of(run).beam,
                                   .weight = how->text_weight,
                                   .bonus = how->text_bonus};
  *wanted = search->beam || how->text_model;
  if (!how->text_model) return MICA_OK;
  MICA_TRY(mica__letters_read(run, &letters));
  const mica_text_model_config config = {
      .letters = letters, .count = mica__letters_classes(run) - 1, .order = how->text_order};
  mica_status status = mica_text_model_open(how->text_model, &config, model);
  free(letters);
  MICA_TRY(status);
  search->text = mica_text_model_score;
  search->user = *model;
  search->context = mica_text_model_context(*model);
  return MICA_OK;
}

mica_status mica__letters_set_search(mica_run *run, const mica_text_search *how) {
  mica__letters_decoding made = {0};
  bool wanted = false;
  if (how->beam < 0)
    return mica__fail(MICA_E_INVALID, "mica_run_search: beam is %d, but must be 0 or above", (int)how->beam);
  if (!run->task_state) run->task_state = calloc(1, sizeof made);
  mica__letters_decoding *decoding = run->task_state;
  if (!decoding) return mica__fail_nomem("a run");
  MICA_TRY(mica__letters_search(run, how, &made.search, &made.model, &wanted));
  mica_text_model_destroy(decoding->model);
  *decoding = made;
  return MICA_OK;
}

void mica__letters_close(mica_run *run) {
  mica__letters_decoding *decoding = run->task_state;
  if (decoding) mica_text_model_destroy(decoding->model);
  free(decoding);
}
