/* cli/serve/model.h: what the readers of requests need: a model's name, tokenizer and chat template. It does not change
 * while requests are served. */
#ifndef MICA_CLI_SERVE_MODEL_H
#define MICA_CLI_SERVE_MODEL_H

#include <mica/chat.h>

#define SERVE_MOST_ADAPTERS 16

typedef struct serve_model {
  const mica_foundation *foundation;
  mica_tokenizer *tokenizer;
  mica_chat_template *form;             /* NULL: the model has none */
  char *names[SERVE_MOST_ADAPTERS + 1]; /* names in requests: the model, then "MODEL:ADAPTER" for each adapter */
  size_t name_count;
  char *begin, *end; /* spelling of the tokens that begin and end a text, for the chat template */
  mica_chat_variable variables[2];
  int64_t context, vocabulary; /* maximum tokens of a prompt and its answer together; number of token ids */
  int32_t slots;
  bool writes;                  /* it generates text */
  int64_t width, most_embedded; /* numbers per vector and maximum tokens per text; 0: the server makes no vectors */
} serve_model;

/* Reads the tokenizer and the template of a model, which must outlive `model`. name: NULL for the model's own. A model
 * without a template serves everything except chat. */
MICA_CHECKED mica_status serve_model_open(const mica_foundation *foundation, const char *path, const char *name,
                                          serve_model *model);
/* Appends "MODEL:name" to the names; false: there is not enough memory. */
bool serve_model_add_name(serve_model *model, const char *name);
void serve_model_close(serve_model *model);

#endif
