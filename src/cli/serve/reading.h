/* cli/serve/reading.h: functions that the readers of a request's fields share. */
#ifndef MICA_CLI_SERVE_READING_H
#define MICA_CLI_SERVE_READING_H

#include "cli/serve/request.h"

typedef struct serve_reading {
  const serve_model *model;
  serve_asked *asked;
  serve_problem *problem;
  /* Fields that are interpreted last; NULL: missing. */
  const cJSON *messages, *tools, *tool_choice, *variables, *prompt, *input;
} serve_reading;

/* Each reads the value of a field, or refuses it with the field's name. */
bool serve_number(serve_reading *r, const cJSON *v, double low, double high, double *number);
bool serve_integer(serve_reading *r, const cJSON *v, double low, double high, int64_t *number);
bool serve_bool(serve_reading *r, const cJSON *v, bool *value);
/* Reads a list of the model's tokens; the caller frees *ids, also after a failure. */
bool serve_read_ids(serve_reading *r, const cJSON *v, int32_t **ids, size_t *count);
/* Makes the answer satisfy this schema. */
bool serve_set_schema(serve_reading *r, const cJSON *schema);
bool serve_refuse_memory(serve_reading *r);
/* Notes the field that is being read, for problems. */
void serve_name_field(serve_reading *r, const char *field);
/* Refuses the request with the library's last message. */
bool serve_refuse_library(serve_problem *problem, const char *code);

/* Reads the prompts of the request. */
bool serve_finish_chat(serve_reading *r);
bool serve_finish_completion(serve_reading *r);
/* Reads the texts that become vectors (serve/input.c). */
bool serve_finish_embedding(serve_reading *r);
/* Reads the fields about function calls (serve/tools.c). *listed is true if the chat template must list the tools. */
bool serve_choose_function(serve_reading *r, bool *listed);

#endif
