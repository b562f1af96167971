/* Prunes a run: channels are removed in steps, with training in between, and the rest becomes a run of its own. */
#include "compress/prune.h"
#include "base/file.h"
#include "base/number.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/parts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/shared_settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/state/settings.h"
#include "run/tokens.h"
#include "run/verbs/published.h"
#include "run/verbs/quantizer.h"
#include "train/train.h"

#include <math.h>
#include <mica/compress.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_STEPS 3
/* The number of batches whose gradients are used. */
#define TAYLOR_BATCHES 16
/* Fine-tuning uses this share of the learning rate that the network was trained with. */
#define RATE_SHARE 0.3
#define MOST_SETTINGS (MICA__SETTINGS + 8)
#define BEGIN_FILE "pruned.safetensors"
#define MODEL_FILE "model.safetensors"

/* A pruning: the run it began with, the run with the present widths, and the file of its weights. */
typedef struct work {
  mica_engine *engine;
  const mica_prune_config *config;
  mica_run *base, *now;
  char *path; /* folder/pruned.safetensors */
  char *begin, *tokenizer;
  mica_setting settings[MOST_SETTINGS];
  size_t setting_count;
  char epochs[32], rate[32];
  double left;         /* the share of the FLOPs that is left */
  int missing_folders; /* how many folders of the path were missing before the pruning */
  bool stopped;
} work;

static void put(work *w, const char *name, const char *value) {
  for (size_t i = 0; i < w->setting_count; i++)
    if (!strcmp(w->settings[i].name, name)) {
      w->settings[i].value = value;
      return;
    }
  if (w->setting_count < MOST_SETTINGS) w->settings[w->setting_count++] = (mica_setting){name, value};
}

/* True if the network has a vector for each position, which fixes the number of positions. */
static bool learns_positions(const mica_run *run) {
  static const char table[] = "positions.weight";
  const mica_nn *nn = mica_trainer_network(run->trainer);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const char *name = mica_nn_parameter_at(nn, i)->own_name;
    const size_t length = strlen(name), end = sizeof table - 1;
    if (length >= end && !strcmp(name + length - end, table)) return true;
  }
  return false;
}

/* True if the setting decides the structure of the network (mica_setting_row.structure). */
static bool decides_structure(const mica_run *run, const char *name) {
  for (size_t i = 0; i < run->settings->count; i++)
    if (!strcmp(run->settings->rows[i]->name, name)) return run->settings->rows[i]->structure;
  return false;
}

/* Checks that the caller's settings do not change the structure of the network. Weights of four heads do not suit two
 * heads, even if shapes are the same. A tokenizer may be given: check_data compares its tokens with the run's. */
static mica_status check_network(const work *w) {
  for (size_t i = 0; i < w->config->setting_count; i++) {
    const mica_setting *s = &w->config->settings[i];
    const char *is = mica_run_setting(w->base, s->name);
    const bool positions = !strcmp(s->name, "context") || !strcmp(s->name, "length");
    if (positions && is && mica_run_number(w->base, s->name) != mica__strtod(s->value, NULL) &&
        learns_positions(w->base))
      return mica__fail(MICA_E_INVALID,
                        "%s is %s in the pruned run, whose network has a vector per position; it cannot become %s",
                        s->name, is, s->value);
    if (!strcmp(s->name, "init") || !strcmp(s->name, "stop-at"))
      return mica__fail(MICA_E_INVALID, "%s cannot be chosen, because the run's own network is pruned", s->name);
    if (is && strcmp(is, s->value) != 0 && decides_structure(w->base, s->name) && strcmp(s->name, "tokenizer") != 0)
      return mica__fail(MICA_E_INVALID, "%s is \"%s\" in the pruned run and cannot become \"%s\"", s->name, is,
                        s->value);
  }
  return MICA_OK;
}

/* Collects the run's own settings, the ones that fine-tuning changes, and the caller's. The tokeniser is the run's,
 * unless the caller names another file. */
