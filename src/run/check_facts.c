/* Checks the facts in config.json: those of all tasks, and those of the run's task. */
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

/* Sizes that become memory are whole, and not absurd. */
#define LARGEST_SAMPLE (1 << 30)

static MICA__FACTS_TABLE(common, COMMON_FACTS, 0);

mica__common_facts mica__common_facts_of(const mica_run *run) {
  mica__common_facts facts;
  mica__facts_read(run, &mica__common_fact_list, &facts);
  return facts;
}

static mica_status check_input(const mica_run *run) {
  size_t rank = 0, numbers = 0, lines = 0;
  double elements = 1;
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  mica_run_fact(run, "numbers", &numbers);
  mica_run_fact(run, "table", &lines);
  if (input && rank >= MICA_MAX_RANK) return mica__fail(MICA_E_FORMAT, "\"input\" cannot have %zu dimensions", rank);
  for (size_t i = 0; i < rank; i++) {
    if (!(input[i] >= 1 && input[i] <= MICA__LARGEST_ROW) || input[i] != floor(input[i]))
      return mica__fail(MICA_E_FORMAT, "\"input\" holds the size %g, which is not a whole number in range", input[i]);
    elements *= input[i];
  }
  const size_t wanted = run->task->facts->input_rank;
  if (wanted && rank != wanted)
    return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions, not the %zu of the task %s", rank, wanted,
                      run->task->name);
  if ((numbers || lines || mica__run_categories(run)) && rank > 1)
    return mica__fail(MICA_E_FORMAT, "\"input\" has %zu dimensions; rows of a table have one", rank);
  if (mica__run_find_fact(run, "numbers") && numbers != (rank ? (size_t)input[0] : 0))
    return mica__fail(MICA_E_FORMAT, "\"numbers\" names %zu columns, but \"input\" has %g", numbers,
                      rank ? input[0] : 0);
  return elements <= LARGEST_SAMPLE ? MICA_OK : mica__fail(MICA_E_FORMAT, "\"input\" has %g elements", elements);
}

static bool is_of_input(const char *fact) {
  return !strcmp(fact, "input") || !strcmp(fact, "input_column") || !strcmp(fact, "mean") || !strcmp(fact, "deviation");
}

mica_status mica__run_check_facts(const mica_run *run, bool old) {
  const mica__fact_list *own = run->task->facts;
  /* A table of classes alone has no numbers. */
  const bool alone = mica__run_categories(run) > 0 && !mica__run_find_fact(run, "input");
  MICA_TRY(check_input(run));
  MICA_TRY(mica__facts_check_whole(run, &mica__common_fact_list));
  MICA_TRY(mica__facts_check_whole(run, own));
  if (run->task->checks) MICA_TRY(run->task->checks(run));
  for (size_t i = 0; i < mica__common_fact_list.count; i++) {
    const mica__fact_row *row = &mica__common_fact_list.rows[i];
    if (alone && is_of_input(row->name)) continue;
    if (run->task->input->traits.own_input && strcmp(row->name, "columns") != 0) continue;
    MICA_TRY(mica__fact_check(run, row, !old));
  }
  /* Mica 0.2 wrote fewer. */
  for (size_t i = 0; i < own->count; i++) MICA_TRY(mica__fact_check(run, &own->rows[i], !old));
  if (!mica__run_good_categories(run))
    return mica__fail(MICA_E_FORMAT, "\"categories\" and their classes do not match");
  if (!mica__run_find_fact(run, "mean") == !mica__run_find_fact(run, "deviation")) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "\"mean\" and \"deviation\" must be given together");
}
