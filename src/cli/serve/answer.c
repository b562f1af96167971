/* Answers in OpenAI's format: JSON, or JSON events. */
#include "cli/json.h"
#include "cli/serve/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON --- */

/* Converts the object to text and frees the object. The caller frees the text with cJSON_free. NULL if memory is short.
 */
static char *print(cli_json *json) {
  char *text = json->failed ? NULL : cJSON_PrintUnformatted(json->root);
  cJSON_Delete(json->root);
  return text;
}

char *serve_error_json(const serve_problem *problem) {
  cli_json json;
  cli_json_begin(&json);
  cJSON *error = cli_json_object(&json, json.root, "error");
  cli_json_text(&json, error, "message", problem->text);
  cli_json_text(&json, error, "type", problem->status >= 500 ? "server_error" : "invalid_request_error");
  cli_json_text(&json, error, "param", problem->field[0] ? problem->field : NULL);
  cli_json_text(&json, error, "code", problem->code);
  return print(&json);
}

/* --- output --- */

void serve_job_wake(serve_job *job) {
  if (!job->suspended || !job->connection) return;
  job->suspended = false;
  job->work->resume(job);
}

static void end_job(serve_job *job) {
  const double seconds = serve_now() - job->began;
  job->ended = true;
  atomic_fetch_add(&job->work->counters.done, 1);
  atomic_fetch_add(&job->work->counters.microseconds, (long long)(seconds * 1e6));
  serve_job_wake(job);
}

static void add_event(serve_job *job, char *json) {
  if (!json) {
    job->output.failed = true;
    return;
  }
  serve_text_add(&job->output, "data: ", 6);
  serve_text_add(&job->output, json, strlen(json));
  serve_text_add(&job->output, "\n\n", 2);
  job->written = serve_now();
}

void serve_job_fail(serve_job *job, const serve_problem *problem) {
  char *json = serve_error_json(problem);
  const bool begun = job->status == 200;
  if (begun && job->asked.stream) {
    add_event(job, json);
  } else {
    job->output.bytes = 0;
    job->status = problem->status;
    if (json) serve_text_add(&job->output, json, strlen(json));
  }
  cJSON_free(json);
  atomic_fetch_add(&job->work->counters.refused, 1);
  end_job(job);
}

void serve_answer_set(serve_job *job, char *json) {
  const serve_problem problem = {.status = 500, .code = "out_of_memory", .text = "there is not enough memory"};
  if (!json) {
    serve_job_fail(job, &problem);
    return;
  }
  serve_text_add(&job->output, json, strlen(json));
  cJSON_free(json);
  job->status = job->output.failed ? 500 : 200;
  end_job(job);
}

/* --- parts of answers --- */

static const char *finish_of(const serve_choice *choice) {
  if (choice->finish == MICA_FINISH_NONE) return NULL;
  const bool whole = choice->finish == MICA_FINISH_STOP;
  const bool called = choice->job->asked.function || choice->calls.count;
  return whole && called ? "tool_calls" : mica_finish_name(choice->finish);
}

static void begin_object(cli_json *json, const serve_job *job, const char *object) {
  cli_json_begin(json);
  cli_json_text(json, json->root, "id", job->id);
  cli_json_text(json, json->root, "object", object);
  cli_json_integer(json, json->root, "created", (uint64_t)job->created);
  cli_json_text(json, json->root, "model", job->work->model->names[job->asked.name]);
}

static void add_usage(cli_json *json, const serve_job *job) {
  int64_t tokens = 0;
  for (size_t c = 0; c < job->choice_count; c++) tokens += job->choices[c].tokens;
  cJSON *usage = cli_json_object(json, json->root, "usage");
  cli_json_integer(json, usage, "prompt_tokens", (uint64_t)job->prompt_tokens);
  cli_json_integer(json, usage, "completion_tokens", (uint64_t)tokens);
  cli_json_integer(json, usage, "total_tokens", (uint64_t)(job->prompt_tokens + tokens));
}

