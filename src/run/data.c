/* A run's data: opened, split into parts, and loaded onto the device. */
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/batch_columns.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/columns/missing.h"
#include "run/columns/scale.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/learning.h"
#include "run/parts.h"
#include "run/ranks.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/shared_settings.h"
#include "run/state/facts.h"
#include "run/state/parts.h"
#include "run/state/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a side from 1 to 8192 pixels and sets *end to the text after it. Returns 0 if there is no such number. */
static int32_t parse_side(const char *text, char **end) {
  *end = (char *)text;
  const long side = *text >= '1' && *text <= '9' ? strtol(text, end, 10) : 0;
  return side <= 8192 ? (int32_t)side : 0;
}

bool mica__run_size(const mica_run *run, int32_t sides[2]) {
  const char *text = run->task ? mica__shared_settings_of(run).size : mica__given_size(run);
  char *end = NULL;
  if (!text || (run->task && !run->task->input->traits.sized)) return false;
  sides[0] = sides[1] = parse_side(text, &end);
  if (*end == 'x') sides[1] = parse_side(end + 1, &end);
  return sides[0] > 0 && sides[1] > 0 && !*end;
}

mica_status mica__run_check_size(const mica_run *run) {
  const char *text = mica__shared_settings_of(run).size;
  const mica_shape shape = mica_dataset_shape(run->parts->whole);
  char is[MICA_SHAPE_TEXT];
  int32_t sides[2];
  if (!*text) return MICA_OK;
  if (!mica__run_size(run, sides))
    return mica__fail(MICA_E_INVALID, "size must be N or HxW, with sides from 1 to 8192 pixels, not \"%s\"", text);
  if (shape.rank == 3 && shape.dim[1] == sides[0] && shape.dim[2] == sides[1]) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "size is for folders of pictures and cannot change the inputs of %s, which are %s; leave size out",
                    run->data ? run->data : "the dataset", mica_shape_format(shape, is));
}

mica_dataset_config mica__run_opening(const mica_run *run, mica_part part) {
  int32_t sides[2];
  mica_dataset_config config = {.part = part, .like = run->parts->outlined ? run->parts->outline : run->parts->whole};
  const mica__common_facts facts = mica__common_facts_of(run);
  const mica__common_settings s = mica__common_settings_of(run);
  const mica__fact_numbers input = facts.input;
  if (!run->parts->whole && input.list && input.count == 3) {
    config.channels = (int32_t)input.list[0];
    config.height = (int32_t)input.list[1];
    config.width = (int32_t)input.list[2];
  }
  if (!config.like && !config.height && mica__run_size(run, sides)) {
    config.height = sides[0];
    config.width = sides[1];
  }
  config.kinds = run->facts->kinds;
  config.ignore = s.ignore;
  config.missing = mica__run_missing(run);
  config.classes = run->task && run->task->classes;
  config.bases = run->facts->bases;
  if (run->facts->kinds && *facts.label_name) config.label_column = facts.label_name;
  if (*s.label) config.label_column = s.label;
  if (run->task && run->task->opens) run->task->opens(run, &config);
  if (run->settings->depth_scale > 0) config.depth_scale = run->settings->depth_scale;
  /* While the task is not known, the data may turn out to be masks or depth maps. These are read by the settings that
   * the caller gave for them. */
  if (!run->task) {
    config.mask_values = mica__given_mask_values(run);
    config.depth_scale = mica__given_depth_scale(run);
  }
  return config;
}

mica_status mica__run_open_part(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data) {
  const bool own = run->task && run->task->open;
  return own ? run->task->open(run, path, config, data) : mica_dataset_open(path, config, data);
}

/* Records how many test samples the data's files have, because the files may be deleted later. If a resumed run gets
 * other data without test samples, 0 replaces the old number. */
static mica_status note_tested(mica_run *run) {
  const mica_dataset *test = run->parts->at[MICA_PART_TEST].data;
  const double samples = test && !run->task->open ? (double)mica_dataset_count(test) : 0;
  const bool others = run->config.data && mica__common_facts_of(run).test_samples > 0;
  return samples > 0 || others ? mica__run_note_numbers(run, MICA__TESTED, &samples, 1) : MICA_OK;
}

/* Opens a part and keeps it; the part stays NULL if the data do not have it, or are a dataset of the caller's. */
static mica_status open_optional(mica_run *run, const mica_dataset_config *opening) {
  mica_dataset *data = NULL;
  if (run->config.dataset) return MICA_OK;
  mica_status status = mica__run_open_part(run, run->data, opening, &data);
  run->parts->at[opening->part].data = data;
  if (status == MICA_OK) status = mica__run_remark_comments(run, data);
  return status == MICA_E_NOT_FOUND ? MICA_OK : status;
}

