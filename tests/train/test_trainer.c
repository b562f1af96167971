/* labels: device
 *
 * Runs of the trainer on made data: that they learn, what they report, what a step costs, and that a run which was
 * stopped and loaded ends with the same bits. */
#include "support/check_main.h"
#include "support/engine.h"
#include "train/train.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES 200
#define INPUTS 12
#define CLASSES 3
#define BATCH 32
#define BATCHES ((SAMPLES + BATCH - 1) / BATCH)

/* Samples in an order that the epoch decides; the last batch is smaller. */
typedef struct made {
  float x[SAMPLES][INPUTS];
  int32_t y[SAMPLES];
  mica_tensor *inputs[2], *targets[2]; /* whole batches and the last */
  mica_feed tensors[2];
  uint64_t epoch, batch;
  bool ended;
} made;

static made data;

/* Seconds that a batch says it was waited for; sums of it are exact. */
#define WAITED 0.25

static mica_status next(void *user, mica_queue *queue, mica_batch *batch) {
  made *d = user;
  float x[BATCH][INPUTS];
  int32_t y[BATCH];
  if (d->batch == BATCHES) {
    *batch = (mica_batch){0};
    d->epoch++;
    d->batch = 0;
    return MICA_OK;
  }
  size_t first = d->batch * BATCH, count = SAMPLES - first < BATCH ? SAMPLES - first : BATCH;
  int which = count < BATCH;
  for (size_t i = 0; i < count; i++) {
    size_t from = ((first + i) * 77 + d->epoch * 13) % SAMPLES;
    memcpy(x[i], d->x[from], sizeof x[i]);
    y[i] = d->y[from];
  }
  d->batch++;
  d->tensors[0] = (mica_feed){"x", d->inputs[which]};
  d->tensors[1] = (mica_feed){"kind", d->targets[which]};
  *batch = (mica_batch){.count = (int64_t)count, .waited = WAITED, .tensors = d->tensors, .tensor_count = 2};
  mica_status status = mica_tensor_upload(queue, d->inputs[which], x, count * sizeof *x);
  return status == MICA_OK ? mica_tensor_upload(queue, d->targets[which], y, count * sizeof *y) : status;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  made *d = user;
  d->epoch = epoch;
  d->batch = batch;
  return MICA_OK;
}

static const mica_batch_source source = {
    .user = &data, .batches = BATCHES, .samples = SAMPLES, .next = next, .seek = seek};

static char folder[64];

static void setup(void) {
  uint32_t state = 9;
  for (int i = 0; i < SAMPLES; i++) {
    double sums[CLASSES] = {0};
    for (int j = 0; j < INPUTS; j++) {
      state = state * 1664525u + 1013904223u;
      data.x[i][j] = (float)(int32_t)state * 0x1p-31f;
      sums[j % CLASSES] += (double)data.x[i][j];
    }
    data.y[i] = sums[0] > sums[1] ? (sums[0] > sums[2] ? 0 : 2) : (sums[1] > sums[2] ? 1 : 2);
  }
  for (int k = 0; k < 2; k++) {
    int64_t n = k ? SAMPLES % BATCH : BATCH;
    ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(n, INPUTS), &data.inputs[k]));
    ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(n), &data.targets[k]));
  }
  strcpy(folder, "trainer-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
}

