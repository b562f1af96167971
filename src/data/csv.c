/* Tables as text: a sample a line, fields separated by , ; or tabs, optionally quoted, one of them the label. Empty
 * lines and lines that begin with # are skipped. */
#include "base/checked.h"
#include "base/text.h"
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 65536

/* A field inside the content, without surrounding quotes and blanks. */
typedef struct field {
  const char *text;
  size_t length;
} field;

typedef struct table {
  const char *name;
  const char *end; /* of the content, at its NUL */
  char delimiter;
  field *fields; /* of the current line */
  size_t columns, capacity;
  size_t label; /* its column */
  size_t line;
  float *values; /* columns - 1 a sample */
  field *labels;
  size_t samples, sample_capacity;
} table;

static field trimmed(const char *begin, const char *end) {
  while (begin < end && (*begin == ' ' || *begin == '\r')) begin++;
  while (end > begin && (end[-1] == ' ' || end[-1] == '\r')) end--;
  if (end - begin >= 2 && *begin == '"' && end[-1] == '"') begin++, end--;
  return (field){begin, (size_t)(end - begin)};
}

static bool field_is(field f, const char *text) { return strlen(text) == f.length && !memcmp(f.text, text, f.length); }

static bool number_of(field f, double *value) {
  char *end = NULL;
  /* strtod skips line ends before a number, so empty fields are refused here. */
  if (f.length == 0 || *f.text == '\n' || *f.text == '\t') return false;
  *value = strtod(f.text, &end);
  return end == f.text + f.length && isfinite(*value);
}

/* Splits the line at `at` into fields; returns the start of the next line, or NULL when memory is short. */
static const char *split_line(table *t, const char *at) {
  t->columns = 0;
  for (;; at++) {
    const char *begin = at;
    bool quoted = false;
    for (; at < t->end && (quoted || (*at != t->delimiter && *at != '\n')); at++) {
      if (*at == '\n') break; /* an unclosed quote ends with its line */
      quoted ^= *at == '"';
    }
    if (t->columns == t->capacity) {
      size_t capacity = t->capacity ? t->capacity * 2 : 64;
      field *grown = realloc(t->fields, capacity * sizeof *grown);
      if (!grown) return NULL;
      t->fields = grown;
      t->capacity = capacity;
    }
    t->fields[t->columns++] = trimmed(begin, at);
    if (at == t->end || *at == '\n' || t->columns == MAX_COLUMNS) break;
  }
  t->line++;
  at = at < t->end ? memchr(at, '\n', (size_t)(t->end - at)) : NULL;
  return at ? at + 1 : t->end;
}

/* Splits the next line that is not skipped and moves *at behind it; *found is false at the end. */
static mica_status next_line(table *t, const char **at, bool *found) {
  *found = false;
  while (*at < t->end && !*found) {
    bool comment = **at == '#';
    *at = split_line(t, *at);
    if (!*at) return mica__fail_nomem(t->name);
    *found = !comment && (t->columns > 1 || t->fields[0].length > 0);
  }
  return MICA_OK;
}

/* The delimiter that occurs most often in the first line that is not skipped. */
static char find_delimiter(const char *at, const char *end) {
  size_t counts[3] = {0};
  while (at < end && (*at == '#' || *at == '\n' || *at == '\r')) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline ? newline + 1 : end;
  }
  for (; at < end && *at != '\n'; at++) {
    counts[0] += *at == ',';
    counts[1] += *at == ';';
    counts[2] += *at == '\t';
  }
  if (counts[2] > counts[0] && counts[2] > counts[1]) return '\t';
  return counts[1] > counts[0] ? ';' : ',';
}

/* Finds the label's column, by the line of names if there is one. */
static mica_status find_label(table *t, bool named, const char *wanted) {
  static const char *const customary[] = {"label", "class", "target"};
  char *end = NULL;
  unsigned long number = wanted ? strtoul(wanted, &end, 10) : 0;
  t->label = t->columns - 1;
  for (size_t i = 0; named && i < t->columns; i++) {
    bool match = wanted && field_is(t->fields[i], wanted);
    for (size_t k = 0; !wanted && k < 3; k++) match = match || field_is(t->fields[i], customary[k]);
    if (match) {
      t->label = i;
      return MICA_OK;
    }
  }
  if (!wanted) return MICA_OK;
  if (!*wanted || *end || number >= t->columns)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no column \"%s\" for labels", t->name, wanted);
  t->label = number;
  return MICA_OK;
}