static mica_status open_whole(mica_run *run) {
  MICA_TRY(mica__run_begin_missing(run));
  MICA_TRY(mica__run_note_kinds(run));
  mica_dataset_config config = mica__run_opening(run, MICA_PART_TRAIN);
  /* A resumed run reads its data as it did when it began. */
  if (!run->resumed) config.bases = MICA_BASES_AUTO;
  mica_dataset *data = NULL;
  run->parts->whole = run->config.dataset;
  if (run->parts->whole) return MICA_OK;
  MICA_TRY(mica__run_open_part(run, run->data, &config, &data));
  run->parts->whole = data;
  return mica__run_remark_comments(run, data);
}

static mica_status find_task(mica_run *run) {
  int32_t best = 0;
  const mica__task_row *task;
  for (size_t i = 0; (task = mica__task_at(i)); i++) {
    const int32_t suits = mica__task_suits(task, run->parts->whole);
    if (suits > best) best = suits, run->task = task;
  }
  if (!best)
    return mica__fail(MICA_E_FORMAT, "the task cannot be inferred from %s; choose it with --task",
                      run->data ? run->data : "the dataset");
  return mica__run_take_task(run, run->task);
}

/* Some tasks take the place of a task that the user named (mica__task_row.stands_for). Switches to the first of them
 * that suits the data better than the named one. Sets *found to whether there is one. */
static mica_status find_other_task(mica_run *run, bool *found) {
  const mica__task_row *task, *named = run->task;
  *found = false;
  if (run->resumed) return MICA_OK;
  for (size_t i = 0; !*found && (task = mica__task_at(i)); i++)
    *found = mica__task_stands_for(task, named->name) &&
             mica__task_suits(task, run->parts->whole) > mica__task_suits(named, run->parts->whole);
  return *found ? mica__run_take_task(run, task) : mica__run_check_settings(run);
}

/* Opens the data again in the way that the task found for them needs. */
static mica_status open_again(mica_run *run) {
  if (run->parts->whole == run->config.dataset) return MICA_OK;
  mica_dataset_destroy((mica_dataset *)run->parts->whole);
  run->parts->whole = NULL;
  return open_whole(run);
}

mica_status mica__run_split(const mica_run *run, const mica_dataset *whole, mica_dataset **part, mica_dataset **rest) {
  const double share = mica__common_settings_of(run).validation, all = (double)mica_dataset_count(whole);
  *part = *rest = NULL;
  if (all * share < 1 || all * (1 - share) < 1) return MICA_OK;
  const mica_split_config config = {.share = share,
                                    .seed = (uint64_t)mica__common_settings_of(run).seed,
                                    .by_class = mica__common_facts_of(run).validation_by_class > 0};
  return mica_dataset_split_by(whole, &config, part, rest);
}

/* New runs on pictures take the same share of each class for validation, since classes often have few samples. Runs
 * from before Mica 0.6 ignored classes in the split and continue to do so. */
static mica_status note_split(mica_run *run) {
  const mica_dataset *whole = run->parts->whole;
  const double one = 1;
  if (run->resumed || mica_dataset_shape(whole).rank != 3 || !mica_dataset_classes(whole) ||
      !mica_dataset_count(whole) || mica_dataset_label(whole, 0) < 0)
    return MICA_OK;
  return mica__run_note_numbers(run, "validation_by_class", &one, 1);
}

mica_status mica__run_has_validation(const mica_run *run, bool *has) {
  const mica_dataset_config config = mica__run_opening(run, MICA_PART_VALIDATION);
  mica_dataset *data = NULL;
  *has = true;
  if (run->task->open) return MICA_OK;
  mica_status status = mica_dataset_open(run->data, &config, &data);
  mica_dataset_destroy(data);
  *has = status == MICA_OK;
  return status == MICA_E_NOT_FOUND ? MICA_OK : status;
}

mica_status mica__run_remark_other(mica_run *run, const char *folder) {
  bool apart = false;
  if (!run->task->open) MICA_TRY(mica__run_has_validation(run, &apart));
  if (apart || !run->parts->at[MICA_PART_VALIDATION].data) return MICA_OK;
  return mica__run_remark(run,
                          "%s differs from the data of the run in %s, or has another order: validation samples may be "
                          "among those that the run was trained on",
                          run->data, folder);
}