/* Adds call number `index` of a choice. In a stream, the arguments may come in pieces: only the first piece has a name,
 * later ones are added with name NULL. */
static void add_call(cli_json *json, cJSON *list, const serve_choice *choice, size_t index, const char *name,
                     const char *text, size_t bytes) {
  char id[80];
  cJSON *call = cli_json_object(json, list, NULL);
  snprintf(id, sizeof id, "call-%s-%d-%zu", choice->job->id, (int)choice->index, index);
  if (choice->job->asked.stream) cli_json_integer(json, call, "index", index);
  if (name) cli_json_text(json, call, "id", id);
  if (name) cli_json_text(json, call, "type", "function");
  cJSON *function = cli_json_object(json, call, "function");
  if (name) cli_json_text(json, function, "name", name);
  cli_json_bytes(json, function, "arguments", text, bytes);
}

/* Adds the calls of a choice. */
static void add_calls(cli_json *json, cJSON *parent, const serve_choice *choice) {
  cJSON *list = cli_json_array(json, parent, "tool_calls");
  for (size_t c = 0; c < choice->calls.count; c++) {
    const serve_call *call = &choice->calls.list[c];
    add_call(json, list, choice, c, call->name, call->arguments, strlen(call->arguments));
  }
}

/* Moves the log probabilities of the tokens since the last call (all tokens unless streamed) into the answer, in the
 * format of the endpoint; null if the request does not want them. */
static void add_logprobs(cli_json *json, cJSON *parent, serve_choice *choice) {
  if (!choice->logprobs) {
    cli_json_text(json, parent, "logprobs", NULL);
    return;
  }
  cJSON *object = cli_json_object(json, parent, "logprobs"), *item;
  if (choice->job->kind == SERVE_CHAT) {
    if (!cJSON_AddItemToObject(object, "content", choice->logprobs)) json->failed = true;
  } else {
    cJSON *tokens = cli_json_array(json, object, "tokens"), *numbers = cli_json_array(json, object, "token_logprobs");
    cJSON *tops = choice->job->asked.top ? cli_json_array(json, object, "top_logprobs") : NULL;
    if (!tops) cli_json_text(json, object, "top_logprobs", NULL);
    cJSON_ArrayForEach(item, choice->logprobs) {
      const cJSON *likely, *list = cJSON_GetObjectItemCaseSensitive(item, "top_logprobs");
      cJSON *top = tops ? cli_json_object(json, tops, NULL) : NULL;
      cli_json_text(json, tokens, NULL, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "token")));
      cli_json_real(json, numbers, NULL, cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(item, "logprob")));
      cJSON_ArrayForEach(likely, list) if (top)
          cli_json_real(json, top, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(likely, "token")),
                        cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(likely, "logprob")));
    }
    cJSON_Delete(choice->logprobs);
  }
  choice->logprobs = cJSON_CreateArray();
}

/* Adds a token's text and its bytes, which need not be whole characters. */
static void add_token(cli_json *json, cJSON *object, const serve_model *model, int32_t token, double logprob) {
  char *text = NULL;
  size_t bytes = 0;
  if (mica_tokenizer_decode(model->tokenizer, &token, 1, false, &text, &bytes) != MICA_OK) bytes = 0;
  cli_json_bytes(json, object, "token", text ? text : "", bytes);
  cli_json_real(json, object, "logprob", logprob);
  cJSON *list = cli_json_array(json, object, "bytes");
  for (size_t b = 0; b < bytes; b++) cli_json_integer(json, list, NULL, (unsigned char)text[b]);
  mica_free(text);
}

