/* labels: device
 *
 * Recordings: resampled beside torchaudio (golden/sound of the test data) and beside the sines that they hold; folders
 * and their parts; what cannot be read, by its sentence; batches from the device's memory and streamed. */
#include "data/sound/sound.h"

#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef MICA_WITH_SNDFILE
#include <sndfile.h>

#define PI 3.14159265358979323846

static char path[4096];

static const char *in_folder(const char *name) {
  snprintf(path, sizeof path, "%s/%s", files_folder(), name);
  for (char *at = path + strlen(files_folder()) + 1; (at = strchr(at, '/')); at++) {
    *at = '\0';
    mkdir(path, 0777);
    *at = '/';
  }
  return path;
}

/* Channel c of a recording: a sine of 300 Hz times 0.1 (c + 1). */
static double sine(int64_t i, int rate, int channel) {
  return 0.1 * (channel + 1) * sin(2 * PI * 300 * (double)i / rate);
}
static void write_sound(const char *name, int format, int rate, int channels, int64_t frames) {
  SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
  SNDFILE *file = sf_open(in_folder(name), SFM_WRITE, &info);
  float *samples = calloc((size_t)(frames * channels) + 1, sizeof *samples);
  ck_assert_msg(file && samples, "%s: %s", name, sf_strerror(NULL));
  for (int64_t i = 0; i < frames * channels; i++) samples[i] = (float)sine(i / channels, rate, (int)(i % channels));
  ck_assert_int_eq(sf_writef_float(file, samples, frames), frames);
  sf_close(file);
  free(samples);
}

/* Away from the ends, where the window sees silence, the mean of the channels' sines at the new rate: the filter's
 * ripple at 300 Hz is below 1e-3, a lossy codec's noise is allowed 1e-2. */
static void expect_sine(const char *name, int channels, int rate, int64_t frames, int from, double within) {
  float *samples = NULL;
  int64_t count = 0;
  int32_t found = 0;
  ck_ok(mica_sound_read(in_folder(name), rate, &samples, &count, &found));
  ck_assert_int_eq(found, rate);
  ck_assert_int_eq(count, (frames * rate + from - 1) / from);
  const int64_t edge = rate / 50;
  for (int64_t i = edge; i < count - edge; i++) {
    double want = 0.1 * (channels + 1) / 2 * sin(2 * PI * 300 * (double)i / rate);
    ck_assert_msg(fabs((double)samples[i] - want) < within, "%s at %d Hz, sample %d: %g, not %g", name, rate, (int)i,
                  (double)samples[i], want);
  }
  mica_free(samples);
}

