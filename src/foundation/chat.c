/* Conversations: the model's template makes a prompt from messages; the answer becomes a message. */
#include "base/file.h"
#include "base/text.h"
#include "foundation/decoder.h"
#include "foundation/model.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct mica_chat {
  mica_decoder *decoder;
  mica_chat_config config;
  mica_chat_template *own; /* the model's template */
  const mica_chat_template *form;
  char *system, *begin, *end; /* special tokens, as the template writes them */
  mica_chat_variable *variables;
  mica_messages *messages;
  mica_messages *begun; /* after mica_chat_load: the chat's own system message, for mica_chat_reset; otherwise NULL */
  atomic_bool stop;
};

/* --- making a chat --- */

/* Copies a token's text; NULL if there is no token. */
static mica_status copy_token(const mica_decoder *d, int32_t id, char **text) {
  const char *token = id >= 0 ? mica_tokenizer_token(d->tokenizer, id) : NULL;
  *text = token ? mica__strdup(token) : NULL;
  return token && !*text ? mica__fail_nomem("a chat") : MICA_OK;
}

/* Sets the template's variables: the special tokens, then the caller's variables. A caller's variable with the same
 * name overrides a special token. */
static mica_status set_variables(mica_chat *chat, const mica_chat_config *c) {
  const mica_foundation_info *info = mica_foundation_describe(chat->decoder->model);
  size_t count = 0;
  MICA_TRY(copy_token(chat->decoder, info->begin, &chat->begin));
  MICA_TRY(copy_token(chat->decoder, info->end_count ? info->ends[0] : -1, &chat->end));
  chat->variables = calloc(c->variable_count + 3, sizeof *chat->variables);
  if (!chat->variables) return mica__fail_nomem("a chat");
  chat->variables[count++] = (mica_chat_variable){.name = "bos_token", .text = chat->begin ? chat->begin : ""};
  chat->variables[count++] = (mica_chat_variable){.name = "eos_token", .text = chat->end ? chat->end : ""};
  for (size_t v = 0; v < c->variable_count; v++) chat->variables[count++] = c->variables[v];
  chat->config.variables = chat->variables;
  chat->config.variable_count = count;
  return MICA_OK;
}

static mica_status fill(mica_chat *chat, const mica_chat_config *c) {
  chat->config = *c;
  if (!chat->decoder->tokenizer) return mica__fail(MICA_E_NOT_FOUND, "%s has no tokenizer", chat->decoder->model->path);
  chat->form = c->form;
  if (!chat->form) {
    MICA_TRY(mica_foundation_template(chat->decoder->model, &chat->own));
    chat->form = chat->own;
  }
  MICA_TRY(set_variables(chat, c));
  MICA_TRY(mica_messages_create(&chat->messages));
  if (!c->system) return MICA_OK;
  chat->system = mica__strdup(c->system);
  if (!chat->system) return mica__fail_nomem("a chat");
  return mica_messages_add(chat->messages, "system", chat->system);
}

mica_status mica_chat_create(mica_decoder *decoder, const mica_chat_config *config, mica_chat **chat) {
  static const mica_chat_config none;
  if (!decoder || !chat) return mica__fail(MICA_E_INVALID, "mica_chat_create: a pointer is NULL");
  mica_chat *made = calloc(1, sizeof *made);
  if (!made) return mica__fail_nomem("a chat");
  made->decoder = decoder;
  const mica_status status = fill(made, config ? config : &none);
  if (status == MICA_OK)
    *chat = made;
  else
    mica_chat_destroy(made);
  return status;
}

void mica_chat_destroy(mica_chat *chat) {
  if (!chat) return;
  mica_messages_destroy(chat->messages);
  mica_messages_destroy(chat->begun);
  mica_chat_template_destroy(chat->own);
  free(chat->variables);
  free(chat->system);
  free(chat->begin);
  free(chat->end);
  free(chat);
}

