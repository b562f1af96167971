/* labels: device
 *
 * The task speech without a training: lists of recordings, letters, texts that do not fit; a transcriber gives what the
 * network does on the whole recording, by whatever pieces, chunks and rates; sound as bytes. */
#include "data/sound/transcripts.h"
#include "run/letters.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- lists and letters --- */

static mica_status read_list(const char *content, mica__speech_list *list) {
  return mica__speech_list_read("list.tsv", "folder", content, strlen(content), list);
}

START_TEST(lists_name_files_and_texts) {
  mica__speech_list list = {0};
  ck_ok(read_list("a.wav\tone two\r\n\n/b.wav\t\nc d.wav\tx", &list));
  ck_assert_uint_eq(list.count, 3);
  ck_assert_str_eq(list.files[0], "folder/a.wav");
  ck_assert_str_eq(list.texts[0], "one two");
  ck_assert_str_eq(list.files[1], "/b.wav");
  ck_assert_str_eq(list.texts[1], "");
  ck_assert_int_eq(list.lines[1], 3);
  ck_assert_str_eq(list.texts[2], "x");
  mica__speech_list_free(&list);
  ck_ok(read_list("\xef\xbb\xbf"
                  "client_id\tPath\tsentence\n7\te.wav\tgr\xc3\xbc\xc3\x9f\n",
                  &list));
  ck_assert_uint_eq(list.count, 1);
  ck_assert_str_eq(list.files[0], "folder/e.wav");
  ck_assert_str_eq(list.texts[0], "gr\xc3\xbc\xc3\x9f");
  mica__speech_list_free(&list);
}
END_TEST

START_TEST(wrong_lines_are_named) {
  static const char *const wrong[][2] = {
      {"a.wav\tb\nalone\n", "list.tsv:2: the line lacks the file of a recording"},
      {"a.wav\tb\n\tc\n", "list.tsv:2: the name of the recording is empty"},
      {"a.wav\tb\xff\n", "list.tsv:1: the text is not UTF-8 at byte 2"},
      {"a.wav\t\xed\xa0\x80\n", "list.tsv:1: the text is not UTF-8 at byte 1"},
      {"\n\n", "list.tsv names no recordings"},
      {"a.wav\tb\n\nc.wav\td\te\n",
       "list.tsv:3: the line has 3 columns, but the first line that is not empty has 2; texts cannot contain tabs"},
      {"file\ttext\na.wav\tb\nc.wav\td\na.wav\te\n",
       "list.tsv:4: the recording folder/a.wav is already in line 2, with a different text"},
      {"file\ttext\n", "list.tsv names no recordings"}};
  mica__speech_list twice = {0};
  ck_ok(read_list("file\ttext\na.wav\tb\nc.wav\td\na.wav\tb\n", &twice));
  ck_assert_uint_eq(twice.count, 3);
  ck_assert_uint_eq(twice.again, 1);
  mica__speech_list_free(&twice);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica__speech_list list = {0};
    ck_assert_int_eq(read_list(wrong[i][0], &list), MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), wrong[i][1]), "%s", mica_error_message());
    mica__speech_list_free(&list);
  }
}
END_TEST

/* Every code point is spelled as it is read; surrogates and long forms are none. */
START_TEST(letters_are_utf8) {
  for (int32_t letter = 1; letter < 0x110000; letter += letter < 0x900 ? 1 : 97) {
    mica__text text = {0};
    size_t bytes = 0;
    mica__text_add(&text, "x");
    mica__letter_add(&text, letter);
    const int32_t read = mica__letter_at(text.data + 1, text.length - 1, &bytes);
    if (letter >= 0xd800 && letter < 0xe000)
      ck_assert_int_eq(read, -1);
    else
      ck_assert_msg(read == letter && bytes == text.length - 1, "U+%04X", (unsigned)letter);
    if (text.length > 2) ck_assert_int_eq(mica__letter_at(text.data + 1, text.length - 2, &bytes), -1);
    mica__text_free(&text);
  }
  static const char *const wrong[] = {"\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                      "\xff"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    size_t bytes = 0;
    ck_assert_int_eq(mica__letter_at(wrong[i], strlen(wrong[i]), &bytes), -1);
  }
}
END_TEST

