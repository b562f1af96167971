/* Columns of tables as features: numbers, categories and sets. */
#include "data/interactions/features.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most features. */
#define MOST_FEATURES 512
/* The most values in a cell. */
#define MOST_VALUES 256

typedef struct reader {
  mica__records *records;
  mica__side side;
  const mica__feature_config *config;
  mica__features *f;
  char *text; /* the text of the current cell; grows when needed */
  size_t capacity;
} reader;

void mica__features_free(mica__features *f) {
  for (size_t i = 0; i < f->count; i++) {
    mica__feature *one = &f->list[i];
    free(one->name);
    mica__id_names_free(&one->values);
    free(one->numbers);
    free(one->ids);
    free(one->offsets);
  }
  free(f->list);
  for (int s = 0; s < MICA__SIDES; s++) mica__id_names_free(&f->keys[s]);
  mica__id_names_free(&f->columns);
  *f = (mica__features){0};
}

static mica_status cell_text(reader *r, mica__cell cell) {
  if (cell.length + 1 > r->capacity) {
    char *grown = realloc(r->text, 2 * cell.length + 64);
    if (!grown) return mica__fail_nomem(r->records->name);
    r->text = grown;
    r->capacity = 2 * cell.length + 64;
  }
  r->text[mica__cell_unquote(cell, r->text)] = '\0';
  return MICA_OK;
}

/* --- columns --- */

/* True if a list such as "a,b" contains the name. */
static bool is_listed(const char *list, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = list; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] != '\0'))
    if (strcspn(at, ",") == n && !strncmp(at, name, n)) return true;
  return false;
}

/* The name of a column; its number if there is no header line. */
static mica_status column_name(reader *r, size_t at, char **name) {
  char number[32];
  snprintf(number, sizeof number, "%zu", at);
  if (r->config->header) MICA_TRY(cell_text(r, r->records->cells[at]));
  *name = mica__name_printable(r->config->header ? r->text : number);
  return *name ? MICA_OK : mica__fail_nomem(r->records->name);
}

static bool is_taken(const reader *r, size_t at) {
  const mica__feature_config *c = r->config;
  for (size_t i = 0; i < c->taken_count; i++)
    if (c->taken[i] == at) return true;
  return at == c->key || at == c->title;
}

/* Adds a feature. Takes over its name, also on failure. */
static mica_status add_feature(reader *r, char *name, size_t at) {
  mica__features *f = r->f;
  if (f->count == MOST_FEATURES) {
    free(name);
    return mica__fail(MICA_E_UNSUPPORTED, "%s has more than %d columns of features; --ignore leaves some out",
                      r->records->name, MOST_FEATURES);
  }
  mica__feature *grown = realloc(f->list, (f->count + 1) * sizeof *grown);
  if (!grown) {
    free(name);
    return mica__fail_nomem(r->records->name);
  }
  f->list = grown;
  f->list[f->count++] = (mica__feature){.name = name, .side = r->side, .at = at, .deviation = 1};
  return MICA_OK;
}

/* Makes a feature of every column except the key, the title and those that are taken or ignored. */
static mica_status take_columns(reader *r) {
  for (size_t i = 0; i < r->records->count; i++) {
    char *name = NULL;
    int32_t id = 0;
    MICA_TRY(column_name(r, i, &name));
    mica_status status = mica__id_names_add(&r->f->columns, name, &id);
    if (status != MICA_OK || is_taken(r, i) || is_listed(r->config->ignored, name)) {
      free(name);
      MICA_TRY(status);
      continue;
    }
    MICA_TRY(add_feature(r, name, i));
  }
  return MICA_OK;
}

static mica_status find_columns(reader *r) {
  for (size_t k = 0; k < r->f->count; k++)
    if (r->f->list[k].side == r->side) r->f->list[k].at = SIZE_MAX;
  for (size_t i = 0; i < r->records->count; i++) {
    char *name = NULL;
    MICA_TRY(column_name(r, i, &name));
    for (size_t k = 0; k < r->f->count; k++) {
      mica__feature *one = &r->f->list[k];
      if (one->side == r->side && one->at == SIZE_MAX && !strcmp(one->name, name)) one->at = i;
    }
    free(name);
  }
  for (size_t k = 0; k < r->f->count; k++)
    if (r->f->list[k].side == r->side && r->f->list[k].at == SIZE_MAX)
      return mica__fail(MICA_E_FORMAT, "%s line %zu: there is no column '%s', but the network was trained on it",
                        r->records->name, r->records->line, r->f->list[k].name);
  return MICA_OK;
}

