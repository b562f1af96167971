/* run/verbs/generate.h: texts that a run's language model continues. */
#ifndef MICA_RUN_VERBS_GENERATE_H
#define MICA_RUN_VERBS_GENERATE_H

#include "run/tokens.h"

#include <mica/model.h>

/* A language model: the network, which predicts the next token, and the function that turns texts into its tokens. */
typedef struct mica__writer {
  mica_model_config network;
  /* The ids of a text; `name` appears in messages. */
  mica_status (*encode)(const mica_run *run, const char *name, const char *text, size_t bytes, mica__ids *ids);
} mica__writer;

/* Continues the prompts (mica_run_generate). */
mica_status mica__run_write_texts(mica_run *run, const mica__writer *writer, const mica_run_texts *texts);

#endif