/* --- a run --- */

enum { RATE = 8000, SAMPLES = 6 * RATE / 10, COUNT = 12 };

/* Recordings of noise that says "a b", "b", ... */
typedef struct recordings {
  float sound[COUNT * SAMPLES];
  int32_t letters[COUNT * 3];
  int64_t sounds[COUNT + 1], texts[COUNT + 1];
} recordings;

static void make_recordings(recordings *r) {
  srand(3);
  for (int i = 0; i < COUNT * SAMPLES; i++)
    r->sound[i] = 0.2f * (float)sin(i * (0.2 + 0.1 * (i / SAMPLES % 7))) + 0.1f * (float)rand() / (float)RAND_MAX;
  for (int i = 0; i < COUNT; i++) {
    for (int k = 0; k < 3; k++) r->letters[3 * i + k] = k == 1 ? ' ' : 'a' + (i + k) % 4;
    r->sounds[i + 1] = (int64_t)(i + 1) * SAMPLES;
    r->texts[i + 1] = (int64_t)(i + 1) * 3;
  }
}

static mica_status make_dataset(const recordings *r, mica_dataset **data) {
  const mica_shape open = {1, {MICA_DYNAMIC}};
  const mica_column_data columns[] = {
      {.column = {"sound", MICA_COLUMN_KIND_SOUND, MICA_F32, open, 0}, .data = r->sound, .offsets = r->sounds},
      {.column = {"tokens", MICA_COLUMN_KIND_TOKENS, MICA_I32, open, 0}, .data = r->letters, .offsets = r->texts}};
  return mica_dataset_create("noise", COUNT, columns, 2, data);
}

static mica_status make_network(const mica_dataset *data, const char *model, mica_run **run) {
  const mica_setting settings[] = {{"rate", "8000"}, {"width", "16"},     {"layers", "2"},   {"mels", "16"},
                                   {"batch", "4"},   {"noise", "20"},     {"filters", "4"},  {"kernel", "4"},
                                   {"model", model}, {"validation", "0"}, {"context", "0.4"}};
  const mica_run_config config = {
      .task = "speech", .dataset = data, .settings = settings, .setting_count = sizeof settings / sizeof *settings};
  return mica_run_create(test_engine(), &config, run);
}

static mica_status make_run(const mica_dataset *data, mica_run **run) { return make_network(data, "gru", run); }

/* Weights by which untrained networks babble: large ones of the last layer. */
static void let_babble(mica_run *run) {
  mica_tensor *weight = mica_session_parameter(mica_trainer_test_session(mica_run_trainer(run)), "letters.weight");
  float values[6 * 16];
  ck_assert_ptr_nonnull(weight);
  ck_assert_uint_eq(mica_tensor_bytes(weight), sizeof values);
  srand(5);
  for (int i = 0; i < 6 * 16; i++) values[i] = 20 * ((float)rand() / (float)RAND_MAX - 0.5f);
  ck_ok(mica_tensor_upload(mica_engine_queue(test_engine()), weight, values, sizeof values));
}

#if MICA_WITH_SNDFILE
/* The text of a recording by the network on the whole of it. */
static char *heard_whole(mica_run *run, const char *file) {
  mica_report *prediction = NULL;
  ck_ok(mica_run_predict(run, &(mica_run_input){.files = &file, .file_count = 1}, &prediction));
  const mica_item *item = mica_report_find(prediction, 0, "text");
  ck_assert_ptr_nonnull(item);
  char *text = mica__strdup(item->text);
  mica_report_destroy(prediction);
  return text;
}

/* A file of 16 bits, as bytes. */
static size_t write_wave(const char *name, const float *samples, int count, int rate, unsigned char **bytes) {
  const size_t size = 44 + 2 * (size_t)count;
  unsigned char *b = malloc(size);
  ck_assert_ptr_nonnull(b);
  memcpy(b, "RIFF....WAVEfmt \x10\0\0\0\1\0\1\0....\0\0\0\0\2\0\x10\0data....", 44);
  const uint32_t words[3] = {(uint32_t)size - 8, (uint32_t)rate, 2 * (uint32_t)count};
  const size_t at[3] = {4, 24, 40};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 4; i++) b[at[k] + (size_t)i] = (unsigned char)(words[k] >> (8 * i));
  for (int i = 0; i < count; i++) {
    const int value = (int)lround((double)samples[i] * 32767);
    b[44 + 2 * i] = (unsigned char)value;
    b[45 + 2 * i] = (unsigned char)(value >> 8);
  }
  FILE *file = fopen(files_path(name), "wb");
  ck_assert(file && fwrite(b, 1, size, file) == size && !fclose(file));
  *bytes = b;
  return size;
}

