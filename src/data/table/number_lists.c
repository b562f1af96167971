/* Lists of numbers in the cells of a table. */
#include "data/table/number_lists.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "data/text/texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many cells decide whether a column holds lists. */
#define LOOKED_AT 16
#define BETWEEN " ;\t"

void mica__number_lists_free(mica__number_lists *lists) {
  free(lists->numbers);
  free(lists->offsets);
  *lists = (mica__number_lists){0};
}

/* Reads the number at the beginning of a text, as in a cell of a table, and moves past it. False if it is not a finite
 * decimal number (0x1F and inf are refused). */
static bool next_number(const char **text, double *number) {
  *text += strspn(*text, BETWEEN);
  const mica__cell cell = {.text = *text, .length = strcspn(*text, BETWEEN)};
  *text += cell.length;
  return mica__cell_number(cell, number);
}

static bool is_over(const char *text) { return !text[strspn(text, BETWEEN)]; }

/* How many numbers a text holds; 0 if it holds anything else. */
static size_t count_numbers(const char *text) {
  size_t count = 0;
  double number;
  while (!is_over(text)) {
    if (!next_number(&text, &number)) return 0;
    count++;
  }
  return count;
}

bool mica__number_lists_fill(const mica_dataset *data, size_t column) {
  if (mica_dataset_column(data, column)->kind != MICA_COLUMN_KIND_TEXT || data->store->columns[column].paths)
    return false;
  mica__texts texts = {.data = data, .column = column};
  const uint64_t all = mica_dataset_count(data), most = all < LOOKED_AT ? all : LOOKED_AT;
  bool holds = most > 0;
  while (holds && texts.at < most) holds = mica__texts_read(&texts) == MICA_OK && count_numbers(texts.text) > 1;
  mica__texts_free(&texts);
  return holds;
}

static mica_status add(mica__number_lists *l, double number) {
  if (l->count == l->capacity) {
    const size_t capacity = 2 * l->capacity + 256;
    float *grown = realloc(l->numbers, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("series");
    l->numbers = grown;
    l->capacity = capacity;
  }
  l->numbers[l->count++] = (float)number;
  return MICA_OK;
}

/* Adds the first `most` numbers of a sample's text. */
static mica_status add_list(const mica_dataset *data, const mica__texts *texts, int64_t most, mica__number_lists *l) {
  const uint64_t sample = texts->at - 1, line = mica_dataset_line(data, sample);
  const char *text = texts->text, *name = mica_dataset_column(data, texts->column)->name;
  const size_t before = l->count;
  double number;
  while (!is_over(text) && l->count - before < (size_t)most) {
    if (!next_number(&text, &number))
      return mica__fail(MICA_E_FORMAT, "%s line %llu: number %zu of the series in column \"%s\" is not a finite number",
                        mica_dataset_name(data), (unsigned long long)line, l->count - before + 1, name);
    MICA_TRY(add(l, number));
  }
  if (l->count == before)
    return mica__fail(MICA_E_FORMAT, "%s line %llu: the series in column \"%s\" is empty", mica_dataset_name(data),
                      (unsigned long long)line, name);
  l->cut += !is_over(text);
  if ((int64_t)(l->count - before) > l->longest) l->longest = (int64_t)(l->count - before);
  l->offsets[sample + 1] = (int64_t)l->count;
  return MICA_OK;
}

mica_status mica__number_lists_read(const mica_dataset *data, size_t column, int64_t most, mica__number_lists *l) {
  mica__texts texts = {.data = data, .column = column};
  const uint64_t all = mica_dataset_count(data);
  *l = (mica__number_lists){.offsets = calloc((size_t)all + 1, sizeof *l->offsets)};
  mica_status status = l->offsets ? MICA_OK : mica__fail_nomem("series");
  while (status == MICA_OK && texts.at < all) {
    status = mica__texts_read(&texts);
    if (status == MICA_OK) status = add_list(data, &texts, most, l);
  }
  mica__texts_free(&texts);
  return status;
}

void mica__number_lists_measure(const mica__number_lists *l, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < l->count; i++) sum += (double)l->numbers[i];
  *mean = l->count ? sum / (double)l->count : 0;
  for (size_t i = 0; i < l->count; i++) squares += ((double)l->numbers[i] - *mean) * ((double)l->numbers[i] - *mean);
  const double found = l->count ? sqrt(squares / (double)l->count) : 0;
  *deviation = found > 0 ? found : 1;
}

mica_status mica__number_lists_derive(const mica_dataset *data, const char *name, mica__number_lists *l,
                                      mica_dataset **out) {
  const mica_column_data column = {
      .column = {.name = name, .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = {1, {MICA_DYNAMIC}}},
      .data = l->numbers,
      .offsets = l->offsets};
  mica_dataset *made = NULL;
  MICA_TRY(mica_dataset_derive(data, &column, 1, &made));
  void *const memory[] = {l->numbers, l->offsets};
  *l = (mica__number_lists){0};
  mica_status status = mica__store_own(made->store, memory[0], free);
  if (status == MICA_OK)
    status = mica__store_own(made->store, memory[1], free);
  else
    free(memory[1]);
  if (status == MICA_OK)
    *out = made;
  else
    mica_dataset_destroy(made);
  return status;
}
