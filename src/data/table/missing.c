/* Missing cells of tables, the values that replace them, and columns that are ignored. */
#include "data/table/table.h"
#include "ops/random/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How many samples of a file are read to measure, and about how many numbers are kept at a time. */
#define MEASURED_SAMPLES 10000
#define MEASURED_NUMBERS (1 << 22)

const char *mica_missing_name(mica_missing missing) {
#define MISSING_CASE(name, text)                                                                                       \
  case MICA_MISSING_##name: return text;
  switch (missing) { MICA_MISSING_LIST(MISSING_CASE) }
#undef MISSING_CASE
  return "?";
}

/* --- samples without a label --- */

bool mica__field_lacks(const mica__field *field, mica__cell cell) {
  if (field->kind == MICA_COLUMN_KIND_CLASS && field->has_words) return mica__cell_is_empty(cell);
  return mica__cell_is_missing(cell);
}

bool mica__schema_lacks(const mica__schema *schema, const mica__records *r) {
  const size_t first = schema->label, end = schema->answers ? schema->count : first + 1;
  bool lacks = false;
  for (size_t i = first; first < schema->count && i < end && !lacks; i++) {
    const mica__field *field = &schema->fields[i];
    lacks = field->label && field->at < r->count && mica__field_lacks(field, r->cells[field->at]);
  }
  return lacks;
}

mica_status mica__schema_next(const mica__schema *schema, mica__records *r, bool *found) {
  do MICA_TRY(mica__records_next(r, found));
  while (*found && schema->leaves_out && mica__schema_lacks(schema, r));
  return MICA_OK;
}

/* --- names --- */

bool mica__list_has(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at && *at; at += strspn(at, ",")) {
    const size_t n = strcspn(at, ",");
    if (n == length && !strncmp(at, name, n)) return true;
    at += n;
  }
  return false;
}

bool mica__is_index_name(const char *name) {
  static const char *const names[] = {"rownames", "row_names", "row.names", "rowname", "index", "idx", "rownumber"};
  const size_t length = strlen(name);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcasecmp(name, names[i])) return true;
  /* Matches "id", "user_id", "user.id", "userId" and "userID", but not "acid" and "COVID". */
  const char *end = length > 2 ? name + length - 2 : "";
  const char before = length > 2 ? name[length - 3] : '_';
  const bool parted = length > 2 && strchr("_.- ", before), capital = before >= 'A' && before <= 'Z';
  return !strncasecmp(name, "unnamed: ", 9) || !strcasecmp(name, "id") || (parted && !strcasecmp(end, "id")) ||
         (!capital && (!strcmp(end, "Id") || !strcmp(end, "ID")));
}

/* --- values that replace missing numbers --- */

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The mean, median or most frequent value of finite numbers, as `how` says; 0 if there are none. May sort them. */
static double statistic(float *numbers, size_t count, mica_missing how) {
  double sum = 0;
  size_t best = 0, most = 0;
  for (size_t i = 0; i < count; i++) sum += (double)numbers[i];
  if (!count || how == MICA_MISSING_MEAN) return count ? sum / (double)count : 0;
  qsort(numbers, count, sizeof *numbers, by_value);
  if (how == MICA_MISSING_MEDIAN) return ((double)numbers[(count - 1) / 2] + (double)numbers[count / 2]) / 2;
  for (size_t i = 0, begin = 0; i < count; i++) {
    if (numbers[i] != numbers[begin]) begin = i;
    if (i - begin + 1 > most) most = i - begin + 1, best = i;
  }
  return (double)numbers[best];
}

/* A block of `count` columns, beginning with column `from`. numbers[k * samples + i] is the number of sample i in the
 * block's column k. */
typedef struct block {
  const mica_dataset *dataset;
  const mica__column *x;
  mica__permutation order;
  size_t samples, from, count;
  float *numbers, *row;
} block;

static mica_status read_block(const block *b) {
  const size_t width = (size_t)b->x->about.shape.dim[0], bytes = width * sizeof *b->row;
  for (size_t i = 0; i < b->samples; i++) {
    const uint64_t sample = b->x->data ? i : mica__permute(&b->order, (uint32_t)i);
    const uint64_t at = mica__dataset_index(b->dataset, sample);
    if (b->x->data)
      memcpy(b->row, b->x->data + at * b->x->stride, bytes);
    else
      MICA_TRY(b->x->read(b->x->user, at, b->row, bytes));
    for (size_t k = 0; k < b->count; k++) b->numbers[k * b->samples + i] = b->row[b->from + k];
  }
  return MICA_OK;
}