/* Finds the training part, the validation part, and the task. */
static mica_status open_training(mica_run *run, const mica_dataset_config *opening) {
  (void)opening;
  MICA_TRY(open_whole(run));
  if (!run->task) {
    MICA_TRY(find_task(run));
    MICA_TRY(mica__run_remark_regress(run));
    if (run->task->opens || run->task->open) MICA_TRY(open_again(run));
  } else {
    bool found = false;
    MICA_TRY(find_other_task(run, &found));
    if (found) MICA_TRY(open_again(run));
  }
  MICA_TRY(mica__run_check_kinds(run));
  MICA_TRY(mica__run_check_ignored(run));
  const mica_dataset_config validation = mica__run_opening(run, MICA_PART_VALIDATION);
  MICA_TRY(open_optional(run, &validation));
  run->parts->at[MICA_PART_TRAIN].data = run->parts->whole;
  if (run->parts->at[MICA_PART_VALIDATION].data) return MICA_OK;
  /* A task that opens its data itself has already split them. */
  if (run->task->open && run->parts->whole != run->config.dataset) return MICA_OK;
  mica_dataset *part = NULL, *rest = NULL;
  MICA_TRY(note_split(run));
  MICA_TRY(mica__run_split(run, run->parts->whole, &part, &rest));
  if (!part) return MICA_OK;
  run->parts->at[MICA_PART_VALIDATION].data = part;
  run->parts->at[MICA_PART_TRAIN].data = rest;
  return MICA_OK;
}

/* A read in its own thread, and its result. Messages belong to a thread, so the message is copied. How to open the data
 * is decided before, since the run's stored values may be set meanwhile. */
typedef struct reading {
  mica_status (*open)(mica_run *run, const mica_dataset_config *opening);
  mica_run *run;
  mica_dataset_config opening;
  pthread_t thread;
  bool apart;
  mica_status status;
  char message[1024];
} reading;

static void *read_parts(void *user) {
  reading *r = user;
  r->status = r->open(r->run, &r->opening);
  if (r->status != MICA_OK) snprintf(r->message, sizeof r->message, "%s", mica_error_message());
  return NULL;
}

/* Starts the read; if no thread can be made, reads at once. */
static void begin_reading(reading *r) {
  r->apart = pthread_create(&r->thread, NULL, read_parts, r) == 0;
  if (!r->apart) read_parts(r);
}

/* Waits for the read. Returns `status` if it is a failure, and otherwise the result of the read. */
static mica_status end_reading(reading *r, mica_status status) {
  if (r->apart) pthread_join(r->thread, NULL);
  return status == MICA_OK && r->status != MICA_OK ? mica__fail(r->status, "%s", r->message) : status;
}

mica_status mica__run_derive(mica_run *run, mica_part part, const mica_dataset **data) {
  const mica_dataset *old = *data, *made = NULL;
  if (!old || !run->task->input->views.derive) return MICA_OK;
  MICA_TRY(run->task->input->views.derive(run, part, old, &made));
  if (made != old && old != run->parts->whole && old != run->config.dataset) mica_dataset_destroy((mica_dataset *)old);
  *data = made;
  return MICA_OK;
}

mica_status mica__run_make_ready(mica_run *run, mica_part part, mica_dataset *data, bool blind, mica_dataset **ready) {
  const char *label = mica__common_facts_of(run).label_column;
  mica_dataset *same = NULL;
  const bool answers = !blind || mica_dataset_column(data, mica_dataset_column_index(data, label));
  const mica__input *input = run->task->input;
  mica_status status = answers ? run->task->fits(run, data) : input->fits ? input->fits(run, data) : MICA_OK;
  if (status == MICA_OK) status = mica__run_remark_data(run, data);
  if (status == MICA_OK) status = mica__run_adopt(run, data, &same);
  if (status != MICA_OK || same != data) mica_dataset_destroy(data);
  MICA_TRY(status);
  const mica_dataset *made = same;
  status = mica__run_derive(run, part, &made);
  if (status != MICA_OK) mica_dataset_destroy(same);
  if (status == MICA_OK) *ready = (mica_dataset *)made;
  return status;
}

/* --- loaders --- */

/* Copies the numbers of a stored value as floats that the run keeps. *keep is NULL if the run does not have the
 * value. */
