/* Facts of a run, which data must fit, and remarks about it. */
#include "run/state/facts.h"
#include "run/columns/categories.h"
#include "run/facts.h"
#include "run/run.h"

#include "base/number.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_fact(mica__fact *fact) {
  for (size_t i = 0; fact->texts && i < fact->count; i++) free(fact->texts[i]);
  free(fact->texts);
  free(fact->numbers);
  free(fact->name);
  *fact = (mica__fact){0};
}

void mica__facts_free(mica_run *run) {
  for (size_t i = 0; i < run->facts->count; i++) free_fact(&run->facts->list[i]);
  run->facts->count = 0;
}

const mica__fact *mica__run_find_fact(const mica_run *run, const char *name) {
  for (size_t i = 0; run && name && i < run->facts->count; i++)
    if (!strcmp(run->facts->list[i].name, name)) return &run->facts->list[i];
  return NULL;
}

/* Replaces a fact of its name by this one, or adds it behind all; it is freed where there is no room. */
static mica_status put(mica_run *run, mica__fact *fact, bool good) {
  mica__fact *old = fact->name ? (mica__fact *)mica__run_find_fact(run, fact->name) : NULL;
  if (good && !old && run->facts->count < MICA__FACTS) old = &run->facts->list[run->facts->count++];
  if (!good || !old) {
    free_fact(fact);
    return good ? mica__fail(MICA_E_OVERFLOW, "a run has too many facts") : mica__fail_nomem("a run's facts");
  }
  free_fact(old);
  *old = *fact;
  return MICA_OK;
}

mica_status mica__run_note(mica_run *run, const char *name, const char *const *texts, size_t count) {
  mica__fact fact = {.name = mica__strdup(name), .texts = calloc(count + 1, sizeof(char *)), .count = count};
  bool good = fact.name && fact.texts;
  for (size_t i = 0; good && i < count; i++) good = (fact.texts[i] = mica__strdup(texts[i])) != NULL;
  return put(run, &fact, good);
}

mica_status mica__run_note_text(mica_run *run, const char *name, const char *text) {
  return mica__run_note(run, name, &text, 1);
}

mica_status mica__run_note_numbers(mica_run *run, const char *name, const double *numbers, size_t count) {
  mica__fact fact = {.name = mica__strdup(name), .numbers = calloc(count + 1, sizeof(double)), .count = count};
  const bool good = fact.name && fact.numbers;
  if (good && count) memcpy(fact.numbers, numbers, count * sizeof *numbers);
  return put(run, &fact, good);
}

const char *const *mica_run_fact(const mica_run *run, const char *name, size_t *count) {
  const mica__fact *fact = mica__run_find_fact(run, name);
  if (count) *count = fact && fact->texts ? fact->count : 0;
  return fact ? (const char *const *)fact->texts : NULL;
}

const double *mica_run_fact_numbers(const mica_run *run, const char *name, size_t *count) {
  const mica__fact *fact = mica__run_find_fact(run, name);
  if (count) *count = fact && fact->numbers ? fact->count : 0;
  return fact ? fact->numbers : NULL;
}

const char *mica__run_fact_text(const mica_run *run, const char *name) {
  const mica__fact *fact = mica__run_find_fact(run, name);
  return fact && fact->texts && fact->count ? fact->texts[0] : "";
}

double mica__run_fact_number(const mica_run *run, const char *name, double otherwise) {
  const mica__fact *fact = mica__run_find_fact(run, name);
  return fact && fact->numbers && fact->count ? fact->numbers[0] : otherwise;
}

/* --- categories --- */

size_t mica__run_categories(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "categories", &count);
  return count;
}

mica__category mica__run_category(const mica_run *run, size_t k) {
  const double *counts = mica_run_fact_numbers(run, "category_classes", NULL);
  mica__category category = {.name = mica_run_fact(run, "categories", NULL)[k], .classes = (size_t)counts[k]};
  category.names = mica_run_fact(run, "category_names", NULL);
  for (size_t i = 0; i < k; i++) category.names += (size_t)counts[i];
  return category;
}

