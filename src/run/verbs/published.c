/* Runs that fine-tune a published model: its network, weights and settings, and a new last layer. */
#include "run/verbs/published.h"
#include "base/file.h"
#include "base/text.h"
#include "foundation/model.h"
#include "foundation/processor.h"
#include "ir/graph.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/config.h"
#include "run/guard.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/shared_settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"

#include <inttypes.h>
#include <mica/io.h>
#include <mica/nodes.h>
#include <mica/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "published" /* the value of the setting "model" if the network is a published model's */
#define HEAD "classes"    /* a name that no model uses for a layer */
#define MOST_TOKENS 256

static bool reads_pictures(const mica_foundation_info *i) { return i->picture > 0 || i->vision; }

/* --- opening --- */

static mica_status open_kept(mica_run *run) {
  char *path = mica__run_path(run, MICA__PUBLISHED_FILE);
  mica_status status = path ? mica__foundation_open_config(path, &run->networks->published) : mica__fail_nomem("a run");
  free(path);
  return mica__run_damaged(run, MICA__PUBLISHED_FILE, status == MICA_E_NOT_FOUND ? MICA_E_FORMAT : status);
}

/* Sets mean and deviation, unless the user set them, to those that the model was trained with. Leaves them if the
 * model's folder does not tell them. */
static mica_status set_scale(mica_run *run, const mica_foundation *model) {
  mica__processor p;
  mica__text mean = {0}, deviation = {0};
  mica__attempt_begin();
  const mica_status found = mica__processor_open(model, &p);
  if (found != MICA_OK && found != MICA_E_NOT_FOUND) return mica__attempt_pass(found);
  mica__attempt_end();
  for (int64_t c = 0; found == MICA_OK && c < p.channels; c++) {
    mica__text_addf(&mean, "%s%.9g", c ? "," : "", p.mean[c] / (255 * p.factor));
    mica__text_addf(&deviation, "%s%.9g", c ? "," : "", p.deviation[c] / (255 * p.factor));
  }
  mica_status status = mica__text_status(&mean);
  if (status == MICA_OK) status = mica__text_status(&deviation);
  if (status == MICA_OK && found == MICA_OK)
    status = mica__run_set_unset(run, (mica_setting[]){{"mean", mean.data}, {"deviation", deviation.data}, {0}});
  mica__text_free(&mean);
  mica__text_free(&deviation);
  return status;
}

static mica_status set_texts(mica_run *run, const mica_foundation *model, const char *path) {
  const int64_t most = mica_foundation_context(model) - model->info.first_position;
  mica__text tokenizer = {0};
  char length[24];
  snprintf(length, sizeof length, "%" PRId64, most < MOST_TOKENS ? most : MOST_TOKENS);
  mica__text_addf(&tokenizer, "%s/tokenizer.json", path);
  mica_status status = mica__text_status(&tokenizer);
  if (status == MICA_OK)
    status = mica__run_set_unset(run, (mica_setting[]){{"tokenizer", tokenizer.data}, {"length", length}, {0}});
  mica__text_free(&tokenizer);
  MICA_TRY(status);
  const int64_t asked = mica__shared_settings_of(run).length;
  if (asked <= most) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "length is %" PRId64 ", but the model %s has only %" PRId64 " positions", asked,
                    path, most);
}

static mica_status open_given(mica_run *run, const char *path, bool pictures) {
  mica_foundation **model = &run->networks->published;
  MICA_TRY(mica_foundation_open(path, NULL, model));
  const mica_foundation_info *i = &(*model)->info;
  if (!(*model)->config)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "init: %s is a GGUF file; name a folder with config.json and safetensors files", path);
  if (pictures ? !reads_pictures(i) : i->vocabulary == 0)
    return mica__fail(MICA_E_INVALID, "init: the model %s reads no %s, but the task %s has %s", path,
                      pictures ? "pictures" : "texts", run->task->name, pictures ? "pictures" : "texts");
  if (mica__common_is_set(run, MICA__SETTING_model) && strcmp(mica__common_settings_of(run).model, MODEL) != 0)
    return mica__fail(MICA_E_INVALID, "model cannot be %s, because %s has its own network; leave model out",
                      mica__common_settings_of(run).model, path);
  MICA_TRY(pictures ? set_scale(run, *model) : set_texts(run, *model, path));
  MICA_TRY(mica__run_set_unset(run, (mica_setting[]){{"lr", "5e-5"}, {0}}));
  return mica__common_set(run, MICA__SETTING_model, MODEL);
}

