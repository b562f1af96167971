/* run/run.h: the struct of a run, with its engine, task, data and trainer. The other data of a run are in structs by
 * subject, each with a header in run/state/. A file includes the headers of the structs that it uses; only run/state.c,
 * which makes and destroys runs, includes all. */
#ifndef MICA_RUN_RUN_H
#define MICA_RUN_RUN_H

#include "base/text.h"
#include "run/task.h"

#include <mica/model.h>
#include <mica/tokenizer.h>
#include <pthread.h>

struct mica_run {
  mica_engine *engine;
  bool own_engine, resumed;
  mica_run_config config;
  const mica__task_row *task;
  char *data, *folder;
  int made_folders;             /* how many folders this run made: its own and those above it */
  mica_tokenizer *tokenizer;    /* NULL if the run needs no tokenizer */
  mica_trainer_config training; /* `configures` of the task may change `watch` and `falling` */
  mica_trainer *trainer;
  void *task_state; /* what the task keeps between calls, or NULL; freed by the task's `closes` */
  struct mica__run_settings *settings;
  struct mica__run_facts *facts;
  struct mica__run_parts *parts;
  struct mica__run_evaluation *evaluation;
  struct mica__run_networks *networks;
  struct mica__run_record *record;
  struct mica__run_kept *kept;
  struct mica__run_guard *guard;
  struct mica__run_ranks *ranks;
};

/* An empty run, to be destroyed by mica_run_destroy; NULL if memory is short. */
mica_run *mica__run_new(void);
/* Makes an engine with the default configuration, unless the run has one. */
mica_status mica__run_make_engine(mica_run *run);
/* Reads the run's config.json, prepares the task and sets what is known about columns. The run has no trainer yet. */
mica_status mica__run_open_facts(mica_run *run);
/* Makes a run from a folder or file, and calls `then` to read its settings and stored values. `precision` is as in
 * mica_run_open_config. */
mica_status mica__run_open_folder(mica_engine *engine, const char *folder, const char *precision,
                                  mica_status (*then)(mica_run *run), mica_run **out);

#endif
