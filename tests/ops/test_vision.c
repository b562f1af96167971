/* labels: device single
 *
 * Boxes against values that torchvision computed (tests/golden/boxes, whose README says how), and what those
 * lack. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static mica_session *session;
static mica_feed feeds[4];
static mica_tensor *fed[4];
static size_t feed_count;

static void setup(void) { ck_ok(mica_graph_create(&graph)); }

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
  graph = NULL;
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
}

static void again(void) {
  teardown();
  setup();
}

static mica_value given(mica_dtype dtype, mica_shape shape, const void *data) {
  static const char *const names[] = {"0", "1", "2", "3"};
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &fed[feed_count]));
  feeds[feed_count] = (mica_feed){names[feed_count], fed[feed_count]};
  return mica_input(graph, names[feed_count++], dtype, shape);
}

static void run(const mica_value *outputs, size_t count) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
}

/* For the caller to free. */
static void *output(size_t index) {
  const mica_tensor *tensor = mica_session_output(session, index);
  size_t bytes = mica_tensor_bytes(tensor);
  void *data = malloc(bytes + 1);
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, bytes));
  return data;
}

/* --- suppression --- */

static const char *golden(const char *name) { return golden_path("boxes", name); }

/* "iou_threshold" of a case of nms.json. */
static double threshold_of(const char *json, int index) {
  char key[32];
  snprintf(key, sizeof key, "\"case\": %d,", index);
  const char *at = strstr(json, key);
  if (!at) return NAN;
  at = strstr(at, "\"iou_threshold\":");
  return at ? mica__strtod(at + strlen("\"iou_threshold\":"), NULL) : NAN;
}

static const mica_safetensors_entry *entry_of(const mica_safetensors *file, int index, const char *part) {
  char name[32];
  snprintf(name, sizeof name, "n%03d.%s", index, part);
  return mica_safetensors_find(file, name);
}

/* All cases, classes and equal scores among them. */
START_TEST(nms_as_torchvision) {
  mica_safetensors *file = NULL;
  size_t size = 0;
  int cases = 0;
  char *json = (char *)files_read(golden("nms.json"), &size);
  json = realloc(json, size + 1);
  ck_assert_ptr_nonnull(json);
  json[size] = '\0';
  ck_ok(mica_safetensors_open(golden("nms.safetensors"), &file));
  for (const mica_safetensors_entry *boxes; (boxes = entry_of(file, cases, "boxes")); cases++) {
    const mica_safetensors_entry *scores = entry_of(file, cases, "scores"), *classes = entry_of(file, cases, "classes"),
                                 *keep = entry_of(file, cases, "keep");
    double threshold = threshold_of(json, cases);
    ck_assert(scores && keep && !isnan(threshold));
    mica_nms_config how = {.threshold = threshold == 0 ? MICA_ZERO : threshold};
    if (classes) how.classes = given(MICA_I32, classes->shape, classes->data);
    mica_value x = given(MICA_F32, boxes->shape, boxes->data), s = given(MICA_F32, scores->shape, scores->data);
    mica_nms_results r = mica_nms(x, s, &how);
    run((const mica_value[]){r.kept, r.count}, 2);
    int32_t *kept = output(0), *count = output(1);
    const int32_t *want = keep->data;
    ck_assert_msg(*count == keep->shape.dim[0], "case %d: %d boxes are kept, not %d", cases, (int)*count,
                  (int)keep->shape.dim[0]);
    for (int64_t i = 0; i < boxes->shape.dim[0]; i++)
      ck_assert_msg(kept[i] == (i < *count ? want[i] : -1), "case %d: the %lldth kept box is %d", cases, (long long)i,
                    (int)kept[i]);
    free(kept);
    free(count);
    again();
  }
  ck_assert_int_eq(cases, 67);
  mica_safetensors_close(file);
  free(json);
}
END_TEST

/* A NaN score takes no part, corners come in any order, equal scores go by index, least and most cut. */
START_TEST(nms_of_odd_boxes) {
  static const float boxes[][4] = {{0, 0, 4, 4},   {4, 4, 0, 0}, {10, 0, 14, 4}, {0, 4, 4, 0},
                                   {20, 0, 24, 4}, {7, 7, 7, 7}, {7, 7, 7, 7}};
  static const float scores[] = {0.5f, NAN, 0.25f, 0.5f, 0.75f, 0.25f, 0.25f};
  static const int32_t want[] = {4, 0, 2, 5, 6, -1, -1}, cut[] = {4, 0}, few[] = {4, -1};
  mica_value x = given(MICA_F32, MICA_SHAPE(7, 4), boxes), s = given(MICA_F32, MICA_SHAPE(7), scores);
  mica_nms_results all = mica_nms(x, s, NULL), two = mica_nms(x, s, &(mica_nms_config){.most = 2}),
                   best = mica_nms(x, s, &(mica_nms_config){.most = 2, .least = 0.5});
  run((const mica_value[]){all.kept, two.kept, best.kept, best.count}, 4);
  int32_t *a = output(0), *b = output(1), *c = output(2), *d = output(3);
  ck_assert_mem_eq(a, want, sizeof want);
  ck_assert_mem_eq(b, cut, sizeof cut);
  ck_assert_mem_eq(c, few, sizeof few);
  ck_assert_int_eq(*d, 1);
  free(a);
  free(b);
  free(c);
  free(d);
}
END_TEST

