/* cli/serve/request.h: reads the JSON body of a request. Bodies are untrusted: any body results in a request or in a
 * problem with an HTTP status. */
#ifndef MICA_CLI_SERVE_REQUEST_H
#define MICA_CLI_SERVE_REQUEST_H

#include "cli/serve/model.h"

#include <cjson/cJSON.h>

#define SERVE_MOST_STOPS 16
#define SERVE_MOST_STOP 256
#define SERVE_MOST_SCHEMA 65536
#define SERVE_MOST_MESSAGES 1024
#define SERVE_MOST_CHOICES 16 /* number of prompts times n */
#define SERVE_MOST_DEPTH 64   /* of nested JSON */
#define SERVE_MOST_TEXTS 2048 /* of a request for vectors */

typedef enum serve_kind {
  SERVE_CHAT = 1,
  SERVE_COMPLETION = 2,
  SERVE_TOKENIZE = 4,
  SERVE_DETOKENIZE = 8,
  SERVE_EMBEDDING = 16,
} serve_kind;

/* An error about a request, as in OpenAI's API. */
typedef struct serve_problem {
  int status; /* HTTP status; 0: no problem */
  const char *code;
  char field[64]; /* empty: no field */
  char text[1024];
} serve_problem;

/* Sets the problem, unless one is set. Returns false. */
bool serve_refuse(serve_problem *problem, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

typedef struct serve_asked {
  serve_kind kind;
  size_t name; /* index in serve_model.names: 0 is the model, k its adapter k - 1 */
  mica_encoding prompts[SERVE_MOST_CHOICES];
  size_t prompt_count;
  int32_t n; /* answers per prompt */
  int64_t most_tokens;
  mica_sampler_config sampling;
  mica_logit_bias *bias;
  bool seeded;
  char *schema;
  const char *stops[SERVE_MOST_STOPS];
  size_t stop_count;
  bool stream, usage, logprobs;
  int32_t top;          /* number of likely tokens to list with each token */
  const char *function; /* the answer is this function's arguments; NULL: text */
  const cJSON *tools;   /* the answer may call these functions; NULL: it is text */
  const char **texts;   /* EMBEDDING */
  size_t text_count;
  int64_t text_tokens;
  bool base64, cut;
  const char *text; /* TOKENIZE */
  int32_t *ids;     /* DETOKENIZE */
  size_t id_count;
  bool special; /* TOKENIZE: adds the tokens that begin and end a text */
  cJSON *root;  /* the parsed body; the texts of the other fields point into it */
} serve_asked;

/* Reads a body; any thread may call it. serve_asked_free frees *asked, also after a failure. */
bool serve_read(const serve_model *model, serve_kind kind, const char *body, size_t bytes, serve_asked *asked,
                serve_problem *problem);
void serve_asked_free(serve_asked *asked);

/* True if the bytes are UTF-8 without NUL. */
bool serve_is_utf8(const char *text, size_t bytes);

#endif
