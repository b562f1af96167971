/* labels: device slow
 *
 * The task diffuse: schedules and steps of drawing beside diffusers, and runs on made pictures: they learn, go on
 * after a stop with the same bits, and draw the same pictures for the same seed. */
#include "networks/diffusion.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- beside diffusers --- */

enum { STEPS = 1000, DRAWN = 10, ELEMENTS = 24 };

static mica_safetensors *values;

static const double *numbers(const char *name) {
  const mica_safetensors_entry *e = mica_safetensors_find(values, name);
  ck_assert_msg(e && e->dtype == MICA_F64, "no %s", name);
  return e->data;
}

START_TEST(schedules) {
  static const char *const names[2][2] = {{"kept.linear", "numpy.linear"}, {"kept.cosine", "numpy.cosine"}};
  double kept[STEPS];
  ck_ok(mica_safetensors_open(golden_path("diffuse", "schedules.safetensors"), &values));
  for (int k = 0; k < 2; k++) {
    const double *theirs = numbers(names[k][0]), *exact = numbers(names[k][1]);
    mica__diffusion_schedule((mica__diffusion_noise)k, STEPS, kept);
    for (int t = 0; t < STEPS; t++) {
      /* diffusers adds up in f32. */
      ck_assert_msg(fabs(kept[t] - theirs[t]) < 1e-6, "%s[%d]: %.9g, not %.9g", names[k][0], t, kept[t], theirs[t]);
      ck_assert_msg(fabs(kept[t] - exact[t]) <= 1e-11 * exact[t], "%s[%d]: %.17g", names[k][1], t, kept[t]);
    }
  }
  /* Fewer steps end as noisy. */
  mica__diffusion_schedule(MICA__DIFFUSION_LINEAR, 100, kept);
  ck_assert_double_lt(kept[99], 1e-4);
  mica_safetensors_close(values);
}
END_TEST

/* A step of drawing, in which a function of picture and time stands for the network. */
static mica_session *make_step(const mica__diffusion_step *plan, bool velocity) {
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_value next = {0};
  ck_ok(mica_graph_create(&graph));
  mica_value x = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(1, 1, 1, ELEMENTS));
  mica_value at = mica_parameter(graph, "at", MICA_I32, MICA_SHAPE(1));
  mica_value row = mica_gather(mica_constant(graph, MICA_F32, MICA_SHAPE(DRAWN, 5), plan), at, 0);
  mica_value time = mica_reshape(mica_slice(row, 1, 0, 1, 1), MICA_SHAPE(1, 1, 1, 1));
  mica_value z = mica_affine(mica_sin(mica_add(mica_affine(x, 3, 0), mica_affine(time, 0.002, 0))), 0.7, 0);
  mica_value picture = mica__diffusion_advance(x, z, row, velocity, &next);
  mica_assign(x, next);
  mica_assign(at, mica_add(at, mica_full_like(at, 1)));
  ck_ok(mica_session_create(test_engine(), graph, &picture, 1, NULL, &session));
  mica_graph_destroy(graph);
  return session;
}

START_TEST(steps_of_drawing) {
  static const char *const names[2][2] = {{"drawn.linear.noise", "drawn.linear.velocity"},
                                          {"drawn.cosine.noise", "drawn.cosine.velocity"}};
  double kept[STEPS];
  mica__diffusion_step plan[DRAWN];
  float x[ELEMENTS];
  ck_ok(mica_safetensors_open(golden_path("diffuse", "schedules.safetensors"), &values));
  const int32_t *times = mica_safetensors_find(values, "times")->data;
  for (int k = 0; k < 4; k++) {
    const double *drawn = numbers(names[k / 2][k % 2]);
    mica__diffusion_schedule((mica__diffusion_noise)(k / 2), STEPS, kept);
    mica__diffusion_plan(kept, STEPS, DRAWN, plan);
    for (int i = 0; i < DRAWN; i++) ck_assert_int_eq((int)plan[i].time, times[i]);
    mica_session *session = make_step(plan, k % 2);
    mica_tensor *tensor = mica_session_parameter(session, "x");
    for (int i = 0; i < ELEMENTS; i++) x[i] = (float)drawn[i];
    ck_ok(mica_tensor_upload(test_queue(), tensor, x, sizeof x));
    for (int step = 1; step <= DRAWN; step++) {
      ck_ok(mica_session_run(session, test_queue(), NULL, 0));
      ck_ok(mica_tensor_download(test_queue(), tensor, x, sizeof x));
      for (int i = 0; i < ELEMENTS; i++)
        ck_assert_msg(fabs((double)x[i] - drawn[step * ELEMENTS + i]) < 1e-4, "%s, step %d: %.7g, not %.7g",
                      names[k / 2][k % 2], step, (double)x[i], drawn[step * ELEMENTS + i]);
    }
    mica_session_destroy(session);
  }
  mica_safetensors_close(values);
}
END_TEST

