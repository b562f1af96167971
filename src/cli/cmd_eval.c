#include "cli/number.h"
#include "cli/score.h"
#include "cli/trained.h"

#include <string.h>

struct values {
  const char *model, *data, *part, *device;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("model", struct values, model, .value = "DIR", .help = "what mica train wrote"),
    CLI_ROW("data", struct values, data, .value = "DATA", .help = "what to test on; the training's by default"),
    CLI_ROW("part", struct values, part, .value = "PART", .help = "train, validation or test (default)"),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "run on this one, named as in MICA_DEVICE"),
    CLI_ROW("json", struct values, json, .help = "write JSON"),
    {0},
};

static int find_part(const cli_command *self, const char *name, mica_part *part) {
  *part = MICA_PART_TEST;
  for (int i = MICA_PART_TRAIN; name && i <= MICA_PART_TEST; i++)
    if (!strcmp(mica_part_name((mica_part)i), name)) {
      *part = (mica_part)i;
      return CLI_OK;
    }
  if (!name) return CLI_OK;
  cli_fail(self, "--part cannot be \"%s\"; it is train, validation or test", name);
  return CLI_USAGE;
}

/* Opens data with pictures scaled to the size that the network was trained on. */
static mica_status open_data(const cli_run *run, const char *path, mica_part part, mica_dataset **dataset) {
  mica_dataset_config config = {.part = part};
  if (run->input.rank == 3) {
    config.channels = (int32_t)run->input.dim[0];
    config.height = (int32_t)run->input.dim[1];
    config.width = (int32_t)run->input.dim[2];
  }
  config.regression = run->classes == 0;
  return mica_dataset_open(path, &config, dataset);
}

static int check_fit(const cli_command *self, const cli_run *run, const mica_dataset *dataset) {
  int status = cli_run_check_input(run, self, dataset);
  if (status != CLI_OK) return status;
  if (mica_dataset_classes(dataset) > run->classes)
    return cli_fail(self, "%s has %d classes, the network %d", mica_dataset_name(dataset),
                    (int)mica_dataset_classes(dataset), (int)run->classes);
  return CLI_OK;
}

static int report(const cli_command *self, const cli_trained *trained, const mica_batch_source *source, bool as_json,
                  mica_part part) {
  cli_score score;
  cli_json json;
  int status = CLI_OK;
  if (cli_score_take(&score, &trained->run, trained->trainer, source) != MICA_OK) {
    status = cli_fail_library(self);
  } else if (as_json) {
    cli_json_begin(&json);
    cli_score_add(&score, &trained->run, &json);
    status = cli_json_print(&json, self);
  } else {
    cli_score_print(&score, &trained->run, mica_part_name(part));
  }
  cli_score_free(&score);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  cli_trained trained = {0};
  mica_dataset *dataset = NULL;
  mica_loader *loader = NULL;
  mica_part part;
  if (!v->model) {
    cli_fail(self, "--model is missing: the folder that mica train wrote");
    return CLI_USAGE;
  }
  int status = find_part(self, v->part, &part);
  if (status == CLI_OK) status = cli_trained_open(&trained, self, v->model, v->device);
  const char *path = v->data ? v->data : trained.run.data;
  if (status == CLI_OK && open_data(&trained.run, path, part, &dataset) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = check_fit(self, &trained.run, dataset);
  if (status == CLI_OK) {
    mica_loader_config config = cli_run_loader(&trained.run);
    if (mica_loader_create(trained.engine, dataset, &config, &loader) != MICA_OK) status = cli_fail_library(self);
  }
  if (status == CLI_OK) {
    mica_batch_source source = mica_loader_source(loader);
    status = report(self, &trained, &source, v->json, part);
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
  cli_trained_close(&trained);
  return status;
}

const cli_command cli_command_eval = {
    .name = "eval",
    .summary = "test a trained network on data with known answers",
    .details = "\nPrints accuracy, and precision, recall and F1 of each class.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
