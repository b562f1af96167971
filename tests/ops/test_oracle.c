/* labels: device oracle
 *
 * Ops against numpy, torch and torchvision in f64: samples, boxes as maps and deformable convolutions with their
 * gradients, determinants, losses of embeddings, products of integers, sorted and different elements. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_safetensors *file;
static mica_graph *graph;
static const char *label; /* of the case */
static mica_feed feeds[8];
static mica_tensor *fed[8];
static char names[8][16];
static size_t feed_count;

static const mica_safetensors_entry *find(const char *name) {
  char full[64];
  ck_assert_ptr_nonnull(file);
  snprintf(full, sizeof full, "%s.%s", label, name);
  return mica_safetensors_find(file, full);
}

/* The case's tensor as an input; null where the file has none. */
static mica_value given(const char *name) {
  const mica_safetensors_entry *entry = find(name);
  if (!entry) return (mica_value){0};
  ck_ok(mica_tensor_create_from(test_engine(), entry->dtype, entry->shape, entry->data, &fed[feed_count]));
  snprintf(names[feed_count], sizeof names[feed_count], "%s", name);
  feeds[feed_count] = (mica_feed){names[feed_count], fed[feed_count]};
  return mica_input(graph, names[feed_count++], entry->dtype, entry->shape);
}

/* Equal within 1e-10 of the largest element. */
static void compare(const mica_tensor *tensor, const char *name) {
  const mica_safetensors_entry *entry = find(name);
  ck_assert_msg(entry != NULL, "%s has no %s", label, name);
  double largest = 0, *got = malloc(entry->bytes + 1);
  const double *want = entry->data;
  ck_assert_ptr_nonnull(got);
  ck_assert_msg(mica_shape_equal(mica_tensor_shape(tensor), entry->shape), "%s.%s: another shape", label, name);
  ck_ok(mica_tensor_download(test_queue(), tensor, got, entry->bytes));
  size_t count = entry->bytes / sizeof *got;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(want[i]));
  ck_assert(largest > 0);
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(fabs(got[i] - want[i]) <= 1e-10 * largest, "%s.%s: element %zu is %.15g, not %.15g", label, name, i,
                  got[i], want[i]);
  free(got);
}

/* Runs y and the gradients of those inputs for which the file has some, and compares all. */
static void run(mica_value y, const mica_value *inputs, size_t count) {
  mica_session *session = NULL;
  mica_value wrt[8], outputs[9] = {y}, grads[8];
  char wanted[9][16] = {"y"};
  size_t n = 0;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", label, mica_graph_message(graph));
  mica_value loss = mica_sum(mica_mul(y, given("dy")), MICA_ALL_AXES, false);
  for (size_t i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "d%.14s", names[i]);
    if (!find(name)) continue;
    snprintf(wanted[n + 1], sizeof wanted[0], "%s", name);
    wrt[n++] = inputs[i];
  }
  ck_ok(mica_gradients(loss, wrt, n, grads));
  for (size_t i = 0; i < n; i++) outputs[i + 1] = grads[i];
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", label, mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, n + 1, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  for (size_t i = 0; i <= n; i++) compare(mica_session_output(session, i), wanted[i]);
  mica_session_destroy(session);
}

/* Runs values alone. */
static void run_values(const mica_value *outputs, const char *const *wanted, size_t count) {
  mica_session *session = NULL;
  mica_value wide[4];
  for (size_t i = 0; i < count; i++) wide[i] = mica_cast(outputs[i], MICA_F64);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", label, mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, wide, count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  for (size_t i = 0; i < count; i++) compare(mica_session_output(session, i), wanted[i]);
  mica_session_destroy(session);
}

static void begin(const char *name) {
  label = name;
  feed_count = 0;
  ck_ok(mica_graph_create(&graph));
}

static void end(void) {
  mica_graph_destroy(graph);
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
}

