/* labels: device single
 *
 * Features of sounds against librosa and torchaudio (golden/sound of the test data, whose README says how),
 * and the gradient of one. */
#include "support/golden.h"
#include "support/graph_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "golden/sound/name" of the test data; NULL if it is not there. */
static const char *golden(const char *name) {
  char file[256];
  snprintf(file, sizeof file, "golden/sound/%s", name);
  return test_data(file);
}

static const mica_mel_config mel_40 = {.stft = {.length = 256, .hop = 64}, .rate = 8000, .mels = 40};
static const mica_mel_config mel_26 = {.stft = {.length = 400, .hop = 160, .pad = MICA_SIGNAL_PAD_REFLECT},
                                       .rate = 8000,
                                       .mels = 26,
                                       .low = 20,
                                       .high = 3800,
                                       .power = 1,
                                       .scale = MICA_MEL_SCALE_HTK,
                                       .norm = MICA_MEL_NORM_NONE};
static const mica_mfcc_config mfcc_13 = {
    .mel = {.stft = {.length = 256, .hop = 64}, .rate = 8000, .mels = 40, .scale = MICA_MEL_SCALE_HTK},
    .coefficients = 13,
    .lifter = 22};
static const mica_stft_config stft_256 = {.length = 256, .hop = 64};

static mica_value magnitude_256(mica_value x) { return mica_magnitude(mica_stft(x, &stft_256), 1); }
static mica_value stft_400(mica_value x) {
  return mica_stft(x, &(mica_stft_config){.length = 400, .hop = 160, .width = 320, .pad = MICA_SIGNAL_PAD_NONE});
}
static mica_value magnitude_512(mica_value x) {
  const mica_stft_config c = {
      .length = 512, .hop = 128, .width = 400, .window = MICA_SIGNAL_WINDOW_HAMMING, .pad = MICA_SIGNAL_PAD_REFLECT};
  return mica_magnitude(mica_stft(x, &c), 1);
}
static mica_value inverse_256(mica_value x) { return mica_istft(mica_stft(x, &stft_256), x, &stft_256); }
static mica_value librosa_mel(mica_value x) { return mica_mel(x, &mel_40); }
static mica_value librosa_db(mica_value x) { return mica_decibels(mica_mel(x, &mel_40), NULL); }
static mica_value librosa_log(mica_value x) { return mica_log(mica_affine(mica_mel(x, &mel_40), 1, 1e-6)); }
static mica_value htk_mel(mica_value x) { return mica_mel(x, &mel_26); }
static mica_value htk_db(mica_value x) {
  return mica_decibels(mica_mel(x, &mel_26), &(mica_decibels_config){.amplitude = true});
}
static mica_value htk_log(mica_value x) { return mica_log(mica_affine(mica_mel(x, &mel_26), 1, 1e-6)); }
static mica_value mfcc_default(mica_value x) {
  return mica_mfcc(
      x, &(mica_mfcc_config){.mel = {.stft = {.length = 2048}, .rate = 8000, .mels = 128}, .coefficients = 20});
}
static mica_value librosa_mfcc(mica_value x) { return mica_mfcc(x, &mfcc_13); }
static mica_value delta1(mica_value x) { return mica_deltas(mica_mfcc(x, &mfcc_13), 5, 1, MICA_DELTA_STYLE_LIBROSA); }
static mica_value delta2(mica_value x) { return mica_deltas(mica_mfcc(x, &mfcc_13), 5, 2, MICA_DELTA_STYLE_LIBROSA); }
static mica_value emphasised(mica_value x) { return mica_preemphasis(x, 0.97, true); }