static mica_status take_floats(const mica_run *run, const char *name, float **keep) {
  size_t count = 0;
  const double *numbers = mica_run_fact_numbers(run, name, &count);
  free(*keep);
  *keep = numbers ? malloc((count + 1) * sizeof **keep) : NULL;
  if (numbers && !*keep) return mica__fail_nomem("a run");
  for (size_t i = 0; i < count; i++) (*keep)[i] = (float)numbers[i];
  return MICA_OK;
}

mica_status mica__run_loading(mica_run *run, mica_part part, const mica_dataset *data, mica_loader_config *config) {
  MICA_TRY(take_floats(run, "mean", &run->parts->mean));
  MICA_TRY(take_floats(run, "deviation", &run->parts->deviation));
  const mica__common_settings s = mica__common_settings_of(run);
  *config = (mica_loader_config){.batch = s.batch,
                                 .seed = (uint64_t)s.seed,
                                 .threads = (int32_t)s.threads,
                                 .mean = run->parts->mean,
                                 .deviation = run->parts->deviation};
  MICA_TRY(mica__run_take_scales(run, data, config));
  if (run->task->input->loads) run->task->input->loads(run, part, config);
  return MICA_OK;
}

static mica_status note_scaling(mica_run *run, const mica_loader *loader) {
  const int64_t count = mica_dataset_shape(run->parts->whole).dim[0];
  const float *from[2] = {mica_loader_mean(loader), mica_loader_deviation(loader)};
  if (!from[0] || !from[1] || count < 1) return MICA_OK;
  double *numbers = malloc((size_t)count * sizeof *numbers);
  mica_status status = numbers ? MICA_OK : mica__fail_nomem("a run");
  for (int half = 0; status == MICA_OK && half < 2; half++) {
    for (int64_t i = 0; i < count; i++) numbers[i] = (double)from[half][i];
    status = mica__run_note_numbers(run, half ? "deviation" : "mean", numbers, (size_t)count);
  }
  free(numbers);
  return status;
}

mica_status mica__run_load(mica_run *run, mica_part part, const mica_dataset *data, mica_residence residence,
                           mica_dataset **shown, mica_loader **loader) {
  mica_loader_config config;
  /* A test on the training data reads them like test data: whole pictures rather than crops. */
  MICA_TRY(mica__run_loading(run, part == MICA_PART_TRAIN ? MICA_PART_VALIDATION : part, data, &config));
  if (residence != MICA_RESIDENCE_AUTO) config.residence = residence;
  if (run->task->input->views.shows) MICA_TRY(run->task->input->views.shows(run, data, shown));
  return mica_loader_create(run->engine, *shown ? *shown : data, &config, loader);
}

static mica_status make_loader(mica_run *run, mica_part part) {
  mica__run_part *p = &run->parts->at[part];
  return p->data ? mica__run_load(run, part, p->data, MICA_RESIDENCE_AUTO, &p->shown, &p->loader) : MICA_OK;
}

static mica_status make_training_loader(mica_run *run) {
  mica__run_part *p = &run->parts->at[MICA_PART_TRAIN];
  mica_loader_config config;
  bool given = false;
  MICA_TRY(mica__run_note_given_scale(run, &given));
  MICA_TRY(mica__run_loading(run, MICA_PART_TRAIN, p->data, &config));
  if (!given) config.mean = config.deviation = NULL;
  config.shuffle = config.drop_last = true;
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &config.augment));
  if (run->task->input->views.trains) MICA_TRY(run->task->input->views.trains(run, p->data, &p->shown));
  const mica_dataset *seen = p->shown ? p->shown : p->data;
  if (mica_dataset_count(seen) < (uint64_t)config.batch) config.drop_last = false;
  MICA_TRY(mica__run_share_batch(run, &config));
  MICA_TRY(mica_loader_create(run->engine, seen, &config, &p->loader));
  return note_scaling(run, p->loader);
}

mica_run_epoch mica_run_epoch_of(const mica_run *run) {
  const mica__run_part *p = &run->parts->at[MICA_PART_TRAIN];
  if (!p->loader) return (mica_run_epoch){0};
  const uint64_t left_out = mica_loader_describe(p->loader).left_out;
  const uint64_t batches = mica_loader_source(p->loader).batches;
  const uint64_t samples = mica_dataset_count(p->shown ? p->shown : p->data) - left_out;
  return (mica_run_epoch){.batches = batches, .batch = batches ? samples / batches : 0, .left_out = left_out};
}

/* Refuses a run that has fewer batches, in all epochs together, than a step takes: it would learn nothing. Remarks
 * on the last batches if they do not fill a step. */