/* --- first pass over a table: kinds of columns, number of rows --- */

static mica_status check_width(const reader *r) {
  const mica__records *records = r->records;
  for (size_t k = 0; k < r->f->count; k++) {
    const mica__feature *one = &r->f->list[k];
    if (one->side == r->side && one->at >= records->count)
      return mica__fail(MICA_E_FORMAT, "%s line %zu: the column '%s' is missing; cells in the line: %zu", records->name,
                        records->line, one->name, records->count);
  }
  if (r->config->key != SIZE_MAX && r->config->key >= records->count)
    return mica__fail(MICA_E_FORMAT, "%s line %zu: the id is missing; cells in the line: %zu", records->name,
                      records->line, records->count);
  return MICA_OK;
}

static mica_status look(reader *r) {
  double value;
  bool found = false;
  mica__records_rewind(r->records);
  if (r->config->header) MICA_TRY(mica__records_next(r->records, &found));
  for (;;) {
    MICA_TRY(mica__records_next(r->records, &found));
    if (!found) return MICA_OK;
    MICA_TRY(check_width(r));
    if (r->f->rows[r->side]++ == INT32_MAX - 1)
      return mica__fail(MICA_E_OVERFLOW, "%s has more than 2^31 - 2 rows", r->records->name);
    for (size_t k = 0; k < r->f->count; k++) {
      mica__feature *one = &r->f->list[k];
      if (one->side != r->side || one->several) continue;
      const mica__cell cell = r->records->cells[one->at];
      const bool number = mica__cell_number(cell, &value) && !mica__cell_is_padded(cell);
      if (mica__cell_is_missing(cell) || (!one->texts && number)) continue;
      one->texts = true;
      one->several = memchr(cell.text, r->config->separator, cell.length) != NULL;
    }
  }
}

static mica_status allocate(reader *r) {
  const size_t rows = (size_t)r->f->rows[r->side];
  size_t sets = 0;
  for (size_t k = 0; k < r->f->count; k++) {
    mica__feature *one = &r->f->list[k];
    if (!r->config->known && one->side == r->side) {
      const bool named = one->texts || is_listed(r->config->categorical, one->name);
      one->kind = one->several ? MICA__FEATURE_SET : named ? MICA__FEATURE_CATEGORY : MICA__FEATURE_NUMBER;
    }
    sets += one->kind == MICA__FEATURE_SET;
    if (one->side != r->side) continue;
    const bool numbers = one->kind == MICA__FEATURE_NUMBER, set = one->kind == MICA__FEATURE_SET;
    if (numbers) one->numbers = calloc(rows + 1, sizeof *one->numbers);
    if (!numbers) one->ids = calloc(rows + 1, sizeof *one->ids);
    if (set) one->offsets = calloc(rows + 1, sizeof *one->offsets), one->capacity = rows + 1;
    if ((numbers && !one->numbers) || (!numbers && !one->ids) || (set && !one->offsets))
      return mica__fail_nomem(r->records->name);
  }
  if (sets <= MICA__FEATURE_SETS) return MICA_OK;
  return mica__fail(
      MICA_E_UNSUPPORTED,
      "%s: %zu columns hold several values per cell, but a network can read only %d; --ignore leaves some out",
      r->records->name, sets, MICA__FEATURE_SETS);
}

/* --- second pass: values of cells --- */

/* The id of a value of a category or a set; it gets the next one if it is new. If the features are known
 * (config->known), a new value has the id 0. */
static mica_status value_id(reader *r, mica__feature *one, const char *value, int32_t *id) {
  *id = mica__id_names_find(&one->values, value);
  return *id || r->config->known ? MICA_OK : mica__id_names_add(&one->values, value, id);
}