mica_status mica__published_open(mica_run *run, bool pictures) {
  const char *path = mica__common_settings_of(run).init;
  const bool named = !strcmp(mica__common_settings_of(run).model, MODEL);
  if (run->networks->published) return MICA_OK;
  if (named && (run->resumed || !run->parts->whole)) return open_kept(run);
  if (*path && run->parts->whole && !run->resumed && mica_foundation_is(path)) return open_given(run, path, pictures);
  if (named) return mica__fail(MICA_E_INVALID, "the network %s comes from a folder; give it with --init FOLDER", MODEL);
  return MICA_OK;
}

mica_status mica__published_check_tokens(const mica_run *run) {
  const mica_foundation *model = run->networks->published;
  const int64_t tokens = mica_tokenizer_size(run->tokenizer);
  if (!model || tokens <= model->info.vocabulary) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "the tokenizer has %" PRId64 " tokens, but the model has only %" PRId64, tokens,
                    model->info.vocabulary);
}

/* --- building --- */

/* One vector per sample: CLIP's projection, the class token of pictures, the mean of an encoder's tokens, or the last
 * token of a model that generates texts. */
static mica_value features(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value lengths, bool pictures) {
  const mica_foundation_info *i = &model->info;
  mica_foundation_build how = {.hidden = i->projection == 0, .lengths = lengths};
  *(pictures ? &how.pixels : &how.ids) = x;
  x = mica_foundation_network(nn, model, &how);
  if (!how.hidden || !x.graph) return x;
  if (pictures) return mica_squeeze(mica_slice(x, 1, 0, 1, 1), MICA_AXES(1));
  return i->causal ? mica_last_rows(x, lengths) : mica_mean_rows(x, lengths);
}

mica_value mica__published_build(const mica_run *run, mica_nn *nn, mica_value x, mica_value lengths, int64_t outputs) {
  const mica_foundation *model = run->networks->published;
  const mica_foundation_info *vision = model->info.vision ? model->info.vision : &model->info;
  const bool pictures = mica_value_is_null(lengths);
  const mica_shape shape = mica_value_shape(x);
  if (!x.graph) return x;
  if (pictures && (shape.rank != 4 || shape.dim[1] != vision->channels || shape.dim[2] != vision->picture ||
                   shape.dim[3] != vision->picture)) {
    char text[MICA_SHAPE_TEXT];
    return mica__graph_fail(x.graph, MICA_E_FORMAT,
                            "samples are %s, but the model reads %" PRId64 " channels of %" PRId64 " x %" PRId64
                            " pixels (--size %" PRId64 ", for pictures in folders)",
                            mica_shape_format(shape, text), vision->channels, vision->picture, vision->picture,
                            vision->picture);
  }
  mica_value y = features(nn, model, x, lengths, pictures);
  if (!y.graph) return y;
  y = mica_nn_dense(nn, HEAD, mica_nn_dropout(nn, y, 0.1), outputs,
                    &(mica_dense_config){.weight = {.kind = MICA_INIT_NORMAL, .value = 0.02}});
  return mica_value_dtype(y) == MICA_F32 ? y : mica_cast(y, MICA_F32);
}

/* --- weights and the copy --- */

mica_status mica__published_load(mica_run *run) {
  const mica_foundation *model = run->networks->published;
  const mica_nn *nn = mica_trainer_network(run->trainer);
  size_t missing = 0, own = 0, all = 0;
  for (size_t p = 0; p < mica_nn_parameter_count(nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, p);
    own += info->role == MICA_NN_ROLE_STATE || !strncmp(info->own_name, HEAD ".", strlen(HEAD) + 1);
    all += info->role == MICA_NN_ROLE_WEIGHT;
  }
  MICA_TRY(mica__foundation_load_part(model, nn, mica_trainer_session(run->trainer), &missing));
  if (missing > own)
    return mica__fail(MICA_E_FORMAT, "init: %s lacks weights of its network (missing: %zu)", model->path,
                      missing - own);
  return mica__run_remark(run, "%zu of %zu weights are taken from %s", all - missing, all, model->path);
}

static mica_status write_model(const mica_foundation *model, const mica_run *to) {
  char *path = mica__run_path(to, MICA__PUBLISHED_FILE), *text = NULL;
  mica_status status = path ? mica__foundation_config_text(model, &text) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica_file_write(path, text, strlen(text));
  free(text);
  free(path);
  return status;
}

mica_status mica__published_keep(const mica_run *run) {
  return run->networks->published && !run->resumed ? write_model(run->networks->published, run) : MICA_OK;
}

mica_status mica__published_copy(const mica_run *from, const mica_run *to) {
  return from->networks->published ? write_model(from->networks->published, to) : MICA_OK;
}
