#include "cli/manual.h"
#include "cli/markdown.h"
#include "cli/terminal.h"

#include <stdio.h>

struct values {
  const char *command, *completion, *markdown;
  bool man;
};

static const char *shell_at(size_t i) {
  static const char *const names[] = {"bash", "zsh", "fish", NULL};
  return names[i];
}

static const char *command_at(size_t i) { return cli_commands[i] ? cli_commands[i]->name : NULL; }

/* The page "commands", then one page per task. */
static const char *page_at(size_t i) { return i ? mica_task_name(i - 1) : "commands"; }

static const cli_option options[] = {
    CLI_ROW("COMMAND", struct values, command, .role = CLI_OPTIONAL_OPERAND, .names = command_at,
            .help = "command to explain (default: list the commands)"),
    CLI_ROW("man", struct values, man, .help = "write the manual page: mica help --man | man -l -"),
    CLI_ROW("completion", struct values, completion, .value = "SHELL", .names = shell_at,
            .help = "write a script that completes the command line"),
    CLI_ROW("markdown", struct values, markdown, .value = "PAGE", .names = page_at,
            .help = "write all commands, or the settings of a task, as Markdown"),
    {0},
};

const cli_variable cli_variables[] = {
    {"MICA_DEVICE", "device to use: gpu, cpu, accelerator, an id such as 0:1, or part of a name (default: the fastest "
                    "GPU, else the CPU)"},
    {"MICA_BUNDLE", "file of compiled kernels to use first; a device without a compiler needs one"},
    {"MICA_BUNDLE_OUT", "bundle to write: a file with all kernels that the command has used"},
    {"MICA_REQUIRE_KEY", "public key, or its file: refuse models and bundles that it has not signed (mica sign)"},
    {"MICA_CACHE_DIR",
     "folder for compiled kernels; empty: keep none (default: the folder mica in XDG_CACHE_HOME or ~/.cache)"},
    {"MICA_KERNEL_DIR", "folder with kernel sources to use instead of the library's"},
    {"MICA_VERBOSE",
     "what to log to standard error: 1: what the library does, 2: also every choice of a kernel (default 0)"},
    {"NO_COLOR", "if not empty, print no colours"},
    {0},
};

static void print_overview(void) {
  const char *bold = cli_colour_code(CLI_BOLD), *plain = cli_colour_code(CLI_PLAIN);
  printf("usage: mica COMMAND [ARGUMENT...]\n\n%scommands%s\n", bold, plain);
  for (const cli_command *const *command = cli_commands; *command; command++)
    printf("  %-16s  %s\n", (*command)->name, (*command)->summary);
  printf("  mica COMMAND --help explains a command.\n\n%senvironment%s\n", bold, plain);
  for (const cli_variable *variable = cli_variables; variable->name; variable++)
    printf("  %-16s  %s\n", variable->name, variable->meaning);
  printf("\nThe exit status is 0 for success, 1 for failure, 2 for a mistyped command and 130 for a\n"
         "run that ctrl-C stopped.\n");
}

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  if (values->man) {
    cli_print_man();
    return CLI_OK;
  }
  if (values->completion) {
    if (cli_print_completion(values->completion)) return CLI_OK;
    cli_fail(self, "--completion cannot be \"%s\"; choose bash, zsh or fish", values->completion);
    return CLI_USAGE;
  }
  if (values->markdown) {
    if (cli_print_markdown(values->markdown)) return CLI_OK;
    cli_fail(self, "--markdown cannot be \"%s\"; choose commands or the name of a task", values->markdown);
    return CLI_USAGE;
  }
  if (!values->command) {
    print_overview();
    return CLI_OK;
  }
  const cli_command *command = cli_command_find(values->command);
  if (command) {
    cli_print_help(command, NULL);
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