const mica_messages *mica_chat_messages(const mica_chat *chat) { return chat->messages; }

void mica_chat_reset(mica_chat *chat) {
  if (chat->begun) {
    mica_messages_destroy(chat->messages);
    chat->messages = chat->begun;
    chat->begun = NULL;
  }
  mica_messages_cut(chat->messages, chat->system ? 1 : 0);
}

void mica_chat_stop(mica_chat *chat) {
  if (chat) atomic_store(&chat->stop, true);
}

/* --- files --- */

mica_status mica_chat_save(const mica_chat *chat, const char *path) {
  if (!chat || !path) return mica__fail(MICA_E_INVALID, "mica_chat_save: a pointer is NULL");
  mica__text text = {0};
  const size_t count = mica_messages_count(chat->messages);
  mica__text_add(&text, "[");
  for (size_t m = 0; m < count; m++) {
    size_t bytes = 0;
    const char *message = mica_messages_at(chat->messages, m, &bytes);
    mica__text_add(&text, m ? ",\n" : "\n");
    mica__text_add_bytes(&text, message, bytes);
  }
  mica__text_add(&text, count ? "\n]\n" : "]\n");
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica__file_replace(path, &(mica__bytes){text.data, text.length}, 1);
  mica__text_free(&text);
  return status;
}

mica_status mica_chat_load(mica_chat *chat, const char *path) {
  unsigned char *text = NULL;
  size_t bytes = 0;
  mica_messages *messages = NULL;
  if (!chat || !path) return mica__fail(MICA_E_INVALID, "mica_chat_load: a pointer is NULL");
  MICA_TRY(mica__file_read(path, &text, &bytes));
  mica_status status = mica_messages_create(&messages);
  if (status == MICA_OK) status = mica_messages_add_json(messages, (const char *)text, bytes);
  free(text);
  if (status != MICA_OK) {
    mica_messages_destroy(messages);
    return mica__fail_in(status, path);
  }
  if (chat->begun)
    mica_messages_destroy(chat->messages);
  else
    chat->begun = chat->messages;
  chat->messages = messages;
  return MICA_OK;
}

/* --- prompts --- */

/* The tokens of a conversation, up to the beginning of the answer. */
static mica_status tokens_of(const mica_chat *chat, const mica_messages *messages, mica_encoding *tokens) {
  const mica_chat_options how = {.add_generation_prompt = true,
                                 .variables = chat->config.variables,
                                 .variable_count = chat->config.variable_count};
  char *text = NULL;
  size_t bytes = 0;
  MICA_TRY(mica_chat_template_apply(chat->form, messages, &how, &text, &bytes));
  const mica_status status = mica_tokenizer_encode(chat->decoder->tokenizer, text, bytes, NULL, tokens);
  mica_free(text);
  return status;
}

/* Copies all messages except the numbers first to first + dropped - 1. The caller destroys *rest, even after a
 * failure. */
static mica_status without(const mica_messages *messages, size_t first, size_t dropped, mica_messages **rest) {
  mica_status status = mica_messages_create(rest);
  for (size_t m = 0; status == MICA_OK && m < mica_messages_count(messages); m++) {
    size_t bytes = 0;
    if (m >= first && m < first + dropped) continue;
    const char *message = mica_messages_at(messages, m, &bytes);
    status = mica_messages_add_json(*rest, message, bytes);
  }
  return status;
}

/* Sets *kept to the number of messages that are never dropped: 1 if the first is the system's. A template finds the
 * role, because the members of a loaded message may have any order. */
static mica_status count_kept(const mica_messages *messages, size_t *kept) {
  static const char form[] = "{{ 'system' if messages and messages[0].role == 'system' }}";
  mica_chat_template *role = NULL;
  char *text = NULL;
  size_t bytes = 0;
  MICA_TRY(mica_chat_template_create("role", form, sizeof form - 1, &role));
  const mica_status status = mica_chat_template_apply(role, messages, &(mica_chat_options){.count = 1}, &text, &bytes);
  *kept = bytes > 0;
  mica_free(text);
  mica_chat_template_destroy(role);
  return status;
}

