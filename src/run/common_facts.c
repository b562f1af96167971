/* The values stored with runs of all or several tasks (run/facts.h), as typed fields. */
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/facts.h"

MICA__FACTS_TABLE(common, COMMON_FACTS, 0);

void mica__facts_changed(mica_run *run) { mica__facts_read(run, &mica__common_fact_list, &run->facts->common); }

mica__common_facts mica__common_facts_of(const mica_run *run) {
  mica__common_facts none;
  if (run) return run->facts->common;
  mica__facts_read(NULL, &mica__common_fact_list, &none);
  return none;
}