static mica_status take_number(const reader *r, mica__feature *one, size_t row) {
  const mica__cell cell = r->records->cells[one->at];
  double value = NAN;
  if (!mica__cell_is_missing(cell) && !mica__cell_number(cell, &value))
    return mica__fail(MICA_E_FORMAT,
                      "%s line %zu, column %zu: '%s' holds \"%.*s\", which is not a number from -3.4e38 to 3.4e38",
                      r->records->name, r->records->line, one->at + 1, one->name, mica__cell_shown(cell), cell.text);
  one->numbers[row] = value;
  return MICA_OK;
}

static mica_status take_category(reader *r, mica__feature *one, size_t row) {
  const mica__cell cell = r->records->cells[one->at];
  one->ids[row] = 0;
  if (one->texts ? mica__cell_is_empty(cell) : mica__cell_is_missing(cell)) return MICA_OK;
  MICA_TRY(mica__class_name(cell, mica__cell_is_code(cell), &r->text, &r->capacity));
  if (r->config->known && !mica__id_names_find(&one->values, r->text))
    MICA_TRY(mica__class_name(cell, false, &r->text, &r->capacity));
  return value_id(r, one, r->text, &one->ids[row]);
}

static mica_status add_value(reader *r, mica__feature *one, const char *value, int64_t *end) {
  if ((size_t)*end == one->capacity) {
    int32_t *grown = realloc(one->ids, 2 * one->capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem(r->records->name);
    one->ids = grown;
    one->capacity *= 2;
  }
  return value_id(r, one, value, &one->ids[(*end)++]);
}

/* Reads the values of a cell, without blanks around them; empty ones are left out. */
static mica_status take_set(reader *r, mica__feature *one, size_t row) {
  const mica__cell cell = r->records->cells[one->at];
  int64_t end = one->offsets[row];
  if (!mica__cell_is_missing(cell)) {
    MICA_TRY(cell_text(r, cell));
    for (char *at = r->text, *next = NULL; at; at = next) {
      next = strchr(at, r->config->separator);
      if (next) *next++ = '\0';
      while (*at == ' ') at++;
      for (size_t n = strlen(at); n > 0 && at[n - 1] == ' ';) at[--n] = '\0';
      if (*at) MICA_TRY(add_value(r, one, at, &end));
    }
  }
  const int64_t count = end - one->offsets[row], most = r->config->known ? one->longest : MOST_VALUES;
  one->offsets[row + 1] = end;
  if (!r->config->known && count > one->longest) one->longest = count;
  if (count <= most) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s line %zu, column %zu: '%s' holds %lld values, but may hold at most %lld",
                    r->records->name, r->records->line, one->at + 1, one->name, (long long)count, (long long)most);
}

static mica_status take_key(reader *r) {
  const mica__cell cell = r->records->cells[r->config->key];
  mica__id_names *keys = &r->f->keys[r->side];
  const int32_t before = keys->count;
  int32_t id = 0;
  if (mica__cell_is_missing(cell))
    return mica__fail(MICA_E_FORMAT, "%s line %zu, column %zu: the id is missing", r->records->name, r->records->line,
                      r->config->key + 1);
  MICA_TRY(cell_text(r, cell));
  MICA_TRY(mica__id_names_add(keys, r->text, &id));
  if (id > before) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s line %zu: '%s' is already in an earlier line", r->records->name,
                    r->records->line, r->text);
}

static mica_status take_row(reader *r, size_t row) {
  if (r->config->key != SIZE_MAX) MICA_TRY(take_key(r));
  for (size_t k = 0; k < r->f->count; k++) {
    mica__feature *one = &r->f->list[k];
    if (one->side != r->side) continue;
    if (one->kind == MICA__FEATURE_NUMBER) MICA_TRY(take_number(r, one, row));
    if (one->kind == MICA__FEATURE_CATEGORY) MICA_TRY(take_category(r, one, row));
    if (one->kind == MICA__FEATURE_SET) MICA_TRY(take_set(r, one, row));
  }
  return MICA_OK;
}

