/* Checks the values stored in config.json (run/facts.h): those of all tasks, and those of the run's task. */
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

/* The most elements of a sample. Sizes in config.json decide how much memory is allocated, so they are checked
 * before. */
#define LARGEST_SAMPLE (1 << 30)

static mica_status check_input(const mica_run *run) {
  const mica__common_facts f = mica__common_facts_of(run);
  const double *input = f.input.list;
  const size_t rank = f.input.count;
  double elements = 1;
  if (input && rank >= MICA_MAX_RANK)
    return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions, but may have at most %d", rank, MICA_MAX_RANK - 1);
  for (size_t i = 0; i < rank; i++) {
    if (!(input[i] >= 1 && input[i] <= MICA__LARGEST_ROW) || input[i] != floor(input[i]))
      return mica__fail(MICA_E_FORMAT, "\"input\" holds the size %g, but sizes must be whole numbers from 1 to %d",
                        input[i], MICA__LARGEST_ROW);
    elements *= input[i];
  }
  const size_t wanted = run->task->facts->input_rank;
  if (wanted && rank != wanted)
    return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions, but must have %zu for the task %s", rank, wanted,
                      run->task->name);
  if ((f.numbers.count || f.table.count || mica__run_categories(run)) && rank > 1)
    return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions, but must have one for rows of a table", rank);
  if (f.numbers.list && f.numbers.count != (rank ? (size_t)input[0] : 0))
    return mica__fail(MICA_E_FORMAT, "\"numbers\" names %zu columns, but \"input\" has %g", f.numbers.count,
                      rank ? input[0] : 0);
  return elements <= LARGEST_SAMPLE ? MICA_OK
                                    : mica__fail(MICA_E_FORMAT, "\"input\" has %g elements, but may have at most %d",
                                                 elements, LARGEST_SAMPLE);
}

static bool is_of_input(const char *fact) {
  return !strcmp(fact, "input") || !strcmp(fact, "input_column") || !strcmp(fact, "mean") || !strcmp(fact, "deviation");
}

mica_status mica__run_check_facts(const mica_run *run, bool old) {
  const mica__fact_list *own = run->task->facts;
  /* A table that has only columns of classes has no numbers. */
  const mica__common_facts facts = mica__common_facts_of(run);
  const bool alone = facts.categories.count && !facts.input.list;
  MICA_TRY(check_input(run));
  MICA_TRY(mica__facts_check_whole(run, &mica__common_fact_list));
  MICA_TRY(mica__facts_check_whole(run, own));
  if (run->task->checks) MICA_TRY(run->task->checks(run));
  for (size_t i = 0; i < mica__common_fact_list.count; i++) {
    const mica__fact_row *row = &mica__common_fact_list.rows[i];
    if (alone && is_of_input(row->name)) continue;
    if (run->task->input->traits.own_input && !row->of_task && strcmp(row->name, "columns") != 0) continue;
    MICA_TRY(mica__fact_check(run, row, !old));
  }
  /* Mica 0.2 stored fewer values, so an old run may lack some. */
  for (size_t i = 0; i < own->count; i++) MICA_TRY(mica__fact_check(run, &own->rows[i], !old));
  if (!mica__run_good_categories(run))
    return mica__fail(MICA_E_FORMAT, "\"categories\" and their classes do not match, or are too many");
  if (!facts.mean.list == !facts.deviation.list) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "\"mean\" and \"deviation\" must be given together");
}