/* *named: the current line holds names, i.e. a text where the next line has a number. */
static mica_status is_named(table *t, const char *next, bool *named) {
  table second = {.name = t->name, .end = t->end, .delimiter = t->delimiter};
  bool found = false;
  double value;
  mica_status status = next_line(&second, &next, &found);
  *named = false;
  for (size_t i = 0; status == MICA_OK && found && i < t->columns && i < second.columns; i++)
    *named = *named || (!number_of(t->fields[i], &value) && number_of(second.fields[i], &value));
  free(second.fields);
  return status;
}

static mica_status reserve_sample(table *t) {
  if (t->samples < t->sample_capacity) return MICA_OK;
  size_t capacity = t->sample_capacity ? t->sample_capacity * 2 : 1024, bytes = 0;
  if (!mica__mul_size(capacity, t->columns * sizeof *t->values, &bytes)) return mica__fail_nomem(t->name);
  float *values = realloc(t->values, bytes);
  if (values) t->values = values;
  field *labels = values ? realloc(t->labels, capacity * sizeof *labels) : NULL;
  if (!labels) return mica__fail_nomem(t->name);
  t->labels = labels;
  t->sample_capacity = capacity;
  return MICA_OK;
}

static mica_status add_sample(table *t, size_t columns) {
  if (t->columns != columns)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, those before have %zu", t->name, t->line, t->columns,
                      columns);
  MICA_TRY(reserve_sample(t));
  float *out = t->values + t->samples * (columns - 1);
  for (size_t i = 0; i < columns; i++) {
    double value = 0;
    if (i == t->label) continue;
    if (!number_of(t->fields[i], &value))
      return mica__fail(MICA_E_FORMAT, "%s line %zu: column %zu holds \"%.*s\" instead of a number", t->name, t->line,
                        i, (int)(t->fields[i].length < 40 ? t->fields[i].length : 40), t->fields[i].text);
    *out++ = (float)value;
  }
  t->labels[t->samples++] = t->fields[t->label];
  return MICA_OK;
}