static mica_status read_table(reader *r) {
  bool found = false;
  const size_t side = (size_t)r->side;
  mica__records_rewind(r->records);
  MICA_TRY(mica__records_next(r->records, &found));
  if (!found)
    return mica__fail(MICA_E_FORMAT, "%s is empty, or has only blank lines and comments (#)", r->records->name);
  MICA_TRY(r->config->known ? find_columns(r) : take_columns(r));
  MICA_TRY(look(r));
  MICA_TRY(allocate(r));
  mica__records_rewind(r->records);
  if (r->config->header) MICA_TRY(mica__records_next(r->records, &found));
  for (size_t row = 0; row < (size_t)r->f->rows[side]; row++) {
    MICA_TRY(mica__records_next(r->records, &found));
    if (!found) return mica__fail(MICA_E_FORMAT, "%s changed while it was read; read it again", r->records->name);
    MICA_TRY(check_width(r));
    MICA_TRY(take_row(r, row));
  }
  return MICA_OK;
}

/* Drops all rows of a side, and the keys that name them; the columns stay. */
static void forget_rows(mica__features *f, mica__side side) {
  f->rows[side] = 0;
  mica__id_names_free(&f->keys[side]);
  for (size_t k = 0; k < f->count; k++) {
    mica__feature *one = &f->list[k];
    if (one->side != side) continue;
    free(one->numbers);
    free(one->ids);
    free(one->offsets);
    one->numbers = NULL, one->ids = NULL, one->offsets = NULL;
  }
}

mica_status mica__features_read(mica__records *records, mica__side side, const mica__feature_config *config,
                                mica__features *f) {
  reader r = {.records = records, .side = side, .config = config, .f = f};
  forget_rows(f, side);
  mica_status status = read_table(&r);
  free(r.text);
  return status;
}

static mica_status begin(reader *r, size_t rows) {
  bool found = false;
  mica__records_rewind(r->records);
  MICA_TRY(mica__records_next(r->records, &found));
  MICA_TRY(find_columns(r));
  r->f->rows[r->side] = (int64_t)rows;
  MICA_TRY(allocate(r));
  return r->config->header ? mica__records_next(r->records, &found) : MICA_OK;
}

mica_status mica__features_begin(mica__records *records, mica__side side, const mica__feature_config *config,
                                 size_t rows, mica__features *f) {
  reader r = {.records = records, .side = side, .config = config, .f = f};
  forget_rows(f, side);
  mica_status status = begin(&r, rows);
  free(r.text);
  return status;
}

mica_status mica__features_take(mica__records *records, mica__side side, const mica__feature_config *config, size_t row,
                                mica__features *f) {
  reader r = {.records = records, .side = side, .config = config, .f = f};
  mica_status status = check_width(&r);
  if (status == MICA_OK) status = take_row(&r, row);
  free(r.text);
  return status;
}

static mica_status check_list(const mica__features *f, const char *list, bool categories) {
  for (const char *at = list; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] != '\0')) {
    const int n = (int)strcspn(at, ",");
    bool found = false, right = !categories;
    for (int32_t i = 0; i < f->columns.count; i++)
      found = found || ((int)strlen(f->columns.names[i]) == n && !strncmp(f->columns.names[i], at, (size_t)n));
    for (size_t k = 0; k < f->count; k++)
      right = right || ((int)strlen(f->list[k].name) == n && !strncmp(f->list[k].name, at, (size_t)n) &&
                        f->list[k].kind == MICA__FEATURE_CATEGORY);
    if (!found)
      return mica__fail(MICA_E_INVALID, "%s: no table has a column '%.*s'", categories ? "categorical" : "ignore", n,
                        at);
    if (!right)
      return mica__fail(MICA_E_INVALID,
                        "categorical: the column '%.*s' cannot be categorical: it is ignored, holds several values per "
                        "cell, or is a column of ids, ratings, times or titles",
                        n, at);
  }
  return MICA_OK;
}

mica_status mica__features_check(const mica__features *f, const mica__feature_config *config) {
  MICA_TRY(check_list(f, config->ignored, false));
  return check_list(f, config->categorical, true);
}

/* --- renumbering of values, scaling of numbers --- */

/* The ids of a row begin at *from and end before *to. An unknown row (-1) has none. */
static void range_of(const mica__feature *one, int32_t row, int64_t *from, int64_t *to) {
  *from = row < 0 ? 0 : one->offsets ? one->offsets[row] : row;
  *to = row < 0 ? 0 : one->offsets ? one->offsets[row + 1] : row + 1;
}

