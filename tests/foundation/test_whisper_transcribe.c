/* labels: device
 *
 * Whisper's transcripts against transformers' generate: tests/golden/foundation/whisper/talk, which
 * whisper_talk_oracle.py wrote. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 59200, MOST_TOKENS = 24, MOST = 64, DOUBTFUL_SEED = 14 };

/* --- recordings, as whisper_talk_oracle.py makes them; all values are exact in f32 --- */

static float saw_at(int i) { return (float)(i * 37 % 1024 - 512) / 1024.0f; }

static int make(int recording, float *x) {
  uint32_t state = 12345;
  const int count = recording == 0 ? 8000 : recording == 1 ? 16000 : LONGEST;
  for (int i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    const float noise = (float)((int32_t)(state >> 16) - 32768) / 65536.0f;
    if (recording == 0) x[i] = noise;
    if (recording == 1) x[i] = saw_at(i);
    if (recording == 2) x[i] = i / 6000 % 3 == 2 ? 0 : saw_at(i) * 0.5f + noise * 0.25f;
  }
  return count;
}

/* --- transcripts --- */

typedef struct segments {
  struct {
    double from, to, temperature, compression;
    int32_t tokens[MOST_TOKENS];
    size_t count;
  } list[MOST];
  size_t count;
  bool texts_wrong;
} segments;

static void take(void *user, const mica_whisper_segment *s) {
  segments *all = user;
  ck_assert_uint_lt(all->count, MOST);
  ck_assert_uint_le(s->token_count, MOST_TOKENS);
  ck_assert(s->log_probability <= 0 && s->no_speech >= 0 && s->no_speech <= 1);
  all->list[all->count].from = s->from;
  all->list[all->count].to = s->to;
  all->list[all->count].temperature = s->temperature;
  all->list[all->count].compression = s->compression;
  all->list[all->count].count = s->token_count;
  memcpy(all->list[all->count].tokens, s->tokens, s->token_count * sizeof *s->tokens);
  size_t letters = 0;
  for (size_t i = 0; i < s->token_count; i++) letters += s->tokens[i] < 60;
  all->texts_wrong |= strlen(s->text) != letters;
  all->count++;
}

static void check_equal(const segments *got, const segments *want) {
  ck_assert_uint_eq(got->count, want->count);
  ck_assert(!got->texts_wrong);
  for (size_t i = 0; i < want->count; i++) {
    ck_assert_uint_eq(got->list[i].count, want->list[i].count);
    for (size_t t = 0; t < want->list[i].count; t++) ck_assert_int_eq(got->list[i].tokens[t], want->list[i].tokens[t]);
    ck_assert_msg(fabs(got->list[i].from - want->list[i].from) < 1e-9, "segment %zu begins at %g, not %g", i,
                  got->list[i].from, want->list[i].from);
    ck_assert_msg(fabs(got->list[i].to - want->list[i].to) < 1e-9, "segment %zu ends at %g, not %g", i, got->list[i].to,
                  want->list[i].to);
  }
}

static void read_segments(int recording, const char *language, const char *task, segments *all) {
  char line[512], got_language[8], got_task[16];
  FILE *file = fopen(golden_path("foundation/whisper/talk", "segments.txt"), "r");
  ck_assert(file != NULL);
  while (fgets(line, sizeof line, file)) {
    int number = 0, at = 0, step = 0;
    double from = 0, to = 0;
    ck_assert_int_eq(sscanf(line, "%d %7s %15s %lf %lf%n", &number, got_language, got_task, &from, &to, &at), 5);
    if (number != recording || strcmp(got_language, language) != 0 || strcmp(got_task, task) != 0) continue;
    ck_assert_uint_lt(all->count, MOST);
    all->list[all->count].from = from;
    all->list[all->count].to = to;
    for (int token = 0; sscanf(line + at, "%d%n", &token, &step) == 1; at += step)
      all->list[all->count].tokens[all->list[all->count].count++] = token;
    all->count++;
  }
  fclose(file);
  ck_assert_uint_gt(all->count, 0);
}

/* doubtful.txt, whose windows were read with context and fallback. */
static void read_doubtful(int recording, segments *all) {
  char line[512];
  FILE *file = fopen(golden_path("foundation/whisper/talk", "doubtful.txt"), "r");
  ck_assert(file != NULL);
  while (fgets(line, sizeof line, file)) {
    int number = 0, at = 0, step = 0;
    double from = 0, to = 0, temperature = 0, compression = 0;
    ck_assert_int_eq(
        sscanf(line, "%d %lf %lf de transcribe %lf %lf%n", &number, &temperature, &compression, &from, &to, &at), 5);
    if (number != recording) continue;
    ck_assert_uint_lt(all->count, MOST);
    all->list[all->count].from = from;
    all->list[all->count].to = to;
    all->list[all->count].temperature = temperature;
    all->list[all->count].compression = compression;
    for (int token = 0; sscanf(line + at, "%d%n", &token, &step) == 1; at += step)
      all->list[all->count].tokens[all->list[all->count].count++] = token;
    all->count++;
  }
  fclose(file);
  ck_assert_uint_gt(all->count, 0);
}

