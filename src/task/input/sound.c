/* Recordings, whose middle part is read by networks over log mel spectra (networks/keywords.h). */
#include "task/input/sound.h"
#include "data/dataset.h"
#include "networks/keywords.h"
#include "run/columns/columns.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/network.h"
#include "run/predict/recordings.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

static const char *const networks[] = {"dscnn", "cnn_gru", NULL};

MICA__SETTINGS(sound, SOUND_SETTINGS);
MICA__FACTS(sound, SOUND_FACTS, 2);

static int32_t suits(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_SOUND) ? 20 : 0; }

/* --- data --- */

static void opens(const mica_run *run, mica_dataset_config *config) {
  config->like = run->parts->whole;
  const double rate = facts_of(run).rate;
  config->rate = (int32_t)(rate > 0 ? rate : (double)settings_of(run).rate);
}

/* --- preparation --- */

static mica_status prepare(mica_run *run) {
  const double zero = 0, one = 1;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  /* If there are texts too, the setting "model" may be encoder; recordings then use dscnn. */
  if (!strcmp(mica__common_settings_of(run).model, "cnn_gru"))
    MICA_TRY(mica__task_check_heads("cnn_gru", settings_of(run).width, 0));
  if (!run->parts->whole) return MICA_OK;
  const mica_column *sound = mica__dataset_find(run->parts->whole, MICA_COLUMN_KIND_SOUND);
  const mica_column *label = mica__run_find_label(run->parts->whole);
  const double rate = mica_dataset_rate(run->parts->whole);
  if (!sound || label == sound)
    return mica__fail(MICA_E_FORMAT, "%s has no %s: the task %s wants an answer for each recording", run->data,
                      sound ? "answers" : "recordings", run->task->name);
  if (rate <= 0)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: the sample rate is not known, because the recordings were not read from files; open files with "
        "mica_dataset_open",
        run->data);
  if (rate < 1000)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the sample rate is %g Hz, but must be at least 1000 Hz; set another with --rate", run->data,
                      rate);
  const double input[] = {1, floor(rate * settings_of(run).seconds)};
  MICA_TRY(mica__run_note_numbers(run, "rate", &rate, 1));
  /* If a task has rows beside recordings, the stored value "input" describes the rows. */
  if (run->task->input->traits.rows) return MICA_OK;
  MICA_TRY(mica__run_note_numbers(run, "input", input, 2));
  MICA_TRY(mica__run_note_numbers(run, "mean", &zero, 1));
  MICA_TRY(mica__run_note_numbers(run, "deviation", &one, 1));
  return mica__run_note_text(run, "input_column", sound->name);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  (void)run;
  if (mica__dataset_find(data, MICA_COLUMN_KIND_SOUND)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no recordings, but the run was trained on them", mica_dataset_name(data));
}

/* --- the network --- */

/* Builds cnn_gru, which reads the log mel spectrum of one frame per step. */
static mica_value sequence_answers(mica_nn *nn, const mica_run *run, mica_value x, int64_t outputs) {
  const mica_model_config config = {.name = "cnn_gru",
                                    .classes = outputs,
                                    .width = settings_of(run).width,
                                    .dropout = settings_of(run).dropout,
                                    .sequence.pooled = true};
  return mica__run_answers(
      run, mica_model_build(nn, mica_transpose(mica_squeeze(x, MICA_AXES(1)), MICA_AXES(0, 2, 1)), &config), outputs);
}

static mica__keywords keywords_of(const mica_run *run) {
  const mica__sound_settings s = settings_of(run);
  return (mica__keywords){
      .rate = facts_of(run).rate, .mels = s.mels, .masks = s.masks, .width = s.width, .dropout = s.dropout};
}

/* Builds the network that reads recordings x (N, samples), and returns its `outputs` outputs per recording. */
static mica_value answers(mica_nn *nn, const mica_run *run, mica_value x, int64_t outputs) {
  const mica__keywords k = keywords_of(run);
  x = mica__keywords_spectra(nn, &k, x);
  if (!strcmp(mica__common_settings_of(run).model, "cnn_gru")) return sequence_answers(nn, run, x, outputs);
  return mica__keywords_build(nn, &k, x, outputs);
}

/* The number of samples from the middle of a recording that the network reads. */
static int64_t heard(const mica_run *run) { return (int64_t)floor(facts_of(run).rate * settings_of(run).seconds); }

static mica_value hears(mica_nn *nn, const mica_run *run, const mica_batch_values *batch) {
  const mica_value x = mica_batch_value(batch, "sound"), lengths = mica_batch_value(batch, "sound.length");
  return mica__keywords_middles(nn, x, lengths, heard(run), settings_of(run).shift * facts_of(run).rate);
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  return answers(nn, run, hears(nn, run, batch), outputs);
}

/* The input of an exported model: N whole recordings of T samples each, for any N and T. */
static const mica_batch_column columns[] = {{"sound", MICA_F32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};

static mica_value exported(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  mica_value x = mica__keywords_whole_middles(mica_batch_value(batch, "sound"), heard(run));
  return answers(nn, run, x, outputs);
}

/* --- predictions --- */

static mica_status visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  return mica__recordings_visit(run, (int32_t)facts_of(run).rate, given, fn, user);
}

const mica__input mica__input_sound = {
    .name = "sound",
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .fits = fits,
    .networks = networks,
    .network = network,
    .onnx.input = hears,
    .onnx.columns = columns,
    .onnx.network = exported,
    .samples.visit = visit,
    .samples.look = mica__recordings_look,
};
