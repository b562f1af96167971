/* labels: device
 *
 * Mean and variance of channels whose values are far from 0. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>

#define EPSILON 1e-3

/* Variances are small beside the squares of means, from which they must not be told by a difference: 8 about 3,000. */
START_TEST(statistics_far_from_zero) {
  enum { IMAGES = 6, CHANNELS = 3, PIXELS = 400 };
  static float x[IMAGES][CHANNELS][PIXELS];
  float mean[CHANNELS], variance[CHANNELS];
  uint32_t seed = 5;
  for (int i = 0; i < IMAGES * CHANNELS * PIXELS; i++)
    (&x[0][0][0])[i] = 3000 + (float)(10 * ((seed = seed * 1664525u + 1013904223u) >> 8)) / (1 << 24);
  mica_tensor *in = NULL, *y = NULL, *m = NULL, *v = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(IMAGES, CHANNELS, PIXELS), x, &in));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(IMAGES, CHANNELS, PIXELS), &y));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(CHANNELS), &m));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(CHANNELS), &v));
  ck_ok(mica_op_batch_norm_train_fwd(test_queue(), EPSILON, in, NULL, NULL, y, m, v));
  ck_ok(mica_tensor_download(test_queue(), m, mean, sizeof mean));
  ck_ok(mica_tensor_download(test_queue(), v, variance, sizeof variance));
  for (int c = 0; c < CHANNELS; c++) {
    double sum = 0, squares = 0;
    for (int i = 0; i < IMAGES * PIXELS; i++) sum += (double)x[i / PIXELS][c][i % PIXELS];
    sum /= IMAGES * PIXELS;
    for (int i = 0; i < IMAGES * PIXELS; i++) squares += pow((double)x[i / PIXELS][c][i % PIXELS] - sum, 2);
    squares /= IMAGES * PIXELS;
    /* The mean to its last bit but one, 2,000 sums of 2^-24 each for the variance. */
    ck_assert_msg(fabs(mean[c] - sum) <= 5e-4, "mean %g, not %g", (double)mean[c], sum);
    ck_assert_msg(fabs(variance[c] - squares) <= 2.5e-4 * squares, "variance %g, not %g", (double)variance[c], squares);
  }
  mica_tensor *all[] = {in, y, m, v};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

TESTS(DEVICE, NULL, NULL, statistics_far_from_zero)