static const char *in_folder(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void teardown(void) {
  for (int k = 0; k < 2; k++) {
    mica_tensor_destroy(data.inputs[k]);
    mica_tensor_destroy(data.targets[k]);
  }
  remove(in_folder("last.safetensors"));
  remove(in_folder("best.safetensors"));
  ck_assert_int_eq(rmdir(folder), 0);
}

static const mica_batch_column columns[] = {{"x", MICA_F32, {2, {MICA_DYNAMIC, INPUTS}}},
                                            {"kind", MICA_I32, {1, {MICA_DYNAMIC}}}};

/* A classifier, with all kinds of sums: means, parts of a mean, and counts. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *units, mica_objective *out) {
  static const char *const thirds[] = {"a", "b", "c", NULL};
  int64_t hidden = units ? *(const int64_t *)units : 16;
  mica_value h = mica_relu(mica_nn_dense(nn, "fc1", mica_batch_value(batch, "x"), hidden, NULL));
  mica_value z = mica_nn_dense(nn, "fc2", mica_nn_dropout(nn, h, 0.1), CLASSES, NULL);
  out->outputs[0] = z, out->output_names[0] = "logits";
  if (!mica_batch_has(batch, "kind")) return;
  mica_value y = mica_batch_value(batch, "kind"), hits = mica_hits(z, y);
  mica_value own = mica_one_hot(y, CLASSES, 1, mica_scalar(z.graph, MICA_F32, 0), mica_scalar(z.graph, MICA_F32, 1));
  out->loss = mica_cross_entropy(z, y, NULL);
  out->metrics[0] = mica_metric_mean("accuracy", hits);
  out->metrics[1] =
      (mica_metric){.name = "recall",
                    .sum = mica_sum(mica_mul(own, mica_unsqueeze(hits, MICA_AXES(1))), MICA_AXES(0), false),
                    .weight = mica_sum(own, MICA_AXES(0), false),
                    .parts = thirds};
  if (mica_nn_is_training(nn)) return;
  out->metrics[2] = mica_metric_mean("top_2", mica_top_k_hits(z, y, 2));
  out->metrics[3] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
}

static mica_trainer_config usual(void) {
  return (mica_trainer_config){.step = step,
                               .columns = columns,
                               .column_count = 2,
                               .watch = "accuracy",
                               .seed = 4,
                               .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                               .schedule = {.kind = MICA_SCHEDULE_COSINE, .rate = 0.02},
                               .epochs = 10};
}

static mica_trainer *make(const mica_trainer_config *config) {
  mica_trainer *trainer = NULL;
  ck_ok(mica_trainer_create(test_engine(), config, &trainer));
  return trainer;
}

#define FIRST_WEIGHT (16 * INPUTS)
static void read_weight(mica_trainer *t, float w[FIRST_WEIGHT]) {
  mica_tensor *tensor = mica_session_parameter(mica_trainer_session(t), "fc1.weight");
  ck_ok(mica_tensor_download(test_queue(), tensor, w, FIRST_WEIGHT * sizeof *w));
}

/* --- what is reported --- */

START_TEST(parts_leave_room_for_means) {
  enum { PARTS = 64 };
  static char text[PARTS][4];
  char *parts[PARTS], dice[] = "dice", iou[] = "iou";
  double sums[MICA__SUM_FIRST + 4 * PARTS];
  mica_metrics m;
  for (int i = 0; i < PARTS; i++) {
    snprintf(text[i], sizeof text[i], "%d", i);
    parts[i] = text[i];
  }
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) sums[i] = 1;
  const mica__phase phase = {.slots = {{.name = dice, .parts = parts, .count = PARTS, .weighted = true},
                                       {.name = iou, .parts = parts, .count = PARTS, .weighted = true}},
                             .slot_count = 2};
  ck_ok(mica__metrics_of(&phase, &(mica__totals){sums, 1}, &m));
  ck_assert_int_eq(m.count, MICA_METRICS_MAX);
  ck_assert_double_eq(mica_metrics_get(&m, "dice_61"), 1);
  ck_assert_double_eq(mica_metrics_get(&m, "iou"), 1);
  ck_assert(isnan(mica_metrics_get(&m, "dice_62")));
}
END_TEST

typedef struct heard {
  int begun, steps, epochs, checkpoints, stopped, best;
  int64_t samples;      /* of all STEPS events */
  int64_t stop_at_step; /* the callback's own wish */
  double first_loss, last_loss, accuracy, validation;
  double waited; /* of all EPOCH events */
  mica_metrics untrained;
} heard;

