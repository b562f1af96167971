#include "cli/command.h"
#include "cli/terminal.h"

#include <stdio.h>

struct values {
  const char *command;
};

static const cli_option options[] = {
    CLI_ROW("COMMAND", struct values, command, .role = CLI_OPTIONAL_OPERAND, .help = "the command to explain"),
    {0},
};

static const struct {
  const char *name;
  const char *meaning;
} variables[] = {
    {"MICA_DEVICE", "the device: gpu, cpu, accelerator, an id such as 0:1, a part of a name, or null"},
    {"MICA_CACHE_DIR", "where compiled kernels are kept; empty: nowhere"},
    {"MICA_KERNEL_DIR", "reads kernels from this directory instead of the library"},
    {"MICA_VERBOSE", "1: what the library is doing, on stderr; 2: in detail"},
    {"NO_COLOR", "when set, no colour"},
};

static void print_overview(void) {
  const char *bold = cli_colour_code(CLI_BOLD), *plain = cli_colour_code(CLI_PLAIN);
  printf("usage: mica COMMAND [ARGUMENT...]\n\n%scommands%s\n", bold, plain);
  for (const cli_command *const *command = cli_commands; *command; command++)
    printf("  %-16s  %s\n", (*command)->name, (*command)->summary);
  printf("  mica COMMAND --help says more about one.\n\n%senvironment%s\n", bold, plain);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    printf("  %-16s  %s\n", variables[i].name, variables[i].meaning);
  printf("\nThe exit status is 0 for success, 1 for failure and 2 for a mistyped command.\n");
}

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  if (!values->command) {
    print_overview();
    return CLI_OK;
  }
  const cli_command *command = cli_command_find(values->command);
  if (command) {
    cli_print_help(command);
    return CLI_OK;
  }
  return cli_fail_unknown(self, values->command);
}

const cli_command cli_command_help = {
    .name = "help",
    .summary = "list the commands, or explain one",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
