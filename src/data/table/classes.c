/* Class numbers for the texts of a column. */
#include "base/number.h"
#include "base/text.h"
#include "data/table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mica__dictionary_free(mica__dictionary *d) {
  for (int32_t i = 0; i < d->count; i++) free(d->names[i]);
  free(d->names);
  mica__name_table_free(&d->table);
}

mica_status mica__dictionary_add(mica__dictionary *d, const char *name) {
  if (mica__name_table_find(&d->table, name) >= 0) return MICA_OK;
  if (d->count == d->capacity) {
    const int32_t capacity = d->capacity ? d->capacity * 2 : 16;
    char **grown = realloc(d->names, (size_t)capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("names of classes");
    d->names = grown;
    d->capacity = capacity;
  }
  char *copy = mica__strdup(name);
  if (!copy) return mica__fail_nomem("names of classes");
  d->names[d->count] = copy;
  return mica__name_table_add(&d->table, copy, d->count++);
}

/* Orders whole numbers by value, followed by texts by their bytes. */
static int by_name(const void *a, const void *b) {
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  char *end_x = NULL, *end_y = NULL;
  const long long i = strtoll(x, &end_x, 10), k = strtoll(y, &end_y, 10);
  const bool number_x = *x && !*end_x, number_y = *y && !*end_y;
  if (number_x != number_y) return number_x ? -1 : 1;
  if (number_x && i != k) return i < k ? -1 : 1;
  return strcmp(x, y);
}

mica_status mica__dictionary_sort(mica__dictionary *d) {
  mica__name_table_free(&d->table);
  d->table = (mica__name_table){0};
  if (d->count > 1) qsort(d->names, (size_t)d->count, sizeof *d->names, by_name);
  for (int32_t i = 0; i < d->count; i++) MICA_TRY(mica__name_table_add(&d->table, d->names[i], i));
  return MICA_OK;
}

/* --- names --- */

/* The canonical form of a whole number; false for other cells. */
static bool number_name(mica__cell cell, char *name, size_t capacity) {
  double value = 0;
  if (!mica__cell_number(cell, &value) || value != floor(value) || fabs(value) >= 1e15) return false;
  mica__snprintf(name, capacity, "%.0f", value == 0 ? 0 : value);
  return true;
}

bool mica__cell_is_code(mica__cell cell) {
  double value = 0;
  if (!mica__cell_is_numeric(cell, &value)) return false;
  const size_t sign = cell.length > 0 && (*cell.text == '-' || *cell.text == '+');
  const bool zero = cell.length > sign + 1 && cell.text[sign] == '0' && cell.text[sign + 1] != '.';
  return zero || memchr(cell.text, 'e', cell.length) || memchr(cell.text, 'E', cell.length);
}

bool mica__classes_are_texts(const char *const *names, size_t count) {
  bool texts = false;
  for (size_t i = 0; i < count && !texts; i++)
    texts = mica__cell_is_code((mica__cell){.text = names[i], .length = strlen(names[i])});
  return texts;
}

mica_status mica__class_name(mica__cell cell, bool text, char **name, size_t *capacity) {
  if (cell.length + 32 > *capacity) {
    char *grown = realloc(*name, cell.length + 32);
    if (!grown) return mica__fail_nomem("a class");
    *name = grown;
    *capacity = cell.length + 32;
  }
  if (!text && number_name(cell, *name, *capacity)) return MICA_OK;
  /* Blanks around a name are removed, with or without quotes. */
  size_t begin = 0, end = mica__cell_unquote(cell, *name);
  while (end > 1 && (*name)[end - 1] == ' ') end--;
  while (begin + 1 < end && (*name)[begin] == ' ') begin++;
  (*name)[end] = '\0';
  char *printable = mica__name_printable(*name + begin);
  if (!printable) return mica__fail_nomem("a class");
  free(*name);
  *name = printable;
  *capacity = strlen(printable) + 1;
  return MICA_OK;
}

mica_status mica__dictionary_find(const mica__dictionary *d, mica__cell cell, int32_t *index) {
  char *name = NULL;
  size_t capacity = 0;
  *index = -1;
  mica_status status = MICA_OK;
  for (int text = 1; status == MICA_OK && *index < 0 && text >= d->texts; text--) {
    status = mica__class_name(cell, text, &name, &capacity);
    if (status == MICA_OK) *index = mica__name_table_find(&d->table, name);
  }
  free(name);
  return status;
}
