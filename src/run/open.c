/* Opens runs and models, to evaluate them and to predict. */
#include "run/columns/batch_columns.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/network.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/networks.h"
#include "run/state/settings.h"
#include "run/verbs/imported.h"
#include "run/verbs/quantizer.h"

#include <mica/onnx.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mica_status take_own_widths(mica_run *run) {
  char *path = mica__run_path(run, "model.safetensors");
  if (!path) return mica__fail_nomem("a run");
  mica_status status = mica__run_take_widths(run, path);
  free(path);
  return status;
}

/* Refuses to compute in another type than f32 if the run is quantised, because it computes in integers, or if its
 * network is an ONNX model. */
static mica_status check_precision(const mica_run *run) {
  if (!run->settings->precision || !strcmp(run->settings->precision, "f32")) return MICA_OK;
  if (!mica__run_is_quantized(run) && !run->networks->network) return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED, "%s cannot be computed in %s, because %s", run->folder,
                    run->settings->precision,
                    run->networks->network
                        ? "its network is a model in ONNX; write it with mica export, then use mica run --precision"
                        : "its weights are integers");
}

/* Keeps the depth scale that the caller gave; does nothing if it is not above 0. Refuses it if the run's task has no
 * such setting. */
static mica_status take_depth_scale(mica_run *run, double scale) {
  if (!(scale > 0)) return MICA_OK;
  run->settings->depth_scale = scale;
  const mica_setting_row *row = run->task->settings ? run->task->settings->rows : NULL;
  while (row && row->name && strcmp(row->name, "depth-scale") != 0) row++;
  if (row && row->name) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "the depth scale is for runs with depth maps; the task of %s is %s", run->folder,
                    run->task->name);
}

/* Makes the trainer and loads the weights of a run whose config.json has been read. */
static mica_status load_run(mica_run *run) {
  MICA_TRY(check_precision(run));
  if (mica__common_facts_of(run).pruned.list) MICA_TRY(take_own_widths(run));
  MICA_TRY(mica__run_make_trainer(run));
  return mica__run_load_weights(run);
}

/* Opens a model that mica_run_export wrote. The model's metadata contain the config.json of its run. */
static mica_status open_model(mica_run *run) {
  MICA_TRY(mica__run_make_engine(run));
  MICA_TRY(mica_onnx_open(run->folder, &run->networks->model));
  const char *config = mica_onnx_metadata(run->networks->model, "mica.config");
  if (!config)
    return mica__fail(
        MICA_E_FORMAT,
        "%s was not written by mica export, so its inputs and answers are unknown; compute it with mica run",
        run->folder);
  return mica__run_parse_config(run, run->folder, config);
}

/* Loads an exported model. Its weights are f32, whatever type the run was trained in. */
static mica_status load_model(mica_run *run) {
  if (!run->task->input->traits.by_samples)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s is a model of the task %s, which only mica run computes; name the folder of the run instead",
                      run->folder, run->task->name);
  MICA_TRY(run->task->prepare(run));
  MICA_TRY(mica__run_note_kinds(run));
  MICA_TRY(mica__run_recall_columns(run));
  const mica_onnx_runner_config how = {.dtype = run->settings->precision ? mica__run_precision(run) : MICA_F32};
  return mica_onnx_runner_create(run->engine, run->networks->model, &how, &run->networks->runner);
}

static bool ends_in(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n > m && !strcmp(name + n - m, end);
}

/* MICA_E_INVALID if the path is a file of a run instead of the run's folder, or another file that is no model, such as
 * weights or a table. */
static mica_status check_file(const char *path) {
  static const char *const ends[] = {".safetensors", ".json", ".csv", ".html"};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  mica__text config = {0};
  bool other = strstr(name, ".tfevents.") || !strcmp(name, MICA__NETWORK_FILE);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) other = other || ends_in(path, ends[i]);
  if (!other) return MICA_OK;
  mica__text_addf(&config, "%.*sconfig.json", (int)(name - path), path);
  mica_status status = mica__text_status(&config);
  const bool within = status == MICA_OK && access(config.data, F_OK) == 0;
  mica__text_free(&config);
  MICA_TRY(status);
  if (within && slash)
    return mica__fail(MICA_E_INVALID, "%s is a file of the run in %.*s: name that folder", path,
                      slash > path ? (int)(slash - path) : 1, path);
  if (within)
    return mica__fail(MICA_E_INVALID, "%s is a file of the run in this folder: name the folder instead, which is .",
                      path);
  if (!strcmp(name, MICA__NETWORK_FILE)) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "%s cannot be opened as a model; name the folder of a run, or a model that mica export wrote",
                    path);
}

mica_status mica_run_open_as(mica_engine *engine, const char *folder, const mica_run_open_config *config,
                             mica_run **out) {
  static const char *const known[] = {"f32", "f16", "bf16"};
  struct stat about;
  const char *precision = NULL;
  const double scale = config ? config->depth_scale : 0;
  if (!folder || !out) return mica__fail(MICA_E_INVALID, "mica_run_open: a pointer is NULL");
  for (size_t i = 0; config && config->precision && i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i], config->precision)) precision = known[i];
  if (config && config->precision && !precision)
    return mica__fail(MICA_E_INVALID, "the precision cannot be \"%s\"; choose f32, f16 or bf16", config->precision);
  if (!(scale >= 0) || isinf(scale))
    return mica__fail(MICA_E_INVALID, "mica_run_open_as: depth_scale is %g, but must be a finite number of at least 0",
                      scale);
  const bool file = stat(folder, &about) == 0 && S_ISREG(about.st_mode);
  if (file) MICA_TRY(check_file(folder));
  MICA_TRY(mica__run_open_folder(engine, folder, precision, file ? open_model : mica__run_open_facts, out));
  mica_status status = take_depth_scale(*out, scale);
  if (status == MICA_OK) status = file ? load_model(*out) : load_run(*out);
  if (status == MICA_OK) return MICA_OK;
  mica_run_destroy(*out);
  *out = NULL;
  return status;
}

mica_status mica_run_open(mica_engine *engine, const char *folder, mica_run **out) {
  return mica_run_open_as(engine, folder, NULL, out);
}
