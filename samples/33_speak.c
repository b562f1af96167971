/* labels: device
 *
 * Lesson 33: speech from a text. A run of the task speak learns a voice from recordings and their texts; then it speaks
 * a text. Without arguments the letters are tones that this program makes: a is a high one, b a
 * low one. With a run that `mica train --task speak` wrote it speaks a text of yours:
 *
 *   build/bin/samples/33_speak [RUN TEXT FILE.wav]
 *
 * Exit status 0 if the tones have their pitches, 1 if not, 77 without a device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATE = 8000, RECORDINGS = 64, LETTERS = 3, TONE = RATE / 8, LENGTH = LETTERS * TONE, HIGH = 1200, LOW = 400 };

typedef struct recordings {
  float *sound;                                          /* (RECORDINGS, LENGTH) */
  int32_t letters[RECORDINGS * LETTERS];                 /* code points */
  int64_t sounds[RECORDINGS + 1], texts[RECORDINGS + 1]; /* where each begins */
} recordings;

/* Tones that swell and fade. */
static void record_all(recordings *r) {
  for (int i = 0; i < RECORDINGS; i++) {
    for (int k = 0; k < LETTERS; k++) {
      const int32_t letter = r->letters[i * LETTERS + k] = 'a' + rand() % 2;
      const double angle = 2 * 3.14159265 * (letter == 'a' ? HIGH : LOW) / RATE;
      for (int t = 0; t < TONE; t++)
        r->sound[(size_t)i * LENGTH + (size_t)(k * TONE + t)] =
            (float)(0.4 * sin(3.14159265 * t / TONE) * sin(angle * t)) + 0.001f * (float)(rand() % 100 - 50) / 50;
    }
    r->sounds[i + 1] = (int64_t)(i + 1) * LENGTH;
    r->texts[i + 1] = (int64_t)(i + 1) * LETTERS;
  }
}

static mica_status learn(mica_engine *engine, const recordings *r, mica_dataset **data, mica_run **run) {
  static const mica_setting settings[] = {
      {"rate", "8000"}, {"epochs", "20"}, {"batch", "8"},          {"lr", "0.006"},     {"width", "24"},
      {"layers", "2"},  {"mels", "16"},   {"encoder-layers", "1"}, {"validation", "0"}, {"warm-up", "20"}};
  const mica_shape open = {1, {MICA_DYNAMIC}};
  const mica_column_data columns[] = {
      {.column = {"sound", MICA_COLUMN_KIND_SOUND, MICA_F32, open, 0}, .data = r->sound, .offsets = r->sounds},
      {.column = {"tokens", MICA_COLUMN_KIND_TOKENS, MICA_I32, open, 0}, .data = r->letters, .offsets = r->texts}};
  mica_run_config config = {.task = "speak", .settings = settings, .setting_count = sizeof settings / sizeof *settings};
  mica_status status = mica_dataset_create("tones", RECORDINGS, columns, 2, data);
  config.dataset = *data;
  if (!status) status = mica_run_create(engine, &config, run);
  return status ? status : mica_run_fit(*run);
}

/* The pitch of samples in Hz: half of the zero crossings per second. */
static double pitch_of(const float *samples, int64_t count) {
  int64_t crossings = 0;
  for (int64_t i = 1; i < count; i++) crossings += samples[i] * samples[i - 1] < 0;
  return (double)crossings * RATE / (2 * (double)count);
}

/* Checks that "aab" or "bba" has its first tone in the first half and its last tone in the last quarter. */
static mica_status check(mica_run *run, const char *text, double first, double last, int *wrong) {
  float *samples = NULL;
  int64_t count = 0;
  mica_status status = mica_run_speak(run, &(mica_speech_config){.text = text}, &samples, &count);
  if (status) return status;
  const int64_t silence = RATE * 15 / 100, spoken = count - 2 * silence; /* at both ends */
  const double begins = pitch_of(samples + silence, spoken / 2);
  const double ends = pitch_of(samples + silence + spoken * 3 / 4, spoken / 5);
  printf("%s: %.2f s, %4.0f Hz, then %4.0f Hz\n", text, (double)count / RATE, begins, ends);
  *wrong |= fabs(begins - first) > 200 || fabs(ends - last) > 200;
  mica_free(samples);
  return status;
}

/* Speaks with the run's first speaker. */
static mica_status write(mica_run *run, const char *text, const char *path) {
  const double *rate = mica_run_fact_numbers(run, "rate", NULL);
  float *samples = NULL;
  int64_t count = 0;
  mica_status status = mica_run_speak(run, &(mica_speech_config){.text = text}, &samples, &count);
  if (!status) status = mica_sound_write(path, (int32_t)*rate, samples, count);
  if (!status) printf("%s: %.2f s\n", path, (double)count / *rate);
  mica_free(samples);
  return status;
}

int main(int count, char **words) {
  static recordings r;
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_status status = MICA_OK;
  int wrong = 0;
  if (mica_engine_create(NULL, &engine)) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  if (count > 3) {
    status = mica_run_open(engine, words[1], &run);
    if (!status) status = write(run, words[2], words[3]);
  } else {
    r.sound = calloc((size_t)RECORDINGS * LENGTH, sizeof *r.sound);
    if (!r.sound) return 1;
    srand(1);
    record_all(&r);
    status = learn(engine, &r, &data, &run);
    if (!status) status = check(run, "aab", HIGH, LOW, &wrong);
    if (!status) status = check(run, "bba", LOW, HIGH, &wrong);
  }
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_run_destroy(run);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  free(r.sound);
  return status || wrong;
}
