/* labels: device
 *
 * Keys and values of a Q8 cache: a prompt, which rounds them by ops of the graph, writes the bytes that new positions
 * write one by one, by the kernel of attention. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { B = 8, T = 64, D = 32, COUNT = B * T * D };

/* An attention layer with a Q8 cache and one head, all of whose projections change nothing. */
typedef struct layer {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *x, *offset;
} layer;

static void set_identity(const layer *l) {
  float identity[D * D] = {0};
  for (int i = 0; i < D; i++) identity[i * D + i] = 1;
  for (size_t p = 0; p < mica_nn_parameter_count(l->nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(l->nn, p);
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    mica_tensor *weight = mica_session_parameter(l->session, info->name);
    ck_ok(mica_tensor_upload(test_queue(), weight, identity, sizeof identity));
  }
}

static layer make(int64_t count) {
  layer l = {0};
  ck_ok(mica_graph_create(&l.graph));
  ck_ok(mica_nn_create(l.graph, NULL, &l.nn));
  mica_value x = mica_input(l.graph, "x", MICA_F32, MICA_SHAPE(B, count, D));
  mica_kv_cache cache = {.batch = B,
                         .length = T,
                         .form = MICA_CACHE_FORM_Q8,
                         .offset = mica_input(l.graph, "offset", MICA_I32, MICA_SHAPE(B))};
  mica_value y = mica_nn_attention(l.nn, "layer", x, (mica_value){0},
                                   &(mica_nn_attention_config){.heads = 1,
                                                               .head_size = D,
                                                               .apart = true,
                                                               .no_bias = true,
                                                               .causal = true,
                                                               .positions = MICA_POSITIONS_KIND_NONE,
                                                               .cache = &cache});
  ck_ok(mica_session_create(test_engine(), l.graph, &y, 1, NULL, &l.session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(B, count, D), &l.x));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(B), &l.offset));
  set_identity(&l);
  return l;
}

static void destroy(layer *l) {
  mica_tensor_destroy(l->x);
  mica_tensor_destroy(l->offset);
  mica_session_destroy(l->session);
  mica_nn_destroy(l->nn);
  mica_graph_destroy(l->graph);
}

static void run(const layer *l, const float *x, int32_t at) {
  int32_t offsets[B];
  for (int b = 0; b < B; b++) offsets[b] = at;
  ck_ok(mica_tensor_upload(test_queue(), l->x, x, mica_tensor_bytes(l->x)));
  ck_ok(mica_tensor_upload(test_queue(), l->offset, offsets, sizeof offsets));
  ck_ok(mica_session_run(l->session, test_queue(), (mica_feed[]){{"x", l->x}, {"offset", l->offset}}, 2));
}

static uint32_t state = 1;
static float draw(void) { return (float)((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0F - 1; }

/* The largest number of a block is 127 times what lies amid two halves, so that the least error decides its scale;
 * others lie amid two steps. Some blocks are beyond the range of scales, below it, zero or NaN. */
static void fill(float *x) {
  for (int block = 0; block < B * T; block++) {
    float *to = x + (size_t)block * D;
    const float middle = (float)(1024 + block * 2 % 1024) + 0.5F, step = ldexpf(middle, block % 21 - 18);
    for (int i = 0; i < D; i++) to[i] = i % 2 ? 127 * step * draw() : step * (floorf(126 * draw()) + 0.5F);
    to[block % D] = block % 2 ? -127 * step : 127 * step;
    for (int i = 0; i < D && block % 16 == 0; i++) to[i] *= block % 32 ? 1e30F : 1e-30F;
    if (block % 64 == 5) memset(to, 0, D * sizeof *to);
    if (block % 64 == 6) to[D - 1] = NAN;
  }
}

/* Compares a state, of the same bytes in both layers. */
static void compare(const layer *a, const layer *b, const char *name) {
  const mica_tensor *of_a = mica_session_parameter(a->session, name), *of_b = mica_session_parameter(b->session, name);
  ck_assert_msg(of_a && of_b, "there is no %s", name);
  const size_t bytes = mica_tensor_bytes(of_a);
  uint8_t *got = malloc(bytes), *want = malloc(bytes);
  ck_assert(got && want);
  ck_ok(mica_tensor_download(test_queue(), of_a, got, bytes));
  ck_ok(mica_tensor_download(test_queue(), of_b, want, bytes));
  for (size_t i = 0; i < bytes; i++)
    ck_assert_msg(got[i] == want[i], "%s: byte %zu is %d after a prompt, %d after single positions", name, i, got[i],
                  want[i]);
  free(got);
  free(want);
}

START_TEST(prompts_and_single_positions_write_the_same_bytes) {
  static const char *const names[] = {"layer.cache_k", "layer.cache_v", "layer.cache_k_scale", "layer.cache_v_scale"};
  static float x[COUNT], row[B * D];
  layer whole = make(T), single = make(1);
  fill(x);
  run(&whole, x, 0);
  for (int32_t t = 0; t < T; t++) {
    for (int b = 0; b < B; b++) memcpy(row + b * D, x + (size_t)(b * T + t) * D, D * sizeof *row);
    run(&single, row, t);
  }
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) compare(&whole, &single, names[n]);
  destroy(&whole);
  destroy(&single);
}
END_TEST

TESTS(DEVICE, NULL, NULL, prompts_and_single_positions_write_the_same_bytes)
