/* labels: device
 *
 * Whisper's features and networks against transformers (whisper_oracle.py wrote tests/golden/foundation/whisper). */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = MICA_WHISPER_SAMPLES, FRAMES = MICA_WHISPER_FRAMES, MOST_BINS = 128 };

/* Frames that the files hold: both ends, the end of the sound that is shorter than a window, some between. */
static const int frames[] = {0, 1, 2, 3, 97, 998, 999, 1000, 1001, 1002, 2996, 2997, 2998, 2999};
enum { KEPT = sizeof frames / sizeof *frames };

/* --- signals, as whisper_oracle.py makes them; all values are exact in f32 --- */

static void add_noise(float *x, int count, float scale) {
  uint32_t state = 12345;
  for (int i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] += scale * ((float)((int32_t)(state >> 16) - 32768) / 65536.0f);
  }
}

static void add_saw(float *x, float scale) {
  for (int i = 0; i < SAMPLES; i++) x[i] += scale * ((float)(i * 37 % 1024 - 512) / 1024.0f);
}

static void make_noise(float *x) { add_noise(x, 160000, 1); }
static void make_saw(float *x) { add_saw(x, 1); }
static void make_both(float *x) {
  add_saw(x, 0.5f);
  add_noise(x, SAMPLES, 1.0f / 64);
}
static void make_silence(float *x) { memset(x, 0, SAMPLES * sizeof *x); }

static const struct {
  const char *name;
  void (*make)(float *x);
} signals[] = {{"noise", make_noise}, {"saw", make_saw}, {"both", make_both}, {"silence", make_silence}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static void read_features(const char *signal, int bins, float *y) {
  char path[600];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/whisper/features-%s-%d.f32", root ? root : ".", signal, bins);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s is missing", path);
  ck_assert_uint_eq(fread(y, sizeof *y, (size_t)KEPT * (size_t)bins, file), (size_t)KEPT * (size_t)bins);
  fclose(file);
}

/* Features (SIGNALS, bins, FRAMES) of all signals in one batch: each has a maximum of its own. */
static void compute(int bins, const float *x, float *y) {
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *tensor = NULL;
  ck_ok(mica_graph_create(&graph));
  const mica_value sound = mica_input(graph, "sound", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, SAMPLES));
  const mica_value result = mica_whisper_features(sound, bins == 80 ? 0 : bins);
  ck_ok(mica_session_create(test_engine(), graph, &result, 1, NULL, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(SIGNALS, SAMPLES), x, &tensor));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"sound", tensor}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), y,
                             (size_t)SIGNALS * (size_t)bins * FRAMES * sizeof *y));
  mica_tensor_destroy(tensor);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}

static const int bin_counts[] = {80, 128};

START_TEST(features_are_those_of_transformers) {
  const int bins = bin_counts[_i];
  static float want[KEPT * MOST_BINS];
  float *x = calloc((size_t)SIGNALS * SAMPLES, sizeof *x);
  float *y = calloc((size_t)SIGNALS * (size_t)bins * FRAMES, sizeof *y);
  ck_assert(x && y);
  for (int s = 0; s < SIGNALS; s++) signals[s].make(x + (size_t)s * SAMPLES);
  compute(bins, x, y);
  double largest = 0;
  for (int s = 0; s < SIGNALS; s++) {
    read_features(signals[s].name, bins, want);
    for (int f = 0; f < KEPT; f++)
      for (int b = 0; b < bins; b++) {
        const float got = y[((size_t)s * (size_t)bins + (size_t)b) * FRAMES + (size_t)frames[f]];
        const float expected = want[f * bins + b];
        ck_assert_msg(fabsf(got - expected) <= 1e-4f, "%s, frame %d, bin %d of %d: %g, not %g", signals[s].name,
                      frames[f], b, bins, (double)got, (double)expected);
        largest = fmax(largest, fabs((double)got - (double)expected));
      }
  }
  printf("%d bins: largest difference %.2g\n", bins, largest);
  free(x);
  free(y);
}
END_TEST

/* --- faults --- */

static const struct {
  int32_t rank;
  int64_t samples, bins;
  mica_status status;
  const char *text;
} faults[] = {
    {1, SAMPLES, 80, MICA_E_SHAPE, "(480000)"}, {2, 1000, 80, MICA_E_SHAPE, "multiple of 160"},
    {2, 160, 80, MICA_E_SHAPE, "at least 320"}, {2, MICA_DYNAMIC, 80, MICA_E_SHAPE, "fixed T"},
    {2, SAMPLES, -1, MICA_E_INVALID, "mels"},   {2, SAMPLES, 1 << 20, MICA_E_INVALID, "mels"},
};

