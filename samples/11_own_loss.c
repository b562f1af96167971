/* labels: device single
 *
 * Lesson 11: a network of your own with a loss of your own. The trainer knows no task: a function of yours says what a
 * step makes of a batch. Here a curve is fitted to points of which a tenth lies anywhere; the squared error follows
 * those, the Cauchy loss log(1 + d d) does not.
 *
 *   build/bin/samples/11_own_loss
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 2000

/* The step: network, loss, and a metric, by names of the batch's columns. config says which loss. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value h = mica_tanh(mica_nn_dense(nn, "fc1", mica_batch_value(batch, "x"), 32, NULL));
  mica_value y = mica_nn_dense(nn, "fc2", mica_tanh(mica_nn_dense(nn, "fc2a", h, 32, NULL)), 1, NULL);
  out->outputs[0] = y, out->output_names[0] = "y";
  if (!mica_batch_has(batch, "y")) return; /* predicting */
  mica_value square = mica_square(mica_sub(y, mica_batch_value(batch, "y")));
  mica_value losses = *(const bool *)config ? mica_log(mica_affine(square, 10, 1)) : square;
  out->loss = mica_mean(losses, MICA_ALL_AXES, false);
  /* An error that outliers do not decide: the share of points that are missed by more than a tenth. */
  mica_value missed = mica_greater(square, mica_full_like(square, 0.01));
  out->metrics[0] = mica_metric_mean("missed", mica_cast(missed, MICA_F32));
}

static float uniform(void) { return (float)rand() / (float)RAND_MAX; }

/* Points of sin(3 x), and a tenth of them anywhere, as a dataset of two columns. */
static mica_status make_points(float *x, float *y, mica_dataset **data) {
  for (int i = 0; i < POINTS; i++) {
    x[i] = 2 * uniform() - 1;
    y[i] = i % 10 ? sinf(3 * x[i]) + 0.05f * (uniform() - 0.5f) : 4 * uniform();
  }
  const mica_column_data columns[] = {
      {.column = {.name = "x", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = {1, {1}}}, .data = x},
      {.column = {.name = "y", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = {1, {1}}}, .data = y}};
  return mica_dataset_create("points", POINTS, columns, 2, data);
}

static mica_status train(mica_engine *engine, const mica_batch_source *source, bool robust, double *missed) {
  mica_trainer *trainer = NULL;
  mica_metrics metrics = {0};
  const mica_trainer_config config = {.step = step,
                                      .step_config = &robust,
                                      .columns = source->columns,
                                      .column_count = source->column_count,
                                      .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                      .schedule = {.kind = MICA_SCHEDULE_COSINE, .rate = 0.01},
                                      .epochs = 40};
  mica_status status = mica_trainer_create(engine, &config, &trainer);
  if (!status) status = mica_trainer_fit(trainer, source, NULL);
  if (!status) status = mica_trainer_test(trainer, source, &metrics);
  if (!status) *missed = mica_metrics_get(&metrics, "missed");
  mica_trainer_destroy(trainer);
  return status;
}

int main(void) {
  static float x[POINTS], y[POINTS];
  static const float zero, one = 1; /* the numbers are used as they are */
  double squared = 1, robust = 1;
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  mica_loader *loader = NULL;
  srand(1);
  const mica_loader_config how = {.batch = 50, .shuffle = true, .mean = &zero, .deviation = &one};
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = make_points(x, y, &data);
  if (!status) status = mica_loader_create(engine, data, &how, &loader);
  if (!status) {
    const mica_batch_source source = mica_loader_source(loader);
    status = train(engine, &source, false, &squared);
    if (!status) status = train(engine, &source, true, &robust);
  }
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("missed by more than 0.1: %.1f %% with squared errors, %.1f %% with the Cauchy loss\n", 100 * squared,
           100 * robust);
  mica_loader_destroy(loader);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || robust > 0.2 || robust > squared;
}
