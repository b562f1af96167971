/* Facts of a run as typed structs, and the checks that their lists give. */
#include "run/fact_fields.h"
#include "run/facts.h"

#include <math.h>
#include <string.h>

void mica__facts_read(const mica_run *run, const mica__fact_list *list, void *facts) {
  for (size_t i = 0; i < list->count; i++) {
    const mica__fact_row *row = &list->rows[i];
    void *field = (char *)facts + row->offset;
    mica__fact_texts texts = {0};
    mica__fact_numbers numbers = {0};
    texts.list = mica_run_fact(run, row->name, &texts.count);
    numbers.list = mica_run_fact_numbers(run, row->name, &numbers.count);
    switch (row->kind) {
    case MICA__FACT_TEXT: *(const char **)field = texts.count ? texts.list[0] : ""; break;
    case MICA__FACT_TEXTS: *(mica__fact_texts *)field = texts; break;
    case MICA__FACT_NUMBER: *(double *)field = numbers.count ? numbers.list[0] : 0; break;
    case MICA__FACT_NUMBERS: *(mica__fact_numbers *)field = numbers; break;
    }
  }
}

/* The number of values that the fact must have; 0: any number. */
static size_t wanted(const mica_run *run, const mica__fact_row *row) {
  size_t texts = 0, numbers = 0;
  if (row->kind == MICA__FACT_TEXT || row->kind == MICA__FACT_NUMBER) return 1;
  if (!row->of) return row->count;
  if (!strcmp(row->of, "input")) return (size_t)mica__run_fact_number(run, "input", 1);
  mica_run_fact(run, row->of, &texts);
  mica_run_fact_numbers(run, row->of, &numbers);
  return (texts + numbers) * (row->each ? row->each : 1) + row->more;
}

mica_status mica__fact_check(const mica_run *run, const mica__fact_row *row, bool all) {
  const mica__fact *fact = mica__run_find_fact(run, row->name);
  const bool texts = row->kind == MICA__FACT_TEXT || row->kind == MICA__FACT_TEXTS;
  if (!fact) return row->needed && all ? mica__fail(MICA_E_FORMAT, "\"%s\" is missing", row->name) : MICA_OK;
  if (!fact->count || !fact->texts != !texts)
    return mica__fail(MICA_E_FORMAT, "\"%s\" holds no %s", row->name, texts ? "texts" : "numbers");
  const size_t count = wanted(run, row);
  if ((count || row->of) && fact->count != count)
    return mica__fail(MICA_E_FORMAT, "\"%s\" holds %zu values, not %zu", row->name, fact->count, count);
  /* They are f32 where they are used. */
  for (size_t i = 0; fact->numbers && i < fact->count; i++)
    if (!isfinite((float)fact->numbers[i]) || !((double)(float)fact->numbers[i] > row->above))
      return mica__fail(MICA_E_FORMAT, "\"%s\" holds %g", row->name, fact->numbers[i]);
  return MICA_OK;
}

mica_status mica__facts_check_whole(const mica_run *run, const mica__fact_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    size_t count = 0;
    const double most = list->rows[i].most, *numbers = mica_run_fact_numbers(run, list->rows[i].name, &count);
    for (size_t k = 0; most > 0 && k < count; k++)
      if (!(numbers[k] >= 0 && numbers[k] <= most) || numbers[k] != floor(numbers[k]))
        return mica__fail(MICA_E_FORMAT, "\"%s\" holds %g", list->rows[i].name, numbers[k]);
  }
  return MICA_OK;
}
