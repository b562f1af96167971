/* labels: null
 *
 * Tracks of boxes against a SORT in numpy, and their scores against motmetrics' (tests/golden/track). */
#include "support/check_main.h"
#include "support/files.h"
#include "support/golden.h"
#include "track/track.h"

#include <math.h>
#include <mica/api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const scenes[] = {"plain", "crowd", "gaps", "blind", "empty"};
#define SCENES (int)(sizeof scenes / sizeof *scenes)

static mica_track_box *read_golden(const char *name, const char *end, size_t *count) {
  char file[64];
  mica_track_box *boxes = NULL;
  snprintf(file, sizeof file, "%s%s", name, end);
  ck_assert_msg(mica_track_read(golden_path("track", file), &boxes, count) == MICA_OK, "%s", mica_error_message());
  return boxes;
}

/* --- scores --- */

static double score_of(const mica_track_scores *s, const char *name) {
  const struct {
    const char *name;
    double value;
  } rows[] = {{"num_frames", (double)s->frames},
              {"num_objects", (double)s->true_boxes},
              {"num_predictions", (double)s->found_boxes},
              {"num_unique_objects", (double)s->true_tracks},
              {"num_detections", (double)s->matches},
              {"num_switches", (double)s->switches},
              {"num_misses", (double)s->misses},
              {"num_false_positives", (double)s->false_positives},
              {"mostly_tracked", (double)s->mostly_tracked},
              {"mostly_lost", (double)s->mostly_lost},
              {"mota", s->mota},
              {"motp", 1 - s->motp},
              {"idf1", s->idf1},
              {"idp", s->idp},
              {"idr", s->idr}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return rows[i].value;
  ck_abort_msg("no score %s", name);
  return 0;
}

/* motmetrics has an infinite MOTA where it divides by 0. */
static void compare_scores(const char *scene, const mica_track_scores *s) {
  size_t size = 0;
  char *text = (char *)files_read(golden_path("track", "scores.txt"), &size), name[32], key[32], number[64];
  int compared = 0, used = 0;
  for (const char *at = text; sscanf(at, "%31s %31s %63s%n", name, key, number, &used) == 3; at += used) {
    if (strcmp(name, scene) != 0) continue;
    const double wanted = strtod(number, NULL), is = score_of(s, key);
    ck_assert_msg(isfinite(wanted) ? fabs(is - wanted) <= 1e-12 : isnan(is), "%s: %s is %.15g, motmetrics has %s",
                  scene, key, is, number);
    compared++;
  }
  free(text);
  ck_assert_int_eq(compared, 15);
}

static void compare_evaluation(const char *scene, const mica_track_box *found, size_t found_count) {
  size_t count = 0;
  mica_track_box *truths = read_golden(scene, ".gt.txt", &count);
  mica_track_scores s;
  ck_assert_int_eq(mica_track_evaluate(truths, count, found, found_count, 0, &s), MICA_OK);
  compare_scores(scene, &s);
  mica_free(truths);
}

/* --- the tracker --- */

/* Steps through the frames of a file; sets the ids of its boxes. */
static void track_file(mica_tracker *tracker, mica_track_box *found, size_t count, double *filtered) {
  double boxes[4 * 64];
  int64_t ids[64];
  size_t at = 0;
  for (int64_t frame = 1; at < count; frame++) {
    size_t n = 0;
    for (; at + n < count && found[at + n].frame == frame; n++)
      memcpy(boxes + 4 * n, found[at + n].box, 4 * sizeof *boxes);
    ck_assert_uint_le(n, 64);
    ck_assert_int_eq(mica_tracker_step(tracker, boxes, NULL, n, ids, filtered + 4 * at), MICA_OK);
    for (size_t i = 0; i < n; i++) found[at + i].id = ids[i];
    at += n;
  }
}

static void compare_tracks(const char *scene, const mica_track_box *found, size_t count, const double *filtered) {
  char file[64], number[4][64];
  size_t size = 0;
  snprintf(file, sizeof file, "%s.sort.txt", scene);
  char *text = (char *)files_read(golden_path("track", file), &size);
  const char *at = text;
  for (size_t i = 0; i < count; i++) {
    long long frame, id;
    int used = 0;
    ck_assert_int_eq(
        sscanf(at, "%lld %lld %63s %63s %63s %63s%n", &frame, &id, number[0], number[1], number[2], number[3], &used),
        6);
    at += used;
    ck_assert_int_eq(found[i].frame, frame);
    ck_assert_msg(found[i].id == id, "%s: frame %lld: the id is %lld, numpy's %lld", scene, frame,
                  (long long)found[i].id, id);
    for (int k = 0; k < 4; k++) {
      const double wanted = strtod(number[k], NULL), is = filtered[4 * i + (size_t)k];
      ck_assert_msg(fabs(is - wanted) <= 1e-9 * (100 + fabs(wanted)), "%s: frame %lld: a side is %.12f, numpy's %.12f",
                    scene, frame, is, wanted);
    }
  }
  free(text);
}

/* The second round is after a reset. */
START_TEST(tracks_are_those_of_sort) {
  const char *scene = scenes[_i];
  size_t count = 0, some = 0;
  mica_track_box *found = read_golden(scene, ".det.txt", &count);
  double *filtered = calloc(4 * count + 1, sizeof *filtered);
  mica_tracker *tracker = NULL;
  ck_assert_int_eq(mica_tracker_create(NULL, &tracker), MICA_OK);
  for (int round = 0; round < 2; round++) {
    track_file(tracker, found, count, filtered);
    compare_tracks(scene, found, count, filtered);
    mica_tracker_reset(tracker);
  }
  for (size_t i = 0; i < count; i++)
    if (found[i].id) found[some++] = found[i];
  compare_evaluation(scene, found, some);
  mica_tracker_destroy(tracker);
  free(filtered);
  mica_free(found);
}
END_TEST

START_TEST(scores_are_those_of_motmetrics) {
  size_t count = 0;
  mica_track_box *found = read_golden("swaps", ".hyp.txt", &count);
  /* The order of lines means nothing. */
  for (size_t i = 0; i < count / 2; i++) {
    const mica_track_box kept = found[i];
    found[i] = found[count - 1 - i];
    found[count - 1 - i] = kept;
  }
  compare_evaluation("swaps", found, count);
  mica_free(found);
}
END_TEST

/* Least cost of all permutations. */
static double least_cost(const double *cost, size_t rows, size_t columns, size_t row, unsigned taken) {
  double least = INFINITY;
  if (row == rows) return 0;
  for (size_t k = 0; k < columns; k++)
    if (!(taken >> k & 1))
      least = fmin(least, cost[row * columns + k] + least_cost(cost, rows, columns, row + 1, taken | 1u << k));
  return least;
}

/* Against all permutations, for each size up to 5 x 6 and transposed, with equal costs among them. */
START_TEST(assignments_cost_least) {
  uint64_t state = 1;
  for (int k = 0; k < 600; k++) {
    double cost[30], flipped[30], sum = 0;
    int64_t column_of[6], row_of[6];
    bool taken[6] = {false};
    const size_t rows = (size_t)k % 6, columns = rows + (size_t)k / 6 % (7 - rows);
    for (size_t i = 0; i < rows * columns; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      cost[i] = (double)(state >> 40 & 15) - 8;
      flipped[i % columns * rows + i / columns] = cost[i];
    }
    if (rows * columns > 30) continue;
    ck_assert_int_eq(mica__assign(cost, rows, columns, column_of), MICA_OK);
    for (size_t i = 0; i < rows; i++) {
      ck_assert_int_ge(column_of[i], 0);
      ck_assert_int_lt(column_of[i], (int64_t)columns);
      ck_assert(!taken[column_of[i]]);
      taken[column_of[i]] = true;
      sum += cost[i * columns + (size_t)column_of[i]];
    }
    ck_assert_double_eq(sum, least_cost(cost, rows, columns, 0, 0));
    ck_assert_int_eq(mica__assign(flipped, columns, rows, row_of), MICA_OK);
    for (size_t i = 0; i < columns; i++)
      if (row_of[i] >= 0) sum -= flipped[i * rows + (size_t)row_of[i]];
    ck_assert_double_eq(sum, 0);
  }
}
END_TEST

START_TEST(a_track_has_boxes_of_one_class) {
  const mica_tracker_config config = {.min_hits = -1};
  const double box[4] = {10, 10, 50, 50};
  const int32_t classes[] = {2, 5, 2};
  int64_t ids[3];
  mica_tracker *tracker = NULL;
  ck_assert_int_eq(mica_tracker_create(&config, &tracker), MICA_OK);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(mica_tracker_step(tracker, box, &classes[i], 1, &ids[i], NULL), MICA_OK);
  ck_assert_int_eq(ids[0], 1);
  ck_assert_int_eq(ids[1], 2);
  ck_assert_int_eq(ids[2], 1);
  mica_tracker_destroy(tracker);
}
END_TEST

START_TEST(a_track_ends_after_max_age_frames) {
  const double box[4] = {10, 10, 50, 50};
  for (int gap = 0; gap < 6; gap++) {
    const mica_tracker_config config = {.min_hits = -1, .max_age = 3};
    int64_t id = 0;
    mica_tracker *tracker = NULL;
    ck_assert_int_eq(mica_tracker_create(&config, &tracker), MICA_OK);
    ck_assert_int_eq(mica_tracker_step(tracker, box, NULL, 1, &id, NULL), MICA_OK);
    for (int i = 0; i < gap; i++) ck_assert_int_eq(mica_tracker_step(tracker, NULL, NULL, 0, NULL, NULL), MICA_OK);
    ck_assert_int_eq(mica_tracker_step(tracker, box, NULL, 1, &id, NULL), MICA_OK);
    ck_assert_int_eq(id, gap > 3 ? 2 : 1);
    mica_tracker_destroy(tracker);
  }
}
END_TEST

/* --- files --- */

static mica_status parse(const char *text, mica_track_box **boxes, size_t *count) {
  return mica__track_parse("x.txt", text, strlen(text), boxes, count);
}

START_TEST(lines_are_read_and_written) {
  mica_track_box *boxes = NULL, *again = NULL;
  size_t count = 0, more = 0;
  ck_assert_int_eq(
      parse("\xef\xbb\xbf"
            "1,-1,1,1,10.5,20\r\n\n 3, 7, 2.5, 3, 4, 5, 0.25, 2, 0.5\r\n2 1 9 9 1 1 0\n2.0,1.0,1,1,1e1,1,1",
            &boxes, &count),
      MICA_OK);
  ck_assert_uint_eq(count, 4);
  ck_assert(boxes[0].frame == 1 && boxes[0].id == -1 && boxes[0].box[0] == 0 && boxes[0].box[2] == 10.5);
  ck_assert(boxes[0].score == 1 && boxes[0].class_index == -1);
  ck_assert(boxes[1].frame == 3 && boxes[1].id == 7 && boxes[1].box[0] == 1.5 && boxes[1].box[3] == 7);
  ck_assert(boxes[1].score == 0.25 && boxes[1].class_index == 2);
  ck_assert(boxes[2].frame == 2 && boxes[2].score == 0 && boxes[3].box[2] == 10);
  const char *path = files_path("tracks.txt");
  ck_assert_int_eq(mica_track_write(path, boxes, count), MICA_OK);
  ck_assert_int_eq(mica_track_read(path, &again, &more), MICA_OK);
  ck_assert_uint_eq(more, count);
  for (size_t i = 0; i < count; i++)
    ck_assert(!memcmp(again[i].box, boxes[i].box, sizeof boxes[i].box) && again[i].id == boxes[i].id &&
              again[i].frame == boxes[i].frame && again[i].score == boxes[i].score);
  mica_free(boxes);
  mica_free(again);
  ck_assert_int_eq(mica_track_write(path, NULL, 0), MICA_OK);
  ck_assert_int_eq(mica_track_read(path, &again, &more), MICA_OK);
  ck_assert_uint_eq(more, 0);
  mica_free(again);
}
END_TEST

START_TEST(wrong_lines_are_named) {
  static const struct {
    const char *text, *says;
  } rows[] = {{"1,1,1,1,5,5\n1,2,1,1,5\n", "x.txt: line 2: expected frame,id,left,top,width,height"},
              {"one\n", "x.txt: line 1: expected numbers that are finite"},
              {"1,,1,1,5,5", "x.txt: line 1: expected numbers"},
              {"1,1,1,1,5,5,", "x.txt: line 1: expected numbers"},
              {"1;1;1;1;5;5", "x.txt: line 1: expected numbers"},
              {"\n0,1,1,1,5,5", "x.txt: line 2: the frame is not an integer from 1 to 2^53"},
              {"1.5,1,1,1,5,5", "the frame is not an integer"},
              {"1e30,1,1,1,5,5", "the frame is not an integer"},
              {"1,-2,1,1,5,5", "the id is not an integer from -1 to 2^53"},
              {"1,0.5,1,1,5,5", "the id is not an integer from -1 to 2^53"},
              {"1,1,1,1,0,5", "the box must have sides of at least 1e-9"},
              {"1,1,1,1,5,-5", "the box must have sides of at least 1e-9"},
              {"1,1,nan,1,5,5", "expected numbers"},
              {"1,1,1,1,inf,5", "expected numbers"},
              {"1,1,1,1,1e10,5", "coordinates within 1e9"},
              {"5,1,1,1,5,5\n\n4,1,1,1,5,5\n5,2,1,1,5,5\n5,1,9,9,5,5\n",
               "x.txt: line 5: frame 5 already has a box with the id 1, in line 1"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mica_track_box *boxes = NULL;
    size_t count = 0;
    ck_assert_msg(parse(rows[i].text, &boxes, &count) == MICA_E_FORMAT, "%s", rows[i].text);
    ck_assert_msg(strstr(mica_error_message(), rows[i].says) != NULL, "%s: %s", rows[i].text, mica_error_message());
    ck_assert_ptr_null(boxes);
  }
  mica_track_box *boxes = NULL;
  size_t count = 0;
  ck_assert_int_eq(parse("1,1,552,200,27,80,1,-6.5,3.2,0", &boxes, &count), MICA_OK); /* the benchmark of 2015 */
  ck_assert_int_eq(boxes[0].class_index, -1);
  mica_free(boxes);
  boxes = NULL;
  /* Detections have no ids, and boxes that do not count may share one. */
  ck_assert_int_eq(parse("1,-1,1,1,5,5\n1,-1,9,9,5,5\n1,2,1,1,5,5,0\n1,2,9,9,5,5,0\n1,2,9,9,5,5,1", &boxes, &count),
                   MICA_OK);
  ck_assert_uint_eq(count, 5);
  mica_free(boxes);
  boxes = NULL;
  ck_assert_int_eq(mica__track_parse("x", "1,1,1,1,5,5\0", 12, &boxes, &count), MICA_E_FORMAT);
  ck_assert_int_eq(mica_track_read("/nowhere/det.txt", &boxes, &count), MICA_E_NOT_FOUND);
}
END_TEST

/* --- wrong arguments --- */

static void refused(mica_status status, const char *says) {
  ck_assert_int_eq(status, MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), says) != NULL, "%s", mica_error_message());
}

