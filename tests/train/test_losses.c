/* labels: device single
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
  mica_feed tensors[2];
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
  *batch = (mica_batch){.count = BATCH, .tensors = d->tensors, .tensor_count = 2};
  mica_status status = mica_tensor_upload(queue, d->inputs, d->x[first], BATCH * sizeof *d->x);
  return status == MICA_OK ? mica_tensor_upload(queue, d->targets, d->y[first], BATCH * sizeof *d->y) : status;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  (void)epoch;
  ((made *)user)->batch = batch;
  return MICA_OK;
}

#define LOSS_LIST(X)                                                                                                   \
  X(mse)                                                                                                               \
  X(mae)                                                                                                               \
  X(huber)                                                                                                             \
  X(bce)                                                                                                               \
  X(quantile)
#define LOSS_ENUM(name) name,
typedef enum { LOSS_LIST(LOSS_ENUM) LOSSES } losses;
#define LOSS_NAME(name) #name,
static const char *const loss_names[] = {LOSS_LIST(LOSS_NAME)};

static const mica_batch_column columns[] = {{"x", MICA_F32, {2, {MICA_DYNAMIC, INPUTS}}},
                                            {"y", MICA_F32, {2, {MICA_DYNAMIC, OUTPUTS}}}};

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value z = mica_nn_dense(nn, "fc", mica_batch_value(batch, "x"), OUTPUTS, NULL);
  mica_value y = mica_batch_value(batch, "y");
  switch (*(const losses *)config) {
  case mse: out->loss = mica_mse(z, y, MICA_LOSS_REDUCTION_MEAN); break;
  case mae: out->loss = mica_mae(z, y, MICA_LOSS_REDUCTION_MEAN); break;
  case huber: out->loss = mica_huber(z, y, 1, MICA_LOSS_REDUCTION_MEAN); break;
  case bce: out->loss = mica_bce_with_logits(z, y, 1, MICA_LOSS_REDUCTION_MEAN); break;
  default: out->loss = mica_quantile_loss(z, y, 0.8, MICA_LOSS_REDUCTION_MEAN); break;
  }
  out->metrics[0] = mica_metric_mean("mae", mica_abs(mica_sub(z, y)));
}

/* Targets are a linear function of the inputs, large enough for both branches of huber; for bce its sign. */
static void make_data(made *d, losses loss) {
  uint32_t state = 5;
  for (int i = 0; i < SAMPLES; i++) {
    for (int j = 0; j < INPUTS; j++) {
      state = state * 1664525u + 1013904223u;
      d->x[i][j] = (float)(int32_t)state * 0x1p-31f;
    }
    for (int k = 0; k < OUTPUTS; k++) {
      const float y = 3 * d->x[i][k] - 2 * d->x[i][k + 2] + 0.5f;
      d->y[i][k] = loss == bce ? (float)(y > 0) : y;
    }
  }
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(BATCH, INPUTS), &d->inputs));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(BATCH, OUTPUTS), &d->targets));
  d->tensors[0] = (mica_feed){"x", d->inputs};
  d->tensors[1] = (mica_feed){"y", d->targets};
}

static double loss_of(losses loss, double z, double y) {
  const double error = fabs(z - y);
  switch (loss) {
  case mse: return error * error;
  case mae: return error;
  case huber: return error <= 1 ? error * error / 2 : error - 0.5;
  case bce: return fmax(z, 0) - z * y + log1p(exp(-fabs(z)));
  case quantile: return y > z ? 0.8 * error : 0.2 * error;
  default: ck_abort_msg("no loss of numbers");
  }
}

/* The metrics that the network's weights have on all samples. */
static void expect_metrics(mica_trainer *t, const made *d, losses loss, const mica_metrics *m) {
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
  ck_assert_double_eq_tol(mica_metrics_get(m, "mae"), error, 1e-5 * error + 1e-6);
}

START_TEST(a_loss_of_numbers_is_trained) {
  const losses loss = (losses)_i;
  static made d;
  mica_metrics before, after;
  mica_trainer *t = NULL;
  make_data(&d, loss);
  const mica_batch_source source = {
      .user = &d, .batches = SAMPLES / BATCH, .samples = SAMPLES, .next = next, .seek = seek};
  const mica_trainer_config config = {.step = step,
                                      .step_config = &loss,
                                      .columns = columns,
                                      .column_count = 2,
                                      .seed = 3,
                                      .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                      .schedule = {.kind = MICA_SCHEDULE_COSINE, .rate = 0.2},
                                      .epochs = 20};
  ck_ok(mica_trainer_create(test_engine(), &config, &t));
  ck_ok(mica_trainer_test(t, &source, &before));
  expect_metrics(t, &d, loss, &before);
  ck_ok(mica_trainer_fit(t, &source, &source));
  ck_ok(mica_trainer_test(t, &source, &after));
  expect_metrics(t, &d, loss, &after);
  ck_assert_double_lt(after.loss, 0.25 * before.loss);
  mica_trainer_destroy(t);
  mica_tensor_destroy(d.inputs);
  mica_tensor_destroy(d.targets);
}
END_TEST

static const char *name_of(int loss) { return loss_names[loss]; }

TESTS(DEVICE, NULL, NULL, BY_NAME(a_loss_of_numbers_is_trained, name_of, LOSSES))
