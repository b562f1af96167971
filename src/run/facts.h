/* run/facts.h: facts, the values that are stored with a run, in its config.json. They tell what its training data were,
 * such as "classes", "input" (the shape of a sample) and "mean". Other data must fit them. */
#ifndef MICA_RUN_FACTS_H
#define MICA_RUN_FACTS_H

#include "base/error.h"
#include "base/text.h"

#include <mica/run.h>

/* A stored value: its name, and a list of texts or of numbers. */
typedef struct mica__fact {
  char *name;
  char **texts;
  double *numbers;
  size_t count;
} mica__fact;

/* Stores copies of texts or numbers with the run. They replace a stored value of the same name. */
mica_status mica__run_note(mica_run *run, const char *name, const char *const *texts, size_t count);
/* Stores `count` texts with the run. write(user, i, text) writes text i. */
typedef mica_status mica__fact_writer(void *user, size_t i, mica__text *text);
mica_status mica__run_note_written(mica_run *run, const char *name, size_t count, mica__fact_writer *write, void *user);
mica_status mica__run_note_text(mica_run *run, const char *name, const char *text);
mica_status mica__run_note_numbers(mica_run *run, const char *name, const double *numbers, size_t count);
const mica__fact *mica__run_find_fact(const mica_run *run, const char *name);
void mica__facts_free(mica_run *run);
/* Updates run->facts->common (run/common_facts.h) from the list of stored values. */
void mica__facts_changed(mica_run *run);
/* Checks the stored values that a run of its task must have, with counts and ranges. `old` is true for a run of Mica
 * 0.2, which may lack some. If a value is wrong, MICA_E_FORMAT with a message that names it. */
mica_status mica__run_check_facts(const mica_run *run, bool old);

#endif