/* The text by a transcriber that gets the bytes of a pipe in pieces. */
static char *heard_piped(mica_run *run, double chunk, const unsigned char *bytes, size_t size, size_t piece) {
  mica_transcriber *t = NULL;
  mica_pcm *pcm = NULL;
  ck_ok(mica_pcm_create(RATE, 1, &pcm));
  size_t shown = 0;
  for (size_t at = 0; at < size; at += piece) {
    const float *samples = NULL;
    int64_t count = 0;
    const size_t n = size - at < piece ? size - at : piece;
    ck_ok(mica_pcm_push(pcm, bytes + at, n, at + n == size, &samples, &count));
    if (!mica_pcm_rate(pcm)) continue;
    if (!t)
      ck_ok(mica_transcriber_create(run, &(mica_transcriber_config){.rate = mica_pcm_rate(pcm), .chunk = chunk}, &t));
    ck_ok(mica_transcriber_push(t, samples, count));
    ck_assert_uint_ge(strlen(mica_transcriber_text(t)), shown);
    shown = strlen(mica_transcriber_text(t));
  }
  ck_ok(mica_transcriber_finish(t));
  char *text = mica__strdup(mica_transcriber_text(t));
  mica_transcriber_destroy(t);
  mica_pcm_destroy(pcm);
  return text;
}

/* By each network; the context of a Conformer is a seventh of the recording. */
START_TEST(a_stream_is_the_whole) {
  static const char *const models[] = {"gru", "conformer"};
  static recordings r;
  static const struct {
    int rate;
    double chunk;
    size_t piece;
  } how[] = {{8000, 0, 1000}, {8000, 0.04, 333}, {8000, 3, 100000}, {11025, 0.2, 4096}, {44100, 0, 7}};
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  make_recordings(&r);
  ck_ok(make_dataset(&r, &data));
  ck_ok(make_network(data, models[_i], &run));
  let_babble(run);
  size_t letters = 0;
  for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
    unsigned char *bytes = NULL;
    const size_t size = write_wave("x.wav", r.sound, 5 * SAMPLES, how[k].rate, &bytes);
    char *whole = heard_whole(run, files_path("x.wav"));
    char *piped = heard_piped(run, how[k].chunk, bytes, size, how[k].piece);
    ck_assert_msg(!strcmp(piped, whole), "%s: %s, and whole %s", models[_i], piped, whole);
    letters += strlen(whole);
    free(whole);
    free(piped);
    free(bytes);
  }
  /* Nothing would be equal to nothing. */
  ck_assert_uint_gt(letters, 10);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
}
END_TEST
#endif

