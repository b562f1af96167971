/* labels: device
 *
 * The second half of a layer of few rows is one launch on CPUs, with the bits of its products one after the other. */
#include "ops/blocks/blocks.h"
#include "runtime/drivers.h"
#include "support/block_layer.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { K = 512, WIDTH = 256, HIDDEN = 768, MOST_ROWS = 16 };

/* What a layer has: a product before it and what that adds, a norm, a bias, and whether it adds its input. mica doctor
 * checks the kernel in all types. */
typedef struct form {
  mica_block type;
  int64_t rows;
  bool out, bias, norm, residual;
} form;
static const form forms[] = {{MICA_BLOCK_Q4_1, 1, true, false, true, true},
                             {MICA_BLOCK_Q4_1, 3, true, true, true, true},
                             {MICA_BLOCK_Q4_1, 16, true, true, false, false},
                             {MICA_BLOCK_Q8_0, 1, false, false, true, true}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Launches of a run. apart: what lies between the products is an output too. */
static size_t run(const form *f, const float *x, bool apart, float *y) {
  const mica_block type = f->type;
  const int64_t columns = f->out ? K : WIDTH;
  const mica_shape shape = MICA_SHAPE(1, f->rows, columns);
  block_layer_begin();
  graph_anew();
  mica_value in = mica_input(graph, "x", MICA_F32, shape), h = in;
  if (f->out) {
    h = mica_matmul(in, block_layer_matrix(type, WIDTH, K));
    if (f->bias) h = mica_add(h, block_layer_vector(WIDTH));
    h = mica_add(h, mica_slice(in, 2, K - WIDTH, K, 1));
  }
  mica_value n = f->norm ? mica_rms_norm(h, -1, block_layer_vector(WIDTH), 1e-5) : h;
  mica_value gate = mica_silu(mica_matmul(n, block_layer_matrix(type, HIDDEN, WIDTH)));
  mica_value between = mica_mul(gate, mica_matmul(n, block_layer_matrix(type, HIDDEN, WIDTH)));
  mica_value sum = mica_matmul(between, block_layer_matrix(type, WIDTH, HIDDEN));
  if (f->bias) sum = mica_add(sum, block_layer_vector(WIDTH));
  mica_value outputs[] = {f->residual ? mica_add(sum, h) : sum, between};
  return graph_launches(outputs, apart ? 2 : 1, NULL, shape, x, y);
}

START_TEST(half_a_layer_is_one_launch_with_the_same_bits) {
  static float x[MOST_ROWS * K], y[MOST_ROWS * WIDTH], want[MOST_ROWS * (WIDTH + HIDDEN)];
  const mica_device_info *device = mica_engine_device(test_engine());
  const bool together = (mica__kernel_class(device) & MICA__ON_CPU) && mica__usable_cores() >= device->compute_units;
  const form *f = &forms[_i];
  for (int i = 0; i < MOST_ROWS * K; i++) x[i] = block_layer_draw();
  const size_t apart = run(f, x, true, want), launches = run(f, x, false, y);
  ck_assert_mem_eq(y, want, (size_t)(f->rows * WIDTH) * sizeof *y);
  if (together) ck_assert_uint_eq(launches, f->out && f->rows > 1 ? 2 : 1); /* 2: the slice is copied */
  ck_assert_uint_le(launches, apart);
}
END_TEST

/* Counters are zeros again after each run, so every run is alike. */
START_TEST(runs_are_alike) {
  static float x[K], first[WIDTH], again[WIDTH];
  for (int i = 0; i < K; i++) x[i] = block_layer_draw();
  run(&forms[0], x, false, first);
  mica_tensor *in = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1, 1, K), x, &in));
  for (int i = 0; i < 200; i++) {
    ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", in}, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(graph_session, 0), again, sizeof again));
    ck_assert_mem_eq(first, again, sizeof again);
  }
  mica_tensor_destroy(in);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, LOOP(half_a_layer_is_one_launch_with_the_same_bits, 0, FORMS),
      runs_are_alike)