static mica_foundation *open_model(void) {
  mica_foundation *model = NULL;
  ck_ok(mica_foundation_open(golden_path("foundation/whisper/talk", ""), NULL, &model));
  return model;
}

static void push_all(mica_whisper *w, const float *x, int count, int piece) {
  for (int at = 0; at < count; at += piece)
    ck_ok(mica_whisper_push(w, x + at, count - at < piece ? count - at : piece));
  ck_ok(mica_whisper_finish(w));
}

static const struct {
  const char *language, *task;
} ways[] = {{"?", "transcribe"}, {"de", "transcribe"}, {"fr", "translate"}};
enum { WAYS = sizeof ways / sizeof *ways, RECORDINGS = 3 };

/* Each recording twice with one whisper, in pieces of different lengths. */
START_TEST(tokens_and_times_are_those_of_transformers) {
  static float x[LONGEST];
  segments got = {0};
  mica_foundation *model = open_model();
  mica_whisper *w = NULL;
  const char *language = ways[_i].language;
  const mica_whisper_config config = {.segment = take,
                                      .user = &got,
                                      .language = *language == '?' ? NULL : language,
                                      .translate = !strcmp(ways[_i].task, "translate"),
                                      .no_speech = 1,
                                      .no_fallback = true,
                                      .no_context = true};
  ck_ok(mica_whisper_create(test_engine(), model, &config, &w));
  for (int r = 0; r < 2 * RECORDINGS; r++) {
    segments want = {0};
    const int count = make(r % RECORDINGS, x);
    got = (segments){0};
    read_segments(r % RECORDINGS, language, ways[_i].task, &want);
    push_all(w, x, count, r < RECORDINGS ? count : 777);
    check_equal(&got, &want);
    ck_assert_double_eq_tol(mica_whisper_seconds(w), count / 16000.0, 1e-12);
    ck_assert_uint_eq(strlen(mica_whisper_language(w)), 2);
    if (*language != '?') ck_assert_str_eq(mica_whisper_language(w), language);
  }
  mica_whisper_destroy(w);
  mica_foundation_close(model);
}
END_TEST

/* Doubtful windows are read again with drawn tokens, and windows see the text before them: as transformers with the
 * changes of whisper_patches.py. half: the matrices of the file have 16 bits already, so nothing changes. */
START_TEST(doubtful_windows_are_read_again) {
  static float x[LONGEST];
  segments got = {0};
  mica_foundation *model = open_model();
  mica_whisper *w = NULL;
  const mica_whisper_config config = {.segment = take,
                                      .user = &got,
                                      .language = "de",
                                      .no_speech = 1,
                                      .least_log_probability = -1.7,
                                      .most_compression = 2.4,
                                      .best_of = 3,
                                      .seed = DOUBTFUL_SEED,
                                      .half = _i};
  double most = 0;
  ck_ok(mica_whisper_create(test_engine(), model, &config, &w));
  for (int r = 0; r < 2 * RECORDINGS; r++) {
    segments want = {0};
    const int count = make(r % RECORDINGS, x);
    got = (segments){0};
    read_doubtful(r % RECORDINGS, &want);
    push_all(w, x, count, r < RECORDINGS ? count : 777);
    check_equal(&got, &want);
    for (size_t i = 0; i < want.count; i++) {
      ck_assert_double_eq_tol(got.list[i].temperature, want.list[i].temperature, 1e-12);
      /* zlib and libdeflate differ by a few bytes; without libdeflate it is 0. */
      ck_assert(got.list[i].compression >= 0 && got.list[i].compression < config.most_compression);
      ck_assert(want.list[i].compression > 0 && want.list[i].compression < config.most_compression);
      if (got.list[i].temperature > most) most = got.list[i].temperature;
    }
  }
  ck_assert_double_gt(most, 0.5);
  mica_whisper_destroy(w);
  mica_foundation_close(model);
}
END_TEST

