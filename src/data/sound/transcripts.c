/* Lists of recordings and their texts, and datasets made of these lists. */
#include "data/sound/transcripts.h"
#include "base/file.h"
#include "base/name_table.h"
#include "base/utf8.h"
#include "data/sound/sound.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_COLUMNS 64

void mica__speech_list_free(mica__speech_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->files[i]);
    free(list->texts[i]);
  }
  free(list->files);
  free(list->texts);
  free(list->lines);
  *list = (mica__speech_list){0};
}

/* --- lines --- */

typedef struct cell {
  const char *at;
  size_t size;
} cell;

/* The columns of file and text in a line. */
typedef struct layout {
  size_t file, text;
} layout;

static size_t cells_of(const char *line, size_t size, cell *cells) {
  size_t count = 0;
  for (const char *at = line, *end = line + size; count < MOST_COLUMNS;) {
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    cells[count++] = (cell){at, (size_t)((tab ? tab : end) - at)};
    if (!tab) break;
    at = tab + 1;
  }
  return count;
}

static bool is_one_of(cell c, const char *const *names) {
  for (; *names; names++)
    if (strlen(*names) == c.size && !strncasecmp(c.at, *names, c.size)) return true;
  return false;
}

/* True if the first line names columns for file and text. */
static bool read_header(const cell *cells, size_t count, layout *found) {
  static const char *const files[] = {"file", "path", "audio", "sound", "recording", "clip", "wav", NULL};
  static const char *const texts[] = {"text", "sentence", "transcript", NULL};
  bool file = false, text = false;
  for (size_t i = count; i-- > 0;) {
    if (is_one_of(cells[i], files)) file = true, found->file = i;
    if (is_one_of(cells[i], texts)) text = true, found->text = i;
  }
  return file && text;
}

static bool grow(mica__speech_list *list) {
  const size_t room = list->room ? 2 * list->room : 64;
  char **files = realloc(list->files, room * sizeof *files);
  if (files) list->files = files;
  char **texts = files ? realloc(list->texts, room * sizeof *texts) : NULL;
  if (texts) list->texts = texts;
  int32_t *lines = texts ? realloc(list->lines, room * sizeof *lines) : NULL;
  if (!lines) return false;
  list->lines = lines;
  list->room = room;
  return true;
}

static mica_status add_line(const char *name, const char *folder, int32_t line, cell file, cell text,
                            mica__speech_list *list) {
  mica__text path = {0};
  if (list->count == list->room && !grow(list)) return mica__fail_nomem(name);
  for (size_t at = 0, bytes = 0; at < text.size; at += bytes)
    if ((bytes = mica__utf8_first(text.at + at, text.size - at)) == 0)
      return mica__fail(MICA_E_FORMAT, "%s:%d: the text is not UTF-8 at byte %zu", name, (int)line, at + 1);
  if (!file.size) return mica__fail(MICA_E_FORMAT, "%s:%d: the name of the recording is empty", name, (int)line);
  if (memchr(file.at, 0, file.size) || memchr(text.at, 0, text.size))
    return mica__fail(MICA_E_FORMAT, "%s:%d: the line holds a zero byte", name, (int)line);
  if (*file.at != '/' && *folder) mica__text_addf(&path, "%s/", folder);
  mica__text_add_bytes(&path, file.at, file.size);
  char *copy = calloc(1, text.size + 1);
  if (!copy || mica__text_status(&path) != MICA_OK) {
    free(copy);
    mica__text_free(&path);
    return mica__fail_nomem(name);
  }
  memcpy(copy, text.at, text.size);
  list->files[list->count] = path.data;
  list->texts[list->count] = copy;
  list->lines[list->count++] = line;
  return MICA_OK;
}

/* Checks that no recording has two different texts, because both would be learned; otherwise MICA_E_FORMAT. Counts
 * recordings that are listed again with the same text. */
static mica_status check_files(const char *name, mica__speech_list *list) {
  mica__name_table files = {0};
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < list->count; i++) {
    const int32_t first = mica__name_table_find(&files, list->files[i]);
    if (first < 0)
      status = mica__name_table_add(&files, list->files[i], (int32_t)i);
    else if (!strcmp(list->texts[first], list->texts[i]))
      list->again++;
    else
      status = mica__fail(MICA_E_FORMAT, "%s:%d: the recording %s is already in line %d, with a different text", name,
                          (int)list->lines[i], list->files[i], (int)list->lines[first]);
  }
  mica__name_table_free(&files);
  return status;
}

