/* run/state/facts.h: the facts of a run. Only the functions of run/facts.h and run/columns/kinds.h change them. */
#ifndef MICA_RUN_STATE_FACTS_H
#define MICA_RUN_STATE_FACTS_H

#include "run/common_facts.h"
#include "run/facts.h"

#define MICA__FACTS 48

typedef struct mica__run_facts {
  mica__fact list[MICA__FACTS];
  size_t count;
  mica__common_facts common; /* as typed fields */
  char *bases;               /* of a table's numbers, as mica_dataset_config takes them; NULL: none */
  char *kinds;               /* of columns that are inputs, as mica_dataset_config takes them; NULL: none */
} mica__run_facts;

#endif