/* Makes the prompt. If the prompt would fill the context and leave no room for an answer, drops the oldest messages,
 * but not a system message at the beginning. They are dropped in pairs, so that the roles of user and assistant still
 * alternate. */
static mica_status make_prompt(const mica_chat *chat, mica_encoding *tokens) {
  const size_t count = mica_messages_count(chat->messages), context = (size_t)chat->decoder->context;
  size_t first = 0;
  MICA_TRY(tokens_of(chat, chat->messages, tokens));
  if (tokens->count >= context) MICA_TRY(count_kept(chat->messages, &first));
  for (size_t dropped = 2; tokens->count >= context && first + dropped < count; dropped += 2) {
    mica_messages *rest = NULL;
    mica_status status = without(chat->messages, first, dropped, &rest);
    if (status == MICA_OK) status = tokens_of(chat, rest, tokens);
    mica_messages_destroy(rest);
    MICA_TRY(status);
  }
  if (tokens->count < context) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "the message has %zu tokens with its template and any system message, but must have fewer than the "
                    "context, %zu",
                    tokens->count, context);
}

/* --- answers --- */

typedef struct answer {
  mica_chat *chat;
  mica_decoder_fn *event;
  void *user;
  mica__text text, message;
  mica_finish finish;
} answer;

static bool take(void *user, const mica_decoder_event *event) {
  answer *a = user;
  mica__text_add_bytes(&a->text, event->text, event->bytes);
  if (event->finish) a->finish = event->finish;
  if (event->message) mica__text_add(&a->message, event->message);
  const bool goes_on = !a->event || a->event(a->user, event);
  return goes_on && !atomic_load(&a->chat->stop);
}

static mica_status write_answer(mica_chat *chat, const mica_encoding *tokens, answer *a) {
  const mica_request request = {.ids = tokens->ids,
                                .count = tokens->count,
                                .most_tokens = chat->config.most_tokens,
                                .sampling = chat->config.sampling,
                                .event = take,
                                .user = a};
  int64_t id = 0;
  MICA_TRY(mica_decoder_add(chat->decoder, &request, &id));
  while (a->finish == MICA_FINISH_NONE) {
    if (atomic_load(&chat->stop)) mica_decoder_cancel(chat->decoder, id);
    MICA_TRY(mica_decoder_step(chat->decoder, NULL));
  }
  MICA_TRY(mica__text_status(&a->text));
  if (a->finish == MICA_FINISH_ERROR)
    return mica__fail(MICA_E_INVALID, "the model's answer failed: %s", a->message.data ? a->message.data : "?");
  return mica_messages_add(chat->messages, "assistant", a->text.data ? a->text.data : "");
}

mica_status mica_chat_send(mica_chat *chat, const char *text, mica_decoder_fn *event, void *user, mica_finish *finish) {
  if (!chat || !text) return mica__fail(MICA_E_INVALID, "mica_chat_send: a pointer is NULL");
  answer a = {.chat = chat, .event = event, .user = user};
  mica_encoding tokens = {0};
  const size_t count = mica_messages_count(chat->messages);
  atomic_store(&chat->stop, false);
  MICA_TRY(mica_messages_add(chat->messages, "user", text));
  mica_status status = make_prompt(chat, &tokens);
  if (status == MICA_OK) status = write_answer(chat, &tokens, &a);
  /* Removes the message: it was not answered. */
  if (status != MICA_OK) mica_messages_cut(chat->messages, count);
  if (status == MICA_OK && finish) *finish = a.finish;
  mica_encoding_free(&tokens);
  mica__text_free(&a.text);
  mica__text_free(&a.message);
  return status;
}