START_TEST(samples) {
  int cases = 0;
  for (int k = 0; k < 36; k++) {
    char name[32];
    int mode = k / 12, pad = k / 4 % 3, align = k / 2 % 2, dims = 2 + k % 2;
    snprintf(name, sizeof name, "sample%d%d%d%d", mode, pad, align, dims);
    begin(name);
    mica_value in[] = {given("x"), {0}};
    if (!mica_value_is_null(in[0])) {
      in[1] = given("grid");
      mica_sample_config how = {
          .mode = (mica_sample_mode)mode, .padding = (mica_sample_padding)pad, .align = align == 1};
      /* torch gives zeros for the gradient of NEAREST in the grid. */
      run(mica_sample(in[0], in[1], &how), in, mode == MICA_SAMPLE_MODE_NEAREST ? 1 : 2);
      cases++;
    }
    end();
  }
  ck_assert_int_eq(cases, 30);
}
END_TEST

START_TEST(boxes_as_maps) {
  for (int k = 0; k < 6; k++) {
    char name[32];
    snprintf(name, sizeof name, "roi%d%d", k / 3, 1 + k % 3);
    begin(name);
    mica_value x = given("x");
    label = "roi";
    mica_value boxes = given("boxes"), images = given("images");
    label = name;
    mica_roi_config how = {.height = 3, .width = 5, .sampling = 1 + k % 3, .scale = 0.5, .whole_pixels = k < 3};
    run(mica_roi_align(x, boxes, images, &how), &x, 1);
    end();
  }
}
END_TEST

START_TEST(deformable_convolutions) {
  static const mica_conv_config hows[] = {{.pad = {1, 1}},
                                          {.groups = 2, .stride = {2, 2}},
                                          {.pad = {2, 2}, .dilation = {2, 2}},
                                          {.groups = 2, .pad = {1, 1}}};
  for (int k = 0; k < 4; k++) {
    char name[32];
    snprintf(name, sizeof name, "deform%d", k);
    begin(name);
    mica_value in[] = {given("x"), given("offset"), given("weight"), given("bias"), {0}};
    in[4] = given("mask");
    run(mica_deform_conv(in[0], in[1], in[4], in[2], in[3], &hows[k]), in, mica_value_is_null(in[4]) ? 4 : 5);
    end();
  }
}
END_TEST

START_TEST(matrices) {
  begin("det");
  mica_value det = mica_determinant(given("x"));
  run_values(&det, (const char *const[]){"y"}, 1);
  end();
  begin("whole");
  mica_value a = given("a"), b = given("b"), product = mica_matmul(a, b);
  run_values(&product, (const char *const[]){"y"}, 1);
  end();
}
END_TEST

/* numpy's NaNs are moved to the front there. */
START_TEST(embeddings) {
  begin("arcface");
  mica_value cosines = given("cosines");
  mica_arcface_config how = {.scale = 12, .margin = 0.4, .reduction = MICA_LOSS_REDUCTION_NONE};
  run(mica_arcface(cosines, given("classes"), &how), &cosines, 1);
  end();
  begin("triplet");
  mica_value x = given("x");
  run(mica_triplet(x, given("classes"), 0.3, NULL), &x, 1);
  end();
  begin("ge2e");
  mica_value in[] = {given("x"), given("scale")};
  run(mica_ge2e(in[0], given("classes"), 5, in[1], NULL), in, 2);
  end();
}
END_TEST

START_TEST(orders) {
  static const char *const wanted[] = {"values", "indices", "count"};
  for (int falls = 0; falls < 2; falls++) {
    begin(falls ? "falling" : "rising");
    mica_top_k_results r = mica_sort(given("x"), 1, falls);
    run_values(
        (const mica_value[]){mica_where(mica_isnan(r.values), mica_scalar(graph, MICA_F32, 77), r.values), r.indices},
        wanted, 2);
    end();
  }
  begin("unique");
  mica_unique_results u = mica_unique(given("x"), -1);
  run_values((const mica_value[]){u.values, u.inverse, u.count}, wanted, 3);
  end();
}
END_TEST

START_TEST(values_are_there) {
  const char *path = files_path("values.safetensors");
  oracle_run("ops/oracle.py", path);
  ck_ok(mica_safetensors_open(path, &file));
}
END_TEST

static void close_file(void) {
  mica_safetensors_close(file);
  files_remove();
}

TEST_GROUPS(BOTH(DEVICE, BOTH(!(mica_engine_device(test_engine())->features & MICA_FEATURE_FP64) ? "no doubles" : NULL,
                              oracle_lacks("numpy, torch, torchvision, safetensors"))),
            ONCE(NULL, close_file, values_are_there, samples, boxes_as_maps, deformable_convolutions, matrices,
                 embeddings, orders))
