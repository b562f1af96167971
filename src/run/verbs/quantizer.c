/* Networks with a quantizer: in quantised runs, and in runs that train with rounded weights. */
#include "run/verbs/quantizer.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/run.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "train/train.h"

#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "model.safetensors"

bool mica__run_is_quantized(const mica_run *run) { return mica__common_facts_of(run).quantized.list != NULL; }

static mica_status values_of(void *user, const mica_value **values, size_t *count) {
  return mica_calibration_values(user, values, count);
}

static mica_status note(void *user, mica_session *session, size_t first) {
  return mica_calibration_note(user, session, first);
}

mica_observer mica__calibration_observer(mica_calibration *calibration) {
  return (mica_observer){.hook = mica_calibration_hook, .user = calibration, .values = values_of, .note = note};
}

static mica_status open_quantizer(mica_run *run) {
  mica_safetensors *file = NULL;
  char *path = mica__run_path(run, MODEL);
  mica_status status = path ? mica_safetensors_open(path, &file) : mica__fail_nomem("a run");
  free(path);
  if (status == MICA_OK) status = mica_quantizer_open(file, &run->networks->quantizer);
  mica_safetensors_close(file);
  return mica__run_damaged(run, MODEL, status);
}

mica_quantize_settings mica__run_learned_settings(const mica_run *run) {
  const char *bits = mica__common_typed(run, MICA__SETTING_quantize);
  return (mica_quantize_settings){.bits = (int32_t)strtol(bits, NULL, 10)};
}

/* The layers are not known until the network is built, so the step is built once to list them. */
static mica_status create_quantizer(mica_run *run, const mica_trainer_config *c) {
  mica_calibration *calibration = NULL;
  const mica_quantize_settings settings = mica__run_learned_settings(run);
  MICA_TRY(mica_calibration_create(&calibration));
  const mica_observer observer = mica__calibration_observer(calibration);
  mica_status status = mica__train_outline(c, &observer);
  if (status == MICA_OK) status = mica_quantizer_create(calibration, &settings, &run->networks->quantizer);
  mica_calibration_destroy(calibration);
  return status;
}

mica_status mica__run_add_quantizer(mica_run *run, mica_trainer_config *c) {
  const bool integers = mica__run_is_quantized(run);
  if (integers && run->resumed)
    return mica__fail(MICA_E_STATE, "%s is quantised and cannot be trained; quantise after training", run->folder);
  if (!integers && !*mica__common_typed(run, MICA__SETTING_quantize)) return MICA_OK;
  MICA_TRY(integers ? open_quantizer(run) : create_quantizer(run, c));
  c->hook = mica_quantize_hook;
  c->hook_user = run->networks->quantizer;
  /* A quantised run has only the weights that tests use, moving averages or not, so it keeps no averages of its own. */
  if (integers) c->optimizer.ema = 0;
  return MICA_OK;
}

/* How many batches are read to find the initial quantisation steps of layer inputs. */
#define FIRST_BATCHES 8

mica_status mica__run_begin_steps(mica_run *run) {
  mica_calibration *calibration = NULL;
  mica_loader *loader = run->parts->at[MICA_PART_TRAIN].loader;
  if (!run->networks->quantizer || !loader) return MICA_OK;
  const mica_batch_source source = mica_loader_source(loader);
  MICA_TRY(mica_calibration_create(&calibration));
  const mica_observer observer = mica__calibration_observer(calibration);
  const int64_t samples = FIRST_BATCHES * mica__common_settings_of(run).batch;
  mica_status status = mica_trainer_observe(run->trainer, &observer, &source, samples);
  if (status == MICA_OK)
    status = mica_quantizer_begin(run->networks->quantizer, calibration, mica_trainer_session(run->trainer));
  mica_calibration_destroy(calibration);
  return status;
}
