/* Collects the boxes of a test. */
#include "networks/detector_boxes.h"
#include "data/annotation/boxed.h"
#include "networks/detector.h"

#include <stdlib.h>

static bool grow(void *array, size_t wanted, size_t size, size_t *capacity) {
  void **at = array;
  if (wanted <= *capacity) return true;
  const size_t next = wanted > 2 * *capacity ? wanted : 2 * *capacity;
  void *grown = realloc(*at, next * size);
  if (grown) *at = grown, *capacity = next;
  return grown != NULL;
}

/* Converts a box from pixels of the frame to pixels of the file. */
static void put_box(const mica__placement *p, const float from[4], double to[4]) {
  for (int s = 0; s < 4; s++) to[s] = ((double)from[s] - (s & 1 ? p->top : p->left)) / p->scale[s & 1];
}

static void add_truth(mica__box_lists *c, const mica__placement *p, const mica__batch_boxes *t, int64_t k) {
  const float *box = t->boxes + 4 * k;
  if (!(box[2] > box[0] && box[3] > box[1]) || t->labels[k] < 0) return;
  mica_true_box *to = &c->truths[c->truth_count++];
  *to = (mica_true_box){.picture = c->pictures,
                        .class_index = t->labels[k],
                        .crowd = t->ignored && t->ignored[k] == MICA__BOX_CROWD,
                        .ignore = t->ignored && t->ignored[k] == MICA__BOX_DIFFICULT,
                        .area = !t->areas          ? 0
                                : t->areas[k] == 0 ? MICA_ZERO
                                                   : (double)t->areas[k]};
  put_box(p, box, to->box);
}

mica_status mica__box_lists_add(mica__box_lists *c, const mica__batch_boxes *t, int64_t frame_height,
                                int64_t frame_width, const float *found, int64_t most, int64_t i) {
  const mica__placement p = mica__placement_of(t->sizes[2 * i], t->sizes[2 * i + 1], frame_width, frame_height);
  if (!grow(&c->truths, c->truth_count + (size_t)t->rows, sizeof *c->truths, &c->truth_capacity) ||
      !grow(&c->found, c->found_count + (size_t)most, sizeof *c->found, &c->found_capacity))
    return mica__fail_nomem("boxes");
  for (int64_t k = i * t->rows; k < (i + 1) * t->rows; k++) add_truth(c, &p, t, k);
  for (int64_t k = 0; k < most; k++) {
    const float *box = found + (i * most + k) * MICA__BOX_NUMBERS;
    if (!(box[5] >= 0)) continue;
    mica_found_box *to = &c->found[c->found_count++];
    *to = (mica_found_box){.picture = c->pictures, .class_index = (int32_t)box[5], .score = (double)box[4]};
    put_box(&p, box, to->box);
  }
  c->pictures++;
  return MICA_OK;
}