/* A stream gives its segments early, and does not depend on pieces. */
START_TEST(streams_do_not_depend_on_pieces) {
  static float x[LONGEST];
  static const int pieces[] = {LONGEST, 100, 4001};
  segments first = {0}, got = {0};
  mica_foundation *model = open_model();
  mica_whisper *w = NULL;
  const int count = make(2, x);
  const mica_whisper_config config = {
      .segment = take, .user = &got, .stream = true, .no_speech = 1, .no_fallback = true, .no_context = true};
  ck_ok(mica_whisper_create(test_engine(), model, &config, &w));
  for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
    got = (segments){0};
    ck_ok(mica_whisper_push(w, x, 8000));
    ck_assert_uint_eq(got.count, 0);
    for (int at = 8000; at < count; at += pieces[p])
      ck_ok(mica_whisper_push(w, x + at, count - at < pieces[p] ? count - at : pieces[p]));
    ck_ok(mica_whisper_finish(w));
    if (p == 0) first = got;
    check_equal(&got, &first);
  }
  /* A recording that one window holds is the same as without streaming. */
  segments want = {0};
  got = (segments){0};
  read_segments(1, "?", "transcribe", &want);
  push_all(w, x, make(1, x), 640);
  check_equal(&got, &want);
  mica_whisper_destroy(w);
  mica_foundation_close(model);
}
END_TEST

START_TEST(sound_is_resampled) {
  static float x[LONGEST], y[2 * LONGEST];
  segments got = {0};
  mica_foundation *model = open_model();
  mica_whisper *w = NULL;
  const int count = make(1, x);
  for (int i = 0; i < 2 * count; i++) y[i] = x[i / 2];
  ck_ok(mica_whisper_create(test_engine(), model, &(mica_whisper_config){.segment = take, .user = &got, .rate = 32000},
                            &w));
  push_all(w, y, 2 * count, 1000);
  ck_assert_uint_gt(got.count, 0);
  ck_assert_double_eq_tol(mica_whisper_seconds(w), 1, 1e-12);
  mica_whisper_destroy(w);
  mica_foundation_close(model);
}
END_TEST

/* --- faults --- */

START_TEST(wrong_calls_are_refused) {
  static float x[LONGEST];
  segments got = {0}, want = {0};
  mica_foundation *model = open_model();
  mica_whisper *w = NULL;
  const struct {
    mica_whisper_config config;
    const char *text;
  } wrong[] = {{{.language = "xx"}, "\"xx\""},
               {{.language = "transcribe"}, "\"transcribe\""},
               {{.language = "a very long name that is no language at all"}, "does not know"},
               {{.rate = -1}, "rate (-1)"},
               {{.no_speech = 2}, "no_speech (2)"},
               {{.no_speech = NAN}, "no_speech"},
               {{.best_of = 101}, "best_of (101) from 0 to 100"},
               {{.best_of = -1}, "best_of (-1)"},
               {{.least_log_probability = 0.5}, "least_log_probability (0.5)"},
               {{.least_log_probability = NAN}, "least_log_probability"},
               {{.most_compression = -1}, "most_compression (-1)"},
               {{.most_compression = NAN}, "most_compression"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_int_eq(mica_whisper_create(test_engine(), model, &wrong[i].config, &w), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].text) != NULL, "%s", mica_error_message());
    ck_assert(w == NULL);
  }
  const mica_whisper_config config = {
      .segment = take, .user = &got, .no_speech = 1, .no_fallback = true, .no_context = true};
  ck_ok(mica_whisper_create(test_engine(), model, &config, &w));
  ck_assert_int_eq(mica_whisper_push(w, NULL, 5), MICA_E_INVALID);
  ck_assert_int_eq(mica_whisper_push(w, x, -1), MICA_E_INVALID);
  const int count = make(0, x);
  x[7] = NAN;
  ck_assert_int_eq(mica_whisper_push(w, x, count), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "sample 7") != NULL, "%s", mica_error_message());
  ck_ok(mica_whisper_finish(w));
  ck_assert_uint_eq(got.count, 0);
  make(0, x);
  ck_ok(mica_whisper_push(w, x, 5000));
  mica_whisper_reset(w);
  read_segments(0, "?", "transcribe", &want);
  push_all(w, x, count, count);
  check_equal(&got, &want);
  mica_whisper_destroy(w);
  mica_whisper_destroy(NULL);
  mica_foundation_close(model);
}
END_TEST

