/* What becomes of the scores of the task speech: texts, error rates, predictions, reports. */
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/ranks.h"
#include "run/state/evaluation.h"
#include "task/input/strings.h"

#include "base/arith.h"

#include <math.h>
#include <mica/speech.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the table of worst errors, and recordings that are shown as pictures. */
#define WORST 20
#define SHOWN 4

/* --- decoding --- */

/* The labels of a recording's scores (steps, classes); at (may be NULL) gets the step of each, -1 by a beam. */
static mica_status decode(const mica_run *run, const float *scores, int64_t steps, int32_t *labels, int32_t *at,
                          int64_t *count) {
  const int64_t classes = mica__speech_classes(run);
  const mica__speech_decoding *decoding = run->task_state;
  mica_ctc_beam_config search = decoding ? decoding->search : (mica_ctc_beam_config){0};
  if (!search.beam) search.beam = (int32_t)mica_run_number(run, "beam");
  for (int64_t i = 0; at && i < steps; i++) at[i] = -1;
  if (search.beam > 0 || search.text) return mica_ctc_beam(scores, steps, classes, &search, labels, count, NULL);
  *count = mica_ctc_greedy(scores, steps, classes, 0, labels, at);
  return MICA_OK;
}

/* The outputs of a batch on the host. */
typedef struct scored {
  float *scores, *spectra; /* (n, steps, classes), (n, mels, frames) */
  int32_t *counts, *labels, *at;
  int64_t steps, mels, frames;
} scored;

static void free_scored(scored *s) {
  free(s->scores);
  free(s->spectra);
  free(s->counts);
  free(s->labels);
  free(s->at);
  *s = (scored){0};
}

static mica_status fetch(mica_run *run, const char *name, void **data, mica_shape *shape) {
  const mica_tensor *tensor = mica_trainer_output(run->trainer, name);
  if (!tensor) return mica__fail(MICA_E_STATE, "the network has no %s", name);
  *shape = mica_tensor_shape(tensor);
  if (!(*data = malloc(mica_tensor_bytes(tensor) + 1))) return mica__fail_nomem("scores");
  return mica_tensor_download(mica_engine_queue(run->engine), tensor, *data, mica_tensor_bytes(tensor));
}

static mica_status score(mica_run *run, const mica_feed *feeds, int64_t n, scored *s) {
  const mica_batch batch = {.count = n, .tensors = feeds, .tensor_count = 2};
  mica_shape shape;
  MICA_TRY(mica_trainer_predict(run->trainer, &batch));
  MICA_TRY(fetch(run, "steps", (void **)&s->counts, &shape));
  MICA_TRY(fetch(run, "spectra", (void **)&s->spectra, &shape));
  s->mels = shape.dim[1];
  s->frames = shape.dim[2];
  MICA_TRY(fetch(run, "scores", (void **)&s->scores, &shape));
  s->steps = shape.dim[1];
  s->labels = malloc((size_t)s->steps * sizeof *s->labels + 1);
  s->at = malloc((size_t)s->steps * sizeof *s->at + 1);
  return s->labels && s->at ? MICA_OK : mica__fail_nomem("texts");
}

/* The text of recording i of a batch, whose labels are *count then. */
static mica_status text_of(const mica_run *run, const scored *s, int64_t i, int64_t *count, mica__text *text) {
  const int64_t classes = mica__speech_classes(run), steps = s->counts[i] < s->steps ? s->counts[i] : s->steps;
  MICA_TRY(decode(run, s->scores + i * s->steps * classes, steps, s->labels, s->at, count));
  return mica__speech_text_of(run, s->labels, *count, text);
}

/* --- evaluation --- */

static mica_status spell(const int32_t *letters, int64_t count, mica__text *text) {
  mica__text_add(text, "");
  for (int64_t k = 0; k < count; k++) mica__speech_add_letter(text, letters[k]);
  return mica__text_status(text);
}

static const mica_tensor *tensor_of(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return batch->tensors[i].tensor;
  return NULL;
}

static mica_status download(const mica_run *run, const mica_tensor *tensor, int32_t **data) {
  if (!tensor) return mica__fail(MICA_E_STATE, "a batch has no texts");
  if (!(*data = malloc(mica_tensor_bytes(tensor) + 1))) return mica__fail_nomem("texts");
  return mica_tensor_download(mica_engine_queue(run->engine), tensor, *data, mica_tensor_bytes(tensor));
}

