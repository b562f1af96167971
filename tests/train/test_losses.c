/* labels: device
 *
 * Training with each loss that compares numbers: its value and the mean absolute error against their formulas in
 * double, and that a run makes it smaller. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <string.h>

#define SAMPLES 80
#define INPUTS 6
#define OUTPUTS 2
#define BATCH 16

typedef struct made {
  float x[SAMPLES][INPUTS], y[SAMPLES][OUTPUTS];
  mica_tensor *inputs, *targets;
  uint64_t batch;
} made;

static mica_status next(void *user, mica_queue *queue, mica_batch *batch) {
  made *d = user;
  *batch = (mica_batch){0};
  if (d->batch == SAMPLES / BATCH) {
    d->batch = 0;
    return MICA_OK;
  }
  const uint64_t first = d->batch++ * BATCH;
  *batch = (mica_batch){.inputs = d->inputs, .targets = d->targets, .count = BATCH};
  mica_status status = mica_tensor_upload(queue, d->inputs, d->x[first], BATCH * sizeof *d->x);
  return status == MICA_OK ? mica_tensor_upload(queue, d->targets, d->y[first], BATCH * sizeof *d->y) : status;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  (void)epoch;
  ((made *)user)->batch = batch;
  return MICA_OK;
}

static mica_value model(mica_nn *nn, mica_value x, const void *config) {
  (void)config;
  return mica_nn_dense(nn, "fc", x, OUTPUTS, NULL);
}

/* Targets are a linear function of the inputs, large enough for both branches of huber; for bce its sign. */
static void make_data(made *d, mica_loss loss) {
  uint32_t state = 5;
  for (int i = 0; i < SAMPLES; i++) {
    for (int j = 0; j < INPUTS; j++) {
      state = state * 1664525u + 1013904223u;
      d->x[i][j] = (float)(int32_t)state * 0x1p-31f;
    }
    for (int k = 0; k < OUTPUTS; k++) {
      const float y = 3 * d->x[i][k] - 2 * d->x[i][k + 2] + 0.5f;
      d->y[i][k] = loss == MICA_LOSS_BCE ? (float)(y > 0) : y;
    }
  }
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(BATCH, INPUTS), &d->inputs));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(BATCH, OUTPUTS), &d->targets));
}

static double loss_of(mica_loss loss, double z, double y) {
  const double error = fabs(z - y);
  switch (loss) {
  case MICA_LOSS_MSE: return error * error;
  case MICA_LOSS_MAE: return error;
  case MICA_LOSS_HUBER: return error <= 1 ? error * error / 2 : error - 0.5;
  case MICA_LOSS_BCE: return fmax(z, 0) - z * y + log1p(exp(-fabs(z)));
  default: ck_abort_msg("no loss of numbers");
  }
}

/* The metrics that the network's weights have on all samples. */
static void expect_metrics(mica_trainer *t, const made *d, mica_loss loss, const mica_metrics *m) {
  float w[OUTPUTS][INPUTS], b[OUTPUTS];
  mica_session *session = mica_trainer_session(t);
  double sum = 0, error = 0;
  ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, "fc.weight"), w, sizeof w));
  ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, "fc.bias"), b, sizeof b));
  for (int i = 0; i < SAMPLES; i++)
    for (int k = 0; k < OUTPUTS; k++) {
      double z = (double)b[k];
      for (int j = 0; j < INPUTS; j++) z += (double)w[k][j] * (double)d->x[i][j];
      sum += loss_of(loss, z, (double)d->y[i][k]) / (SAMPLES * OUTPUTS);
      error += fabs(z - (double)d->y[i][k]) / (SAMPLES * OUTPUTS);
    }
  ck_assert_int_eq(m->samples, SAMPLES);
  ck_assert_double_eq_tol(m->loss, sum, 1e-5 * sum + 1e-6);
  ck_assert_double_eq_tol(m->error, error, 1e-5 * error + 1e-6);
  ck_assert(isnan(m->accuracy) && isnan(m->top_k));
}

START_TEST(a_loss_of_numbers_is_trained) {
  const mica_loss loss = (mica_loss)_i;
  static made d;
  int64_t confusion[4];
  mica_metrics before, after;
  mica_trainer *t = NULL;
  make_data(&d, loss);
  const mica_batch_source source = {
      .user = &d, .batches = SAMPLES / BATCH, .samples = SAMPLES, .next = next, .seek = seek};
  const mica_trainer_config config = {.model = model,
                                      .input = MICA_SHAPE(INPUTS),
                                      .target = MICA_SHAPE(OUTPUTS),
                                      .loss = loss,
                                      .seed = 3,
                                      .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                      .schedule = {.kind = MICA_SCHEDULE_COSINE, .rate = 0.2},
                                      .epochs = 20};
  ck_ok(mica_trainer_create(test_engine(), &config, &t));
  ck_ok(mica_trainer_test(t, &source, &before, NULL));
  expect_metrics(t, &d, loss, &before);
  ck_ok(mica_trainer_fit(t, &source, &source));
  ck_ok(mica_trainer_test(t, &source, &after, NULL));
  expect_metrics(t, &d, loss, &after);
  ck_assert_double_lt(after.loss, 0.25 * before.loss);
  ck_assert_int_eq(mica_trainer_test(t, &source, &after, confusion), MICA_E_INVALID);
  mica_trainer_destroy(t);
  mica_tensor_destroy(d.inputs);
  mica_tensor_destroy(d.targets);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("losses");
  for (int loss = MICA_LOSS_MSE; loss <= MICA_LOSS_BCE; loss++) {
    TCase *tcase = tcase_create(mica_loss_name((mica_loss)loss));
    tcase_add_loop_test(tcase, a_loss_of_numbers_is_trained, loss, loss + 1);
    suite_add_tcase(suite, tcase);
  }
  return suite;
}