static mica_status take_settings(work *w) {
  static const char *const left_out[] = {"init", "teacher", "temperature", "alpha", "find-lr", "resume", "warm-up"};
  const mica_run *base = w->base;
  for (size_t i = 0; i < base->settings->count; i++) {
    const char *name = base->settings->rows[i]->name, *value = mica_run_setting(base, name);
    bool out = !*value || mica__run_is_idle(base, i);
    /* The tokeniser exists already, so the settings by which it was learned are left out. */
    out = out || (base->tokenizer && (!strcmp(name, "vocabulary") || !strcmp(name, "lowercase")));
    for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++) out = out || !strcmp(name, left_out[k]);
    if (!out) put(w, name, value);
  }
  const double epochs = (double)mica__common_settings_of(base).epochs;
  mica__snprintf(w->epochs, sizeof w->epochs, "%.0f", epochs > 3 ? epochs / 2 : 1);
  mica__snprintf(w->rate, sizeof w->rate, "%.6g", RATE_SHARE * mica__common_settings_of(base).lr);
  put(w, "epochs", w->epochs);
  put(w, "lr", w->rate);
  if (base->tokenizer) {
    w->tokenizer = mica__run_path(base, MICA__TOKENIZER_FILE);
    if (!w->tokenizer) return mica__fail_nomem("a pruning");
    put(w, "tokenizer", w->tokenizer);
  }
  for (size_t i = 0; i < w->config->setting_count; i++)
    put(w, w->config->settings[i].name, w->config->settings[i].value);
  return MICA_OK;
}

/* True if the caller names data that differ from the run's, or that are in another order. */
static bool has_other_data(const work *w) {
  const char *is = mica__common_facts_of(w->now).parts_print, *was = mica__common_facts_of(w->base).parts_print;
  return w->config->data && *is && *was && strcmp(is, was) != 0;
}

/* Returns a setting that decides the split and differs from the run's. NULL if no setting does, or if the data have
 * their own validation part. */
static const char *parted_by(const work *w) {
  static const char *const names[] = {"validation", "test", "split", "seed"};
  const bool draws = !w->base->task->open || *mica__shared_settings_of(w->base).split;
  bool apart = false;
  if (!w->base->task->open && mica__run_has_validation(w->now, &apart) != MICA_OK) return NULL;
  for (size_t i = 0; !apart && i < sizeof names / sizeof *names - !draws; i++)
    if (!mica__equal_values(mica_run_setting(w->now, names[i]), mica_run_setting(w->base, names[i]))) return names[i];
  return NULL;
}

/* Refuses data with other classes or tokens than the pruned run was trained on, even if the network would have the
 * same shapes. */
static mica_status check_data(const work *w) {
  static const char *const facts[] = {"classes", "tokenizer"};
  for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) {
    size_t count = 0, wanted = 0;
    const char *const *is = mica_run_fact(w->now, facts[k], &count);
    const char *const *want = mica_run_fact(w->base, facts[k], &wanted);
    /* The stored value "tokenizer" holds a kind and a hash. The kind may be written differently, so only the hash is
     * compared. */
    for (size_t i = k; count == wanted && i < count; i++)
      if (strcmp(is[i], want[i]) != 0) count = wanted + 1;
    if (count != wanted)
      return mica__fail(MICA_E_FORMAT, "%s has different %s from those that %s was trained with", w->now->data,
                        k ? "tokens" : "classes", w->base->folder);
  }
  return MICA_OK;
}

/* Makes a run that begins with the weights of a file. If folder is NULL, it is an intermediate run of one epoch, and
 * weights are not rounded, because more channels are still to be removed. */
static mica_status begin_run(work *w, const char *init, const char *folder, mica_run **run) {
  const mica_prune_config *c = w->config;
  mica_setting settings[MOST_SETTINGS + 2];
  size_t count = 0;
  for (size_t i = 0; i < w->setting_count; i++)
    if (folder || strcmp(w->settings[i].name, "quantize") != 0) settings[count++] = w->settings[i];
  settings[count++] = (mica_setting){"init", init};
  if (!folder) settings[count++] = (mica_setting){"epochs", "1"};
  const mica_run_config config = {.task = w->base->task->name,
                                  .data = c->data ? c->data : w->base->data,
                                  .folder = folder,
                                  .settings = settings,
                                  .setting_count = count,
                                  .report = c->report,
                                  .user = c->user,
                                  .stop = c->stop};
  return mica_run_create(w->engine, &config, run);
}

