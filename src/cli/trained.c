#include "cli/trained.h"

#include <stdio.h>
#include <string.h>

static int find_precision(const cli_command *self, const char *name, mica_dtype *dtype) {
  static const mica_dtype types[] = {MICA_F32, MICA_F16, MICA_BF16};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(mica_dtype_name(types[i]), name)) {
      *dtype = types[i];
      return CLI_OK;
    }
  cli_fail(self, "--precision cannot be \"%s\"; it is f32, f16 or bf16", name);
  return CLI_USAGE;
}

/* Logits, or the value, as "output". */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const cli_run *run = config;
  mica_value x = mica_batch_value(batch, CLI_INPUT(run));
  mica_value y = mica_batch_has(batch, "label") ? mica_batch_value(batch, "label") : (mica_value){0};
  mica_value z = mica_model_build(nn, x, &run->network);
  if (mica_value_dtype(z) != MICA_F32) z = mica_cast(z, MICA_F32);
  out->outputs[0] = z, out->output_names[0] = "output";
  if (!y.graph) return;
  if (!run->classes) {
    out->loss = mica_mse(z, y, MICA_LOSS_REDUCTION_MEAN);
    out->metrics[0] = mica_metric_mean("mae", mica_abs(mica_sub(z, y)));
    return;
  }
  out->loss = mica_cross_entropy(z, y, &(mica_cross_entropy_config){.label_smoothing = run->label_smoothing});
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
  if (mica_nn_is_training(nn)) return;
  out->metrics[1] = mica_metric_mean("top_5", mica_top_k_hits(z, y, 5));
  out->metrics[2] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
}

int cli_trained_create(const cli_command *self, cli_run *run, mica_engine *engine, mica_trainer_config *config,
                       mica_trainer **trainer) {
  mica_optimizer optimizer;
  int status = find_precision(self, run->precision, &config->dtype);
  if (status != CLI_OK) return status;
  if (mica_optimizer_find(run->optimizer, &optimizer) != MICA_OK ||
      mica_schedule_find(run->schedule, &config->schedule.kind) != MICA_OK)
    return cli_fail_library(self);
  run->network = (mica_model_config){.name = run->model, .classes = run->classes ? run->classes : 1};
  mica_shape input = {.rank = run->input.rank + 1, .dim = {MICA_DYNAMIC}};
  memcpy(input.dim + 1, run->input.dim, (size_t)run->input.rank * sizeof *input.dim);
  static mica_batch_column columns[2];
  columns[0] = (mica_batch_column){CLI_INPUT(run), MICA_F32, input};
  columns[1] = (mica_batch_column){"label", run->classes ? MICA_I32 : MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 1)};
  if (run->classes) columns[1].shape.rank = 1;
  config->step = step;
  config->step_config = run;
  config->columns = columns;
  config->column_count = 2;
  config->watch = run->classes ? "accuracy" : NULL;
  config->seed = (uint64_t)run->seed;
  config->optimizer = mica_optimizer_config_default(optimizer);
  config->optimizer.weight_decay = run->weight_decay;
  if (config->dtype == MICA_F16) config->optimizer.loss_scale = 65536;
  config->schedule.rate = run->lr;
  config->epochs = run->epochs;
  return mica_trainer_create(engine, config, trainer) == MICA_OK ? CLI_OK : cli_fail_library(self);
}

mica_loader_config cli_run_loader(const cli_run *run) {
  return (mica_loader_config){
      .batch = run->batch, .seed = (uint64_t)run->seed, .mean = run->mean, .deviation = run->deviation};
}

int cli_trained_open(cli_trained *trained, const cli_command *self, const char *folder, const char *device) {
  mica_engine_config config = mica_engine_config_default();
  mica_trainer_config how = {0};
  char path[CLI_PATH];
  config.device = device;
  config.builder = CLI_ITSELF;
  cli_run_begin(&trained->run);
  int status = cli_run_read(&trained->run, self, folder);
  if (status != CLI_OK) return status;
  if (!cli_run_path(path, folder, CLI_MODEL_FILE)) return cli_fail(self, "the path %s is too long", folder);
  if (mica_engine_create(&config, &trained->engine) != MICA_OK) return cli_fail_library(self);
  status = cli_trained_create(self, &trained->run, trained->engine, &how, &trained->trainer);
  if (status != CLI_OK) return status;
  mica_nn *nn = mica_trainer_test_network(trained->trainer);
  return mica_nn_load(nn, mica_trainer_test_session(trained->trainer), path, NULL) == MICA_OK ? CLI_OK
                                                                                              : cli_fail_library(self);
}

void cli_trained_close(cli_trained *trained) {
  mica_trainer_destroy(trained->trainer);
  mica_engine_destroy(trained->engine);
  cli_run_free(&trained->run);
}