START_TEST(wrong_sounds_are_refused) {
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  const mica_shape shape = faults[_i].rank == 1 ? MICA_SHAPE(faults[_i].samples) : MICA_SHAPE(2, faults[_i].samples);
  const mica_value x = mica_input(graph, "sound", MICA_F32, shape);
  ck_assert(mica_value_is_null(mica_whisper_features(x, faults[_i].bins)));
  ck_assert_int_eq(mica_graph_status(graph), faults[_i].status);
  ck_assert_msg(strstr(mica_error_message(), faults[_i].text) != NULL, "%s", mica_error_message());
  ck_assert(mica_value_is_null(mica_whisper_features((mica_value){0}, 80)));
  mica_graph_destroy(graph);
}
END_TEST

/* --- networks --- */

enum { N = 2, BINS = 10, P = 14, T = 9, WIDTH = 24, V = 131 };
static const mica_whisper_sizes sizes = {.width = WIDTH,
                                         .bins = BINS,
                                         .vocabulary = V,
                                         .encoder = {.layers = 2, .heads = 4, .hidden = 40, .positions = P},
                                         .decoder = {.layers = 3, .heads = 2, .hidden = 36, .positions = 16}};

static void model_file(char path[600], const char *file) {
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, 600, "%s/tests/golden/foundation/whisper/net/%s", root ? root : ".", file);
}

static void check_close(mica_session *session, size_t output, const char *name, size_t count) {
  static float got[N * T * V], want[N * T * V];
  char path[600];
  model_file(path, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s is missing", path);
  ck_assert_uint_eq(fread(want, sizeof *want, count, file), count);
  fclose(file);
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, output), got, count * sizeof *got));
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    const double difference = fabs((double)got[i] - (double)want[i]);
    ck_assert_msg(difference <= 1e-4, "%s, number %zu: %g, not %g", name, i, (double)got[i], (double)want[i]);
    largest = fmax(largest, difference);
  }
  printf("%s: largest difference %.2g\n", name, largest);
}

START_TEST(networks_compute_what_transformers_does) {
  float mel[N * BINS * 2 * P];
  int32_t ids[N * T];
  char path[600];
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_foundation *model = NULL;
  mica_whisper_sizes found;
  mica_tensor *x = NULL, *tokens = NULL;
  for (int i = 0; i < N * BINS * 2 * P; i++) mel[i] = (float)(i * 37 % 64 - 32) / 32.0f;
  for (int i = 0; i < N * T; i++) ids[i] = i * 29 % V;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  mica_value outputs[2];
  outputs[0] =
      mica_whisper_encoder(nn, &sizes, mica_input(graph, "mel", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, BINS, 2 * P)));
  outputs[1] = mica_whisper_decoder(
      nn, &sizes, mica_input(graph, "ids", MICA_I32, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC)), outputs[0]);
  ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
  model_file(path, "");
  ck_ok(mica_foundation_open(path, NULL, &model));
  ck_ok(mica_whisper_sizes_of(model, &found));
  ck_assert_int_eq(found.encoder.positions, sizes.encoder.positions);
  ck_assert_int_eq(found.decoder.hidden, sizes.decoder.hidden);
  ck_ok(mica_foundation_load(model, nn, session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N, BINS, 2 * P), mel, &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N, T), ids, &tokens));
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"mel", x}, {"ids", tokens}}, 2));
  check_close(session, 0, "hidden.f32", (size_t)N * P * WIDTH);
  check_close(session, 1, "logits.f32", (size_t)N * T * V);
  mica_tensor_destroy(x);
  mica_tensor_destroy(tokens);
  mica_session_destroy(session);
  mica_foundation_close(model);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}
END_TEST

/* --- training --- */

enum { RUNS = 25 };

static void read_weight(mica_session *session, const char *name, float *x, size_t count) {
  ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, name), x, count * sizeof *x));
}