static bool hear(void *user, const mica_train_progress *progress) {
  heard *h = user;
  if (progress->event == MICA_TRAIN_EVENT_BEGIN) {
    ck_assert_int_eq(h->steps + h->epochs, 0);
    h->untrained = progress->recent;
    h->begun++;
  }
  if (progress->event == MICA_TRAIN_EVENT_STEPS) {
    h->steps++;
    h->samples += progress->recent.samples;
  }
  if (progress->event == MICA_TRAIN_EVENT_EPOCH) {
    ck_assert_int_eq(progress->training.samples, SAMPLES);
    if (h->epochs++ == 0) h->first_loss = progress->training.loss;
    h->last_loss = progress->training.loss;
    h->accuracy = mica_metrics_get(&progress->training, "accuracy");
    h->validation = mica_metrics_get(&progress->validation, "accuracy");
    h->best += progress->best;
    h->waited += progress->data_seconds;
  }
  h->checkpoints += progress->event == MICA_TRAIN_EVENT_CHECKPOINT;
  h->stopped += progress->event == MICA_TRAIN_EVENT_STOPPED;
  return !h->stop_at_step || progress->step < h->stop_at_step;
}

START_TEST(a_run_learns_and_tells) {
  heard h = {0};
  mica_trainer_config c = usual();
  c.report = hear;
  c.user = &h;
  c.report_every = 3;
  mica_trainer *t = make(&c);
  ck_ok(mica_trainer_fit(t, &source, &source));
  ck_assert_int_eq(h.begun, 1);
  ck_assert_int_eq(h.untrained.samples, BATCH);
  ck_assert_msg(fabs(h.untrained.loss - log(CLASSES)) < 1, "untrained %g", h.untrained.loss);
  ck_assert_int_eq(h.epochs, 10);
  /* Every third step at least, and earlier as long as nothing is known of the device's speed. */
  ck_assert_int_ge(h.steps, 10 * ((BATCHES + 2) / 3));
  ck_assert_int_le(h.steps, 10 * BATCHES);
  ck_assert_int_eq(h.samples, 10 * SAMPLES);
  ck_assert_double_eq(h.waited, 10 * BATCHES * WAITED);
  ck_assert_int_eq(h.checkpoints + h.stopped, 0);
  ck_assert_int_ge(h.best, 1);
  ck_assert_msg(h.first_loss > 0.7 && h.last_loss < 0.6 * h.first_loss, "from %g to %g", h.first_loss, h.last_loss);
  ck_assert_msg(h.validation > 0.9, "%g of the samples are right", h.validation);
  mica_trainer_destroy(t);
}
END_TEST