static mica_status add_errors(const mica_run *run, const scored *s, int64_t i, const int32_t *truth, int64_t letters,
                              mica_text_errors *errors) {
  mica__text said = {0}, heard = {0};
  int64_t count = 0;
  mica_status status = spell(truth, letters, &said);
  if (status == MICA_OK) status = text_of(run, s, i, &count, &heard);
  if (status == MICA_OK) status = mica_text_errors_add(errors, said.data, heard.data);
  mica__text_free(&said);
  mica__text_free(&heard);
  return status;
}

static mica_status add_batch(mica_run *run, const mica_batch *batch, mica_text_errors *errors) {
  const mica_feed feeds[] = {{"sound", tensor_of(batch, "sound")}, {"sound.length", tensor_of(batch, "sound.length")}};
  const mica_tensor *tokens = tensor_of(batch, "tokens");
  int32_t *letters = NULL, *lengths = NULL;
  scored s = {0};
  if (!feeds[0].tensor || !feeds[1].tensor) return mica__fail(MICA_E_STATE, "a batch has no recordings");
  mica_status status = download(run, tokens, &letters);
  if (status == MICA_OK) status = download(run, tensor_of(batch, "tokens.length"), &lengths);
  if (status == MICA_OK) status = score(run, feeds, batch->count, &s);
  for (int64_t i = 0; status == MICA_OK && i < batch->count; i++)
    status = add_errors(run, &s, i, letters + i * mica_tensor_shape(tokens).dim[1], lengths[i], errors);
  free(letters);
  free(lengths);
  free_scored(&s);
  return status;
}

mica_status mica__speech_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
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

/* --- one recording --- */

/* A recording with what the network makes of it. */
typedef struct heard {
  scored s;
  int64_t count;  /* of labels */
  int64_t frames; /* of its spectra, before those of what it is padded with */
  mica__text text;
} heard;

static void free_heard(heard *h) {
  free_scored(&h->s);
  mica__text_free(&h->text);
  *h = (heard){0};
}

/* samples has the zeros behind it already. */
static mica_status hear(mica_run *run, const float *samples, int64_t length, heard *h) {
  const mica__speech_time t = mica__speech_time_of(run);
  mica_tensor *tensors[2] = {NULL, NULL};
  mica_status status = mica__run_feed_sound(run, samples, length, tensors);
  const mica_feed feeds[] = {{"sound", tensors[0]}, {"sound.length", tensors[1]}};
  if (status == MICA_OK) status = score(run, feeds, 1, &h->s);
  if (status == MICA_OK) status = text_of(run, &h->s, 0, &h->count, &h->text);
  h->frames = length < t.length ? 0 : mica__min(1 + (length - t.length) / t.hop, h->s.frames);
  mica_tensor_destroy(tensors[0]);
  mica_tensor_destroy(tensors[1]);
  return status;
}

static mica_status add_prediction(mica_run *run, const char *name, const float *samples, int64_t length,
                                  const char *truth, mica_report *p) {
  const mica__speech_time t = mica__speech_time_of(run);
  heard h = {0};
  mica_status status = hear(run, samples, length, &h);
  if (status == MICA_OK) status = mica_report_begin(p, name);
  if (status == MICA_OK && truth) status = mica_report_add_text(p, "truth", truth);
  if (status == MICA_OK) status = mica_report_add_text(p, "text", h.text.data);
  if (status == MICA_OK)
    status = mica_report_add_number(p, "seconds", (double)(length - t.tail) / mica__run_fact_number(run, "rate", 1));
  free_heard(&h);
  return status;
}