/* --- scores --- */

static mica_status note_magnitudes(mica_pruning *p, const mica_safetensors *file) {
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *e = mica_safetensors_at(file, i);
    if (e->dtype == MICA_F32 && !strstr(e->name, "running_")) MICA_TRY(mica_pruning_note(p, e->name, e->data, NULL));
  }
  return MICA_OK;
}

/* Passes the gradient of a batch to the pruning, weight by weight. A step of gradient descent at rate 1 subtracts the
 * gradient, so the gradient is the value before the step minus the value after it. */
static mica_status note_gradients(work *w, mica_pruning *p, const mica_safetensors *file, mica_trainer *trainer) {
  mica_nn *nn = mica_trainer_network(trainer);
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(mica_trainer_session(trainer), info->name);
    const mica_safetensors_entry *e = mica_safetensors_find(file, info->own_name);
    if (!tensor || !e || info->role != MICA_NN_ROLE_WEIGHT || e->dtype != MICA_F32) continue;
    const float *before = e->data;
    float *gradient = malloc(e->bytes + 1);
    status = gradient ? mica_tensor_download(mica_engine_queue(w->engine), tensor, gradient, e->bytes)
                      : mica__fail_nomem("a pruning");
    for (size_t k = 0; status == MICA_OK && k < e->bytes / sizeof(float); k++) gradient[k] = before[k] - gradient[k];
    if (status == MICA_OK) status = mica_pruning_note(p, info->own_name, before, gradient);
    free(gradient);
  }
  return status;
}

static mica_status descend(work *w, mica_pruning *p, const char *path, const mica_safetensors *file,
                           mica_trainer *trainer) {
  const mica_batch_source source = mica_loader_source(w->now->parts->at[MICA_PART_TRAIN].loader);
  MICA_TRY(source.seek(source.user, 0, 0));
  for (int n = 0; n < TAYLOR_BATCHES; n++) {
    mica_batch batch = {0};
    MICA_TRY(source.next(source.user, mica_engine_queue(w->engine), &batch));
    if (!batch.count) break;
    MICA_TRY(mica_nn_load(mica_trainer_network(trainer), mica_trainer_session(trainer), path, NULL));
    MICA_TRY(mica_trainer_step(trainer, &batch));
    MICA_TRY(note_gradients(w, p, file, trainer));
  }
  return MICA_OK;
}

static mica_status note_taylor(work *w, mica_pruning *p, const char *path, const mica_safetensors *file) {
  mica_trainer_config config = w->now->training;
  mica_trainer *trainer = NULL;
  config.optimizer = (mica_optimizer_config){.optimizer = MICA_OPTIMIZER_SGD};
  config.schedule = (mica_schedule_config){.kind = MICA_SCHEDULE_CONSTANT, .rate = 1};
  config.dtype = MICA_F32;
  config.folder = NULL;
  config.report = NULL;
  MICA_TRY(mica_trainer_create(w->engine, &config, &trainer));
  mica_status status = descend(w, p, path, file, trainer);
  mica_trainer_destroy(trainer);
  return status;
}

/* --- steps --- */

/* Finds the channels that the network can lose. The search starts from all that the network of tests computes: the
 * outputs of the step and the sums of a test. */
static mica_status find_channels(const work *w, mica_pruning **p) {
  const mica__phase *test = &w->now->trainer->testing;
  return mica_pruning_create_of(test->nn, test->output_values, test->output_count, p);
}

/* Removes channels of the present network, whose weights are in the file at `from`, and writes the rest. */
static mica_status cut(work *w, const char *from, double share) {
  mica_pruning *p = NULL;
  mica_safetensors *file = NULL;
  MICA_TRY(find_channels(w, &p));
  mica_status status = mica_safetensors_open(from, &file);
  if (status == MICA_OK)
    status = w->config->method == MICA_PRUNE_METHOD_TAYLOR ? note_taylor(w, p, from, file) : note_magnitudes(p, file);
  /* The channels of an earlier step may have had more FLOPs than this step may leave: then it removes nothing. */
  if (status == MICA_OK) status = mica_pruning_cut(p, fmin(share / w->left, 1));
  if (status == MICA_OK) status = mica_pruning_write(p, file, false, w->path);
  if (status == MICA_OK) w->left *= mica_pruning_flops(p);
  mica_safetensors_close(file);
  mica_pruning_destroy(p);
  return status;
}

