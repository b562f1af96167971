/* mica/chat.h: texts that a published model writes: several requests at once, and conversations.
 *
 *   mica_foundation_open("SmolLM2-135M-Instruct.Q4_1.gguf", NULL, &model);
 *   mica_decoder_create(engine, model, NULL, &decoder);
 *   mica_chat_create(decoder, &(mica_chat_config){.system = "You are brief."}, &chat);
 *   mica_chat_send(chat, "Name three colours.", print, NULL);
 *
 * A decoder has slots: memory for the keys and values of a text each. A request waits for a slot, its prompt is read in
 * parts, then a run makes one token for every slot that writes. Nothing is planned or built as texts grow.
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
  int64_t context;  /* positions of a slot; 0: mica_foundation_context */
  int64_t part;     /* tokens of a prompt that one run reads, a power of two of at least 16; 0: 128 */
  size_t most_wait; /* requests that wait for a slot; 0: 1024 */
  mica_cache_form
      cache;      /* how slots keep keys and values; F16 and BF16 take half of F32's memory, Q8 about a quarter */
  bool no_prefix; /* prompts are read whole, even if a slot holds how they begin */
  /* adapter of the model (mica_foundation_adapter_open), for all requests; needed during the call alone. NULL: none */
  mica_adapter *adapter;
  /* decoder of the same engine and model, which shares its matrices with this one; needed during the call alone. NULL:
   * none */
  const mica_decoder *weights_of;
} mica_decoder_config;

/* Builds the sessions of the model and reads its weights; config may be NULL. The engine and the model must outlive the
 * decoder. MICA_E_INVALID names a field that is out of range, or weights_of has another model or engine;
 * MICA_E_UNSUPPORTED for a model that writes no texts; fails as mica_foundation_network and mica_foundation_load do.
 * Blocks. */
MICA_API MICA_CHECKED mica_status mica_decoder_create(mica_engine *engine, const mica_foundation *model,
                                                      const mica_decoder_config *config, mica_decoder **decoder);
/* Requests that are not done end without another event. NULL is a no-op. */
MICA_API void mica_decoder_destroy(mica_decoder *decoder);
/* The model's tokenizer, which belongs to the decoder. NULL: the model has none, and events have tokens alone. */
MICA_API const mica_tokenizer *mica_decoder_tokenizer(const mica_decoder *decoder);
/* Positions of a slot: tokens of a prompt and its text. */
MICA_API int64_t mica_decoder_context(const mica_decoder *decoder);
/* Bytes that keys and values of a position take, in all layers. A decoder has slots times context positions. */
MICA_API size_t mica_decoder_position_bytes(const mica_decoder *decoder);

/* name, text. Why a text ended. STOP: a token or a text that ends it; LENGTH: the tokens that were asked for, or a
 * full context; CANCELLED: by mica_decoder_cancel or by the event's function; ERROR: the event's message says why. */
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

/* A token of a text, or its end. What it points to lives during the call. */
typedef struct mica_decoder_event {
  int64_t id;                /* of the request */
  int32_t token;             /* -1: none, the text just ends */
  float logprob;             /* log probability of the token, as the model has it */
  const mica_candidate *top; /* the most likely tokens, as the model has them, the best first; NULL: none asked for */
  size_t top_count;
  const char *text; /* whole characters of UTF-8 that are certain now, perhaps none; a NUL follows */
  size_t bytes;
  mica_finish finish;  /* NONE: the text goes on */
  const char *message; /* of ERROR, else NULL */
} mica_decoder_event;

/* Called by mica_decoder_step. false: the text ends as CANCELLED, with one more event. It must not step the decoder. */
typedef bool mica_decoder_fn(void *user, const mica_decoder_event *event);

#define MICA_DECODER_MAX_TOP 20

typedef struct mica_request {
  const int32_t *ids; /* the prompt, at least one token and fewer than the context has */
  size_t count;
  int64_t most_tokens;                 /* 0: until the context is full */
  const mica_sampler_config *sampling; /* NULL: its defaults */
  const char *const *stops;            /* texts that end it and are not part of it */
  size_t stop_count;
  int32_t top;        /* tokens to list in events, at most MICA_DECODER_MAX_TOP; 0: none */
  bool ignore_end;    /* tokens that end a text do not; not with a schema */
  const char *schema; /* the text is JSON of this JSON schema (mica/grammar.h); NULL: any text */
  mica_decoder_fn *event;
  void *user;
} mica_request;

/* Adds a request, which is copied; *id (may be NULL) is a number of its own, above 0. MICA_E_INVALID for a prompt
 * that is empty or too long, a token outside of the vocabulary, or what mica_sampler_create
 * or mica_grammar_create_schema refuses;
 * MICA_E_STATE if too many wait. Any thread. */
MICA_API MICA_CHECKED mica_status mica_decoder_add(mica_decoder *decoder, const mica_request *request, int64_t *id);
/* Makes one token for every text that is being written, after a part of the prompt that has waited longest. *busy (may
 * be NULL): something is left to do. What goes wrong with one request alone is its event; other failures are returned,
 * and end all requests. Blocks. */
MICA_API MICA_CHECKED mica_status mica_decoder_step(mica_decoder *decoder, bool *busy);
/* Ends a request at the next step; one that is unknown or done is left alone. Any thread. */
MICA_API void mica_decoder_cancel(mica_decoder *decoder, int64_t id);

/* --- conversations --- */

typedef struct mica_chat mica_chat;

typedef struct mica_chat_config {
  const char *system;                  /* the first message, of the system; NULL: none */
  const mica_chat_template *form;      /* how messages become a text; NULL: the model's own. Must outlive the chat */
  const mica_chat_variable *variables; /* further names of the template ("enable_thinking"); must outlive the chat */
  size_t variable_count;
  int64_t most_tokens;                 /* of an answer; 0: until the context is full */
  const mica_sampler_config *sampling; /* of each answer; must outlive the chat. NULL: its defaults */
} mica_chat_config;

/* A conversation, empty but for the system's message; config may be NULL. MICA_E_NOT_FOUND: the model has no
 * template, or no tokenizer. The decoder must outlive it. */
MICA_API MICA_CHECKED mica_status mica_chat_create(mica_decoder *decoder, const mica_chat_config *config,
                                                   mica_chat **chat);
/* NULL is a no-op. */
MICA_API void mica_chat_destroy(mica_chat *chat);
/* Appends what the user says, and steps the decoder until the answer is there. Its events go to `event` (may be NULL).
 * The answer becomes a message, also one that was cancelled. If the conversation exceeds the context, the oldest
 * messages after the system's are left out of the prompt. MICA_E_INVALID for a text that does not fit alone. *finish
 * (may be NULL) says why the answer ended. */
MICA_API MICA_CHECKED mica_status mica_chat_send(mica_chat *chat, const char *text, mica_decoder_fn *event, void *user,
                                                 mica_finish *finish);
/* Ends the answer that is being written, as cancelled. Any thread, and signal handlers. */
MICA_API void mica_chat_stop(mica_chat *chat);
/* Forgets all messages but the system's. */
MICA_API void mica_chat_reset(mica_chat *chat);
/* The messages so far. They belong to the chat. */
MICA_API const mica_messages *mica_chat_messages(const mica_chat *chat);
/* Writes the messages to a file as a list in JSON, and replaces them by a file's. */
MICA_API MICA_CHECKED mica_status mica_chat_save(const mica_chat *chat, const char *path);
MICA_API MICA_CHECKED mica_status mica_chat_load(mica_chat *chat, const char *path);

MICA_END_DECLS

#endif
