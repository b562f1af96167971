/* mica/chat.h: texts that a published model writes, for several requests at once, and conversations.
 *
 *   mica_foundation_open("SmolLM2-135M-Instruct.Q4_1.gguf", NULL, &model);
 *   mica_decoder_create(engine, model, NULL, &decoder);
 *   mica_chat_create(decoder, &(mica_chat_config){.system = "You are brief."}, &chat);
 *   mica_chat_send(chat, "Name three colours.", print, NULL);
 *
 * A decoder has slots, each with memory for the keys and values of one text. A request waits for a slot. Its prompt is
 * read in parts. After that each run generates one token for every slot whose prompt has been read. No graph is planned
 * and no kernel is built while texts grow.
 *
 * Threads: one thread at a time steps a decoder or uses its chats; requests are added and cancelled from any thread. */
#ifndef MICA_CHAT_H
#define MICA_CHAT_H

#include <mica/adapter.h>
#include <mica/chat_template.h>
#include <mica/foundation.h>
#include <mica/sampler.h>
#include <mica/tokenizer.h>

MICA_EXPERIMENTAL

MICA_BEGIN_DECLS

/* --- the decoder --- */

typedef struct mica_decoder mica_decoder;

typedef struct mica_decoder_config {
  int32_t slots;    /* requests that are decoded at once, at most 64; 0: 1 */
  int64_t context;  /* positions per slot; 0: mica_foundation_context */
  int64_t part;     /* tokens of a prompt that one run reads: a power of two from 16 to 4,096; 0: 128 */
  size_t most_wait; /* the most requests that may wait for a slot; 0: 1024 */
  mica_cache_form
      cache;      /* how slots keep keys and values; F16 and BF16 take half of F32's memory, Q8 about a quarter */
  bool no_prefix; /* read prompts whole, even if a slot already holds the beginning */
  /* adapter of the model (mica_foundation_adapter_open), for all requests; only needed during the call. NULL: none */
  mica_adapter *adapter;
  /* decoder of the same engine and model whose matrices this one shares, if that decoder shares none itself; only
   * needed during the call. NULL: none */
  const mica_decoder *weights_of;
} mica_decoder_config;

/* Builds the sessions of the model and reads its weights. config may be NULL. The engine and the model must outlive the
 * decoder. Blocks. MICA_E_INVALID: a field is out of range (the message names it), or weights_of has another model or
 * engine. MICA_E_UNSUPPORTED: the model does not generate text. It can also fail as mica_foundation_network and
 * mica_foundation_load do. */
MICA_API MICA_CHECKED mica_status mica_decoder_create(mica_engine *engine, const mica_foundation *model,
                                                      const mica_decoder_config *config, mica_decoder **decoder);
/* Destroys a decoder. Unfinished requests end without another event. NULL is a no-op. */
MICA_API void mica_decoder_destroy(mica_decoder *decoder);
/* Returns the model's tokenizer, which the decoder owns. NULL: the model has no tokenizer; events then have only
 * tokens. */
MICA_API const mica_tokenizer *mica_decoder_tokenizer(const mica_decoder *decoder);
/* Returns the positions per slot: the largest number of tokens of a prompt and its text together. */
MICA_API int64_t mica_decoder_context(const mica_decoder *decoder);
/* Bytes of the keys and values of one position, in all layers. A decoder has slots times context positions. */
MICA_API size_t mica_decoder_position_bytes(const mica_decoder *decoder);

/* name, text. Why a text ended. STOP: a token or a text that ends it; LENGTH: the requested number of tokens, or a full
 * context; CANCELLED: by mica_decoder_cancel or by the event's function; ERROR: the event's message says why. */
#define MICA_FINISH_LIST(X)                                                                                            \
  X(NONE, "")                                                                                                          \
  X(STOP, "stop")                                                                                                      \
  X(LENGTH, "length")                                                                                                  \
  X(CANCELLED, "cancelled")                                                                                            \
  X(ERROR, "error")

typedef enum mica_finish {
#define MICA_FINISH_ENUM(name, text) MICA_FINISH_##name,
  MICA_FINISH_LIST(MICA_FINISH_ENUM)
#undef MICA_FINISH_ENUM
} mica_finish;
/* "length"; "?" for other values. */
MICA_API const char *mica_finish_name(mica_finish finish);

/* A token of a text, or its end. All pointers are valid only during the call. */
typedef struct mica_decoder_event {
  int64_t id;                /* the request's id */
  int32_t token;             /* -1: none, because the text ends */
  float logprob;             /* log probability of the token by the model, before sampling changes it */
  const mica_candidate *top; /* the most likely tokens by the model, the best first; NULL: none requested */
  size_t top_count;
  const char *text; /* complete UTF-8 characters that no later token changes, perhaps none; ends with a NUL */
  size_t bytes;
  mica_finish finish;  /* NONE: the text goes on */
  const char *message; /* the reason of ERROR, else NULL */
} mica_decoder_event;

/* mica_decoder_step calls it for each event. If it returns false, the text ends as CANCELLED, with one more event. It
 * must not step the decoder. */
