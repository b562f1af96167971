/* json_value PATH <FILE: reads one JSON value, whole and in valid UTF-8, and prints what stands at PATH, such as
 * devices.0.name: a text as it is, anything else as JSON. "." is the whole; a last step "#" counts. Exit status 1 when
 * the input is no JSON or has nothing there. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_utf8(const unsigned char *s) {
  static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
  while (*s) {
    unsigned lead = *s++, rest = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 9;
    if (rest == 9) return false;
    unsigned code = rest ? lead & (0x3fu >> rest) : lead;
    for (unsigned i = 0; i < rest; i++) {
      if (*s >> 6 != 2) return false;
      code = code << 6 | (*s++ & 0x3fu);
    }
    if (code < least[rest] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  }
  return true;
}

/* All of stdin as a string on the heap; NULL when memory is short or it holds a NUL. */
static char *read_input(void) {
  size_t used = 0, capacity = 1 << 16;
  char *text = malloc(capacity);
  while (text) {
    used += fread(text + used, 1, capacity - used - 1, stdin);
    if (used < capacity - 1) break;
    char *grown = realloc(text, capacity *= 2);
    if (!grown) free(text);
    text = grown;
  }
  if (!text) return NULL;
  text[used] = '\0';
  if (strlen(text) == used) return text;
  free(text);
  return NULL;
}

static bool print_at(const cJSON *at, char *path) {
  for (char *step = strtok(path, "."); step && at; step = strtok(NULL, ".")) {
    if (strcmp(step, "#") == 0) return printf("%d\n", cJSON_GetArraySize(at)) > 0;
    at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(step)) : cJSON_GetObjectItemCaseSensitive(at, step);
  }
  char *value = at ? cJSON_PrintUnformatted(at) : NULL;
  if (value) puts(cJSON_IsString(at) ? at->valuestring : value);
  cJSON_free(value);
  return value != NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char *text = read_input();
  cJSON *root = text && is_utf8((unsigned char *)text) ? cJSON_ParseWithOpts(text, NULL, true) : NULL;
  if (!root) fprintf(stderr, "not valid JSON\n");
  int status = root && print_at(root, argv[1]) ? 0 : 1;
  cJSON_Delete(root);
  free(text);
  return status;
}
