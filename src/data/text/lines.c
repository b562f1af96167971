/* The format of plain texts: each line is a sample, without its end (LF or CR LF); empty lines are samples too. One
 * file is the column "text"; files in one folder that differ only in their ending (train.en, train.de) are columns of
 * these names, line by line. */
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many bytes are read at once to find lines. */
#define WINDOW ((size_t)1 << 20)

/* --- names --- */

/* The two letters of a language at the end of a name, such as "en" in train.en or train.en.gz; NULL: there are none, or
 * they are "md". */
static const char *language_of(const char *name) {
  size_t n = strlen(name);
  if (n > 3 && !strcmp(name + n - 3, ".gz")) n -= 3;
  const bool letters = n > 3 && name[n - 3] == '.' && name[n - 2] >= 'a' && name[n - 2] <= 'z' && name[n - 1] >= 'a' &&
                       name[n - 1] <= 'z' && strncmp(name + n - 2, "md", 2) && strncmp(name + n - 2, "gz", 2);
  return letters ? name + n - 2 : NULL;
}

static bool is_part(mica_part part, const char *name, const char *rest) {
  (void)part;
  return rest && (mica__name_ends(rest, ".txt") || language_of(name));
}

static bool is_file(const char *path, const uint8_t *begin, size_t size) {
  (void)begin, (void)size;
  return mica__name_ends(path, ".txt") || language_of(path);
}

/* --- texts in memory --- */

/* Removes the line ends within the content. *offsets receives the position at which each line begins, and as its last
 * element the position at which the last line ends. */
static mica_status split_lines(const char *name, char *content, size_t size, int64_t **offsets, uint64_t *count) {
  size_t lines = 0, at = 0, to = 0;
  for (size_t i = 0; i < size; i++) lines += content[i] == '\n';
  lines += size > 0 && content[size - 1] != '\n';
  int64_t *begins = malloc((lines + 1) * sizeof *begins);
  if (!begins) return mica__fail_nomem(name);
  begins[0] = 0;
  for (size_t k = 0; k < lines; k++) {
    const char *end = memchr(content + at, '\n', size - at);
    const size_t stop = end ? (size_t)(end - content) : size;
    const size_t length = stop - at - (end && stop > at && content[stop - 1] == '\r');
    memmove(content + to, content + at, length);
    to += length;
    at = stop + 1;
    begins[k + 1] = (int64_t)to;
  }
  *offsets = begins;
  *count = lines;
  return MICA_OK;
}

static mica_status add_column(mica__store *store, const char *name, mica__column **column) {
  return mica__store_add(
      store,
      &(mica_column){.name = name, .kind = MICA_COLUMN_KIND_TEXT, .dtype = MICA_U8, .shape = {1, {MICA_DYNAMIC}}},
      column);
}

/* All columns must have the same number of lines. */
static mica_status set_count(mica__store *store, const char *path, uint64_t count) {
  if (store->column_count > 1 && store->count != count)
    return mica__fail(MICA_E_FORMAT, "%s has %" PRIu64 " lines, but the text in the other language has %" PRIu64, path,
                      count, store->count);
  return mica__store_set_count(store, count);
}

mica_status mica__text_parse(const char *path, const char *name, uint8_t *content, size_t size, mica__store *store) {
  int64_t *offsets = NULL;
  uint64_t count = 0;
  mica__column *column = NULL;
  MICA_TRY(mica__store_own(store, content, free));
  MICA_TRY(split_lines(path, (char *)content, size, &offsets, &count));
  MICA_TRY(mica__store_own(store, offsets, free));
  MICA_TRY(add_column(store, name, &column));
  column->data = content;
  column->offsets = offsets;
  return set_count(store, path, count);
}

/* --- texts that stay in their file --- */

typedef struct text_file {
  int file;
  const char *name; /* the name of the store */
  uint64_t *begins, *ends;
} text_file;

static void release_file(void *object) {
  text_file *text = object;
  close(text->file);
  free(text->begins);
  free(text->ends);
  free(text);
}

