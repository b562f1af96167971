/* Makes and destroys runs with everything that they keep. */
#include "base/file.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/facts.h"
#include "run/state/guard.h"
#include "run/state/kept.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/state/ranks.h"
#include "run/state/record.h"
#include "run/state/settings.h"

#include <stdlib.h>
#include <unistd.h>

/* A run and what it points to, in one allocation. */
typedef struct whole_run {
  mica_run run;
  mica__run_settings settings;
  mica__run_facts facts;
  mica__run_parts parts;
  mica__run_evaluation evaluation;
  mica__run_networks networks;
  mica__run_record record;
  mica__run_kept kept;
  mica__run_guard guard;
  mica__run_ranks ranks;
} whole_run;

mica_run *mica__run_new(void) {
  whole_run *all = calloc(1, sizeof *all);
  if (!all) return NULL;
  all->guard.lock = all->kept.network_file = -1;
  all->kept.weights_epoch = -1;
  all->run.settings = &all->settings;
  all->run.facts = &all->facts;
  mica__facts_changed(&all->run);
  all->run.parts = &all->parts;
  all->run.evaluation = &all->evaluation;
  all->run.networks = &all->networks;
  all->run.record = &all->record;
  all->run.kept = &all->kept;
  all->run.guard = &all->guard;
  all->run.ranks = &all->ranks;
  return &all->run;
}

/* The trainer is destroyed before `like`, which its layers read. */
static void drop_networks(mica_run *run) {
  mica__run_networks *n = run->networks;
  mica_nn_destroy(n->teacher.nn);
  mica_safetensors_close(n->teacher.weights);
  mica_run_destroy(n->teacher.run);
  mica_trainer_destroy(run->trainer);
  mica_onnx_close(n->network);
  mica_foundation_close(n->published);
  mica_run_destroy(n->origin);
  mica_onnx_runner_destroy(n->runner);
  mica_onnx_close(n->model);
  mica_quantizer_destroy(n->quantizer);
  mica_safetensors_close(n->like);
}

/* Data are destroyed after the loaders that read them. */
static void drop_data(mica_run *run) {
  mica__run_parts *p = run->parts;
  for (int i = 0; i < MICA__PARTS; i++) {
    mica_loader_destroy(p->at[i].loader);
    mica_dataset_destroy(p->at[i].shown);
  }
  for (int i = 0; i < MICA__PARTS; i++)
    if (p->at[i].data != p->whole) mica_dataset_destroy((mica_dataset *)p->at[i].data);
  if (p->whole != run->config.dataset) mica_dataset_destroy((mica_dataset *)p->whole);
  mica_dataset_destroy(run->evaluation->own);
  mica_dataset_destroy(p->outline);
  for (size_t i = 0; i < p->column_count; i++) free((void *)p->columns[i].name);
  free(p->columns);
  free(p->mean);
  free(p->deviation);
  free(p->scales);
  free(run->evaluation->label_scores);
  free(run->evaluation->labels);
  free(run->evaluation->numbers);
}

static void drop_record(mica__run_record *record) {
  mica_history_destroy(record->history);
  mica_events_close(record->events);
  free(record->stopped);
  for (size_t i = 0; i < MICA__REMARKS; i++) free(record->remarks[i]);
}

static void drop_facts(mica_run *run) {
  mica__facts_free(run);
  free(run->facts->bases);
  free(run->facts->kinds);
  for (size_t i = 0; i < MICA__SETTINGS; i++) free(run->settings->values[i]);
}

void mica_run_destroy(mica_run *run) {
  if (!run) return;
  drop_networks(run);
  drop_data(run);
  mica_tokenizer_destroy(run->tokenizer);
  if (run->task && run->task->closes) run->task->closes(run);
  drop_record(run->record);
  drop_facts(run);
  if (run->own_engine) mica_engine_destroy(run->engine);
  free(run->ranks->shares);
  free(run->kept->left);
  mica__run_unlock(run);
  if (run->kept->network_file >= 0) close(run->kept->network_file);
  free(run->data);
  free(run->folder);
  free(run);
}