bool mica__run_good_categories(const mica_run *run) {
  size_t columns = mica__run_categories(run), counts = 0, names = 0, sum = 0;
  const double *classes = mica_run_fact_numbers(run, "category_classes", &counts);
  mica_run_fact(run, "category_names", &names);
  if (columns > MOST_CATEGORIES || counts != columns) return false;
  for (size_t i = 0; i < columns; i++) {
    if (!(classes[i] >= 1 && classes[i] <= MOST_CLASSES) || classes[i] != (double)(size_t)classes[i]) return false;
    sum += (size_t)classes[i];
  }
  return sum == names;
}

/* --- what a run must hold --- */

/* Sizes that become memory are those of samples: whole, and not absurd. */
#define LARGEST_ROW (1 << 20)
#define LARGEST_SAMPLE (1 << 30)

/* How many values a fact has: A_USER and so on, one for each of that; AN_ITEM_MORE, one more, for what is unknown. */
typedef enum counting {
  SOME,
  ONE,
  TWO,
  THREE,
  A_CHANNEL,
  A_CLASS,
  A_SERIES,
  A_USER,
  A_USER_MORE,
  AN_ITEM,
  AN_ITEM_MORE,
  FOUR_A_FEATURE
} counting;

static const struct rule {
  const char *name, *task; /* task NULL: of every task */
  counting count;
  bool texts, needed;
  double low; /* numbers lie above it */
} rules[] = {
    {"input", NULL, SOME, false, true, 0},
    {"input_column", NULL, ONE, true, true, 0},
    {"label_column", NULL, ONE, true, true, 0},
    {"columns", NULL, SOME, true, true, 0},
    {"bases", NULL, SOME, true, false, 0},
    {"elements", NULL, ONE, true, false, 0},
    {"mean", NULL, A_CHANNEL, false, true, -INFINITY},
    {"fills", NULL, A_CHANNEL, false, false, -INFINITY},
    {"deviation", NULL, A_CHANNEL, false, true, 0},
    {"classes", "classify", SOME, true, true, 0},
    {"classes", "detect", SOME, true, true, 0},
    {"boxes_column", "detect", ONE, true, true, 0},
    {"class_weights", "classify", A_CLASS, false, false, -0x1p-149},
    {"classes", "segment", SOME, true, true, 0},
    {"class_weights", "segment", A_CLASS, false, false, -0x1p-149},
    {"tile", "segment", THREE, false, true, -1},
    {"window", "segment", TWO, false, false, 0},
    {"cut", "segment", TWO, false, false, 0},
    {"classes", "text", SOME, true, true, 0},
    {"class_weights", "text", A_CLASS, false, false, -0x1p-149},
    {"text_column", "text", ONE, true, true, 0},
    {"label_column", "text", ONE, true, true, 0},
    {"tokenizer", "text", SOME, true, true, 0},
    {"vocabulary", "text", ONE, false, true, 0},
    {"series", "forecast", SOME, true, true, 0},
    {"targets", "forecast", ONE, false, true, 0},
    {"horizon", "forecast", ONE, false, true, 0},
    {"window", "forecast", ONE, false, true, 0},
    {"season", "forecast", ONE, false, true, 0},
    {"scale", "forecast", A_SERIES, false, true, 0},
    {"level_mean", "forecast", A_SERIES, false, true, -INFINITY},
    {"level_deviation", "forecast", A_SERIES, false, true, 0},
    {"mase_scale", "forecast", A_SERIES, false, true, 0},
    {"vocabulary", "language", ONE, false, true, 0},
    {"vocabulary", "translate", ONE, false, true, 0},
    {"from", "translate", ONE, true, true, 0},
    {"to", "translate", ONE, true, true, 0},
    {"tokenizer", "language", SOME, true, false, 0},
    {"classes", "keyword", SOME, true, true, 0},
    {"rate", "keyword", ONE, false, true, 0},
    {"alphabet", "speech", SOME, true, true, 0},
    {"rate", "speech", ONE, false, true, 0},
    {"users", "recommend", SOME, true, true, 0},
    {"items", "recommend", SOME, true, true, 0},
    {"histories", "recommend", A_USER, true, true, 0},
    {"titles", "recommend", AN_ITEM, true, false, 0},
    {"popularity", "recommend", AN_ITEM_MORE, false, true, -0x1p-149},
    {"item_bias", "recommend", AN_ITEM_MORE, false, false, -INFINITY},
    {"user_bias", "recommend", A_USER_MORE, false, false, -INFINITY},
    {"rating_mean", "recommend", ONE, false, true, -INFINITY},
    {"rating_range", "recommend", TWO, false, false, -INFINITY},
    {"features", "recommend", SOME, true, false, 0},
    {"feature_numbers", "recommend", FOUR_A_FEATURE, false, false, -INFINITY},
    {"target_mean", "regress", ONE, false, true, -INFINITY},
    {"target_deviation", "regress", ONE, false, true, 0},
};

