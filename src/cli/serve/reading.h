/* cli/serve/reading.h: shared by the readers of a request's fields. */
#ifndef MICA_CLI_SERVE_READING_H
#define MICA_CLI_SERVE_READING_H

#include "cli/serve/request.h"

typedef struct serve_reading {
  const serve_model *model;
  serve_asked *asked;
  serve_problem *problem;
  /* Fields that are read last; NULL: missing. */
  const cJSON *messages, *tools, *tool_choice, *variables, *prompt, *input;
} serve_reading;

/* Each reads the value of a field, or refuses it by name. */
bool serve_number(serve_reading *r, const cJSON *v, double low, double high, double *number);
bool serve_integer(serve_reading *r, const cJSON *v, double low, double high, int64_t *number);
bool serve_bool(serve_reading *r, const cJSON *v, bool *value);
/* A list of tokens of the model; the caller frees *ids either way. */
bool serve_read_ids(serve_reading *r, const cJSON *v, int32_t **ids, size_t *count);
/* The answer satisfies this schema. */
bool serve_set_schema(serve_reading *r, const cJSON *schema);
bool serve_refuse_memory(serve_reading *r);
/* Names the field that is being read, for problems. */
void serve_name_field(serve_reading *r, const char *field);
/* Refuses by the library's last message. */
bool serve_refuse_library(serve_problem *problem, const char *code);

/* The prompts of the request. */
bool serve_finish_chat(serve_reading *r);
bool serve_finish_completion(serve_reading *r);
/* The texts that become vectors, in serve/input.c. */
bool serve_finish_embedding(serve_reading *r);
/* Parses the fields that let the answer call functions, in serve/tools.c. *listed: the template shows the tools. */
bool serve_choose_function(serve_reading *r, bool *listed);

#endif