/* --- runs --- */

enum { SIDE = 8, CLASSES = 2, COUNT = 64 };

static void put(uint8_t *to, uint32_t number) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* Pictures whose upper half (class 0) or lower half (class 1) is light. */
static void write_halves(const char *folder) {
  static uint8_t images[16 + COUNT * SIDE * SIDE], labels[8 + COUNT];
  char name[64];
  put(images, 0x803), put(images + 4, COUNT), put(images + 8, SIDE), put(images + 12, SIDE);
  put(labels, 0x801), put(labels + 4, COUNT);
  for (int i = 0; i < COUNT; i++) {
    labels[8 + i] = (uint8_t)(i % CLASSES);
    for (int p = 0; p < SIDE * SIDE; p++)
      images[16 + i * SIDE * SIDE + p] = (uint8_t)((p / SIDE >= SIDE / 2) == i % CLASSES ? 220 + i % 30 : 20 + i % 30);
  }
  snprintf(name, sizeof name, "%s/train-images-idx3-ubyte", folder);
  files_write(name, images, sizeof images);
  snprintf(name, sizeof name, "%s/train-labels-idx1-ubyte", folder);
  files_write(name, labels, sizeof labels);
}

static const mica_setting usual[] = {
    {"epochs", "30"}, {"batch", "16"},        {"width", "8"}, {"lr", "0.005"}, {"noise-steps", "50"},
    {"warm-up", "0"}, {"sample-steps", "10"}, {"seed", "3"},  {"ema", "0.9"},  {"validation", "0.25"}};
enum { USUAL = sizeof usual / sizeof *usual };

static mica_train_fn *stops;

static mica_run *begin(const char *folder, const char *epochs, const char *target, bool resume) {
  mica_setting settings[USUAL + 1];
  mica_run *run = NULL;
  char data[512];
  memcpy(settings, usual, sizeof usual);
  settings[0].value = epochs;
  settings[USUAL] = (mica_setting){"target", target};
  snprintf(data, sizeof data, "%s", files_path("halves"));
  ck_ok(mica_run_create(test_engine(),
                        &(mica_run_config){.task = "diffuse",
                                           .data = data,
                                           .folder = folder,
                                           .settings = settings,
                                           .setting_count = resume ? 1 : USUAL + 1,
                                           .report = stops,
                                           .resume = resume},
                        &run));
  ck_ok(mica_run_fit(run));
  return run;
}

static double loss_of(mica_run *run) {
  mica_metrics m;
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert(isfinite(mica_metrics_get(&m, "noise_mse")));
  return m.loss;
}

/* The drawn pictures, SIDE x SIDE each, for the caller to free. */
static uint8_t *draw(mica_run *run, const mica_run_input *input) {
  mica_report *p = NULL;
  ck_ok(mica_run_predict(run, input, &p));
  ck_assert_uint_eq(mica_report_count(p), (size_t)input->count);
  uint8_t *all = malloc((size_t)input->count * SIDE * SIDE);
  for (size_t i = 0; i < mica_report_count(p); i++) {
    const mica_item *item = mica_report_find(p, i, "drawn");
    ck_assert_ptr_nonnull(item);
    memcpy(all + i * SIDE * SIDE, item->planes, SIDE * SIDE);
  }
  mica_report_destroy(p);
  return all;
}

static double mean(const uint8_t *pixels) {
  double sum = 0;
  for (int i = 0; i < SIDE * SIDE / 2; i++) sum += pixels[i];
  return sum / (SIDE * SIDE / 2);
}

/* Loss falls, and pictures of a class have the half of it light. */
START_TEST(learns_and_draws) {
  static const char *const targets[] = {"velocity", "noise"};
  char folder[512];
  write_halves("halves");
  for (int k = 0; k < 2; k++) {
    snprintf(folder, sizeof folder, "%s", files_path(targets[k]));
    mica_run *run = begin(folder, "1", targets[k], false);
    const double early = loss_of(run);
    mica_run_destroy(run);
    run = begin(folder, "30", targets[k], true);
    const double late = loss_of(run);
    ck_assert_msg(late < 0.5 * early, "%s: loss %g after one epoch, then %g", targets[k], early, late);
    uint8_t *upper = draw(run, &(mica_run_input){.of_class = "0", .count = 8, .seed = 5, .guidance = 2});
    uint8_t *lower = draw(run, &(mica_run_input){.of_class = "1", .count = 8, .seed = 5, .guidance = 2});
    int right = 0;
    for (int i = 0; i < 8; i++) right += (mean(upper + i * SIDE * SIDE) > 128) + (mean(lower + i * SIDE * SIDE) < 128);
    ck_assert_msg(right >= 14, "%s: %d of 16 pictures have their class", targets[k], right);
    free(upper);
    free(lower);
    mica_run_destroy(run);
  }
}
END_TEST