/* A file of the folder is replaced; NULL: it is missing. */
static const struct {
  const char *file, *text;
  mica_status status; /* MICA_OK: the model is read, and finds the same */
  const char *message;
} damages[] = {
    {"generation_config.json", NULL, MICA_OK, NULL},
    {"preprocessor_config.json", NULL, MICA_OK, NULL},
    {"tokenizer.json", NULL, MICA_E_NOT_FOUND, "tokenizer"},
    {"config.json", "{\"model_type\": \"whisper\", \"d_model\": 24}", MICA_E_FORMAT, "decoder_layers"},
    {"config.json", "{\"model_type\": ", MICA_E_FORMAT, "config.json"},
    {"generation_config.json", "[1]", MICA_E_FORMAT, "generation_config.json"},
    {"generation_config.json", "{\"suppress_tokens\": [3, 122]}", MICA_E_FORMAT, "suppress_tokens"},
    {"generation_config.json", "{\"suppress_tokens\": 3}", MICA_E_FORMAT, "must be a list of at most"},
    {"generation_config.json", "{\"begin_suppress_tokens\": [0.5]}", MICA_E_FORMAT, "begin_suppress_tokens"},
    {"generation_config.json", "{\"no_timestamps_token_id\": 121}", MICA_E_FORMAT, "no timestamp tokens"},
    {"generation_config.json", "{\"no_timestamps_token_id\": 122}", MICA_E_FORMAT, "no_timestamps_token_id"},
    {"generation_config.json", "{\"is_multilingual\": 1}", MICA_E_FORMAT, "is_multilingual"},
    {"preprocessor_config.json", "{\"feature_size\": 80}", MICA_E_UNSUPPORTED, "feature_size is 80"},
    {"preprocessor_config.json", "{\"n_fft\": \"x\"}", MICA_E_FORMAT, "n_fft"},
};

static void copy_folder(const char *file, const char *text) {
  static const char *const names[] = {"config.json", "generation_config.json", "preprocessor_config.json",
                                      "tokenizer.json", "model.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[64];
    size_t bytes = 0;
    const bool other = !strcmp(names[i], file);
    if (other && !text) continue;
    snprintf(name, sizeof name, "model/%s", names[i]);
    if (other) {
      files_write_text(name, text);
      continue;
    }
    uint8_t *data = files_read(golden_path("foundation/whisper/talk", names[i]), &bytes);
    files_write(name, data, bytes);
    free(data);
  }
}

static mica_status open_damaged(mica_foundation **model, mica_whisper **w) {
  const mica_status status = mica_foundation_open(files_path("model"), NULL, model);
  if (status != MICA_OK) return status;
  return mica_whisper_create(test_engine(), *model, NULL, w);
}

START_TEST(damaged_folders_are_refused) {
  mica_foundation *model = NULL;
  mica_whisper *w = NULL;
  copy_folder(damages[_i].file, damages[_i].text);
  const mica_status status = open_damaged(&model, &w);
  if (damages[_i].status == MICA_OK && !strcmp(damages[_i].file, "preprocessor_config.json")) {
    ck_ok(status);
  } else if (damages[_i].status == MICA_OK) {
    /* Without the file a vocabulary below OpenAI's is English alone. */
    ck_ok(status);
    ck_assert_str_eq(mica_whisper_language(w), "en");
  } else {
    ck_assert_int_eq(status, damages[_i].status);
    ck_assert_msg(strstr(mica_error_message(), damages[_i].message) != NULL, "%s", mica_error_message());
    ck_assert(w == NULL);
  }
  mica_whisper_destroy(w);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

/* A model of another family, and sizes that the weights contradict. */
START_TEST(wrong_models_are_refused) {
  mica_foundation *model = NULL;
  mica_whisper *w = NULL;
  size_t bytes = 0;
  ck_ok(mica_foundation_open(golden_path("foundation/vit", ""), NULL, &model));
  ck_assert_int_eq(mica_whisper_create(test_engine(), model, NULL, &w), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "vit") != NULL, "%s", mica_error_message());
  mica_foundation_close(model);
  model = NULL;
  char *text = (char *)files_read(golden_path("foundation/whisper/talk", "config.json"), &bytes);
  char *at = strstr(text, "\"encoder_ffn_dim\": 40");
  ck_assert(at != NULL);
  memcpy(at, "\"encoder_ffn_dim\": 44", strlen("\"encoder_ffn_dim\": 44"));
  char *copy = calloc(bytes + 1, 1);
  ck_assert(copy != NULL);
  memcpy(copy, text, bytes);
  copy_folder("config.json", copy);
  ck_assert_int_eq(open_damaged(&model, &w), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "fc1") && strstr(mica_error_message(), "44"), "%s", mica_error_message());
  ck_assert(w == NULL);
  free(text);
  free(copy);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL, LOOP(tokens_and_times_are_those_of_transformers, 0, WAYS),
      LOOP(doubtful_windows_are_read_again, 0, 2), streams_do_not_depend_on_pieces, sound_is_resampled,
      wrong_calls_are_refused, LOOP(damaged_folders_are_refused, 0, (int)(sizeof damages / sizeof *damages)),
      wrong_models_are_refused)
