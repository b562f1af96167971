/* Makes a quantised run of a trained one: calibrates, rounds and writes it. */
#include "base/signature.h"
#include "base/text.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/network.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/state/facts.h"
#include "run/state/parts.h"
#include "run/state/settings.h"
#include "run/verbs/imported.h"
#include "run/verbs/published.h"
#include "run/verbs/quantizer.h"
#include "train/train.h"

#include <mica/io.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "model.safetensors"
#define TOKENIZER "tokenizer.json"
#define SAMPLES 512

/* A quantisation under way. */
typedef struct work {
  mica_run *run;
  const mica_run_quantize_config *config;
  mica_quantize_settings how;
  mica_calibration *calibration;
  mica_run target; /* only its folder is set */
  char *from, *to; /* files of weights */
} work;

static mica_part part_of(const mica_run *run) {
  return run->task->input->views.calibrates ? run->task->input->views.calibrates(run) : MICA_PART_TRAIN;
}

/* Opens the data to calibrate with: the part that the task calibrates with, or the test part if the data lack that
 * part. */
static mica_status open_data(work *w, mica_dataset **out) {
  mica_run *run = w->run;
  const char *path = w->config->data ? w->config->data : run->data;
  mica_dataset *data = NULL;
  bool all = false;
  mica_part part = part_of(run);
  mica_status status = mica__run_open_given(run, path, part, &all, &data);
  if (status == MICA_E_NOT_FOUND) status = mica__run_open_given(run, path, part = MICA_PART_TEST, &all, &data);
  MICA_TRY(status);
  if (mica_dataset_count(data) > 0) return mica__run_make_ready(run, part, data, false, out);
  mica_dataset_destroy(data);
  return mica__fail(MICA_E_INVALID, "%s holds no samples to calibrate with", path);
}

