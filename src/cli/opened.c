/* Trained runs opened for a command. */
#include "cli/compiling.h"
#include "cli/result.h"

#include <mica/device.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cli_refuse_null(const cli_command *self, const char *device) {
  const char *selected = device ? device : getenv("MICA_DEVICE");
  if (!selected || strcasecmp(selected, "null") != 0) return CLI_OK;
  cli_fail(self, "the device null computes nothing; mica devices lists those that do");
  return CLI_USAGE;
}

int cli_open_run(const cli_command *self, const char *folder, const char *device, mica_engine **engine,
                 mica_run **run) {
  return cli_open_run_as(self, folder, &(mica_run_open_config){0}, device, engine, run);
}

int cli_open_run_as(const cli_command *self, const char *folder, const mica_run_open_config *how, const char *device,
                    mica_engine **engine, mica_run **run) {
  mica_engine_config config = mica_engine_config_default();
  int status = cli_refuse_null(self, device);
  if (status != CLI_OK) return status;
  config.device = device;
  cli_compile_with(self, &config);
  if (mica_engine_create(&config, engine) != MICA_OK) return cli_fail_library(self);
  if (mica_run_open_as(*engine, folder, how, run) == MICA_OK) {
    cli_say_unfinished(self, *run);
    return CLI_OK;
  }
  cli_fail_library(self);
  return mica_error_status() == MICA_E_INVALID && (how->precision || how->depth_scale > 0) ? CLI_USAGE : CLI_FAILED;
}

void cli_say_unfinished(const cli_command *self, const mica_run *run) {
  if (mica_run_stopped(run)) fprintf(stderr, "mica %s: %s\n", self->name, cli_clean(mica_run_stopped(run)));
}

void cli_print_remarks(const cli_command *self, const mica_run *run) {
  for (size_t i = 0; mica_run_remark(run, i); i++)
    fprintf(stderr, "mica %s: %s\n", self->name, cli_clean(mica_run_remark(run, i)));
}

int cli_find_part(const cli_command *self, const char *name, mica_part *part) {
  *part = MICA_PART_TEST;
  for (int i = MICA_PART_TRAIN; name && i <= MICA_PART_TEST; i++)
    if (!strcmp(mica_part_name((mica_part)i), name)) {
      *part = (mica_part)i;
      return CLI_OK;
    }
  if (!name) return CLI_OK;
  cli_fail(self, "--part cannot be \"%s\"; choose train, validation or test", name);
  return CLI_USAGE;
}