/* Facts that become sizes of 32 bits: whole numbers up to `most`. */
static const struct {
  const char *name;
  double most;
} whole_numbers[] = {{"rate", 1 << 20}, {"vocabulary", 1 << 24}, {"horizon", LARGEST_ROW}, {"season", LARGEST_ROW},
                     {"tile", 1 << 13}, {"window", LARGEST_ROW}, {"cut", LARGEST_ROW},     {"targets", LARGEST_ROW},
                     {"header", 1},     {"several", 1}};

/* The ranks of samples; a table's columns have names, and are one axis. */
static const struct {
  const char *task;
  size_t rank;
} ranks[] = {{"detect", 3}, {"segment", 3}, {"keyword", 2}};

static size_t count_of(const mica_run *run, counting how) {
  static const char *const of[] = {
      [A_CLASS] = "classes", [A_SERIES] = "series",    [A_USER] = "users",           [A_USER_MORE] = "users",
      [AN_ITEM] = "items",   [AN_ITEM_MORE] = "items", [FOUR_A_FEATURE] = "features"};
  size_t count = 0;
  switch (how) {
  case ONE: return 1;
  case TWO: return 2;
  case THREE: return 3;
  case A_CHANNEL: return (size_t)mica__run_fact_number(run, "input", 1);
  default: mica_run_fact(run, of[how], &count);
  }
  return how == FOUR_A_FEATURE ? 4 * count : count + (how == A_USER_MORE || how == AN_ITEM_MORE);
}

static mica_status check_fact(const mica_run *run, const struct rule *rule) {
  const mica__fact *fact = mica__run_find_fact(run, rule->name);
  if (!fact) return rule->needed ? mica__fail(MICA_E_FORMAT, "\"%s\" is missing", rule->name) : MICA_OK;
  if (!fact->count || !fact->texts != !rule->texts)
    return mica__fail(MICA_E_FORMAT, "\"%s\" holds no %s", rule->name, rule->texts ? "texts" : "numbers");
  if (rule->count != SOME && fact->count != count_of(run, rule->count))
    return mica__fail(MICA_E_FORMAT, "\"%s\" holds %zu values, not %zu", rule->name, fact->count,
                      count_of(run, rule->count));
  /* They are f32 where they are used. */
  for (size_t i = 0; fact->numbers && i < fact->count; i++)
    if (!isfinite((float)fact->numbers[i]) || !((double)(float)fact->numbers[i] > rule->low))
      return mica__fail(MICA_E_FORMAT, "\"%s\" holds %g", rule->name, fact->numbers[i]);
  return MICA_OK;
}