START_TEST(wrong_boxes_are_refused) {
  const double wrong[][4] = {{0, 0, 0, 5},   {0, 0, 1e-300, 1e-300}, {0, 5, 5, 0},
                             {NAN, 0, 1, 1}, {0, 0, INFINITY, 1},    {-2e9, 0, 1, 1}};
  const double good[4] = {0, 0, 10, 10};
  const mica_tracker_config config = {.min_hits = -1};
  int64_t id = 0;
  mica_tracker *tracker = NULL;
  ck_assert_int_eq(mica_tracker_create(&config, &tracker), MICA_OK);
  ck_assert_int_eq(mica_tracker_step(tracker, good, NULL, 1, &id, NULL), MICA_OK);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refused(mica_tracker_step(tracker, wrong[i], NULL, 1, &id, NULL), "box 0, ");
  refused(mica_tracker_step(tracker, NULL, NULL, 1, &id, NULL), "NULL");
  refused(mica_tracker_step(tracker, good, NULL, 1, NULL, NULL), "NULL");
  refused(mica_tracker_step(NULL, good, NULL, 1, &id, NULL), "NULL");
  ck_assert_int_eq(mica_tracker_step(tracker, good, NULL, 1, &id, NULL), MICA_OK);
  ck_assert_int_eq(id, 1);
  mica_tracker_destroy(tracker);
  mica_tracker_destroy(NULL);
  mica_tracker_reset(NULL);
  refused(mica_tracker_create(&(mica_tracker_config){.overlap = 1.5}, &tracker), "overlap must be 0 to 1, not 1.5");
  refused(mica_tracker_create(&(mica_tracker_config){.max_age = -1}, &tracker), "max_age is -1");
  refused(mica_tracker_create(NULL, NULL), "NULL");
}
END_TEST

