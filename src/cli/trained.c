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

int cli_trained_create(const cli_command *self, cli_run *run, mica_engine *engine, mica_trainer_config *config,
                       mica_trainer **trainer) {
  mica_optimizer optimizer;
  int status = find_precision(self, run->precision, &config->dtype);
  if (status != CLI_OK) return status;
  if (mica_optimizer_find(run->optimizer, &optimizer) != MICA_OK ||
      mica_schedule_find(run->schedule, &config->schedule.kind) != MICA_OK)
    return cli_fail_library(self);
  run->network = (mica_model_config){.name = run->model, .classes = run->classes ? run->classes : 1};
  config->model = mica_model_build;
  config->model_config = &run->network;
  config->input = run->input;
  config->loss = run->classes ? MICA_LOSS_CROSS_ENTROPY : MICA_LOSS_MSE;
  config->classes = run->classes;
  config->target = MICA_SHAPE(1);
  config->label_smoothing = run->label_smoothing;
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
