/* labels: device
 *
 * A product of few rows with a norm of its result, which is added, is one launch on CPUs, and gives what the ops give
 * one after the other. */
#include "ops/blocks/blocks.h"
#include "support/block_layer.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { K = 512, WIDTH = 256, MOST_ROWS = 16 };

/* bias: of the product. shift: the norm adds something too, so it is a layer's own launch. */
typedef struct form {
  mica_block type;
  int64_t rows, width;
  bool bias, shift;
} form;
static const form forms[] = {{MICA_BLOCK_Q4_1, 1, WIDTH, false, false}, {MICA_BLOCK_Q4_1, 3, WIDTH, true, false},
                             {MICA_BLOCK_Q6_K, 16, WIDTH, true, false}, {MICA_BLOCK_Q8_0, 9, 16, false, false},
                             {MICA_BLOCK_Q5_0, 2, 33, false, false},    {MICA_BLOCK_Q4_K, 1, WIDTH, false, true}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Launches of a run. apart: the product is an output too. */
static size_t run(const form *f, const float *x, bool apart, float *y) {
  const mica_shape shape = MICA_SHAPE(1, f->rows, K);
  block_layer_begin();
  graph_anew();
  mica_value in = mica_input(graph, "x", MICA_F32, shape),
             t = mica_matmul(in, block_layer_matrix(f->type, f->width, K));
  if (f->bias) t = mica_add(t, block_layer_vector(f->width));
  mica_value n = mica_rms_norm(t, -1, block_layer_vector(f->width), 1e-5);
  if (f->shift) n = mica_add(n, block_layer_vector(f->width));
  mica_value outputs[] = {mica_add(n, block_layer_vector(f->width)), t};
  if (!f->shift) {
    float *values = malloc((size_t)(f->rows * f->width) * sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < f->rows * f->width; i++) values[i] = block_layer_draw();
    outputs[0] = mica_add(n, mica_constant(graph, MICA_F32, MICA_SHAPE(1, f->rows, f->width), values));
    free(values);
  }
  return graph_launches(outputs, apart ? 2 : 1, NULL, shape, x, y);
}

START_TEST(a_norm_after_a_product_is_no_launch) {
  static float x[MOST_ROWS * K], y[MOST_ROWS * WIDTH], want[2 * MOST_ROWS * WIDTH];
  const bool cpu = (mica__kernel_class(mica_engine_device(test_engine())) & MICA__ON_CPU) != 0;
  const form *f = &forms[_i];
  for (int i = 0; i < MOST_ROWS * K; i++) x[i] = block_layer_draw();
  const size_t apart = run(f, x, true, want), launches = run(f, x, false, y);
  /* A row's norm is near 1, so its elements are below sqrt(width), and the sums of squares round by width eps. */
  for (int64_t i = 0; i < f->rows * f->width; i++)
    ck_assert_msg(fabsf(y[i] - want[i]) <= 16 * 256 * 0x1p-24F, "element %d: %g, not %g", (int)i, (double)y[i],
                  (double)want[i]);
  if (cpu && f->width % 16 == 0 && !f->shift) ck_assert_uint_eq(launches, 1);
  ck_assert_uint_ge(apart, launches);
}
END_TEST

/* Counters are zeros again after each run, so every run is alike. */
START_TEST(runs_are_alike) {
  static float x[9 * K], first[9 * WIDTH], again[9 * WIDTH];
  const form f = {MICA_BLOCK_Q4_1, 9, WIDTH, true, false};
  for (int i = 0; i < 9 * K; i++) x[i] = block_layer_draw();
  run(&f, x, false, first);
  mica_tensor *in = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1, 9, K), x, &in));
  for (int i = 0; i < 200; i++) {
    ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", in}, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(graph_session, 0), again, sizeof again));
    ck_assert_mem_eq(first, again, sizeof again);
  }
  mica_tensor_destroy(in);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, LOOP(a_norm_after_a_product_is_no_launch, 0, FORMS), runs_are_alike)