static void note_token(serve_choice *choice, const mica_decoder_event *event) {
  const serve_model *model = choice->job->work->model;
  cli_json json = {.root = cJSON_CreateObject()};
  add_token(&json, json.root, model, event->token, (double)event->logprob);
  cJSON *list = cli_json_array(&json, json.root, "top_logprobs");
  for (size_t k = 0; k < event->top_count; k++)
    add_token(&json, cli_json_object(&json, list, NULL), model, event->top[k].token,
              (double)(float)event->top[k].logprob);
  if (json.failed || !cJSON_AddItemToArray(choice->logprobs, json.root)) cJSON_Delete(json.root);
}

/* --- streams --- */

static void add_chunk(serve_choice *choice, bool first, const char *text, size_t bytes) {
  serve_job *job = choice->job;
  const bool chat = job->kind == SERVE_CHAT;
  cli_json json;
  begin_object(&json, job, chat ? "chat.completion.chunk" : "text_completion");
  cJSON *item = cli_json_object(&json, cli_json_array(&json, json.root, "choices"), NULL);
  cli_json_integer(&json, item, "index", (uint64_t)choice->index);
  if (chat) {
    cJSON *delta = cli_json_object(&json, item, "delta");
    if (first) cli_json_text(&json, delta, "role", "assistant");
    if (job->asked.function && (first || bytes))
      add_call(&json, cli_json_array(&json, delta, "tool_calls"), choice, 0, first ? job->asked.function : NULL, text,
               bytes);
    else if (first || bytes)
      cli_json_bytes(&json, delta, "content", text, bytes);
    if (choice->calls.count) add_calls(&json, delta, choice);
  } else {
    cli_json_bytes(&json, item, "text", text, bytes);
  }
  add_logprobs(&json, item, choice);
  cli_json_text(&json, item, "finish_reason", finish_of(choice));
  char *chunk = print(&json);
  add_event(job, chunk);
  cJSON_free(chunk);
}

void serve_answer_begin(serve_job *job) {
  if (job->begun || job->ended) return;
  job->begun = true;
  atomic_fetch_add(&job->work->counters.prompt_tokens, job->prompt_tokens);
  if (!job->asked.stream) return;
  job->status = 200;
  for (size_t c = 0; job->kind == SERVE_CHAT && c < job->choice_count; c++) add_chunk(&job->choices[c], true, "", 0);
  serve_job_wake(job);
}

static void end_stream(serve_job *job) {
  if (job->asked.usage) {
    cli_json json;
    begin_object(&json, job, job->kind == SERVE_CHAT ? "chat.completion.chunk" : "text_completion");
    cli_json_array(&json, json.root, "choices");
    add_usage(&json, job);
    char *chunk = print(&json);
    add_event(job, chunk);
    cJSON_free(chunk);
  }
  serve_text_add(&job->output, "data: [DONE]\n\n", 14);
  end_job(job);
}

/* --- whole answers --- */

static void end_whole(serve_job *job) {
  const bool chat = job->kind == SERVE_CHAT;
  cli_json json;
  begin_object(&json, job, chat ? "chat.completion" : "text_completion");
  cJSON *list = cli_json_array(&json, json.root, "choices");
  for (size_t c = 0; c < job->choice_count; c++) {
    serve_choice *choice = &job->choices[c];
    const char *text = choice->text.data ? choice->text.data : "";
    cJSON *item = cli_json_object(&json, list, NULL);
    json.failed |= choice->text.failed;
    cli_json_integer(&json, item, "index", (uint64_t)choice->index);
    if (chat) {
      cJSON *message = cli_json_object(&json, item, "message");
      cli_json_text(&json, message, "role", "assistant");
      if (job->asked.function) {
        cli_json_text(&json, message, "content", NULL);
        add_call(&json, cli_json_array(&json, message, "tool_calls"), choice, 0, job->asked.function, text,
                 choice->text.bytes);
      } else if (choice->calls.count) {
        if (choice->calls.before)
          cli_json_bytes(&json, message, "content", text, choice->calls.before);
        else
          cli_json_text(&json, message, "content", NULL);
        add_calls(&json, message, choice);
      } else {
        cli_json_bytes(&json, message, "content", text, choice->text.bytes);
      }
    } else {
      cli_json_bytes(&json, item, "text", text, choice->text.bytes);
    }
    add_logprobs(&json, item, choice);
    cli_json_text(&json, item, "finish_reason", finish_of(choice));
  }
  add_usage(&json, job);
  serve_answer_set(job, print(&json));
}

