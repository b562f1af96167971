/* labels: null single
 *
 * Heads on the host, without a network: the loss and the metrics of known answers beside sums in double, and what a
 * section says of a sample. */
#include "data/volume/nifti.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/settings.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/heads.h"
#include "train/train.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

/* Log of the share of class `k` of n logits. */
static double log_share(const double *z, int n, int k, int apart) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += exp(z[i * apart]);
  return z[k * apart] - log(sum);
}

/* --- classes --- */

static const char *const three[] = {"cat", "dog", "owl"};
static const double logits[] = {1, 2, 0.5, -1, 0, 3, 0.25, 0, -2, 1, 1.5, -0.5};
static const double kinds[] = {1, 2, 1, 0};

static heads_answers four_samples(void) {
  return (heads_answers){
      .z_shape = MICA_SHAPE(4, 3), .y_shape = MICA_SHAPE(4), .z = logits, .y = kinds, .y_type = MICA_I32};
}

static void take_classes(const char *task) {
  heads_take(task);
  ck_ok(mica__run_note(heads_run, "classes", three, 3));
}

START_TEST(classes_have_cross_entropy) {
  static const char *const tasks[] = {"classify", "text", "keyword"};
  const heads_answers a = four_samples();
  double loss = 0;
  take_classes(tasks[_i]);
  for (int i = 0; i < 4; i++) loss -= log_share(logits + 3 * i, 3, (int)kinds[i], 1) / 4;
  const heads_results r = heads_step(&a, false);
  ck_assert_double_eq_tol(r.loss, loss, 1e-6);
  ck_assert_double_eq_tol(heads_mean(&r, 0), 0.5, 1e-9); /* the first two are right */
  ck_assert_uint_eq(r.outputs, 12);
  for (int i = 0; i < 12; i++)
    ck_assert_double_eq_tol(r.output[i], exp(log_share(logits + i / 3 * 3, 3, i % 3, 1)), 1e-6);
}
END_TEST

START_TEST(smoothing_counts_in_training_alone) {
  const heads_answers a = four_samples();
  double plain = 0, smooth = 0;
  take_classes("classify");
  ck_ok(mica__run_set(heads_run, "label-smoothing", "0.3"));
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++) {
      const double log_of = log_share(logits + 3 * i, 3, k, 1);
      plain -= k == (int)kinds[i] ? log_of / 4 : 0;
      smooth -= (0.1 + (k == (int)kinds[i] ? 0.7 : 0)) * log_of / 4;
    }
  ck_assert_double_eq_tol(heads_step(&a, true).loss, smooth, 1e-6);
  ck_assert_double_eq_tol(heads_step(&a, false).loss, plain, 1e-6);
}
END_TEST

START_TEST(focal_loss_and_weights_of_classes) {
  static const double weights[] = {1, 2, 0.5};
  const heads_answers a = four_samples();
  double loss = 0, weight = 0;
  take_classes("classify");
  ck_ok(mica__run_set(heads_run, "loss", "focal"));
  ck_ok(mica__run_set(heads_run, "gamma", "3"));
  ck_ok(mica__run_note_numbers(heads_run, "class_weights", weights, 3));
  for (int i = 0; i < 4; i++) {
    const double log_of = log_share(logits + 3 * i, 3, (int)kinds[i], 1), w = weights[(int)kinds[i]];
    loss -= w * pow(1 - exp(log_of), 3) * log_of;
    weight += w;
  }
  const heads_results r = heads_step(&a, true);
  ck_assert_double_eq_tol(r.weight, weight, 1e-6);
  ck_assert_double_eq_tol(r.loss, loss / weight, 1e-6);
}
END_TEST

/* --- labels --- */

