/* labels: device single
 *
 * Filters of one element on both sides of the work from which all images share a packed copy of them: results and
 * gradients against sums in double, and that the copy is made on CPUs, where it is for. */
#include "ops/common/tolerance.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>

typedef struct product {
  int64_t images, from, to, height, width;
  bool shared;
} product;

static const product products[] = {{4, 96, 98, 30, 29, true}, {4, 18, 20, 13, 12, false}, {3, 128, 98, 30, 29, false}};

static float *random_floats(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  ck_assert_ptr_nonnull(x);
  for (int64_t i = 0; i < count; i++) x[i] = (float)((i * 7919 + 13) % 1009) / 504.5f - 1;
  return x;
}

static mica_tensor *tensor(mica_shape shape, const float *data) {
  mica_tensor *t = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, data, &t));
  return t;
}

/* One of `to` planes of an image from all of its `from` planes; the weight of a pair is w[to_step t + from_step f]. */
static void check_positions(const product *p, const float *x, const float *w, int64_t to_step, int64_t from_step,
                            const float *got) {
  int64_t plane = p->height * p->width, all = p->images * p->to * plane;
  for (int64_t at = 0; at < all; at += 1 + all / 997) {
    int64_t image = at / plane / p->to, t = at / plane % p->to, position = at % plane;
    double sum = 0, magnitude = 0;
    for (int64_t f = 0; f < p->from; f++) {
      double term = (double)x[(image * p->from + f) * plane + position] * (double)w[to_step * t + from_step * f];
      sum += term;
      magnitude += fabs(term);
    }
    double bound = mica__tolerance_sum(MICA_F32, MICA_F32, (double)p->from, magnitude, sum);
    ck_assert_msg(fabs((double)got[at] - sum) <= bound, "element %lld is %g and not %g", (long long)at, (double)got[at],
                  sum);
  }
}

/* Forward with filters (to, from), or backward to the data with filters (from, to). */
static void check_product(const product *p, bool backward) {
  int64_t plane = p->height * p->width, count = p->images * p->to * plane;
  float *x = random_floats(p->images * p->from * plane), *w = random_floats(p->from * p->to);
  float *got = malloc((size_t)count * sizeof *got);
  ck_assert_ptr_nonnull(got);
  for (int64_t i = 0; i < count; i++) got[i] = NAN;
  mica_tensor *source = tensor(MICA_SHAPE(p->images, p->from, p->height, p->width), x);
  mica_tensor *filters = tensor(backward ? MICA_SHAPE(p->from, p->to, 1, 1) : MICA_SHAPE(p->to, p->from, 1, 1), w);
  mica_tensor *result = tensor(MICA_SHAPE(p->images, p->to, p->height, p->width), got);
  uint64_t before = mica_engine_stats(test_engine()).launches;
  if (backward)
    ck_ok(mica_op_conv_bwd_data(test_queue(), NULL, source, filters, NULL, result));
  else
    ck_ok(mica_op_conv_fwd(test_queue(), NULL, source, filters, NULL, result));
  uint64_t launches = mica_engine_stats(test_engine()).launches - before;
  if (mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU)
    ck_assert_uint_eq(launches, p->shared ? 2 : 1);
  ck_ok(mica_tensor_download(test_queue(), result, got, (size_t)count * sizeof *got));
  check_positions(p, x, w, backward ? 1 : p->from, backward ? p->to : 1, got);
  mica_tensor_destroy(source);
  mica_tensor_destroy(filters);
  mica_tensor_destroy(result);
  free(x);
  free(w);
  free(got);
}

START_TEST(forward) { check_product(&products[_i], false); }
END_TEST
START_TEST(backward) { check_product(&products[_i], true); }
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(forward, 0, sizeof products / sizeof *products),
      LOOP(backward, 0, sizeof products / sizeof *products))