static mica_status number_values(mica__feature *one, int64_t rows, const mica__feature_rows *samples, size_t count,
                                 int64_t least) {
  const size_t values = (size_t)one->values.count + 1;
  int64_t *seen = calloc(values, sizeof *seen), from, to;
  int32_t *map = calloc(values, sizeof *map), known = 0;
  if (!seen || !map) {
    free(seen);
    free(map);
    return mica__fail_nomem("values");
  }
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < count; i++) {
      range_of(one, samples[i].at[one->side], &from, &to);
      for (int64_t k = from; k < to; k++) {
        const int32_t id = one->ids[k];
        if (!pass)
          seen[id]++;
        else if (id && !map[id] && seen[id] >= least)
          map[id] = ++known;
      }
    }
  const int64_t all = one->offsets ? one->offsets[rows] : rows;
  for (int64_t k = 0; k < all; k++) one->ids[k] = map[one->ids[k]];
  mica_status status = mica__id_names_renumber(&one->values, map, known);
  free(seen);
  free(map);
  return status;
}

static void scale_numbers(mica__feature *one, const mica__feature_rows *samples, size_t count) {
  double mean = 0, squares = 0, n = 0;
  for (size_t i = 0; i < count; i++) {
    const int32_t row = samples[i].at[one->side];
    const double x = row < 0 ? NAN : one->numbers[row];
    if (!isfinite(x)) continue;
    const double before = x - mean;
    mean += before / ++n;
    squares += before * (x - mean);
  }
  const double deviation = n > 1 ? sqrt(squares / n) : 0;
  one->mean = mean;
  one->deviation = deviation > 1e-12 * (1 + fabs(mean)) ? deviation : 1;
}

mica_status mica__features_number(mica__features *f, const mica__feature_rows *rows, size_t count, int64_t least) {
  for (size_t k = 0; k < f->count; k++) {
    mica__feature *one = &f->list[k];
    if (one->kind == MICA__FEATURE_NUMBER)
      scale_numbers(one, rows, count);
    else
      MICA_TRY(number_values(one, f->rows[one->side], rows, count, least));
  }
  return MICA_OK;
}

/* --- samples of a network --- */

void mica__features_encode(const mica__features *f, const mica__feature_rows *rows, float *numbers, int32_t *categories,
                           int32_t *sets, int32_t *lengths) {
  /* `before` is the number of values of all earlier features. The id i of this feature has row before + i in the table
   * of all values, and unknown ids have row 0. */
  int32_t before = 0;
  for (size_t k = 0; k < f->count; k++) {
    const mica__feature *one = &f->list[k];
    const int32_t row = rows->at[one->side];
    if (one->kind == MICA__FEATURE_NUMBER) {
      const double x = row < 0 ? NAN : (one->numbers[row] - one->mean) / one->deviation;
      *numbers++ = isfinite(x) ? (float)x : 0;
      continue;
    }
    int64_t from, to;
    range_of(one, row, &from, &to);
    const int64_t width = one->kind == MICA__FEATURE_SET ? mica__feature_width(one) : 1;
    int32_t *out = one->kind == MICA__FEATURE_SET ? sets : categories;
    for (int64_t j = 0; j < width; j++) {
      const int32_t id = from + j < to ? one->ids[from + j] : 0;
      out[j] = id ? before + id : 0;
    }
    if (one->kind == MICA__FEATURE_SET) {
      sets += width;
      *lengths++ = (int32_t)(to - from);
    } else {
      categories++;
    }
    before += one->values.count;
  }
}

mica__feature_sizes mica__features_size(const mica__features *f) {
  mica__feature_sizes sizes = {.values = 1};
  for (size_t k = 0; k < f->count; k++) {
    const mica__feature *one = &f->list[k];
    sizes.values += one->values.count;
    sizes.numbers += one->kind == MICA__FEATURE_NUMBER;
    sizes.categories += one->kind == MICA__FEATURE_CATEGORY;
    sizes.sets += one->kind == MICA__FEATURE_SET;
    if (one->kind == MICA__FEATURE_SET) sizes.width += mica__feature_width(one);
  }
  return sizes;
}
