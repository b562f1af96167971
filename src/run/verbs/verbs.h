/* run/verbs/verbs.h: functions for what only the runs of some tasks do, beside predicting. A function that a task lacks
 * is NULL. */
#ifndef MICA_RUN_VERBS_VERBS_H
#define MICA_RUN_VERBS_VERBS_H

#include "base/error.h"

#include <mica/run.h>
#include <mica/speak.h>

struct mica__transcription;

typedef struct mica__task_verbs {
  /* Sets how texts are searched for in recordings from now on (mica_run_search). */
  mica_status (*search)(mica_run *run, const mica_text_search *search);
  /* Describes in *how how the run's network writes down sound as it arrives (networks/transcriber.h). The caller frees
   * *how, also after a failure. */
  mica_status (*transcribes)(mica_run *run, const mica_text_search *search, struct mica__transcription *how);
  /* Continues texts (mica_run_generate). */
  mica_status (*generate)(mica_run *run, const mica_run_texts *texts);
  /* Speaks a text (mica_run_speak). */
  mica_status (*speak)(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count);
  /* Says whose voice a recording has (mica_run_voice). */
  mica_status (*voice)(mica_run *run, const char *path, double *shares);
  /* Adds a section of items for each user, new user and item in the query. */
  mica_status (*recommend)(mica_run *run, const mica_run_query *query, mica_report *prediction);
} mica__task_verbs;

#endif