START_TEST(labels_have_binary_cross_entropy) {
  static const char *const tasks[] = {"classify", "text_labels", "sound_labels"};
  static const double truths[] = {0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0}, one = 1;
  const heads_answers a = {
      .z_shape = MICA_SHAPE(4, 3), .y_shape = MICA_SHAPE(4, 3), .z = logits, .y = truths, .y_type = MICA_F32};
  double loss = 0, right = 0;
  take_classes(tasks[_i]);
  ck_ok(mica__run_note_numbers(heads_run, "several", &one, 1));
  for (int i = 0; i < 12; i++) {
    const double share = 1 / (1 + exp(-logits[i]));
    loss -= log(truths[i] > 0 ? share : 1 - share) / 12;
    right += (logits[i] > 0) == (truths[i] > 0);
  }
  const heads_results r = heads_step(&a, false);
  ck_assert_double_eq_tol(r.loss, loss, 1e-6);
  ck_assert_double_eq_tol(heads_mean(&r, 0), right / 12, 1e-9);
  ck_assert_double_eq_tol(r.output[5], 1 / (1 + exp(-logits[5])), 1e-6);
}
END_TEST

/* --- numbers --- */

START_TEST(numbers_are_in_the_units_of_the_user) {
  static const char *const tasks[] = {"regress", "text_numbers", "sound_numbers"};
  static const double z[] = {0.5, -1, 2, 0}, y[] = {12, 7, 17, 4}, mean = 10, deviation = 4;
  const heads_answers a = {.z_shape = MICA_SHAPE(4, 1), .y_shape = MICA_SHAPE(4), .z = z, .y = y, .y_type = MICA_F32};
  double squares = 0, distance = 0;
  heads_take(tasks[_i]);
  ck_ok(mica__run_note_numbers(heads_run, "target_mean", &mean, 1));
  ck_ok(mica__run_note_numbers(heads_run, "target_deviation", &deviation, 1));
  for (int i = 0; i < 4; i++) {
    squares += pow(z[i] - (y[i] - mean) / deviation, 2) / 4;
    distance += fabs(z[i] * deviation + mean - y[i]) / 4;
  }
  const heads_results r = heads_step(&a, false);
  ck_assert_double_eq_tol(r.loss, squares, 1e-6);
  ck_assert_double_eq_tol(heads_mean(&r, 0), distance, 1e-6);
  ck_assert_double_eq_tol(r.output[1], mean - deviation, 1e-6);
}
END_TEST

/* --- pixels --- */

/* Two classes over 1 x 3 pixels of two pictures; a pixel of class -1 is of none. */
START_TEST(pixels_without_a_class_do_not_count) {
  static const double z[] = {1, 0, 2, 0, 3, -1, 0.5, 0.5, 0, 2, -1, 1}, y[] = {0, 1, -1, 1, 0, -1};
  const heads_answers a = {
      .z_shape = MICA_SHAPE(2, 2, 1, 3), .y_shape = MICA_SHAPE(2, 1, 3), .z = z, .y = y, .y_type = MICA_I32};
  double loss = 0, counted = 0, right = 0;
  heads_take("segment");
  ck_ok(mica__run_note(heads_run, "classes", three, 2));
  ck_ok(mica__run_set(heads_run, "loss", "cross_entropy"));
  for (int i = 0; i < 6; i++) {
    const double *at = z + i / 3 * 6 + i % 3;
    if (y[i] < 0) continue;
    loss -= log_share(at, 2, (int)y[i], 3);
    counted++;
    right += (at[3] > at[0]) == (y[i] > 0);
  }
  const heads_results r = heads_step(&a, false);
  ck_assert_double_eq_tol(r.loss, loss / counted, 1e-6);
  ck_assert_double_eq_tol(r.weight, counted, 1e-9);
  ck_assert_double_eq_tol(heads_mean(&r, 2), right / counted, 1e-6);
}
END_TEST

/* --- boxes --- */

/* A frame of 32 x 32 has 21 points at strides 8, 16 and 32. The answers of a point: logits of two classes and of
 * centre-ness, four distances. */
enum { FRAME = 32, POINTS = 21, KINDS = 2, ANSWERS = KINDS + 5 };

