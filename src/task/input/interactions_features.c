/* Features as facts of a run: a text for each column, the values of the columns, and the rows of users and items. */
#include "run/facts.h"
#include "run/fields.h"
#include "task/input/interactions.h"

#include "base/number.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"number", "category", "set"};
static const char *const sides[] = {"pair", "user", "item"};
static const char *const row_facts[] = {NULL, "user_features", "item_features"};
_Static_assert(MICA__FEATURE_SETS == MICA__RECOMMENDER_SETS, "a network takes all sets that are read");
#define KINDS (sizeof kinds / sizeof *kinds)

#define FEATURE_FACTS(X, S)                                                                                            \
  X(S, TEXTS, feature_values, .needed = false)                                                                         \
  X(S, TEXTS, user_features, .needed = false)                                                                          \
  X(S, TEXTS, item_features, .needed = false)
MICA__FACTS(feature, FEATURE_FACTS, 0);

bool mica__features_are_noted(const mica_run *run) { return mica__recommend_facts_of(run).features.list != NULL; }

/* --- to facts --- */

static mica_status note_columns(mica_run *run, const mica__features *f) {
  mica__text *texts = calloc(f->count + 1, sizeof *texts);
  const char **list = calloc(f->count + 1, sizeof *list);
  double *numbers = calloc(4 * f->count + 1, sizeof *numbers);
  mica_status status = texts && list && numbers ? MICA_OK : mica__fail_nomem("features");
  for (size_t k = 0; status == MICA_OK && k < f->count; k++) {
    const mica__feature *one = &f->list[k];
    mica__text_addf(&texts[k], "%s %s %s", kinds[one->kind], sides[one->side], one->name);
    status = mica__text_status(&texts[k]);
    list[k] = texts[k].data;
    const double row[4] = {one->values.count, (double)one->longest, one->mean, one->deviation};
    memcpy(numbers + 4 * k, row, sizeof row);
  }
  if (status == MICA_OK) status = mica__run_note(run, "features", list, f->count);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "feature_numbers", numbers, 4 * f->count);
  for (size_t k = 0; texts && k < f->count; k++) mica__text_free(&texts[k]);
  free(texts);
  free(list);
  free(numbers);
  return status;
}

static mica_status note_values(mica_run *run, const mica__features *f) {
  size_t count = 0, at = 0;
  for (size_t k = 0; k < f->count; k++) count += (size_t)f->list[k].values.count;
  if (!count) return MICA_OK;
  const char **list = calloc(count, sizeof *list);
  if (!list) return mica__fail_nomem("features");
  for (size_t k = 0; k < f->count; k++)
    for (int32_t i = 0; i < f->list[k].values.count; i++) list[at++] = f->list[k].values.names[i];
  mica_status status = mica__run_note(run, "feature_values", list, count);
  free(list);
  return status;
}

/* "0.5 3 1,4": a number ("?" for none), a category's id, a set's ids ("-" for none). */
static void add_row(mica__text *text, const mica__features *f, mica__side side, int32_t row) {
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

static bool has_side(const mica__features *f, mica__side side) {
  for (size_t k = 0; k < f->count; k++)
    if (f->list[k].side == side) return true;
  return false;
}

static mica_status note_rows(mica_run *run, const mica__features *f, mica__side side, const mica__id_names *ids) {
  const size_t count = (size_t)ids->count;
  if (!has_side(f, side)) return MICA_OK;
  mica__text *texts = calloc(count + 1, sizeof *texts);
  const char **list = calloc(count + 1, sizeof *list);
  mica_status status = texts && list ? MICA_OK : mica__fail_nomem("features");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    add_row(&texts[i], f, side, mica__id_names_find(&f->keys[side], ids->names[i]) - 1);
    status = mica__text_status(&texts[i]);
    list[i] = texts[i].data;
  }
  if (status == MICA_OK) status = mica__run_note(run, row_facts[side], list, count);
  for (size_t i = 0; texts && i < count; i++) mica__text_free(&texts[i]);
  free(texts);
  free(list);
  return status;
}

mica_status mica__features_note(mica_run *run, const mica__features *f, const mica__id_names *users,
                                const mica__id_names *items) {
  if (!f->count) return MICA_OK;
  MICA_TRY(note_columns(run, f));
  MICA_TRY(note_values(run, f));
  MICA_TRY(note_rows(run, f, MICA__SIDE_USER, users));
  return note_rows(run, f, MICA__SIDE_ITEM, items);
}

/* --- from facts --- */

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

static mica_status recall_columns(const mica_run *run, mica__features *f) {
  const mica__fact_texts texts = mica__recommend_facts_of(run).features, values = facts_of(run).feature_values;
  const mica__fact_numbers numbers = mica__recommend_facts_of(run).feature_numbers;
  size_t used = 0, sets = 0;
  if (!texts.list || !numbers.list || numbers.count != 4 * texts.count) return damaged("feature_numbers", "");
  f->list = calloc(texts.count, sizeof *f->list);
  if (!f->list) return mica__fail_nomem("features");
  for (size_t k = 0; k < texts.count; k++) {
    mica__feature *one = &f->list[f->count++];
    const double *own = numbers.list + 4 * k;
    MICA_TRY(read_column(one, texts.list[k]));
    if (!is_count(own[0], (double)(values.count - used)) || !is_count(own[1], 256) || !(own[3] > 0))
      return damaged("feature_numbers", one->name);
    sets += one->kind == MICA__FEATURE_SET;
    one->longest = (int64_t)own[1];
    one->mean = own[2];
    one->deviation = own[3];
    for (int32_t i = 0, id = 0; i < (int32_t)own[0]; i++) {
      MICA_TRY(mica__id_names_add(&one->values, values.list[used], &id));
      if (id != i + 1) return damaged("feature_values", values.list[used]);
      used++;
    }
  }
  return used == values.count && sets <= MICA__RECOMMENDER_SETS ? MICA_OK : damaged("feature_values", "");
}

/* Reads the number, id or ids at *at, and moves it past them and the following blank. */
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

static mica_status recall_rows(mica__features *f, mica__side side, mica__fact_texts rows, size_t wanted) {
  const char *const *texts = rows.list;
  const size_t count = rows.count;
  if (!has_side(f, side)) return MICA_OK;
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

mica_status mica__features_recall(const mica_run *run, mica__features *f) {
  if (!mica__features_are_noted(run)) return MICA_OK;
  const mica__recommend_facts known = mica__recommend_facts_of(run);
  MICA_TRY(recall_columns(run, f));
  MICA_TRY(recall_rows(f, MICA__SIDE_USER, facts_of(run).user_features, known.users.count));
  return recall_rows(f, MICA__SIDE_ITEM, facts_of(run).item_features, known.items.count);
}