/* Fails before anything is trained if the target cannot be reached, judged by the present magnitudes of the weights. */
static mica_status foresee(work *w, int64_t steps) {
  mica_pruning *p = NULL;
  mica_safetensors *file = NULL;
  MICA_TRY(find_channels(w, &p));
  mica_status status = mica_safetensors_open(w->begin, &file);
  if (status == MICA_OK) status = note_magnitudes(p, file);
  if (status == MICA_OK) status = mica__pruning_foresee(p, 1 - w->config->flops, steps);
  mica_safetensors_close(file);
  mica_pruning_destroy(p);
  return status;
}

/* Trains the remaining network for an epoch and writes its weights to the same file. `step` is how many times channels
 * have been removed. */
static mica_status recover(work *w, int64_t step, int64_t steps) {
  const mica_safetensors_pair pruned = {MICA_PRUNED_KEY, "true"};
  mica_run_destroy(w->now);
  w->now = NULL;
  MICA_TRY(begin_run(w, w->path, NULL, &w->now));
  MICA_TRY(mica_run_fit(w->now));
  MICA_TRY(mica_nn_save(mica_trainer_test_network(w->now->trainer), mica_trainer_test_session(w->now->trainer), w->path,
                        &pruned, 1));
  w->stopped = mica_run_stopped(w->now) != NULL;
  if (!w->stopped) return MICA_OK;
  return mica__fail(MICA_E_STATE,
                    "%s after step %lld of %lld, with %.0f %% of the FLOPs left; %s has these weights; train them with "
                    "mica train --init",
                    mica_run_stopped(w->now), (long long)step, (long long)steps, 100 * w->left, w->path);
}

/* Refuses runs whose networks cannot be pruned: quantised ones, those trained with rounded weights, published models
 * and ONNX models. */
static mica_status check_run(const mica_run *base) {
  if (mica__run_is_quantized(base))
    return mica__fail(MICA_E_UNSUPPORTED, "the run in %s is quantised; prune the run that it was made from",
                      base->folder);
  if (*mica__common_typed(base, MICA__SETTING_quantize))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "the run in %s was trained with weights rounded to %s bits, whose scales do not fit pruned "
                      "layers; prune a run that was trained without --quantize",
                      base->folder, mica__common_typed(base, MICA__SETTING_quantize));
  if (base->networks->published)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "the run in %s has the network of a published model, whose widths are fixed in %s; prune a run of one "
        "of Mica's networks",
        base->folder, MICA__PUBLISHED_FILE);
  if (base->networks->network)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "the run in %s has the network of a model in ONNX, whose widths are fixed in the model; prune a run "
        "of one of Mica's networks",
        base->folder);
  return MICA_OK;
}

