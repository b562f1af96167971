/* labels: null single
 *
 * A tracker, files of tracks and scores with allocations and files failing. */
#include "support/check_main.h"
#include "support/fault_libc.h"
#include "support/files.h"

#include <mica/api.h>
#include <mica/track.h>

#define FRAMES 6

/* Two objects that pass each other, and one that is in every other frame. */
static size_t make_boxes(mica_track_box *boxes) {
  size_t count = 0;
  for (int f = 0; f < FRAMES; f++)
    for (int o = 0; o < (f % 2 ? 2 : 3); o++) {
      const double x = o == 1 ? 100 - 10 * f : 10 * f, y = 70 * (o == 2);
      boxes[count++] = (mica_track_box){.frame = f + 1, .id = o + 1, .box = {x, y, x + 40, y + 60}, .score = 1};
    }
  return count;
}

static mica_status track(void *user) {
  mica_track_box boxes[3 * FRAMES];
  mica_tracker *tracker = NULL;
  int64_t id;
  (void)user;
  const size_t count = make_boxes(boxes);
  mica_status status = mica_tracker_create(NULL, &tracker);
  for (size_t i = 0; status == MICA_OK && i < count; i++)
    status = mica_tracker_step(tracker, boxes[i].box, NULL, 1, &id, NULL);
  mica_tracker_destroy(tracker);
  return status;
}

static mica_status score(void *user) {
  mica_track_box boxes[3 * FRAMES];
  mica_track_scores scores;
  (void)user;
  const size_t count = make_boxes(boxes);
  return mica_track_evaluate(boxes, count, boxes, count, 0, &scores);
}

static mica_status keep(void *user) {
  mica_track_box boxes[3 * FRAMES], *again = NULL;
  size_t count = make_boxes(boxes), more;
  mica_status status = mica_track_write(user, boxes, count);
  if (status == MICA_OK) status = mica_track_read(user, &again, &more);
  mica_free(again);
  return status;
}

START_TEST(a_tracker_fails_with_a_sentence) { fault_libc_each(FAULT_MEMORY, track, NULL, 10); }
END_TEST

START_TEST(scores_fail_with_a_sentence) { fault_libc_each(FAULT_MEMORY, score, NULL, 15); }
END_TEST

START_TEST(files_fail_with_a_sentence) {
  fault_libc_each(FAULT_MEMORY, keep, (void *)(uintptr_t)files_path("tracks.txt"), 3);
  fault_libc_each(FAULT_FILES, keep, (void *)(uintptr_t)files_path("tracks.txt"), 3);
}
END_TEST

TESTS(ANYWHERE, NULL, files_remove, a_tracker_fails_with_a_sentence, scores_fail_with_a_sentence,
      files_fail_with_a_sentence)
