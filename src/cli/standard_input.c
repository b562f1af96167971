/* Reads standard input as one text. */
#include "cli/standard_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer input is refused. */
#define MOST_INPUT ((size_t)1 << 28)

char *cli_read_standard_input(const cli_command *self) {
  size_t size = 0, capacity = 1 << 16;
  char *text = malloc(capacity);
  while (text && size <= MOST_INPUT) {
    const size_t got = fread(text + size, 1, capacity - size - 1, stdin);
    size += got;
    if (!got) break;
    if (capacity - size > 1) continue;
    char *grown = realloc(text, capacity *= 2);
    if (!grown) free(text);
    text = grown;
  }
  if (!text) {
    cli_fail(self, "there is not enough memory");
    return NULL;
  }
  text[size] = '\0';
  if (size && !ferror(stdin) && size <= MOST_INPUT) return text;
  if (ferror(stdin))
    cli_fail(self, "standard input cannot be read: %s", strerror(errno));
  else if (size)
    cli_fail(self, "standard input is longer than %zu MiB", MOST_INPUT >> 20);
  else
    cli_fail(self, "standard input is empty");
  free(text);
  return NULL;
}