static void take_boxes(void) {
  static const double input[] = {1, FRAME, FRAME};
  heads_take("detect");
  ck_ok(mica__run_note(heads_run, "classes", three, KINDS));
  ck_ok(mica__run_note_text(heads_run, "boxes_column", "boxes"));
  ck_ok(mica__run_note_numbers(heads_run, "input", input, 3));
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double least_of(double a, double b) { return a < b ? a : b; }
static double most_of(double a, double b) { return a > b ? a : b; }

/* Generalised overlap (Rezatofighi et al. 2019). */
static double giou(const double a[4], const double b[4]) {
  const double wide = most_of(0, least_of(a[2], b[2]) - most_of(a[0], b[0]));
  const double high = most_of(0, least_of(a[3], b[3]) - most_of(a[1], b[1])), both = wide * high;
  const double all = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  const double hull = (most_of(a[2], b[2]) - least_of(a[0], b[0])) * (most_of(a[3], b[3]) - least_of(a[1], b[1]));
  return both / all - (hull - all) / hull;
}

/* What the loss is of points that may find one box; the centre-ness of a point that is to find it, else -1. */
static double centre_of(const float point[3], const double box[4]) {
  const double d[4] = {(double)point[0] - box[0], (double)point[1] - box[1], box[2] - (double)point[0],
                       box[3] - (double)point[1]};
  const double stride = (double)point[2], across = least_of(d[0], d[2]), down = least_of(d[1], d[3]);
  const double far = most_of(most_of(d[0], d[2]), most_of(d[1], d[3]));
  if (across <= 0 || down <= 0) return -1;
  if (most_of(fabs(d[0] - d[2]), fabs(d[1] - d[3])) / 2 >= 1.5 * stride) return -1;
  if ((stride > 8 && far <= 3 * stride) || (stride < 32 && far > 6 * stride)) return -1;
  return sqrt(across / most_of(d[0], d[2]) * down / most_of(d[1], d[3]));
}

static void answer_boxes(double z[POINTS][ANSWERS]) {
  for (int i = 0; i < POINTS; i++)
    for (int k = 0; k < ANSWERS; k++) z[i][k] = k <= KINDS ? sin(7 * i + 3 * k) : 3 + (5 * i + 2 * k) % 9;
}

/* Where the network says that the box of a point is. */
static void corners_of(const float point[3], const double *answers_of_point, double box[4]) {
  for (int k = 0; k < 4; k++)
    box[k] = (double)point[k & 1] + (k < 2 ? -answers_of_point[KINDS + 1 + k] : answers_of_point[KINDS + 1 + k]);
}

/* A second row without area is no box. */
static const double true_boxes[2][4] = {{3, 3, 22, 19}, {0, 0, 0, 0}}, true_kinds[2] = {1, -1};

static heads_answers found_in(const double *z) {
  return (heads_answers){.z_shape = MICA_SHAPE(1, POINTS, ANSWERS),
                         .y_shape = MICA_SHAPE(1, 2),
                         .z = z,
                         .y = true_kinds,
                         .y_type = MICA_I32,
                         .other = true_boxes[0],
                         .other_name = "boxes",
                         .other_type = MICA_F32,
                         .other_shape = MICA_SHAPE(1, 2, 4)};
}

START_TEST(boxes_have_three_losses) {
  static double z[POINTS][ANSWERS];
  float points[POINTS][3];
  double kind = 0, box = 0, centre = 0, found = 0;
  take_boxes();
  answer_boxes(z);
  ck_assert_int_eq(mica_detector_points(FRAME, FRAME, points[0]), POINTS);
  for (int i = 0; i < POINTS; i++) {
    const double wanted = centre_of(points[i], true_boxes[0]), said = sigmoid(z[i][KINDS]);
    double at[4];
    for (int k = 0; k < KINDS; k++) {
      const bool is = wanted >= 0 && k == (int)true_kinds[0];
      const double share = is ? sigmoid(z[i][k]) : 1 - sigmoid(z[i][k]);
      kind -= (is ? 0.25 : 0.75) * pow(1 - share, 2) * log(share);
    }
    if (wanted < 0) continue;
    corners_of(points[i], z[i], at);
    box += 1 - giou(at, true_boxes[0]);
    centre -= wanted * log(said) + (1 - wanted) * log(1 - said);
    found++;
  }
  ck_assert_double_gt(found, 1);
  const heads_answers a = found_in(z[0]);
  for (int training = 0; training < 2; training++) {
    const heads_results r = heads_step(&a, training);
    ck_assert_double_eq_tol(heads_mean(&r, 0), kind / found, 1e-6);
    ck_assert_double_eq_tol(heads_mean(&r, 1), box / found, 1e-6);
    ck_assert_double_eq_tol(heads_mean(&r, 2), centre / found, 1e-6);
    ck_assert_double_eq_tol(r.loss, (kind + box + centre) / found, 1e-6);
    ck_assert_double_eq_tol(r.weight, found, 1e-9);
  }
}
END_TEST

/* The best box comes first, cut where the picture ends; those that it hides do not come. */
START_TEST(boxes_are_found_by_falling_scores) {
  static double z[POINTS][ANSWERS];
  float points[POINTS][3];
  double best = 0, at[4] = {0};
  int of = 0;
  take_boxes();
  answer_boxes(z);
  mica_detector_points(FRAME, FRAME, points[0]);
  for (int i = 0; i < POINTS; i++)
    for (int k = 0; k < KINDS; k++) {
      const double score = sqrt(sigmoid(z[i][k]) * sigmoid(z[i][KINDS]));
      if (score > best) best = score, of = k, corners_of(points[i], z[i], at);
    }
  const heads_answers a = found_in(z[0]);
  const heads_results r = heads_step(&a, false);
  ck_assert_uint_eq(r.outputs, 100 * 6);
  for (int k = 0; k < 4; k++) ck_assert_double_eq_tol(r.output[k], most_of(0, least_of(at[k], FRAME)), 1e-5);
  ck_assert_double_eq_tol(r.output[4], best, 1e-6);
  ck_assert_double_eq(r.output[5], of);
  for (int i = 1; i < 10 && r.output[6 * i + 5] >= 0; i++) {
    ck_assert_double_le(r.output[6 * i + 4], r.output[6 * i - 2]);
    if (r.output[6 * i + 5] != of) continue;
    const double *first = r.output, *other = r.output + 6 * i;
    const double wide = most_of(0, least_of(first[2], other[2]) - most_of(first[0], other[0]));
    const double high = most_of(0, least_of(first[3], other[3]) - most_of(first[1], other[1]));
    const double area = (first[2] - first[0]) * (first[3] - first[1]) + (other[2] - other[0]) * (other[3] - other[1]);
    ck_assert_double_le(wide * high, 0.6001 * (area - wide * high)); /* the setting "overlap" */
  }
}
END_TEST

/* --- sentences --- */

/* Four tokens; the second of two sentences is one token shorter, and what stands after it counts for nothing. */
START_TEST(sentences_are_learned_by_their_tokens) {
  static const double vocabulary = 4, lengths[] = {3, 2}, targets[] = {1, 0, 3, 2, 3, -1};
  static double z[6][4];
  const heads_answers a = {.z_shape = MICA_SHAPE(2, 3, 4),
                           .y_shape = MICA_SHAPE(2, 3),
                           .z = z[0],
                           .y = targets,
                           .y_type = MICA_I32,
                           .y_name = "target",
                           .other = lengths,
                           .other_name = "target.length",
                           .other_type = MICA_I32,
                           .other_shape = MICA_SHAPE(2)};
  double plain = 0, smooth = 0;
  heads_run->task = mica__task_find("translate");
  mica__run_take_rows(heads_run);
  ck_ok(mica__run_note_numbers(heads_run, "vocabulary", &vocabulary, 1));
  ck_ok(mica__run_set(heads_run, "label-smoothing", "0.2"));
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 4; k++) z[i][k] = cos(2 * i + 3 * k);
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 4; k++) {
      const double log_of = log_share(z[i], 4, k, 1);
      plain -= k == (int)targets[i] ? log_of / 5 : 0;
      smooth -= (0.05 + (k == (int)targets[i] ? 0.8 : 0)) * log_of / 5;
    }
  const heads_results trained = heads_step(&a, true), tested = heads_step(&a, false);
  ck_assert_double_eq_tol(trained.loss, smooth, 1e-6);
  ck_assert_double_eq_tol(tested.loss, plain, 1e-6);
  ck_assert_double_eq_tol(tested.weight, 5, 1e-9);
  ck_assert_uint_eq(tested.outputs, 0); /* sentences are written token by token */
}
END_TEST