/* Measures the inputs of layers while the network predicts samples. */
static mica_status measure(work *w) {
  mica_run *run = w->run;
  const mica_observer observer = mica__calibration_observer(w->calibration);
  /* A run that was just trained still has its samples, which may exist nowhere else. */
  const mica_dataset *data = w->config->data ? NULL : run->parts->at[part_of(run)].data;
  mica_dataset *opened = NULL, *shown = NULL;
  mica_loader *loader = NULL;
  if (!data) MICA_TRY(open_data(w, &opened));
  if (!data) data = opened;
  /* The data may be sorted by class, so samples are taken from all over instead of the beginning. */
  const int64_t wanted = w->config->samples ? w->config->samples : SAMPLES;
  const double share = (double)wanted / (double)mica_dataset_count(data);
  mica_dataset *some = NULL, *rest = NULL;
  mica_status status = MICA_OK;
  if (share < 1) status = mica_dataset_split(data, share, (uint64_t)mica__common_settings_of(run).seed, &some, &rest);
  if (status == MICA_OK)
    status = mica__run_load(run, MICA_PART_TEST, some ? some : data, MICA_RESIDENCE_AUTO, &shown, &loader);
  if (status == MICA_OK) {
    const mica_batch_source source = mica_loader_source(loader);
    status = mica_trainer_observe(run->trainer, &observer, &source, wanted);
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(shown);
  mica_dataset_destroy(some);
  mica_dataset_destroy(rest);
  mica_dataset_destroy(opened);
  return status;
}

/* Writes equalised weights to the new folder, and loads them into the network to calibrate it with them. */
static mica_status equalize(work *w, mica_report *report) {
  mica_calibration *structure = NULL;
  mica_safetensors *file = NULL;
  size_t pairs = 0;
  MICA_TRY(mica_calibration_create(&structure));
  const mica_observer observer = mica__calibration_observer(structure);
  mica_status status = mica__train_outline(&w->run->training, &observer);
  if (status == MICA_OK) status = mica_safetensors_open(w->from, &file);
  if (status == MICA_OK) status = mica_equalize_weights(structure, file, w->to, &pairs);
  mica_safetensors_close(file);
  mica_calibration_destroy(structure);
  MICA_TRY(status);
  MICA_TRY(mica_nn_load(mica_trainer_test_network(w->run->trainer), mica_trainer_test_session(w->run->trainer), w->to,
                        NULL));
  MICA_TRY(mica_report_begin(report, "Equalisation"));
  return mica_report_add_number(report, "pairs of layers", (double)pairs);
}

/* MICA_E_UNSUPPORTED if the caller asked for 4 bits and no layer has them. Does not apply if the setting "quantize"
 * asked for them. */
static mica_status check_bits(const work *w, const mica_report *report) {
  if (w->config->how.bits != 4 || *mica__common_typed(w->run, MICA__SETTING_quantize)) return MICA_OK;
  for (size_t s = 0; s < mica_report_count(report); s++) {
    const mica_item *layers = mica_report_find(report, s, "layers");
    for (size_t r = 0; layers && r < layers->rows; r++)
      if (layers->numbers[r * layers->columns] == 4) return MICA_OK;
  }
  return mica__fail(MICA_E_UNSUPPORTED,
                    "no layer of %s can have weights of 4 bits; embeddings, transposed convolutions and rows of odd "
                    "length cannot; choose 8 bits",
                    w->run->folder);
}

static mica_status write_weights(work *w, mica_report *report) {
  mica_safetensors *file = NULL;
  MICA_TRY(mica_safetensors_open(w->config->equalize ? w->to : w->from, &file));
  mica_status status = mica_quantize_weights(w->calibration, &w->how, file, w->to, report);
  mica_safetensors_close(file);
  return status;
}

mica_status mica__run_copy_tokenizer(const mica_run *run, const mica_run *target) {
  unsigned char *data = NULL;
  size_t size = 0;
  char *from = mica__run_path(run, TOKENIZER), *to = mica__run_path(target, TOKENIZER);
  mica_status status = from && to ? MICA_OK : mica__fail_nomem("a run");
  if (status == MICA_OK && access(from, F_OK) == 0) {
    status = mica__file_read_signed(from, &data, &size);
    if (status == MICA_OK) status = mica_file_write(to, data, size);
    free(data);
  }
  free(from);
  free(to);
  return status;
}

/* Writes config.json of the new run: this run's, and the number of bits of the quantised weights. The layers that are
 * not rounded compute in f32. */
static mica_status write_config(const work *w) {
  mica_run copy = *w->run;
  mica__run_settings settings = *copy.settings;
  mica__run_facts facts = *copy.facts;
  char precision[] = "f32", name[] = MICA__FACT_QUANTIZED;
  double bits = w->how.bits;
  copy.folder = (char *)w->config->folder;
  copy.settings = &settings;
  copy.facts = &facts;
  settings.values[MICA__SETTING_precision] = precision;
  if (facts.count == MICA__FACTS)
    return mica__fail(MICA_E_OVERFLOW,
                      "config.json of a run can hold %d values besides its settings, so \"%s\" cannot be added",
                      MICA__FACTS, name);
  facts.list[facts.count++] = (mica__fact){.name = name, .numbers = &bits, .count = 1};
  mica__facts_changed(&copy);
  MICA_TRY(mica__imported_copy(w->run, &copy));
  MICA_TRY(mica__published_copy(w->run, &copy));
  return mica__run_write_config(&copy);
}

static mica_status report_files(const work *w, mica_report *report) {
  struct stat before, after;
  const bool there = stat(w->from, &before) == 0;
  if (!there || stat(w->to, &after) != 0)
    return mica__fail(MICA_E_IO, "the size of %s cannot be read", there ? w->to : w->from);
  MICA_TRY(mica_report_begin(report, "Files"));
  MICA_TRY(mica_report_add_number(report, "bytes before", (double)before.st_size));
  MICA_TRY(mica_report_add_number(report, "bytes", (double)after.st_size));
  return mica_report_add_number(report, "times smaller", (double)before.st_size / (double)after.st_size);
}

static mica_status quantize(work *w, mica_report *report) {
  const bool learned = *mica__common_typed(w->run, MICA__SETTING_quantize);
  const mica_observer observer = mica__calibration_observer(w->calibration);
  if (w->config->equalize) MICA_TRY(equalize(w, report));
  if (w->how.weights_only || learned)
    MICA_TRY(mica__train_outline(&w->run->training, &observer));
  else
    MICA_TRY(measure(w));
  MICA_TRY(write_weights(w, report));
  MICA_TRY(check_bits(w, report));
  MICA_TRY(mica__run_copy_tokenizer(w->run, &w->target));
  MICA_TRY(write_config(w));
  return report_files(w, report);
}

static mica_status check(const mica_run *run, const mica_run_quantize_config *config) {
  const char *learned = mica__common_typed(run, MICA__SETTING_quantize);
  if (!run->folder) return mica__fail(MICA_E_STATE, "a run must have a folder to be quantised");
  if (mica__run_is_quantized(run)) return mica__fail(MICA_E_STATE, "%s is quantised already", run->folder);
  if (config->how.bits != 0 && config->how.bits != 8 && config->how.bits != 4)
    return mica__fail(MICA_E_INVALID, "weights cannot have %d bits; choose 8 or 4", (int)config->how.bits);
  if (*learned && ((config->how.bits && config->how.bits != atoi(learned)) || config->how.weights_only ||
                   config->how.keep || config->equalize))
    return mica__fail(
        MICA_E_STATE,
        "%s was trained with weights of %s bits and inputs of 8 bits; leave out weights-only, keep, equalize "
        "and any bits but %s",
        run->folder, learned, learned);
  MICA_TRY(mica__run_check_free(config->folder));
  return mica__run_check_apart(config->folder, config->data ? config->data : run->data);
}

void mica__run_clear(const mica_run *target) {
  static const char *const names[] = {MODEL, TOKENIZER, "config.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = mica__run_path(target, names[i]);
    if (path) unlink(path);
    free(path);
  }
  mica__folder_remove(target->folder, target->made_folders);
}

/* Frees the work; if quantisation failed, removes what it has written. */
static void drop(work *w, bool failed) {
  if (failed) mica__run_clear(&w->target);
  mica_calibration_destroy(w->calibration);
  free(w->from);
  free(w->to);
}

mica_status mica_run_quantize(mica_run *run, const mica_run_quantize_config *config, mica_report **out) {
  mica_report *report = NULL;
  work w = {.run = run, .config = config};
  if (!run || !config || !config->folder)
    return mica__fail(MICA_E_INVALID, "mica_run_quantize: run, config or its folder is NULL");
  MICA_TRY(check(run, config));
  w.how = config->how;
  if (!w.how.bits)
    w.how.bits = *mica__common_typed(run, MICA__SETTING_quantize) ? mica__run_learned_settings(run).bits : 8;
  w.target.folder = (char *)config->folder;
  MICA_TRY(mica__run_make_folder(&w.target));
  w.from = mica__run_path(run, MODEL);
  w.to = mica__run_path(&w.target, MODEL);
  mica_status status = w.from && w.to ? mica_report_create(&report) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica_calibration_create(&w.calibration);
  if (status == MICA_OK) status = quantize(&w, report);
  /* The network has the equalised weights: loads the run's own again. */
  if (config->equalize) {
    char *sentence = status == MICA_OK ? NULL : mica__strdup(mica_error_message());
    const mica_status loaded = mica__run_load_weights(run);
    status = status == MICA_OK ? loaded : mica__fail(status, "%s", sentence ? sentence : "the run is not quantised");
    free(sentence);
  }
  drop(&w, status != MICA_OK);
  if (status == MICA_OK && out)
    *out = report;
  else
    mica_report_destroy(report);
  return status;
}
