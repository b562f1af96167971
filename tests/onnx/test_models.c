/* labels: device slow
 *
 * Pretrained models beside what is known of them: mnist-8 on the 10,000 pictures of MNIST's test part; a voice
 * detector over 30 s of sound, whose state goes from window to window, beside onnxruntime's (MICA_VOICE, which
 * test_voice_oracle.sh makes). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <math.h>
#include <mica/data.h>
#include <mica/io.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIXELS 784
#define WINDOW 512
#define STATE 256

typedef struct program {
  mica_onnx *model;
  mica_onnx_runner *runner;
} program;

static program start(const char *path) {
  program p = {0};
  ck_ok(mica_onnx_open(path, &p.model));
  ck_ok(mica_onnx_runner_create(test_engine(), p.model, NULL, &p.runner));
  return p;
}

static void end(program *p) {
  mica_onnx_runner_destroy(p->runner);
  mica_onnx_close(p->model);
}

static int best_of(const float *scores, int count) {
  int best = 0;
  for (int i = 1; i < count; i++)
    if (scores[i] > scores[best]) best = i;
  return best;
}

START_TEST(digits_are_told_apart) {
  mica_dataset *digits = NULL;
  const mica_dataset_config config = {.part = MICA_PART_TEST};
  ck_ok(mica_dataset_open(test_data("data/mnist"), &config, &digits));
  ck_assert_uint_eq(mica_dataset_count(digits), 10000);
  program p = start(test_data("onnx/models/mnist-8/model.onnx"));
  int right = 0;
  for (uint64_t i = 0; i < 10000; i++) {
    unsigned char pixels[PIXELS];
    float x[PIXELS], scores[10];
    ck_ok(mica_dataset_read(digits, 0, i, pixels, sizeof pixels));
    for (int k = 0; k < PIXELS; k++) x[k] = (float)pixels[k];
    const mica_onnx_feed feed = {.name = "Input3", .dtype = MICA_F32, .shape = MICA_SHAPE(1, 1, 28, 28), .data = x};
    ck_ok(mica_onnx_run(p.runner, test_queue(), &feed, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_onnx_output(p.runner, 0), scores, sizeof scores));
    right += best_of(scores, 10) == mica_dataset_label(digits, i);
  }
  printf("%d of 10000 digits are right\n", right);
  ck_assert_int_ge(right, 9889);
  ck_assert_int_le(right, 9893);
  ck_assert_uint_eq(mica_onnx_lowering_count(p.runner), 1);
  end(&p);
  mica_dataset_destroy(digits);
}
END_TEST

/* An array of a file in MICA_VOICE, the caller's to mica_free. */
static float *read_array(const char *name, int64_t *count) {
  char path[4096];
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  snprintf(path, sizeof path, "%s/%s.npy", getenv("MICA_VOICE"), name);
  ck_ok(mica_npy_read(path, &dtype, &shape, &data));
  ck_assert_int_eq(dtype, MICA_F32);
  ck_ok(mica_shape_count(shape, count));
  return data;
}

/* A window of sound is a fraction of a millisecond, most of which are launches: they may only become fewer. */
START_TEST(a_voice_detector_is_few_launches) {
  static float sound[576], state[STATE];
  int64_t rate = 16000;
  mica_onnx_report report;
  program p = start(test_data("onnx/models/silero_vad_16k_op15/model.onnx"));
  const mica_onnx_feed feeds[] = {{.name = "input", .dtype = MICA_F32, .shape = MICA_SHAPE(1, 576), .data = sound},
                                  {.name = "state", .dtype = MICA_F32, .shape = MICA_SHAPE(2, 1, 128), .data = state},
                                  {.name = "sr", .dtype = MICA_I64, .data = &rate}};
  ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 3));
  ck_ok(mica_onnx_runner_describe(p.runner, &report));
  ck_assert_uint_eq(report.stages, 1);
  if (mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU) ck_assert_uint_le(report.launches, 10);
  end(&p);
}
END_TEST

START_TEST(a_voice_detector_keeps_its_state) {
  if (!getenv("MICA_VOICE")) return;
  int64_t samples = 0, windows = 0, states = 0, rate = 16000;
  float *sound = read_array("sound", &samples), *want = read_array("voice", &windows),
        *last = read_array("state", &states);
  float state[STATE] = {0}, voice = 0;
  ck_assert_int_eq(samples, windows * WINDOW);
  ck_assert_int_eq(states, STATE);
  program p = start(test_data("onnx/models/silero_vad_16k_op15/model.onnx"));
  for (int64_t i = 0; i < windows; i++) {
    const mica_onnx_feed feeds[] = {
        {.name = "input", .dtype = MICA_F32, .shape = MICA_SHAPE(1, WINDOW), .data = sound + i * WINDOW},
        {.name = "state", .dtype = MICA_F32, .shape = MICA_SHAPE(2, 1, 128), .data = state},
        {.name = "sr", .dtype = MICA_I64, .data = &rate}};
    ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 3));
    ck_ok(mica_tensor_download(test_queue(), mica_onnx_output(p.runner, 0), &voice, sizeof voice));
    ck_ok(mica_tensor_download(test_queue(), mica_onnx_output(p.runner, 1), state, sizeof state));
    ck_assert_float_eq_tol(voice, want[i], 1e-4F);
  }
  for (int k = 0; k < STATE; k++) ck_assert_float_eq_tol(state[k], last[k], 1e-4F * fmaxf(1, fabsf(last[k])));
  ck_assert_uint_eq(mica_onnx_cut_count(p.runner), 0);
  mica_free(sound);
  mica_free(want);
  mica_free(last);
  end(&p);
}
END_TEST

static const char *lacks_data(void) {
  const bool both = test_data("onnx/models") && test_data("data/mnist");
  return both ? test_lacks_device() : "no onnx/models in MICA_TEST_DATA";
}

TESTS(BOTH(NEEDS(ONNX), lacks_data()), NULL, NULL, digits_are_told_apart, a_voice_detector_is_few_launches,
      a_voice_detector_keeps_its_state)