/* --- sections --- */

START_TEST(a_section_of_classes) {
  static const float shares[] = {0.2f, 0.7f, 0.1f};
  static const uint8_t pixels[4] = {1, 2, 3, 4};
  static const double truth[] = {2}, unknown[] = {NAN}, input[] = {1, 2, 2};
  take_classes("classify");
  ck_ok(mica__run_note_numbers(heads_run, "input", input, 3));
  mica_report *report =
      heads_section(&(mica__sample){.truths = truth, .pixels = pixels}, shares, &(mica_run_input){.top = 2});
  const mica_item *classes = mica_report_find(report, 0, "classes"), *picture = mica_report_find(report, 0, "picture");
  ck_assert_str_eq(mica_report_find(report, 0, "truth")->text, "owl");
  ck_assert_uint_eq(classes->rows, 2);
  ck_assert_str_eq(classes->row_names[0], "dog");
  ck_assert_str_eq(classes->row_names[1], "cat");
  ck_assert_double_eq_tol(classes->numbers[0], 0.7, 1e-6);
  ck_assert_str_eq(picture->text, "dog");
  ck_assert_int_eq(memcmp(picture->planes, pixels, sizeof pixels), 0);
  mica_report_destroy(report);
  /* Without a truth and a picture there is no word of them. */
  report = heads_section(&(mica__sample){.truths = unknown}, shares, &(mica_run_input){0});
  ck_assert_ptr_null(mica_report_find(report, 0, "truth"));
  ck_assert_ptr_null(mica_report_find(report, 0, "picture"));
  ck_assert_uint_eq(mica_report_find(report, 0, "classes")->rows, 3);
  mica_report_destroy(report);
}
END_TEST