/* The logits of the predicting network, which needs no "kind", on the host. */
START_TEST(metrics_are_those_of_the_logits) {
  mica_trainer_config c = usual();
  mica_trainer *t = make(&c);
  double confusion[CLASSES * CLASSES], expected[CLASSES * CLASSES] = {0}, hits = 0, near = 0, loss = 0;
  mica_metrics m;
  mica_batch batch;
  ck_ok(mica_trainer_fit(t, &source, NULL));
  ck_assert_int_eq(mica_trainer_sum(t, "none", confusion, 1), MICA_E_NOT_FOUND);
  ck_ok(mica_trainer_test(t, &source, &m));
  ck_ok(mica_trainer_sum(t, "confusion", confusion, CLASSES * CLASSES));
  ck_assert_int_eq(mica_trainer_sum(t, "confusion", confusion, CLASSES), MICA_E_INVALID);
  ck_ok(seek(&data, 0, 0));
  for (ck_ok(next(&data, test_queue(), &batch)); batch.count; ck_ok(next(&data, test_queue(), &batch))) {
    float z[BATCH][CLASSES];
    int32_t y[BATCH];
    mica_batch blind = {.count = batch.count, .tensors = batch.tensors, .tensor_count = 1};
    ck_ok(mica_trainer_predict(t, &blind));
    ck_ok(mica_tensor_download(test_queue(), mica_trainer_output(t, "logits"), z, (size_t)batch.count * sizeof *z));
    ck_ok(mica_tensor_download(test_queue(), batch.tensors[1].tensor, y, (size_t)batch.count * sizeof *y));
    for (int64_t i = 0; i < batch.count; i++) {
      int top = 0, above = 0;
      double sum = 0;
      for (int k = 0; k < CLASSES; k++) {
        top = z[i][k] > z[i][top] ? k : top;
        above += z[i][k] > z[i][y[i]];
        sum += exp((double)z[i][k]);
      }
      loss += log(sum) - (double)z[i][y[i]];
      hits += top == y[i];
      near += above < 2;
      expected[y[i] * CLASSES + top]++;
    }
  }
  ck_assert_ptr_null(mica_trainer_output(t, "none"));
  ck_assert_int_eq(m.samples, SAMPLES);
  ck_assert_mem_eq(confusion, expected, sizeof expected);
  ck_assert_double_eq_tol(mica_metrics_get(&m, "accuracy"), hits / SAMPLES, 1e-9);
  ck_assert_double_eq_tol(mica_metrics_get(&m, "top_2"), near / SAMPLES, 1e-9);
  ck_assert_double_eq_tol(m.loss, loss / SAMPLES, 1e-5);
  double mean = 0;
  for (int k = 0; k < CLASSES; k++) {
    const char name[] = {'r', 'e', 'c', 'a', 'l', 'l', '_', (char)('a' + k), 0};
    double all = expected[k * CLASSES] + expected[k * CLASSES + 1] + expected[k * CLASSES + 2];
    ck_assert_double_eq_tol(mica_metrics_get(&m, name), expected[k * CLASSES + k] / all, 1e-9);
    mean += expected[k * CLASSES + k] / all / CLASSES;
  }
  ck_assert_double_eq_tol(mica_metrics_get(&m, "recall"), mean, 1e-9);
  ck_assert(isnan(mica_metrics_get(&m, "none")));
  mica_trainer_destroy(t);
}
END_TEST

START_TEST(confusion_scores) {
  static const int64_t matrix[] = {8, 2, 0, 1, 3, 0, 0, 0, 0};
  mica_class_scores scores[3], mean;
  double accuracy;
  mica_confusion_scores(matrix, 3, scores, &mean, &accuracy);
  ck_assert_double_eq_tol(scores[0].precision, 8.0 / 9, 1e-12);
  ck_assert_double_eq_tol(scores[0].recall, 0.8, 1e-12);
  ck_assert_double_eq_tol(scores[1].f1, 2 * 0.6 * 0.75 / 1.35, 1e-12);
  ck_assert_double_eq(scores[2].precision + scores[2].recall + scores[2].f1, 0);
  ck_assert_double_eq_tol(mean.recall, (0.8 + 0.75) / 2, 1e-12);
  ck_assert_double_eq_tol(accuracy, 11.0 / 14, 1e-12);
}
END_TEST

START_TEST(a_step_costs_launches_alone) {
  mica_trainer_config c = usual();
  mica_trainer *t = make(&c);
  mica_batch batch;
  ck_ok(seek(&data, 0, 0));
  ck_ok(next(&data, test_queue(), &batch));
  for (int i = 0; i < 3; i++) ck_ok(mica_trainer_step(t, &batch));
  mica_stats before = mica_engine_stats(test_engine());
  for (int i = 0; i < 50; i++) ck_ok(mica_trainer_step(t, &batch));
  mica_stats after = mica_engine_stats(test_engine());
  printf("a step: %g launches\n", (double)(after.launches - before.launches) / 50);
  ck_assert_uint_eq(after.host_waits, before.host_waits);
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  mica_metrics m;
  ck_ok(mica_trainer_take_metrics(t, &m));
  ck_assert_int_eq(m.samples, 53 * BATCH);
  mica_trainer_destroy(t);
}
END_TEST

/* --- stopping and going on --- */

