/* labels: device
 *
 * Lesson 22: several processes, on one machine or many, train one network. MPI's launcher starts them; each is a rank,
 * with samples of its own, and all take the same steps. Started alone, it trains alone.
 *
 *   mpirun -n 4 build/bin/samples/22_mpi
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLES 4096
#define FEATURES 16
#define BATCH 128

/* What is made of a batch's columns: the network, its loss, and the share that is right. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  (void)config;
  mica_value h = mica_relu(mica_nn_dense(nn, "fc1", mica_batch_value(batch, "x"), 64, NULL));
  mica_value z = mica_nn_dense(nn, "fc2", h, 2, NULL);
  if (!mica_batch_has(batch, "label")) return;
  out->loss = mica_cross_entropy(z, mica_batch_value(batch, "label"), NULL);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, mica_batch_value(batch, "label")));
}

/* Rows of numbers: of class 1 those in which two features have the same sign. */
static mica_status make_data(mica_dataset **data) {
  static float x[SAMPLES * FEATURES];
  static int32_t label[SAMPLES];
  srand(1); /* every rank makes the same; a loader gives it its part of them */
  for (int i = 0; i < SAMPLES * FEATURES; i++) x[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
  for (int i = 0; i < SAMPLES; i++) label[i] = x[i * FEATURES] * x[i * FEATURES + 1] > 0;
  const mica_column_data columns[] = {
      {.column = {.name = "x", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = MICA_SHAPE(FEATURES)},
       .data = x},
      {.column = {.name = "label", .kind = MICA_COLUMN_KIND_CLASS, .dtype = MICA_I32, .classes = 2}, .data = label}};
  return mica_dataset_create("signs", SAMPLES, columns, 2, data);
}

/* Rank 0 speaks. */
static bool report(void *user, const mica_train_progress *e) {
  const mica_communicator *c = user;
  if ((c && c->rank != 0) || e->event != MICA_TRAIN_EVENT_EPOCH) return true;
  printf("epoch %2lld  loss %.4f  accuracy %.1f %%", (long long)e->epoch + 1, e->training.loss,
         100 * mica_metrics_get(&e->training, "accuracy"));
  for (int32_t r = 0; r < e->ranks && r < MICA_TRAIN_RANKS; r++)
    printf("  rank %d: %.2f s, waiting %.2f s", (int)r, e->rank_times[r].computing, e->rank_times[r].waiting);
  printf("\n");
  return true;
}

static mica_status train(mica_engine *engine, mica_communicator *c, const mica_dataset *data, double *accuracy) {
  const int32_t ranks = c ? c->ranks : 1;
  const mica_loader_config loading = {
      .batch = BATCH / ranks, .shard = c ? c->rank : 0, .shards = ranks, .shuffle = true, .drop_last = true};
  mica_loader *loader = NULL, *all = NULL;
  mica_trainer *trainer = NULL;
  mica_metrics metrics = {0};
  mica_status status = mica_loader_create(engine, data, &loading, &loader);
  if (!status) status = mica_loader_create(engine, data, &(mica_loader_config){.batch = BATCH}, &all);
  if (!status) {
    const mica_batch_source source = mica_loader_source(loader), tests = mica_loader_source(all);
    const mica_trainer_config how = {.step = step,
                                     .columns = source.columns,
                                     .column_count = source.column_count,
                                     .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                     .schedule = {.rate = 3e-3},
                                     .epochs = 10,
                                     .report = report,
                                     .user = c,
                                     .communicator = c};
    status = mica_trainer_create(engine, &how, &trainer);
    if (!status) status = mica_trainer_fit(trainer, &source, NULL);
    if (!status) status = mica_trainer_test(trainer, &tests, &metrics); /* its batches are shared out, too */
  }
  *accuracy = mica_metrics_get(&metrics, "accuracy");
  mica_trainer_destroy(trainer);
  mica_loader_destroy(all);
  mica_loader_destroy(loader);
  return status;
}

int main(void) {
  mica_communicator *communicator = NULL;
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  double accuracy = 0;
  mica_device_prepare_drivers();
  mica_status status = mica_communicator_mpi_asked() ? mica_communicator_mpi(NULL, &communicator) : MICA_OK;
  if (!status) status = mica_engine_create(NULL, &engine);
  const bool absent = status == MICA_E_NO_DEVICE;
  if (!status) status = make_data(&data);
  if (!status) status = train(engine, communicator, data, &accuracy);
  /* A failure is known to all ranks by now, and one alone says it. */
  if (status && (!communicator || communicator->rank == 0)) fprintf(stderr, "%s\n", mica_error_message());
  if (!status && (!communicator || communicator->rank == 0)) printf("accuracy %.1f %%\n", 100 * accuracy);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  mica_communicator_destroy(communicator);
  return absent ? 77 : status || accuracy < 0.95;
}
