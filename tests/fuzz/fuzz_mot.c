/* MOTChallenge's files of tracks. Boxes that are read have an area, and are what is read again after writing; a tracker
 * takes those of a frame. */
#include "fuzz/fuzz.h"
#include "track/track.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size ? size : 1); /* ends where the input does, so that a sanitizer sees what lies beyond */
  mica_track_box *boxes = NULL;
  mica_tracker *tracker = NULL;
  size_t count = 0;
  if (!text) abort();
  if (size) memcpy(text, data, size);
  if (mica__track_parse("fuzz", text, size, &boxes, &count) == MICA_OK) {
    mica_track_scores scores;
    if (mica_tracker_create(NULL, &tracker) != MICA_OK) abort();
    for (size_t i = 0; i < count; i++) {
      int64_t id;
      double filtered[4];
      if (boxes[i].frame < 1 || boxes[i].id < -1 || !mica__box_is_sound(boxes[i].box)) abort();
      if (mica_tracker_step(tracker, boxes[i].box, &boxes[i].class_index, 1, &id, filtered) != MICA_OK) abort();
    }
    if (mica_track_evaluate(boxes, count, boxes, count, 0, &scores) == MICA_OK && scores.true_boxes > (int64_t)count)
      abort();
    mica_tracker_destroy(tracker);
    free(boxes);
  } else if (boxes || count) {
    abort();
  }
  free(text);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "1,-1,794.27,247.59,71.245,174.88,4.56,-1,-1,-1\n2,-1,1648.1,119.61,66.504,163.24,0.3\n",
      "1,1,912,484,97,109,0,7,1\n2,1,912,484,97,109,1,1,0.5\r\n2,2,10,10,3,4,1,1,1\n",
      "1 1 9 9 1 1 0\n\n1\t2\t3\t4\t5\t6",
      "\xef\xbb\xbf"
      "3,0,-5.5,1e2,.5,7."};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return !seed->failed;
}
