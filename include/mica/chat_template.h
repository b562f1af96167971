/* mica/chat_template.h: convert conversations to text in the format that a chat model was trained on.
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
 * Statements that read other files (include, import, extends) are refused. Templates are untrusted code, so a run is
 * limited: 1,000,000 steps, 16 MiB of output, 256 MiB of memory, 64 levels of nesting in the source and of calls. A
 * step is an expression or a statement; long texts cost a step per 256 bytes.
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

/* Creates an empty list. */
MICA_API MICA_CHECKED mica_status mica_messages_create(mica_messages **messages);
/* Appends {"role": role, "content": content}; copies both. MICA_E_INVALID: one is not UTF-8. */
MICA_API MICA_CHECKED mica_status mica_messages_add(mica_messages *messages, const char *role, const char *content);
/* Appends a message (a JSON object) or several (a list of objects) with any members: tool calls, parts of content.
 * Copies the text. MICA_E_FORMAT: the text is not JSON or is nested more than 64 deep (the error message gives the
 * byte), or an item is not an object (the error message gives its number). After a failure nothing is appended. */
MICA_API MICA_CHECKED mica_status mica_messages_add_json(mica_messages *messages, const char *json, size_t bytes);
MICA_API size_t mica_messages_count(const mica_messages *messages);
/* Returns message number `index` as a JSON object on one line, ending in a NUL; NULL if index is too large. The pointer
 * is valid until the message is removed or the list is destroyed. */
MICA_API const char *mica_messages_at(const mica_messages *messages, size_t index, size_t *bytes);
/* Keeps the first `count` messages and removes the others. */
MICA_API void mica_messages_cut(mica_messages *messages, size_t count);
MICA_API void mica_messages_destroy(mica_messages *messages);

/* --- templates --- */

typedef struct mica_chat_template mica_chat_template;

/* Parses a template: UTF-8 of at most 1 MiB, which is copied. Error messages name it `name`. MICA_E_FORMAT: too long,
 * not UTF-8, or a syntax error. MICA_E_UNSUPPORTED: the template uses a tag, filter or test that Mica lacks. The error
 * message gives line and column, except for a text that is too long or not UTF-8. */
MICA_API MICA_CHECKED mica_status mica_chat_template_create(const char *name, const char *text, size_t bytes,
                                                            mica_chat_template **chat_template);
/* Returns the source of the template, ending in a NUL. The template owns it. */
MICA_API const char *mica_chat_template_source(const mica_chat_template *chat_template, size_t *bytes);
/* True if the template has {% generation %} blocks: mica_chat_template_apply_spans then finds the model's text. */
MICA_API bool mica_chat_template_has_spans(const mica_chat_template *chat_template);
MICA_API void mica_chat_template_destroy(mica_chat_template *chat_template);

/* A name that the template may use. Its value is `text` or, if text is NULL, the JSON in `json`. */
typedef struct mica_chat_variable {
  const char *name;
  const char *text;
  const char *json;
} mica_chat_variable;

typedef struct mica_chat_options {
  size_t count;               /* number of messages to use, from the first; 0: all */
  const char *tools;          /* JSON list of tools, {"type": "function", "function": {...}}; NULL: none */
  const char *documents;      /* JSON list of documents; NULL: none */
  bool add_generation_prompt; /* end the text where the model's answer begins */
  /* Further names: special tokens ("bos_token", "eos_token") and switches of the model ("enable_thinking"). They take
   * precedence over the fields above. */
  const mica_chat_variable *variables;
  size_t variable_count;
  int64_t time; /* time for strftime_now: seconds since 1970, UTC; 0: the clock, in local time */
} mica_chat_options;

/* A part of a text, in bytes: [begin, end). */
typedef struct mica_text_span {
  size_t begin, end;
} mica_text_span;

/* Writes the text of a conversation. The caller frees *text with mica_free; a NUL follows its bytes. options and bytes
 * may be NULL. A message's reasoning is the first of its members "reasoning_content", "thinking" and "reasoning" that
 * is not null. The template sees it as "reasoning_content", and as "thinking" unless the message has a member of this
 * name.
 *
 * MICA_E_INVALID: the template called raise_exception (the message is the template's, for example that roles must
 * alternate), an option is not JSON, or a variable has no name, no value or a text that is not UTF-8. MICA_E_FORMAT:
 * the template failed or exceeded a limit. MICA_E_UNSUPPORTED: it used something that Mica lacks. The messages of
 * MICA_E_FORMAT and MICA_E_UNSUPPORTED give line and column of the template. */
MICA_API MICA_CHECKED mica_status mica_chat_template_apply(const mica_chat_template *chat_template,
                                                           const mica_messages *messages,
                                                           const mica_chat_options *options, char **text,
                                                           size_t *bytes);
/* Works as mica_chat_template_apply does, and also returns the parts of the text that {% generation %} blocks wrote, in
 * order. The caller frees *text and *spans with mica_free. */
MICA_API MICA_CHECKED mica_status mica_chat_template_apply_spans(const mica_chat_template *chat_template,
                                                                 const mica_messages *messages,
                                                                 const mica_chat_options *options, char **text,
                                                                 size_t *bytes, mica_text_span **spans,
                                                                 size_t *span_count);

MICA_END_DECLS

#endif
