#include "cli/model.h"

#include <mica/foundation.h>
#include <string.h>

struct values {
  const char *model, *adapter, *to, *type;
  bool force, json;
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPERAND, .help = "folder or GGUF file of a published model"),
    CLI_ROW("ADAPTER", struct values, adapter, .role = CLI_OPERAND,
            .help = "low-rank adapter of the model, as a PEFT folder or a GGUF file"),
    CLI_ROW("OUT", struct values, to, .role = CLI_OPERAND, .help = "file to write, NAME.gguf, or new folder"),
    CLI_ROW("type", struct values, type, .value = "TYPE",
            .help = "type of matrices, as in q4_k, q8_0 or f16 (default: unchanged)"),
    CLI_ROW("force", struct values, force, .help = "overwrite an existing file"),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  const size_t n = strlen(v->to);
  if ((n < 6 || strcmp(v->to + n - 5, ".gguf") != 0) && (v->type || v->force)) {
    cli_fail(self, "--%s is for an OUT that ends in .gguf", v->type ? "type" : "force");
    return CLI_USAGE;
  }
  if (!mica_foundation_is(v->model)) return cli_fail_published(self, v->model);
  return cli_model_write(self, v->model, v->adapter, v->to, v->type, v->force, v->json);
}

const cli_command cli_command_merge = {
    .name = "merge",
    .summary = "merge a low-rank adapter into a published model",
    .options = options,
    .details = "\nMatrices keep their type unless --type names one. A quantised matrix is\n"
               "dequantised, merged and quantised again, which rounds it once more.\n",
    .values_size = sizeof(struct values),
    .run = run,
};
