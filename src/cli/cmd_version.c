#include "cli/command.h"
#include "cli/json.h"

#include <mica/version.h>
#include <stdio.h>

struct values {
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

/* CLI_BUILD_... describe the build; src/CMakeLists.txt defines them. */
static const struct {
  const char *key;
  const char *value;
} facts[] = {
    {"opencl", "1.2 and newer"},
    {"build", CLI_BUILD_TYPE},
    {"compiler", CLI_BUILD_COMPILER},
    {"options", CLI_BUILD_OPTIONS},
};

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  if (values->json) {
    cli_json json;
    cli_json_begin(&json);
    cli_json_text(&json, json.root, "version", mica_version());
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
      cli_json_text(&json, json.root, facts[i].key, facts[i].value);
    return cli_json_print(&json, self);
  }
  printf("mica %s\n", mica_version());
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) printf("  %-8s  %s\n", facts[i].key, facts[i].value);
  return CLI_OK;
}

const cli_command cli_command_version = {
    .name = "version",
    .summary = "show the version and how it was built",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