START_TEST(a_stopped_run_ends_with_the_same_bits) {
  float whole[FIRST_WEIGHT], parts[FIRST_WEIGHT];
  mica_trainer_config c = usual();
  c.epochs = 3;
  c.on_plateau = true;
  c.optimizer.ema = 0.9;
  mica_trainer *t = make(&c);
  ck_ok(mica_trainer_fit(t, &source, &source));
  read_weight(t, whole);
  mica_trainer_destroy(t);
  c.folder = folder;
  c.report = hear;
  c.report_every = 1;
  for (int64_t step = 3; step < 3 * BATCHES + 5; step += 5) {
    heard h = {.stop_at_step = step};
    c.user = &h;
    t = make(&c);
    if (step > 3) ck_ok(mica_trainer_load(t, in_folder("last.safetensors")));
    ck_ok(mica_trainer_fit(t, &source, &source));
    if (step < 3 * BATCHES) ck_assert_int_eq(h.stopped, 1);
    read_weight(t, parts);
    mica_trainer_destroy(t);
  }
  ck_assert_mem_eq(whole, parts, sizeof whole);
}
END_TEST

/* The bytes of the folder's last.safetensors, to be freed. */
static char *last_file(size_t *bytes) {
  char *content = malloc(1 << 20);
  FILE *file = fopen(in_folder("last.safetensors"), "rb");
  ck_assert(content && file);
  *bytes = fread(content, 1, 1 << 20, file);
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_uint_lt(*bytes, 1 << 20);
  return content;
}

/* Without validation the best epoch is that of the lowest training loss, a sum of what was read at other steps each
 * time: the checkpoint and the epochs' losses are the same bits whenever it is read, stopped and resumed. */
START_TEST(what_is_read_does_not_depend_on_when) {
  size_t whole_bytes, parts_bytes;
  heard whole = {0}, parts = {0};
  mica_trainer_config c = usual();
  c.watch = NULL;
  c.epochs = 4;
  c.folder = folder;
  c.report = hear;
  c.user = &whole;
  mica_trainer *t = make(&c);
  ck_ok(mica_trainer_fit(t, &source, NULL));
  mica_trainer_destroy(t);
  char *want = last_file(&whole_bytes);
  c.user = &parts;
  for (int64_t step = 2; step < 4 * BATCHES + 3; step += 3) {
    c.report_every = 1 + step % 7;
    c.checkpoint_steps = step % 4;
    parts.stop_at_step = step;
    t = make(&c);
    if (step > 2) ck_ok(mica_trainer_load(t, in_folder("last.safetensors")));
    ck_ok(mica_trainer_fit(t, &source, NULL));
    mica_trainer_destroy(t);
  }
  char *got = last_file(&parts_bytes);
  ck_assert_int_eq(parts.epochs, 4);
  ck_assert_msg(memcmp(&whole.last_loss, &parts.last_loss, sizeof(double)) == 0, "%.17g, not %.17g", parts.last_loss,
                whole.last_loss);
  ck_assert_uint_eq(parts_bytes, whole_bytes);
  ck_assert_mem_eq(got, want, whole_bytes);
  free(got);
  free(want);
}
END_TEST

START_TEST(the_stop_flag_writes_a_checkpoint) {
  heard h = {0};
  int stop = 1;
  mica_trainer_config c = usual();
  c.folder = folder;
  c.report = hear;
  c.user = &h;
  c.stop = &stop;
  mica_trainer *t = make(&c);
  ck_ok(mica_trainer_fit(t, &source, NULL));
  ck_assert_int_eq(h.stopped, 1);
  ck_assert_int_eq(h.checkpoints, 1);
  ck_assert_int_eq(h.samples, BATCH);
  ck_assert_int_eq(access(in_folder("last.safetensors"), R_OK), 0);
  mica_trainer_destroy(t);
}
END_TEST