START_TEST(a_section_of_labels) {
  static const float shares[] = {0.2f, 0.7f, 0.55f};
  static const double truths[] = {0, 1, NAN}, one = 1;
  take_classes("text_labels");
  ck_ok(mica__run_note_numbers(heads_run, "several", &one, 1));
  mica_report *report = heads_section(&(mica__sample){.truths = truths}, shares, &(mica_run_input){.threshold = 0.6});
  const double *rows = mica_report_find(report, 0, "labels")->numbers;
  const double wanted[][2] = {{0, 0}, {1, 1}, {0, NAN}};
  for (int k = 0; k < 3; k++) {
    ck_assert_double_eq_tol(rows[3 * k], (double)shares[k], 1e-7);
    ck_assert_double_eq(rows[3 * k + 1], wanted[k][0]);
    ck_assert(isnan(wanted[k][1]) ? isnan(rows[3 * k + 2]) : rows[3 * k + 2] == wanted[k][1]);
  }
  mica_report_destroy(report);
}
END_TEST

START_TEST(a_section_of_several_numbers) {
  static const float values[] = {3, -2};
  static const double truths[] = {2.5, NAN}, mean[] = {0, 0}, deviation[] = {1, 1};
  static const char *const names[] = {"left", "right"};
  heads_take("regress");
  ck_ok(mica__run_note_numbers(heads_run, "target_mean", mean, 2));
  ck_ok(mica__run_note_numbers(heads_run, "target_deviation", deviation, 2));
  ck_ok(mica__run_note(heads_run, "answers", names, 2));
  mica_report *report = heads_section(&(mica__sample){.truths = truths}, values, &(mica_run_input){0});
  const mica_item *item = mica_report_find(report, 0, "values");
  ck_assert(item->columns == 2 && item->numbers[0] == 3 && item->numbers[1] == -2);
  ck_assert_str_eq(item->column_names[1], "right");
  ck_assert(mica_report_find(report, 0, "truth")->numbers[0] == 2.5);
  mica_report_destroy(report);
}
END_TEST

