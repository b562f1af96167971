/* mica/run_text.h: continue prompts with runs of the task language, and set how runs of the task speech find the text
 * of a recording.
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_RUN_TEXT_H
#define MICA_RUN_TEXT_H

#include <mica/generate.h>
#include <mica/run.h>

MICA_BEGIN_DECLS

/* How a speech run turns the scores of its network into text. */
typedef struct mica_text_search {
  int32_t beam; /* prefixes kept by the search (mica_ctc_search); 0: the run's setting, or 16 with a text model */
  const char *text_model; /* file for mica_text_model_open; NULL: no text model */
  int32_t text_order;     /* order of the model in letters, if the file is plain text; 0: 6 */
  double text_weight;     /* weight of the text model's log probability; 0: 0.5 */
  double text_bonus;      /* added to the score of a text for each of its letters */
} mica_text_search;

/* Sets the search that later evaluations, predictions and reports use. search NULL: back to the run's setting.
 * MICA_E_UNSUPPORTED: the run's task is not speech. MICA_E_INVALID: a field is out of range. Otherwise the errors of
 * mica_text_model_open. */
MICA_API MICA_CHECKED mica_status mica_run_search(mica_run *run, const mica_text_search *search);

/* Prompts that a language run continues. */
typedef struct mica_run_texts {
  const char *const *prompts;
  const size_t *prompt_bytes; /* length of each prompt; NULL: prompts end with a NUL */
  size_t prompt_count;
  int64_t length; /* tokens to add to each prompt; 0: 200 */
  /* When a prompt, or a prompt with its continuation, becomes longer than the network's context, only its last `window`
   * tokens are kept. 0: a prompt that is too long is refused, and half the context is kept when a continuation fills
   * it. */
  int64_t window;
  mica_sampling sampling;
  /* Receives each continuation as it is generated. A character may be split between two calls. Return false to end.
   * Must not be NULL. */
  bool (*text)(void *user, size_t prompt, const char *bytes, size_t count);
  void *user;
} mica_run_texts;

/* Continues all prompts at once. Unless sampling.apart is set, each result is the same as if its prompt were given
 * alone. MICA_E_UNSUPPORTED: the run's task is not language. MICA_E_INVALID: there is no prompt, one is empty or too
 * long (the message names it), or mica_generator_create refuses the configuration. Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_generate(mica_run *run, const mica_run_texts *texts);

MICA_END_DECLS

#endif
