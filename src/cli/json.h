/* cli/json.h: JSON for --json, through cJSON. A failed allocation is remembered; cli_json_print reports it once. */
#ifndef MICA_CLI_JSON_H
#define MICA_CLI_JSON_H

#include "cli/command.h"

#include <cjson/cJSON.h>
#include <stdint.h>

typedef struct cli_json {
  cJSON *root;
  bool failed;
} cli_json;

/* Begins an empty object, json->root. */
void cli_json_begin(cli_json *json);

/* These functions add a value to parent. If parent is an object, key is the name of the value. If parent is an array,
 * key is NULL and the value is appended. */
cJSON *cli_json_object(cli_json *json, cJSON *parent, const char *key);
cJSON *cli_json_array(cli_json *json, cJSON *parent, const char *key);
/* Invalid UTF-8 bytes become U+FFFD; a NULL text becomes null. */
void cli_json_text(cli_json *json, cJSON *parent, const char *key, const char *text);
/* Like cli_json_text, for a text of `bytes` bytes that may contain NULs. A further NUL must follow it. */
void cli_json_bytes(cli_json *json, cJSON *parent, const char *key, const char *text, size_t bytes);
/* Adds an exact integer, also beyond the 53 bits of cJSON's own numbers. */
void cli_json_integer(cli_json *json, cJSON *parent, const char *key, uint64_t value);
/* NaN and infinities become null. */
void cli_json_real(cli_json *json, cJSON *parent, const char *key, double value);
void cli_json_bool(cli_json *json, cJSON *parent, const char *key, bool value);

/* Writes the whole object to stdout with a newline and frees it. Returns CLI_OK, or CLI_FAILED after a message. */
int cli_json_print(cli_json *json, const cli_command *self);
/* Like cli_json_print, but writes the object on one line. */
int cli_json_print_line(cli_json *json, const cli_command *self);

#endif