static mica_status read_table(table *t, const char *at, const mica_dataset_config *config) {
  bool found = false, named = false;
  t->delimiter = find_delimiter(at, t->end);
  MICA_TRY(next_line(t, &at, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s is empty", t->name);
  size_t columns = t->columns;
  if (columns < 2) return mica__fail(MICA_E_FORMAT, "%s is no table: line %zu has one column", t->name, t->line);
  MICA_TRY(is_named(t, at, &named));
  MICA_TRY(find_label(t, named, config->label_column));
  if (named) MICA_TRY(next_line(t, &at, &found));
  while (found) {
    MICA_TRY(add_sample(t, columns));
    MICA_TRY(next_line(t, &at, &found));
  }
  t->columns = columns;
  return MICA_OK;
}

static mica_status fail_label(const table *t, size_t i, const char *what) {
  field f = t->labels[i];
  return mica__fail(MICA_E_FORMAT, "%s: the label \"%.*s\" of sample %zu %s", t->name,
                    (int)(f.length < 40 ? f.length : 40), f.text, i, what);
}

static int by_text(const void *a, const void *b) {
  const field *x = a, *y = b;
  size_t shorter = x->length < y->length ? x->length : y->length;
  int order = shorter ? memcmp(x->text, y->text, shorter) : 0;
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* True if all labels are whole numbers that may be classes; labels then holds them. */
static bool all_numbers(const table *t, int32_t *labels) {
  for (size_t i = 0; i < t->samples; i++) {
    double value = 0;
    if (!number_of(t->labels[i], &value) || value != floor(value) || value < 0 || value >= MICA__MAX_CLASSES)
      return false;
    labels[i] = (int32_t)value;
  }
  return true;
}

/* Numbers the labels by their index in a sorted list of names. */
static mica_status look_up(const table *t, const field *names, size_t count, int32_t *labels) {
  for (size_t i = 0; i < t->samples; i++) {
    const field *found = bsearch(&t->labels[i], names, count, sizeof *names, by_text);
    if (!found) return fail_label(t, i, "is out of range: no class has this name");
    labels[i] = (int32_t)(found - names);
  }
  return MICA_OK;
}

/* Sorts the different labels into names, which *count gets the number of. */
static mica_status text_classes(const table *t, field *names, size_t *count, int32_t *labels) {
  memcpy(names, t->labels, t->samples * sizeof *names);
  qsort(names, t->samples, sizeof *names, by_text);
  for (size_t i = 0; i < t->samples; i++)
    if (i == 0 || by_text(&names[*count - 1], &names[i])) names[(*count)++] = names[i];
  if (*count >= MICA__MAX_CLASSES) return mica__fail(MICA_E_FORMAT, "%s: too many different labels", t->name);
  return look_up(t, names, *count, labels);
}

static mica_status name_classes(mica__column *column, const field *names, size_t count) {
  column->class_names = calloc(count, sizeof *column->class_names);
  if (!column->class_names) return mica__fail_nomem("names of classes");
  for (size_t i = 0; i < count; i++) {
    if (!(column->class_names[i] = malloc(names[i].length + 1))) return mica__fail_nomem("names of classes");
    memcpy(column->class_names[i], names[i].text, names[i].length);
    column->class_names[i][names[i].length] = '\0';
  }
  return MICA_OK;
}

/* Numbers the labels by the classes of the known dataset. */
static mica_status known_classes(const table *t, const mica_dataset_config *config, int32_t *labels) {
  for (size_t i = 0; i < t->samples; i++) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(t->labels[i].length < 255 ? t->labels[i].length : 255),
             t->labels[i].text);
    labels[i] = mica__config_class_of(config, name);
    if (labels[i] < 0) return fail_label(t, i, "is out of range: no class has this name");
  }
  return MICA_OK;
}

static mica_status set_labels(const table *t, const mica_dataset_config *config, mica__store *store) {
  int32_t *labels = malloc(t->samples * sizeof *labels);
  field *names = malloc(t->samples * sizeof *names);
  size_t count = 0;
  mica_status status = labels && names ? MICA_OK : mica__fail_nomem("labels");
  if (status == MICA_OK && config->like)
    status = known_classes(t, config, labels);
  else if (status == MICA_OK && !all_numbers(t, labels))
    status = text_classes(t, names, &count, labels);
  if (status == MICA_OK) {
    status = mica__store_add_labels(store, labels, config->like ? mica__config_classes(config) : (int32_t)count);
    labels = NULL;
  }
  if (status == MICA_OK && count > 0) status = name_classes(mica__store_find(store, "label"), names, count);
  free(labels);
  free(names);
  return status;
}

static mica_status set_targets(const table *t, mica__store *store) {
  float *targets = malloc(t->samples * sizeof *targets);
  if (!targets) return mica__fail_nomem("targets");
  for (size_t i = 0; i < t->samples; i++) {
    double value = 0;
    if (!number_of(t->labels[i], &value)) {
      free(targets);
      return fail_label(t, i, "is no number");
    }
    targets[i] = (float)value;
  }
  return mica__store_add_targets(store, targets);
}

mica_status mica__csv_parse(const char *name, const char *content, size_t size, const mica_dataset_config *config,
                            mica__store *store) {
  table t = {.name = name, .end = content + size};
  if (size >= 3 && !memcmp(content, "\xef\xbb\xbf", 3)) content += 3;
  mica_status status = memchr(content, '\0', (size_t)(t.end - content))
                           ? mica__fail(MICA_E_FORMAT, "%s is of no kind that is known, nor text", name)
                           : read_table(&t, content, config);
  mica__column *x = NULL;
  if (status == MICA_OK) status = mica__store_set_count(store, t.samples);
  if (status == MICA_OK) status = mica__store_add_input(store, MICA_F32, MICA_SHAPE((int64_t)t.columns - 1), &x);
  if (status == MICA_OK) {
    x->data = (const uint8_t *)t.values;
    status = mica__store_own(store, t.values, free);
    t.values = NULL;
  }
  if (status == MICA_OK) {
    status = config->regression ? set_targets(&t, store) : set_labels(&t, config, store);
  }
  free(t.fields);
  free(t.values);
  free(t.labels);
  return status;
}
