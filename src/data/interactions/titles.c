/* Titles of items: stores them, and reads the files of the older MovieLens, which have no header and no quotes. */
#include "data/interactions/titles.h"

#include "base/utf8.h"
#include "data/dataset.h"
#include "data/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a title in a file. The text may need twice that, because a Latin-1 letter takes up to two bytes in
 * UTF-8. */
#define LONGEST 1000

mica__between mica__lines_between(const char *path) {
  char first[512];
  if (!mica__name_ends(path, ".dat") && !mica__name_ends(path, ".item")) return MICA__BETWEEN_CELLS;
  FILE *file = fopen(path, "rb");
  const size_t size = file ? fread(first, 1, sizeof first - 1, file) : 0;
  if (file) fclose(file);
  first[size] = '\0';
  const char *at = first + strcspn(first, ",;\t|:\"\n");
  if (at == first) return MICA__BETWEEN_CELLS;
  return *at == '|' ? MICA__BETWEEN_BARS : at[0] == ':' && at[1] == ':' ? MICA__BETWEEN_COLONS : MICA__BETWEEN_CELLS;
}

mica_status mica__titles_take(mica__titles *titles, const char *name, size_t line, int32_t id, const char *title) {
  if (!id) return MICA_OK;
  char **own = &titles->list[id - 1];
  if (*own && strcmp(*own, title) != 0)
    return mica__fail(MICA_E_FORMAT, "%s line %zu: '%s' is already in an earlier line, with the title '%s'", name, line,
                      titles->items->names[id - 1], *own);
  if (!*own) *own = mica__strdup(title);
  return *own ? MICA_OK : mica__fail_nomem(name);
}

/* Sets the title of the item with the name `id`; with `latin` the title is converted from Latin-1 to UTF-8. */
static mica_status take_line(mica__titles *titles, const char *name, size_t line, const char *id, const char *title,
                             size_t bytes, bool latin) {
  char text[2 * LONGEST + 4];
  size_t to = 0;
  if (bytes > LONGEST)
    return mica__fail(MICA_E_FORMAT, "%s line %zu: the title has %zu bytes, but may have at most %d", name, line, bytes,
                      LONGEST);
  for (size_t i = 0; i < bytes; i++)
    if (latin)
      to += mica__utf8_encode((unsigned char)title[i], text + to);
    else
      text[to++] = title[i];
  text[to] = '\0';
  return mica__titles_take(titles, name, line, mica__id_names_find(titles->items, id), text);
}

mica_status mica__titles_parse(const char *name, char *content, size_t size, mica__between between,
                               mica__titles *titles) {
  const char *mark = between == MICA__BETWEEN_BARS ? "|" : "::";
  const bool latin = mica__utf8_prefix(content, size) < size;
  size_t number = 0;
  char *begin = content + (size >= 3 && !memcmp(content, "\xef\xbb\xbf", 3) ? 3 : 0); /* skips a byte order mark */
  if (memchr(content, 0, size))
    return mica__fail(MICA_E_FORMAT, "%s holds a zero byte; if it is a text in UTF-16, save it as UTF-8", name);
  for (char *line = begin, *end; *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = '\0';
    line[strcspn(line, "\r")] = '\0';
    number++;
    char *title = strstr(line, mark);
    if (!title && !*line) continue;
    if (!title)
      return mica__fail(MICA_E_FORMAT, "%s line %zu has no title: there is no \"%s\" in it", name, number, mark);
    *title = '\0';
    title += strlen(mark);
    const char *behind = strstr(title, mark);
    size_t bytes = behind ? (size_t)(behind - title) : strlen(title);
    while (bytes && title[bytes - 1] == ' ') bytes--;
    MICA_TRY(take_line(titles, name, number, line, title, bytes, latin));
  }
  return MICA_OK;
}

mica_status mica__titles_read_lines(const char *path, mica__between between, mica__titles *titles) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = mica__titles_parse(path, (char *)content, size, between, titles);
  free(content);
  return status;
}