START_TEST(wrong_tracks_are_refused) {
  const mica_track_box good = {.frame = 4, .id = 1, .box = {0, 0, 5, 5}, .score = 1};
  mica_track_box two[2] = {good, good}, other = good;
  mica_track_scores s = {.frames = -7};
  refused(mica_track_evaluate(two, 2, &good, 1, 0, &s), "frame 4 has two true boxes with the id 1");
  refused(mica_track_evaluate(&good, 1, two, 2, 0, &s), "frame 4 has two found boxes with the id 1");
  other.id = -1;
  refused(mica_track_evaluate(&good, 1, &other, 1, 0, &s),
          "a found box of frame 4 has the id -1, but ids must be 0 or above");
  other = good, other.box[2] = 0;
  refused(mica_track_evaluate(&other, 1, &good, 1, 0, &s), "a true box of frame 4 must have sides");
  refused(mica_track_evaluate(&good, 1, &good, 1, 2, &s), "overlap must be 0 to 1, not 2");
  refused(mica_track_evaluate(NULL, 1, &good, 1, 0, &s), "NULL");
  refused(mica_track_evaluate(&good, 1, &good, 1, 0, NULL), "NULL");
  ck_assert_int_eq(s.frames, -7);
  other = good, other.score = 0;
  ck_assert_int_eq(mica_track_evaluate(&other, 1, NULL, 0, 0, &s), MICA_OK);
  ck_assert_int_eq(s.true_boxes, 0);
  ck_assert(isnan(s.mota) && isnan(s.idf1));
}
END_TEST