static mica_status check_input(const mica_run *run) {
  size_t rank = 0, numbers = 0, lines = 0;
  double elements = 1;
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  mica_run_fact(run, "numbers", &numbers);
  mica_run_fact(run, "table", &lines);
  if (input && rank >= MICA_MAX_RANK) return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions", rank);
  for (size_t i = 0; i < rank; i++) {
    if (!(input[i] >= 1 && input[i] <= LARGEST_ROW) || input[i] != floor(input[i]))
      return mica__fail(MICA_E_FORMAT, "\"input\" holds the size %g", input[i]);
    elements *= input[i];
  }
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
    if (!strcmp(run->task->name, ranks[i].task) && rank != ranks[i].rank)
      return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions, not the %zu of the task %s", rank, ranks[i].rank,
                        run->task->name);
  if ((numbers || lines || mica__run_categories(run)) && rank > 1)
    return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions; rows of a table have one", rank);
  if (mica__run_find_fact(run, "numbers") && numbers != (rank ? (size_t)input[0] : 0))
    return mica__fail(MICA_E_FORMAT, "\"numbers\" names %zu columns, \"input\" has %g", numbers, rank ? input[0] : 0);
  return elements <= LARGEST_SAMPLE ? MICA_OK : mica__fail(MICA_E_FORMAT, "\"input\" has %g elements", elements);
}

static bool is_whole(double number, double most) { return number >= 0 && number <= most && number == floor(number); }

static mica_status check_whole_numbers(const mica_run *run) {
  for (size_t i = 0; i < sizeof whole_numbers / sizeof *whole_numbers; i++) {
    size_t count = 0;
    const double *numbers = mica_run_fact_numbers(run, whole_numbers[i].name, &count);
    for (size_t k = 0; k < count; k++)
      if (!is_whole(numbers[k], whole_numbers[i].most))
        return mica__fail(MICA_E_FORMAT, "\"%s\" holds %g", whole_numbers[i].name, numbers[k]);
  }
  return MICA_OK;
}

/* Each has how many values it takes, how many a cell holds, a mean and a deviation. */
static mica_status check_features(const mica_run *run) {
  size_t count = 0;
  const double *numbers = mica_run_fact_numbers(run, "feature_numbers", &count);
  for (size_t k = 0; k + 4 <= count; k += 4)
    if (!is_whole(numbers[k], 1 << 24) || !is_whole(numbers[k + 1], 1 << 8))
      return mica__fail(MICA_E_FORMAT, "\"feature_numbers\" holds the counts %g and %g", numbers[k], numbers[k + 1]);
  return MICA_OK;
}

static bool is_of_input(const char *fact) {
  return !strcmp(fact, "input") || !strcmp(fact, "input_column") || !strcmp(fact, "mean") || !strcmp(fact, "deviation");
}

mica_status mica__run_check_facts(const mica_run *run, bool old) {
  /* A table of classes alone has no numbers. */
  const bool alone = mica__run_categories(run) > 0 && !mica__run_find_fact(run, "input");
  MICA_TRY(check_input(run));
  MICA_TRY(check_whole_numbers(run));
  MICA_TRY(check_features(run));
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const struct rule *rule = &rules[i];
    if (rule->task && strcmp(rule->task, run->task->name) != 0) continue;
    /* Mica 0.2 wrote fewer. */
    if (alone && is_of_input(rule->name)) continue;
    if (!rule->task && run->task->own_input && strcmp(rule->name, "columns") != 0) continue;
    if (!old || mica__run_find_fact(run, rule->name)) MICA_TRY(check_fact(run, rule));
  }
  if (!mica__run_good_categories(run)) return mica__fail(MICA_E_FORMAT, "\"categories\" and their classes do not fit");
  if (!mica__run_find_fact(run, "mean") == !mica__run_find_fact(run, "deviation")) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "\"mean\" and \"deviation\" come together");
}