/* A transcriber begins anew behind an end, and is refused what it cannot do. */
START_TEST(transcribers_begin_anew) {
  static recordings r;
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_transcriber *t = NULL;
  char *first = NULL;
  make_recordings(&r);
  ck_ok(make_dataset(&r, &data));
  ck_ok(make_run(data, &run));
  let_babble(run);
  ck_ok(mica_transcriber_create(run, NULL, &t));
  ck_assert_str_eq(mica_transcriber_text(t), "");
  for (int round = 0; round < 2; round++) {
    ck_ok(mica_transcriber_push(t, r.sound, 3 * SAMPLES));
    ck_ok(mica_transcriber_finish(t));
    ck_assert_double_eq_tol(mica_transcriber_seconds(t), 1.8, 1e-9);
    if (first) ck_assert_str_eq(mica_transcriber_text(t), first);
    if (!first) first = mica__strdup(mica_transcriber_text(t));
  }
  ck_assert_uint_gt(strlen(first), 0);
  float bad[3] = {0, NAN, 0};
  ck_assert_int_eq(mica_transcriber_push(t, bad, 3), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "sample 1 is not a finite number"));
  ck_assert_int_eq(mica_transcriber_push(t, NULL, 3), MICA_E_INVALID);
  ck_assert_int_eq(mica_transcriber_push(t, bad, -1), MICA_E_INVALID);
  mica_transcriber_destroy(t);
  t = NULL;
  ck_assert_int_eq(mica_transcriber_create(run, &(mica_transcriber_config){.rate = -1}, &t), MICA_E_INVALID);
  ck_assert_int_eq(mica_transcriber_create(run, &(mica_transcriber_config){.chunk = 1e9}, &t), MICA_E_INVALID);
  ck_assert_int_eq(mica_transcriber_create(NULL, NULL, &t), MICA_E_INVALID);
  mica_transcriber_destroy(NULL);
  free(first);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(texts_must_fit) {
  static recordings r;
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_metrics m;
  make_recordings(&r);
  ck_ok(make_dataset(&r, &data));
  ck_ok(make_run(data, &run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TRAIN, &m));
  ck_assert(mica_metrics_get(&m, "wer") >= 0 && mica_metrics_get(&m, "cer") >= 0);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
  /* 4,800 samples are 9 steps of 320 that see 2,016. */
  r.texts[1] = 0;
  for (int i = 1; i <= COUNT; i++) r.texts[i] = i < COUNT ? 0 : 14;
  for (int i = 0; i < 14; i++) r.letters[i] = 'a' + i % 2;
  ck_ok(make_dataset(&r, &data));
  ck_assert_int_eq(make_run(data, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "noise, recording 11: a text of 14 letters needs 14 steps"), "%s",
                mica_error_message());
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(bytes_become_samples) {
  const float *samples = NULL;
  int64_t count = 0;
  mica_pcm *pcm = NULL;
  static const unsigned char raw[] = {0, 0x40, 0, 0xc0, 0xff};
  ck_ok(mica_pcm_create(16000, 2, &pcm));
  ck_ok(mica_pcm_push(pcm, raw, 1, false, &samples, &count));
  ck_assert_int_eq(count, 0);
  ck_assert_int_eq(mica_pcm_rate(pcm), 0);
  ck_ok(mica_pcm_push(pcm, raw + 1, 4, false, &samples, &count));
  ck_assert_int_eq(count, 1);
  ck_assert_float_eq(samples[0], 0);
  ck_assert_int_eq(mica_pcm_rate(pcm), 16000);
  ck_assert_int_eq(mica_pcm_push(pcm, NULL, 0, true, &samples, &count), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "is truncated after 1 frames"));
  mica_pcm_destroy(pcm);
  ck_assert_int_eq(mica_pcm_create(0, 1, &pcm), MICA_E_INVALID);
  ck_assert_int_eq(mica_pcm_create(8000, 65, &pcm), MICA_E_INVALID);
  static const unsigned char bad[][44] = {"RIFF....AVI fmt ", "RIFF....WAVEdata\1\0\0\0",
                                          "RIFF....WAVEfmt \x10\0\0\0\x55\0\1\0\x40\x1f\0\0\0\0\0\0\1\0\0\0",
                                          "RIFF....WAVEfmt \x10\0\0\0\1\0\0\0\x40\x1f\0\0\0\0\0\0\1\0\x10\0",
                                          "RIFF....WAVELIST\xff\xff\xff\x7f"};
  static const char *const sentences[] = {"is not WAVE", "without a format", "format 85", "0 channels",
                                          "longer than 1 MiB"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ck_ok(mica_pcm_create(8000, 1, &pcm));
    ck_assert_int_eq(mica_pcm_push(pcm, bad[i], sizeof *bad, false, &samples, &count), MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), sentences[i]), "%s", mica_error_message());
    mica_pcm_destroy(pcm);
  }
}
END_TEST

TESTS(DEVICE, NULL, files_remove, lists_name_files_and_texts, wrong_lines_are_named, letters_are_utf8,
      bytes_become_samples, IF(SNDFILE, LOOP(a_stream_is_the_whole, 0, 2)), transcribers_begin_anew, texts_must_fit)
