/* Samples without labels: rows of a table that names them, or lines of a text. */
#include "data/table/listed.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/source.h"
#include "data/table/table.h"

#include <stdlib.h>
#include <string.h>

/* --- tables --- */

/* The samples of a table, one per row. texts[c] holds the texts of column columns[c], end to end; the text of sample i
 * ends at ends[c][i + 1]. */
typedef struct listed {
  const char *const *columns;
  size_t column_count, at[2]; /* at: the positions of the columns in the table */
  mica__text texts[2];
  int64_t *ends[2];
  uint64_t count, room;
} listed;

static void free_listed(listed *l) {
  for (int c = 0; c < 2; c++) {
    mica__text_free(&l->texts[c]);
    free(l->ends[c]);
  }
}

static mica_status make_more_room(listed *l) {
  l->room = 2 * l->room + 256;
  for (int c = 0; c < 2; c++) {
    int64_t *ends = realloc(l->ends[c], (size_t)(l->room + 1) * sizeof *ends);
    if (!ends) return mica__fail_nomem("samples");
    l->ends[c] = ends;
    ends[0] = 0;
  }
  return MICA_OK;
}

static mica_status add_listed(listed *l, const mica__records *r, size_t width) {
  if (r->count != width)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the first row has %zu", r->name, r->line,
                      r->count, width);
  if (l->count == l->room) MICA_TRY(make_more_room(l));
  for (size_t c = 0; c < l->column_count; c++) {
    const mica__cell cell = r->cells[l->at[c]];
    char *text = malloc(cell.length + 1);
    if (!text) return mica__fail_nomem("samples");
    mica__text_add_bytes(&l->texts[c], text, mica__cell_unquote(cell, text));
    free(text);
    MICA_TRY(mica__text_status(&l->texts[c]));
    l->ends[c][l->count + 1] = (int64_t)l->texts[c].length;
  }
  l->count++;
  return MICA_OK;
}

/* Reads the table if it has the columns that name samples, and lacks at least one of `answers`, the columns of labels.
 * Sets *found to whether that is so. */
static mica_status list_table(mica__records *r, const char *const *answers, size_t answer_count, listed *l,
                              bool *found) {
  bool more = false, answered = true;
  size_t there[2] = {0}, width;
  *found = false;
  MICA_TRY(mica__records_find_delimiter(r));
  MICA_TRY(mica__records_next(r, &more));
  if (!more) return MICA_OK;
  width = r->count;
  for (size_t k = 0; k < answer_count; k++) {
    bool here = false;
    for (size_t i = 0; i < width; i++) here = here || mica__cell_is(r->cells[i], answers[k], true);
    answered = answered && here;
  }
  for (size_t c = 0; c < l->column_count; c++)
    for (size_t i = width; i-- > 0;)
      if (mica__cell_is(r->cells[i], l->columns[c], true)) l->at[c] = i, there[c] = 1;
  *found = !answered && there[0] && (l->column_count == 1 || there[1]);
  MICA_TRY(mica__records_next(r, &more));
  while (*found && more) {
    MICA_TRY(add_listed(l, r, width));
    MICA_TRY(mica__records_next(r, &more));
  }
  return *found && !l->count ? mica__fail(MICA_E_FORMAT, "%s has no row after the names of columns", r->name) : MICA_OK;
}

static mica_column_data column_of(const char *name, const char *texts, const int64_t *ends) {
  return (mica_column_data){
      .column = {name, MICA_COLUMN_KIND_TEXT, MICA_U8, {1, {MICA_DYNAMIC}}, 0}, .data = texts, .offsets = ends};
}

/* Passes an array to the dataset, unless `status` is a failure. If that fails, the dataset is destroyed. */
static mica_status own(mica_dataset **data, void **array, mica_status status) {
  if (status != MICA_OK) return status;
  void *given = *array;
  *array = NULL;
  status = mica__store_own((*data)->store, given, free);
  if (status != MICA_OK) mica_dataset_destroy(*data), *data = NULL;
  return status;
}

mica_status mica__listed_open(const char *path, const char *const *columns, size_t count, const char *const *answers,
                              size_t answer_count, mica_dataset **data) {
  listed l = {.columns = columns, .column_count = count};
  uint8_t *content = NULL;
  size_t size = 0;
  bool found = false;
  *data = NULL;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica__records r = mica__records_in(path, (char *)content, size);
  mica_status status = list_table(&r, answers, answer_count, &l, &found);
  mica__records_free(&r);
  free(content);
  mica_column_data texts[2];
  for (size_t c = 0; c < count; c++) texts[c] = column_of(columns[c], l.texts[c].data, l.ends[c]);
  if (status == MICA_OK && found) {
    status = mica_dataset_create(path, l.count, texts, count, data);
    for (size_t c = 0; c < count; c++) {
      status = own(data, (void **)&l.texts[c].data, status);
      status = own(data, (void **)&l.ends[c], status);
    }
  }
  free_listed(&l);
  return status;
}

/* --- lines --- */

mica_status mica__listed_lines(const char *name, const char *text, const char *column, mica_dataset **data) {
  const size_t bytes = strlen(text);
  int64_t *ends = calloc(bytes + 2, sizeof *ends);
  char *joined = malloc(bytes + 1);
  uint64_t count = 0;
  *data = NULL;
  mica_status status = ends && joined ? MICA_OK : mica__fail_nomem("samples");
  for (size_t at = 0; status == MICA_OK && at < bytes;) {
    const size_t length = strcspn(text + at, "\r\n");
    if (length) memcpy(joined + ends[count], text + at, length);
    if (length) ends[count + 1] = ends[count] + (int64_t)length, count++;
    at += length + 1;
  }
  if (status == MICA_OK && !count) status = mica__fail(MICA_E_FORMAT, "%s is empty, or has only empty lines", name);
  const mica_column_data texts = column_of(column, joined, ends);
  if (status == MICA_OK) status = mica_dataset_create(name, count, &texts, 1, data);
  status = own(data, (void **)&joined, status);
  status = own(data, (void **)&ends, status);
  free(ends);
  free(joined);
  return status;
}