static void measure_block(const block *b, const mica__schema *schema, mica_missing how, double *fills) {
  for (size_t k = 0; k < b->count; k++) {
    float *numbers = b->numbers + k * b->samples;
    size_t count = 0;
    for (size_t i = 0; i < b->samples; i++)
      if (isfinite(numbers[i])) numbers[count++] = numbers[i];
    fills[b->from + k] = statistic(numbers, count, how);
  }
  for (size_t i = 0; i < schema->count; i++) {
    const int32_t slot = schema->fields[i].slot;
    if (slot >= 0 && (size_t)slot >= b->from && (size_t)slot < b->from + b->count)
      fills[slot] += schema->fields[i].base;
  }
}

mica_status mica__fills_measure(const mica_dataset *dataset, mica_missing how, double *fills) {
  const mica__column *x = mica__store_find(dataset->store, "x");
  block b = {.dataset = dataset, .x = x, .samples = (size_t)dataset->count};
  if (!x || !dataset->store->schema || !b.samples) return MICA_OK;
  const size_t width = (size_t)x->about.shape.dim[0];
  if (!x->data && b.samples > MEASURED_SAMPLES) b.samples = MEASURED_SAMPLES;
  b.order = mica__permutation_of((uint32_t)dataset->count, 0, MICA__PERMUTATION_SPLIT);
  size_t most = MEASURED_NUMBERS / b.samples + 1;
  if (most > width) most = width;
  b.numbers = malloc(most * b.samples * sizeof *b.numbers);
  b.row = malloc(width * sizeof *b.row);
  mica_status status = b.numbers && b.row ? MICA_OK : mica__fail_nomem(dataset->store->name);
  for (; status == MICA_OK && b.from < width; b.from += b.count) {
    b.count = width - b.from < most ? width - b.from : most;
    status = read_block(&b);
    if (status == MICA_OK) measure_block(&b, dataset->store->schema, how, fills);
  }
  free(b.numbers);
  free(b.row);
  return status;
}

/* Finds the index of a name, which is nearly always `slot`; `count` if it is missing. */
static size_t find_name(const char *const *names, size_t count, const char *name, size_t slot) {
  if (slot < count && !strcmp(names[slot], name)) return slot;
  size_t k = 0;
  while (k < count && strcmp(names[k], name) != 0) k++;
  return k;
}

void mica__fills_put(mica_dataset *dataset, const char *const *names, const double *fills, size_t count) {
  mica__schema *schema = (mica__schema *)(uintptr_t)dataset->store->schema;
  const mica__column *x = mica__store_find(dataset->store, "x");
  if (!schema || !x) return;
  for (size_t i = 0; i < schema->count; i++) {
    mica__field *field = &schema->fields[i];
    const size_t k = field->slot >= 0 ? find_name(names, count, field->name, (size_t)field->slot) : count;
    if (k == count) continue;
    field->fill = fills[k];
    field->fills = true;
    if (!x->data || !field->missing) continue;
    const float value = (float)(field->fill - field->base);
    for (uint64_t sample = 0; sample < dataset->store->count; sample++) {
      float *number = (float *)(uintptr_t)(x->data + sample * x->stride) + field->slot;
      if (isnan(*number)) *number = value;
    }
  }
}

/* --- sentences --- */

#define NAMED_COLUMNS 20

void mica__missing_text(const mica_dataset *dataset, mica__skips_fn *skips, const void *user, mica__text *text) {
  const mica__schema *schema = dataset->store->schema;
  size_t columns = 0;
  for (size_t i = 0; schema && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    const bool class = field->kind == MICA_COLUMN_KIND_CLASS;
    if (field->unread || field->label || field->at == SIZE_MAX || !field->missing) continue;
    if ((field->slot < 0 && !class) || (skips && skips(user, field->name))) continue;
    if (++columns > NAMED_COLUMNS) continue;
    mica__text_addf(text, "%s%zu of '%s' ", text->length ? ", " : "", field->missing, field->name);
    if (class)
      mica__text_add(text, "are a class of their own");
    else
      mica__text_addf(text, "become %.6g", field->fill);
  }
  if (columns > NAMED_COLUMNS) mica__text_addf(text, " and some of %zu other columns", columns - NAMED_COLUMNS);
}