static mica_status predict_files(mica_run *run, const mica_run_input *input, mica_report *p) {
  const mica__speech_time t = mica__speech_time_of(run);
  for (size_t i = 0; i < input->file_count; i++) {
    float *samples = NULL, *longer = NULL;
    int64_t length = 0;
    const int32_t rate = (int32_t)mica__run_fact_number(run, "rate", 0);
    mica_status status = mica_sound_read(input->files[i], rate, &samples, &length, NULL);
    if (status != MICA_OK) {
      MICA_TRY(mica__run_pass_file(run, input, input->files[i], status));
      continue;
    }
    if ((longer = calloc((size_t)(length + t.tail), sizeof *longer)))
      memcpy(longer, samples, (size_t)length * sizeof *longer);
    else
      status = mica__fail_nomem(input->files[i]);
    mica_free(samples);
    if (status == MICA_OK) status = add_prediction(run, input->files[i], longer, length + t.tail, NULL, p);
    free(longer);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* A sample of a dataset: its sound and what is said in it, the caller's to free after a failure too. */
static mica_status read_sample(const mica_dataset *data, uint64_t i, float **samples, int64_t *length,
                               mica__text *truth) {
  const size_t sound = mica_dataset_column_index(data, "sound"), tokens = mica_dataset_column_index(data, "tokens");
  int64_t letters = 0;
  MICA_TRY(mica_dataset_length(data, sound, i, length));
  MICA_TRY(mica_dataset_length(data, tokens, i, &letters));
  int32_t *list = malloc((size_t)letters * sizeof *list + 1);
  *samples = malloc((size_t)*length * sizeof **samples + 1);
  mica_status status = list && *samples ? MICA_OK : mica__fail_nomem("recordings");
  if (status == MICA_OK) status = mica_dataset_read(data, sound, i, *samples, (size_t)*length * sizeof **samples);
  if (status == MICA_OK) status = mica_dataset_read(data, tokens, i, list, (size_t)letters * sizeof *list);
  if (status == MICA_OK) status = spell(list, letters, truth);
  free(list);
  return status;
}

static mica_status predict_sample(mica_run *run, const mica_dataset *data, uint64_t i, mica_report *p) {
  float *samples = NULL;
  int64_t length = 0;
  mica__text truth = {0};
  char *name = mica__sample_name(data, i);
  mica_status status = name ? read_sample(data, i, &samples, &length, &truth) : mica__fail_nomem("predictions");
  if (status == MICA_OK) status = add_prediction(run, name, samples, length, truth.data, p);
  free(name);
  free(samples);
  mica__text_free(&truth);
  return status;
}

mica_status mica__speech_predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  mica_dataset *data = NULL;
  bool all = false;
  if (input->file_count) return predict_files(run, input, p);
  if (!input->data) return mica__fail(MICA_E_INVALID, "the task speech predicts from recordings and data");
  MICA_TRY(mica__run_open_given(run, input->data, input->part, &all, &data));
  mica_status status = run->task->fits(run, data);
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data); i++) {
    if (input->count > 0 && i >= (uint64_t)input->count) break;
    status = predict_sample(run, data, i, p);
  }
  mica_dataset_destroy(data);
  return status;
}

mica_status mica__speech_answers(mica_run *run) {
  mica_report *report = NULL;
  MICA_TRY(mica_report_create(&report));
  mica_status status = predict_sample(run, run->evaluation->data, 0, report);
  mica_report_destroy(report);
  return status;
}

/* --- the report --- */

/* A sample that was judged: what is said in it, what was heard, and how much of that is wrong. */
typedef struct judged {
  uint64_t sample;
  int64_t edits;
  mica__text said, heard;
} judged;