START_TEST(patience_ends) {
  heard h = {0};
  mica_trainer_config c = usual();
  c.schedule = (mica_schedule_config){.rate = 1e-30};
  c.patience = 2;
  c.report = hear;
  c.user = &h;
  mica_trainer *t = make(&c);
  ck_ok(mica_trainer_fit(t, &source, &source));
  ck_assert_int_eq(h.epochs, 3);
  ck_assert_int_eq(h.stopped, 1);
  mica_trainer_destroy(t);
}
END_TEST

typedef struct among_equals {
  double lowest;
  int best, epochs;
} among_equals;

static mica_status all_alike(void *user, mica_trainer *t, const mica_batch_source *s, mica_metrics *metrics) {
  (void)user, (void)t, (void)s;
  return mica_metrics_add(metrics, "alike", 1);
}

static bool hear_equals(void *user, const mica_train_progress *progress) {
  among_equals *a = user;
  if (progress->event != MICA_TRAIN_EVENT_EPOCH) return true;
  const double loss = progress->validation.loss;
  ck_assert_int_eq(progress->best, a->epochs == 0 || loss < a->lowest);
  a->lowest = a->epochs++ == 0 || loss < a->lowest ? loss : a->lowest;
  a->best += progress->best;
  return true;
}

/* Where all epochs are alike in what is watched, as when all answers are right, that of the least loss is kept; a run
 * that is resumed knows it. */
START_TEST(the_loss_decides_among_equals) {
  among_equals a = {0};
  mica_trainer_config c = usual();
  c.watch = "alike";
  c.evaluate = all_alike;
  c.folder = folder;
  c.report = hear_equals;
  c.user = &a;
  c.epochs = 3;
  mica_trainer *t = make(&c);
  ck_ok(mica_trainer_fit(t, &source, &source));
  mica_trainer_destroy(t);
  ck_assert_int_ge(a.best, 2);
  c.epochs = 6;
  t = make(&c);
  ck_ok(mica_trainer_load(t, in_folder("last.safetensors")));
  ck_ok(mica_trainer_fit(t, &source, &source));
  mica_trainer_destroy(t);
  ck_assert_int_eq(a.epochs, 6);
}
END_TEST

/* What is tested before the first step is the weights, not moving averages that have not begun. */
START_TEST(untrained_averages_are_the_weights) {
  heard plain = {0}, averaged = {0};
  mica_trainer_config c = usual();
  c.epochs = 1;
  c.report = hear;
  for (int with = 0; with < 2; with++) {
    c.user = with ? &averaged : &plain;
    c.optimizer.ema = with ? 0.9F : 0;
    mica_trainer *t = make(&c);
    ck_ok(mica_trainer_fit(t, &source, &source));
    mica_trainer_destroy(t);
  }
  ck_assert_double_eq(averaged.untrained.loss, plain.untrained.loss);
}
END_TEST

/* --- what goes wrong --- */

START_TEST(a_loss_that_is_no_number_ends_the_run) {
  mica_trainer_config c = usual();
  c.folder = folder;
  c.optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_SGD);
  c.schedule = (mica_schedule_config){.rate = 1e30};
  mica_trainer *t = make(&c);
  ck_assert_int_eq(mica_trainer_fit(t, &source, NULL), MICA_E_NUMERIC);
  const char *step = strstr(mica_error_message(), "at step ");
  ck_assert_msg(step && strstr(step, "(learning rate 1e+30)"), "%s", mica_error_message());
  /* The first loss is that of the initial weights. */
  ck_assert_msg(atoi(step + 8) >= 2 && atoi(step + 8) <= 4, "%s", mica_error_message());
  ck_assert_int_ne(access(in_folder("last.safetensors"), R_OK), 0);
  mica_trainer_destroy(t);
}
END_TEST