typedef bool mica_decoder_fn(void *user, const mica_decoder_event *event);

#define MICA_DECODER_MAX_TOP 20

typedef struct mica_request {
  const int32_t *ids; /* the prompt: at least one token, and fewer than mica_decoder_context */
  size_t count;
  int64_t most_tokens;                 /* 0: until the context is full */
  const mica_sampler_config *sampling; /* NULL: its defaults */
  const char *const *stops;            /* texts that end the answer and are left out of it */
  size_t stop_count;
  int32_t top;            /* tokens to list in events, at most MICA_DECODER_MAX_TOP; 0: none */
  bool ignore_end;        /* tokens that end a text do not end it; not allowed with a schema */
  const char *schema;     /* the text is JSON that satisfies this JSON schema (mica/grammar.h); NULL: any text */
  mica_decoder_fn *event; /* receives the tokens; must not be NULL */
  void *user;             /* passed to event */
} mica_request;

/* Adds a request, which is copied. *id (may be NULL) receives its id, which is above 0. MICA_E_INVALID: the prompt is
 * empty or too long, a token is outside of the vocabulary, event is NULL, most_tokens or top is out of range,
 * ignore_end is set with a schema, or there are stops or a schema but no tokenizer. MICA_E_STATE: too many requests
 * wait. It can also fail as mica_sampler_create and mica_grammar_create_schema do. Any thread may call it. */
MICA_API MICA_CHECKED mica_status mica_decoder_add(mica_decoder *decoder, const mica_request *request, int64_t *id);
/* Does one step. First it reads one part of the oldest prompt that is not complete; the last part also yields the first
 * token. Then it generates one token for each request whose prompt has been read. *busy (may be NULL) receives true if
 * work is left. A failure of a single request is reported only by its event. Other failures are returned, and end all
 * requests that have a slot; requests that wait for a slot stay. Blocks. */
MICA_API MICA_CHECKED mica_status mica_decoder_step(mica_decoder *decoder, bool *busy);
/* Ends a request at the next step, or, if it waits for a slot, in the step that gives it one. Does nothing if the
 * request is unknown or done. Any thread may call it. */
MICA_API void mica_decoder_cancel(mica_decoder *decoder, int64_t id);

/* --- conversations --- */

typedef struct mica_chat mica_chat;

typedef struct mica_chat_config {
  const char *system;                  /* the system message, which comes first; NULL: none */
  const mica_chat_template *form;      /* converts messages to a prompt; NULL: the model's own. Must outlive the chat */
  const mica_chat_variable *variables; /* the template's other variables ("enable_thinking"); must outlive the chat */
  size_t variable_count;
  int64_t most_tokens;                 /* tokens per answer; 0: until the context is full */
  const mica_sampler_config *sampling; /* for each answer; must outlive the chat. NULL: its defaults */
} mica_chat_config;

/* Creates a conversation that has only the system message, if there is one; config may be NULL. The decoder must
 * outlive the chat. MICA_E_NOT_FOUND: the model has no tokenizer, or neither config nor the model has a template. */
MICA_API MICA_CHECKED mica_status mica_chat_create(mica_decoder *decoder, const mica_chat_config *config,
                                                   mica_chat **chat);
/* NULL is a no-op. */
MICA_API void mica_chat_destroy(mica_chat *chat);
/* Appends the user's message, and steps the decoder until the answer is complete. Its events go to `event` (may be
 * NULL). The answer becomes a message, even if it was cancelled. If the conversation exceeds the context, the oldest
 * messages after the system message are left out of the prompt, two at a time. *finish (may be NULL) says why the
 * answer ended. MICA_E_INVALID: the text alone does not fit, or the model's answer failed (MICA_FINISH_ERROR). After
 * any failure the chat does not have the user's message. */
MICA_API MICA_CHECKED mica_status mica_chat_send(mica_chat *chat, const char *text, mica_decoder_fn *event, void *user,
                                                 mica_finish *finish);
/* Cancels the answer that is being written; a later mica_chat_send is not affected. Any thread and any signal handler
 * may call it. */
MICA_API void mica_chat_stop(mica_chat *chat);
/* Begins the conversation anew, as after mica_chat_create: keeps only the system message that the chat was created
 * with, if any. Messages that mica_chat_load read are forgotten, including a system message. */
MICA_API void mica_chat_reset(mica_chat *chat);
/* The messages so far. They belong to the chat; the pointer is valid until mica_chat_load or mica_chat_reset. */
MICA_API const mica_messages *mica_chat_messages(const mica_chat *chat);
/* save writes the messages to a file as a JSON list. load reads such a file; its messages replace all of the chat's,
 * the system message too, until mica_chat_reset. After a failure the chat has the messages that it had. */
MICA_API MICA_CHECKED mica_status mica_chat_save(const mica_chat *chat, const char *path);
MICA_API MICA_CHECKED mica_status mica_chat_load(mica_chat *chat, const char *path);

MICA_END_DECLS

#endif
