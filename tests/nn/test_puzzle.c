/* labels: device
 *
 * PuzzleMix without a network: masks against the best of all masks, and what is copied; and first passes of
 * networks. */
#include "networks/puzzle.h"
#include "nn/nn.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 5, PLANES = 2, HEIGHT = 6, WIDTH = 12, CLASSES = 3 };
enum { PIXELS = HEIGHT * WIDTH, NUMBERS = PICTURES * PLANES * PIXELS };

static uint32_t state;
static double draw(void) {
  state = state * UINT32_C(1664525) + UINT32_C(1013904223);
  return state * 0x1p-32;
}

/* --- masks --- */

/* The saliency of blocks by definition, of mean 1. */
static void find_saliency(const float *gradient, int blocks, double *s) {
  double all = 0;
  memset(s, 0, sizeof *s * (size_t)(blocks * blocks));
  for (int p = 0; p < PIXELS; p++) {
    const double a = (double)gradient[p], b = (double)gradient[PIXELS + p], norm = sqrt(a * a + b * b);
    s[p / WIDTH / (HEIGHT / blocks) * blocks + p % WIDTH / (WIDTH / blocks)] += norm;
    all += norm;
  }
  for (int i = 0; i < blocks * blocks; i++) s[i] *= blocks * blocks / fmax(all, 1e-30);
}

static double cost_of(const double *s, const double *t, double share, int blocks, uint32_t mask) {
  double cost = 0;
  for (int i = 0; i < blocks * blocks; i++) {
    const uint32_t on = mask >> i & 1;
    if (on) cost += s[i] - t[i] + 0.2 * log((1 - share) / share);
    if (i % blocks && on != (mask >> (i - 1) & 1)) cost += 1.2 * blocks / 16;
    if (i >= blocks && on != (mask >> (i - blocks) & 1)) cost += 1.2 * blocks / 16;
  }
  return cost;
}

static uint32_t best_mask(const double *s, const double *t, double share, int blocks) {
  uint32_t best = 0;
  for (uint32_t mask = 1; mask < UINT32_C(1) << (blocks * blocks); mask++)
    if (cost_of(s, t, share, blocks, mask) < cost_of(s, t, share, blocks, best)) best = mask;
  return best;
}

/* Mixes a batch on the device: x and y receive it. */
static void mix(const float *pixels, const float *gradient, const int32_t *classes, float share, int blocks, float *x,
                float *y) {
  const mica_shape shape = MICA_SHAPE(PICTURES, PLANES, HEIGHT, WIDTH);
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  ck_ok(mica_graph_create(&graph));
  mica__puzzle_batch b = {mica_constant(graph, MICA_F32, shape, pixels),
                          mica_constant(graph, MICA_I32, MICA_SHAPE(PICTURES), classes), CLASSES};
  mica__puzzle_mix(mica_constant(graph, MICA_F32, shape, gradient),
                   mica_constant(graph, MICA_F32, MICA_SHAPE(1), &share), blocks, &b);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, (mica_value[]){b.x, b.y}, 2, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), x, NUMBERS * sizeof *x));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 1), y, PICTURES * CLASSES * sizeof *y));
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}

/* Blocks are the picture's or the partner's by the mask, pixel by pixel; the middle picture is its own partner. */
static void follows(const float *pixels, const float *x, int n, int blocks, uint32_t mask) {
  for (int i = 0; i < PLANES * PIXELS; i++) {
    const int p = i % PIXELS;
    const int block = p / WIDTH / (HEIGHT / blocks) * blocks + p % WIDTH / (WIDTH / blocks);
    const int from = mask >> block & 1 ? PICTURES - 1 - n : n;
    ck_assert_msg(x[n * PLANES * PIXELS + i] == pixels[from * PLANES * PIXELS + i], "picture %d, pixel %d", n, i);
  }
}

