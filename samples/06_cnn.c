/* labels: device
 *
 * Lesson 6: a convolutional network on real pictures. A dataset, a loader that brings batches to the device, a network
 * known by name, and a trainer, which does what lesson 5 did by hand. Without an argument it trains on a part of
 * Fashion-MNIST (Debian's package dataset-fashion-mnist); an argument names another dataset, as `mica train` takes it.
 *
 *   build/bin/samples/06_cnn [DATA]
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device or no dataset. */
#include <mica/mica.h>
#include <stdio.h>

#define PART 6000 /* samples to train on; a tenth of that to test */
#define EPOCHS 2

typedef struct data {
  mica_dataset *all, *training, *testing, *rest, *tail;
  mica_loader *training_loader, *test_loader;
} data;

static void close_data(data *d) {
  mica_loader_destroy(d->test_loader);
  mica_loader_destroy(d->training_loader);
  mica_dataset_destroy(d->tail);
  mica_dataset_destroy(d->testing);
  mica_dataset_destroy(d->rest);
  mica_dataset_destroy(d->training);
  mica_dataset_destroy(d->all);
}

/* Parts are chosen by a seed, and share the samples with the whole. */
static mica_status open_data(mica_engine *engine, const char *path, data *d) {
  mica_status status = mica_dataset_open(path, NULL, &d->all);
  if (status) return status;
  double count = (double)mica_dataset_count(d->all), share = count > 1.1 * PART ? PART / count : 0.9;
  status = mica_dataset_split(d->all, share, 1, &d->training, &d->rest);
  if (!status) status = mica_dataset_split(d->rest, 0.1 * share / (1 - share), 1, &d->testing, &d->tail);
  mica_loader_config config = {.batch = 64, .shuffle = true, .drop_last = true, .augment = {.flip = true}};
  if (!status) status = mica_loader_create(engine, d->training, &config, &d->training_loader);
  if (status) return status;
  /* Test samples are normalised like those trained on, and not augmented. */
  config = (mica_loader_config){.batch = 64,
                                .mean = mica_loader_mean(d->training_loader),
                                .deviation = mica_loader_deviation(d->training_loader)};
  return mica_loader_create(engine, d->testing, &config, &d->test_loader);
}

/* Called now and then, and after each epoch; false would stop the run. */
static bool report(void *user, const mica_train_progress *progress) {
  (void)user;
  if (progress->event == MICA_TRAIN_EVENT_EPOCH)
    printf("epoch %d: loss %.3f, accuracy %.1f %%; on the test part %.1f %%; %.0f samples/s\n",
           (int)progress->epoch + 1, progress->training.loss, 100 * mica_metrics_get(&progress->training, "accuracy"),
           100 * mica_metrics_get(&progress->validation, "accuracy"),
           (double)progress->training.samples / progress->seconds);
  return true;
}

/* A step: the network's logits of a batch and, where the labels are known, what is to be minimised and measured. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value logits = mica_model_build(nn, mica_batch_value(batch, "image"), config);
  if (!mica_batch_has(batch, "label")) return;
  mica_value label = mica_batch_value(batch, "label");
  out->loss = mica_cross_entropy(logits, label, NULL);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(logits, label));
}

static mica_status train(mica_engine *engine, const data *d, double *accuracy) {
  mica_model_config network = {.name = "cnn", .classes = mica_dataset_classes(d->all)};
  mica_batch_source training = mica_loader_source(d->training_loader), testing = mica_loader_source(d->test_loader);
  mica_trainer_config config = {
      .step = step,
      .step_config = &network,
      .columns = training.columns,
      .column_count = training.column_count,
      .watch = "accuracy",
      .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW),
      .schedule = {.kind = MICA_SCHEDULE_ONE_CYCLE, .rate = 3e-3},
      .epochs = EPOCHS,
      .report = report,
  };
  mica_trainer *trainer = NULL;
  mica_metrics metrics = {0};
  mica_status status = mica_trainer_create(engine, &config, &trainer);
  if (!status) status = mica_trainer_fit(trainer, &training, &testing);
  if (!status) status = mica_trainer_test(trainer, &testing, &metrics);
  if (!status) *accuracy = mica_metrics_get(&metrics, "accuracy");
  mica_trainer_destroy(trainer);
  return status;
}

int main(int argc, char **argv) {
  double accuracy = 0;
  mica_engine *engine = NULL;
  data d = {0};
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = open_data(engine, argc > 1 ? argv[1] : "fashion-mnist", &d);
  bool missing = argc == 1 && status == MICA_E_NOT_FOUND;
  if (!status) status = train(engine, &d, &accuracy);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  close_data(&d);
  mica_engine_destroy(engine);
  return missing || status == MICA_E_NO_DEVICE ? 77 : status || accuracy < (argc > 1 ? 0 : 0.7);
}