/* Moving a track far away between frames, and boxes of extreme shapes, keep numbers finite. */
START_TEST(extreme_boxes_are_tracked) {
  const double boxes[][4] = {{-1e9, -1e9, 1e9, 1e9},
                             {0, 0, 1e-9, 1e9},
                             {0, 0, 1e9, 1e-9},
                             {1e9 - 1, 0, 1e9, 1e-5},
                             {-1e9, -1e9, -1e9 + 1, 1e9}};
  mica_tracker *tracker = NULL;
  ck_assert_int_eq(mica_tracker_create(&(mica_tracker_config){.min_hits = -1, .max_age = 100}, &tracker), MICA_OK);
  for (int i = 0; i < 200; i++) {
    int64_t ids[5];
    double filtered[20];
    ck_assert_int_eq(mica_tracker_step(tracker, boxes[i % 5], NULL, (size_t)(i % 3 ? 1 : 5 - i % 5), ids, filtered),
                     MICA_OK);
    ck_assert_int_ge(ids[0], 1);
  }
  mica_tracker_destroy(tracker);
}
END_TEST

TESTS(ANYWHERE, NULL, files_remove, LOOP(tracks_are_those_of_sort, 0, SCENES), scores_are_those_of_motmetrics,
      assignments_cost_least, a_track_has_boxes_of_one_class, a_track_ends_after_max_age_frames,
      lines_are_read_and_written, wrong_lines_are_named, wrong_boxes_are_refused, wrong_tracks_are_refused,
      extreme_boxes_are_tracked)
