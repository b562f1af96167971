/* labels: device
 *
 * Lesson 19: a recording to text in a page. A run of the task speech learns from recordings and their texts; a
 * transcriber then writes down sound as it comes. Without arguments the words are tones that this program makes: a high
 * one is an a, a middle one a b, a low one a c. With a run that `mica train --task speech` wrote it takes a file:
 *
 *   build/bin/samples/19_transcribe [RUN FILE.wav]
 *
 * Exit status 0 when it has understood, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 8000, RECORDINGS = 160, LETTERS = 4, TONE = RATE / 8, PAUSE = RATE / 16, END = RATE / 2 };
enum { LENGTH = LETTERS * (TONE + PAUSE) + END };

/* Recordings of LETTERS tones, and what they say. */
typedef struct recordings {
  float *sound;                                          /* (RECORDINGS, LENGTH) */
  int32_t letters[RECORDINGS * LETTERS];                 /* code points */
  int64_t sounds[RECORDINGS + 1], texts[RECORDINGS + 1]; /* where each begins */
} recordings;

static void speak(const int32_t *letters, float *sound) {
  for (int i = 0; i < LENGTH; i++) sound[i] = 0.001f * (float)(rand() % 100 - 50) / 50;
  for (int k = 0; k < LETTERS; k++) {
    const double pitch = 2000 / (double)(1 << (letters[k] - 'a')) * (0.95 + 0.1 * rand() / RAND_MAX);
    const double loudness = 0.1 + 0.3 * rand() / RAND_MAX;
    for (int i = 0; i < TONE; i++)
      sound[k * (TONE + PAUSE) + PAUSE / 2 + i] += (float)(loudness * sin(2 * 3.14159265 * pitch * i / RATE));
  }
}

static void speak_all(recordings *r) {
  for (int i = 0; i < RECORDINGS; i++) {
    for (int k = 0; k < LETTERS; k++) r->letters[i * LETTERS + k] = 'a' + rand() % 3;
    speak(r->letters + i * LETTERS, r->sound + (size_t)i * LENGTH);
    r->sounds[i + 1] = (int64_t)(i + 1) * LENGTH;
    r->texts[i + 1] = (int64_t)(i + 1) * LETTERS;
  }
}

/* Learns from the recordings. */
static mica_status learn(mica_engine *engine, const recordings *r, mica_dataset **data, mica_run **run) {
  static const mica_setting settings[] = {{"rate", "8000"}, {"epochs", "30"}, {"batch", "8"},      {"width", "32"},
                                          {"layers", "1"},  {"mels", "16"},   {"reduction", "2"},  {"warm-up", "20"},
                                          {"dropout", "0"}, {"masks", "0"},   {"validation", "0"}, {"lr", "0.03"}};
  const mica_shape open = {1, {MICA_DYNAMIC}};
  const mica_column_data columns[] = {
      {.column = {"sound", MICA_COLUMN_KIND_SOUND, MICA_F32, open, 0}, .data = r->sound, .offsets = r->sounds},
      {.column = {"tokens", MICA_COLUMN_KIND_TOKENS, MICA_I32, open, 0}, .data = r->letters, .offsets = r->texts}};
  mica_run_config config = {
      .task = "speech", .settings = settings, .setting_count = sizeof settings / sizeof *settings};
  mica_status status = mica_dataset_create("tones", RECORDINGS, columns, 2, data);
  config.dataset = *data;
  if (!status) status = mica_run_create(engine, &config, run);
  return status ? status : mica_run_fit(*run);
}

/* Pushes sound a tenth of a second at a time, as a microphone would give it, and shows the text as it grows. */
static mica_status listen(mica_transcriber *t, const float *sound, int64_t length) {
  mica_status status = MICA_OK;
  for (int64_t at = 0; !status && at < length; at += RATE / 10) {
    status = mica_transcriber_push(t, sound + at, length - at < RATE / 10 ? length - at : RATE / 10);
    printf("%5.1f s  %s\n", mica_transcriber_seconds(t), mica_transcriber_text(t));
  }
  return status ? status : mica_transcriber_finish(t);
}

static mica_status transcribe(mica_run *run, const float *sound, int64_t length, int32_t rate, const char *wanted,
                              int *wrong) {
  mica_transcriber *t = NULL;
  mica_status status = mica_transcriber_create(run, &(mica_transcriber_config){.rate = rate}, &t);
  if (!status) status = listen(t, sound, length);
  if (!status) printf("the text: %s\n", mica_transcriber_text(t));
  if (!status && wanted) *wrong = strcmp(mica_transcriber_text(t), wanted) != 0;
  mica_transcriber_destroy(t);
  return status;
}

int main(int count, char **words) {
  static const int32_t said[LETTERS] = {'c', 'a', 'b', 'b'};
  static recordings r;
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_status status = MICA_OK;
  float *sound = NULL;
  int64_t length = LENGTH;
  int32_t rate = RATE;
  int wrong = 0;
  if (mica_engine_create(NULL, &engine)) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  if (count > 2) {
    status = mica_run_open(engine, words[1], &run);
    if (!status) status = mica_sound_read(words[2], 0, &sound, &length, &rate);
    if (!status) status = transcribe(run, sound, length, rate, NULL, &wrong);
    mica_free(sound);
  } else {
    r.sound = calloc((size_t)RECORDINGS * LENGTH, sizeof *r.sound);
    sound = calloc(LENGTH, sizeof *sound);
    if (!r.sound || !sound) return 1;
    srand(1);
    speak_all(&r);
    speak(said, sound);
    status = learn(engine, &r, &data, &run);
    if (!status) status = transcribe(run, sound, length, rate, "cabb", &wrong);
    free(sound);
  }
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_run_destroy(run);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  free(r.sound);
  return status || wrong;
}
