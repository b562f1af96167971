/* cli/serve/model.h: what requests are read with: a model's name, tokenizer and chat template. It does not change while
 * requests are served. */
#ifndef MICA_CLI_SERVE_MODEL_H
#define MICA_CLI_SERVE_MODEL_H

#include <mica/chat.h>

typedef struct serve_model {
  const mica_foundation *foundation;
  mica_tokenizer *tokenizer;
  mica_chat_template *form; /* NULL: the model has none */
  char *name, *begin, *end; /* the name in requests; special tokens as the template knows them */
  mica_chat_variable variables[2];
  int64_t context, vocabulary; /* tokens of a prompt and its answer; of the model */
  int32_t slots;
} serve_model;

/* Reads the tokenizer and the template of a model, which must outlive it. name: NULL for the model's own. A model
 * without a template serves everything but chat. */
MICA_CHECKED mica_status serve_model_open(const mica_foundation *foundation, const char *path, const char *name,
                                          serve_model *model);
void serve_model_close(serve_model *model);

#endif
