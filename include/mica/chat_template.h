/* mica/chat_template.h: conversations as the text that a chat model was trained on.
 *
 *   mica_messages_create(&messages);
 *   mica_messages_add(messages, "user", "Who are you?");
 *   mica_chat_template_create("tokenizer_config.json", source, bytes, &template);
 *   mica_chat_template_apply(template, messages, &(mica_chat_options){.add_generation_prompt = true}, &text, &length);
 *
 * A chat template is a Jinja template that a model's author publishes with the model. Mica runs the subset that such
 * templates use, with the settings of the Python package `transformers`: trim_blocks, lstrip_blocks, loop controls, a
 * sandbox without mutation, `tojson` without HTML escapes, `raise_exception`, `strftime_now` and
 * `{% generation %}` blocks. The same template and conversation give the same bytes.
 *
 *   statements   if for set macro call filter with raw break continue generation
 *   expressions  all operators, slices, literals, calls, filters and tests
 *   filters, tests, methods, functions: src/text/template/{filters,tests,methods,functions}.def
 *
 * Whatever reads other files (include, import, extends) is refused. Templates are foreign code, so a run is limited:
 * 1,000,000 steps, 16 MiB of output, 256 MiB of memory, 64 levels of nesting in the source and of calls. A step is an
 * expression or a statement; long texts cost a step per 256 bytes.
 *
 * Integers have 64 bits; a result that does not fit is an error. Without utf8proc, upper and lower case and the
 * categories of characters are known for ASCII only.
 *
 * Threads: a template does not change once it is made; any number of threads apply it. A list of messages is changed
 * by one thread at a time, and not while it is read. */
#ifndef MICA_CHAT_TEMPLATE_H
#define MICA_CHAT_TEMPLATE_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* --- conversations --- */

/* An ordered list of messages. A message is a JSON object; most have a "role" and a "content". */
typedef struct mica_messages mica_messages;

/* An empty list. */
MICA_API MICA_CHECKED mica_status mica_messages_create(mica_messages **messages);
/* Appends {"role": role, "content": content}. Both are copied. MICA_E_INVALID if one is not UTF-8. */
MICA_API MICA_CHECKED mica_status mica_messages_add(mica_messages *messages, const char *role, const char *content);
/* Appends a message (a JSON object) or several (a list of objects), with any members: tool calls, parts of content.
 * The text is copied. MICA_E_FORMAT if it is not JSON or nested deeper than 64 levels, with the byte; nothing is
 * appended then. */
MICA_API MICA_CHECKED mica_status mica_messages_add_json(mica_messages *messages, const char *json, size_t bytes);
MICA_API size_t mica_messages_count(const mica_messages *messages);
/* Message `index` as a JSON object on one line that ends in a NUL; NULL past the end. Lives until that
 * message is cut or the list is destroyed. */
MICA_API const char *mica_messages_at(const mica_messages *messages, size_t index, size_t *bytes);
/* Keeps the first `count` messages. */
MICA_API void mica_messages_cut(mica_messages *messages, size_t count);
MICA_API void mica_messages_destroy(mica_messages *messages);

/* --- templates --- */

typedef struct mica_chat_template mica_chat_template;

/* Parses a template, UTF-8 of at most 1 MiB, which is copied. `name` stands in error messages. MICA_E_FORMAT for a
 * syntax error, MICA_E_UNSUPPORTED for a tag, filter or test that Mica does not have; both name line and column. */
MICA_API MICA_CHECKED mica_status mica_chat_template_create(const char *name, const char *text, size_t bytes,
                                                            mica_chat_template **chat_template);
/* The template's source, which ends in a NUL. Lives as long as the template. */
MICA_API const char *mica_chat_template_source(const mica_chat_template *chat_template, size_t *bytes);
/* True if it has {% generation %} blocks, so that mica_chat_template_apply_spans finds what the model wrote. */
MICA_API bool mica_chat_template_has_spans(const mica_chat_template *chat_template);
MICA_API void mica_chat_template_destroy(mica_chat_template *chat_template);

/* A name that the template may ask for. The value is `text`, or, if that is NULL, the JSON in `json`. */
typedef struct mica_chat_variable {
  const char *name;
  const char *text;
  const char *json;
} mica_chat_variable;

typedef struct mica_chat_options {
  size_t count;               /* the first messages that are used; 0: all */
  const char *tools;          /* a JSON list of tools, {"type": "function", "function": {...}}; NULL: none */
  const char *documents;      /* a JSON list of documents; NULL: none */
  bool add_generation_prompt; /* the text ends where the model's answer begins */
  /* Further names: special tokens ("bos_token", "eos_token"), switches of the model ("enable_thinking"). They replace
   * those above if they have the same name. */
  const mica_chat_variable *variables;
  size_t variable_count;
  int64_t time; /* what strftime_now shows: seconds since 1970, UTC; 0: the clock, in local time */
} mica_chat_options;

/* A part of a text, in bytes: [begin, end). */
typedef struct mica_text_span {
  size_t begin, end;
} mica_text_span;

/* The text of a conversation, *text the caller's to mica_free; a NUL follows its bytes. options may be NULL, bytes too.
 * A message with one of "reasoning_content", "thinking" and "reasoning" gets the first two of them.
 *
 * MICA_E_INVALID if the template calls raise_exception, with its message (roles that must alternate, say), and for
 * options that are not JSON. MICA_E_FORMAT if the template fails or exceeds a limit, MICA_E_UNSUPPORTED if it calls
 * what Mica does not have; both name line and column of the template. */
MICA_API MICA_CHECKED mica_status mica_chat_template_apply(const mica_chat_template *chat_template,
                                                           const mica_messages *messages,
                                                           const mica_chat_options *options, char **text,
                                                           size_t *bytes);
/* Also gives what lies inside of {% generation %} blocks, in order; *spans is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_chat_template_apply_spans(const mica_chat_template *chat_template,
                                                                 const mica_messages *messages,
                                                                 const mica_chat_options *options, char **text,
                                                                 size_t *bytes, mica_text_span **spans,
                                                                 size_t *span_count);

MICA_END_DECLS

#endif