/* Low-rank adapters of both networks learn a batch by heart; the model's own weights stay. */
START_TEST(adapters_lower_the_loss) {
  float mel[N * BINS * 2 * P], losses[RUNS], before[WIDTH * WIDTH], after[WIDTH * WIDTH];
  int32_t ids[N * T], labels[N * T];
  char path[600];
  const char *own = "decoder.layers.0.multihead_attn.q_proj.weight";
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_foundation *model = NULL;
  mica_adapter *adapter = NULL;
  mica_tensor *x = NULL, *tokens = NULL, *wanted = NULL, *rate = NULL;
  for (int i = 0; i < N * BINS * 2 * P; i++) mel[i] = (float)(i * 37 % 64 - 32) / 32.0f;
  for (int i = 0; i < N * T; i++) ids[i] = i * 29 % V, labels[i] = (i + 1) * 29 % V;
  ck_ok(mica_adapter_create(&(mica_adapter_config){.rank = 4, .targets = "q_proj,v_proj,linear1"}, &adapter));
  ck_ok(mica_graph_create(&graph));
  ck_ok(
      mica_nn_create(graph, &(mica_nn_config){.training = true, .hook = mica_adapter_hook, .hook_user = adapter}, &nn));
  const mica_value memory =
      mica_whisper_encoder(nn, &sizes, mica_input(graph, "mel", MICA_F32, MICA_SHAPE(N, BINS, 2 * P)));
  const mica_value z = mica_whisper_decoder(nn, &sizes, mica_input(graph, "ids", MICA_I32, MICA_SHAPE(N, T)), memory);
  mica_value loss = mica_cross_entropy(mica_reshape(z, MICA_SHAPE(N * T, V)),
                                       mica_input(graph, "labels", MICA_I32, MICA_SHAPE(N * T)), NULL);
  ck_ok(mica_adapter_freeze_base(adapter, nn));
  /* Two layers of each kind in the encoder, six and three in the decoder. */
  ck_assert_uint_eq(mica_adapter_count(adapter), 2 * 3 + 3 * 5);
  const mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  mica_optimize(nn, loss, &how, NULL);
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  model_file(path, "");
  ck_ok(mica_foundation_open(path, NULL, &model));
  ck_ok(mica_foundation_load(model, nn, session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N, BINS, 2 * P), mel, &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N, T), ids, &tokens));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N * T), labels, &wanted));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &(float){0.02f}, &rate));
  read_weight(session, own, before, WIDTH * WIDTH);
  for (int i = 0; i < RUNS; i++) {
    const mica_feed feeds[] = {{"mel", x}, {"ids", tokens}, {"labels", wanted}, {MICA_LEARNING_RATE, rate}};
    ck_ok(mica_session_run(session, test_queue(), feeds, 4));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &losses[i], sizeof losses[i]));
  }
  read_weight(session, own, after, WIDTH * WIDTH);
  printf("loss %.3f, after %d steps %.3f\n", (double)losses[0], RUNS - 1, (double)losses[RUNS - 1]);
  ck_assert_msg(losses[RUNS - 1] < 0.5f * losses[0], "%g, then %g", (double)losses[0], (double)losses[RUNS - 1]);
  ck_assert_mem_eq(before, after, sizeof before);
  mica_tensor_destroy(x);
  mica_tensor_destroy(tokens);
  mica_tensor_destroy(wanted);
  mica_tensor_destroy(rate);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
}
END_TEST

/* A size that is wrong, or the shape of an input. */
static const struct {
  int64_t heads, layers, width, positions, bins, tokens, memory;
  mica_status status;
  const char *text;
} wrong[] = {
    {5, 2, WIDTH, P, BINS, T, WIDTH, MICA_E_INVALID, "number of heads (5)"},
    {0, 2, WIDTH, P, BINS, T, WIDTH, MICA_E_INVALID, "number of heads (0)"},
    {4, 0, WIDTH, P, BINS, T, WIDTH, MICA_E_INVALID, "0 layers"},
    {4, 1001, WIDTH, P, BINS, T, WIDTH, MICA_E_INVALID, "1001 layers"},
    {4, 2, INT64_MAX, P, BINS, T, WIDTH, MICA_E_INVALID, "width"},
    {4, 2, WIDTH, INT64_MAX, BINS, T, WIDTH, MICA_E_INVALID, "positions"},
    {4, 2, WIDTH, P + 1, BINS, T, WIDTH, MICA_E_SHAPE, "10, 30)"},
    {4, 2, WIDTH, P, BINS + 1, T, WIDTH, MICA_E_SHAPE, "10, 28)"},
    {4, 2, WIDTH, P, BINS, 17, WIDTH, MICA_E_SHAPE, "16 positions"},
    {4, 2, WIDTH, P, BINS, T, WIDTH + 1, MICA_E_SHAPE, "24)"},
};

START_TEST(wrong_sizes_are_refused) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_whisper_sizes s = sizes;
  s.width = wrong[_i].width;
  s.encoder.heads = wrong[_i].heads;
  s.encoder.layers = wrong[_i].layers;
  s.encoder.positions = wrong[_i].positions;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  const bool decodes = wrong[_i].tokens != T || wrong[_i].memory != WIDTH;
  const mica_value mel = mica_input(graph, "mel", MICA_F32, MICA_SHAPE(N, wrong[_i].bins, 2 * P));
  const mica_value ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(N, wrong[_i].tokens));
  const mica_value memory = mica_input(graph, "memory", MICA_F32, MICA_SHAPE(N, P, wrong[_i].memory));
  const mica_value y = decodes ? mica_whisper_decoder(nn, &s, ids, memory) : mica_whisper_encoder(nn, &s, mel);
  ck_assert(mica_value_is_null(y));
  ck_assert_int_eq(mica_graph_status(graph), wrong[_i].status);
  ck_assert_msg(strstr(mica_error_message(), wrong[_i].text) != NULL, "%s", mica_error_message());
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(features_are_those_of_transformers, 0, 2),
      LOOP(wrong_sounds_are_refused, 0, (int)(sizeof faults / sizeof *faults)),
      IF(CJSON, networks_compute_what_transformers_does), IF(CJSON, adapters_lower_the_loss),
      LOOP(wrong_sizes_are_refused, 0, (int)(sizeof wrong / sizeof *wrong)))
