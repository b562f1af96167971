/* Features as texts and numbers. */
#include "data/interactions/feature_texts.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"number", "category", "set"};
static const char *const sides[] = {"pair", "user", "item"};
#define KINDS (sizeof kinds / sizeof *kinds)
static const char *const row_facts[] = {NULL, "user_features", "item_features"};

/* --- writing --- */

mica_status mica__feature_write(const mica__feature *one, mica__text *text, double numbers[4]) {
  const double row[4] = {one->values.count, (double)one->longest, one->mean, one->deviation};
  mica__text_addf(text, "%s %s %s", kinds[one->kind], sides[one->side], one->name);
  memcpy(numbers, row, sizeof row);
  return mica__text_status(text);
}

void mica__features_write_row(const mica__features *f, mica__side side, int32_t row, mica__text *text) {
  bool first = true;
  for (size_t k = 0; k < f->count; k++) {
    const mica__feature *one = &f->list[k];
    if (one->side != side) continue;
    if (!first) mica__text_add(text, " ");
    first = false;
    if (one->kind == MICA__FEATURE_CATEGORY) {
      mica__text_addf(text, "%d", row < 0 ? 0 : (int)one->ids[row]);
    } else if (one->kind == MICA__FEATURE_NUMBER) {
      if (row < 0 || !isfinite(one->numbers[row]))
        mica__text_add(text, "?");
      else
        mica__text_addf(text, "%.17g", one->numbers[row]);
    } else {
      const int64_t from = row < 0 ? 0 : one->offsets[row], to = row < 0 ? 0 : one->offsets[row + 1];
      for (int64_t j = from; j < to; j++) mica__text_addf(text, j > from ? ",%d" : "%d", (int)one->ids[j]);
      if (from == to) mica__text_add(text, "-");
    }
  }
}

bool mica__features_has_side(const mica__features *f, mica__side side) {
  for (size_t k = 0; k < f->count; k++)
    if (f->list[k].side == side) return true;
  return false;
}

/* --- reading --- */

static mica_status damaged(const char *fact, const char *text) {
  return mica__fail(MICA_E_FORMAT, "the run is damaged: \"%s\" holds \"%.40s\"", fact, text);
}

static bool is_count(double x, double most) { return x >= 0 && x <= most && floor(x) == x; }

/* Reads "kind side name". */
static mica_status read_column(mica__feature *one, const char *text) {
  const char *name = NULL;
  for (size_t kind = 0; kind < KINDS; kind++)
    for (size_t side = 0; side < MICA__SIDES; side++) {
      const size_t a = strlen(kinds[kind]), b = strlen(sides[side]);
      if (strncmp(text, kinds[kind], a) != 0 || text[a] != ' ') continue;
      if (strncmp(text + a + 1, sides[side], b) != 0 || text[a + 1 + b] != ' ') continue;
      one->kind = (mica__feature_kind)kind;
      one->side = (mica__side)side;
      name = text + a + b + 2;
    }
  if (!name) return damaged("features", text);
  one->name = mica__strdup(name);
  return one->name ? MICA_OK : mica__fail_nomem("features");
}

mica_status mica__features_read_columns(const mica__feature_texts *t, mica__features *f) {
  size_t used = 0, sets = 0;
  if (!t->columns || !t->numbers || t->number_count != 4 * t->count) return damaged("feature_numbers", "");
  f->list = calloc(t->count, sizeof *f->list);
  if (!f->list) return mica__fail_nomem("features");
  for (size_t k = 0; k < t->count; k++) {
    mica__feature *one = &f->list[f->count++];
    const double *own = t->numbers + 4 * k;
    MICA_TRY(read_column(one, t->columns[k]));
    if (!is_count(own[0], (double)(t->value_count - used)) || !is_count(own[1], 256) || !(own[3] > 0))
      return damaged("feature_numbers", one->name);
    sets += one->kind == MICA__FEATURE_SET;
    one->longest = (int64_t)own[1];
    one->mean = own[2];
    one->deviation = own[3];
    for (int32_t i = 0, id = 0; i < (int32_t)own[0]; i++) {
      MICA_TRY(mica__id_names_add(&one->values, t->values[used], &id));
      if (id != i + 1) return damaged("feature_values", t->values[used]);
      used++;
    }
  }
  return used == t->value_count && sets <= MICA__FEATURE_SETS ? MICA_OK : damaged("feature_values", "");
}

/* Reads the number, id or ids at *at, and moves *at past them and the following blank. False if they are malformed. */
static bool read_cell(mica__feature *one, size_t row, const char **at) {
  char *end = NULL;
  if (one->kind == MICA__FEATURE_NUMBER) {
    one->numbers[row] = **at == '?' ? NAN : mica__strtod(*at, &end);
    end = **at == '?' ? (char *)*at + 1 : end;
    if (end == *at || (**at != '?' && !(fabs(one->numbers[row]) <= (double)FLT_MAX))) return false;
  } else if (one->kind == MICA__FEATURE_SET) {
    int64_t n = one->offsets[row];
    const int64_t most = n + one->longest;
    end = (char *)*at;
    for (const char *next = *at; **at != '-';) {
      const long id = strtol(next, &end, 10);
      if (end == next || id < 0 || id > one->values.count || n == most) return false;
      one->ids[n++] = (int32_t)id;
      if (*end != ',') break;
      next = end + 1;
    }
    if (**at == '-') end++;
    one->offsets[row + 1] = n;
  } else {
    const long id = strtol(*at, &end, 10);
    if (end == *at || id < 0 || id > one->values.count) return false;
    one->ids[row] = (int32_t)id;
  }
  if (*end && *end != ' ') return false;
  *at = *end ? end + 1 : end;
  return true;
}

mica_status mica__features_read_rows(mica__features *f, mica__side side, const char *const *texts, size_t count,
                                     size_t wanted) {
  if (!mica__features_has_side(f, side)) return MICA_OK;
  if (!texts || count != wanted) return damaged(row_facts[side], "");
  f->rows[side] = (int64_t)count;
  for (size_t k = 0; k < f->count; k++) {
    mica__feature *one = &f->list[k];
    if (one->side != side) continue;
    const bool set = one->kind == MICA__FEATURE_SET, numbers = one->kind == MICA__FEATURE_NUMBER;
    if (numbers) one->numbers = calloc(count + 1, sizeof *one->numbers);
    if (!numbers) one->ids = calloc((count + 1) * (size_t)(set && one->longest ? one->longest : 1), sizeof *one->ids);
    if (set) one->offsets = calloc(count + 1, sizeof *one->offsets);
    if ((numbers && !one->numbers) || (!numbers && !one->ids) || (set && !one->offsets))
      return mica__fail_nomem("features");
  }
  for (size_t i = 0; i < count; i++) {
    const char *at = texts[i];
    for (size_t k = 0; k < f->count; k++)
      if (f->list[k].side == side && !read_cell(&f->list[k], i, &at)) return damaged(row_facts[side], texts[i]);
    if (*at) return damaged(row_facts[side], texts[i]);
  }
  return MICA_OK;
}