static bool stop_early(void *user, const mica_train_progress *progress) {
  (void)user;
  return progress->step < 4;
}

/* A stopped run that goes on has the bits of one that was not. */
START_TEST(goes_on) {
  char folders[2][512], file[1100];
  uint8_t *bytes[2];
  size_t sizes[2];
  write_halves("halves");
  for (int k = 0; k < 2; k++) {
    snprintf(folders[k], sizeof folders[k], "%s", files_path(k ? "parts" : "whole"));
    if (k) {
      stops = stop_early;
      mica_run *run = begin(folders[k], "3", "velocity", false);
      ck_assert_ptr_nonnull(mica_run_stopped(run));
      stops = NULL;
      mica_run_destroy(run);
    }
    mica_run_destroy(begin(folders[k], "3", "velocity", k));
    snprintf(file, sizeof file, "%s/last.safetensors", folders[k]);
    bytes[k] = files_read(file, &sizes[k]);
  }
  ck_assert_uint_eq(sizes[0], sizes[1]);
  ck_assert_mem_eq(bytes[0], bytes[1], sizes[0]);
  free(bytes[0]), free(bytes[1]);
}
END_TEST

/* A seed gives the same pictures each time, also of a run that is opened again. */
START_TEST(draws_the_same) {
  char folder[512];
  write_halves("halves");
  snprintf(folder, sizeof folder, "%s", files_path("drawn"));
  const mica_run_input input = {.count = 5, .seed = 7, .steps = 4}, more = {.count = 70, .seed = 7, .steps = 4};
  mica_run *run = begin(folder, "3", "velocity", false);
  uint8_t *first = draw(run, &input), *again = draw(run, &input), *many = draw(run, &more);
  ck_assert_mem_eq(first, again, 5 * SIDE * SIDE);
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  uint8_t *opened = draw(run, &input), *other = draw(run, &(mica_run_input){.count = 5, .seed = 8, .steps = 4});
  ck_assert_mem_eq(first, opened, 5 * SIDE * SIDE);
  ck_assert_int_ne(memcmp(first, other, 5 * SIDE * SIDE), 0);
  /* Other batches may round otherwise, but begin with the same noise. */
  for (int i = 0; i < 5 * SIDE * SIDE; i++) ck_assert_int_le(abs(first[i] - many[i]), 2);
  mica_run_destroy(run);
  free(first), free(again), free(opened), free(other), free(many);
}
END_TEST

static void refused(mica_run *run, const mica_run_input *input, mica_status status, const char *sentence) {
  mica_report *p = NULL;
  ck_assert_int_eq(mica_run_predict(run, input, &p), status);
  ck_assert_msg(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());
}

START_TEST(refuses) {
  static const char *const settings[][3] = {
      {"width", "7", "width must be even"},
      {"sample-steps", "60", "sample-steps 60 must be at most noise-steps 50"},
      {"mean", "0.3", "leave mean out"},
      {"augment", "mixup", "mixup blends pictures"},
      {"depth", "4", "halves has pictures of 8x8; the network needs sides of 16 or more that can be halved 4 times"},
  };
  mica_run *run = NULL;
  char data[512], folder[512];
  write_halves("halves");
  snprintf(data, sizeof data, "%s", files_path("halves"));
  snprintf(folder, sizeof folder, "%s", files_path("refuses"));
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const mica_setting list[] = {{settings[i][0], settings[i][1]}, {"noise-steps", "50"}};
    mica_status status = mica_run_create(
        test_engine(),
        &(mica_run_config){.task = "diffuse", .data = data, .settings = list, .setting_count = i == 3 ? 1 : 2}, &run);
    ck_assert_msg(status != MICA_OK && strstr(mica_error_message(), settings[i][2]), "%s: %s", settings[i][0],
                  mica_error_message());
  }
  run = begin(folder, "1", "velocity", false);
  const char *file = "x.png";
  refused(run, &(mica_run_input){.of_class = "2"}, MICA_E_NOT_FOUND, "no class \"2\"; choose from 0, 1");
  refused(run, &(mica_run_input){.steps = 51}, MICA_E_INVALID, "the number of steps is 51");
  refused(run, &(mica_run_input){.files = &file, .file_count = 1}, MICA_E_INVALID, "takes no inputs");
  mica_run_destroy(run);
}
END_TEST

TEST_GROUPS(DEVICE,
            EACH(NULL, files_remove, schedules, steps_of_drawing, learns_and_draws, goes_on, draws_the_same, refuses))
