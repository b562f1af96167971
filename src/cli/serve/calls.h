/* cli/serve/calls.h: function calls in a text that a model wrote. The text is untrusted. */
#ifndef MICA_CLI_SERVE_CALLS_H
#define MICA_CLI_SERVE_CALLS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define SERVE_MOST_CALLS 16
#define SERVE_MOST_TOOLS 128

typedef struct serve_call {
  char *name, *arguments; /* arguments: a JSON object */
} serve_call;

typedef struct serve_calls {
  serve_call list[SERVE_MOST_CALLS];
  size_t count;
  size_t before; /* bytes of text before the first call, without the spaces at their end */
} serve_calls;

/* Finds a function by name in a list of tools; NULL: none. */
const cJSON *serve_tool_find(const cJSON *tools, const char *name);

/* Finds the calls of tools in a whole text:
 *
 *   text <tool_call>CALL</tool_call> <tool_call>CALL</tool_call>
 *   CALL
 *
 * CALL is one of the following, or a list of them; "parameters" is the same as "arguments":
 *
 *   {"name": ..., "arguments": {...}}
 *   {"function": {"name": ..., "arguments": {...}}}
 *
 * Returns false, with nothing to free, if the text has no call, more than SERVE_MOST_CALLS calls, a call of a function
 * that is not in tools, or text after a call. The whole answer is then text. */
bool serve_calls_read(const cJSON *tools, const char *text, size_t bytes, serve_calls *calls);
void serve_calls_free(serve_calls *calls);
/* The number of bytes at the beginning of an unfinished text that cannot become part of a call. */
size_t serve_calls_plain(const char *text, size_t bytes);

#endif
