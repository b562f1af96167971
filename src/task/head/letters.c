/* Learns texts letter by letter, and measures the shares of wrong words and letters. */
#include "task/head/letters.h"
#include "networks/recogniser.h"
#include "run/columns/columns.h"
#include "run/letters.h"
#include "run/ranks.h"
#include "run/run.h"

#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT "scores"

static const mica_column *label_of(const mica_dataset *data) {
  return mica_dataset_column(data, mica_dataset_column_index(data, "tokens"));
}

static bool suits(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_TOKENS; }

/* --- the step --- */

/* Converts code points (N, S) to indices of classes. Returns a null value if the letters of the run cannot be read. */
static mica_value classes_of(const mica_run *run, mica_value tokens) {
  int32_t *letters = NULL;
  if (mica__letters_read(run, &letters) != MICA_OK) return (mica_value){0};
  mica_value classes = mica__letters_as_classes(tokens, letters, mica__letters_classes(run) - 1);
  free(letters);
  return classes;
}

/* What a student learns from its teacher: the logits z (N, T, C), one class per step. Only the first steps[n] steps of
 * recording n have a weight; the weights of each recording sum to 1. */
static mica_answer answer_of(mica_value z, mica_value steps) {
  const mica_shape one_each = MICA_SHAPE(MICA_DYNAMIC);
  mica_value each = mica_unsqueeze(mica_cast(steps, MICA_F32), MICA_AXES(1));
  mica_value ones = mica_full_like(mica_squeeze(mica_slice(z, 2, 0, 1, 1), MICA_AXES(2)), 1);
  mica_value counts = mica_cast(mica_less(mica_cumsum(ones, 1, true, false), each), MICA_F32);
  mica_value weight = mica_div(counts, mica_maximum(each, mica_full_like(each, 1)));
  return (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES,
                       .value = mica_flatten(z, 2),
                       .weight = mica_reshape(weight, one_each),
                       .count = mica_sum(mica_full_like(each, 1), MICA_ALL_AXES, false)};
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = mica_log_softmax(z, 2);
  out->output_names[0] = OUTPUT;
}

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  mica_value steps = run->task->input->steps(run, batch);
  if (!mica_nn_is_training(nn)) {
    exports(run, z, out);
    out->outputs[1] = steps, out->output_names[1] = "steps";
  }
  if (mica_value_is_null(z)) return;
  out->answers[0] = answer_of(z, steps);
  if (!mica_batch_has(batch, "tokens")) return;
  mica_value classes = classes_of(run, mica_batch_value(batch, "tokens"));
  out->loss = mica_ctc_loss(mica_transpose(z, MICA_AXES(1, 0, 2)), classes, steps,
                            mica_batch_value(batch, "tokens.length"), &(mica_ctc_config){.zero_infinity = true});
}

/* --- error rates --- */

/* The network's output for a batch, and the true texts, downloaded. counts[i]: the steps of recording i. letters (n,
 * most): the code points of the true texts. lengths[i]: the code points of text i. */
typedef struct scored {
  float *scores; /* (n, steps, classes) */
  int32_t *counts, *letters, *lengths;
  int64_t steps, most; /* steps: most steps in a recording of the batch; most: most code points in a text */
} scored;

static mica_status download(mica_run *run, const mica_tensor *tensor, void **data, int64_t *columns) {
  if (!tensor) return mica__fail(MICA_E_STATE, "a batch has no texts, or the network no scores (an error in Mica)");
  if (columns) *columns = mica_tensor_shape(tensor).dim[1];
  if (!(*data = malloc(mica_tensor_bytes(tensor) + 1))) return mica__fail_nomem("texts");
  return mica_tensor_download(mica_engine_queue(run->engine), tensor, *data, mica_tensor_bytes(tensor));
}

static const mica_tensor *tensor_of(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return batch->tensors[i].tensor;
  return NULL;
}

/* Predicts a batch without giving the network its answers. */
static mica_status score(mica_run *run, const mica_batch *batch, scored *s) {
  mica_feed *feeds = calloc(batch->tensor_count + 1, sizeof *feeds);
  mica_batch blind = {.count = batch->count, .tensors = feeds};
  if (!feeds) return mica__fail_nomem("texts");
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!mica__run_is_answer(run, batch->tensors[i].name)) feeds[blind.tensor_count++] = batch->tensors[i];
  mica_status status = mica_trainer_predict(run->trainer, &blind);
  free(feeds);
  if (status == MICA_OK)
    status = download(run, mica_trainer_output(run->trainer, OUTPUT), (void **)&s->scores, &s->steps);
  if (status == MICA_OK) status = download(run, mica_trainer_output(run->trainer, "steps"), (void **)&s->counts, NULL);
  if (status == MICA_OK) status = download(run, tensor_of(batch, "tokens"), (void **)&s->letters, &s->most);
  if (status == MICA_OK) status = download(run, tensor_of(batch, "tokens.length"), (void **)&s->lengths, NULL);
  return status;
}

static mica_status add_errors(const mica_run *run, const scored *s, int64_t i, mica_text_errors *errors) {
  const int64_t classes = mica__letters_classes(run), steps = s->counts[i] < s->steps ? s->counts[i] : s->steps;
  mica__text said = {0};
  mica__heard heard = {0};
  mica__text_add(&said, "");
  for (int64_t k = 0; k < s->lengths[i]; k++) mica__letter_add(&said, s->letters[i * s->most + k]);
  mica_status status = mica__text_status(&said);
  if (status == MICA_OK) status = mica__letters_hear(run, s->scores + i * s->steps * classes, steps, &heard);
  if (status == MICA_OK) status = mica_text_errors_add(errors, said.data, heard.text.data);
  mica__text_free(&said);
  mica__heard_free(&heard);
  return status;
}

static mica_status add_batch(mica_run *run, const mica_batch *batch, mica_text_errors *errors) {
  scored s = {0};
  mica_status status = score(run, batch, &s);
  for (int64_t i = 0; status == MICA_OK && i < batch->count; i++) status = add_errors(run, &s, i, errors);
  free(s.scores);
  free(s.counts);
  free(s.letters);
  free(s.lengths);
  return status;
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  mica_text_errors errors = {0};
  MICA_TRY(source->seek(source->user, 0, 0));
  mica_batch batch = {0};
  for (uint64_t n = 0;; n++) {
    MICA_TRY(source->next(source->user, mica_engine_queue(run->engine), &batch));
    if (!batch.count) break;
    if (mica__run_decodes(run, n)) MICA_TRY(add_batch(run, &batch, &errors));
  }
  int64_t all[] = {errors.word_edits, errors.words, errors.character_edits, errors.characters};
  MICA_TRY(mica__run_add_ranks(run, all, 4));
  errors = (mica_text_errors){all[0], all[1], all[2], all[3]};
  if (errors.words > 0) MICA_TRY(mica_metrics_add(m, "wer", mica_word_error_rate(&errors)));
  return errors.characters > 0 ? mica_metrics_add(m, "cer", mica_character_error_rate(&errors)) : MICA_OK;
}

const mica__head mica__head_letters = {
    .name = "letters",
    .label = label_of,
    .suits = suits,
    .output = OUTPUT,
    .outputs = mica__letters_classes,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = mica__letters_section,
    .shows.report = mica__letters_report,
};