static mica_value power_400(mica_value x) {
  const mica_stft_config c = {.length = 400, .hop = 160, .width = 320, .pad = MICA_SIGNAL_PAD_REFLECT};
  return mica_magnitude(mica_stft(x, &c), 2);
}
static mica_value normalized_256(mica_value x) {
  const mica_stft_config c = {.length = 256, .hop = 128, .pad = MICA_SIGNAL_PAD_NONE, .normalized = true};
  return mica_magnitude(mica_stft(x, &c), 1);
}
static mica_value torch_mel(mica_value x) {
  const mica_mel_config c = mica_mel_torchaudio(8000, 256, 64, 40);
  return mica_mel(x, &c);
}
static mica_value torch_db(mica_value x) { return mica_decibels(torch_mel(x), NULL); }
static mica_value torch_slaney(mica_value x) {
  mica_mel_config c = mica_mel_torchaudio(8000, 256, 64, 40);
  c.scale = MICA_MEL_SCALE_SLANEY;
  c.norm = MICA_MEL_NORM_AREA;
  return mica_mel(x, &c);
}
static mica_value torch_slaney_db(mica_value x) { return mica_decibels(torch_slaney(x), NULL); }
static mica_value torch_mfcc(mica_value x) {
  return mica_mfcc(x, &(mica_mfcc_config){.mel = mica_mel_torchaudio(8000, 256, 64, 40), .coefficients = 13});
}
static mica_value torch_mfcc_log(mica_value x) {
  return mica_mfcc(x, &(mica_mfcc_config){
                          .mel = mica_mel_torchaudio(8000, 400, 80, 23), .coefficients = 20, .log = MICA_MFCC_LOG_LOG});
}
static mica_value torch_deltas(mica_value x) { return mica_deltas(torch_mfcc(x), 5, 1, MICA_DELTA_STYLE_TORCHAUDIO); }
static mica_value frames_first(mica_value x) { return mica_transpose(x, MICA_AXES(0, 2, 1)); }
static mica_value kaldi_fbank(mica_value x) {
  const mica_mel_config c = mica_mel_kaldi(8000, 23);
  mica_value mel = mica_mel(mica_affine(x, 32768, 0), &c);
  return frames_first(mica_log(mica_maximum(mel, mica_full_like(mel, ldexp(1, -23)))));
}
static mica_value kaldi_mfcc(mica_value x) {
  const mica_mfcc_config c = {
      .mel = mica_mel_kaldi(8000, 23), .coefficients = 13, .log = MICA_MFCC_LOG_KALDI, .lifter = 22};
  return frames_first(mica_mfcc(mica_affine(x, 32768, 0), &c));
}

/* Logarithms are compared in their own unit, within `absolute`; all else within 1e-4 of the largest. */
typedef struct feature {
  const char *library, *name;
  mica_value (*build)(mica_value x);
  double absolute;
} feature;
static const feature features[] = {
    {"librosa", "stft_256.magnitude", magnitude_256, 0},
    {"librosa", "stft_400", stft_400, 0},
    {"librosa", "stft_512.magnitude", magnitude_512, 0},
    {"librosa", "stft_256.inverse", inverse_256, 0},
    {"librosa", "mel_40", librosa_mel, 0},
    {"librosa", "mel_40.db", librosa_db, 1e-3},
    {"librosa", "mel_40.log", librosa_log, 1e-3},
    {"librosa", "mel_26_htk", htk_mel, 0},
    {"librosa", "mel_26_htk.db", htk_db, 1e-3},
    {"librosa", "mel_26_htk.log", htk_log, 1e-3},
    {"librosa", "mfcc_default", mfcc_default, 1e-3},
    {"librosa", "mfcc_13", librosa_mfcc, 1e-3},
    {"librosa", "mfcc_13.delta1", delta1, 1e-3},
    {"librosa", "mfcc_13.delta2", delta2, 1e-3},
    {"librosa", "preemphasis", emphasised, 0},
    {"torchaudio", "power_400", power_400, 0},
    {"torchaudio", "magnitude_256_normalized", normalized_256, 0},
    {"torchaudio", "mel_40_htk", torch_mel, 0},
    {"torchaudio", "mel_40_htk.db", torch_db, 1e-3},
    {"torchaudio", "mel_40_slaney", torch_slaney, 0},
    {"torchaudio", "mel_40_slaney.db", torch_slaney_db, 1e-3},
    {"torchaudio", "mfcc_13", torch_mfcc, 1e-3},
    {"torchaudio", "mfcc_20_log", torch_mfcc_log, 1e-3},
    {"torchaudio", "mfcc_13.deltas", torch_deltas, 1e-3},
    {"torchaudio", "kaldi_fbank", kaldi_fbank, 1e-3},
    {"torchaudio", "kaldi_mfcc", kaldi_mfcc, 1e-3},
};
static const char *const recordings[] = {"9_george_32",  "4_jackson_30", "8_lucas_48",
                                         "7_nicolas_16", "6_theo_48",    "4_yweweler_24"};

static int64_t count_of(const mica_safetensors_entry *e) {
  int64_t count = 0;
  ck_ok(mica_shape_count(e->shape, &count));
  return count;
}
static double element(const mica_safetensors_entry *e, int64_t i) {
  return e->dtype == MICA_F64 ? ((const double *)e->data)[i] : (double)((const float *)e->data)[i];
}

