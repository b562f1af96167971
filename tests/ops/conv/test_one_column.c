/* labels: device single
 *
 * Axes of one position: a convolution down a column of one pixel is the convolution along a row of them, to the bit and
 * by the same kernel, whichever axes have one position. */
#include "ops/conv/conv.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

enum { N = 2, C = 16, K = 24, LONG = 50, TAPS = 5, OUT = 24, X = N * C * LONG, W = K * C * TAPS, Y = N * K * OUT };

/* Shapes of a problem that is laid along one of three axes. */
typedef struct layout {
  mica_shape x, w, y;
  mica_conv_config config;
} layout;

static layout along(int32_t rank, int32_t axis) {
  layout l = {.x = {.rank = rank, .dim = {N, C, 1, 1, 1}},
              .w = {.rank = rank, .dim = {K, C, 1, 1, 1}},
              .y = {.rank = rank, .dim = {N, K, 1, 1, 1}}};
  l.x.dim[2 + axis] = LONG;
  l.w.dim[2 + axis] = TAPS;
  l.y.dim[2 + axis] = OUT;
  l.config.stride[axis] = 2;
  l.config.pad[axis] = 3;
  l.config.dilation[axis] = 2;
  return l;
}

static float data[3][X + W + Y];

/* The pass's result: which of x, w, y it is decides the layout's shape of it. */
static void run_pass(const layout *l, mica__conv_pass pass, float *result, char key[MICA__TUNING_TEXT]) {
  const mica_shape shapes[3] = {l->x, l->w, l->y};
  mica_tensor *t[3] = {NULL};
  mica__conv conv;
  for (int i = 0; i < 3; i++) ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shapes[i], data[i], &t[i]));
  ck_ok(mica__conv_problem(test_queue(), pass, &l->config, t[0], t[1], t[2], NULL, &conv));
  mica__conv_key(&conv, key);
  int made = pass == MICA__CONV_FWD ? 2 : pass == MICA__CONV_BWD_DATA ? 0 : 1;
  if (made == 2)
    ck_ok(mica_op_conv_fwd(test_queue(), &l->config, t[0], t[1], NULL, t[2]));
  else if (made == 0)
    ck_ok(mica_op_conv_bwd_data(test_queue(), &l->config, t[2], t[1], NULL, t[0]));
  else
    ck_ok(mica_op_conv_bwd_filter(test_queue(), &l->config, t[0], t[2], t[1]));
  ck_ok(mica_tensor_download(test_queue(), t[made], result, mica_tensor_bytes(t[made])));
  for (int i = 0; i < 3; i++) mica_tensor_destroy(t[i]);
}

START_TEST(an_axis_is_as_good_as_another) {
  static const struct { int32_t rank, axis; } others[] = {{4, 0}, {4, 1}, {5, 0}, {5, 1}, {5, 2}};
  static float want[X + W + Y], is[X + W + Y];
  const size_t counts[3] = {Y, X, W}; /* of the passes' results */
  char key[MICA__TUNING_TEXT], other[MICA__TUNING_TEXT];
  uint32_t seed = 1;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < X + W + Y; k++) {
      seed = seed * 1664525u + 1013904223u;
      data[i][k] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
  for (int pass = 0; pass < MICA__CONV_PASSES; pass++) {
    const layout row = along(3, 0);
    run_pass(&row, (mica__conv_pass)pass, want, key);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
      const layout l = along(others[i].rank, others[i].axis);
      run_pass(&l, (mica__conv_pass)pass, is, other);
      ck_assert_str_eq(key, other);
      ck_assert_mem_eq(is, want, counts[pass] * sizeof *is);
    }
  }
}
END_TEST

START_TEST(axes_between_are_kept_in_order) {
  mica__conv_dims d = {.n = 1,
                       .groups = 1,
                       .c = 1,
                       .k = 1,
                       .in = {7, 1, 5},
                       .filter = {3, 1, 2},
                       .out = {3, 1, 4},
                       .stride = {2, 9, 1},
                       .pad = {0, 0, 0},
                       .dilation = {1, 4, 1}};
  mica__conv_lead_ones(&d);
  const mica__conv_dims want = {.n = 1,
                                .groups = 1,
                                .c = 1,
                                .k = 1,
                                .in = {1, 7, 5},
                                .filter = {1, 3, 2},
                                .out = {1, 3, 4},
                                .stride = {1, 2, 1},
                                .pad = {0, 0, 0},
                                .dilation = {1, 1, 1}};
  ck_assert_mem_eq(&d, &want, sizeof d);
  d.pad[0] = 1; /* padding makes an axis one that has positions */
  d.out[0] = 3;
  mica__conv_dims kept = d;
  mica__conv_lead_ones(&d);
  ck_assert_mem_eq(&d, &kept, sizeof d);
}
END_TEST

TESTS(DEVICE, NULL, NULL, an_axis_is_as_good_as_another, axes_between_are_kept_in_order)