START_TEST(a_checkpoint_of_another_network) {
  int64_t units = 20;
  float before[FIRST_WEIGHT], after[FIRST_WEIGHT];
  mica_trainer_config c = usual();
  mica_trainer *t = make(&c), *other;
  c.step_config = &units;
  other = make(&c);
  ck_ok(mica_trainer_save(other, in_folder("last.safetensors")));
  mica_trainer_destroy(other);
  read_weight(t, before);
  ck_assert_int_eq(mica_trainer_load(t, in_folder("last.safetensors")), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "'fc1.weight' is F32 (20, 12), not f32 (16, 12)"), "%s",
                mica_error_message());
  read_weight(t, after);
  ck_assert_mem_eq(before, after, sizeof before);
  ck_ok(
      mica_nn_save(mica_trainer_test_network(t), mica_trainer_test_session(t), in_folder("best.safetensors"), NULL, 0));
  ck_assert_int_eq(mica_trainer_load(t, in_folder("best.safetensors")), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "this run cannot continue from the file"), "%s", mica_error_message());
  ck_ok(mica_nn_load(mica_trainer_network(t), mica_trainer_session(t), in_folder("best.safetensors"), NULL));
  mica_trainer_destroy(t);
}
END_TEST

/* Weights of 16 bits become f32, exactly; those of 64 are not rounded without a word. */
START_TEST(a_checkpoint_in_other_bits) {
  static const double doubles[FIRST_WEIGHT];
  uint16_t halves[FIRST_WEIGHT];
  float weight[FIRST_WEIGHT];
  mica_safetensors_entry entry = {
      .name = "fc1.weight", .dtype = MICA_F16, .shape = {2, {16, INPUTS}}, .data = halves, .bytes = sizeof halves};
  mica_trainer_config c = usual();
  mica_trainer *t = make(&c);
  size_t missing = 0;
  /* -1.5 and 2^-24, the least f16. */
  for (int i = 0; i < FIRST_WEIGHT; i++) halves[i] = i % 2 ? 0xbe00 : 1;
  ck_ok(mica_safetensors_write(in_folder("best.safetensors"), &entry, 1, NULL, 0));
  ck_ok(mica_nn_load(mica_trainer_network(t), mica_trainer_session(t), in_folder("best.safetensors"), &missing));
  read_weight(t, weight);
  for (int i = 0; i < FIRST_WEIGHT; i++) ck_assert_float_eq(weight[i], i % 2 ? -1.5F : 0x1p-24F);
  entry = (mica_safetensors_entry){
      .name = "fc1.weight", .dtype = MICA_F64, .shape = {2, {16, INPUTS}}, .data = doubles, .bytes = sizeof doubles};
  ck_ok(mica_safetensors_write(in_folder("best.safetensors"), &entry, 1, NULL, 0));
  ck_assert_int_eq(
      mica_nn_load(mica_trainer_network(t), mica_trainer_session(t), in_folder("best.safetensors"), &missing),
      MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "'fc1.weight' is F64, but f32 in this network; convert"), "%s",
                mica_error_message());
  mica_trainer_destroy(t);
}
END_TEST

START_TEST(a_config_that_is_none) {
  mica_trainer_config c = usual();
  mica_trainer *t = NULL;
  c.schedule.kind = (mica_schedule)99;
  ck_assert_int_eq(mica_trainer_create(test_engine(), &c, &t), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "99 is not a mica_schedule"), "%s", mica_error_message());
  c = usual();
  c.watch = "acuracy";
  ck_assert_int_eq(mica_trainer_create(test_engine(), &c, &t), MICA_E_NOT_FOUND);
  ck_assert_msg(strstr(mica_error_message(), "\"acuracy\"; choose from loss, accuracy"), "%s", mica_error_message());
}
END_TEST

TESTS(DEVICE, setup, teardown, a_run_learns_and_tells, parts_leave_room_for_means, metrics_are_those_of_the_logits,
      confusion_scores, a_step_costs_launches_alone, a_stopped_run_ends_with_the_same_bits,
      what_is_read_does_not_depend_on_when, the_stop_flag_writes_a_checkpoint, patience_ends,
      the_loss_decides_among_equals, untrained_averages_are_the_weights, a_loss_that_is_no_number_ends_the_run,
      a_checkpoint_of_another_network, a_checkpoint_in_other_bits, a_config_that_is_none)
