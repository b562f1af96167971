/* mica/run_text.h: text from runs: continue prompts (task language), search the text of recordings (task speech).
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_RUN_TEXT_H
#define MICA_RUN_TEXT_H

#include <mica/generate.h>
#include <mica/run.h>

MICA_BEGIN_DECLS

/* How a run of the task speech finds texts in what its network hears. */
typedef struct mica_text_search {
  int32_t beam; /* prefixes that a search keeps (mica_ctc_search); 0: the run's setting, 16 with a text model */
  const char *text_model; /* a file, as mica_text_model_open takes it; NULL: none */
  int32_t text_order;     /* of a plain text; 0: 6 letters */
  double text_weight;     /* of its log probability; 0: 0.5 */
  double text_bonus;      /* added for each letter */
} mica_text_search;

/* Evaluations, predictions and reports find texts so from now on. search NULL: by the run's setting again.
 * MICA_E_UNSUPPORTED: a run of another task; MICA_E_INVALID; as mica_text_model_open. */
MICA_API MICA_CHECKED mica_status mica_run_search(mica_run *run, const mica_text_search *search);

/* Texts that a run of the task language continues. */
typedef struct mica_run_texts {
  const char *const *prompts;
  const size_t *prompt_bytes; /* of each; NULL: they end with their first NUL */
  size_t prompt_count;
  int64_t length; /* tokens behind each prompt; 0: 200 */
  /* A prompt that is longer than the network's context loses all but its last tokens, so many; and so many are kept of
   * a text that has come to fill the context. 0: such a prompt is refused, and half a context is kept. */
  int64_t window;
  mica_sampling sampling;
  /* Takes what continues a prompt as it is made; bytes may be cut within a character. Returns false to end. */
  bool (*text)(void *user, size_t prompt, const char *bytes, size_t count);
  void *user;
} mica_run_texts;

/* Continues the prompts, all at once, each as it would be alone. MICA_E_UNSUPPORTED: a run of another task;
 * MICA_E_INVALID: a prompt that is empty or too long, which is named, and what mica_generator_create refuses. Blocks.
 */
MICA_API MICA_CHECKED mica_status mica_run_generate(mica_run *run, const mica_run_texts *texts);

MICA_END_DECLS

#endif
