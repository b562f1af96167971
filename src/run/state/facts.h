/* run/state/facts.h: the stored values of a run (run/facts.h). Only the functions of run/facts.h and
 * run/columns/kinds.h change them. */
#ifndef MICA_RUN_STATE_FACTS_H
#define MICA_RUN_STATE_FACTS_H

#include "run/common_facts.h"
#include "run/facts.h"

#define MICA__FACTS 48

typedef struct mica__run_facts {
  mica__fact list[MICA__FACTS];
  size_t count;
  mica__common_facts common; /* the same values as typed fields */
  char *bases; /* bases subtracted from a table's numbers, as mica_dataset_config takes them; may be NULL */
  char *kinds; /* kinds of columns that are inputs, as mica_dataset_config takes them; may be NULL */
} mica__run_facts;

#endif