START_TEST(rates_and_channels) {
  static const int rates[] = {8000, 11025, 16000, 22050, 44100, 48000, 96000, 12345};
  for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
    const int channels = (int)k + 1, rate = rates[k];
    write_sound("a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, rate, channels, rate / 5 + 7);
    write_sound("a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, rate, channels, rate / 5 + 7);
    for (size_t to = 0; to < 3; to++) {
      expect_sine("a.wav", channels, rates[2 * to], rate / 5 + 7, rate, 1e-3);
      expect_sine("a.flac", channels, rates[2 * to], rate / 5 + 7, rate, 1e-3);
    }
  }
  write_sound("b.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 2, 20000);
  expect_sine("b.ogg", 2, 16000, 20000, 44100, 1e-2);
}
END_TEST

/* "golden/sound/name" of the test data; NULL if it is not there. */
static const char *golden(const char *name) {
  char file[256];
  snprintf(file, sizeof file, "golden/sound/%s", name);
  return test_data(file);
}

/* A stream in pieces of any size gives what torchaudio makes of the whole. */
START_TEST(streams_are_torchaudios) {
  static const int rates[] = {16000, 11025};
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_open(golden("9_george_32.torchaudio.safetensors"), &file));
  const mica_safetensors_entry *x = mica_safetensors_find(file, "samples");
  for (int r = 0; r < 2; r++) {
    char name[32];
    snprintf(name, sizeof name, "resampled_%d", rates[r]);
    const mica_safetensors_entry *want = mica_safetensors_find(file, name);
    ck_assert(x && want);
    const int64_t count = x->shape.dim[0], total = mica__resampled(count, 8000, rates[r]);
    ck_assert_int_eq(total, want->shape.dim[0]);
    float *got = malloc((size_t)total * sizeof *got);
    ck_assert_ptr_nonnull(got);
    for (int64_t piece = 1; piece < 5000; piece = piece * 7 + 1) {
      mica__resampler *resampler = NULL;
      int64_t done = 0, made = 0;
      ck_ok(mica__resampler_create(8000, rates[r], &resampler));
      for (int64_t at = 0; at < count || made > 0; at += piece) {
        const int64_t n = at >= count ? 0 : count - at < piece ? count - at : piece;
        ck_ok(mica__resampler_push(resampler, (const float *)x->data + (n ? at : 0), n, at + piece >= count, got + done,
                                   total - done, &made));
        done += made;
      }
      ck_assert_int_eq(done, total);
      for (int64_t i = 0; i < total; i++)
        ck_assert_msg(fabs((double)got[i] - (double)((const float *)want->data)[i]) < 1e-5, "%s, sample %d: %g, not %g",
                      name, (int)i, (double)got[i], (double)((const float *)want->data)[i]);
      mica__resampler_destroy(resampler);
    }
    free(got);
  }
  mica_safetensors_close(file);
}
END_TEST

/* --- folders --- */

static void wav(const char *name, int64_t frames) {
  write_sound(name, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, frames);
}

static mica_dataset *open_part(const char *name, mica_part part, const mica_dataset *like) {
  mica_dataset *data = NULL;
  ck_ok(mica_dataset_open(in_folder(name), &(mica_dataset_config){.part = part, .like = like}, &data));
  return data;
}

static void expect_class(const mica_dataset *data, uint64_t sample, const char *name) {
  ck_assert_str_eq(mica_dataset_class_name(data, mica_dataset_label(data, sample)), name);
}

START_TEST(folders_of_classes) {
  wav("c/train/no/a.wav", 100);
  wav("c/train/no/b.wav", 200);
  wav("c/train/yes/a.wav", 300);
  write_sound("c/test/yes/a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 2, 800);
  mica_dataset *train = open_part("c", MICA_PART_TRAIN, NULL), *test = open_part("c", MICA_PART_TEST, train);
  int64_t length = 0;
  ck_assert_uint_eq(mica_dataset_count(train), 3);
  ck_assert_uint_eq(mica_dataset_count(test), 1);
  ck_assert_int_eq(mica_dataset_rate(test), 8000);
  expect_class(train, 0, "no");
  expect_class(train, 2, "yes");
  expect_class(test, 0, "yes");
  ck_ok(mica_dataset_length(test, mica_dataset_column_index(test, "sound"), 0, &length));
  ck_assert_int_eq(length, 400);
  mica_dataset_destroy(test);
  mica_dataset_destroy(train);
  mica_dataset_config config = {.part = MICA_PART_VALIDATION};
  ck_assert_int_eq(mkdir(in_folder("c/validation"), 0700), 0);
  ck_assert_int_eq(mica_dataset_open(in_folder("c"), &config, &test), MICA_E_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "has no validation part: no recordings were found in "));
}
END_TEST

static void expect_refusal(const char *name, const char *file, const char *sentence) {
  mica_dataset *data = NULL;
  mica_status status = mica_dataset_open(in_folder(name), NULL, &data);
  ck_assert_msg(status != MICA_OK, "%s was read", name);
  ck_assert_msg(strstr(mica_error_message(), file) && strstr(mica_error_message(), sentence), "%s: %s", name,
                mica_error_message());
}

static void write_bytes(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(in_folder(name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static void expect_summary(const mica_dataset *data, const char *sentence) {
  ck_assert_msg(strstr(mica_dataset_summary(data), sentence), "%s", mica_dataset_summary(data));
}

/* As people have them: parts in other names, folders within a class, empty folders and litter. */
START_TEST(folders_are_read_as_they_come) {
  wav("o/Train/no/a.wav", 100);
  wav("o/Train/no/anna/old/b.wav", 200);
  wav("o/Train/yes/bert/a.wav", 300);
  wav("o/VALID/yes/c.wav", 400);
  wav("o/unlabelled/a.wav", 400);
  write_bytes("o/Train/no/._a.wav", "litter", 6);
  write_bytes("o/Train/no/c.mp3", "another kind", 12);
  write_bytes("o/Train/silence/.keep", "", 0);
  write_bytes("o/__MACOSX/x/a.wav", "litter", 6);
  mica_dataset *train = open_part("o", MICA_PART_TRAIN, NULL), *valid = open_part("o", MICA_PART_VALIDATION, train);
  ck_assert_uint_eq(mica_dataset_count(train), 3);
  ck_assert_int_eq(mica_dataset_classes(train), 2);
  expect_class(train, 1, "no");
  expect_class(train, 2, "yes");
  ck_assert_uint_eq(mica_dataset_count(valid), 1);
  expect_class(valid, 0, "yes");
  expect_summary(train, "; 2 of 3 recordings lie in folders within their class, such as ");
  expect_summary(train, "; 1 folder holds no recordings and is not a class: ");
  expect_summary(train, "; 1 file is not WAV, FLAC or OGG and is not used: ");
  expect_summary(train, "c.mp3; 1 folder beside the parts is not used: unlabelled");
  mica_dataset_destroy(valid);
  mica_dataset_destroy(train);
  wav("p/all/no/a.wav", 100);
  wav("p/all/yes/a.wav", 100);
  expect_refusal("p", "p holds samples: all, with the folders no, yes; if these are the classes or parts, use ",
                 "p/all");
}
END_TEST

START_TEST(names_say_what_is_spoken) {
  for (int n = 3; n < 8; n++)
    for (int d = 0; d < 2; d++) {
      char name[64];
      snprintf(name, sizeof name, "d/recordings/%d_%s_%d.wav", d, n % 2 ? "anna" : "bert", n);
      wav(name, 100 + n);
    }
  mica_dataset *train = open_part("d", MICA_PART_TRAIN, NULL), *test = open_part("d", MICA_PART_TEST, train);
  ck_assert_uint_eq(mica_dataset_count(train), 6);
  ck_assert_uint_eq(mica_dataset_count(test), 4);
  ck_assert_int_eq(mica_dataset_classes(test), 2);
  expect_class(test, 3, "1");
  const size_t speaker = mica_dataset_column_index(train, "speaker");
  ck_assert_str_eq(mica_dataset_column_class(train, speaker, 0), "anna");
  mica_dataset_destroy(test);
  mica_dataset_destroy(train);
}
END_TEST

/* Numbers below five are the test part only if each word and each speaker has other numbers as well. */
START_TEST(numbers_part_what_has_both) {
  wav("q/red_anna_0.wav", 100);
  wav("q/red_anna_5.wav", 100);
  wav("q/green_anna_4.wav", 100);
  wav("q/green_anna_6.wav", 100);
  mica_dataset *train = open_part("q", MICA_PART_TRAIN, NULL), *test = open_part("q", MICA_PART_TEST, train);
  ck_assert_uint_eq(mica_dataset_count(train), 2);
  ck_assert_uint_eq(mica_dataset_count(test), 2);
  mica_dataset_destroy(test);
  mica_dataset_destroy(train);
  wav("q/blue_anna_7.wav", 100); /* a word that the test part lacks */
  train = open_part("q", MICA_PART_TRAIN, NULL);
  ck_assert_uint_eq(mica_dataset_count(train), 5);
  mica_dataset_destroy(train);
  wav("q/blue_ben_1.wav", 100); /* a speaker that the training part lacks */
  train = open_part("q", MICA_PART_TRAIN, NULL);
  ck_assert_uint_eq(mica_dataset_count(train), 6);
  mica_dataset_destroy(train);
  mica_dataset_config config = {.part = MICA_PART_TEST};
  ck_assert_int_eq(mica_dataset_open(in_folder("q"), &config, &test), MICA_E_NOT_FOUND);
}
END_TEST

/* --- what cannot be read --- */

START_TEST(bad_recordings_are_named) {
  write_bytes("e/a/x.wav", "RIFF", 4);
  expect_refusal("e", "e/a/x.wav", "not a sound file");
  write_bytes("f/a/x.wav", "no sound at all, but a text of some length", 42);
  expect_refusal("f", "f/a/x.wav", "not a sound file");
  wav("g/a/x.wav", 0);
  expect_refusal("g", "g/a/x.wav", "holds no samples");
  write_bytes("f/a/y.wav", "no sound at all, but a text of some length", 42);
  wav("f/b/z.wav", 100);
  write_bytes("f/b/.hidden.wav", "", 0);
  expect_refusal("f", "f/a/y.wav", "; of 3 recordings 2 cannot be read: ");
  wav("h/a/x.wav", 100);
  write_sound("h/a/y.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 10, 1, 36000); /* an hour */
  expect_refusal("h", "h/a/y.wav", "lasts 3600 s");
  wav("i/a_b_1.wav", 100);
  wav("i/plain.wav", 100);
  expect_refusal("i", "i/plain.wav", "LABEL_SPEAKER_N");
  wav("j/a/x.wav", 100);
  ck_assert_int_eq(mkfifo(in_folder("j/a/y.wav"), 0600), 0);
  expect_refusal("j", "j/a/y.wav", "is not a regular file");
}
END_TEST

START_TEST(rates_that_are_none) {
  static const mica_dataset_config configs[] = {{.rate = -1}, {.rate = 768001}, {.longest = -1}, {.longest = 40000}};
  write_sound("l/a/x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 100);
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    mica_dataset *data = NULL;
    ck_assert_int_eq(mica_dataset_open(in_folder("l"), &configs[i], &data), MICA_E_INVALID);
    ck_assert_ptr_null(data);
  }
}
END_TEST

/* Writes a number of the header of a WAV file: 4 is the size of all behind it, 40 that of the samples. */
static void write_number(const char *name, long at, uint32_t number) {
  FILE *file = fopen(in_folder(name), "r+b");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, at, SEEK_SET) | (fwrite(&number, 4, 1, file) != 1), 0);
  fclose(file);
}

/* Half of a file is refused, alone and in a folder; a length that a writer into a pipe did not know is none. */
START_TEST(truncated_recordings_are_named) {
  float *samples = NULL;
  int64_t count = 0;
  wav("n/a/x.wav", 100);
  wav("n/a/y.wav", 100);
  ck_assert_int_eq(truncate(in_folder("n/a/y.wav"), 44 + 100), 0);
  expect_refusal("n", "n/a/y.wav", "is truncated: its header states 200 bytes of samples, but it holds only 100");
  ck_assert_int_eq(mica_sound_read(in_folder("n/a/y.wav"), 0, &samples, &count, NULL), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "n/a/y.wav is truncated"));
  write_number("n/a/x.wav", 40, 0xffffffff);
  ck_ok(mica_sound_read(in_folder("n/a/x.wav"), 0, &samples, &count, NULL));
  ck_assert_int_eq(count, 100);
  mica_free(samples);
}
END_TEST

/* The header of ten hours, of which there is nothing: memory stays small. */
START_TEST(ten_hours_are_refused) {
  write_sound("k/a/x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 100);
  const uint32_t bytes = 36000u * 8000 * 2;
  write_number("k/a/x.wav", 4, bytes + 36);
  write_number("k/a/x.wav", 40, bytes);
  ck_assert_int_eq(truncate(in_folder("k/a/x.wav"), (off_t)bytes + 44), 0);
  expect_refusal("k", "k/a/x.wav", "lasts 36000 s");
}
END_TEST

/* A file that has become another since it was examined. */
/* A file of floats may hold what is not a number, which is found in any channel, resampled or not. */
START_TEST(samples_that_are_no_numbers_are_named) {
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int k = 0; k < 3; k++) {
    SF_INFO info = {.samplerate = 8000, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    SNDFILE *file = sf_open(in_folder("nan.wav"), SFM_WRITE, &info);
    float samples[2 * 6000] = {0}, *read = NULL;
    int64_t count = 0;
    samples[2 * 5000 + k % 2] = bad[k];
    ck_assert_int_eq(sf_writef_float(file, samples, 6000), 6000);
    sf_close(file);
    ck_assert_int_eq(mica_sound_read(in_folder("nan.wav"), k ? 11025 : 0, &read, &count, NULL), MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), "nan.wav: sample 5000 is not a finite number"), "%s",
                  mica_error_message());
  }
}
END_TEST

/* A stream gives the samples of the whole, in whatever pieces they are asked for. */
START_TEST(streams_are_the_recording) {
  static const int64_t pieces[] = {1, 37, 4096, 100000};
  write_sound("long.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 11025, 3, 20000);
  for (int k = 0; k < 8; k++) {
    const int32_t rate = k % 2 ? 8000 : 0;
    mica_sound_stream *stream = NULL;
    float *whole = NULL, *piece = malloc(100000 * sizeof *piece);
    int64_t count = 0, at = 0, got = 1;
    ck_ok(mica_sound_read(in_folder("long.wav"), rate, &whole, &count, NULL));
    ck_ok(mica_sound_stream_open(in_folder("long.wav"), rate, &stream));
    ck_assert_int_eq(mica_sound_stream_rate(stream), 11025);
    for (; got; at += got) {
      ck_ok(mica_sound_stream_next(stream, piece, pieces[k / 2], &got));
      ck_assert_int_le(at + got, count);
      ck_assert_mem_eq(piece, whole + at, (size_t)got * sizeof *piece);
    }
    ck_assert_int_eq(at, count);
    mica_sound_stream_close(stream);
    mica_free(whole);
    free(piece);
  }
  mica_sound_stream *none = NULL;
  ck_assert_int_eq(mica_sound_stream_open(NULL, 0, &none), MICA_E_INVALID);
  mica_sound_stream_close(NULL);
}
END_TEST

START_TEST(changed_recordings_are_named) {
  char room[400];
  wav("l/a/x.wav", 100);
  mica_dataset *data = open_part("l", MICA_PART_TRAIN, NULL);
  wav("l/a/x.wav", 50);
  mica_status status = mica_dataset_read(data, mica_dataset_column_index(data, "sound"), 0, room, sizeof room);
  ck_assert_int_eq(status, MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "l/a/x.wav has become shorter"));
  mica_dataset_destroy(data);
}
END_TEST

/* --- batches --- */

static void read_batches(const mica_dataset *data, mica_residence residence, float *sum, int32_t *lengths) {
  mica_loader *loader = NULL;
  mica_batch batch = {0};
  const mica_loader_config config = {.batch = 3, .residence = residence, .shuffle = true, .seed = 5};
  ck_ok(mica_loader_create(test_engine(), data, &config, &loader));
  const mica_batch_source source = mica_loader_source(loader);
  for (;;) {
    ck_ok(source.next(source.user, test_queue(), &batch));
    if (!batch.count) break;
    for (size_t k = 0; k < batch.tensor_count; k++) {
      const mica_tensor *tensor = batch.tensors[k].tensor;
      const size_t bytes = mica_tensor_bytes(tensor);
      void *copy = malloc(bytes + 1);
      ck_assert_ptr_nonnull(copy);
      ck_ok(mica_tensor_download(test_queue(), tensor, copy, bytes));
      for (size_t i = 0; !strcmp(batch.tensors[k].name, "sound") && i < bytes / 4; i++) *sum += ((float *)copy)[i];
      for (int64_t i = 0; !strcmp(batch.tensors[k].name, "sound.length") && i < batch.count; i++)
        *lengths += ((int32_t *)copy)[i];
      free(copy);
    }
  }
  mica_loader_destroy(loader);
}

START_TEST(batches_hold_the_samples) {
  float sum[3] = {0};
  int32_t lengths[2] = {0}, want = 0;
  for (int i = 0; i < 7; i++) {
    char name[32];
    snprintf(name, sizeof name, "m/%c/%d.wav", 'a' + i % 2, i);
    wav(name, 500 + 37 * i);
    want += 500 + 37 * i;
  }
  mica_dataset *data = open_part("m", MICA_PART_TRAIN, NULL);
  read_batches(data, MICA_RESIDENCE_DEVICE, &sum[0], &lengths[0]);
  read_batches(data, MICA_RESIDENCE_STREAM, &sum[1], &lengths[1]);
  for (uint64_t i = 0; i < 7; i++) {
    float room[1000];
    int64_t length = 0;
    ck_ok(mica_dataset_length(data, 0, i, &length));
    ck_ok(mica_dataset_read(data, 0, i, room, (size_t)length * sizeof *room));
    for (int64_t k = 0; k < length; k++) sum[2] += room[k];
  }
  ck_assert_int_eq(lengths[0], want);
  ck_assert_int_eq(lengths[1], want);
  ck_assert_float_eq(sum[0], sum[1]);
  ck_assert_float_eq_tol(sum[0], sum[2], 1e-2f);
  mica_dataset_destroy(data);
}
END_TEST

static bool golden_streams(void) { return golden("9_george_32.torchaudio.safetensors") != NULL; }

TESTS(DEVICE, NULL, files_remove, rates_and_channels, golden_streams() ? streams_are_torchaudios : &test_none,
      folders_of_classes, folders_are_read_as_they_come, names_say_what_is_spoken, numbers_part_what_has_both,
      bad_recordings_are_named, rates_that_are_none, truncated_recordings_are_named, ten_hours_are_refused,
      samples_that_are_no_numbers_are_named, streams_are_the_recording, changed_recordings_are_named,
      batches_hold_the_samples)

#else

SKIPS("this build lacks libsndfile")

#endif
