/* The public functions that create a run, use it (prediction, search, generated text, speech, recommendation), report
 * on it and return its properties. open.c opens runs, fit.c trains them, and evaluate.c evaluates them. */
#include "run/run.h"
#include "run/columns/batch_columns.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/config.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/head.h"
#include "run/layout.h"
#include "run/network.h"
#include "run/parts.h"
#include "run/predict/samples.h"
#include "run/predict/take.h"
#include "run/ranks.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/state/evaluation.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/state/record.h"
#include "run/state/settings.h"
#include "run/verbs/distil.h"
#include "run/verbs/imported.h"
#include "train/train.h"

#include <limits.h>
#include <math.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- before data are read --- */

static mica_status no_memory(void) { return mica__fail_nomem("a run"); }

mica_status mica_run_check(const mica_run_config *c) {
  struct stat about;
  if (!c || (c->setting_count && !c->settings)) return mica__fail(MICA_E_INVALID, "mica_run_check: a pointer is NULL");
  MICA_TRY(mica__settings_check(c->task, c->settings, c->setting_count));
  bool rate = false, found = false;
  for (size_t i = 0; i < c->setting_count; i++) {
    rate = rate || !strcmp(c->settings[i].name, "lr");
    found = found || (!strcmp(c->settings[i].name, "find-lr") && !strcmp(c->settings[i].value, "true"));
  }
  if (rate && found) return mica__fail(MICA_E_INVALID, "choose lr or find-lr, not both: each gives the learning rate");
  if (found && c->communicator)
    return mica__fail(
        MICA_E_INVALID,
        "find-lr runs on one rank, without mpirun or --devices; give the rate that it finds to several ranks by lr");
  mica__layout layout;
  MICA_TRY(mica__layout_parse(c->parallel, c->communicator ? c->communicator->ranks : 1, &layout));
  if (c->resume && !c->folder) return mica__fail(MICA_E_INVALID, "resuming a run needs its folder");
  if (!c->data && !c->dataset && !c->resume)
    return mica__fail(MICA_E_INVALID, "the data are missing: set data or dataset, or resume a run");
  if ((c->data && !*c->data) || (c->folder && !*c->folder))
    return mica__fail(MICA_E_INVALID, "the path of the %s is empty", c->data && !*c->data ? "data" : "folder");
  const bool writes = !c->communicator || c->communicator->rank == 0;
  if (c->folder && !c->resume && writes) MICA_TRY(mica__run_check_free(c->folder));
  if (c->data && stat(c->data, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
    return mica__fail(MICA_E_FORMAT, "%s is neither a file nor a folder", c->data);
  return c->resume || !writes ? MICA_OK : mica__run_check_apart(c->folder, c->data);
}

/* --- creation --- */

/* Makes the path absolute, since the run may be resumed from another folder. */
static mica_status take_data_path(mica_run *run, const char *data) {
  char whole[PATH_MAX];
  char *copy = mica__strdup(realpath(data, whole) ? whole : data);
  if (!copy) return no_memory();
  free(run->data);
  run->data = copy;
  return MICA_OK;
}

static mica_status begin(mica_run *run, mica_engine *engine, const mica_run_config *config, const char *folder) {
  run->engine = engine;
  if (config) run->config = *config;
  run->resumed = run->config.resume;
  MICA_TRY(mica__run_take_layout(run));
  if (folder && !(run->folder = mica__strdup(folder))) return no_memory();
  return MICA_OK;
}

static mica_status take_task(mica_run *run) {
  const char *name = run->config.task;
  if (!name) return MICA_OK;
  if (run->task && mica__task_stands_for(run->task, name)) return MICA_OK;
  if (run->task && strcmp(run->task->name, name) != 0)
    return mica__fail(MICA_E_INVALID, "the resumed run has the task %s, which cannot become %s", run->task->name, name);
  run->task = mica__task_find(name);
  return run->task ? MICA_OK : MICA_E_INVALID;
}

/* Counts the epochs in history.csv; 0 if it cannot be read. */
static mica_status count_epochs(const mica_run *run, size_t *epochs) {
  char *path = mica__run_path(run, "history.csv");
  mica_history *history = NULL;
  *epochs = 0;
  if (!path) return no_memory();
  mica__attempt_begin();
  const mica_status status = access(path, R_OK) == 0 ? mica_history_read(path, &history) : MICA_OK;
  mica__attempt_end();
  free(path);
  if (status == MICA_E_NOMEM) return no_memory();
  if (status == MICA_OK && history) *epochs = mica_history_rows(history);
  mica_history_destroy(history);
  return MICA_OK;
}

/* Resumes without last.safetensors. If the run was killed at the end of its first epoch, its best checkpoint is also
 * the last one; if it was killed earlier, it begins again. Any other run is refused, because beginning again would lose
 * its training. */
static mica_status go_on_without_last(mica_run *run) {
  char *model = mica__run_path(run, "model.safetensors"), *best = mica__run_path(run, "best.safetensors");
  size_t epochs = 0;
  mica_status status = model && best ? count_epochs(run, &epochs) : no_memory();
  const bool first = status == MICA_OK && epochs <= 1 && access(best, R_OK) == 0;
  const bool trained = status == MICA_OK && !first && (epochs > 1 || access(model, F_OK) == 0);
  if (first) status = mica_trainer_load(run->trainer, best);
  free(model);
  free(best);
  if (trained)
    return mica__fail(MICA_E_NOT_FOUND,
                      "there is no %s/last.safetensors to continue from, although the run was trained", run->folder);
  return status == MICA_OK && !first ? mica__run_set_out(run) : status;
}

/* The rest of creating a resumed run: loads the checkpoint. */
static mica_status go_on(mica_run *run) {
  char *last = mica__run_path(run, "last.safetensors");
  if (!last) return no_memory();
  mica_status status = access(last, F_OK) == 0 ? mica_trainer_load(run->trainer, last) : go_on_without_last(run);
  char *best = status == MICA_E_FORMAT ? mica__run_path(run, "best.safetensors") : NULL;
  if (best && access(best, R_OK) == 0)
    status = mica__fail(status, "%s; copy %s, the checkpoint of the best epoch, over it to continue from there",
                        mica_error_message(), best);
  free(best);
  free(last);
  MICA_TRY(status);
  const long long done = (long long)mica_trainer_epoch(run->trainer);
  const double asked = (double)mica__common_settings_of(run).epochs;
  if ((double)done < asked || (!run->settings->changed && asked == run->settings->epochs_before)) return MICA_OK;
  if (!run->settings->changed && run->settings->epochs_before > (double)done) return mica__run_end_early(run, done);
  return mica__fail(MICA_E_STATE,
                    "nothing is left to do (epochs done: %lld, asked for: %g); to train on%s%s, ask for more "
                    "than %lld with --epochs, or begin a new run with these weights: --init %s --out NEW",
                    done, asked, run->settings->changed ? " with another " : "",
                    run->settings->changed ? run->settings->changed : "", done, run->folder);
}

/* Refuses class weights that are all 0: every loss would be 0 / 0. */
static mica_status check_class_weights(const mica_run *run) {
  const mica__fact_numbers weights = mica__common_facts_of(run).class_weights;
  bool all = weights.list != NULL;
  for (size_t i = 0; i < weights.count; i++) all = all && weights.list[i] == 0;
  return all ? mica__fail(MICA_E_INVALID, "class-weights are all 0, so no sample would count") : MICA_OK;
}

/* Refuses data from which nothing can be learned. */
static mica_status check_samples(mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t count = mica_dataset_count(data);
  MICA_TRY(mica__run_remark_coarse(run));
  if (run->task->draws || !mica_dataset_classes(data) || mica_dataset_label(data, 0) < 0 ||
      mica__common_facts_of(run).several > 0)
    return count == 1 ? mica__run_remark(run, "there is one sample to train on") : MICA_OK;
  for (uint64_t i = 1; i < count; i++)
    if (mica_dataset_label(data, i) != mica_dataset_label(data, 0)) return MICA_OK;
  const char *summary = mica_dataset_summary(data);
  return mica__fail(
      MICA_E_FORMAT, "%s: every sample has class \"%s\"; there is nothing to learn: add samples of other classes%s%s",
      run->data, mica_dataset_class_name(data, mica_dataset_label(data, 0)), *summary ? "; " : "", summary);
}

mica_status mica__run_make_engine(mica_run *run) {
  if (run->engine) return MICA_OK;
  run->own_engine = true;
  return mica_engine_create(NULL, &run->engine);
}

mica_status mica__run_open_facts(mica_run *run) {
  MICA_TRY(mica__run_read_config(run));
  MICA_TRY(mica__run_make_engine(run));
  MICA_TRY(run->task->prepare(run));
  MICA_TRY(mica__run_note_kinds(run));
  MICA_TRY(mica__imported_open(run));
  return mica__run_recall_columns(run);
}

mica_status mica__run_open_folder(mica_engine *engine, const char *folder, const char *precision,
                                  mica_status (*then)(mica_run *run), mica_run **out) {
  mica_run *run = mica__run_new();
  mica_status status = run ? begin(run, engine, NULL, folder) : no_memory();
  if (run) run->settings->precision = precision;
  if (status == MICA_OK) status = then(run);
  if (status == MICA_OK)
    *out = run;
  else
    mica_run_destroy(run);
  return status;
}

/* Opens an ONNX model together with the stored values (run/facts.h) of the run that it was exported from, if the model
 * has them. */
static mica_status open_teaching_model(mica_run *run) {
  MICA_TRY(mica_onnx_open(run->folder, &run->networks->model));
  return mica__imported_facts(run, run->folder, run->networks->model);
}

/* Opens the run or model that the setting "teacher" names. The path is made absolute, since the run may be resumed from
 * elsewhere. */
static mica_status open_teacher(mica_run *run) {
  const char *folder = mica__common_settings_of(run).teacher;
  char whole[PATH_MAX];
  struct stat about;
  if (!*folder) return MICA_OK;
  if (realpath(folder, whole)) MICA_TRY(mica__common_set(run, MICA__SETTING_teacher, whole));
  folder = mica__common_settings_of(run).teacher;
  const bool file = stat(folder, &about) == 0 && !S_ISDIR(about.st_mode);
  if (file && !mica__is_model_file(folder))
    return mica__fail(MICA_E_UNSUPPORTED, "the teacher %s is neither the folder of a run nor a model NAME.onnx",
                      folder);
  MICA_TRY(mica__run_open_folder(run->engine, folder, NULL, file ? open_teaching_model : mica__run_open_facts,
                                 &run->networks->teacher.run));
  MICA_TRY(mica__distil_begin(run));
  if (run->networks->teacher.weights)
    MICA_TRY(mica__run_note_weights_epoch(run->networks->teacher.run, run->networks->teacher.weights));
  const char *unfinished = mica_run_stopped(run->networks->teacher.run);
  return unfinished ? mica__run_remark(run, "the teacher: %s", unfinished) : MICA_OK;
}

/* A pruned network takes its widths from the checkpoint that is resumed or, in a new run, from the file of initial
 * weights. */
static mica_status take_widths(mica_run *run) {
  char *last = run->resumed ? mica__run_path(run, "last.safetensors") : NULL;
  if (run->resumed && !last) return no_memory();
  const bool begun = last && access(last, F_OK) == 0;
  mica_status status = begun && !mica__common_facts_of(run).pruned.list
                           ? MICA_OK
                           : mica__run_take_widths(run, begun ? last : mica__common_settings_of(run).init);
  free(last);
  return status;
}

static mica_status create(mica_run *run) {
  if (run->resumed) {
    MICA_TRY(mica__run_lock(run));
    MICA_TRY(mica__run_read_config(run));
    if (!strcmp(mica__common_facts_of(run).version, "0.2"))
      return mica__fail(MICA_E_UNSUPPORTED,
                        "%s is a run of Mica 0.2, which cannot be resumed; eval and predict accept it", run->folder);
  }
  MICA_TRY(take_task(run));
  mica__run_take_rows(run);
  const mica_dataset *given = run->config.dataset;
  if (given || run->config.data) MICA_TRY(take_data_path(run, given ? mica_dataset_name(given) : run->config.data));
  MICA_TRY(run->task ? mica__run_take_settings(run) : mica__run_take_common(run));
  MICA_TRY(mica__run_check_data(run));
  MICA_TRY(mica__run_open_data(run));
  MICA_TRY(check_class_weights(run));
  MICA_TRY(check_samples(run));
  if (mica__run_has_other_data(run)) MICA_TRY(mica__run_remark_other(run, run->folder));
  MICA_TRY(mica__run_remark_alone(run));
  MICA_TRY(mica__run_remark_idle(run));
  MICA_TRY(open_teacher(run));
  MICA_TRY(mica__run_take_init(run));
  MICA_TRY(take_widths(run));
  mica__run_configure_record(run);
  MICA_TRY(mica__run_make_trainer(run));
  MICA_TRY(run->resumed ? go_on(run) : mica__run_set_out(run));
  MICA_TRY(mica__run_check_ranks(run));
  if (mica__run_rank(run) != 0) {
    free(run->folder);
    run->folder = NULL;
  }
  /* The folder is made last, after everything else has succeeded. */
  if (run->folder) MICA_TRY(mica__run_make_folder(run));
  return mica__run_lock(run);
}

mica_status mica_run_create(mica_engine *engine, const mica_run_config *config, mica_run **out) {
  if (!config || !out) return mica__fail(MICA_E_INVALID, "mica_run_create: a pointer is NULL");
  /* An error that only one rank finds, such as a folder that already exists, must end the other ranks too. */
  mica_status status = mica_run_check(config);
  mica_run *run = status == MICA_OK ? mica__run_new() : NULL;
  if (status == MICA_OK) status = run ? begin(run, engine, config, config->folder) : no_memory();
  if (status == MICA_OK) status = create(run);
  if (status != MICA_OK && !(run && mica__run_is_refused(run)))
    mica_communicator_abort(config->communicator, mica_error_message());
  if (status == MICA_OK)
    *out = run;
  else
    mica_run_destroy(run);
  return status;
}

bool mica_run_takes(const mica_run *run, mica_run_option option) {
  if (!run) return false;
  switch (option) {
  case MICA_RUN_OPTION_THRESHOLD: return run->task->threshold || mica__common_facts_of(run).several > 0;
  case MICA_RUN_OPTION_BEAMS: return run->task->beams;
  case MICA_RUN_OPTION_SEARCH: return run->task->verbs.search != NULL;
  case MICA_RUN_OPTION_DRAW: return run->task->draws;
  case MICA_RUN_OPTION_GALLERY: return run->task->gallery;
  case MICA_RUN_OPTION_GENERATE: return run->task->verbs.generate != NULL;
  case MICA_RUN_OPTION_SPEAK: return run->task->verbs.speak != NULL;
  case MICA_RUN_OPTION_TRACK: return run->task->tracker;
  }
  return false;
}

mica_status mica_run_search(mica_run *run, const mica_text_search *search) {
  static const mica_text_search plain;
  if (!run) return mica__fail(MICA_E_INVALID, "mica_run_search: run is NULL");
  if (run->task->verbs.search) return run->task->verbs.search(run, search ? search : &plain);
  return mica__fail(MICA_E_UNSUPPORTED, "a run of the task %s does not recognise texts, so it has no search",
                    run->task->name);
}

/* --- predicting and reporting --- */

mica_status mica_run_generate(mica_run *run, const mica_run_texts *texts) {
  if (!run || !texts || !texts->prompts || !texts->text)
    return mica__fail(MICA_E_INVALID, "mica_run_generate: a pointer is NULL");
  if (!run->task->verbs.generate)
    return mica__fail(MICA_E_UNSUPPORTED, "%s is a run of the task %s, which does not generate texts", run->folder,
                      run->task->name);
  if (!texts->prompt_count) return mica__fail(MICA_E_INVALID, "mica_run_generate: there is no prompt");
  return run->task->verbs.generate(run, texts);
}

mica_status mica_run_speak(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count) {
  if (!run || !config || !config->text || !samples || !count)
    return mica__fail(MICA_E_INVALID, "mica_run_speak: a pointer is NULL");
  if (run->task->verbs.speak) return run->task->verbs.speak(run, config, samples, count);
  return mica__fail(MICA_E_UNSUPPORTED, "%s is a run of the task %s, which does not speak", run->folder,
                    run->task->name);
}

mica_status mica_run_voice(mica_run *run, const char *path, double *shares) {
  if (!run || !path || !shares) return mica__fail(MICA_E_INVALID, "mica_run_voice: a pointer is NULL");
  if (run->task->verbs.voice) return run->task->verbs.voice(run, path, shares);
  return mica__fail(MICA_E_UNSUPPORTED, "%s is a run of the task %s, which does not learn voices", run->folder,
                    run->task->name);
}

/* Predicts. If the run takes recordings, folders among the files are replaced by the recordings in them. */
static mica_status predict(mica_run *run, const mica_run_input *input, mica_report *prediction) {
  mica__paths paths = {0};
  mica_run_input files = *input;
  if (!input->file_count || !mica__run_hears(run)) return run->task->predict(run, input, prediction);
  mica_status status = mica__paths_find(run, input, &paths);
  files.files = (const char *const *)paths.list;
  files.file_count = paths.count;
  run->evaluation->file_classes = paths.classes;
  if (status == MICA_OK) status = run->task->predict(run, &files, prediction);
  run->evaluation->file_classes = NULL;
  mica__paths_free(&paths);
  return status;
}

mica_status mica_run_recommend(mica_run *run, const mica_run_query *query, mica_report **out) {
  mica_report *prediction = NULL;
  if (!run || !query || !out || (query->user_count && !query->users) || (query->like_count && !query->like) ||
      (query->rated_count && !query->rated))
    return mica__fail(MICA_E_INVALID, "mica_run_recommend: a pointer is NULL");
  if (!run->task->verbs.recommend)
    return mica__fail(MICA_E_UNSUPPORTED, "%s is a run of the task %s, which does not recommend", run->folder,
                      run->task->name);
  if (!query->user_count && !query->like_count && !query->rated_count && !query->rated_file)
    return mica__fail(MICA_E_INVALID, "mica_run_recommend: give users, items or ratings");
  MICA_TRY(mica_report_create(&prediction));
  mica_status status = run->task->verbs.recommend(run, query, prediction);
  if (status == MICA_OK)
    *out = prediction;
  else
    mica_report_destroy(prediction);
  return status;
}

mica_status mica_run_predict(mica_run *run, const mica_run_input *input, mica_report **out) {
  mica_report *prediction = NULL;
  if (!run || !input || !out) return mica__fail(MICA_E_INVALID, "mica_run_predict: a pointer is NULL");
  const int given = (input->file_count != 0) + (input->data != NULL) + (input->text != NULL);
  if (run->task->draws && given)
    return mica__fail(MICA_E_INVALID, "a run of the task %s draws pictures and takes no inputs", run->task->name);
  if (!run->task->draws && given != 1)
    return mica__fail(MICA_E_INVALID, "mica_run_predict: give exactly one of files, data and a text");
  if (input->gallery && !run->task->gallery)
    return mica__fail(MICA_E_INVALID, "a gallery is for the task verify; the task %s does not compare files",
                      run->task->name);
  if (input->tracker && !run->task->tracker)
    return mica__fail(MICA_E_INVALID, "a tracker needs a run of the task detect, not %s", run->task->name);
  MICA_TRY(mica_report_create(&prediction));
  run->evaluation->unread = 0;
  mica_status status = predict(run, input, prediction);
  if (status == MICA_OK && run->evaluation->unread && !mica_report_count(prediction))
    status = mica__fail(MICA_E_FORMAT, "no file can be read (files: %zu)", run->evaluation->unread);
  if (status == MICA_OK) status = mica__run_take(input, prediction);
  if (status == MICA_OK)
    *out = prediction;
  else
    mica_report_destroy(prediction);
  return status;
}

/* The value of a metric in the validation after an epoch; NaN if the history does not have it. */
static double validated(const mica_history *h, double epoch, const char *metric) {
  double value = (double)NAN;
  char column[80];
  snprintf(column, sizeof column, "validation_%.64s", metric);
  for (size_t i = 0; i < mica_history_rows(h); i++)
    if (mica_history_get(h, i, "epoch") == epoch) value = mica_history_get(h, i, column);
  return value;
}

/* Adds two items: the epoch whose weights are used, with its validation values of the task's first metric and of the
 * metric by which the epoch was chosen; and the seconds that all epochs took. */
static mica_status add_epochs(const mica_run *run, mica_report *report) {
  const mica_history *h = run->record->history;
  const double epoch = (double)mica_run_weights_epoch(run);
  const char *metric = run->task->metrics[0].name, *watch = run->training.watch;
  const double value = validated(h, epoch, metric), chose = watch ? validated(h, epoch, watch) : (double)NAN;
  double seconds = 0;
  mica__text text = {0};
  for (size_t i = 0; i < mica_history_rows(h); i++) {
    const double took = mica_history_get(h, i, "seconds");
    seconds += isnan(took) ? 0 : took;
  }
  if (epoch < 1 || !mica_history_rows(h)) return MICA_OK;
  mica__text_addf(&text, "epoch %.0f of %zu", epoch, mica_history_rows(h));
  if (!isnan(value)) mica__text_addf(&text, ", validation %s %.6g", metric, value);
  if (!isnan(value) && !isnan(chose) && strcmp(watch, metric) != 0 && strcmp(watch, "loss") != 0)
    mica__text_addf(&text, ", %s %.6g", watch, chose);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_report_add_text(report, "weights", text.data);
  if (status == MICA_OK) status = mica_report_add_number(report, "seconds of training", round(100 * seconds) / 100);
  mica__text_free(&text);
  return status;
}

static mica_status add_facts(const mica_run *run, mica_report *report) {
  mica__text training = {0};
  mica__text_addf(&training, "%s at %s, %s, weight decay %s, batch %s",
                  mica__common_typed(run, MICA__SETTING_optimizer), mica__common_typed(run, MICA__SETTING_lr),
                  mica__common_typed(run, MICA__SETTING_schedule), mica__common_typed(run, MICA__SETTING_weight_decay),
                  mica__common_typed(run, MICA__SETTING_batch));
  mica_status status = mica__text_status(&training);
  const char *const facts[][2] = {{"task", run->task->name},
                                  {"model", mica__common_settings_of(run).model},
                                  {"data", run->data},
                                  {"device", mica_engine_device(run->engine)->name},
                                  {"training", training.data},
                                  {"augmentation", mica__common_settings_of(run).augment},
                                  {"precision", mica__common_typed(run, MICA__SETTING_precision)},
                                  {"seed", mica__common_typed(run, MICA__SETTING_seed)}};
  if (status == MICA_OK) status = mica_report_begin(report, "Run");
  for (size_t i = 0; status == MICA_OK && i < sizeof facts / sizeof *facts; i++)
    status = mica_report_add_text(report, facts[i][0], facts[i][1]);
  if (status == MICA_OK) status = add_epochs(run, report);
  mica__text_free(&training);
  return status;
}

static mica_status add_metrics(const mica_run *run, mica_report *report) {
  if (!run->evaluation->metrics.samples) return MICA_OK;
  MICA_TRY(mica_report_begin(report, "Metrics"));
  MICA_TRY(mica_report_add_text(report, "part", run->evaluation->part));
  MICA_TRY(mica_report_add_number(report, "samples", (double)run->evaluation->metrics.samples));
  MICA_TRY(mica_report_add_number(report, "loss", run->evaluation->metrics.loss));
  for (int32_t i = 0; i < run->evaluation->metrics.count; i++)
    MICA_TRY(mica_report_add_number(report, run->evaluation->metrics.values[i].name,
                                    run->evaluation->metrics.values[i].value));
  return MICA_OK;
}

/* Adds a curve of a column of the history, together with the curve of validation. */
static mica_status add_curve(const mica_run *run, mica_report *report, const char *name) {
  const size_t rows = mica_history_rows(run->record->history);
  const char *columns[3] = {"epoch", name, NULL};
  char validation[80];
  snprintf(validation, sizeof validation, "validation_%.64s", name);
  columns[2] = validation;
  double *numbers = malloc((3 * rows + 1) * sizeof *numbers);
  if (!numbers) return no_memory();
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < 3; k++) numbers[3 * i + k] = mica_history_get(run->record->history, i, columns[k]);
  const mica_item item = {.kind = MICA_ITEM_KIND_CURVE,
                          .name = name,
                          .rows = rows,
                          .columns = 3,
                          .column_names = columns,
                          .numbers = numbers};
  mica_status status = mica_report_add(report, &item);
  free(numbers);
  return status;
}

static mica_status add_curves(const mica_run *run, mica_report *report) {
  if (!mica_history_rows(run->record->history)) return MICA_OK;
  MICA_TRY(mica_report_begin(report, "Training"));
  MICA_TRY(add_curve(run, report, "loss"));
  for (const mica_task_metric *m = run->task->metrics; m->name && !m->minor; m++)
    MICA_TRY(add_curve(run, report, m->name));
  return MICA_OK;
}

mica_status mica_run_report(mica_run *run, mica_report **out) {
  mica_report *report = NULL;
  if (!run || !out) return mica__fail(MICA_E_INVALID, "mica_run_report: a pointer is NULL");
  MICA_TRY(mica_report_create(&report));
  mica_status status = add_facts(run, report);
  if (status == MICA_OK) status = add_metrics(run, report);
  if (status == MICA_OK) status = mica__run_report_ranks(run, report);
  if (status == MICA_OK) status = add_curves(run, report);
  if (status == MICA_OK && run->task->report && run->evaluation->data) status = run->task->report(run, report);
  if (status == MICA_OK)
    *out = report;
  else
    mica_report_destroy(report);
  return status;
}

/* --- queries --- */

bool mica_run_is_complete(const mica_run *run) {
  return run && run->trainer &&
         ((double)mica_trainer_epoch(run->trainer) >= (double)mica__common_settings_of(run).epochs ||
          mica__train_patience_over(run->trainer));
}

const char *mica_run_evaluated(const mica_run *run) { return run->evaluation->part; }
bool mica_run_evaluated_changed(const mica_run *run) { return run && run->evaluation->changed; }
const char *mica_run_task(const mica_run *run) { return run->task->name; }
mica_engine *mica_run_engine(const mica_run *run) { return run->engine; }
mica_trainer *mica_run_trainer(const mica_run *run) { return run->trainer; }
const mica_dataset *mica_run_data(const mica_run *run, mica_part part) {
  return run && part >= MICA_PART_TRAIN && part <= MICA_PART_TEST ? run->parts->at[part].data : NULL;
}
