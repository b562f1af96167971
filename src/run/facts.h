/* run/facts.h: what a run knows about its training data. Other data must fit these facts. */
#ifndef MICA_RUN_FACTS_H
#define MICA_RUN_FACTS_H

#include "base/error.h"
#include "base/text.h"

#include <mica/run.h>

/* A fact that data must match, by name: texts or numbers. */
typedef struct mica__fact {
  char *name;
  char **texts;
  double *numbers;
  size_t count;
} mica__fact;

/* Copies texts or numbers into a fact, which replaces one of the same name. */
mica_status mica__run_note(mica_run *run, const char *name, const char *const *texts, size_t count);
/* Sets a fact of `count` texts, which `write` writes. */
typedef mica_status mica__fact_writer(void *user, size_t i, mica__text *text);
mica_status mica__run_note_written(mica_run *run, const char *name, size_t count, mica__fact_writer *write, void *user);
mica_status mica__run_note_text(mica_run *run, const char *name, const char *text);
mica_status mica__run_note_numbers(mica_run *run, const char *name, const double *numbers, size_t count);
const mica__fact *mica__run_find_fact(const mica_run *run, const char *name);
void mica__facts_free(mica_run *run);
/* Reads the facts of run/common_facts.h anew. */
void mica__facts_changed(mica_run *run);
/* Checks the facts that a run of its task must have, with counts and ranges; old: a run of Mica 0.2. MICA_E_FORMAT
 * names the fact. */
mica_status mica__run_check_facts(const mica_run *run, bool old);

#endif
