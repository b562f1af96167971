/* labels: null single
 *
 * The head of depth maps on the host, without a network: losses and metrics of known answers beside sums in double, and
 * what a section says of a sample. */
#include "data/picture/image.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/settings.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/heads.h"

#include <math.h>
#include <mica/mica.h>

/* Two pictures of 1 x 3 pixels and the logarithms of their depths in units of 2; a depth of 0 is unknown. */
static const double logs[] = {0.5, -0.25, 4, 0, 1, -1}, depths[] = {3, 2, 0, 0, 8, 0.5};

static heads_answers two_depth_maps(void) {
  return (heads_answers){.z_shape = MICA_SHAPE(2, 1, 1, 3), .y_shape = MICA_SHAPE(2, 1, 3), .z = logs, .y = depths};
}

static void take_depths(const char *loss) {
  static const double usual = 2;
  heads_take("depth");
  ck_ok(mica__run_note_numbers(heads_run, "usual_depth", &usual, 1));
  ck_ok(mica__run_set(heads_run, "loss", loss));
}

/* Per picture, mean g^2 - 0.5 (mean g)^2 of g = log of predicted / true depth; the pictures count alike. */
START_TEST(depths_have_a_scale_invariant_loss) {
  const heads_answers a = two_depth_maps();
  double loss = 0;
  take_depths("silog");
  for (int k = 0; k < 2; k++) {
    double sum = 0, squares = 0, pixels = 0;
    for (int i = 3 * k; i < 3 * k + 3; i++) {
      if (!(depths[i] > 0)) continue;
      const double g = logs[i] + log(2) - log(depths[i]);
      sum += g, squares += g * g, pixels++;
    }
    loss += (squares / pixels - 0.5 * (sum / pixels) * (sum / pixels)) / 2;
  }
  const heads_results r = heads_step(&a, false);
  ck_assert_double_eq_tol(r.loss, loss, 1e-6);
  ck_assert_double_eq_tol(r.weight, 2, 1e-9);
}
END_TEST

START_TEST(unknown_depths_do_not_count) {
  const heads_answers a = two_depth_maps();
  double l1 = 0, huber = 0, relative = 0, close = 0, squares = 0;
  for (int i = 0; i < 6; i++) {
    const double depth = 2 * exp(logs[i]), error = fabs(depth - depths[i]);
    if (!(depths[i] > 0)) continue;
    l1 += error / 4;
    huber += (error < 0.5 ? error * error / 2 : 0.5 * (error - 0.25)) / 4;
    relative += error / depths[i] / 4;
    close += (depth / depths[i] < 1.25 && depths[i] / depth < 1.25) / 4.0;
    squares += error * error;
  }
  take_depths("l1");
  heads_results r = heads_step(&a, false);
  ck_assert_double_eq_tol(r.loss, l1, 1e-6);
  ck_assert_double_eq_tol(r.weight, 4, 1e-9);
  ck_assert_double_eq_tol(heads_mean(&r, 0), relative, 1e-6);
  ck_assert_double_eq_tol(heads_mean(&r, 1), close, 1e-9);
  ck_assert_double_eq_tol(r.metrics[2][0], squares, 1e-5);
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(r.output[i], 2 * exp(logs[i]), 1e-5);
  ck_ok(mica__run_set(heads_run, "loss", "huber"));
  ck_ok(mica__run_set(heads_run, "delta", "0.5"));
  r = heads_step(&a, true);
  ck_assert_double_eq_tol(r.loss, huber, 1e-6);
}
END_TEST

/* A batch without any known depth has a loss of 0 and no weight. */
START_TEST(depths_may_all_be_unknown) {
  static const double none[6];
  static const char *const losses[] = {"silog", "l1", "huber"};
  heads_answers a = two_depth_maps();
  a.y = none;
  take_depths(losses[_i]);
  const heads_results r = heads_step(&a, true);
  ck_assert_double_eq_tol(r.loss, 0, 1e-12);
  ck_assert_double_eq_tol(r.weight, 0, 1e-12);
}
END_TEST

START_TEST(a_section_of_depths) {
  static const float found[] = {2, 4, 8, 300}, truth[] = {2, 5, 0, 200};
  static const uint8_t pixels[4] = {9, 9, 9, 9};
  static const mica_shape shape = {3, {1, 2, 2}};
  take_depths("silog");
  mica_report *report =
      heads_section(&(mica__sample){.pixels = pixels, .depths = truth, .shape = shape}, found, &(mica_run_input){0});
  ck_assert_double_eq_tol(mica_report_find(report, 0, "absrel")->number, (0 + 0.2 + 0.5) / 3, 1e-9);
  ck_assert_double_eq_tol(mica_report_find(report, 0, "delta1")->number, 1.0 / 3, 1e-9);
  ck_assert_double_eq_tol(mica_report_find(report, 0, "rmse")->number, sqrt((1 + 1e4) / 3), 1e-9);
  ck_assert_double_eq_tol(mica_report_find(report, 0, "farthest")->number, 300, 1e-9);
#if MICA_WITH_PNG
  /* 256 levels per unit: 300 does not fit in 16 bits and is unknown. */
  const mica_item *png = mica_report_find(report, 0, "depth");
  uint16_t *levels = NULL;
  int32_t sides[2];
  ck_assert_str_eq(png->text, ".png");
  ck_ok(mica__png_decode_levels("png", png->planes, (size_t)png->shape.dim[0], sides, &levels));
  ck_assert(levels[0] == 512 && levels[1] == 1024 && levels[2] == 2048 && levels[3] == 0);
  mica_free(levels);
#endif
  const mica_item *colours = mica_report_find(report, 0, "colours");
  ck_assert(colours->planes[0] == 253 && colours->planes[3] == 68); /* near: yellow; far: dark blue */
  mica_report_destroy(report);
}
END_TEST

TESTS(ANYWHERE, heads_make, heads_drop, depths_have_a_scale_invariant_loss, unknown_depths_do_not_count,
      LOOP(depths_may_all_be_unknown, 0, 3), a_section_of_depths)