static int by_edits(const void *a, const void *b) {
  const judged *x = a, *y = b;
  if (x->edits != y->edits) return x->edits < y->edits ? 1 : -1;
  return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static mica_status judge(mica_run *run, const mica_dataset *data, uint64_t i, judged *j) {
  float *samples = NULL;
  int64_t length = 0;
  heard h = {0};
  mica_text_errors errors = {0};
  j->sample = i;
  mica_status status = read_sample(data, i, &samples, &length, &j->said);
  if (status == MICA_OK) status = hear(run, samples, length, &h);
  if (status == MICA_OK) status = mica_text_errors_add(&errors, j->said.data, h.text.data);
  j->edits = errors.character_edits;
  j->heard = h.text;
  h.text = (mica__text){0};
  free_heard(&h);
  free(samples);
  return status;
}

static mica_status add_worst(mica_report *r, const judged *list, size_t count) {
  static const char *const columns[] = {"said", "heard", "edits"};
  static const bool number_columns[] = {false, false, true};
  double numbers[3 * WORST] = {0};
  const char *texts[3 * WORST], *rows[WORST];
  char names[WORST][32], edits[WORST][32];
  size_t shown = 0;
  for (; shown < count && shown < WORST && list[shown].edits > 0; shown++) {
    snprintf(names[shown], sizeof names[shown], "recording %llu", (unsigned long long)list[shown].sample);
    snprintf(edits[shown], sizeof edits[shown], "%lld", (long long)list[shown].edits);
    rows[shown] = names[shown];
    texts[3 * shown] = list[shown].said.data;
    texts[3 * shown + 1] = list[shown].heard.data;
    texts[3 * shown + 2] = edits[shown];
    numbers[3 * shown + 2] = (double)list[shown].edits;
  }
  if (!shown) return MICA_OK;
  MICA_TRY(mica_report_begin(r, "Worst errors"));
  return mica_report_add(r, &(mica_item){.kind = MICA_ITEM_KIND_TABLE,
                                         .name = "worst",
                                         .rows = shown,
                                         .columns = 3,
                                         .row_names = rows,
                                         .column_names = columns,
                                         .numbers = numbers,
                                         .texts = texts,
                                         .number_columns = number_columns});
}

/* The spectra of a recording, low frequencies at the bottom, a white line where each letter was found. */
static uint8_t *draw(const mica_run *run, const heard *h) {
  const int64_t mels = h->s.mels, frames = h->frames, row = h->s.frames, high = 2 * mels;
  const mica__speech_time t = mica__speech_time_of(run);
  uint8_t *planes = calloc((size_t)(high * frames) + 1, 1);
  float low = INFINITY, top = -INFINITY;
  for (int64_t i = 0; i < mels * frames; i++) {
    const float value = h->s.spectra[i / frames * row + i % frames];
    if (value > top) top = value;
    if (value < low) low = value;
  }
  if (low < top - 12) low = top - 12;
  for (int64_t i = 0; planes && i < high * frames; i++) {
    const float value = h->s.spectra[(mels - 1 - i / frames / 2) * row + i % frames];
    planes[i] = (uint8_t)(value > low ? 220 * (value - low) / (top > low ? top - low : 1) : 0);
  }
  for (int64_t k = 0; planes && k < h->count; k++) {
    /* The middle of what the step sees. */
    const int64_t frame = h->s.at[k] < 0 ? frames : (h->s.at[k] * t.stride + t.reach / 2) / t.hop;
    for (int64_t y = 0; frame < frames && y < high; y++) planes[y * frames + frame] = 255;
  }
  return planes;
}

/* "3 at 0.42 s, ..." */
static mica_status write_alignment(const mica_run *run, const heard *h, mica__text *text) {
  const mica__speech_time t = mica__speech_time_of(run);
  const double rate = mica__run_fact_number(run, "rate", 1);
  mica__text_add(text, "");
  for (int64_t k = 0; k < h->count; k++) {
    mica__text letter = {0};
    MICA_TRY(mica__speech_text_of(run, &h->s.labels[k], 1, &letter));
    if (letter.length && h->s.at[k] >= 0)
      mica__text_addf(text, "%s%s %.2f s", text->length ? ", " : "", letter.data,
                      (double)(h->s.at[k] * t.stride + t.reach / 2) / rate);
    mica__text_free(&letter);
  }
  return mica__text_status(text);
}

static mica_status add_picture(mica_run *run, const mica_dataset *data, uint64_t i, mica_report *r) {
  float *samples = NULL;
  int64_t length = 0;
  heard h = {0};
  mica__text said = {0}, alignment = {0};
  uint8_t *planes = NULL;
  mica_status status = read_sample(data, i, &samples, &length, &said);
  if (status == MICA_OK) status = hear(run, samples, length, &h);
  if (status == MICA_OK) status = write_alignment(run, &h, &alignment);
  if (status == MICA_OK && !(planes = draw(run, &h))) status = mica__fail_nomem("a picture");
  if (status == MICA_OK) status = mica_report_add_text(r, "said", said.data);
  if (status == MICA_OK) status = mica_report_add_text(r, "heard", alignment.data);
  if (status == MICA_OK)
    status = mica_report_add(r, &(mica_item){.kind = MICA_ITEM_KIND_PICTURE,
                                             .name = "spectra",
                                             .text = h.text.data,
                                             .planes = planes,
                                             .shape = MICA_SHAPE(1, 2 * h.s.mels, h.frames)});
  free(samples);
  free(planes);
  free_heard(&h);
  mica__text_free(&said);
  mica__text_free(&alignment);
  return status;
}

/* Recordings of which the errors are looked for: a report is to take seconds. */
#define JUDGED 200

mica_status mica__speech_report(mica_run *run, mica_report *r) {
  const mica_dataset *data = run->evaluation->data;
  const uint64_t all = mica_dataset_count(data), count = all < JUDGED ? all : JUDGED;
  judged *list = calloc((size_t)count + 1, sizeof *list);
  mica_status status = list ? MICA_OK : mica__fail_nomem("a report");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) status = judge(run, data, i, &list[i]);
  if (status == MICA_OK) {
    qsort(list, (size_t)count, sizeof *list, by_edits);
    status = add_worst(r, list, (size_t)count);
  }
  if (status == MICA_OK) status = mica_report_begin(r, "Recordings");
  for (uint64_t k = 0; status == MICA_OK && k < count && k < SHOWN; k++)
    status = add_picture(run, data, list[k].sample, r);
  for (uint64_t i = 0; list && i < count; i++) {
    mica__text_free(&list[i].said);
    mica__text_free(&list[i].heard);
  }
  free(list);
  return status;
}
