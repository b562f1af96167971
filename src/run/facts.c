/* The values stored with a run (facts), which other data must fit, and its columns of classes (categories). */
#include "run/facts.h"
#include "base/number.h"
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/run.h"
#include "run/state/facts.h"

#include <math.h>
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
  mica__facts_changed(run);
}

/* Replaces the stored value of the same name, or appends a new one. The run then owns the memory that the members of
 * *fact point to. If there are too many stored values, or if `good` is false because memory was short, frees that
 * memory and fails. */
static mica_status put(mica_run *run, mica__fact *fact, bool good) {
  mica__fact *old = fact->name ? (mica__fact *)mica__run_find_fact(run, fact->name) : NULL;
  if (good && !old && run->facts->count < MICA__FACTS) old = &run->facts->list[run->facts->count++];
  if (!good || !old) {
    mica_status status = good ? mica__fail(MICA_E_OVERFLOW,
                                           "config.json of a run can hold %d values besides its settings, so \"%s\" "
                                           "cannot be added",
                                           MICA__FACTS, fact->name)
                              : mica__fail_nomem("the values of config.json");
    free_fact(fact);
    return status;
  }
  free_fact(old);
  *old = *fact;
  mica__facts_changed(run);
  return MICA_OK;
}

mica_status mica__run_note(mica_run *run, const char *name, const char *const *texts, size_t count) {
  mica__fact fact = {.name = mica__strdup(name), .texts = calloc(count + 1, sizeof(char *)), .count = count};
  bool good = fact.name && fact.texts;
  for (size_t i = 0; good && i < count; i++) good = (fact.texts[i] = mica__strdup(texts[i])) != NULL;
  return put(run, &fact, good);
}

mica_status mica__run_note_written(mica_run *run, const char *name, size_t count, mica__fact_writer *write,
                                   void *user) {
  mica__text *texts = calloc(count + 1, sizeof *texts);
  const char **list = calloc(count + 1, sizeof *list);
  mica_status status = texts && list ? MICA_OK : mica__fail_nomem(name);
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    mica__text_add(&texts[i], "");
    status = write(user, i, &texts[i]);
    if (status == MICA_OK) status = mica__text_status(&texts[i]);
    list[i] = texts[i].data;
  }
  if (status == MICA_OK) status = mica__run_note(run, name, list, count);
  for (size_t i = 0; texts && i < count; i++) mica__text_free(&texts[i]);
  free(texts);
  free(list);
  return status;
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

/* --- categories --- */

size_t mica__run_categories(const mica_run *run) { return mica__common_facts_of(run).categories.count; }

mica__category mica__run_category(const mica_run *run, size_t k) {
  const mica__common_facts facts = mica__common_facts_of(run);
  const double *counts = facts.category_classes.list;
  mica__category category = {
      .name = facts.categories.list[k], .classes = (size_t)counts[k], .names = facts.category_names.list};
  for (size_t i = 0; i < k; i++) category.names += (size_t)counts[i];
  return category;
}

bool mica__run_good_categories(const mica_run *run) {
  const mica__common_facts facts = mica__common_facts_of(run);
  const mica__fact_numbers classes = facts.category_classes;
  size_t sum = 0;
  if (facts.categories.count > MOST_CATEGORIES || classes.count != facts.categories.count) return false;
  for (size_t i = 0; i < classes.count; i++) {
    if (!(classes.list[i] >= 1 && classes.list[i] <= MOST_CLASSES) || classes.list[i] != floor(classes.list[i]))
      return false;
    sum += (size_t)classes.list[i];
  }
  return sum == facts.category_names.count;
}
