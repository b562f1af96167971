/* labels: device single
 *
 * Overlaps of boxes and their losses against values that torchvision computed (tests/golden/boxes). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *golden(const char *name) { return golden_path("boxes", name); }

static const mica_safetensors_entry *entry_of(const mica_safetensors *file, const char *kind, int index,
                                              const char *part) {
  char name[48];
  snprintf(name, sizeof name, "%s%d.%s", kind, index, part);
  return mica_safetensors_find(file, name);
}

static mica_value constant(mica_graph *graph, const mica_safetensors_entry *e) {
  ck_assert_ptr_nonnull(e);
  return mica_constant(graph, MICA_F32, e->shape, e->data);
}

/* The values are f64 there, computed in f32 here: 1e-5 of them, and of 1 where they are small by cancellation. */
static void compare(mica_session *session, size_t index, const mica_safetensors_entry *wanted, const char *what) {
  const mica_tensor *tensor = mica_session_output(session, index);
  const size_t bytes = mica_tensor_bytes(tensor), count = bytes / sizeof(float);
  float *is = malloc(bytes + 1);
  ck_assert_ptr_nonnull(is);
  ck_assert_ptr_nonnull(wanted);
  ck_ok(mica_tensor_download(test_queue(), tensor, is, bytes));
  ck_assert_uint_eq(wanted->bytes, count * sizeof(double));
  for (size_t i = 0; i < count; i++) {
    double want;
    memcpy(&want, (const char *)wanted->data + i * sizeof want, sizeof want);
    ck_assert_msg(fabs((double)is[i] - want) <= 1e-5 * fmax(1, fabs(want)), "%s[%zu] is %.9g, not %.9g", what, i,
                  (double)is[i], want);
  }
  free(is);
}

static mica_session *run(mica_graph *graph, const mica_value *outputs, size_t count) {
  mica_session *session = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  return session;
}

START_TEST(overlaps) {
  mica_safetensors *file = NULL;
  int cases = 0;
  ck_ok(mica_safetensors_open(golden("overlaps.safetensors"), &file));
  for (const mica_safetensors_entry *a; (a = entry_of(file, "o", cases, "a")); cases++) {
    mica_graph *graph = NULL;
    ck_ok(mica_graph_create(&graph));
    mica_value x = constant(graph, a), y = constant(graph, entry_of(file, "o", cases, "b"));
    mica_value pair = constant(graph, entry_of(file, "o", cases, "matched"));
    mica_value rows = mica_unsqueeze(x, MICA_AXES(1)), columns = mica_unsqueeze(y, MICA_AXES(0));
    mica_value w = mica_parameter(graph, "w", MICA_F32, a->shape), loss = mica_affine(mica_giou(w, pair), -1, 1);
    mica_value total = mica_sum(loss, MICA_ALL_AXES, false), gradient;
    ck_ok(mica_gradients(total, &w, 1, &gradient));
    mica_value outputs[] = {mica_iou(rows, columns), mica_giou(rows, columns), loss, gradient};
    mica_session *session = NULL;
    ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
    ck_ok(mica_session_create(test_engine(), graph, outputs, 4, NULL, &session));
    ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "w"), a->data, a->bytes));
    ck_ok(mica_session_run(session, test_queue(), NULL, 0));
    compare(session, 0, entry_of(file, "o", cases, "iou"), "iou");
    compare(session, 1, entry_of(file, "o", cases, "giou"), "giou");
    compare(session, 2, entry_of(file, "o", cases, "giou_loss"), "giou loss");
    compare(session, 3, entry_of(file, "o", cases, "giou_gradient"), "gradient of giou");
    mica_session_destroy(session);
    mica_graph_destroy(graph);
  }
  ck_assert_int_eq(cases, 3);
  mica_safetensors_close(file);
}
END_TEST

/* alpha or gamma of a case of nms.json. */
static double setting(const char *json, int index, const char *name) {
  char key[32];
  snprintf(key, sizeof key, "\"focal\": %d,", index);
  const char *at = strstr(json, key);
  at = at ? strstr(at, name) : NULL;
  at = at ? strchr(at, ':') : NULL;
  return at ? mica__strtod(at + 1, NULL) : (double)NAN;
}

START_TEST(focal) {
  mica_safetensors *file = NULL;
  static char json[1 << 16];
  int cases = 0;
  FILE *settings = fopen(golden("nms.json"), "rb");
  ck_assert_ptr_nonnull(settings);
  ck_assert_uint_gt(fread(json, 1, sizeof json - 1, settings), 0);
  fclose(settings);
  ck_ok(mica_safetensors_open(golden("overlaps.safetensors"), &file));
  for (const mica_safetensors_entry *z; (z = entry_of(file, "focal", cases, "logits")); cases++) {
    mica_graph *graph = NULL;
    mica_session *session = NULL;
    ck_ok(mica_graph_create(&graph));
    const double gamma = setting(json, cases, "\"gamma\""), alpha = setting(json, cases, "\"alpha\"");
    const mica_binary_focal_config how = {
        .gamma = gamma == 0 ? MICA_ZERO : gamma, .alpha = alpha, .reduction = MICA_LOSS_REDUCTION_NONE};
    mica_value w = mica_parameter(graph, "w", MICA_F32, z->shape), gradient;
    mica_value loss = mica_binary_focal(w, constant(graph, entry_of(file, "focal", cases, "targets")), &how);
    ck_ok(mica_gradients(mica_sum(loss, MICA_ALL_AXES, false), &w, 1, &gradient));
    mica_value outputs[] = {loss, gradient};
    ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
    ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
    ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "w"), z->data, z->bytes));
    ck_ok(mica_session_run(session, test_queue(), NULL, 0));
    compare(session, 0, entry_of(file, "focal", cases, "loss"), "focal loss");
    compare(session, 1, entry_of(file, "focal", cases, "gradient"), "gradient of focal loss");
    mica_session_destroy(session);
    mica_graph_destroy(graph);
  }
  ck_assert_int_eq(cases, 3);
  mica_safetensors_close(file);
}
END_TEST

START_TEST(wrong_operands) {
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(3, 5));
  mica_giou(x, x);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  ck_assert_msg(strstr(mica_graph_message(graph), "both operands must be boxes (..., 4)"), "%s",
                mica_graph_message(graph));
  mica_graph_destroy(graph);
}
END_TEST

/* Boxes without area overlap nothing, and no gradient is infinite. */
START_TEST(no_area) {
  static const float boxes[] = {1, 1, 1, 1, 0, 0, 2, 2};
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value a = mica_constant(graph, MICA_F32, MICA_SHAPE(2, 1, 4), boxes);
  mica_value b = mica_constant(graph, MICA_F32, MICA_SHAPE(2, 4), boxes);
  mica_value outputs[] = {mica_iou(a, b), mica_giou(a, b)};
  mica_session *session = run(graph, outputs, 2);
  for (size_t k = 0; k < 2; k++) {
    float is[4];
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, k), is, sizeof is));
    for (int i = 0; i < 4; i++) ck_assert_msg(is[i] == (i == 3 ? 1.0f : 0.0f), "%d is %g", i, (double)is[i]);
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL, overlaps, focal, wrong_operands, no_area)