/* Shares need not sum up to 1: tiles are blended. */
START_TEST(a_section_of_pixels) {
  static const float shares[] = {3, 1, 0, 2, 1, 2, 4, 2};
  static const uint8_t pixels[4] = {9, 9, 9, 9}, mask[4] = {0, 0, 1, 255};
  static const mica_shape shape = {3, {1, 2, 2}};
  heads_take("segment");
  ck_ok(mica__run_note(heads_run, "classes", three, 2));
  mica_report *report =
      heads_section(&(mica__sample){.pixels = pixels, .mask = mask, .shape = shape}, shares, &(mica_run_input){0});
  const mica_item *said = mica_report_find(report, 0, "mask"), *item = mica_report_find(report, 0, "shares");
  static const uint8_t wanted[4] = {0, 1, 1, 0}; /* of equal shares the first class */
  ck_assert_int_eq(memcmp(said->planes, wanted, sizeof wanted), 0);
  ck_assert_double_eq_tol(mica_report_find(report, 0, "accuracy")->number, 2.0 / 3, 1e-9);
  ck_assert(item->rows == 2 && item->numbers[0] == 0.5 && item->numbers[1] == 0.5);
  mica_report_destroy(report);
}
END_TEST

/* Four voxels of 2 x 1 x 3. The last one is not in a class. */
START_TEST(a_section_of_voxels) {
  static const uint8_t decided[4] = {0, 1, 1, 0}, truth[4] = {0, 0, 1, 255}, slice[4] = {9, 9, 9, 9};
  static const mica__nifti header = {.dtype = MICA_U8, .channels = 1, .sides = {1, 2, 2}, .spacing = {2, 1, 3}};
  const mica__scan scan = {&header, decided, truth, {slice, slice, slice}};
  heads_take("segment_volumes");
  ck_ok(mica__run_note(heads_run, "classes", three, 2));
  ck_ok(mica__run_note_text(heads_run, "mask_values", "4,7"));
  mica_report *report = heads_section(&(mica__sample){.scan = &scan}, NULL, &(mica_run_input){.plain_masks = true});
  const mica_item *classes = mica_report_find(report, 0, "classes"), *mask = mica_report_find(report, 0, "mask");
  /* Voxels, their volume, Dice, intersection over union. */
  static const double wanted[2][4] = {{2, 12, 2.0 / 3, 0.5}, {2, 12, 2.0 / 3, 0.5}};
  ck_assert(classes->rows == 2 && classes->columns == 6);
  for (size_t i = 0; i < 8; i++)
    ck_assert_double_eq_tol(classes->numbers[i / 4 * 6 + i % 4], wanted[i / 4][i % 4], 1e-9);
  ck_assert_str_eq(mask->text, ".nii");
  ck_assert_int_eq(mask->shape.dim[0], 352 + 4);
  static const uint8_t values[4] = {4, 7, 7, 4};
  ck_assert_int_eq(memcmp(mask->planes + 352, values, sizeof values), 0);
  ck_assert(mica_report_find(report, 0, "width")->number == 2);
  mica_report_destroy(report);
}
END_TEST

/* A picture of 64 x 32 lies at half its size in the middle of the frame: from row 8 on. Boxes are in its own pixels,
 * and those below the threshold are left out. */