mica_status mica__speech_list_read(const char *name, const char *folder, const char *content, size_t size,
                                   mica__speech_list *list) {
  layout where = {0, 1};
  int32_t line = 0;
  size_t columns = 0;
  const size_t mark = size >= 3 && !memcmp(content, "\xef\xbb\xbf", 3) ? 3 : 0;
  content += mark;
  size -= mark;
  for (const char *at = content, *end = content + size, *next; at < end && line < INT32_MAX; at = next) {
    cell cells[MOST_COLUMNS];
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    next = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > at && stop[-1] == '\r') stop--;
    line++;
    if (stop == at) continue;
    const size_t count = cells_of(at, (size_t)(stop - at), cells);
    if (!columns) columns = count;
    if (line == 1 && read_header(cells, count, &where)) continue;
    if (count <= where.file || count <= where.text)
      return mica__fail(MICA_E_FORMAT,
                        "%s:%d: the line lacks the file of a recording or its text; a tab separates the two", name,
                        (int)line);
    if (count != columns)
      return mica__fail(
          MICA_E_FORMAT,
          "%s:%d: the line has %zu columns, but the first line that is not empty has %zu; texts cannot contain tabs",
          name, (int)line, count, columns);
    MICA_TRY(add_line(name, folder, line, cells[where.file], cells[where.text], list));
  }
  return list->count ? check_files(name, list) : mica__fail(MICA_E_FORMAT, "%s names no recordings", name);
}

/* --- the dataset --- */

typedef struct listing {
  mica__speech_list list;
  char *name;
  int64_t *lengths, *offsets; /* lengths: samples per recording; offsets: of the texts in `bytes` */
  char *bytes;
  int32_t rate;
} listing;

static void release(void *object) {
  listing *l = object;
  mica__speech_list_free(&l->list);
  free(l->name);
  free(l->lengths);
  free(l->offsets);
  free(l->bytes);
  free(l);
}

/* Puts the line number before this thread's message. */
static mica_status at_line(const listing *l, uint64_t i, mica_status status) {
  if (status == MICA_OK) return status;
  return mica__fail(status, "%s:%d: %s", l->name, (int)l->list.lines[i], mica_error_message());
}

static mica_status read_sound(void *user, uint64_t i, void *data, size_t bytes) {
  const listing *l = user;
  (void)bytes;
  return at_line(l, i, mica__sound_read(l->list.files[i], l->rate, data, l->lengths[i]));
}

static mica_status length_of(void *user, uint64_t i, int64_t *length) {
  *length = ((const listing *)user)->lengths[i];
  return MICA_OK;
}

/* Opens each file; the first one decides the rate unless that is known. */
static mica_status examine(listing *l) {
  const size_t count = l->list.count;
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += strlen(l->list.texts[i]);
  l->lengths = calloc(count, sizeof *l->lengths);
  l->offsets = calloc(count + 1, sizeof *l->offsets);
  l->bytes = calloc(bytes + 1, 1);
  if (!l->lengths || !l->offsets || !l->bytes) return mica__fail_nomem(l->name);
  for (size_t i = 0; i < count; i++) {
    mica__sound sound = {0};
    const size_t size = strlen(l->list.texts[i]);
    MICA_TRY(at_line(l, i, mica__sound_examine(l->list.files[i], l->rate, &sound)));
    if (!l->rate) l->rate = sound.rate;
    l->lengths[i] = sound.length;
    memcpy(l->bytes + l->offsets[i], l->list.texts[i], size);
    l->offsets[i + 1] = l->offsets[i] + (int64_t)size;
  }
  return MICA_OK;
}

static mica_status read_list(listing *l, const char *path) {
  unsigned char *content = NULL;
  size_t size = 0;
  mica__text folder = {0};
  const char *slash = strrchr(path, '/');
  if (!(l->name = mica__strdup(path))) return mica__fail_nomem(path);
  MICA_TRY(mica__file_read(path, &content, &size));
  mica__text_add_bytes(&folder, path, slash ? (size_t)(slash - path) : 0);
  mica_status status = mica__text_status(&folder);
  if (status == MICA_OK)
    status = mica__speech_list_read(path, slash && slash == path ? "/." : folder.data, (const char *)content, size,
                                    &l->list);
  mica__text_free(&folder);
  free(content);
  return status == MICA_OK ? examine(l) : status;
}

mica_status mica__speech_list_open(const char *path, int32_t rate, mica_dataset **data) {
  const mica_shape open = {1, {MICA_DYNAMIC}};
  listing *l = calloc(1, sizeof *l);
  mica_dataset *made = NULL;
  if (!l) return mica__fail_nomem(path);
  l->rate = rate;
  mica_status status = read_list(l, path);
  const mica_column_data columns[] = {
      {.column = {"sound", MICA_COLUMN_KIND_SOUND, MICA_F32, open, 0},
       .user = l,
       .read = read_sound,
       .length = length_of},
      {.column = {"text", MICA_COLUMN_KIND_TEXT, MICA_U8, open, 0}, .data = l->bytes, .offsets = l->offsets},
      {.column = {"line", MICA_COLUMN_KIND_ID, MICA_I32, MICA_SCALAR, 0}, .data = l->list.lines}};
  if (status == MICA_OK) status = mica_dataset_create(path, l->list.count, columns, 3, &made);
  if (status != MICA_OK) {
    release(l);
    return status;
  }
  made->store->rate = l->rate;
  made->store->columns[0].files = (const char *const *)l->list.files;
  if (l->list.again) {
    mica__text summary = {0};
    mica__text_addf(&summary, "%zu recordings, of which %zu come again", l->list.count, l->list.again);
    made->store->summary = summary.data;
  }
  status = mica__store_own(made->store, l, release);
  if (status == MICA_OK)
    *data = made;
  else
    mica_dataset_destroy(made);
  return status;
}