static mica_status check_accumulation(mica_run *run) {
  const mica__common_settings s = mica__common_settings_of(run);
  const double each = (double)s.accumulate, epochs = (double)s.epochs;
  const double batches = (double)mica_run_epoch_of(run).batches, all = batches * epochs, rest = fmod(all, each);
  if (each <= 1 || batches == 0) return MICA_OK;
  if (all < each)
    return mica__fail(MICA_E_INVALID,
                      "accumulate: a step takes %.0f batches, but the run has only %.0f, so nothing would be "
                      "learnt; lower accumulate",
                      each, all);
  if (rest == 0) return MICA_OK;
  return mica__run_remark(
      run, "accumulate: the last %.0f of %.0f batches do not change the weights, because a step takes %.0f", rest, all,
      each);
}

/* Records the columns of the batches that tests read. Training batches may have other columns of labels, because
 * training may mix labels. */
static mica_status find_columns(mica_run *run) {
  mica_dataset *shown = NULL;
  mica_loader *plain = NULL, *loader = run->parts->at[MICA_PART_VALIDATION].loader;
  mica_status status = MICA_OK;
  if (!loader) loader = run->parts->at[MICA_PART_TEST].loader;
  if (!loader)
    status = mica__run_load(run, MICA_PART_VALIDATION, run->parts->at[MICA_PART_TRAIN].data, MICA_RESIDENCE_STREAM,
                            &shown, &plain);
  if (status == MICA_OK) {
    const mica_batch_source source = mica_loader_source(loader ? loader : plain);
    status = mica__run_note_batch_columns(run, &source);
  }
  mica_loader_destroy(plain);
  mica_dataset_destroy(shown);
  return status == MICA_OK ? mica__run_recall_columns(run) : status;
}

static mica_status make_engine(mica_run *run) {
  if (run->engine) return MICA_OK;
  run->own_engine = true;
  return mica_engine_create(run->config.engine, &run->engine);
}

/* Refuses the setting "label" for pictures, arrays and texts without a table, which have no columns to name. Runs of
 * older versions may have it anyway and continue. */
static mica_status check_label(const mica_run *run) {
  const mica__store *store = run->parts->whole->store;
  const bool columns = run->config.dataset || run->task->named_columns || (store && store->schema);
  if (!*mica__common_settings_of(run).label || columns || run->resumed) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "label is for columns of tables; for the task %s, %s is not read as a table",
                    run->task->name, run->data);
}

/* Reading takes about as long as the other work, so both are done at the same time: the engine is created while the
 * training data are read, and the training data are uploaded while the test data are read. */
mica_status mica__run_open_data(mica_run *run) {
  reading training = {.open = open_training, .run = run}, test = {.open = open_optional, .run = run};
  begin_reading(&training);
  mica_status status = make_engine(run);
  MICA_TRY(end_reading(&training, status));
  MICA_TRY(mica__run_note_fills(run));
  MICA_TRY(check_label(run));
  MICA_TRY(run->task->prepare(run));
  MICA_TRY(mica__run_note_table(run));
  MICA_TRY(mica__run_note_bases(run));
  MICA_TRY(mica__run_note_kinds(run));
  test.opening = mica__run_opening(run, MICA_PART_TEST);
  /* A task that opens its data itself reads settings and stored values that are set below. */
  if (run->task->open)
    read_parts(&test);
  else
    begin_reading(&test);
  status = mica__run_derive(run, MICA_PART_TRAIN, &run->parts->at[MICA_PART_TRAIN].data);
  if (status == MICA_OK)
    status = mica__run_derive(run, MICA_PART_VALIDATION, &run->parts->at[MICA_PART_VALIDATION].data);
  if (status == MICA_OK) status = mica__run_set_picture_defaults(run);
  if (status == MICA_OK) status = make_training_loader(run);
  if (status == MICA_OK) status = mica__run_find_epochs(run);
  if (status == MICA_OK) status = make_loader(run, MICA_PART_VALIDATION);
  MICA_TRY(end_reading(&test, status));
  for (int i = 0; i < MICA__PARTS; i++)
    if (run->parts->at[i].data) MICA_TRY(mica__run_check_elements(run, run->parts->at[i].data));
  MICA_TRY(mica__run_remark_parts(run));
  MICA_TRY(check_accumulation(run));
  MICA_TRY(note_tested(run));
  MICA_TRY(mica__run_derive(run, MICA_PART_TEST, &run->parts->at[MICA_PART_TEST].data));
  MICA_TRY(make_loader(run, MICA_PART_TEST));
  return find_columns(run);
}