static mica_status prune(work *w, mica_run **out) {
  const mica_prune_config *c = w->config;
  const int64_t steps = c->steps ? c->steps : USUAL_STEPS;
  MICA_TRY(mica_run_open(w->engine, c->run, &w->base));
  MICA_TRY(check_run(w->base));
  MICA_TRY(mica__run_check_apart(c->folder, c->data ? c->data : w->base->data));
  bool apart = false;
  if (!c->data) MICA_TRY(mica__run_has_validation(w->base, &apart));
  if (!c->data && (!apart || w->base->task->open) && mica__run_data_changed(w->base))
    return mica__fail(MICA_E_STATE,
                      "%s has changed since %s was trained, so its validation part may hold samples that were trained "
                      "on; choose data with --data FILE",
                      w->base->data, c->run);
  MICA_TRY(check_network(w));
  MICA_TRY(take_settings(w));
  w->begin = mica__run_path(w->base, MODEL_FILE);
  mica__text path = {0};
  mica__text_addf(&path, "%s/" BEGIN_FILE, c->folder);
  MICA_TRY(mica__text_status(&path));
  w->path = path.data;
  if (!w->begin) return mica__fail_nomem("a pruning");
  MICA_TRY(begin_run(w, w->begin, NULL, &w->now));
  MICA_TRY(mica_nn_load(mica_trainer_network(w->now->trainer), mica_trainer_session(w->now->trainer), w->begin, NULL));
  MICA_TRY(check_data(w));
  MICA_TRY(foresee(w, steps));
  const bool others = has_other_data(w);
  const char *parted = parted_by(w);
  for (int64_t k = 1; k <= steps; k++) {
    MICA_TRY(cut(w, k == 1 ? w->begin : w->path, 1 - c->flops * (double)k / (double)steps));
    if (k < steps) MICA_TRY(recover(w, k, steps));
  }
  MICA_TRY(begin_run(w, w->path, c->folder, out));
  mica__run_forget_remarks(*out, w->path);
  mica_status told = others ? mica__run_remark_other(*out, c->run) : MICA_OK;
  if (told == MICA_OK && parted && mica_run_data(*out, MICA_PART_VALIDATION))
    told = mica__run_remark(
        *out,
        "%s is %s here and %s in the run in %s: validation samples may be among those that the run was trained on",
        parted, mica_run_setting(*out, parted), mica_run_setting(w->base, parted), c->run);
  const bool by_class = mica__common_facts_of(*out).validation_by_class > 0;
  if (told == MICA_OK && by_class && !(mica__common_facts_of(w->base).validation_by_class > 0))
    told = mica__run_remark(*out,
                            "unlike this run, the run in %s held out samples without regard to classes: validation "
                            "samples may be among those that it was trained on",
                            c->run);
  if (told != MICA_OK) {
    mica_run_destroy(*out);
    *out = NULL;
  }
  return told;
}

static mica_status check(const mica_prune_config *c) {
  if (!c || !c->run || !c->folder) return mica__fail(MICA_E_INVALID, "mica_run_prune: a pointer is NULL");
  if (!(c->flops > 0 && c->flops < 1))
    return mica__fail(MICA_E_INVALID, "the share of FLOPs to remove must be between 0 and 1, not %g", c->flops);
  if (c->steps < 0 || c->steps > 1000)
    return mica__fail(MICA_E_INVALID, "mica_run_prune: steps is %lld, but must be from 0 to 1000", (long long)c->steps);
  if (!mica_prune_method_name(c->method))
    return mica__fail(MICA_E_INVALID, "mica_run_prune: %d is not a mica_prune_method", (int)c->method);
  /* Checks that the folder is free and the settings right before anything is trained. */
  char own[4096]; /* a path that exists, to be checked if the caller names no data */
  if (snprintf(own, sizeof own, "%s/config.json", c->run) >= (int)sizeof own)
    return mica__fail(MICA_E_INVALID, "the path %s is too long", c->run);
  const mica_run_config config = {
      .data = c->data ? c->data : own, .folder = c->folder, .settings = c->settings, .setting_count = c->setting_count};
  return mica_run_check(&config);
}

mica_status mica_run_prune(mica_engine *engine, const mica_prune_config *config, mica_run **out) {
  MICA_TRY(check(config));
  if (!engine || !out) return mica__fail(MICA_E_INVALID, "mica_run_prune: a pointer is NULL");
  work w = {.engine = engine, .config = config, .left = 1, .missing_folders = mica__folder_missing(config->folder)};
  mica_status status = prune(&w, out);
  if (status != MICA_OK && !w.stopped && w.path) {
    unlink(w.path);
    mica__folder_remove(config->folder, w.missing_folders);
  }
  mica_run_destroy(w.now);
  mica_run_destroy(w.base);
  free(w.begin);
  free(w.tokenizer);
  free(w.path);
  return status;
}

const char *mica_prune_method_name(size_t method) {
  static const char *const names[] = {
#define METHOD_TEXT(name, text) text,
      MICA_PRUNE_METHOD_LIST(METHOD_TEXT)
#undef METHOD_TEXT
  };
  return method < sizeof names / sizeof *names ? names[method] : NULL;
}