START_TEST(masks_are_the_best_of_all) {
  static float pixels[NUMBERS], gradient[NUMBERS], x[NUMBERS], y[PICTURES * CLASSES];
  static const int32_t classes[PICTURES] = {2, 0, 1, 1, -1};
  static const float shares[] = {0.45f, 0.1f, 0.999f};
  const int blocks = _i % 2 ? 3 : 2;
  const float share = shares[_i / 2];
  int partly = 0;
  state = 11 + (uint32_t)_i;
  for (int i = 0; i < NUMBERS; i++) {
    /* Columns are loud, others in each picture; the second picture has no gradient. */
    const int n = i / (PLANES * PIXELS), loud = i % WIDTH / 3 == (n == PICTURES - 1 ? 2 : n);
    pixels[i] = (float)i;
    gradient[i] = n == 1 ? 0 : (float)((loud ? 20 : 1) * (draw() - 0.5) * 1e-6);
  }
  mix(pixels, gradient, classes, share, blocks, x, y);
  for (int n = 0; n < PICTURES; n++) {
    double s[9], t[9];
    const int other = PICTURES - 1 - n;
    find_saliency(gradient + n * PLANES * PIXELS, blocks, s);
    find_saliency(gradient + other * PLANES * PIXELS, blocks, t);
    const uint32_t mask = best_mask(s, t, (double)share, blocks);
    double mean = 0;
    for (int i = 0; i < blocks * blocks; i++) mean += (double)(mask >> i & 1) / (blocks * blocks);
    partly += n != other && mean > 0 && mean < 1;
    follows(pixels, x, n, blocks, mask);
    for (int c = 0; c < CLASSES; c++)
      ck_assert(fabs((double)y[n * CLASSES + c] - (1 - mean) * (classes[n] == c) - mean * (classes[other] == c)) <
                1e-6);
  }
  ck_assert_msg(partly > 0 || share > 0.9f, "no picture is mixed");
}
END_TEST

/* --- first passes --- */

static mica_value network(mica_nn *nn, mica_value x) {
  mica_value z = mica_nn_batch_norm(nn, "norm", mica_nn_dense(nn, "first", x, 4, NULL), NULL);
  return mica_nn_dense(nn, "last", mica_relu(z), 2, NULL);
}

typedef struct built {
  float z[4], clean[4]; /* clean: of the first pass, or z again */
  float running[4];
  size_t parameters;
  char *summary;
} built;

static built build(bool training, bool first) {
  static const float numbers[6] = {1, -2, 3, 0.5f, 4, -1};
  built b = {.summary = NULL};
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = training, .seed = 3}, &nn));
  mica_value x = mica_constant(graph, MICA_F32, MICA_SHAPE(2, 3), numbers), clean = {0};
  if (first) {
    mica__nn_first_pass_begin(nn);
    ck_assert(!mica_nn_is_training(nn));
    clean = network(nn, x);
    mica__nn_first_pass_end(nn);
    ck_assert(mica_nn_is_training(nn));
  }
  mica_value z = network(nn, x);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, (mica_value[]){z, first ? clean : z}, 2, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), b.z, sizeof b.z));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 1), b.clean, sizeof b.clean));
  ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, "norm.running_mean"), b.running,
                             sizeof b.running));
  b.parameters = mica_nn_parameter_count(nn);
  ck_ok(mica_nn_summary(nn, &b.summary));
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return b;
}

/* The network is as without a first pass, which has the answers of a network for inference. */
START_TEST(a_first_pass_changes_no_network) {
  built plain = build(true, false), twice = build(true, true), inference = build(false, false);
  ck_assert(!memcmp(plain.z, twice.z, sizeof plain.z));
  ck_assert(!memcmp(plain.running, twice.running, sizeof plain.running));
  ck_assert(!memcmp(inference.z, twice.clean, sizeof plain.z));
  ck_assert(memcmp(plain.z, inference.z, sizeof plain.z) != 0);
  ck_assert_uint_eq(plain.parameters, twice.parameters);
  ck_assert_str_eq(plain.summary, twice.summary);
  mica_free(plain.summary);
  mica_free(twice.summary);
  mica_free(inference.summary);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(masks_are_the_best_of_all, 0, 6), a_first_pass_changes_no_network)
