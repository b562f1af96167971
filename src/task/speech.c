/* speech: the text of a recording, letter by letter. */
#include "networks/transcriber.h"
#include "run/letters.h"
#include "run/network.h"
#include "run/run.h"
#include "task/head/letters.h"
#include "task/input/strings.h"

#define SPEECH_SETTINGS(X, S) STRINGS_SETTINGS(X, S) LETTERS_SETTINGS(X, S)
MICA__TASK_FIELDS(speech, SPEECH_SETTINGS, STRINGS_FACTS, 0);

/* These defaults were found by experiments on strings of spoken digits (2026-11-25). */
static const mica_setting defaults[] = {
    {"model", "gru"},         {"epochs", "6"},    {"batch", "8"},         {"lr", ""},         {"optimizer", "adamw"},
    {"weight-decay", "0.01"}, {"warm-up", "100"}, {"schedule", "cosine"}, {"clip-norm", "5"}, {0}};

static const mica_task_metric metrics[] = LETTERS_METRICS;
static const char *const answers[] = LETTERS_ANSWERS;

static const mica_onnx_text export_docs[] = {
    {"sound", "a recording, numbers from -1 to 1 at \"rate\" samples a second; 0.4 s of zeros behind it let it end"},
    {"scores", "log probabilities a step: at index 0 of no letter, at index k of the k-th of the \"alphabet\", from 1"},
    {0}};

/* Only the input decides whether data suit the task. The head cannot: it looks for a column of letters, which data have
 * only after they are opened for this task. */
static int32_t suits(const mica_dataset *data) { return mica__input_strings.suits(data); }

static mica_status transcribes(mica_run *run, const mica_text_search *search, mica__transcription *how) {
  *how = (mica__transcription){.engine = run->engine,
                               .network = mica__strings_network(run),
                               .time = mica__strings_time_of(run),
                               .nn = mica__run_building(run),
                               .share = mica_trainer_test_session(run->trainer),
                               .classes = mica__letters_classes(run)};
  MICA_TRY(mica__letters_read(run, &how->letters));
  return mica__letters_search(run, search, &how->beam, &how->model, &how->searches);
}

const mica__task_row mica__task_speech = {
    .name = "speech",
    .text = "what recordings say, as text, for mica transcribe",
    MICA__COMPOSED(strings, letters),
    .suits = suits,
    .open = mica__strings_open,
    .answer_columns = answers,
    .metrics = metrics,
    MICA__TASK_LISTS(speech),
    .defaults = defaults,
    .export_docs = export_docs,
    .verbs.search = mica__letters_set_search,
    .verbs.transcribes = transcribes,
    .closes = mica__letters_close,
    .answers = mica__letters_answers,
};