static mica_status read_line(void *user, uint64_t sample, void *data, size_t bytes) {
  const text_file *text = user;
  return mica__file_read_at(text->name, text->file, text->begins[sample], data, bytes);
}

static mica_status line_length(void *user, uint64_t sample, int64_t *length) {
  const text_file *text = user;
  *length = (int64_t)(text->ends[sample] - text->begins[sample]);
  return MICA_OK;
}

/* Adds the line of the bytes from `begin` up to, but not including, `end`: the position of an LF, of a CR LF, or of the
 * end of the file. */
static mica_status add_line(text_file *text, size_t *count, size_t *room, uint64_t begin, uint64_t end) {
  if (*count == *room) {
    *room = *room ? 2 * *room : 4096;
    uint64_t *begins = realloc(text->begins, *room * sizeof *begins);
    if (begins) text->begins = begins;
    uint64_t *ends = begins ? realloc(text->ends, *room * sizeof *ends) : NULL;
    if (!ends) return mica__fail_nomem(text->name);
    text->ends = ends;
  }
  text->begins[*count] = begin;
  text->ends[(*count)++] = end;
  return MICA_OK;
}

static mica_status index_lines(text_file *text, char *window, size_t *count) {
  size_t room = 0;
  uint64_t begin = 0, at = 0;
  char last = 0;
  for (;;) {
    const ssize_t got = pread(text->file, window, WINDOW, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return mica__fail(MICA_E_IO, "cannot read %s: %s", text->name, strerror(errno));
    if (got == 0) break;
    for (size_t i = 0; i < (size_t)got;) {
      const char *end = memchr(window + i, '\n', (size_t)got - i);
      if (!end) break;
      const size_t stop = (size_t)(end - window);
      const char before = stop > 0 ? window[stop - 1] : last;
      const uint64_t line_end = at + stop;
      MICA_TRY(add_line(text, count, &room, begin, line_end - (line_end > begin && before == '\r')));
      begin = line_end + 1;
      i = stop + 1;
    }
    last = window[got - 1];
    at += (uint64_t)got;
  }
  return begin < at ? add_line(text, count, &room, begin, at) : MICA_OK;
}

static mica_status open_file(const char *path, const char *name, mica__store *store) {
  text_file *text = calloc(1, sizeof *text);
  size_t count = 0;
  mica__column *column = NULL;
  if (!text) return mica__fail_nomem(path);
  text->name = store->name;
  text->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (text->file < 0) {
    const mica_status status = mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
    free(text);
    return status;
  }
  MICA_TRY(mica__store_own(store, text, release_file));
  char *window = malloc(WINDOW);
  if (!window) return mica__fail_nomem(path);
  const mica_status status = index_lines(text, window, &count);
  free(window);
  MICA_TRY(status);
  MICA_TRY(add_column(store, name, &column));
  column->user = text;
  column->read = read_line;
  column->length = line_length;
  return set_count(store, path, count);
}

/* --- both --- */

static mica_status open_one(const char *path, const char *name, const mica_dataset_config *config, mica__store *store) {
  uint8_t *content = NULL;
  size_t size = 0;
  if (mica__stays_in_file(path, config)) return open_file(path, name, store);
  MICA_TRY(mica__content_read(path, &content, &size));
  return mica__text_parse(path, name, content, size, store);
}

static mica_status open_texts(const char *const *paths, size_t count, const mica_dataset_config *config,
                              mica__store *store) {
  if (count == 1) return open_one(paths[0], "text", config, store);
  for (size_t i = 0; i < count; i++) {
    const char *language = language_of(paths[i]);
    if (!language)
      return mica__fail(
          MICA_E_FORMAT,
          "there are both %s and %s, but a text must be one file, or one file per language, such as train.en and "
          "train.de",
          paths[i], paths[!i]);
    MICA_TRY(open_one(paths[i], (const char[]){language[0], language[1], '\0'}, config, store));
  }
  return MICA_OK;
}

const mica__source mica__source_text = {.is_part = is_part, .is_file = is_file, .many = true, .open = open_texts};