START_TEST(a_section_of_boxes) {
  static uint8_t pixels[3 * 32 * 64];
  static float found[100][6];
  for (int i = 0; i < 100; i++) found[i][5] = -1;
  const float rows[3][6] = {{4, 10, 12, 20, 0.9f, 1}, {0, 12, 4, 40, 0.6f, 0}, {1, 9, 5, 12, 0.3f, 0}};
  memcpy(found, rows, sizeof rows);
  take_boxes();
  const mica__sample sample = {.pixels = pixels, .shape = {3, {3, 32, 64}}};
  mica_report *report = heads_section(&sample, found[0], &(mica_run_input){.threshold = 0.5});
  const mica_item *boxes = mica_report_find(report, 0, "boxes"), *drawn = mica_report_find(report, 0, "overlay");
  static const double wanted[2][5] = {{8, 4, 24, 24, 0.9}, {0, 8, 8, 32, 0.6}};
  ck_assert(boxes->rows == 2 && boxes->columns == 5);
  for (int i = 0; i < 10; i++) ck_assert_double_eq_tol(boxes->numbers[i], wanted[i / 5][i % 5], 1e-6);
  ck_assert_str_eq(boxes->row_names[0], "dog");
  ck_assert_str_eq(boxes->text, "1 cat, 1 dog");
  ck_assert_int_gt(drawn->planes[4 * 64 + 8], 0);
  ck_assert_int_eq(drawn->planes[10 * 64 + 12], 0);
  ck_assert_int_eq(pixels[4 * 64 + 8], 0);
  mica_report_destroy(report);
  /* A track of the first frame has an id, one that begins in the second has none yet and is grey. */
  mica_tracker *tracker = NULL;
  ck_assert_int_eq(mica_tracker_create(&(mica_tracker_config){.min_hits = 1}, &tracker), MICA_OK);
  for (int count = 1; count <= 2; count++) {
    found[1][5] = count == 1 ? -1 : 0;
    report = heads_section(&sample, found[0], &(mica_run_input){.threshold = 0.5, .tracker = tracker});
    boxes = mica_report_find(report, 0, "boxes"), drawn = mica_report_find(report, 0, "overlay");
    ck_assert(boxes->rows == (size_t)count && boxes->columns == 6 && boxes->numbers[5] == 1);
    ck_assert(count == 1 || (isnan(boxes->numbers[11]) && drawn->planes[10 * 64] == 128));
    mica_report_destroy(report);
  }
  mica_tracker_destroy(tracker);
}
END_TEST

/* --- which head --- */

static mica_column column_of(mica_column_kind kind, mica_dtype dtype, mica_shape shape) {
  return (mica_column){.name = "label", .kind = kind, .dtype = dtype, .shape = shape, .classes = 2};
}

START_TEST(heads_take_their_columns_alone) {
  static const struct {
    const char *task;
    bool classes, labels, number, mask, boxes, map;
  } rows[] = {{.task = "classify", .classes = true, .labels = true},
              {.task = "text", .classes = true},
              {.task = "text_labels", .labels = true},
              {.task = "regress", .number = true},
              {.task = "sound_numbers", .number = true},
              {.task = "segment", .mask = true},
              {.task = "segment_volumes", .mask = true},
              {.task = "depth", .map = true},
              {.task = "detect", .boxes = true}};
  const mica_column classes = column_of(MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR);
  const mica_column labels = column_of(MICA_COLUMN_KIND_CLASSES, MICA_U8, MICA_SHAPE(2));
  const mica_column number = column_of(MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR);
  const mica_column mask = column_of(MICA_COLUMN_KIND_MASK, MICA_U8, MICA_SHAPE(2, 2));
  const mica_column boxes = column_of(MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  const mica_column map = column_of(MICA_COLUMN_KIND_MAP, MICA_F32, MICA_SHAPE(2, 2));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mica__head *head = mica__task_find(rows[i].task)->head;
    ck_assert_msg(head->suits(&classes) == rows[i].classes && head->suits(&labels) == rows[i].labels &&
                      head->suits(&number) == rows[i].number && head->suits(&mask) == rows[i].mask &&
                      head->suits(&boxes) == rows[i].boxes && head->suits(&map) == rows[i].map,
                  "%s", rows[i].task);
  }
}
END_TEST

/* mica_run_export calls one of these; a task without a head has functions of its own. */
START_TEST(every_task_says_what_it_exports) {
  size_t count = 0;
  for (const mica__task_row *task; (task = mica__task_at(count)); count++)
    ck_assert_msg(task->exports || !task->head || task->head->exports, "%s", task->name);
  ck_assert_uint_gt(count, 20);
}
END_TEST

TESTS(ANYWHERE, heads_make, heads_drop, LOOP(classes_have_cross_entropy, 0, 3), smoothing_counts_in_training_alone,
      focal_loss_and_weights_of_classes, LOOP(labels_have_binary_cross_entropy, 0, 3),
      LOOP(numbers_are_in_the_units_of_the_user, 0, 3), pixels_without_a_class_do_not_count, boxes_have_three_losses,
      boxes_are_found_by_falling_scores, sentences_are_learned_by_their_tokens, a_section_of_boxes,
      a_section_of_classes, a_section_of_labels, a_section_of_several_numbers, a_section_of_pixels, a_section_of_voxels,
      heads_take_their_columns_alone, every_task_says_what_it_exports)
