/* A run's stored values (run/facts.h) as typed structs, and the checks described by their lists. */
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/facts.h"

#include <math.h>
#include <string.h>

const mica__fact *mica__run_find_fact(const mica_run *run, const char *name) {
  for (size_t i = 0; run && name && i < run->facts->count; i++)
    if (!strcmp(run->facts->list[i].name, name)) return &run->facts->list[i];
  return NULL;
}

void mica__facts_read(const mica_run *run, const mica__fact_list *list, void *facts) {
  for (size_t i = 0; i < list->count; i++) {
    const mica__fact_row *row = &list->rows[i];
    void *field = (char *)facts + row->offset;
    const mica__fact *fact = mica__run_find_fact(run, row->name);
    const mica__fact_texts texts =
        fact && fact->texts ? (mica__fact_texts){(const char *const *)fact->texts, fact->count} : (mica__fact_texts){0};
    const mica__fact_numbers numbers =
        fact && fact->numbers ? (mica__fact_numbers){fact->numbers, fact->count} : (mica__fact_numbers){0};
    switch (row->kind) {
    case MICA__FACT_TEXT: *(const char **)field = texts.count ? texts.list[0] : ""; break;
    case MICA__FACT_TEXTS: *(mica__fact_texts *)field = texts; break;
    case MICA__FACT_NUMBER: *(double *)field = numbers.count ? numbers.list[0] : 0; break;
    case MICA__FACT_NUMBERS: *(mica__fact_numbers *)field = numbers; break;
    }
  }
}

/* Returns how many elements the stored value must have. 0 means any number, unless the row has `of`. */
static size_t wanted(const mica_run *run, const mica__fact_row *row) {
  if (row->kind == MICA__FACT_TEXT || row->kind == MICA__FACT_NUMBER) return 1;
  if (!row->of) return row->count;
  const mica__fact *of = mica__run_find_fact(run, row->of);
  if (!strcmp(row->of, "input")) return of && of->numbers && of->count ? (size_t)of->numbers[0] : 1;
  return (of ? of->count : 0) * (row->each ? row->each : 1) + row->more;
}

mica_status mica__fact_check(const mica_run *run, const mica__fact_row *row, bool all) {
  const mica__fact *fact = mica__run_find_fact(run, row->name);
  const bool texts = row->kind == MICA__FACT_TEXT || row->kind == MICA__FACT_TEXTS;
  if (!fact) return row->needed && all ? mica__fail(MICA_E_FORMAT, "\"%s\" is missing", row->name) : MICA_OK;
  if (row->of_task && !fact->count) return MICA_OK;
  if (!fact->count || !fact->texts != !texts)
    return mica__fail(MICA_E_FORMAT, "\"%s\" must hold %s", row->name,
                      texts ? "texts, at least one" : "numbers, at least one");
  if (row->of_task) return MICA_OK;
  const size_t count = wanted(run, row);
  if ((count || row->of) && fact->count != count)
    return mica__fail(MICA_E_FORMAT, "\"%s\" holds %zu values, but must hold %zu", row->name, fact->count, count);
  /* Stored numbers are used as f32. */
  for (size_t i = 0; fact->numbers && i < fact->count; i++)
    if (!isfinite((float)fact->numbers[i]) || !((double)(float)fact->numbers[i] > row->above))
      return mica__fail(MICA_E_FORMAT, "\"%s\" holds %g, but must hold numbers that are finite in f32%s", row->name,
                        fact->numbers[i],
                        row->above == 0   ? " and above 0"
                        : row->above < -1 ? ""
                                          : " and at least 0");
  return MICA_OK;
}

mica_status mica__facts_check_whole(const mica_run *run, const mica__fact_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    size_t count = 0;
    const double most = list->rows[i].most, *numbers = mica_run_fact_numbers(run, list->rows[i].name, &count);
    for (size_t k = 0; most > 0 && k < count; k++)
      if (!(numbers[k] >= 0 && numbers[k] <= most) || numbers[k] != floor(numbers[k]))
        return mica__fail(MICA_E_FORMAT, "\"%s\" holds %g, but must hold whole numbers from 0 to %g",
                          list->rows[i].name, numbers[k], most);
  }
  return MICA_OK;
}