/* 30,000 boxes on a line, each overlapping the next by half of itself, a third of the union: with scores that fall
 * along it every other one stays at a threshold of 0.3, all at 0.34. */
START_TEST(nms_of_many) {
  enum { N = 30000 };
  float *boxes = malloc(N * 4 * sizeof *boxes), *scores = malloc(N * sizeof *scores);
  ck_assert(boxes && scores);
  for (int i = 0; i < N; i++) {
    const float box[4] = {(float)i, 0, (float)i + 2, 3};
    memcpy(boxes + 4 * i, box, sizeof box);
    scores[i] = (float)(N - i);
  }
  mica_value x = given(MICA_F32, MICA_SHAPE(N, 4), boxes), s = given(MICA_F32, MICA_SHAPE(N), scores);
  mica_nms_results half = mica_nms(x, s, &(mica_nms_config){.threshold = 0.3}),
                   some = mica_nms(x, s, &(mica_nms_config){.threshold = 0.34, .most = 700});
  run((const mica_value[]){half.kept, half.count, some.kept}, 3);
  int32_t *a = output(0), *b = output(1), *c = output(2);
  ck_assert_int_eq(*b, N / 2);
  for (int i = 0; i < N / 2; i++) ck_assert_int_eq(a[i], 2 * i);
  for (int i = 0; i < 700; i++) ck_assert_int_eq(c[i], i);
  free(a);
  free(b);
  free(c);
  free(boxes);
  free(scores);
}
END_TEST

/* --- reading between elements --- */

/* A picture in f16 is read as it is, and the result rounded once; a position outside every image reads 0; the gradient
 * of the picture counts how often each element is read. */
START_TEST(samples_of_sixteen_bits) {
  static const float x[] = {1, 2, 4, 8, 16, 32};
  static const float grid[][2] = {{0.5f, 0}, {1, 1}, {-3, 0}, {2, 0.5f}};
  static const int32_t images[] = {0, 5};
  static const float want[] = {1.5f, 16, 0, 18}, wanted[] = {0.5f, 0.5f, 0.5f, 0, 1, 0.5f};
  mica_value wide = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(1, 1, 2, 3)), dx;
  mica_value at = given(MICA_F32, MICA_SHAPE(1, 4, 2), grid), of = given(MICA_I32, MICA_SHAPE(2), images);
  mica_value twice[] = {at, at}, both = mica_concat(twice, 2, 0);
  mica_sample_config how = {.pixels = true, .images = of};
  mica_value y = mica_sample(mica_cast(wide, MICA_F16), both, &how);
  ck_assert_int_eq(mica_value_dtype(y), MICA_F16);
  mica_value narrow = mica_cast(y, MICA_F32);
  ck_ok(mica_gradients(mica_sum(narrow, MICA_ALL_AXES, false), &wide, 1, &dx));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, (const mica_value[]){narrow, dx}, 2, NULL, &session));
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "x"), x, sizeof x));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  float *got = output(0), *gradient = output(1);
  for (int i = 0; i < 8; i++) ck_assert_msg(got[i] == (i < 4 ? want[i] : 0), "%d: %g", i, (double)got[i]);
  for (int i = 0; i < 6; i++) ck_assert_msg(gradient[i] == wanted[i], "gradient %d: %g", i, (double)gradient[i]);
  free(got);
  free(gradient);
}
END_TEST

/* Gradients of a sample are no further differentiable, and say so. */
START_TEST(samples_differentiate_once) {
  mica_value x = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(1, 1, 2, 3)), dx, ddx;
  mica_value at = mica_parameter(graph, "grid", MICA_F32, MICA_SHAPE(1, 4, 2));
  mica_value y = mica_sample(mica_square(x), at, NULL);
  ck_ok(mica_gradients(mica_sum(mica_square(y), MICA_ALL_AXES, false), &x, 1, &dx));
  ck_assert_int_ne(mica_gradients(mica_sum(dx, MICA_ALL_AXES, false), &x, 1, &ddx), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "sample_grad_x has no gradient"), "%s", mica_error_message());
}
END_TEST

TESTS(DEVICE, setup, teardown, nms_of_odd_boxes, nms_of_many, samples_of_sixteen_bits, samples_differentiate_once,
      nms_as_torchvision)