/* --- events of the decoder --- */

/* Streams the part of the text that certainly is not a function call. At the end of the answer, also streams the rest,
 * unless the rest was parsed as calls. */
static void pass_text(serve_choice *choice, bool ends) {
  const serve_text *text = &choice->text;
  size_t to = !text->data ? 0 : ends ? text->bytes : serve_calls_plain(text->data, text->bytes);
  if (choice->calls.count) to = choice->calls.before;
  if (to < choice->sent) to = choice->sent;
  if (to == choice->sent && !ends) return;
  add_chunk(choice, false, text->data ? text->data + choice->sent : "", to - choice->sent);
  choice->sent = to;
}

void serve_answer_event(serve_choice *choice, const mica_decoder_event *event) {
  serve_job *job = choice->job;
  serve_answer_begin(job);
  choice->finish = event->finish;
  if (event->token >= 0) {
    choice->tokens++;
    atomic_fetch_add(&job->work->counters.tokens, 1);
    if (choice->logprobs && !job->ended) note_token(choice, event);
  }
  if (event->finish != MICA_FINISH_NONE) job->running--;
  if (job->ended) return;
  if (event->finish == MICA_FINISH_ERROR) {
    serve_problem problem = {0};
    serve_refuse(&problem, 500, "model_error", "%s", event->message ? event->message : "the model failed");
    job->gone = true;
    serve_job_fail(job, &problem);
    return;
  }
  const bool ends = event->finish != MICA_FINISH_NONE;
  if (!job->asked.stream || job->asked.tools) serve_text_add(&choice->text, event->text, event->bytes);
  if (event->finish == MICA_FINISH_STOP && job->asked.tools && choice->text.data)
    serve_calls_read(job->asked.tools, choice->text.data, choice->text.bytes, &choice->calls);
  if (!job->asked.stream) {
    if (job->running == 0) end_whole(job);
    return;
  }
  job->output.failed |= choice->text.failed;
  if (job->asked.tools)
    pass_text(choice, ends);
  else if (event->bytes || ends)
    add_chunk(choice, false, event->text, event->bytes);
  if (job->running == 0)
    end_stream(job);
  else
    serve_job_wake(job);
}

/* --- the tokenizer --- */

void serve_answer_tokens(serve_job *job) {
  const serve_asked *asked = &job->asked;
  const serve_model *model = job->work->model;
  cli_json json;
  serve_problem problem = {0};
  mica_encoding tokens = {0};
  char *text = NULL;
  size_t bytes = 0;
  const mica_status status =
      asked->kind == SERVE_TOKENIZE
          ? mica_tokenizer_encode(model->tokenizer, asked->text, strlen(asked->text),
                                  &(mica_encode_config){.special = asked->special}, &tokens)
          : mica_tokenizer_decode(model->tokenizer, asked->ids, asked->id_count, false, &text, &bytes);
  if (status != MICA_OK) {
    serve_refuse(&problem, 400, "invalid_value", "%s", mica_error_message());
    serve_job_fail(job, &problem);
    return;
  }
  cli_json_begin(&json);
  if (asked->kind == SERVE_TOKENIZE) {
    cJSON *list = cli_json_array(&json, json.root, "tokens");
    for (size_t t = 0; t < tokens.count; t++) cli_json_integer(&json, list, NULL, (uint64_t)tokens.ids[t]);
  } else {
    cli_json_bytes(&json, json.root, "content", text, bytes);
  }
  mica_encoding_free(&tokens);
  mica_free(text);
  serve_answer_set(job, print(&json));
}
