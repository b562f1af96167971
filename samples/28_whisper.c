/* labels: device
 *
 * Writes the text of a recording with its times: ./28_whisper MODEL FILE.wav. MODEL is the folder of a Whisper model,
 * such as whisper-tiny.en. Without arguments the tests' small model of random weights listens to a tone. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

static void print(void *user, const mica_whisper_segment *s) {
  (void)user;
  printf("%6.2f to %6.2f %s\n", s->from, s->to, s->text);
}

static mica_status transcribe(mica_engine *engine, const char *path, const float *samples, int64_t count) {
  mica_foundation *model = NULL;
  mica_whisper *whisper = NULL;
  mica_status status = mica_foundation_open(path, NULL, &model);
  if (status == MICA_OK)
    status = mica_whisper_create(engine, model, &(mica_whisper_config){.segment = print}, &whisper);
  if (status == MICA_OK) status = mica_whisper_push(whisper, samples, count);
  if (status == MICA_OK) status = mica_whisper_finish(whisper);
  if (status == MICA_OK) printf("%.2f s, language %s\n", mica_whisper_seconds(whisper), mica_whisper_language(whisper));
  mica_whisper_destroy(whisper);
  mica_foundation_close(model);
  return status;
}

int main(int count, char **words) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[1000];
  mica_engine *engine = NULL;
  float *samples = NULL;
  int64_t length = MICA_WHISPER_RATE;
  mica_status status = MICA_OK;
  snprintf(path, sizeof path, "%s/tests/golden/foundation/whisper/talk", root ? root : ".");
  if (mica_engine_create(NULL, &engine) != MICA_OK) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  if (count > 2) {
    status = mica_sound_read(words[2], MICA_WHISPER_RATE, &samples, &length, NULL);
    if (status == MICA_OK) status = transcribe(engine, words[1], samples, length);
    mica_free(samples);
  } else {
    samples = calloc((size_t)length, sizeof *samples);
    if (!samples) return 1;
    for (int64_t i = 0; i < length; i++) samples[i] = 0.3f * sinf(0.1f * (float)i);
    status = transcribe(engine, path, samples, length);
    free(samples);
  }
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  mica_engine_destroy(engine);
  return status != MICA_OK;
}