static void compare(const char *what, const char *recording, const mica_safetensors_entry *e, const float *got,
                    double absolute) {
  int64_t count = count_of(e);
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(element(e, i)));
  for (int64_t i = 0; i < count; i++) worst = fmax(worst, fabs((double)got[i] - element(e, i)));
  double bound = absolute > 0 ? absolute : 1e-4 * largest;
  ck_assert_msg(worst <= bound, "%s of %s is off by %g of %g", what, recording, worst, largest);
}

static mica_safetensors *open_recording(const char *recording, const char *library) {
  char name[128];
  mica_safetensors *file = NULL;
  snprintf(name, sizeof name, "%s.%s.safetensors", recording, library);
  ck_ok(mica_safetensors_open(golden(name), &file));
  return file;
}

/* The samples as an open signal, so that lengths are known when it runs; librosa's deltas alone need them before. */
static void run_feature(const feature *f, const char *recording, bool open) {
  mica_safetensors *file = open_recording(recording, f->library);
  const mica_safetensors_entry *x = mica_safetensors_find(file, "samples"), *e = mica_safetensors_find(file, f->name);
  ck_assert_msg(x && e, "%s has no %s", recording, f->name);
  int64_t t = count_of(x);
  mica_value y = f->build(mica_input(graph, "a", MICA_F32, MICA_SHAPE(1, open ? MICA_DYNAMIC : t)));
  float *got = graph_run(y, MICA_SHAPE(1, t), x->data, NULL);
  ck_assert_int_eq(mica_tensor_count(mica_session_output(graph_session, 0)), count_of(e));
  compare(f->name, recording, e, got, f->absolute);
  free(got);
  mica_safetensors_close(file);
}

START_TEST(features_are_librosas_and_torchaudios) {
  for (size_t k = 0; k < sizeof features / sizeof *features; k++)
    for (size_t r = 0; r < sizeof recordings / sizeof *recordings; r++) {
      run_feature(&features[k], recordings[r], r % 2 == 0 && !strstr(features[k].name, ".delta"));
      graph_anew();
    }
}
END_TEST

START_TEST(gradient_of_log_mel_is_torchaudios) {
  for (size_t r = 0; r < sizeof recordings / sizeof *recordings; r++) {
    mica_safetensors *file = open_recording(recordings[r], "torchaudio");
    const mica_safetensors_entry *x = mica_safetensors_find(file, "samples");
    const mica_safetensors_entry *up = mica_safetensors_find(file, "log_mel.upstream");
    const mica_safetensors_entry *e = mica_safetensors_find(file, "log_mel.gradient");
    ck_assert(x && up && e);
    int64_t t = count_of(x);
    mica_shape shape = MICA_SHAPE(1, up->shape.dim[0], up->shape.dim[1]);
    mica_tensor *upstream = NULL;
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, up->data, &upstream));
    mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(1, t)), b = mica_input(graph, "b", MICA_F32, shape), d;
    mica_value loss = mica_sum(mica_mul(b, mica_log(mica_affine(torch_mel(a), 1, 1e-4))), MICA_ALL_AXES, false);
    ck_ok(mica_gradients(loss, &a, 1, &d));
    float *got = graph_run(d, MICA_SHAPE(1, t), x->data, upstream);
    compare("log_mel.gradient", recordings[r], e, got, 0);
    free(got);
    mica_tensor_destroy(upstream);
    mica_safetensors_close(file);
    graph_anew();
  }
}
END_TEST

START_TEST(filters_are_librosas) {
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_open(golden("filters.librosa.safetensors"), &file));
  const mica_safetensors_entry *e = mica_safetensors_find(file, "mel_40.filters");
  ck_assert_ptr_nonnull(e);
  mica_value w = mica_add(mica_transpose(mica_mel_filters(graph, &mel_40), MICA_ALL_AXES),
                          mica_input(graph, "a", MICA_F32, MICA_SHAPE(1)));
  float *got = graph_run(w, MICA_SHAPE(1), &(float){0}, NULL);
  compare("filters", e->name, e, got, 0);
  free(got);
  mica_safetensors_close(file);
}
END_TEST

TESTS(BOTH(DEVICE, !golden("librosa.json") ? "no golden/sound in MICA_TEST_DATA" : NULL), graph_setup, graph_teardown,
      features_are_librosas_and_torchaudios, gradient_of_log_mel_is_torchaudios, filters_are_librosas)
