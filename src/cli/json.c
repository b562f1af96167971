#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_json_begin(cli_json *json) {
  json->root = cJSON_CreateObject();
  json->failed = !json->root;
}

static cJSON *attach(cli_json *json, cJSON *parent, const char *key, cJSON *item) {
  if (item && parent && (key ? cJSON_AddItemToObject(parent, key, item) : cJSON_AddItemToArray(parent, item)))
    return item;
  cJSON_Delete(item);
  json->failed = true;
  return NULL;
}

cJSON *cli_json_object(cli_json *json, cJSON *parent, const char *key) {
  return attach(json, parent, key, cJSON_CreateObject());
}

cJSON *cli_json_array(cli_json *json, cJSON *parent, const char *key) {
  return attach(json, parent, key, cJSON_CreateArray());
}

/* The length in bytes of the UTF-8 character at s. 0 if it is invalid: truncated, overlong, a surrogate or above
 * U+10FFFF. */
static size_t utf8_length(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  size_t length = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
                  : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                : 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
  if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
  return length;
}

/* Copies a text, which a NUL must follow, to the heap as valid UTF-8. Texts may be invalid because a driver may name
 * its device in any encoding, or because a text was truncated inside a character. */
static char *to_utf8(const char *text, size_t bytes) {
  static const char replacement[] = "\xef\xbf\xbd";
  const char *const end = text + bytes;
  char *clean = bytes < SIZE_MAX / sizeof replacement ? malloc(bytes * (sizeof replacement - 1) + 1) : NULL,
       *out = clean;
  if (!clean) return NULL;
  while (text < end) {
    size_t length = utf8_length((const unsigned char *)text);
    const char *from = length ? text : replacement;
    size_t n = length ? length : sizeof replacement - 1;
    memcpy(out, from, n);
    out += n;
    text += length ? length : 1;
  }
  *out = '\0';
  return clean;
}

/* Writes the text as a JSON string on the heap; cJSON's own strings end at the first NUL. */
static char *to_json(const char *text, size_t bytes) {
  char *out = bytes < SIZE_MAX / 8 ? malloc(6 * bytes + 3) : NULL, *at = out;
  if (!out) return NULL;
  *at++ = '"';
  for (size_t i = 0, length; i < bytes; i += length) {
    const unsigned char c = (unsigned char)text[i];
    length = utf8_length((const unsigned char *)text + i);
    if (!length)
      at += sprintf(at, "\\ufffd"), length = 1;
    else if (c < 0x20)
      at += sprintf(at, "\\u%04x", c);
    else if (c == '"' || c == '\\')
      at += sprintf(at, "\\%c", c);
    else
      memcpy(at, text + i, length), at += length;
  }
  memcpy(at, "\"", 2);
  return out;
}

void cli_json_bytes(cli_json *json, cJSON *parent, const char *key, const char *text, size_t bytes) {
  const bool has_nul = memchr(text, 0, bytes) != NULL;
  char *clean = has_nul ? to_json(text, bytes) : to_utf8(text, bytes);
  if (clean)
    attach(json, parent, key, has_nul ? cJSON_CreateRaw(clean) : cJSON_CreateString(clean));
  else
    json->failed = true;
  free(clean);
}

void cli_json_text(cli_json *json, cJSON *parent, const char *key, const char *text) {
  if (text)
    cli_json_bytes(json, parent, key, text, strlen(text));
  else
    attach(json, parent, key, cJSON_CreateNull());
}

void cli_json_integer(cli_json *json, cJSON *parent, const char *key, uint64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, value);
  attach(json, parent, key, cJSON_CreateRaw(digits));
}

void cli_json_real(cli_json *json, cJSON *parent, const char *key, double value) {
  attach(json, parent, key, cJSON_CreateNumber(value));
}

void cli_json_bool(cli_json *json, cJSON *parent, const char *key, bool value) {
  attach(json, parent, key, cJSON_CreateBool(value));
}

static int print(cli_json *json, const cli_command *self, bool line) {
  char *text = json->failed ? NULL : line ? cJSON_PrintUnformatted(json->root) : cJSON_Print(json->root);
  cJSON_Delete(json->root);
  if (!text) return cli_fail(self, "there is not enough memory for the JSON");
  puts(text);
  cJSON_free(text);
  return CLI_OK;
}

int cli_json_print(cli_json *json, const cli_command *self) { return print(json, self, false); }
int cli_json_print_line(cli_json *json, const cli_command *self) { return print(json, self, true); }
