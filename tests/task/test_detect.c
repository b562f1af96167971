/* labels: device
 *
 * Mosaic: four pictures become one, and their boxes go with them. */
#include "networks/mosaic.h"

#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 6, SIDE = 32, ROWS = 2, PLANE = SIDE * SIDE };

static float pictures[COUNT][PLANE], boxes[COUNT][ROWS][4];
static int32_t labels[COUNT][ROWS], ignored[COUNT][ROWS];

/* Sample i is of i + 1, its box of i + 1.5; the second row is no box. */
static void make_samples(void) {
  for (int i = 0; i < COUNT; i++) {
    const int x0 = 3 + 2 * i, y0 = 4 + 3 * (i % 3), x1 = x0 + 12, y1 = y0 + 10;
    for (int at = 0; at < PLANE; at++) {
      const int q = at % SIDE, r = at / SIDE;
      pictures[i][at] = (float)i + (q >= x0 && q < x1 && r >= y0 && r < y1 ? 1.5f : 1);
    }
    const float box[4] = {(float)x0, (float)y0, (float)x1, (float)y1};
    memcpy(boxes[i][0], box, sizeof box);
    memset(boxes[i][1], 0, sizeof boxes[i][1]);
    labels[i][0] = i, labels[i][1] = -1;
    ignored[i][0] = i % 2, ignored[i][1] = 0;
  }
}

typedef struct mosaic {
  float pictures[COUNT][PLANE], boxes[COUNT][4 * ROWS][4];
  int32_t labels[COUNT][4 * ROWS], ignored[COUNT][4 * ROWS];
} mosaic;

static void run(double share, mosaic *out) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  const mica_shape shapes[] = {{4, {MICA_DYNAMIC, 1, SIDE, SIDE}},
                               {3, {MICA_DYNAMIC, MICA_DYNAMIC, 4}},
                               {2, {MICA_DYNAMIC, MICA_DYNAMIC}},
                               {2, {MICA_DYNAMIC, MICA_DYNAMIC}}};
  mica__mosaic_batch b = {mica_input(graph, "x", MICA_F32, shapes[0]), mica_input(graph, "boxes", MICA_F32, shapes[1]),
                          mica_input(graph, "label", MICA_I32, shapes[2]),
                          mica_input(graph, "ignored", MICA_I32, shapes[3])};
  mica__mosaic(nn, share, &b);
  const mica_value values[] = {b.x, b.boxes, b.label, b.ignored};
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, values, 4, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  mica_tensor *fed[4];
  mica_engine *engine = test_engine();
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(COUNT, 1, SIDE, SIDE), pictures, &fed[0]));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(COUNT, ROWS, 4), boxes, &fed[1]));
  ck_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(COUNT, ROWS), labels, &fed[2]));
  ck_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(COUNT, ROWS), ignored, &fed[3]));
  const mica_feed feeds[] = {{"x", fed[0]}, {"boxes", fed[1]}, {"label", fed[2]}, {"ignored", fed[3]}};
  ck_ok(mica_session_run(session, test_queue(), feeds, 4));
  void *const to[] = {out->pictures, out->boxes, out->labels, out->ignored};
  const size_t bytes[] = {sizeof out->pictures, sizeof out->boxes, sizeof out->labels, sizeof out->ignored};
  for (size_t k = 0; k < 4; k++)
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, k), to[k], bytes[k]));
  for (int k = 0; k < 4; k++) mica_tensor_destroy(fed[k]);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

/* Pixels of a sample's box in a picture, all of them, and those inside of a box. */
static int count_pixels(const float *picture, int sample, const float box[4]) {
  int count = 0;
  for (int at = 0; at < PLANE; at++) {
    const float q = (float)(at % SIDE), r = (float)(at / SIDE);
    const bool inside = !box || (q >= box[0] && q < box[2] && r >= box[1] && r < box[3]);
    count += inside && picture[at] == (float)sample + 1.5f;
  }
  return count;
}

START_TEST(boxes_go_with_their_pictures) {
  static mosaic made;
  int kept = 0, dropped = 0;
  make_samples();
  run(1, &made);
  for (int i = 0; i < COUNT; i++) {
    /* The four corners are of the sample itself and those behind it. */
    const int corners[4] = {0, SIDE - 1, PLANE - SIDE, PLANE - 1};
    for (int k = 0; k < 4; k++) ck_assert_int_eq((int)made.pictures[i][corners[k]] - 1, (i + k) % COUNT);
    for (int k = 0; k < 4; k++) {
      const int from = (i + k) % COUNT, row = ROWS * k;
      const float *box = made.boxes[i][row], *none = made.boxes[i][row + 1];
      const int seen = count_pixels(made.pictures[i], from, NULL);
      const float area = (box[2] - box[0]) * (box[3] - box[1]);
      ck_assert(none[0] == 0 && none[2] == 0);
      ck_assert_int_eq(made.labels[i][row], from);
      ck_assert_int_eq(made.labels[i][row + 1], -1);
      ck_assert_int_eq(made.ignored[i][row], from % 2);
      /* All that is seen of it lies in the box, or it is less than a quarter of it. */
      ck_assert_int_eq((int)area, 4 * seen >= 120 ? seen : 0);
      if (area > 0) ck_assert_int_eq(count_pixels(made.pictures[i], from, box), seen);
      kept += area > 0;
      dropped += area <= 0;
    }
  }
  ck_assert_int_gt(kept, 4);
  ck_assert_int_gt(dropped, 4);
}
END_TEST

START_TEST(what_is_left_alone) {
  static mosaic made;
  make_samples();
  run(0, &made);
  ck_assert_int_eq(memcmp(made.pictures, pictures, sizeof pictures), 0);
  for (int i = 0; i < COUNT; i++)
    for (int row = 0; row < 4 * ROWS; row++)
      for (int k = 0; k < 4; k++) ck_assert(made.boxes[i][row][k] == (row == 0 ? boxes[i][0][k] : 0));
}
END_TEST

TESTS(DEVICE, NULL, NULL, boxes_go_with_their_pictures, what_is_left_alone)
